//! Entries of tables by AVX-512, one in each of eight lanes. A permutation inside registers takes each lane's entry out
//! of sixteen; masks take it out of those.

#![expect(clippy::needless_range_loop, reason = "iterators' closures are compiled for other processors")]

use std::arch::x86_64::*;

use super::super::montgomery::{LANES, Lanes, Limbs, TOGETHER};
use super::super::table::{SIZE, WINDOW};
use super::montgomery::{all, load, store};

/// Entries that one permutation reads.
const PERMUTED: usize = 2 * LANES;

/// Permutations that read a limb of all entries.
const PERMUTATIONS: usize = SIZE / PERMUTED;

/// See [`super::super::table`]'s.
#[target_feature(enable = "avx512f")]
pub(in super::super) fn choose(row: &[u64], numbers: &Limbs, chosen: &mut [Limbs]) {
    let numbers = load(numbers);
    let mut masks = [0; WINDOW - PERMUTED.ilog2() as usize];
    for bit in 0..masks.len() {
        masks[bit] = _mm512_test_epi64_mask(numbers, all((PERMUTED << bit) as u64));
    }
    for (entries, chosen) in row.as_chunks::<SIZE>().0.iter().zip(chosen) {
        let entries = entries.as_chunks::<LANES>().0;
        let mut picked = [numbers; PERMUTATIONS];
        for part in 0..PERMUTATIONS {
            let (low, high) = (load(&entries[2 * part]), load(&entries[2 * part + 1]));
            picked[part] = _mm512_permutex2var_epi64(low, numbers, high);
        }
        for bit in 0..masks.len() {
            for pair in 0..PERMUTATIONS >> (bit + 1) {
                picked[pair] = _mm512_mask_blend_epi64(masks[bit], picked[2 * pair], picked[2 * pair + 1]);
            }
        }
        store(chosen, picked[0]);
    }
}

/// See [`super::super::table`]'s.
#[target_feature(enable = "avx512f,avx512dq")]
pub(in super::super) fn choose_lanes(table: &[Lanes], numbers: &Limbs, chosen: &mut Lanes) {
    let numbers = load(numbers);
    for (block, chosen) in chosen.0.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        let mut sums = [_mm512_setzero_si512(); TOGETHER];
        for (number, entry) in (0u64..).zip(table) {
            let mask = _mm512_movm_epi64(_mm512_cmpeq_epi64_mask(numbers, all(number)));
            let limbs = &entry.0.as_chunks::<TOGETHER>().0[block];
            for limb in 0..TOGETHER {
                // sum | mask & limb.
                sums[limb] = _mm512_ternarylogic_epi64::<0xf8>(sums[limb], mask, load(&limbs[limb]));
            }
        }
        for limb in 0..TOGETHER {
            store(&mut chosen[limb], sums[limb]);
        }
    }
}
