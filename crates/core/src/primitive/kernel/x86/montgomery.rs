//! Montgomery's products by AVX-512's products of 52 bits (IFMA), one residue in each of eight lanes.
//!
//! Four limbs of one factor are worked in at a time. A column of the sum is then read and written once for sixteen
//! products. Columns hold up to 64 bits, and are carried once at the end: each gets four halves of products for every
//! limb, which fits for less than 1024 of them.

use std::arch::x86_64::*;

use super::super::montgomery::{LIMB, LIMB_BITS, Limbs, Montgomery, TOGETHER};

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(limbs: &Limbs) -> __m512i {
    // SAFETY: 64 bytes are there to be read, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(limbs.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(limbs: &mut Limbs, value: __m512i) {
    // SAFETY: 64 bytes are there to be written, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(limbs.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn all(limb: u64) -> __m512i {
    _mm512_set1_epi64(limb as i64)
}

/// a b / R in all lanes.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn multiply(field: &Montgomery, a: &[Limbs], b: &[Limbs], product: &mut [Limbs]) {
    let modulus = &field.modulus[..];
    let count = modulus.len();
    assert!(
        count.is_multiple_of(TOGETHER) && count < 1 << (64 - LIMB_BITS - 2) && count > 0,
        "limbs that columns have room for"
    );
    assert!(a.len() == count && b.len() == count && product.len() == count, "equally many limbs");
    let (zero, low, inverse) = (_mm512_setzero_si512(), all(LIMB), all(field.inverse));
    product.fill([0; 8]);
    for factors in b.as_chunks::<TOGETHER>().0 {
        let b = [load(&factors[0]), load(&factors[1]), load(&factors[2]), load(&factors[3])];
        // The lowest columns say which multiples of the modulus make them zero.
        let mut m = [zero; TOGETHER];
        let mut carry = zero;
        for column in 0..TOGETHER {
            let mut sum = _mm512_add_epi64(load(&product[column]), carry);
            for row in 0..=column {
                sum = _mm512_madd52lo_epu64(sum, load(&a[column - row]), b[row]);
            }
            for row in 0..column {
                sum = _mm512_madd52hi_epu64(sum, load(&a[column - 1 - row]), b[row]);
                sum = _mm512_madd52lo_epu64(sum, all(modulus[column - row]), m[row]);
                sum = _mm512_madd52hi_epu64(sum, all(modulus[column - 1 - row]), m[row]);
            }
            m[column] = _mm512_madd52lo_epu64(zero, _mm512_and_si512(sum, low), inverse);
            sum = _mm512_madd52lo_epu64(sum, all(modulus[0]), m[column]);
            carry = _mm512_srli_epi64(sum, LIMB_BITS as u32);
        }
        // The other columns move down by four limbs.
        let mut x = [load(&a[0]), load(&a[1]), load(&a[2]), load(&a[3])];
        let mut n = [all(modulus[0]), all(modulus[1]), all(modulus[2]), all(modulus[3])];
        for column in 0..count {
            let (next, above) = match column + TOGETHER < count {
                true => ((load(&a[column + 4]), all(modulus[column + 4])), load(&product[column + 4])),
                false => ((zero, zero), zero),
            };
            let lows = [next.0, x[3], x[2], x[1]];
            let highs = [x[3], x[2], x[1], x[0]];
            let of_n = ([next.1, n[3], n[2], n[1]], [n[3], n[2], n[1], n[0]]);
            let (mut sum, mut other) = (_mm512_add_epi64(above, carry), zero);
            carry = zero;
            for row in 0..TOGETHER {
                sum = _mm512_madd52lo_epu64(sum, lows[row], b[row]);
                other = _mm512_madd52lo_epu64(other, of_n.0[row], m[row]);
                sum = _mm512_madd52hi_epu64(sum, highs[row], b[row]);
                other = _mm512_madd52hi_epu64(other, of_n.1[row], m[row]);
            }
            store(&mut product[column], _mm512_add_epi64(sum, other));
            x = [x[1], x[2], x[3], next.0];
            n = [n[1], n[2], n[3], next.1];
        }
    }
    let mut carry = zero;
    for limbs in product {
        let sum = _mm512_add_epi64(load(limbs), carry);
        store(limbs, _mm512_and_si512(sum, low));
        carry = _mm512_srli_epi64(sum, LIMB_BITS as u32);
    }
}

/// See [`Montgomery`]'s.
#[target_feature(enable = "avx512f,avx512dq")]
pub(in super::super) fn choose(table: &[u64], numbers: &Limbs, chosen: &mut [Limbs]) {
    let (length, numbers) = (chosen.len(), load(numbers));
    for (block, chosen) in chosen.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        let mut sums = [_mm512_setzero_si512(); TOGETHER];
        for (number, entry) in (0u64..).zip(table.chunks_exact(length)) {
            let mask = _mm512_movm_epi64(_mm512_cmpeq_epi64_mask(numbers, all(number)));
            let limbs: &[u64; TOGETHER] = entry[TOGETHER * block..].first_chunk().expect("entries have as many limbs");
            for (sum, limb) in sums.iter_mut().zip(limbs) {
                // sum | mask & limb.
                *sum = _mm512_ternarylogic_epi64::<0xf8>(*sum, mask, all(*limb));
            }
        }
        chosen.iter_mut().zip(sums).for_each(|(chosen, sum)| store(chosen, sum));
    }
}
