//! Trees of which the receiver lacks one leaf each.
//!
//! All t trees grow in lockstep: node j of tree i stands at j t + i of its level, so that every step works on long
//! slices. Leaf j of tree i is symbol j t + i of the code's input.
//!
//! Where the number of leaves is no power of two, a level may end with a right child that leads to none. It has counted
//! in its level's sums, so a path can end there: such nodes are dropped, and belong into the tip with the leaves. With
//! them every string of choices leaves exactly one node unknown of those that the tip adds up, and the tip says nothing
//! but what is meant for that node.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::keys::Keys;
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::mask::mask;
use crate::primitive::kernel::{Block, Doubling, block};
use crate::primitive::ot::Choices;
use crate::primitive::vole::params::Parameters;
use crate::primitive::vole::{TREE_SUMS, TREE_TIPS};

/// Blocks of a level that are worked on at once, about: they stay in the second-level cache.
const TILE: usize = 1 << 14;

/// Blocks that the leaves take while they grow, and the code's input afterwards.
pub(super) fn room(parameters: &Parameters) -> usize {
    let last = 2 * parameters.nodes(parameters.depth.saturating_sub(1)) * parameters.trees;
    parameters.symbols().max(last)
}

/// The sender's trees, in the first blocks of `nodes`, of which there are [`room`]. Sends the sums of each level,
/// masked with both outputs of an OT, whose first blocks are `masks`, and the tips: for each tree `tips[i]` plus the
/// sum of all its leaves and dropped nodes. What is no leaf is zero afterwards.
#[allow(clippy::too_many_arguments, reason = "each is something else")]
pub(super) fn grow(
    parameters: &Parameters,
    keys: &mut Keys,
    delta: Block,
    masks: &[Block],
    tips: &[Block],
    nodes: &mut [Block],
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    let trees = parameters.trees;
    nodes[..trees].copy_from_slice(&Zeroizing::new(block::random(trees, rng)));
    let mut sums = Zeroizing::new(vec![[Block::ZERO; 2]; trees]);
    let mut pads = Zeroizing::new(vec![[Block::ZERO; 2]; trees]);
    let mut dropped = Zeroizing::new(vec![Block::ZERO; trees]);
    for (depth, masks) in masks.chunks_exact(trees).enumerate() {
        sums.fill([Block::ZERO; 2]);
        expand(&keys.doubling(depth + 1), parameters.nodes(depth), nodes, &mut sums, |_, _| ());
        if let Some(row) = parameters.dropped(depth + 1) {
            block::xor_into(&nodes[row * trees..][..trees], &mut dropped);
        }
        keys.hash.hash_pairs(keys.hashed, masks, delta, &mut pads, false);
        keys.hashed += trees as u64;
        let message: Vec<Block> =
            sums.as_flattened().iter().zip(pads.as_flattened()).map(|(sum, pad)| *sum ^ *pad).collect();
        channel.send(TREE_SUMS, block::as_bytes(&message).to_vec())?;
    }
    let frontiers = sums.iter().zip(dropped.iter()).map(|(leaves, dropped)| leaves[0] ^ leaves[1] ^ *dropped);
    let message: Vec<Block> = frontiers.zip(tips).map(|(frontier, tip)| frontier ^ *tip).collect();
    channel.send(TREE_TIPS, block::as_bytes(&message).to_vec())?;
    nodes[parameters.leaves * trees..].fill(Block::ZERO);
    Ok(())
}

/// Puts the children of `rows` rows of nodes, one of each tree a row, in the place of the nodes; adds them to the sums.
/// `repair` is given each piece of the rows before, with the pair of rows that it starts with.
fn expand(
    doubling: &Doubling,
    rows: usize,
    nodes: &mut [Block],
    sums: &mut [[Block; 2]],
    repair: impl Fn(usize, &mut [Block]),
) {
    let trees = sums.len();
    let tile = (TILE / trees).max(2).next_multiple_of(2);
    let mut parents = Zeroizing::new(vec![Block::ZERO; tile.min(rows) * trees]);
    let mut of_tile = Zeroizing::new(vec![[Block::ZERO; 2]; trees]);
    // From the back: children lie at or behind their parents.
    for first in (0..rows).step_by(tile).rev() {
        let count = tile.min(rows - first);
        let parents = &mut parents[..count * trees];
        parents.copy_from_slice(&nodes[first * trees..(first + count) * trees]);
        repair(first / 2, parents);
        let children = &mut nodes[2 * first * trees..2 * (first + count) * trees];
        doubling.expand_trees(parents, children, &mut of_tile);
        block::xor_into(of_tile.as_flattened(), sums.as_flattened_mut());
    }
}

/// Holes of the receiver's trees: the indices of the missing leaves, uniformly random for each tree. Secret.
pub(super) struct Holes(Zeroizing<Vec<u32>>);

impl Holes {
    pub(super) fn random(parameters: &Parameters, rng: &mut impl CryptoRng) -> Holes {
        let leaves = parameters.leaves as u128;
        // 96 random bits: no place is preferred by more than a factor of 1 + leaves / 2^96.
        let hole = |number: &Block| (((number.0 >> 32) * leaves) >> 96) as u32;
        Holes(Zeroizing::new(Zeroizing::new(block::random(parameters.trees, rng)).iter().map(hole).collect()))
    }

    /// Choices of the OTs, all trees' first level first: the side to which the path to the hole does not go.
    pub(super) fn choices<'a>(&'a self, parameters: &'a Parameters) -> impl Iterator<Item = bool> + 'a {
        (1..=parameters.depth)
            .flat_map(move |level| self.0.iter().map(move |hole| hole >> (parameters.depth - level) & 1 == 0))
    }
}

impl std::fmt::Debug for Holes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Holes(..)")
    }
}

/// Repairs of a level that was grown from zeros in the place of missing nodes, whose children are known. For each tree:
/// the pair of nodes below the missing one, and the values to be added to the two.
struct Repairs {
    pair: Zeroizing<Vec<u32>>,
    add: Zeroizing<Vec<[Block; 2]>>,
}

impl Repairs {
    fn none(trees: usize) -> Repairs {
        // No level has so many pairs.
        Repairs { pair: Zeroizing::new(vec![u32::MAX; trees]), add: Zeroizing::new(vec![[Block::ZERO; 2]; trees]) }
    }

    /// Repairs whole pairs of nodes, the first of which is pair `first`. Touches all of them alike.
    fn apply(&self, first: usize, nodes: &mut [Block]) {
        let trees = self.pair.len();
        for (pair, nodes) in nodes.chunks_mut(2 * trees).enumerate() {
            let pair = (first + pair) as u32;
            let (left, right) = nodes.split_at_mut(trees);
            for (tree, (here, add)) in self.pair.iter().zip(self.add.iter()).enumerate() {
                let mask = equal(*here, pair);
                left[tree].0 ^= add[0].0 & mask;
                if let Some(right) = right.get_mut(tree) {
                    right.0 ^= add[1].0 & mask;
                }
            }
        }
    }

    /// Adds a row of right nodes, those of pair `pair` as [`Repairs::apply`] would leave them, to `sums`.
    fn add_right(&self, pair: usize, row: &[Block], sums: &mut [Block]) {
        for (tree, (sum, node)) in sums.iter_mut().zip(row).enumerate() {
            sum.0 ^= node.0 ^ (self.add[tree][1].0 & equal(self.pair[tree], pair as u32));
        }
    }
}

/// Returns all ones if the numbers are equal, else zero.
#[inline(always)]
fn equal(one: u32, other: u32) -> u128 {
    mask(one == other)
}

/// Corrections that the receiver's leaves still need when all messages have come.
pub(super) struct Punctured {
    repairs: Repairs,
    holes: Holes,
    leaves: usize,
}

/// Receives what [`grow`] sends. `masks` are the outputs of the OTs with [`Holes::choices`]; a tree's leaf at the hole
/// becomes its tip less the other leaves and the dropped nodes, plus `tips[i]`. Leaves are the first of `nodes`, of
/// which there are [`room`], and right when [`Punctured::finish`] has had them.
pub(super) fn grow_punctured(
    parameters: &Parameters,
    keys: &mut Keys,
    holes: Holes,
    masks: &[Block],
    tips: &[Block],
    nodes: &mut [Block],
    channel: &mut Channel,
) -> Result<Punctured> {
    let trees = parameters.trees;
    let mut repairs = Repairs::none(trees);
    let mut sums = Zeroizing::new(vec![[Block::ZERO; 2]; trees]);
    let mut pads = Zeroizing::new(vec![Block::ZERO; trees]);
    let mut dropped = Zeroizing::new(vec![Block::ZERO; trees]);
    nodes[..trees].fill(Block::ZERO);
    for (depth, masks) in masks.chunks_exact(trees).enumerate() {
        let doubling = keys.doubling(depth + 1);
        let mut of_zero = [Block::ZERO; 2];
        doubling.expand(&[Block::ZERO], &mut of_zero);
        sums.fill([Block::ZERO; 2]);
        let repair = |pair: usize, rows: &mut [Block]| repairs.apply(pair, rows);
        expand(&doubling, parameters.nodes(depth), nodes, &mut sums, repair);
        keys.hash.hash(keys.hashed, masks, &mut pads, false);
        keys.hashed += trees as u64;
        let message = channel.receive(TREE_SUMS, parameters.sums_bytes())?;
        let message = Zeroizing::new(block::from_bytes(&message).expect("its length has been checked"));
        let below = parameters.depth - 1 - depth;
        for (tree, (hole, given)) in holes.0.iter().zip(message.as_chunks::<2>().0).enumerate() {
            // All ones if the path goes right, so that the sibling is on the left.
            let path = mask(hole >> below & 1 == 1);
            let select = |if_right: Block, if_left: Block| Block(if_right.0 & path | if_left.0 & !path);
            let of_sibling = |pair: [Block; 2]| select(pair[0], pair[1]);
            let known = of_sibling(of_zero);
            let sibling = of_sibling(*given) ^ pads[tree] ^ of_sibling(sums[tree]) ^ known;
            // The missing node becomes zero, its sibling what it is.
            let (add, clear) = (sibling ^ known, select(of_zero[1], of_zero[0]));
            repairs.pair[tree] = hole >> below >> 1;
            repairs.add[tree] = [select(add, clear), select(clear, add)];
            // What all others are together: of the last level, the tip needs it.
            sums[tree] = [sums[tree][0] ^ sums[tree][1] ^ of_zero[0] ^ of_zero[1] ^ sibling, Block::ZERO];
        }
        if let Some(row) = parameters.dropped(depth + 1) {
            repairs.add_right(row / 2, &nodes[row * trees..][..trees], &mut dropped);
        }
    }
    let message = channel.receive(TREE_TIPS, parameters.tips_bytes())?;
    let message = Zeroizing::new(block::from_bytes(&message).expect("its length has been checked"));
    for (tree, hole) in holes.0.iter().enumerate() {
        let right = mask(hole & 1 == 1);
        let leaf = message[tree] ^ sums[tree][0] ^ dropped[tree] ^ tips[tree];
        repairs.add[tree][0].0 ^= leaf.0 & !right;
        repairs.add[tree][1].0 ^= leaf.0 & right;
    }
    Ok(Punctured { repairs, holes, leaves: parameters.leaves })
}

impl Punctured {
    /// Takes the leaves out of `memory` from `start` on, in order and some at a time, repairs them, and calls `each`
    /// with the memory, the index of the first, the leaves, and which value of `values` is at the place of each: that
    /// of its tree if it is at the hole, else zero. What `each` writes must not lie behind leaves that it has had.
    pub(super) fn finish(
        &self,
        memory: &mut [Block],
        start: usize,
        values: &[Block],
        mut each: impl FnMut(&mut [Block], usize, &[Block], &[Block]),
    ) {
        let trees = self.holes.0.len();
        let mut leaves = Zeroizing::new(vec![Block::ZERO; 2 * trees]);
        let mut placed = Zeroizing::new(vec![Block::ZERO; 2 * trees]);
        for pair in 0..self.leaves.div_ceil(2) {
            let (first, count) = (2 * pair * trees, (self.leaves - 2 * pair).min(2) * trees);
            let leaves = &mut leaves[..count];
            leaves.copy_from_slice(&memory[start + first..start + first + count]);
            self.repairs.apply(pair, leaves);
            let (left, right) = placed.split_at_mut(trees);
            for (tree, (hole, value)) in self.holes.0.iter().zip(values).enumerate() {
                left[tree].0 = value.0 & equal(*hole, 2 * pair as u32);
                right[tree].0 = value.0 & equal(*hole, 2 * pair as u32 + 1);
            }
            each(memory, first, leaves, &placed[..count]);
        }
    }
}

/// The choices as [`Choices`], behind those of `values`' bits, the lowest first.
pub(super) fn all_choices(values: &[Block], holes: &Holes, parameters: &Parameters) -> Choices {
    let mut bits = Zeroizing::new(Vec::with_capacity(128 * values.len() + parameters.tree_transfers()));
    bits.extend(values.iter().flat_map(|value| (0..128).map(move |bit| value.bit(bit))));
    bits.extend(holes.choices(parameters));
    Choices::from_bits(bits.iter().copied())
}

/// The blocks of 128 correlated OTs each, as one element: the sum of x^i times block i. If their choices are the bits
/// of a value, the elements of both parties differ by delta times the value.
pub(super) fn gather(transfers: &[Block]) -> Zeroizing<Vec<Block>> {
    let double = |block: Block| Block(block.0 << 1 ^ 0x87 & (block.0 >> 127).wrapping_neg());
    let element =
        |transfers: &[Block; 128]| transfers.iter().rev().fold(Block::ZERO, |sum, transfer| double(sum) ^ *transfer);
    Zeroizing::new(transfers.as_chunks::<128>().0.iter().map(element).collect())
}
