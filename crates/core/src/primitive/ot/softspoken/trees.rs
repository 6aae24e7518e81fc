//! The trees: the receiver of OTs knows all leaves of each, the sender all but one, whose index is its part of delta.
//!
//! Roy 2022, section on puncturable pseudorandom functions: the trees of Goldreich, Goldwasser and Micali, of which the
//! sender is given one of both sums of every level by a base OT; in the malicious form with the check of Boyle et al.
//! 2019 that all leaves are the same, whichever the sender may lack.

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::keys::Keys;
use super::params::{DIGEST_BYTES, LEAF_TAG_BYTES, Params};
use crate::primitive::kernel::block::{self, BLOCK_BITS, BLOCK_BYTES, Block};
use crate::primitive::kernel::{LeafStreams, fold::permute_by_xor};
use crate::primitive::ot::Choices;

/// Two blocks by which a leaf is told from other ones.
type Tag = [Block; LEAF_TAG_BYTES / BLOCK_BYTES];

/// The choice bits of the sender in the 128 base OTs: for each level, the side to which the path to its missing leaf
/// does not go. The first level of a tree is the highest bit of the leaf's index.
pub(super) fn base_choices(params: &Params, delta: Block) -> Choices {
    Choices::from_bits(levels(params).map(|bit| !delta.bit(bit)))
}

/// The bits of delta that the levels of all trees stand for, in the order of the base OTs.
fn levels(params: &Params) -> impl Iterator<Item = usize> + use<> {
    let params = *params;
    (0..params.trees()).flat_map(move |tree| params.bits(tree).rev())
}

/// The receiver's side: grows a tree from each root, and makes the message that lets the sender do so except for one
/// leaf. `pads` are the outputs of the base OTs.
pub(super) fn grow(params: &Params, keys: &Keys, roots: &[Block], pads: &[[Block; 2]]) -> (Vec<LeafStreams>, Vec<u8>) {
    let (mut message, mut tags) = (Vec::with_capacity(params.trees_bytes()), Tags::new(keys));
    let mut pads = pads.iter();
    let mut sums_of_tags = Vec::new();
    let mut trees = Vec::new();
    for (tree, root) in roots.iter().enumerate() {
        let depth = params.bits(tree).len();
        let mut leaves = Zeroizing::new(block::zeros(1 << depth));
        let mut sums = [[Block::ZERO; 2]; super::params::MAX_K];
        keys.doubling(tree).expand_tree(*root, &mut leaves, &mut sums[..depth]);
        for (sums, pads) in sums[..depth].iter().zip(&mut pads) {
            for (sum, pad) in sums.iter().zip(pads) {
                message.extend_from_slice(&(*sum ^ *pad).to_bytes());
            }
        }
        if params.malicious() {
            let of_leaves = tags.replace(tree, 0, &mut leaves);
            let sum = of_leaves.iter().fold(Tag::default(), add);
            tags.append(&of_leaves);
            sums_of_tags.extend(sum.iter().flat_map(|block| block.to_bytes()));
        }
        trees.push(LeafStreams::new(&leaves));
        sums.as_flattened_mut().zeroize();
    }
    if params.malicious() {
        message.extend_from_slice(&sums_of_tags);
        message.extend_from_slice(&tags.digest());
    }
    (trees, message)
}

/// The sender's side: the streams of all leaves x but one, at the index x + `part of delta` (exclusive or), which makes
/// the missing one the first; or `None` if the trees are not the same for every delta. `message` has
/// [`Params::trees_bytes`] bytes, `pads` are the outputs of the base OTs with [`base_choices`].
pub(super) fn grow_punctured(
    params: &Params,
    keys: &Keys,
    delta: Block,
    pads: &[Block],
    message: &[u8],
) -> Option<Vec<LeafStreams>> {
    let (sums, check) = message.split_at(2 * BLOCK_BITS * BLOCK_BYTES);
    let (sums_of_tags, digest) = check.split_at(check.len().saturating_sub(DIGEST_BYTES));
    let given = sums.chunks_exact(2 * BLOCK_BYTES).zip(levels(params)).zip(pads);
    let mut given = given.map(|((pair, bit), pad)| {
        let [left, right] = [0, BLOCK_BYTES].map(|at| Block::from_le_slice(&pair[at..]));
        // The other side than the path: the left one if the bit is set.
        right ^ ((left ^ right) & Block::select(delta.bit(bit))) ^ *pad
    });
    let mut tags = Tags::new(keys);
    let mut trees = Vec::new();
    for tree in 0..params.trees() {
        let bits = params.bits(tree);
        let mut sums = Zeroizing::new([Block::ZERO; super::params::MAX_K]);
        let sums = &mut sums[..bits.len()];
        sums.iter_mut().for_each(|sum| *sum = given.next().unwrap_or_default());
        let hole = (delta.0 >> bits.start) as usize & ((1 << bits.len()) - 1);
        let mut leaves = Zeroizing::new(block::zeros(1 << bits.len()));
        keys.doubling(tree).expand_punctured(hole, sums, &mut leaves);
        permute_by_xor(&mut leaves, hole);
        if params.malicious() {
            let mut of_leaves = tags.replace(tree, hole, &mut leaves);
            let sum = &sums_of_tags[tree * LEAF_TAG_BYTES..][..LEAF_TAG_BYTES];
            let sum = [0, BLOCK_BYTES].map(|at| Block::from_le_slice(&sum[at..]));
            of_leaves[0] = of_leaves[1..].iter().fold(sum, add);
            for half in 0..2 {
                let mut blocks = Zeroizing::new(of_leaves.iter().map(|tag| tag[half]).collect::<Vec<_>>());
                permute_by_xor(&mut blocks, hole);
                of_leaves.iter_mut().zip(blocks.iter()).for_each(|(tag, block)| tag[half] = *block);
            }
            tags.append(&of_leaves);
        }
        trees.push(LeafStreams::new(&leaves));
    }
    (!params.malicious() || bool::from(tags.digest().ct_eq(digest))).then_some(trees)
}

fn add(a: Tag, b: &Tag) -> Tag {
    [a[0] ^ b[0], a[1] ^ b[1]]
}

/// The malicious form's check: a tag of every leaf, and the digest of all.
struct Tags<'a> {
    keys: &'a Keys,
    hasher: blake3::Hasher,
}

impl<'a> Tags<'a> {
    fn new(keys: &'a Keys) -> Tags<'a> {
        Tags { keys, hasher: blake3::Hasher::new_keyed(&keys.tags) }
    }

    /// Makes of each leaf the seed of a stream and a tag, both hashes of it. At index i is leaf i + `shift` (exclusive
    /// or).
    fn replace(&self, tree: usize, shift: usize, leaves: &mut [Block]) -> Zeroizing<Vec<Tag>> {
        let replace = |(index, leaf): (usize, &mut Block)| {
            let mut input = Zeroizing::new([0; 8 + BLOCK_BYTES]);
            input[..4].copy_from_slice(&(tree as u32).to_le_bytes());
            input[4..8].copy_from_slice(&((index ^ shift) as u32).to_le_bytes());
            input[8..].copy_from_slice(&leaf.to_bytes());
            let mut output = Zeroizing::new([0; BLOCK_BYTES + LEAF_TAG_BYTES]);
            blake3::Hasher::new_keyed(&self.keys.leaves).update(&*input).finalize_xof().fill(&mut *output);
            let [seed, first, second] = [0, 1, 2].map(|at| Block::from_le_slice(&output[at * BLOCK_BYTES..]));
            *leaf = seed;
            [first, second]
        };
        Zeroizing::new(leaves.iter_mut().enumerate().map(replace).collect())
    }

    fn append(&mut self, tags: &[Tag]) {
        self.hasher.update(block::as_bytes(tags.as_flattened()));
    }

    fn digest(&self) -> [u8; DIGEST_BYTES] {
        *self.hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::security::Security;
    use crate::session::{Session, Transcript};

    /// Equal leaves have other streams and tags wherever they stand, in one tree and in others.
    #[test]
    fn leaves_are_bound_to_their_places() {
        let params = Params::new(Security::Malicious, 3).unwrap();
        let keys = Keys::new(&params, &Session::new(Transcript::new("test")), "test");
        let mut seen = HashSet::new();
        for tree in 0..3 {
            let mut leaves = [Block::ONE; 8];
            let tags = Tags::new(&keys).replace(tree, 0, &mut leaves);
            let blocks = leaves.iter().chain(tags.as_flattened()).map(|block| block.0);
            assert!(blocks.collect::<Vec<_>>().into_iter().all(|block| seen.insert(block)), "tree {tree}");
            // At index i is leaf i + 5.
            let mut moved = [Block::ONE; 8];
            let tags_of_moved = Tags::new(&keys).replace(tree, 5, &mut moved);
            assert!((0..8).all(|index| moved[index] == leaves[index ^ 5] && tags_of_moved[index] == tags[index ^ 5]));
        }
    }
}
