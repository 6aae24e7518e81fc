//! Sums over many pseudo-random streams, as VOLE over small fields needs them.
//!
//! For streams r_0 ... r_(2^k - 1), indexed by the elements of GF(2^k), SoftSpokenOT (Roy 2022) computes u = sum of r_x
//! and v = sum of x * r_x. As k planes of bits, v_j is the sum of those r_x in which bit j of x is set. Folding finds
//! all of them with about two additions a stream: neighbours (x, x + 1) contribute the odd ones to v_0, are added, and
//! their sums are folded in the same way for the next bit; the last sum is u.

use super::aes::{Aes128, check_counters};
use super::backend::{self, Backend};
use super::block::{self, Block};
use super::memory::{wipe, wipe_stack};
#[cfg(target_arch = "x86_64")]
use super::x86;

/// The most bits an index of [`LeafStreams`] may have.
pub(crate) const MAX_BITS: usize = 10;

/// 2^k streams of AES-128 in counter mode that are only ever wanted in sums: block i of stream x is the encryption of
/// the number i under seed x, as of a [`super::Prg`].
pub struct LeafStreams {
    bits: usize,
    keys: Keys,
}

/// The key schedules of a back end.
enum Keys {
    Portable(Vec<Aes128>),
    /// Made only where the processor has `Family::Avx512`.
    #[cfg(target_arch = "x86_64")]
    Avx512(Vec<x86::aes::Keys>),
}

/// The key schedules. As in [`Aes128::on`], those that are moved leave copies in this function's frame alone, or below.
#[inline(never)]
fn schedules(backend: Backend, seeds: &[Block]) -> Keys {
    match backend.family() {
        #[cfg(target_arch = "x86_64")]
        backend::Family::Avx512 => {
            // SAFETY: the processor has what the back end needs.
            let keys = |seed: &Block| unsafe { x86::aes::Keys::new(*seed) };
            Keys::Avx512(seeds.iter().map(keys).collect())
        }
        _ => Keys::Portable(seeds.iter().map(|seed| Aes128::on(backend, *seed)).collect()),
    }
}

impl LeafStreams {
    /// The streams of 2^k seeds, for k from 1 to `MAX_BITS`.
    pub fn new(seeds: &[Block]) -> LeafStreams {
        LeafStreams::on(backend::chosen(), seeds)
    }

    /// Creates the streams as [`LeafStreams::new`] does, on a back end that is available.
    fn on(backend: Backend, seeds: &[Block]) -> LeafStreams {
        let keys = schedules(backend, seeds);
        wipe_stack();
        LeafStreams { bits: index_bits(seeds.len()), keys }
    }

    /// k, the bits of an index.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Blocks `start` onwards of u, the sum of all streams, and of the k planes of v: block i of plane j is
    /// `v[j * stride + i]`, for i below `u.len()`. Other blocks of `v` stay as they are.
    pub fn fold(&self, start: u64, u: &mut [Block], v: &mut [Block], stride: usize) {
        check_planes(self.bits, u.len(), v.len(), stride);
        check_counters(start, u.len());
        match &self.keys {
            Keys::Portable(ciphers) => {
                let stream = |x: usize, index: usize, tile: &mut [Block]| {
                    ciphers[x].encrypt_counters(start + index as u64, tile);
                };
                fold_tiles(self.bits, u.len(), stream, v, stride, |index, tile| {
                    u[index..index + tile.len()].copy_from_slice(tile);
                });
            }
            // SAFETY: `Keys::Avx512` exists where the processor has what its functions need.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86::fold::fold::<0>(keys, start, u.len(), Some(u), v, stride) },
        }
    }

    /// Folds as [`LeafStreams::fold`] does, without u, for the first `count` blocks of each plane. Stream 0 is in none
    /// of the planes: its seed need not be known, and nothing is computed for it.
    pub fn fold_planes(&self, start: u64, count: usize, v: &mut [Block], stride: usize) {
        check_planes(self.bits, count, v.len(), stride);
        check_counters(start, count);
        match &self.keys {
            Keys::Portable(ciphers) => {
                let stream = |x: usize, index: usize, tile: &mut [Block]| match x {
                    0 => tile.fill(Block::ZERO),
                    _ => ciphers[x].encrypt_counters(start + index as u64, tile),
                };
                fold_tiles(self.bits, count, stream, v, stride, |_, _| ());
            }
            // SAFETY: as in `fold`.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86::fold::fold::<1>(keys, start, count, None, v, stride) },
        }
    }
}

impl std::fmt::Debug for LeafStreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LeafStreams({} bits, ..)", self.bits)
    }
}

/// Moves what is at index x to the index x + `shift` (exclusive or), for all of 2^k blocks. The shift may be secret:
/// which memory is touched does not depend on it.
pub fn permute_by_xor(blocks: &mut [Block], shift: usize) {
    assert!(blocks.len().is_power_of_two() && shift < blocks.len(), "2^k blocks, and a shift of k bits");
    for bit in 0..blocks.len().ilog2() {
        let (half, swap) = (1 << bit, Block::select(shift >> bit & 1 == 1));
        for pair in blocks.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (low, high) in low.iter_mut().zip(high) {
                let difference = (*low ^ *high) & swap;
                *low ^= difference;
                *high ^= difference;
            }
        }
    }
}

/// Blocks of each stream that are folded at once: what is pending then fits in the first-level cache.
const TILE: usize = 64;

/// Folds `count` blocks of each of the 2^bits streams, tile by tile. `stream(x, index, tile)` writes the blocks of
/// stream x from `index` on; `sum(index, tile)` is given those of u.
fn fold_tiles(
    bits: usize,
    count: usize,
    stream: impl Fn(usize, usize, &mut [Block]),
    v: &mut [Block],
    stride: usize,
    mut sum: impl FnMut(usize, &[Block]),
) {
    // Sums of 2^l neighbours wait at l for those of the next 2^l.
    let mut waiting = [[Block::ZERO; TILE]; MAX_BITS + 1];
    let mut tile = [Block::ZERO; TILE];
    for index in (0..count).step_by(TILE) {
        let length = TILE.min(count - index);
        let tile = &mut tile[..length];
        for plane in 0..bits {
            v[plane * stride + index..][..length].fill(Block::ZERO);
        }
        for x in 0..1usize << bits {
            stream(x, index, tile);
            let level = x.trailing_ones() as usize;
            for (plane, waiting) in waiting[..level].iter().enumerate() {
                block::xor_into(tile, &mut v[plane * stride + index..][..length]);
                block::xor_into(&waiting[..length], tile);
            }
            waiting[level][..length].copy_from_slice(tile);
        }
        sum(index, &waiting[bits][..length]);
    }
    let used = count.min(TILE);
    waiting[..=bits].iter_mut().for_each(|room| wipe(&mut room[..used]));
    wipe(&mut tile[..used]);
}

/// The k of 2^k streams.
fn index_bits(streams: usize) -> usize {
    assert!(streams.is_power_of_two(), "{streams} streams are no power of two");
    let bits = streams.ilog2() as usize;
    assert!((1..=MAX_BITS).contains(&bits), "an index of {bits} bits");
    bits
}

fn check_planes(bits: usize, count: usize, planes: usize, stride: usize) {
    assert!(count <= stride, "planes of {count} blocks overlap at a distance of {stride}");
    assert!(count == 0 || planes >= (bits - 1) * stride + count, "{bits} planes need more than {planes} blocks");
}

#[cfg(test)]
mod tests {
    use super::super::Prg;
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    /// The definition: u and the planes, each `count` blocks.
    fn reference(streams: &[Vec<Block>], bits: usize, count: usize) -> (Vec<Block>, Vec<Vec<Block>>) {
        let sum_where = |wanted: &dyn Fn(usize) -> bool| {
            let mut sum = vec![Block::ZERO; count];
            for (_, stream) in streams.iter().enumerate().filter(|(x, _)| wanted(*x)) {
                block::xor_into(stream, &mut sum);
            }
            sum
        };
        (sum_where(&|_| true), (0..bits).map(|bit| sum_where(&|x| x >> bit & 1 == 1)).collect())
    }

    #[test]
    fn folding_follows_the_definition() {
        backend::available().into_iter().for_each(check_folding);
    }

    fn check_folding(backend: Backend) {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for (bits, count) in
            [(1, 1), (1, 64), (2, 0), (2, 15), (2, 32), (2, 300), (3, 33), (4, 65), (5, 31), (8, 40), (10, 5)]
        {
            let seeds = block::random(1 << bits, &mut rng);
            let start = (1 << 40) + 7;
            let streams: Vec<_> = seeds
                .iter()
                .map(|seed| {
                    let (mut prg, mut stream) = (Prg::new(*seed), vec![Block::ZERO; count]);
                    prg.seek(start);
                    prg.fill(&mut stream);
                    stream
                })
                .collect();
            let (u, planes) = reference(&streams, bits, count);
            let leaves = LeafStreams::on(backend, &seeds);
            assert_eq!(leaves.bits(), bits);

            let check = |v: &[Block], stride: usize| {
                for (plane, expected) in planes.iter().enumerate() {
                    assert_eq!(v[plane * stride..][..count], *expected);
                    // What lies between planes is not touched.
                    let between = &v[plane * stride + count..v.len().min((plane + 1) * stride)];
                    assert!(between.iter().all(|block| *block == Block::ALL_ONES));
                }
            };
            for stride in [count, count + 3] {
                let mut v = vec![Block::ALL_ONES; bits * stride];
                let mut sum = vec![Block::ALL_ONES; count];
                leaves.fold(start, &mut sum, &mut v, stride);
                assert_eq!(sum, u);
                check(&v, stride);

                v.fill(Block::ALL_ONES);
                let mut hidden = seeds.clone();
                hidden[0] = Block(5);
                LeafStreams::on(backend, &hidden).fold_planes(start, count, &mut v, stride);
                check(&v, stride);
            }
        }
    }

    #[test]
    fn permuting_adds_to_the_index() {
        for bits in [0, 1, 4, 6] {
            let blocks: Vec<_> = (0..1 << bits).map(Block).collect();
            for shift in 0..blocks.len() {
                let mut moved = blocks.clone();
                permute_by_xor(&mut moved, shift);
                assert!((0..blocks.len()).all(|x| moved[x ^ shift] == blocks[x]));
            }
        }
    }
}
