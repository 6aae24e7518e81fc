//! Montgomery's products by AVX2, one residue in each of the four lanes of a vector, of which two make a group.
//!
//! Its products are of 32 bits. A limb is thus cut into two digits of 26 bits; the radix R stays what it is, so does
//! the product. Four digits of one factor are worked in at a time: a column of the sum is then read and written once
//! for eight products. Columns hold up to 64 bits, and are carried once at the end: each gets two products of 52 bits
//! for every digit, which fits for less than 1024 limbs.

use std::arch::asm;
use std::arch::x86_64::*;

use zeroize::Zeroizing;

use super::super::montgomery::{LANES, LIMB_BITS, Limbs, Montgomery, TOGETHER};

/// Bits of a digit.
const DIGIT_BITS: i32 = LIMB_BITS as i32 / 2;

/// The lowest [`DIGIT_BITS`] bits.
const DIGIT: u64 = (1 << DIGIT_BITS) - 1;

/// Lanes of a vector.
const WIDTH: usize = 4;

/// Vectors of a group.
pub(super) const HALVES: usize = LANES / WIDTH;

/// Digits that are worked on together: those of two limbs.
type Digits = [__m256i; 4];

/// Limbs in memory, by fours of digits.
type Fours = [[Limbs; 2]];

/// Sums that are not carried yet, by fours.
type Columns = Zeroizing<Vec<[Limbs; 4]>>;

/// Factors that are added up and reduced together, at most.
const TERMS: usize = 2;

/// a b / R in all lanes.
#[target_feature(enable = "avx2")]
pub(in super::super) fn multiply(field: &Montgomery, a: &[Limbs], b: &[Limbs], product: &mut [Limbs]) {
    check(field, [a, b, product]);
    let (a, zero, mut columns) = (a.as_chunks().0, [_mm256_setzero_si256(); 4], columns(field));
    for row in b.as_chunks().0 {
        for half in 0..HALVES {
            add_row(field, [(a, digits(row, half))], zero, half, &mut columns);
        }
    }
    carry(&columns, product);
}

/// The product modulo the modulus' square of pairs; see [`super::super::pairs`].
#[target_feature(enable = "avx2")]
pub(in super::super) fn multiply_pairs(field: &Montgomery, a: &[Limbs], b: &[Limbs], product: &mut [Limbs]) {
    let ((a, higher_a), (b, higher_b)) = (a.split_at(field.limbs()), b.split_at(field.limbs()));
    let (low, high) = product.split_at_mut(field.limbs());
    check(field, [a, b, low]);
    check(field, [higher_a, higher_b, high]);
    let (a, higher_a, zero) = (a.as_chunks().0, higher_a.as_chunks().0, [_mm256_setzero_si256(); 4]);
    let (mut of_low, mut of_high) = (columns(field), columns(field));
    for (row, higher) in b.as_chunks().0.iter().zip(higher_b.as_chunks().0) {
        for half in 0..HALVES {
            let row = digits(row, half);
            let quotient = add_row(field, [(a, row)], zero, half, &mut of_low);
            add_row(field, [(higher_a, row), (a, digits(higher, half))], quotient, half, &mut of_high);
        }
    }
    carry(&of_low, low);
    carry(&of_high, high);
}

/// Checks that all numbers are as long as the modulus, and that columns have room for that length.
fn check(field: &Montgomery, limbs: [&[Limbs]; 3]) {
    let count = field.limbs();
    let room = 1 << (64 - LIMB_BITS);
    assert!(count.is_multiple_of(TOGETHER) && count > 0 && 2 * (TERMS + 1) * (count + 1) < room, "limbs that fit");
    assert!(limbs.iter().all(|limbs| limbs.len() == count), "equally many limbs");
}

fn columns(field: &Montgomery) -> Columns {
    Zeroizing::new(vec![[[0; LANES]; 4]; field.limbs() / 2])
}

/// Makes limbs of columns.
#[inline]
#[target_feature(enable = "avx2")]
fn carry(columns: &Columns, product: &mut [Limbs]) {
    for half in 0..HALVES {
        let mut carry = _mm256_setzero_si256();
        for (limbs, columns) in product.iter_mut().zip(columns.as_flattened().as_chunks::<2>().0) {
            let low = _mm256_add_epi64(load(&columns[0], half), carry);
            let high = _mm256_add_epi64(load(&columns[1], half), _mm256_srli_epi64::<DIGIT_BITS>(low));
            carry = _mm256_srli_epi64::<DIGIT_BITS>(high);
            let [low, high] = [low, high].map(|sum| _mm256_and_si256(sum, all(DIGIT)));
            store(limbs, half, _mm256_or_si256(low, _mm256_slli_epi64::<DIGIT_BITS>(high)));
        }
    }
}

/// Adds products of numbers with four digits, and four digits; then the multiple of the modulus with which the lowest
/// four columns are zero; the others move down by four. Four digits of the quotient, which says which multiple it was.
#[inline]
#[target_feature(enable = "avx2")]
fn add_row<const TERMS: usize>(
    field: &Montgomery,
    terms: [(&Fours, Digits); TERMS],
    addend: Digits,
    half: usize,
    columns: &mut [[Limbs; 4]],
) -> Digits {
    let modulus = field.modulus.as_chunks().0;
    let zero = _mm256_setzero_si256();
    let mut below = [[zero; 4]; TERMS];
    for term in 0..TERMS {
        below[term] = digits(&terms[term].0[0], half);
    }
    let mut n = digits_of_all(&modulus[0]);
    let mut m = [zero; 4];
    let mut carry = zero;
    for column in 0..4 {
        let mut sum = _mm256_add_epi64(load(&columns[0][column], half), _mm256_add_epi64(carry, addend[column]));
        for term in 0..TERMS {
            for row in 0..=column {
                sum = add_product(sum, below[term][column - row], terms[term].1[row]);
            }
        }
        for row in 0..column {
            sum = add_product(sum, n[column - row], m[row]);
        }
        // Products take the lower halves, which have the lowest digit.
        m[column] = _mm256_and_si256(multiply_low(sum, all(field.inverse & DIGIT)), all(DIGIT));
        carry = _mm256_srli_epi64::<DIGIT_BITS>(add_product(sum, n[0], m[column]));
    }
    for block in 0..columns.len() {
        let more = block + 1 < columns.len();
        let (mut sums, mut of_modulus) = ([zero; 4], [zero; 4]);
        if more {
            let [p, q, r, s] = &columns[block + 1];
            sums = [load(p, half), load(q, half), load(r, half), load(s, half)];
            of_modulus = digits_of_all(&modulus[block + 1]);
        }
        sums[0] = _mm256_add_epi64(sums[0], carry);
        carry = zero;
        for term in 0..TERMS {
            let above = if more { digits(&terms[term].0[block + 1], half) } else { [zero; 4] };
            sums = add_products(sums, below[term], above, terms[term].1);
            below[term] = above;
        }
        sums = add_products(sums, n, of_modulus, m);
        n = of_modulus;
        for column in 0..4 {
            store(&mut columns[block][column], half, sums[column]);
        }
    }
    m
}

/// Adds to four columns what four digits of each factor give, the first one's with four digits above them.
#[inline]
#[target_feature(enable = "avx2")]
fn add_products(mut sums: Digits, below: Digits, above: Digits, factors: Digits) -> Digits {
    for column in 0..4 {
        for row in 0..4 {
            let digit = if row <= column { above[column - row] } else { below[4 + column - row] };
            sums[column] = add_product(sums[column], digit, factors[row]);
        }
    }
    sums
}

#[inline]
#[target_feature(enable = "avx2")]
fn add_product(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
    _mm256_add_epi64(sum, multiply_low(a, b))
}

/// The products of the lower halves. The compiler takes the intrinsic for a product of 64 bits of which it forgets, out
/// of a loop, that the upper halves are zero, and makes three products of it.
#[inline]
#[target_feature(enable = "avx2")]
fn multiply_low(a: __m256i, b: __m256i) -> __m256i {
    let product;
    // SAFETY: the instruction reads and writes registers only, and AVX2 has it.
    unsafe {
        asm!("vpmuludq {}, {}, {}", lateout(ymm_reg) product, in(ymm_reg) a, in(ymm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    product
}

#[inline]
#[target_feature(enable = "avx2")]
fn digits(limbs: &[Limbs; 2], half: usize) -> Digits {
    cut([load(&limbs[0], half), load(&limbs[1], half)])
}

/// Digits of the same limbs in all lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn digits_of_all(limbs: &[u64; 2]) -> Digits {
    cut([all(limbs[0]), all(limbs[1])])
}

#[inline]
#[target_feature(enable = "avx2")]
fn cut(limbs: [__m256i; 2]) -> Digits {
    let ([a, b], low) = (limbs, all(DIGIT));
    let [high_a, high_b] = [_mm256_srli_epi64::<DIGIT_BITS>(a), _mm256_srli_epi64::<DIGIT_BITS>(b)];
    [_mm256_and_si256(a, low), high_a, _mm256_and_si256(b, low), high_b]
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load(limbs: &Limbs, half: usize) -> __m256i {
    let lanes: &[u64; WIDTH] = &limbs.as_chunks().0[half];
    // SAFETY: 32 bytes are there to be read, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store(limbs: &mut Limbs, half: usize, value: __m256i) {
    let lanes: &mut [u64; WIDTH] = &mut limbs.as_chunks_mut().0[half];
    // SAFETY: 32 bytes are there to be written, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), value) }
}

/// The same limb in all lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn all(limb: u64) -> __m256i {
    _mm256_set1_epi64x(limb as i64)
}
