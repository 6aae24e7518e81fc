//! OT extension: both roles of SoftSpoken, leaf by leaf and bit by bit.

mod receiver;
mod sender;

use std::ops::Range;

use tacita_core::primitive::kernel::block::{self, BLOCK_BITS, BLOCK_BYTES, Block};
use tacita_core::primitive::kernel::{Aes128, Doubling, Prg, RekeyedHash, gf128};
use tacita_core::primitive::ot::softspoken::Params;
use tacita_core::primitive::ot::{CONSISTENCY, CORRECTIONS, Choices, RandomOtReceiver, RandomOtSender, TREES};
use tacita_core::security::Security;
use tacita_core::session::Session;
use tacita_core::{Channel, Result};

use crate::adversary::tree::descend;
use crate::support::{blames, session};

/// Blocks of columns of a tile.
const TILE: usize = 32;

/// Purpose for which the instance of random OTs for `test` is derived.
const PURPOSE: &str = "random OT for test";

fn malicious(params: &Params) -> bool {
    params.security() == Security::Malicious
}

/// The bits of delta that a tree stands for.
pub fn bits(params: &Params, tree: usize) -> Range<usize> {
    tree * params.k()..BLOCK_BITS.min((tree + 1) * params.k())
}

/// The part of delta that a tree stands for.
pub fn part(params: &Params, tree: usize, delta: Block) -> usize {
    bits(params, tree).rev().fold(0, |part, bit| part << 1 | usize::from(delta.bit(bit)))
}

/// The bits of delta in the order of the levels of all trees, which is that of the base OTs.
fn levels(params: &Params) -> Vec<usize> {
    (0..params.trees()).flat_map(|tree| bits(params, tree).rev()).collect()
}

/// Blocks of columns of a chunk.
pub fn width(params: &Params, count: usize) -> usize {
    count.div_ceil(BLOCK_BITS) + usize::from(malicious(params))
}

/// Behaviour of a weak receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Behaviour by the protocol.
    Sound,
    /// The tag of a leaf is the leaf: the sum of a tree's tags then gives the one that the sender lacks.
    BareTags,
    /// Identical trees: they all have one root, and one generator.
    OneTree,
}

/// Public values of an instance.
pub struct Keys {
    params: Params,
    form: Form,
    trees: [u8; 32],
    pub hash: RekeyedHash,
    leaves: [u8; 32],
    tags: [u8; 32],
    chain: [u8; 32],
    consistency: [u8; 32],
}

impl Keys {
    fn new(params: &Params, form: Form) -> Keys {
        Keys::of(params, form, &session(), PURPOSE)
    }

    /// Derives the keys of an instance of a session.
    pub fn of(params: &Params, form: Form, session: &Session, instance: &str) -> Keys {
        let derive = |part: &str| {
            session.derive(&format!("OT extension {part} {} {} of {instance}", params.security(), params.k()))
        };
        Keys {
            params: *params,
            form,
            trees: derive("trees"),
            hash: RekeyedHash::new(Block::from_le_slice(&derive("hash"))),
            leaves: derive("leaves"),
            tags: derive("tags"),
            chain: derive("chain"),
            consistency: derive("consistency"),
        }
    }

    fn doubling(&self, tree: usize) -> Doubling {
        let tree = if self.form == Form::OneTree { 0 } else { tree as u64 };
        let key = blake3::keyed_hash(&self.trees, &tree.to_le_bytes());
        Doubling::new([0, BLOCK_BYTES].map(|at| Block::from_le_slice(&key.as_bytes()[at..])))
    }

    /// The seed of a leaf's stream and the leaf's tag.
    fn seed_and_tag(&self, tree: usize, index: usize, leaf: Block) -> (Block, [Block; 2]) {
        if !malicious(&self.params) {
            return (leaf, [Block::ZERO; 2]);
        }
        let input = [&(tree as u32).to_le_bytes()[..], &(index as u32).to_le_bytes(), &leaf.to_bytes()].concat();
        let mut output = [0; 3 * BLOCK_BYTES];
        blake3::Hasher::new_keyed(&self.leaves).update(&input).finalize_xof().fill(&mut output);
        let [seed, first, second] = [0, 1, 2].map(|at| Block::from_le_slice(&output[at * BLOCK_BYTES..]));
        match self.form {
            Form::BareTags => (seed, [leaf, Block::ZERO]),
            _ => (seed, [first, second]),
        }
    }

    fn digest_of_tags(&self, tags: &[[Block; 2]]) -> [u8; 32] {
        *blake3::keyed_hash(&self.tags, block::as_bytes(tags.as_flattened())).as_bytes()
    }

    fn digest_of_rows(&self, hashes: &[Block]) -> [u8; 32] {
        *blake3::keyed_hash(&self.consistency, block::as_bytes(hashes)).as_bytes()
    }
}

/// Source of the coefficients of a chunk's check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Challenge {
    /// Coefficients from all that the receiver has sent.
    OfMessages,
    /// Coefficients that are known beforehand.
    Known,
}

impl Challenge {
    /// The coefficients for a chunk, and the next state of the chain.
    pub fn coefficients(self, state: &mut [u8; 32], params: &Params, count: usize, corrections: &[u8]) -> Vec<Block> {
        let tile = |tile: &[u8]| {
            let mut hasher = blake3::Hasher::new_keyed(state);
            *hasher.update(b"tile").update(tile).finalize().as_bytes()
        };
        let tiles: Vec<u8> = corrections.chunks(TILE * params.trees() * BLOCK_BYTES).flat_map(tile).collect();
        let mut output = [0; 32 + BLOCK_BYTES];
        let mut hasher = blake3::Hasher::new_keyed(state);
        hasher.update(b"chunk").update(&(count as u64).to_le_bytes()).update(&tiles).finalize_xof().fill(&mut output);
        state.copy_from_slice(&output[..32]);
        let seed = match self {
            Challenge::OfMessages => Block::from_le_slice(&output[32..]),
            Challenge::Known => Block::ONE,
        };
        let mut coefficients = block::zeros(width(params, count));
        Prg::new(seed).fill(&mut coefficients);
        *coefficients.last_mut().unwrap() = Block::ONE;
        coefficients
    }
}

/// Blocks from `position` on of the stream of a seed.
fn stream(seed: Block, position: u64, width: usize) -> Vec<Block> {
    let mut blocks = block::zeros(width);
    Aes128::new(seed).encrypt_counters(position, &mut blocks);
    blocks
}

/// The sums of `rows` (by the index of each) that `chosen` says.
fn sum(rows: &[Vec<Block>], chosen: impl Fn(usize) -> bool) -> Vec<Block> {
    let mut sum = block::zeros(rows[0].len());
    rows.iter().enumerate().filter(|(index, _)| chosen(*index)).for_each(|(_, row)| block::xor_into(row, &mut sum));
    sum
}

fn add(one: [Block; 2], other: &[Block; 2]) -> [Block; 2] {
    [one[0] ^ other[0], one[1] ^ other[1]]
}

/// The columns of 128 rows.
fn columns(rows: &[Vec<Block>], count: usize) -> Vec<Block> {
    let bit = |column: usize, row: &Vec<Block>| row[column / BLOCK_BITS].bit(column % BLOCK_BITS);
    let column = |column| rows.iter().rev().fold(0, |bits, row| bits << 1 | u128::from(bit(column, row)));
    (0..count).map(|index| Block(column(index))).collect()
}

/// For each tile, a piece of each row: how corrections stand in their message.
fn tiles(rows: &[Vec<Block>]) -> Vec<u8> {
    let tile = |start: usize| {
        rows.iter().flat_map(move |row| block::as_bytes(&row[start..row.len().min(start + TILE)]).iter().copied())
    };
    (0..rows[0].len()).step_by(TILE).flat_map(tile).collect()
}

/// The rows of a message of corrections.
fn untiled(message: &[u8], trees: usize) -> Vec<Vec<Block>> {
    let mut rows = vec![Vec::new(); trees];
    for tile in message.chunks(TILE * trees * BLOCK_BYTES) {
        for (row, piece) in rows.iter_mut().zip(tile.chunks(tile.len() / trees)) {
            row.extend(block::from_bytes(piece).unwrap());
        }
    }
    rows
}

/// The receiver: its trees, and what comes after.
pub struct Receiver {
    pub keys: Keys,
    leaves: Vec<Vec<Block>>,
    chain: [u8; 32],
    pub challenge: Challenge,
    position: u64,
}

impl Receiver {
    /// Grows a tree from each root. `spoil` changes the message, behind whose back the receiver goes on with its own
    /// trees.
    pub fn setup(
        keys: Keys,
        roots: &[Block],
        base: &mut impl RandomOtSender,
        channel: &mut Channel,
        spoil: impl FnOnce(&mut [u8]),
    ) -> Result<Receiver> {
        let mut pads = vec![[Block::ZERO; 2]; BLOCK_BITS];
        base.send(&mut pads, channel)?;
        let (mut message, mut pads, mut leaves) = (Vec::new(), pads.into_iter(), Vec::new());
        for (tree, root) in roots.iter().enumerate() {
            let mut nodes = vec![*root];
            for pads in pads.by_ref().take(bits(&keys.params, tree).len()) {
                let mut children = block::zeros(2 * nodes.len());
                let sums = keys.doubling(tree).expand(&nodes, &mut children);
                message.extend(sums.iter().zip(pads).flat_map(|(sum, pad)| (*sum ^ pad).to_bytes()));
                nodes = children;
            }
            leaves.push(nodes);
        }
        if malicious(&keys.params) {
            let of_tree = |(tree, leaves): (usize, &Vec<Block>)| -> Vec<[Block; 2]> {
                let leaves = leaves.iter().enumerate();
                leaves.map(|(index, leaf)| keys.seed_and_tag(tree, index, *leaf).1).collect()
            };
            let tags: Vec<_> = leaves.iter().enumerate().map(of_tree).collect();
            let sums = tags.iter().map(|tags| tags.iter().fold([Block::ZERO; 2], add));
            message.extend(sums.flat_map(|sum| sum.map(Block::to_bytes)).flatten());
            message.extend(keys.digest_of_tags(&tags.concat()));
        }
        spoil(&mut message);
        let chain = *blake3::keyed_hash(&keys.chain, &message).as_bytes();
        channel.send(TREES, message)?;
        Ok(Receiver { keys, leaves, chain, challenge: Challenge::OfMessages, position: 0 })
    }

    /// The seed of a leaf's stream.
    fn seed(&self, tree: usize, leaf: usize) -> Block {
        self.keys.seed_and_tag(tree, leaf, self.leaves[tree][leaf]).0
    }

    /// A chunk of OTs with a row of choices for each tree, which may differ. In the malicious form it answers as
    /// somebody whose choices are those of tree `honest`, and who takes delta's parts to be zero in all trees where
    /// they differ. The OTs' blocks t.
    pub fn chunk(
        &mut self,
        count: usize,
        chosen: &[Vec<Block>],
        honest: usize,
        channel: &mut Channel,
    ) -> Result<Vec<Block>> {
        let params = self.keys.params;
        let width = width(&params, count);
        let (mut corrections, mut rows) = (Vec::new(), Vec::new());
        for (tree, chosen) in chosen.iter().enumerate() {
            let of_leaf = |leaf| stream(self.seed(tree, leaf), self.position, width);
            let streams: Vec<_> = (0..self.leaves[tree].len()).map(of_leaf).collect();
            corrections.push(sum(&[sum(&streams, |_| true), chosen.clone()], |_| true));
            rows.extend((0..bits(&params, tree).len()).map(|bit| sum(&streams, |leaf| leaf >> bit & 1 == 1)));
        }
        let message = tiles(&corrections);
        let coefficients = self.challenge.coefficients(&mut self.chain, &params, count, &message);
        channel.send(CORRECTIONS, message)?;
        if malicious(&params) {
            let hash = |row: &Vec<Block>| gf128::inner_product(row, &coefficients);
            let hashes: Vec<Block> = rows.iter().map(hash).collect();
            let digest = self.keys.digest_of_rows(&hashes);
            channel.send(CONSISTENCY, [&hash(&chosen[honest]).to_bytes()[..], &digest].concat())?;
        }
        self.position += width as u64;
        Ok(columns(&rows, count))
    }
}

/// The sender: what it knows of the trees, and what comes after.
pub struct Sender {
    keys: Keys,
    delta: Block,
    check: Check,
    /// Each tree's leaves, as far as it knows them.
    leaves: Vec<Vec<Option<Block>>>,
    /// The sums of each tree's tags.
    sums_of_tags: Vec<[Block; 2]>,
    chain: [u8; 32],
    position: u64,
    index: u64,
}

/// Checks that the sender makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Checks of trees and choices.
    All,
    /// Trees, but not choices.
    NotChoices,
    /// Checks of everything, with a challenge that is known beforehand.
    Known,
    /// No check at all.
    Nothing,
}

impl Sender {
    /// One sum of each level, and all leaves but those at the parts of delta.
    pub fn setup(
        keys: Keys,
        delta: Block,
        check: Check,
        base: &mut impl RandomOtReceiver,
        channel: &mut Channel,
    ) -> Result<Sender> {
        let choices = Choices::from_bits(levels(&keys.params).into_iter().map(|bit| !delta.bit(bit)));
        let mut pads = vec![Block::ZERO; BLOCK_BITS];
        base.receive(&choices, &mut pads, channel)?;
        let pads = pads
            .iter()
            .zip(choices.iter())
            .map(|(pad, right)| if right { [None, Some(*pad)] } else { [Some(*pad), None] });
        Sender::setup_with(keys, delta, check, &pads.collect::<Vec<_>>(), channel)
    }

    /// Sets up a sender as [`Sender::setup`] does, with the blocks of each base OT that somebody has: of both, as far
    /// as known.
    fn setup_with(
        keys: Keys,
        delta: Block,
        check: Check,
        pads: &[[Option<Block>; 2]],
        channel: &mut Channel,
    ) -> Result<Sender> {
        let params = keys.params;
        let message = channel.receive(TREES, params.trees_bytes())?;
        let (sums, of_tags) = message.split_at(2 * BLOCK_BITS * BLOCK_BYTES);
        let mut sums = block::from_bytes(sums).unwrap().into_iter();
        let (mut pads, mut leaves) = (pads.iter(), Vec::new());
        for tree in 0..params.trees() {
            let mut nodes = vec![None];
            for pads in pads.by_ref().take(bits(&params, tree).len()) {
                let masked = [sums.next().unwrap(), sums.next().unwrap()];
                let sum = |side: usize| pads[side].map(|pad| pad ^ masked[side]);
                nodes = descend(&keys.doubling(tree), &nodes, [sum(0), sum(1)]);
            }
            leaves.push(nodes);
        }
        let of_tree = |sum: &[u8]| [0, BLOCK_BYTES].map(|at| Block::from_le_slice(&sum[at..]));
        let sums_of_tags = of_tags.chunks(2 * BLOCK_BYTES).take(params.trees()).map(of_tree).collect();
        let chain = *blake3::keyed_hash(&keys.chain, &message).as_bytes();
        let sender = Sender { keys, delta, check, leaves, sums_of_tags, chain, position: 0, index: 0 };
        if malicious(&params) && check != Check::Nothing && !of_tags.ends_with(&sender.digest_of_tags()) {
            return Err(channel.violation("the trees are not the same for every choice"));
        }
        Ok(sender)
    }

    /// A leaf's seed and tag, where it knows the leaf.
    fn leaf(&self, tree: usize, index: usize) -> Option<(Block, [Block; 2])> {
        self.leaves[tree][index].map(|leaf| self.keys.seed_and_tag(tree, index, leaf))
    }

    /// The tag of the leaf that it does not know, of each tree.
    fn missing_tags(&self) -> Vec<[Block; 2]> {
        let missing = |(tree, sum): (usize, &[Block; 2])| {
            let known = (0..self.leaves[tree].len()).filter_map(|index| self.leaf(tree, index));
            known.fold(*sum, |sum, (_, tag)| add(sum, &tag))
        };
        self.sums_of_tags.iter().enumerate().map(missing).collect()
    }

    fn digest_of_tags(&self) -> [u8; 32] {
        let mut tags = Vec::new();
        for (tree, missing) in self.missing_tags().into_iter().enumerate() {
            let tag = |index| self.leaf(tree, index).map_or(missing, |(_, tag)| tag);
            tags.extend((0..self.leaves[tree].len()).map(tag));
        }
        self.keys.digest_of_tags(&tags)
    }

    /// The streams of a tree's leaves from block `position` on; zeros where it does not know the leaf.
    fn streams(&self, tree: usize, position: u64, width: usize) -> Vec<Vec<Block>> {
        let stream = |index| {
            let seed = self.leaf(tree, index).map(|(seed, _)| seed);
            seed.map_or(block::zeros(width), |seed| stream(seed, position, width))
        };
        (0..self.leaves[tree].len()).map(stream).collect()
    }

    /// A chunk of OTs: pairs of random blocks.
    fn chunk(&mut self, count: usize, channel: &mut Channel) -> Result<Vec<[Block; 2]>> {
        let (params, width) = (self.keys.params, width(&self.keys.params, count));
        let message = channel.receive(CORRECTIONS, width * params.trees() * BLOCK_BYTES)?;
        let challenge = if self.check == Check::Known { Challenge::Known } else { Challenge::OfMessages };
        let coefficients = challenge.coefficients(&mut self.chain, &params, count, &message);
        let mut rows = Vec::new();
        for (tree, corrections) in untiled(&message, params.trees()).into_iter().enumerate() {
            let hole = part(&params, tree, self.delta);
            let streams = self.streams(tree, self.position, width);
            for bit in 0..bits(&params, tree).len() {
                let known = sum(&streams, |leaf| (leaf ^ hole) >> bit & 1 == 1);
                rows.push(sum(&[known, corrections.clone()], |index| index == 0 || hole >> bit & 1 == 1));
            }
        }
        if malicious(&params) {
            let response = channel.receive(CONSISTENCY, Params::consistency_bytes())?;
            let of_choices = Block::from_le_slice(&response);
            let hash = |(bit, row): (usize, &Vec<Block>)| {
                gf128::inner_product(row, &coefficients) ^ (of_choices & Block::select(self.delta.bit(bit)))
            };
            let hashes: Vec<Block> = rows.iter().enumerate().map(hash).collect();
            if matches!(self.check, Check::All | Check::Known)
                && !response.ends_with(&self.keys.digest_of_rows(&hashes))
            {
                return Err(channel.violation("the choices are not the same in all trees"));
            }
        }
        let mut pairs = vec![[Block::ZERO; 2]; count];
        self.keys.hash.hash_pairs(self.index, &columns(&rows, count), self.delta, &mut pairs, false);
        (self.position, self.index) = (self.position + width as u64, self.index + count as u64);
        Ok(pairs)
    }
}

impl RandomOtSender for Sender {
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        outputs.copy_from_slice(&self.chunk(outputs.len(), channel)?);
        Ok(())
    }
}

/// Whether somebody was refused.
pub fn refused<T>(outcome: &Result<T>) -> bool {
    outcome.as_ref().is_err_and(blames)
}
