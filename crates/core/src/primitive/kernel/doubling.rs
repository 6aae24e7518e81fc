//! The length-doubling generator of GGM trees, a level at a time.

use subtle::ConstantTimeEq;

use super::aes::{Aes128, BATCH, Keys};
use super::backend::{self, Backend};
use super::block::Block;
use super::memory::wipe;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// G(s) = (p0(s) + s, p1(s) + s), where p0 and p1 are AES-128 under two public keys and + is exclusive or.
///
/// Each half is the Matyas-Meyer-Oseas construction, which is a pseudo-random function of the seed where p0 and p1 are
/// ideal permutations (Guo, Katz, Wang and Yu, "Efficient and secure multiparty computation from fixed-key block
/// ciphers", IEEE S&P 2020); trees of it are those of Goldreich, Goldwasser and Micali. The keys come from the session.
///
/// Node j of a level has the children 2j, on the left, and 2j + 1, on the right.
#[derive(Debug)]
pub struct Doubling {
    ciphers: [Aes128; 2],
}

impl Doubling {
    /// The generator under two public keys, which must differ.
    pub fn new(keys: [Block; 2]) -> Doubling {
        assert!(keys[0] != keys[1], "one key twice would make both children the same");
        Doubling::on(backend::chosen(), keys)
    }

    /// Creates the generator as [`Doubling::new`] does, on a back end that is available.
    fn on(backend: Backend, keys: [Block; 2]) -> Doubling {
        Doubling { ciphers: keys.map(|key| Aes128::on(backend, key)) }
    }

    /// Writes the children of `parents`, of which there are twice as many, and returns the sums (exclusive or) of all
    /// left children and of all right ones.
    pub fn expand(&self, parents: &[Block], children: &mut [Block]) -> [Block; 2] {
        assert_eq!(children.len(), 2 * parents.len(), "two children for each parent");
        match [&self.ciphers[0].0, &self.ciphers[1].0] {
            // SAFETY: `Keys::Avx512` exists where the processor has what its functions need.
            #[cfg(target_arch = "x86_64")]
            [Keys::Avx512(left), Keys::Avx512(right)] => unsafe {
                x86::doubling::expand([left, right], parents, children)
            },
            _ => self.expand_portably(parents, children),
        }
    }

    fn expand_portably(&self, parents: &[Block], children: &mut [Block]) -> [Block; 2] {
        let mut sums = [Block::ZERO; 2];
        let mut room = [Block::ZERO; BATCH];
        let used = parents.len().min(BATCH);
        for (parents, children) in parents.chunks(BATCH).zip(children.chunks_mut(2 * BATCH)) {
            let room = &mut room[..parents.len()];
            for side in 0..2 {
                self.ciphers[side].encrypt_to(parents, room);
                for ((parent, child), children) in parents.iter().zip(&*room).zip(children.chunks_exact_mut(2)) {
                    children[side] = *child ^ *parent;
                    sums[side] ^= children[side];
                }
            }
        }
        wipe(&mut room[..used]);
        sums
    }

    /// Expands as [`Doubling::expand`] does, with the parents in the first half of `nodes`, which their children
    /// replace.
    pub(crate) fn expand_in_place(&self, nodes: &mut [Block]) -> [Block; 2] {
        assert!(nodes.len().is_multiple_of(2), "two children for each parent");
        match [&self.ciphers[0].0, &self.ciphers[1].0] {
            // SAFETY: as in `expand`.
            #[cfg(target_arch = "x86_64")]
            [Keys::Avx512(left), Keys::Avx512(right)] => unsafe {
                x86::doubling::expand_in_place([left, right], nodes)
            },
            _ => self.expand_in_place_portably(nodes),
        }
    }

    fn expand_in_place_portably(&self, nodes: &mut [Block]) -> [Block; 2] {
        let mut sums = [Block::ZERO; 2];
        let mut parents = [Block::ZERO; BATCH];
        // From the back: children lie at or behind their parents.
        let mut end = nodes.len() / 2;
        while end > 0 {
            let start = (end - 1) / BATCH * BATCH;
            let parents = &mut parents[..end - start];
            parents.copy_from_slice(&nodes[start..end]);
            let some = self.expand(parents, &mut nodes[2 * start..2 * end]);
            sums = [sums[0] ^ some[0], sums[1] ^ some[1]];
            end = start;
        }
        wipe(&mut parents[..(nodes.len() / 2).min(BATCH)]);
        sums
    }

    /// Expands a level of `sums.len()` trees in lockstep: node j of tree t is at `j * trees + t`, among parents and
    /// among children. Writes the sums of each tree's left and right children.
    pub(crate) fn expand_trees(&self, parents: &[Block], children: &mut [Block], sums: &mut [[Block; 2]]) {
        let trees = sums.len();
        assert!(trees > 0 && parents.len().is_multiple_of(trees), "each tree has as many parents");
        assert_eq!(children.len(), 2 * parents.len(), "two children for each parent");
        sums.fill([Block::ZERO; 2]);
        for (parents, children) in parents.chunks_exact(trees).zip(children.chunks_exact_mut(2 * trees)) {
            for (side, children) in children.chunks_exact_mut(trees).enumerate() {
                self.ciphers[side].encrypt_to(parents, children);
                for ((parent, child), sums) in parents.iter().zip(children).zip(sums.iter_mut()) {
                    *child ^= *parent;
                    sums[side] ^= *child;
                }
            }
        }
    }

    /// Writes the 2^d leaves of the tree under `root`, where d is the number of `sums`. `sums[l]` becomes the sums of
    /// the left and of the right nodes of the level l + 1 steps below the root.
    pub fn expand_tree(&self, root: Block, leaves: &mut [Block], sums: &mut [[Block; 2]]) {
        check_depth(leaves.len(), sums.len());
        leaves[0] = root;
        for (level, sums) in sums.iter_mut().enumerate() {
            *sums = self.expand_in_place(&mut leaves[..2 << level]);
        }
    }

    /// Writes all leaves of a tree but that at `hole`, which becomes zero, from one of the two sums of each level:
    /// `sums[l]` is that of the side to which the path to the hole does not go in step l, its first step being the
    /// highest bit of `hole`. A wrong sum leads to wrong leaves, not to an error.
    ///
    /// The hole may be secret: which memory is touched does not depend on it.
    pub fn expand_punctured(&self, hole: usize, sums: &[Block], leaves: &mut [Block]) {
        check_depth(leaves.len(), sums.len());
        assert!(hole < leaves.len(), "the hole is one of the leaves");
        // The missing node of each level stands as zero. Its children count in the sums of the next level and are
        // known, so that they are taken out again.
        let mut of_zero = [Block::ZERO; 2];
        self.expand(&[Block::ZERO], &mut of_zero);
        leaves[0] = Block::ZERO;
        for (level, sum) in sums.iter().enumerate() {
            let nodes = &mut leaves[..2 << level];
            let seen = self.expand_in_place(nodes);
            let path = hole >> (sums.len() - 1 - level);
            let right = Block::select(path & 1 == 1);
            // The sibling is on the other side than the path.
            let sibling = [0, 1].map(|side| *sum ^ seen[side] ^ of_zero[side]);
            let pair = [sibling[0] & right, sibling[1] & (right ^ Block::ALL_ONES)];
            self.write_obliviously(nodes.as_chunks_mut().0, path >> 1, pair);
        }
    }

    /// `pairs[index] = pair`, touching all of them.
    fn write_obliviously(&self, pairs: &mut [[Block; 2]], index: usize, pair: [Block; 2]) {
        match &self.ciphers[0].0 {
            Keys::Portable(_) => write_obliviously(pairs, index, pair),
            // SAFETY: as in `expand`.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(_) => unsafe { x86::doubling::write_obliviously(pairs, index, pair) },
        }
    }
}

/// `pairs[index] = pair`, touching all of them.
fn write_obliviously(pairs: &mut [[Block; 2]], index: usize, pair: [Block; 2]) {
    for (place, old) in pairs.iter_mut().enumerate() {
        let here = Block::select(bool::from((place as u64).ct_eq(&(index as u64))));
        for (old, new) in old.iter_mut().zip(pair) {
            *old ^= (*old ^ new) & here;
        }
    }
}

fn check_depth(leaves: usize, levels: usize) {
    assert!(1usize.checked_shl(levels as u32) == Some(leaves), "{levels} levels do not make {leaves} leaves");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doublings() -> impl Iterator<Item = Doubling> {
        backend::available().into_iter().map(|backend| Doubling::on(backend, [Block(1), Block(2)]))
    }

    fn seeds(count: usize) -> Vec<Block> {
        (0..count).map(|index| Block((index as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 << 40 | 3))).collect()
    }

    /// Computes the children by the definition.
    fn children(parents: &[Block]) -> Vec<Block> {
        let ciphers = [1, 2].map(|key| Aes128::on(Backend::PORTABLE, Block(key)));
        parents.iter().flat_map(|seed| [0, 1].map(|side| ciphers[side].encrypt(*seed) ^ *seed)).collect()
    }

    fn side_sums(nodes: &[Block]) -> [Block; 2] {
        [0, 1].map(|side| nodes.iter().skip(side).step_by(2).fold(Block::ZERO, |sum, node| sum ^ *node))
    }

    #[test]
    fn levels_follow_the_definition() {
        doublings().for_each(check_levels);
    }

    fn check_levels(doubling: Doubling) {
        for count in [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, 255, 256, 257, 600] {
            let parents = seeds(count);
            let expected = children(&parents);
            // One block more in front, so that slices do not begin where vectors would.
            let mut out = vec![Block::ZERO; 2 * count + 1];
            let out = &mut out[1..];
            assert_eq!(doubling.expand(&parents, out), side_sums(&expected));
            assert_eq!(out, expected);
            out.fill(Block::ALL_ONES);
            out[..count].copy_from_slice(&parents);
            assert_eq!(doubling.expand_in_place(out), side_sums(&expected));
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn trees_in_lockstep_are_trees() {
        doublings().for_each(check_lockstep);
    }

    fn check_lockstep(doubling: Doubling) {
        for (trees, nodes) in [(1, 1), (1, 5), (3, 4), (16, 8), (17, 2), (300, 2)] {
            let parents = seeds(trees * nodes);
            let mut out = vec![Block::ZERO; 2 * parents.len()];
            let mut sums = vec![[Block::ALL_ONES; 2]; trees];
            doubling.expand_trees(&parents, &mut out, &mut sums);
            for (tree, sums) in sums.iter().enumerate() {
                let of_tree =
                    |nodes: &[Block]| -> Vec<Block> { nodes.iter().skip(tree).step_by(trees).copied().collect() };
                let expected = children(&of_tree(&parents));
                assert_eq!(of_tree(&out), expected);
                assert_eq!(*sums, side_sums(&expected));
            }
        }
    }

    #[test]
    fn a_punctured_tree_lacks_one_leaf() {
        doublings().for_each(check_punctured);
    }

    fn check_punctured(doubling: Doubling) {
        for depth in [0, 1, 2, 5, 9] {
            let mut leaves = vec![Block::ZERO; 1 << depth];
            let mut sums = vec![[Block::ZERO; 2]; depth];
            doubling.expand_tree(Block(99), &mut leaves, &mut sums);
            let mut level = vec![Block(99)];
            for sums in &sums {
                level = children(&level);
                assert_eq!(*sums, side_sums(&level));
            }
            assert_eq!(leaves, level);
            for hole in (0..leaves.len()).step_by(1 + leaves.len() / 40) {
                let given: Vec<_> =
                    (0..depth).map(|level| sums[level][1 - (hole >> (depth - 1 - level) & 1)]).collect();
                let mut punctured = vec![Block::ALL_ONES; 1 << depth];
                doubling.expand_punctured(hole, &given, &mut punctured);
                let mut expected = leaves.clone();
                expected[hole] = Block::ZERO;
                assert_eq!(punctured, expected);
            }
        }
    }

    #[test]
    #[should_panic(expected = "one key twice")]
    fn equal_keys_are_refused() {
        Doubling::new([Block(5), Block(5)]);
    }
}
