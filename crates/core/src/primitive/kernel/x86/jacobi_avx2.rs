//! Jacobi symbols by AVX2, one pair in each of the four lanes of a vector, of which two make a group.
//!
//! A difference of numbers below 2^63 says by its sign which of them is the smaller one, so the words have 63 bits
//! here, of the lowest 31. Only the halving needs three bits of b, after its step; they are still there when the next
//! step starts, be it after a division. There they count. Those of n itself thus count once too much, for which they
//! count once more before all steps, and those of the last b never, but that is 1 where the symbol is not 0.
//!
//! **Errors of the words**, as in [`jacobi`](super::super::jacobi): for n > 63 bits, u is 2^(n - 63) and the difference
//! less than 2^31 u. That is the same 2^(n - 32).

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::jacobi::{LIMB, Pairs, Rounds, STEPS};
use super::super::montgomery::Limbs;
use super::montgomery_avx2::{HALVES, all, load, store};

/// Bits of a limb.
const SHIFT: i32 = STEPS as i32;

/// The lowest bits that a word has of its number.
const LOW: i32 = 31;

/// Runs all rounds of eight pairs.
#[target_feature(enable = "avx2")]
pub(in super::super) fn run(pairs: &mut Pairs, rounds: Rounds) {
    for half in 0..HALVES {
        let flipped = halving(load(&pairs.sign, half), load(&pairs.b[0], half));
        store(&mut pairs.sign, half, flipped);
    }
    for round in 0..rounds.count() {
        let (width, next) = (rounds.width(round), rounds.width(round + 1));
        let (a, b) = (&mut pairs.a[..width], &mut pairs.b[..width]);
        let words = [words(a, b, 0), words(a, b, 1)];
        let mut signs = [load(&pairs.sign, 0), load(&pairs.sign, 1)];
        let rows = steps(words, &mut signs);
        for half in 0..HALVES {
            let negative = divide(a, b, half, rows[half]);
            absolute(a, b, half, negative);
            let flip = _mm256_and_si256(negative[0], load(&b[0], half));
            store(&mut pairs.sign, half, _mm256_xor_si256(signs[half], flip));
            let both = |limb: usize| _mm256_or_si256(load(&a[limb], half), load(&b[limb], half));
            let lost = (next..width).fold(load(&pairs.lost, half), |lost, limb| _mm256_or_si256(lost, both(limb)));
            store(&mut pairs.lost, half, lost);
        }
    }
}

/// The words of a and b: 32 bits from the highest of the longer one, and the lowest 31.
#[inline]
#[target_feature(enable = "avx2")]
fn words(a: &[Limbs], b: &[Limbs], half: usize) -> [__m256i; 2] {
    // The highest limbs of which one is not zero, with the two below them.
    let three = |limbs: &[Limbs]| [load(&limbs[2], half), load(&limbs[1], half), load(&limbs[0], half)];
    let (mut x, mut y) = (three(a), three(b));
    // Three bits more than two limbs make 63, below which words are the numbers.
    let mut highest = _mm256_or_si256(_mm256_or_si256(x[0], y[0]), all(4));
    for (a, b) in a[1..].array_windows::<3>().zip(b[1..].array_windows::<3>()) {
        let (a, b) = (three(a), three(b));
        let any = _mm256_or_si256(a[0], b[0]);
        let none = _mm256_cmpeq_epi64(any, _mm256_setzero_si256());
        highest = choose(any, highest, none);
        for limb in 0..3 {
            x[limb] = choose(a[limb], x[limb], none);
            y[limb] = choose(b[limb], y[limb], none);
        }
    }
    // Bits of the highest limb, from the exponent of a floating-point number, which 2^52 + x is before 2^52 is taken
    // off.
    let power = all(1075 << 52);
    let float = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(highest, power)), _mm256_castsi256_pd(power));
    let length = _mm256_sub_epi64(_mm256_srli_epi64::<52>(_mm256_castpd_si256(float)), all(1022));
    let (up, down) = (_mm256_sub_epi64(all(32), length), _mm256_add_epi64(all(28), length));
    let word = |limbs: [__m256i; 3], number: &[Limbs]| {
        let below = _mm256_or_si256(_mm256_slli_epi64::<SHIFT>(limbs[1]), limbs[2]);
        let high = _mm256_or_si256(_mm256_sllv_epi64(limbs[0], up), _mm256_srlv_epi64(below, down));
        let low = _mm256_or_si256(_mm256_slli_epi64::<SHIFT>(load(&number[1], half)), load(&number[0], half));
        _mm256_or_si256(_mm256_slli_epi64::<LOW>(high), _mm256_and_si256(low, all((1 << LOW) - 1)))
    };
    [word(x, a), word(y, b)]
}

/// The steps on words, and the rows f0 + 2^32 g0 and f1 + 2^32 g1 of what they do.
#[inline]
#[target_feature(enable = "avx2")]
fn steps(words: [[__m256i; 2]; HALVES], signs: &mut [__m256i; HALVES]) -> [[__m256i; 2]; HALVES] {
    let (mut numbers, mut rows) = (words, [[all(1), all(1 << 32)]; HALVES]);
    let mut halved = [_mm256_setzero_si256(); HALVES];
    for _ in 0..STEPS {
        for half in 0..HALVES {
            let ([a, b], [first, second]) = (numbers[half], rows[half]);
            halved[half] = _mm256_xor_si256(halved[half], b);
            // Masks of which only the highest bit counts: a is odd, and it is smaller as well.
            let odd = _mm256_slli_epi64::<63>(a);
            let less = _mm256_sub_epi64(a, b);
            let swap = _mm256_and_si256(odd, less);
            let flip = choose(_mm256_setzero_si256(), _mm256_and_si256(a, b), swap);
            signs[half] = _mm256_xor_si256(signs[half], flip);
            let rest = choose(choose(a, less, odd), _mm256_sub_epi64(b, a), swap);
            numbers[half] = [_mm256_srli_epi64::<1>(rest), choose(b, a, swap)];
            let difference = choose(first, _mm256_sub_epi64(first, second), odd);
            let other = choose(second, first, swap);
            rows[half] = [choose(difference, _mm256_sub_epi64(second, first), swap), _mm256_add_epi64(other, other)];
        }
    }
    for half in 0..HALVES {
        signs[half] = halving(signs[half], halved[half]);
    }
    rows
}

/// Signs after halvings modulo b, or modulo all numbers of which b is the sum (exclusive or).
#[inline]
#[target_feature(enable = "avx2")]
fn halving(signs: __m256i, b: __m256i) -> __m256i {
    // Bit 1 of b ^ b >> 1 is bit 2 of b + 2.
    _mm256_xor_si256(signs, _mm256_xor_si256(b, _mm256_srli_epi64::<1>(b)))
}

/// The new a and b in two's complement, and masks of whether they are negative.
#[inline]
#[target_feature(enable = "avx2")]
fn divide(a: &mut [Limbs], b: &mut [Limbs], half: usize, rows: [__m256i; 2]) -> [__m256i; 2] {
    // Products take the lower halves of words, as signed numbers.
    let upper = |row| _mm256_srli_epi64::<32>(_mm256_add_epi64(row, all(1 << 31)));
    let ([f0, f1], [g0, g1]) = (rows, [upper(rows[0]), upper(rows[1])]);
    // There is no shift of numbers with sign: 2^63 is added before it, which is 2^33 after it.
    let bias = all(1 << 63);
    let again = all((1 << 63) - (1 << (63 - SHIFT)));
    let sum = |carry, a, f, b, g| {
        let products = _mm256_add_epi64(multiply_low(a, f), multiply_low(b, g));
        _mm256_add_epi64(products, carry)
    };
    let low = all(LIMB);
    let (of_a, of_b) = (load(&a[0], half), load(&b[0], half));
    let (mut x, mut y) = (sum(bias, of_a, f0, of_b, g0), sum(bias, of_a, f1, of_b, g1));
    // The lowest limb of a sum is zero.
    for limb in 1..a.len() {
        let (of_a, of_b) = (load(&a[limb], half), load(&b[limb], half));
        let carry = |sum| _mm256_add_epi64(_mm256_srli_epi64::<SHIFT>(sum), again);
        x = sum(carry(x), of_a, f0, of_b, g0);
        y = sum(carry(y), of_a, f1, of_b, g1);
        store(&mut a[limb - 1], half, _mm256_and_si256(x, low));
        store(&mut b[limb - 1], half, _mm256_and_si256(y, low));
    }
    let last = a.len() - 1;
    let high = |sum| _mm256_and_si256(_mm256_srli_epi64::<SHIFT>(sum), low);
    store(&mut a[last], half, high(x));
    store(&mut b[last], half, high(y));
    // With 2^63 added, all other numbers have the highest bit.
    [x, y].map(|sum| _mm256_cmpgt_epi64(sum, all(u64::MAX)))
}

/// The products of the lower halves as signed numbers. An instruction, not the intrinsic, for the reason that
/// [`super::montgomery_avx2`] has.
#[inline]
#[target_feature(enable = "avx2")]
fn multiply_low(a: __m256i, b: __m256i) -> __m256i {
    let product;
    // SAFETY: the instruction reads and writes registers only, and AVX2 has it.
    unsafe {
        asm!("vpmuldq {}, {}, {}", lateout(ymm_reg) product, in(ymm_reg) a, in(ymm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    product
}

/// Minus those numbers that are negative.
#[inline]
#[target_feature(enable = "avx2")]
fn absolute(a: &mut [Limbs], b: &mut [Limbs], half: usize, negative: [__m256i; 2]) {
    let low = all(LIMB);
    let [of_a, of_b] = negative.map(|negative| _mm256_and_si256(negative, low));
    let [mut x, mut y] = negative.map(|negative| _mm256_srli_epi64::<63>(negative));
    for (a, b) in a.iter_mut().zip(b) {
        x = _mm256_add_epi64(_mm256_xor_si256(load(a, half), of_a), x);
        y = _mm256_add_epi64(_mm256_xor_si256(load(b, half), of_b), y);
        store(a, half, _mm256_and_si256(x, low));
        store(b, half, _mm256_and_si256(y, low));
        (x, y) = (_mm256_srli_epi64::<SHIFT>(x), _mm256_srli_epi64::<SHIFT>(y));
    }
}

/// Selects in each lane: `one`, or `other` if the highest bit of the mask is set.
#[inline]
#[target_feature(enable = "avx2")]
fn choose(one: __m256i, other: __m256i, mask: __m256i) -> __m256i {
    let [one, other, mask] = [one, other, mask].map(|lanes| _mm256_castsi256_pd(lanes));
    _mm256_castpd_si256(_mm256_blendv_pd(one, other, mask))
}
