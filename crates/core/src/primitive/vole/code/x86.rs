//! The encoders' inner loops for x86-64.
//!
//! All functions but [`prefetch`] need what `Family::Avx512` stands for. A vector holds four blocks. Products are
//! summed unreduced; see the kernels' `gf128` for the reduction.

use std::arch::x86_64::*;

use super::{FIELD_MEMORY as MEMORY, FIELD_REGIONS as REGIONS, FIRST_LAG, GROUP};
use crate::primitive::kernel::Block;

/// Fetches the blocks at `positions`, each of which may be used with the one behind it.
pub(super) fn prefetch(words: &[Block], positions: &[u32]) {
    for &position in positions {
        if let Some(block) = words.get(position as usize) {
            // SAFETY: a prefetch has no effect on what is in memory, and the address is that of a block.
            unsafe { _mm_prefetch::<_MM_HINT_T1>((&raw const *block).cast()) };
        }
    }
}

/// The sum of products of 128 bits each, not yet reduced: L + M X + H X^2 with X = x^64.
#[derive(Clone, Copy)]
struct Wide(__m512i, __m512i, __m512i);

impl Wide {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn zero() -> Wide {
        let zero = _mm512_setzero_si512();
        Wide(zero, zero, zero)
    }

    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn add_product(&mut self, a: __m512i, b: __m512i) {
        /// Exclusive or of three.
        const XOR: i32 = 0x96;
        let one = _mm512_clmulepi64_epi128::<0x10>(a, b);
        let other = _mm512_clmulepi64_epi128::<0x01>(a, b);
        self.0 = _mm512_xor_si512(self.0, _mm512_clmulepi64_epi128::<0x00>(a, b));
        self.1 = _mm512_ternarylogic_epi64::<XOR>(self.1, one, other);
        self.2 = _mm512_xor_si512(self.2, _mm512_clmulepi64_epi128::<0x11>(a, b));
    }

    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn reduce(self) -> __m512i {
        const SWAP: i32 = 0b01_00_11_10;
        let modulus = _mm512_set1_epi64(0x87);
        let middle = _mm512_xor_si512(self.1, _mm512_clmulepi64_epi128::<0x01>(self.2, modulus));
        let swapped = _mm512_shuffle_epi32::<SWAP>(middle);
        let above = _mm512_clmulepi64_epi128::<0x00>(_mm512_xor_si512(self.2, swapped), modulus);
        _mm512_xor_si512(_mm512_mask_xor_epi64(self.0, 0b1010_1010, self.0, swapped), above)
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(blocks: &[Block; 4]) -> __m512i {
    // SAFETY: 64 bytes are there to be read, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(blocks: &mut [Block; 4], value: __m512i) {
    // SAFETY: 64 bytes are there to be written, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), value) }
}

/// Four blocks from `at` on.
#[inline]
fn four(blocks: &[Block], at: usize) -> &[Block; 4] {
    blocks[at..].first_chunk().expect("four blocks are there")
}

/// The first two blocks of a vector each twice, and the last two.
#[inline]
#[target_feature(enable = "avx512f")]
fn double(value: __m512i) -> [__m512i; 2] {
    [_mm512_shuffle_i32x4::<0b01_01_00_00>(value, value), _mm512_shuffle_i32x4::<0b11_11_10_10>(value, value)]
}

/// Convolves as the portable form does: a vector is four symbols, or two of two words.
#[target_feature(enable = "avx512f,vpclmulqdq")]
pub(super) fn convolve<const WIDTH: usize>(constants: &[Block], stretch: &mut [Block]) {
    const BACK: usize = FIRST_LAG + MEMORY - 1;
    for (quad, constants) in constants.as_chunks::<{ 4 * MEMORY }>().0.iter().enumerate() {
        let first = BACK + 4 * quad;
        let mut sums = [Wide::zero(); 2];
        for tap in 0..MEMORY {
            let from = (first - FIRST_LAG - tap) * WIDTH;
            let factors = load(four(constants, 4 * tap));
            if WIDTH == 1 {
                sums[0].add_product(load(four(stretch, from)), factors);
            } else {
                let factors = double(factors);
                sums[0].add_product(load(four(stretch, from)), factors[0]);
                sums[1].add_product(load(four(stretch, from + 4)), factors[1]);
            }
        }
        for (index, sum) in sums[..WIDTH].iter().enumerate() {
            let place = stretch[first * WIDTH + 4 * index..].first_chunk_mut().expect("a stretch has whole vectors");
            let symbols = load(place);
            store(place, _mm512_xor_si512(symbols, sum.reduce()));
        }
    }
}

/// The block, or the two, at a position.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn pair(words: &[Block], at: u32) -> __m256i {
    let pair: &[Block; 2] = words[at as usize..].first_chunk().expect("both words have the symbol");
    // SAFETY: 32 bytes are there to be read, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(pair.as_ptr().cast()) }
}

#[inline]
fn single(block: Block) -> __m128i {
    // SAFETY: both are 128 bits of which all values are valid.
    unsafe { std::mem::transmute(block) }
}

/// Sums the positions as the portable form does.
#[target_feature(enable = "avx512f,avx512vl,vpclmulqdq")]
pub(super) fn sum_positions<const WIDTH: usize>(
    words: &[Block],
    positions: &[u32; GROUP * REGIONS],
    labels: &[Block; GROUP * REGIONS],
    sums: &mut [[Block; WIDTH]; GROUP],
) {
    let fours = positions.as_chunks::<{ 4 * REGIONS }>().0.iter().zip(labels.as_chunks::<{ 4 * REGIONS }>().0);
    for ((positions, labels), out) in fours.zip(sums.as_flattened_mut().chunks_exact_mut(4 * WIDTH)) {
        let mut wide = [Wide::zero(); 2];
        for region in 0..REGIONS {
            let factors = load(four(labels, 4 * region));
            let at = &positions[4 * region..4 * region + 4];
            if WIDTH == 1 {
                let one = |lane: usize| single(words[at[lane] as usize]);
                let low = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(one(0)), one(1));
                let seen = _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(low, one(2)), one(3));
                wide[0].add_product(seen, factors);
            } else {
                let factors = double(factors);
                for half in 0..2 {
                    let low = _mm512_castsi256_si512(pair(words, at[2 * half]));
                    let seen = _mm512_inserti64x4::<1>(low, pair(words, at[2 * half + 1]));
                    wide[half].add_product(seen, factors[half]);
                }
            }
        }
        for (wide, out) in wide.iter().zip(out.as_chunks_mut().0) {
            store(out, wide.reduce());
        }
    }
}
