//! Montgomery's products by AVX-512's products of 52 bits (IFMA), one residue in each of eight lanes.
//!
//! Four limbs of one factor, a *row*, are worked in at a time, four columns of the sum after the other: a column is
//! then read and written once for sixteen products. Columns hold up to 64 bits, and are carried once at the end: each
//! gets two halves of products for every limb of every factor, the modulus' multiple included.
//!
//! A row begins with a chain of products that depend on each other. Modulo a square, two sums are worked on row by row
//! in turn, so that one's chain is behind the other's products.

use std::arch::x86_64::*;

use super::super::montgomery::{LIMB, LIMB_BITS, Limbs, Montgomery, TOGETHER};

/// Four limbs, of all lanes.
type Four = [__m512i; TOGETHER];

/// Limbs in memory, by fours.
type Fours = [[Limbs; TOGETHER]];

/// Factors that are added up and reduced together, at most.
const TERMS: usize = 2;

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

#[inline]
#[target_feature(enable = "avx512f")]
fn load_four(limbs: &[Limbs; TOGETHER]) -> Four {
    [load(&limbs[0]), load(&limbs[1]), load(&limbs[2]), load(&limbs[3])]
}

/// The same limbs in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn all_four(limbs: &[u64; TOGETHER]) -> Four {
    [all(limbs[0]), all(limbs[1]), all(limbs[2]), all(limbs[3])]
}

/// a b / R in all lanes.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn multiply(field: &Montgomery, a: &[Limbs], b: &[Limbs], product: &mut [Limbs]) {
    check(field, [a, b, product]);
    product.fill([0; 8]);
    let zero = [_mm512_setzero_si512(); TOGETHER];
    let (a, product) = (a.as_chunks().0, product.as_chunks_mut().0);
    for row in b.as_chunks().0 {
        add_row(field, [(a, load_four(row))], zero, product);
    }
    carry(product);
}

/// a a / R in all lanes.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn square(field: &Montgomery, a: &[Limbs], product: &mut [Limbs]) {
    check(field, [a, a, product]);
    product.fill([0; 8]);
    let (a, product) = (a.as_chunks().0, product.as_chunks_mut().0);
    for row in 0..a.len() {
        add_square_row(field, a, row, product);
    }
    carry(product);
}

/// The product modulo the modulus' square of pairs; see [`super::super::pairs`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn multiply_pairs(field: &Montgomery, a: &[Limbs], b: &[Limbs], product: &mut [Limbs]) {
    let ((a, higher_a), (b, higher_b)) = (a.split_at(field.limbs()), b.split_at(field.limbs()));
    product.fill([0; 8]);
    let (low, high) = product.split_at_mut(field.limbs());
    check(field, [a, b, low]);
    check(field, [higher_a, higher_b, high]);
    let zero = [_mm512_setzero_si512(); TOGETHER];
    let (a, higher_a) = (a.as_chunks().0, higher_a.as_chunks().0);
    let (low, high) = (low.as_chunks_mut().0, high.as_chunks_mut().0);
    for (row, higher) in b.as_chunks().0.iter().zip(higher_b.as_chunks().0) {
        let row = load_four(row);
        let quotient = add_row(field, [(a, row)], zero, low);
        add_row(field, [(higher_a, row), (a, load_four(higher))], quotient, high);
    }
    carry(low);
    carry(high);
}

/// The square modulo the modulus' square of pairs; see [`super::super::pairs`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn square_pairs(field: &Montgomery, a: &[Limbs], product: &mut [Limbs]) {
    let (a, higher) = a.split_at(field.limbs());
    product.fill([0; 8]);
    let (low, high) = product.split_at_mut(field.limbs());
    check(field, [a, a, low]);
    check(field, [higher, higher, high]);
    let (a, low, high) = (a.as_chunks().0, low.as_chunks_mut().0, high.as_chunks_mut().0);
    let mut below = _mm512_setzero_si512();
    for (row, higher) in higher.as_chunks().0.iter().enumerate() {
        let quotient = add_square_row(field, a, row, low);
        let twice = doubled(higher, below);
        below = load(&higher[TOGETHER - 1]);
        add_row(field, [(a, twice)], quotient, high);
    }
    carry(low);
    carry(high);
}

/// Checks that all numbers are as long as the modulus, and that columns have room for that length.
fn check(field: &Montgomery, limbs: [&[Limbs]; 3]) {
    let count = field.limbs();
    let room = 1 << (64 - LIMB_BITS);
    assert!(count.is_multiple_of(TOGETHER) && count > 0 && 2 * (TERMS + 1) * (count + 1) < room, "limbs that fit");
    assert!(limbs.iter().all(|limbs| limbs.len() == count), "equally many limbs");
}

/// Adds to the columns products of numbers with four limbs, and four limbs; then the multiple of the modulus with which
/// the lowest four columns are zero; the others move down by four. Four limbs of the quotient, which says which
/// multiple it was.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_row<const TERMS: usize>(
    field: &Montgomery,
    terms: [(&Fours, Four); TERMS],
    addend: Four,
    columns: &mut Fours,
) -> Four {
    let modulus = field.modulus.as_chunks().0;
    let (zero, last) = (_mm512_setzero_si512(), columns.len() - 1);
    let mut below = [[zero; TOGETHER]; TERMS];
    let mut sums = load_four(&columns[0]);
    for column in 0..TOGETHER {
        sums[column] = _mm512_add_epi64(sums[column], addend[column]);
    }
    for term in 0..TERMS {
        below[term] = load_four(&terms[term].0[0]);
        sums = add_upper(sums, below[term], terms[term].1);
    }
    let mut of_modulus = all_four(&modulus[0]);
    let (quotient, mut carry) = reduce(field, sums, of_modulus);
    for block in 1..=last {
        let mut sums = load_four(&columns[block]);
        for term in 0..TERMS {
            let above = load_four(&terms[term].0[block]);
            sums = add_lower(add_upper(sums, above, terms[term].1), below[term], terms[term].1);
            below[term] = above;
        }
        let above = all_four(&modulus[block]);
        let multiple = add_lower([carry, zero, zero, zero], of_modulus, quotient);
        store_sums(sums, add_upper(multiple, above, quotient), &mut columns[block - 1]);
        (of_modulus, carry) = (above, zero);
    }
    let mut sums = [zero; TOGETHER];
    for term in 0..TERMS {
        sums = add_lower(sums, below[term], terms[term].1);
    }
    let multiple = add_lower([carry, zero, zero, zero], of_modulus, quotient);
    store_sums(sums, multiple, &mut columns[last]);
    quotient
}

/// Adds as [`add_row`] does, for the square of a number: its four limbs of that row with themselves, and with twice
/// those above them.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_square_row(field: &Montgomery, a: &Fours, row: usize, columns: &mut Fours) -> Four {
    let modulus = field.modulus.as_chunks().0;
    let (zero, last) = (_mm512_setzero_si512(), columns.len() - 1);
    let own = load_four(&a[row]);
    let mut sums = load_four(&columns[0]);
    if row == 0 {
        sums = add_upper(sums, own, own);
    }
    let mut of_modulus = all_four(&modulus[0]);
    let (quotient, mut carry) = reduce(field, sums, of_modulus);
    for block in 1..=row {
        let mut sums = load_four(&columns[block]);
        if block == row {
            sums = add_upper(sums, own, own);
        }
        let above = all_four(&modulus[block]);
        let multiple = add_lower([carry, zero, zero, zero], of_modulus, quotient);
        store_sums(sums, add_upper(multiple, above, quotient), &mut columns[block - 1]);
        (of_modulus, carry) = (above, zero);
    }
    // The highest bit of the row's own limbs is not what is doubled.
    let (mut below, mut under) = (own, zero);
    for block in row + 1..=last {
        let above = doubled(&a[block], under);
        under = load(&a[block][TOGETHER - 1]);
        let sums = add_lower(add_upper(load_four(&columns[block]), above, own), below, own);
        let of_above = all_four(&modulus[block]);
        let multiple = add_lower([carry, zero, zero, zero], of_modulus, quotient);
        store_sums(sums, add_upper(multiple, of_above, quotient), &mut columns[block - 1]);
        (below, of_modulus, carry) = (above, of_above, zero);
    }
    let multiple = add_lower([carry, zero, zero, zero], of_modulus, quotient);
    store_sums(add_lower([zero; TOGETHER], below, own), multiple, &mut columns[last]);
    quotient
}

/// Four limbs of twice a number, of which `below` is the limb below them.
#[inline]
#[target_feature(enable = "avx512f")]
fn doubled(limbs: &[Limbs; TOGETHER], mut below: __m512i) -> Four {
    let mut twice = [below; TOGETHER];
    for limb in 0..TOGETHER {
        let own = load(&limbs[limb]);
        let shifted = _mm512_and_si512(_mm512_slli_epi64::<1>(own), all(LIMB));
        twice[limb] = _mm512_or_si512(shifted, _mm512_srli_epi64::<{ LIMB_BITS as u32 - 1 }>(below));
        below = own;
    }
    twice
}

/// Computes the multiples of the modulus that make four columns zero, and the carry out of these columns.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce(field: &Montgomery, sums: Four, modulus: Four) -> (Four, __m512i) {
    let (zero, inverse) = (_mm512_setzero_si512(), all(field.inverse));
    let (mut quotient, mut carry) = ([zero; TOGETHER], zero);
    for column in 0..TOGETHER {
        let mut sum = sums[column];
        for row in 0..column {
            sum = _mm512_madd52lo_epu64(sum, modulus[column - row], quotient[row]);
            sum = _mm512_madd52hi_epu64(sum, modulus[column - 1 - row], quotient[row]);
        }
        sum = _mm512_add_epi64(sum, carry);
        // Products take the lowest 52 bits.
        quotient[column] = _mm512_madd52lo_epu64(zero, sum, inverse);
        sum = _mm512_madd52lo_epu64(sum, modulus[0], quotient[column]);
        carry = _mm512_srli_epi64::<{ LIMB_BITS as u32 }>(sum);
    }
    (quotient, carry)
}

/// Adds the contribution of four limbs to the four columns that begin where they begin.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_upper(mut sums: Four, limbs: Four, factors: Four) -> Four {
    for row in 0..TOGETHER {
        for column in row..TOGETHER {
            sums[column] = _mm512_madd52lo_epu64(sums[column], limbs[column - row], factors[row]);
        }
        for column in row + 1..TOGETHER {
            sums[column] = _mm512_madd52hi_epu64(sums[column], limbs[column - 1 - row], factors[row]);
        }
    }
    sums
}

/// Adds the contribution of four limbs to the next four columns.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_lower(mut sums: Four, limbs: Four, factors: Four) -> Four {
    for row in 0..TOGETHER {
        for column in 0..row {
            sums[column] = _mm512_madd52lo_epu64(sums[column], limbs[TOGETHER + column - row], factors[row]);
        }
        for column in 0..=row {
            sums[column] = _mm512_madd52hi_epu64(sums[column], limbs[TOGETHER - 1 + column - row], factors[row]);
        }
    }
    sums
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_sums(a: Four, b: Four, columns: &mut [Limbs; TOGETHER]) {
    for column in 0..TOGETHER {
        store(&mut columns[column], _mm512_add_epi64(a[column], b[column]));
    }
}

/// Makes limbs of columns.
#[inline]
#[target_feature(enable = "avx512f")]
fn carry(columns: &mut Fours) {
    let mut carry = _mm512_setzero_si512();
    for limbs in columns.as_flattened_mut() {
        let sum = _mm512_add_epi64(load(limbs), carry);
        store(limbs, _mm512_and_si512(sum, all(LIMB)));
        carry = _mm512_srli_epi64::<{ LIMB_BITS as u32 }>(sum);
    }
}
