//! The pseudorandom function that the receiver can evaluate at the items of its store, and the sender anywhere.
//!
//! Raghuraman & Rindal 2022, figure 4; steps are numbered as there. The malicious form adds the coin w of Rindal &
//! Schoppmann 2021, figure 4: the sender commits to its share before the receiver chooses its store, so that neither
//! can choose what the output hash is asked.
//!
//! F(x) = H'(Decode(K, x) - D * H(x) [+ w], x) with K = B + D (A + P) on the sender's side; on the receiver's, for its
//! own items y, F(y) = H'(Decode(C, y) [+ w], y).
//!
//! An item is a random oracle's output of 32 bytes under a key of the session: its first half is the store's key, its
//! second half is H(x).

use rand_core::CryptoRng;
use rayon::prelude::*;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{COIN, COMMITMENT, MASKED, OPENING, Params, SEED};
use crate::channel::{Channel, MAX_PAYLOAD_BYTES};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::kernel::block::{self, BLOCK_BYTES};
use crate::primitive::kernel::keyed_hash::KeyedHash;
use crate::primitive::kernel::memory::Secrets;
use crate::primitive::kernel::{Block, gf128};
use crate::primitive::okvs::{EncodeError, Grouped, Okvs};
use crate::primitive::oprf::{OUTPUT_BYTES, Outputs};
use crate::primitive::vole::params::RUN_OUTPUTS;
use crate::primitive::vole::{VoleReceiver, VoleSender};
use crate::security::Security;
use crate::session::Session;

/// Blocks of the masked store in one message.
pub(in crate::protocol::intersect) const MASKED_BLOCKS: usize = MAX_PAYLOAD_BYTES / BLOCK_BYTES;

/// Items that one step of hashing works on.
const BATCH: usize = 256;

pub(in crate::protocol::intersect) const SEED_BYTES: usize = 32;
pub(super) const COIN_BYTES: usize = BLOCK_BYTES;
/// The coin's share and as much randomness, which hides it in its commitment.
pub(super) const OPENING_BYTES: usize = COIN_BYTES + 16;
pub(super) const COMMITMENT_BYTES: usize = 32;

/// The function's inputs to its output hash for some items, grouped as the store groups them: Decode(...) [+ w].
pub(in crate::protocol) struct Evaluated {
    grouped: Grouped,
    /// Hash H(x) of each item.
    values: Zeroizing<Vec<Block>>,
    inner: Zeroizing<Vec<Block>>,
}

/// The key of the hash that makes outputs of [`Evaluated`]; bound to the session.
pub(in crate::protocol) struct OutputHash([u8; 32]);

/// The sender's key of the function.
pub(in crate::protocol) struct Key {
    okvs: Okvs,
    /// Store K of the sender.
    store: Secrets,
    delta: Zeroizing<Block>,
    coin: Block,
}

/// The receiver's part: the function at its own items, of which there are as many as agreed. They must be distinct.
pub(in crate::protocol) fn receive(
    items: &[Item],
    params: &Params,
    session: &Session,
    vole: &mut impl VoleReceiver,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Evaluated> {
    let okvs_params = params.okvs()?;
    let progress = channel.progress().clone();
    progress.start("encoding", items.len());

    // 1. The store of the own items. Its seed is drawn now that they are fixed.
    let commitment = match params.security {
        Security::SemiHonest => None,
        Security::Malicious => Some(channel.receive(COMMITMENT, COMMITMENT_BYTES)?),
    };
    let mut seed = [0; SEED_BYTES];
    rng.fill_bytes(&mut seed);
    channel.send(SEED, seed.to_vec())?;
    let okvs = Okvs::new(okvs_params, &store_seed(session, &seed));
    let (grouped, values) = group(&okvs, items);
    let store = okvs.encode(&grouped, &values).map_err(|error| {
        match error {
        EncodeError::Duplicate(one, other) => Error::Internal(format!("vole: items {one} and {other} are equal")),
        EncodeError::Unlucky => Error::NotReady(
            "the items do not fit their store under this run's seed, which happens less than once in 2^40 runs: run the job again"
                .into(),
        ),
    }
    })?;
    let mut store = Zeroizing::new(store);

    // 2. The correlation C = B + D A.
    progress.start("correlating", store.len());
    let room = || {
        Secrets::with_room(store.len())
            .ok_or_else(|| Error::Input(format!("this machine has no memory for {} items: bring fewer", items.len())))
    };
    let (mut a, mut c) = (room()?, room()?);
    for run in runs(store.len()) {
        vole.extend(a.grow(run), c.grow(run), channel)?;
    }

    // 3. A + P.
    for (store, a) in store.chunks_mut(MASKED_BLOCKS).zip(a.chunks(MASKED_BLOCKS)) {
        block::xor_into(a, store);
        channel.send(MASKED, block::as_bytes(store).to_vec())?;
        progress.advance(store.len());
    }
    drop(a);
    drop(store);
    let coin = match commitment {
        None => Block::ZERO,
        Some(commitment) => {
            let own = Block::random(rng);
            channel.send(COIN, own.to_bytes().to_vec())?;
            let opening = channel.receive(OPENING, OPENING_BYTES)?;
            if !bool::from(commit(session, &opening).ct_eq(&commitment[..])) {
                return Err(channel.violation(format!("`{}` does not open its commitment", OPENING.name)));
            }
            own ^ Block::from_le_slice(&opening[..COIN_BYTES])
        }
    };

    // 5. Decode(C, y).
    let mut inner = Zeroizing::new(okvs.decode(&grouped, &c));
    inner.iter_mut().for_each(|inner| *inner ^= coin);
    Ok(Evaluated { grouped, values, inner })
}

/// The sender's part: the function's key. The correlation's secret is used once: `vole` must be fresh.
pub(in crate::protocol) fn send(
    params: &Params,
    session: &Session,
    vole: &mut impl VoleSender,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Key> {
    let okvs_params = params.okvs()?;
    let progress = channel.progress().clone();
    progress.start("correlating", okvs_params.columns());
    let mut opening = Zeroizing::new([0; OPENING_BYTES]);
    rng.fill_bytes(&mut *opening);
    if params.security == Security::Malicious {
        channel.send(COMMITMENT, commit(session, &*opening).to_vec())?;
    }
    let seed = channel.receive(SEED, SEED_BYTES)?;

    // 2. The correlation C = B + D A. How long it is is what the peer claims, which has to do its part of each run for it.
    let delta = Zeroizing::new(vole.delta());
    let mut store = Secrets::with_room(okvs_params.columns()).ok_or_else(|| {
        let (peer, items) = (channel.peer(), params.entries.receiver_items);
        Error::Terms(format!("this machine has no memory for the {items} items of {peer}: agree on fewer"))
    })?;
    for run in runs(okvs_params.columns()) {
        vole.extend(store.grow(run), channel)?;
    }

    // 3. K = B + D (A + P).
    for store in store.chunks_mut(MASKED_BLOCKS) {
        let masked = channel.receive(MASKED, store.len() * BLOCK_BYTES)?;
        let masked = block::from_bytes(&masked).ok_or_else(|| Error::Internal("a length was checked".into()))?;
        gf128::scale_add(&masked, *delta, store);
        progress.advance(store.len());
    }
    let coin = match params.security {
        Security::SemiHonest => Block::ZERO,
        Security::Malicious => {
            let theirs = channel.receive(COIN, COIN_BYTES)?;
            channel.send(OPENING, opening.to_vec())?;
            Block::from_le_slice(&theirs) ^ Block::from_le_slice(&opening[..COIN_BYTES])
        }
    };
    Ok(Key { okvs: Okvs::new(okvs_params, &store_seed(session, &seed)), store, delta, coin })
}

/// The elements of each run of a correlation of so many: memory is taken for one when those before it are done.
pub(in crate::protocol::intersect) fn runs(elements: usize) -> impl Iterator<Item = usize> {
    (0..elements).step_by(RUN_OUTPUTS).map(move |start| RUN_OUTPUTS.min(elements - start))
}

impl Key {
    /// 4. Decode(K, x) - D * H(x) for any items.
    pub(in crate::protocol) fn evaluate(&self, items: &[Item]) -> Evaluated {
        let (grouped, values) = group(&self.okvs, items);
        let mut inner = Zeroizing::new(self.okvs.decode(&grouped, &self.store));
        inner.par_chunks_mut(BATCH).zip(values.par_chunks(BATCH)).with_min_len(16).for_each(|(inner, values)| {
            gf128::scale_add(values, *self.delta, inner);
            inner.iter_mut().for_each(|inner| *inner ^= self.coin);
        });
        Evaluated { grouped, values, inner }
    }
}

impl OutputHash {
    /// The output hash of a session.
    pub(in crate::protocol) fn new(session: &Session) -> OutputHash {
        OutputHash(session.derive("vole output"))
    }
}

impl Evaluated {
    /// Index of the item at each place.
    pub(in crate::protocol) fn order(&self) -> &[u32] {
        self.grouped.order()
    }

    /// Tags of `length` bytes, at the items' places: the first bytes of [`Evaluated::strings`].
    pub(in crate::protocol) fn tags(&self, hash: &OutputHash, length: usize) -> Vec<u8> {
        let mut tags = vec![0; self.inner.len() * length];
        self.hash(hash, &mut tags, length, |tag, output| tag.copy_from_slice(&output[..length]));
        tags
    }

    /// Strings of output, at the items' places: BLAKE3 as a random oracle, under a key of the session, over the input
    /// and the item. With the item in it, a guess of D is a guess for one item; a hash of the input alone, or a
    /// fixed-key cipher, would let one guess be tested against all of them, and cost log2 of their number in bits.
    pub(super) fn strings(&self, hash: &OutputHash) -> Outputs {
        let mut strings = Zeroizing::new(vec![[0; OUTPUT_BYTES]; self.inner.len()]);
        self.hash(hash, &mut strings, 1, |string, output| string[0] = *output);
        strings
    }

    /// Hashes all inputs, and has each output written to the `width` elements of `all` at its place.
    fn hash<T: Send>(
        &self,
        hash: &OutputHash,
        all: &mut [T],
        width: usize,
        write: impl Fn(&mut [T], &[u8; OUTPUT_BYTES]) + Sync,
    ) {
        let inputs = self.inner.par_chunks(BATCH).zip(self.grouped.keys().par_chunks(BATCH));
        let inputs = inputs.zip(self.values.par_chunks(BATCH));
        all.par_chunks_mut(BATCH * width).zip(inputs).with_min_len(16).for_each(|(all, ((inner, keys), values))| {
            KeyedHash::new(&hash.0).each(
                inner.len(),
                |place, input| write_input([inner, keys, values].map(|blocks| &blocks[place]), input),
                |place, output| write(&mut all[place * width..][..width], output),
            );
        });
    }
}

/// Appends what the output hash takes: the input and the item.
pub(in crate::protocol::intersect) fn write_input(parts: [&Block; 3], input: &mut Vec<u8>) {
    parts.iter().for_each(|block| input.extend_from_slice(&block.to_bytes()));
}

/// Items sorted by the bins of a store: their first halves are its keys, their second halves are H(x).
pub(in crate::protocol::intersect) fn group(okvs: &Okvs, items: &[Item]) -> (Grouped, Zeroizing<Vec<Block>>) {
    let half = |half: usize| -> Zeroizing<Vec<Block>> {
        let block = |item: &Item| Block::from_le_slice(&item.0[half..][..BLOCK_BYTES]);
        Zeroizing::new(items.par_iter().with_min_len(1 << 12).map(block).collect())
    };
    let (grouped, values) = okvs.group(&half(0), &half(BLOCK_BYTES));
    (grouped, Zeroizing::new(values))
}

/// Seed from which the store's rows are drawn, made of the session and of the receiver's seed. The receiver has drawn
/// that one when its items were fixed.
pub(in crate::protocol::intersect) fn store_seed(session: &Session, seed: &[u8]) -> [u8; 32] {
    *blake3::keyed_hash(&session.derive("vole store"), seed).as_bytes()
}

/// The commitment to a share of the coin.
fn commit(session: &Session, opening: &[u8]) -> [u8; COMMITMENT_BYTES] {
    *blake3::keyed_hash(&session.derive("vole coin"), opening).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Transcript;

    fn sessions() -> [Session; 2] {
        ["one", "other"].map(|domain| Session::new(Transcript::new(domain)))
    }

    /// Stores, commitments and outputs of one session are none of another; and of the same bytes no two are alike.
    #[test]
    fn everything_is_bound_to_the_session() {
        let [one, other] = sessions();
        let of = |session: &Session, bytes: &[u8]| {
            [store_seed(session, bytes), commit(session, bytes), OutputHash::new(session).0]
        };
        let [[store, commitment, output], others] = [&one, &other].map(|session| of(session, &[1; OPENING_BYTES]));
        assert!(store != others[0] && commitment != others[1] && output != others[2]);
        assert!(store != commitment && commitment != output && output != store);
        let again = of(&one, &[2; OPENING_BYTES]);
        assert!(store != again[0] && commitment != again[1]);
    }

    /// The output hash takes the whole item besides what the correlation gives: a guess of delta is a guess for one
    /// item.
    #[test]
    fn outputs_depend_on_all_of_the_item() {
        let hash = OutputHash::new(&sessions()[0]);
        let okvs = Okvs::new(crate::primitive::okvs::Params::new(1, 40).unwrap(), &[0; 32]);
        let output = |inner: u128, key: u128, value: u128| {
            let (grouped, values) = okvs.group(&[Block(key)], &[Block(value)]);
            let inner = Zeroizing::new(vec![Block(inner)]);
            let evaluated = Evaluated { grouped, values: Zeroizing::new(values), inner };
            let (tag, string) = (evaluated.tags(&hash, 16), evaluated.strings(&hash)[0]);
            assert_eq!(tag, string[..16]);
            tag
        };
        let all =
            [output(1, 2, 3), output(9, 2, 3), output(1, 9, 3), output(1, 2, 9), output(2, 1, 3), output(1, 3, 2)];
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len());
    }
}
