//! Jacobi symbols, one pair in each of eight lanes.

use std::arch::x86_64::*;
use std::hint::black_box;

use super::super::jacobi::{LIMB, Pairs, Rounds, STEPS};
use super::super::montgomery::Limbs;
use super::montgomery::{all, load, store};

/// Bits of a limb.
const SHIFT: u32 = STEPS as u32;

/// Runs all rounds of groups of eight pairs. Steps wait for each other; those of several groups do not.
#[target_feature(enable = "avx512f,avx512dq")]
pub(in super::super) fn run<const GROUPS: usize>(groups: &mut [Pairs; GROUPS], rounds: Rounds) {
    for round in 0..rounds.count() {
        let (width, next) = (rounds.width(round), rounds.width(round + 1));
        let mut words = [[_mm512_setzero_si512(); 2]; GROUPS];
        let mut signs = [_mm512_setzero_si512(); GROUPS];
        for (group, pairs) in groups.iter().enumerate() {
            words[group] = self::words(&pairs.a[..width], &pairs.b[..width]);
            signs[group] = load(&pairs.sign);
        }
        let rows = steps(words, &mut signs);
        for (group, pairs) in groups.iter_mut().enumerate() {
            let (a, b) = (&mut pairs.a[..width], &mut pairs.b[..width]);
            let negative = divide(a, b, rows[group]);
            absolute(a, b, negative);
            let flipped = _mm512_mask_xor_epi64(signs[group], negative[0], signs[group], load(&b[0]));
            store(&mut pairs.sign, flipped);
            let both = |lost, limb: usize| _mm512_ternarylogic_epi64::<0xfe>(lost, load(&a[limb]), load(&b[limb]));
            let lost = (next..width).fold(load(&pairs.lost), both);
            store(&mut pairs.lost, lost);
        }
    }
}

/// The words of a and b: 32 bits from the highest of the longer one, and the lowest 32.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn words(a: &[Limbs], b: &[Limbs]) -> [__m512i; 2] {
    // The highest limbs of which one is not zero, with the two below them.
    let (mut x, mut y) = ([load(&a[2]), load(&a[1]), load(&a[0])], [load(&b[2]), load(&b[1]), load(&b[0])]);
    // Four bits more than two limbs make 64, below which words are the numbers.
    let mut highest = _mm512_ternarylogic_epi64::<0xfe>(x[0], y[0], all(8));
    for (a, b) in a[1..].array_windows::<3>().zip(b[1..].array_windows::<3>()) {
        let any = _mm512_or_si512(load(&a[2]), load(&b[2]));
        let some = _mm512_test_epi64_mask(any, any);
        highest = _mm512_mask_mov_epi64(highest, some, any);
        for limb in 0..3 {
            x[limb] = _mm512_mask_mov_epi64(x[limb], some, load(&a[2 - limb]));
            y[limb] = _mm512_mask_mov_epi64(y[limb], some, load(&b[2 - limb]));
        }
    }
    // Bits of the highest limb, from the exponent of a floating-point number.
    let exponent = _mm512_srli_epi64::<52>(_mm512_castpd_si512(_mm512_cvtepu64_pd(highest)));
    let length = _mm512_sub_epi64(exponent, all(1022));
    let (up, down) = (_mm512_sub_epi64(all(32), length), _mm512_add_epi64(all(28), length));
    let word = |limbs: [__m512i; 3], number: &[Limbs]| {
        let below = _mm512_or_si512(_mm512_slli_epi64::<SHIFT>(limbs[1]), limbs[2]);
        let high = _mm512_or_si512(_mm512_sllv_epi64(limbs[0], up), _mm512_srlv_epi64(below, down));
        let low = _mm512_or_si512(_mm512_slli_epi64::<SHIFT>(load(&number[1])), load(&number[0]));
        // high << 32 | low & 2^32 - 1.
        _mm512_mask_mov_epi32(_mm512_slli_epi64::<32>(high), 0x5555, low)
    };
    [word(x, a), word(y, b)]
}

/// The steps on words, and the rows f0 + 2^32 g0 and f1 + 2^32 g1 of what they do.
#[inline]
#[target_feature(enable = "avx512f")]
fn steps<const GROUPS: usize>(words: [[__m512i; 2]; GROUPS], signs: &mut [__m512i; GROUPS]) -> [[__m512i; 2]; GROUPS] {
    // Of a number that is known, the optimiser would make two instructions of a test for it.
    let one = all(black_box(1));
    let (mut numbers, mut rows, mut flips) = (words, [[one, all(1 << 32)]; GROUPS], *signs);
    for _ in 0..STEPS {
        for group in 0..GROUPS {
            let ([a, b], [first, second]) = (numbers[group], rows[group]);
            let odd = _mm512_test_epi64_mask(a, one);
            let swap = _mm512_mask_cmplt_epu64_mask(odd, a, b);
            // flips ^ (a & b), then flips ^ b ^ (b >> 1), of which bit 1 is bit 2 of b + 2.
            let flip = _mm512_mask_ternarylogic_epi64::<0x78>(flips[group], swap, a, b);
            let (a, b) = (_mm512_mask_mov_epi64(a, swap, b), _mm512_mask_mov_epi64(b, swap, a));
            let (first, second) =
                (_mm512_mask_mov_epi64(first, swap, second), _mm512_mask_mov_epi64(second, swap, first));
            let a = _mm512_srli_epi64::<1>(_mm512_mask_sub_epi64(a, odd, a, b));
            numbers[group] = [a, b];
            rows[group] = [_mm512_mask_sub_epi64(first, odd, first, second), _mm512_add_epi64(second, second)];
            flips[group] = _mm512_ternarylogic_epi64::<0x96>(flip, b, _mm512_srli_epi64::<1>(b));
        }
    }
    *signs = flips;
    rows
}

/// The new a and b in two's complement, and whether they are negative.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn divide(a: &mut [Limbs], b: &mut [Limbs], rows: [__m512i; 2]) -> [__mmask8; 2] {
    // Products take the lower halves of words, as signed numbers.
    let upper = |row| _mm512_srli_epi64::<32>(_mm512_add_epi64(row, all(1 << 31)));
    let ([f0, f1], [g0, g1]) = (rows, [upper(rows[0]), upper(rows[1])]);
    let sums = |[x, y]: [__m512i; 2], a: &Limbs, b: &Limbs| {
        let (a, b) = (load(a), load(b));
        [
            _mm512_add_epi64(_mm512_add_epi64(x, _mm512_mul_epi32(a, f0)), _mm512_mul_epi32(b, g0)),
            _mm512_add_epi64(_mm512_add_epi64(y, _mm512_mul_epi32(a, f1)), _mm512_mul_epi32(b, g1)),
        ]
    };
    let low = all(LIMB);
    let last = a.len() - 1;
    // The lowest limb of a sum is zero.
    let [mut x, mut y] = sums([_mm512_setzero_si512(); 2], &a[0], &b[0]).map(|sum| _mm512_srai_epi64::<SHIFT>(sum));
    for limb in 0..last {
        [x, y] = sums([x, y], &a[limb + 1], &b[limb + 1]);
        store(&mut a[limb], _mm512_and_si512(x, low));
        store(&mut b[limb], _mm512_and_si512(y, low));
        [x, y] = [x, y].map(|sum| _mm512_srai_epi64::<SHIFT>(sum));
    }
    store(&mut a[last], _mm512_and_si512(x, low));
    store(&mut b[last], _mm512_and_si512(y, low));
    [_mm512_movepi64_mask(x), _mm512_movepi64_mask(y)]
}

/// Minus those numbers that are negative.
#[inline]
#[target_feature(enable = "avx512f")]
fn absolute(a: &mut [Limbs], b: &mut [Limbs], negative: [__mmask8; 2]) {
    let low = all(LIMB);
    let [of_a, of_b] = negative.map(|negative| _mm512_maskz_mov_epi64(negative, low));
    let [mut x, mut y] = negative.map(|negative| _mm512_maskz_set1_epi64(negative, 1));
    for (a, b) in a.iter_mut().zip(b) {
        x = _mm512_add_epi64(_mm512_xor_si512(load(a), of_a), x);
        y = _mm512_add_epi64(_mm512_xor_si512(load(b), of_b), y);
        store(a, _mm512_and_si512(x, low));
        store(b, _mm512_and_si512(y, low));
        (x, y) = (_mm512_srli_epi64::<SHIFT>(x), _mm512_srli_epi64::<SHIFT>(y));
    }
}
