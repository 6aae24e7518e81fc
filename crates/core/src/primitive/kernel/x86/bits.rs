//! Counting of bits on processors that have AVX-512 VPOPCNTDQ.

use std::arch::x86_64::*;

/// Words in a vector.
const LANES: usize = 8;

/// Vectors that are counted side by side.
const WIDTH: usize = 4;

/// Counts the bits that are set in both; the slices are equally long.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
pub(in super::super) fn count_and(a: &[u64], b: &[u64]) -> u64 {
    let mut sums = [_mm512_setzero_si512(); WIDTH];
    let (a_chunks, a_rest) = a.as_chunks::<{ LANES * WIDTH }>();
    let (b_chunks, b_rest) = b.as_chunks::<{ LANES * WIDTH }>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        let (a, b) = (a.as_chunks::<LANES>().0, b.as_chunks::<LANES>().0);
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum = _mm512_add_epi64(*sum, _mm512_popcnt_epi64(_mm512_and_si512(load(a), load(b))));
        }
    }
    let sum = _mm512_add_epi64(_mm512_add_epi64(sums[0], sums[1]), _mm512_add_epi64(sums[2], sums[3]));
    let rest: u64 = a_rest.iter().zip(b_rest).map(|(a, b)| u64::from((a & b).count_ones())).sum();
    _mm512_reduce_add_epi64(sum) as u64 + rest
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64; LANES]) -> __m512i {
    // SAFETY: 64 bytes are there to be read, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}
