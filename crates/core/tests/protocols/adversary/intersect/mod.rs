//! `vole` among malicious parties: both roles, item by item.

mod keys;
mod order;
mod receiver;
mod sender;

use std::collections::HashSet;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key as SealKey, Nonce, Tag};
use tacita_core::channel::MAX_PAYLOAD_BYTES;
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::kernel::block::{self, BLOCK_BYTES};
use tacita_core::primitive::okvs::{self, Okvs};
use tacita_core::primitive::vole::{VoleReceiver, VoleSender};
use tacita_core::protocol::intersect::tag_exchange;
use tacita_core::protocol::intersect::vole::{COIN, COMMITMENT, ENTRIES, MASKED, OPENING, Params, SEED};
use tacita_core::session::Session;
use tacita_core::{Channel, Item, Result, Security};

/// Blocks of a masked store in one message.
const MASKED_BLOCKS: usize = MAX_PAYLOAD_BYTES / BLOCK_BYTES;

const ROW_BYTES: usize = 7;

fn rows(items: usize, entries: usize, security: Security) -> Params {
    Params::new(tag_exchange::Params::rows(items, entries), security).unwrap()
}

fn payload(items: usize, entries: usize, security: Security) -> Params {
    Params::new(tag_exchange::Params::payload(items, entries, ROW_BYTES), security).unwrap()
}

fn sizes(params: &Params) -> okvs::Params {
    okvs::Params::new(params.entries.receiver_items, params.entries.store_bits).unwrap()
}

/// The halves of an item: its key in the store, and its value there.
fn halves(item: &Item) -> [Block; 2] {
    [0, BLOCK_BYTES].map(|at| Block::from_le_slice(&item.0[at..]))
}

/// The store whose rows a seed stands for.
fn store(params: &Params, session: &Session, seed: &[u8]) -> Okvs {
    let seed = blake3::keyed_hash(&session.derive("vole store"), seed);
    Okvs::new(sizes(params), seed.as_bytes())
}

/// Decode(store, z') of items, in their order.
fn decode(okvs: &Okvs, items: &[Item], store: &[Block]) -> Vec<Block> {
    let keys: Vec<Block> = items.iter().map(|item| halves(item)[0]).collect();
    let (grouped, _) = okvs.group(&keys, &keys);
    let mut values = block::zeros(items.len());
    for (value, place) in okvs.decode(&grouped, store).into_iter().zip(grouped.order()) {
        values[*place as usize] = value;
    }
    values
}

/// F(z) for the output hash's input: 64 bytes.
fn output(session: &Session, inner: Block, item: &Item) -> [u8; 64] {
    let mut output = [0; 64];
    let mut hasher = blake3::Hasher::new_keyed(&session.derive("vole output"));
    hasher.update(&inner.to_bytes()).update(&item.0).finalize_xof().fill(&mut output);
    output
}

/// An entry of `payload`: the tag and the sealed row number `index` of an item.
fn entry(session: &Session, output: &[u8; 64], index: u32, row: &[u8], params: &Params) -> Vec<u8> {
    let input = [&output[..], &index.to_le_bytes()].concat();
    let mut row = row.to_vec();
    let seal = seal(session, &input).encrypt_inout_detached(&Nonce::default(), &[], row.as_mut_slice().into()).unwrap();
    let tag = blake3::keyed_hash(&session.derive("vole tag"), &input);
    [&tag.as_bytes()[..params.entries.tag_bytes], &row, &seal].concat()
}

/// The row number `index` of an item among entries, if it is there and opens.
fn open(session: &Session, output: &[u8; 64], index: u32, entries: &[Vec<u8>], params: &Params) -> Option<Vec<u8>> {
    let (row, authentic) = open_anyway(session, output, index, entries, params)?;
    authentic.then_some(row)
}

/// Opens a row as [`open`] does, whether it is authentic or not; the second result tells which.
fn open_anyway(
    session: &Session,
    output: &[u8; 64],
    index: u32,
    entries: &[Vec<u8>],
    params: &Params,
) -> Option<(Vec<u8>, bool)> {
    let input = [&output[..], &index.to_le_bytes()].concat();
    let tag = blake3::keyed_hash(&session.derive("vole tag"), &input);
    let tag = &tag.as_bytes()[..params.entries.tag_bytes];
    let sealed = &entries.iter().find(|entry| entry.starts_with(tag))?[params.entries.tag_bytes..];
    let (row, seal_of_row) = sealed.split_at(ROW_BYTES);
    let (mut opened, seal_of_row) = (row.to_vec(), Tag::try_from(seal_of_row).unwrap());
    let cipher = seal(session, &input);
    let decrypted = cipher.decrypt_inout_detached(&Nonce::default(), &[], opened.as_mut_slice().into(), &seal_of_row);
    if decrypted.is_err() {
        // Encrypted twice under a stream is not encrypted.
        opened.copy_from_slice(row);
        cipher.encrypt_inout_detached(&Nonce::default(), &[], opened.as_mut_slice().into()).unwrap();
    }
    Some((opened, decrypted.is_ok()))
}

fn seal(session: &Session, input: &[u8]) -> ChaCha20Poly1305 {
    let key = blake3::keyed_hash(&session.derive("vole seal"), input);
    ChaCha20Poly1305::new(&SealKey::from(*key.as_bytes()))
}

fn commitment(session: &Session, opening: &[u8]) -> Vec<u8> {
    blake3::keyed_hash(&session.derive("vole coin"), opening).as_bytes().to_vec()
}

/// Returns the number of entries in each message.
fn frames(params: &Params) -> impl Iterator<Item = usize> {
    let (all, chunk) = (params.entries.sender_entries, params.entries.chunk);
    (0..all).step_by(chunk).map(move |start| chunk.min(all - start))
}

fn receive_entries(params: &Params, channel: &mut Channel) -> Result<Vec<Vec<u8>>> {
    let (length, mut entries) = (params.entries.entry_bytes(), Vec::new());
    for count in frames(params) {
        entries.extend(channel.receive(ENTRIES, count * length)?.chunks(length).map(<[u8]>::to_vec));
    }
    Ok(entries)
}

fn send_entries(entries: &[Vec<u8>], params: &Params, channel: &mut Channel) -> Result<()> {
    let mut rest = entries;
    for count in frames(params) {
        let (some, after) = rest.split_at(count);
        channel.send(ENTRIES, some.concat())?;
        rest = after;
    }
    Ok(())
}

/// Moment at which a party has its share of the coin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coin {
    /// Share that is chosen from the beginning.
    Chosen(Block),
    /// Share that is aimed after seeing the other one: both shares together are this block.
    Aimed(Block),
    /// Never: what nobody waits for comes in its place.
    Withheld,
}

/// Knowledge of a receiver in the end.
struct Known {
    session: Session,
    okvs: Okvs,
    /// C of the correlation.
    c: Vec<Block>,
    /// Store P of the receiver.
    store: Vec<Block>,
    coin: Block,
}

impl Known {
    /// Computes the input of the output hash for an item: the factor of delta, and the block that is added to the
    /// multiple. For items in the store the factor is zero.
    fn parts(&self, items: &[Item]) -> Vec<(Block, Block)> {
        let (of_c, of_store) = (decode(&self.okvs, items, &self.c), decode(&self.okvs, items, &self.store));
        let parts = |((item, c), p): ((&Item, Block), Block)| (p ^ halves(item)[1], c ^ self.coin);
        items.iter().zip(of_c).zip(of_store).map(parts).collect()
    }

    /// The function's outputs for all items, as far as delta is right or its factor zero.
    fn outputs(&self, items: &[Item], delta: Block) -> Vec<[u8; 64]> {
        let output =
            |(item, (factor, rest)): (&Item, (Block, Block))| output(&self.session, (delta * factor) ^ rest, item);
        items.iter().zip(self.parts(items)).map(output).collect()
    }

    /// The items of `dictionary` whose tags are among these.
    fn found(&self, dictionary: &[Item], delta: Block, tags: &[Vec<u8>]) -> Vec<Item> {
        let tags: HashSet<&[u8]> = tags.iter().map(|tag| &tag[..]).collect();
        let hit =
            |(_, output): &(&Item, [u8; 64])| tags.iter().next().is_some_and(|tag| tags.contains(&output[..tag.len()]));
        dictionary.iter().zip(self.outputs(dictionary, delta)).filter(hit).map(|(item, _)| *item).collect()
    }
}

/// Method by which a receiver makes the store, when it knows the rows.
type Store<'a> = &'a dyn Fn(&Okvs) -> Vec<Block>;

/// A receiver's program: a seed, any store for its rows, any share of the coin.
struct Receiver<'a> {
    seed: [u8; 32],
    store: Store<'a>,
    coin: Coin,
    /// Whether it accepts an opening without checking that it fits the commitment.
    trusts: bool,
}

impl Receiver<'_> {
    fn run(
        &self,
        params: &Params,
        session: &Session,
        vole: &mut impl VoleReceiver,
        channel: &mut Channel,
    ) -> Result<Known> {
        let committed = channel.receive(COMMITMENT, 32)?;
        channel.send(SEED, self.seed.to_vec())?;
        let okvs = store(params, session, &self.seed);
        let store = (self.store)(&okvs);
        let (mut a, mut c) = (block::zeros(store.len()), block::zeros(store.len()));
        vole.extend(&mut a, &mut c, channel)?;
        block::xor_into(&store, &mut a);
        for masked in a.chunks(MASKED_BLOCKS) {
            channel.send(MASKED, block::as_bytes(masked).to_vec())?;
        }
        let receive = |channel: &mut Channel| -> Result<Block> {
            let opening = channel.receive(OPENING, 32)?;
            if self.trusts || commitment(session, &opening) == committed {
                Ok(Block::from_le_slice(&opening))
            } else {
                Err(channel.violation("the coin's opening does not fit"))
            }
        };
        let coin = match self.coin {
            Coin::Chosen(own) => {
                channel.send(COIN, own.to_bytes().to_vec())?;
                own ^ receive(channel)?
            }
            Coin::Withheld => {
                channel.send(crate::adversary::ANYTHING, Vec::new())?;
                receive(channel)?
            }
            Coin::Aimed(coin) => {
                let theirs = receive(channel)?;
                channel.send(COIN, (coin ^ theirs).to_bytes().to_vec())?;
                coin
            }
        };
        Ok(Known { session: session.clone(), okvs, c, store, coin })
    }
}

/// Behaviour of a weak sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Behaviour by the protocol.
    Sound,
    /// The function does not take an item's value: D times H(z) is left out.
    WithoutValue,
    /// Sender that opens its share of the coin before it has the receiver's.
    OpensFirst,
}

/// A sender's key of the function.
#[derive(Clone)]
struct Key {
    session: Session,
    params: Params,
    seed: Vec<u8>,
    /// Store K of the sender.
    store: Vec<Block>,
    delta: Block,
    coin: Block,
}

impl Key {
    /// Computes the input of the output hash for each item.
    fn inputs(&self, items: &[Item]) -> Vec<Block> {
        let decoded = decode(&store(&self.params, &self.session, &self.seed), items, &self.store);
        items.iter().zip(decoded).map(|(item, k)| k ^ self.coin ^ (self.delta * halves(item)[1])).collect()
    }

    fn outputs(&self, items: &[Item]) -> Vec<[u8; 64]> {
        items.iter().zip(self.inputs(items)).map(|(item, input)| output(&self.session, input, item)).collect()
    }

    fn tags(&self, items: &[Item]) -> Vec<Vec<u8>> {
        self.outputs(items).iter().map(|output| output[..self.params.entries.tag_bytes].to_vec()).collect()
    }
}

/// A sender's program up to its key. `aim` is added to its share of the coin when it has the receiver's, and all else.
fn send(
    form: Form,
    params: &Params,
    session: &Session,
    vole: &mut impl VoleSender,
    channel: &mut Channel,
    aim: impl FnOnce(&Key) -> Block,
) -> Result<Key> {
    let malicious = params.security == Security::Malicious;
    let mut opening = [0x5a; 32];
    if malicious {
        channel.send(COMMITMENT, commitment(session, &opening))?;
    }
    let seed = channel.receive(SEED, 32)?;
    let mut store = block::zeros(sizes(params).columns());
    vole.extend(&mut store, channel)?;
    let delta = vole.delta();
    for store in store.chunks_mut(MASKED_BLOCKS) {
        let masked = block::from_bytes(&channel.receive(MASKED, store.len() * BLOCK_BYTES)?).unwrap();
        store.iter_mut().zip(masked).for_each(|(store, masked)| *store ^= delta * masked);
    }
    let delta = if form == Form::WithoutValue { Block::ZERO } else { delta };
    let mut key = Key { session: session.clone(), params: *params, seed, store, delta, coin: Block::ZERO };
    if malicious {
        if form == Form::OpensFirst {
            channel.send(OPENING, opening.to_vec())?;
        }
        key.coin = Block::from_le_slice(&channel.receive(COIN, BLOCK_BYTES)?);
        if form != Form::OpensFirst {
            let own = Block::from_le_slice(&opening) ^ aim(&key);
            opening[..BLOCK_BYTES].copy_from_slice(&own.to_bytes());
            channel.send(OPENING, opening.to_vec())?;
        }
        key.coin ^= Block::from_le_slice(&opening);
    }
    Ok(key)
}
