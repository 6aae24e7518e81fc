//! Jacobi symbols, lane by lane.

use std::hint::black_box;

use zeroize::Zeroizing;

use super::super::jacobi::{LIMB, Pairs, Rounds, STEPS};
use super::super::montgomery::LANES;

/// Runs all rounds of eight pairs.
pub(in super::super) fn run(pairs: &mut Pairs, rounds: Rounds) {
    let count = pairs.a.len();
    let (mut a, mut b) = (Zeroizing::new(vec![0; count]), Zeroizing::new(vec![0; count]));
    // One, of which the optimiser does not know it: of a mask made with it, it makes no jump.
    let one = black_box(1);
    for lane in 0..LANES {
        for limb in 0..count {
            (a[limb], b[limb]) = (pairs.a[limb][lane], pairs.b[limb][lane]);
        }
        let (mut sign, mut lost) = (0, 0);
        for round in 0..rounds.count() {
            let (width, next) = (rounds.width(round), rounds.width(round + 1));
            let (x, y) = words(&a[..width], &b[..width], one);
            let (first, second) = steps(x, y, &mut sign, one);
            let negative = divide(&mut a[..width], &mut b[..width], first, second);
            absolute(&mut a[..width], negative[0]);
            absolute(&mut b[..width], negative[1]);
            sign ^= b[0] & negative[0];
            lost = (next..width).fold(lost, |lost, limb| lost | a[limb] | b[limb]);
        }
        for limb in 0..count {
            (pairs.a[limb][lane], pairs.b[limb][lane]) = (a[limb], b[limb]);
        }
        (pairs.sign[lane], pairs.lost[lane]) = (sign, lost);
    }
}

/// The words of a and b: 32 bits from the highest of the longer one, and the lowest 32.
#[inline]
fn words(a: &[u64], b: &[u64], one: u64) -> (u64, u64) {
    // The highest limbs of which one is not zero, with the two below them.
    let (mut x, mut y) = ([a[2], a[1], a[0]], [b[2], b[1], b[0]]);
    let mut long = 0;
    for (a, b) in a[1..].array_windows::<3>().zip(b[1..].array_windows::<3>()) {
        let any = a[2] | b[2];
        let some = (any.wrapping_neg() >> 63 & one).wrapping_neg();
        for limb in 0..3 {
            x[limb] ^= (x[limb] ^ a[2 - limb]) & some;
            y[limb] ^= (y[limb] ^ b[2 - limb]) & some;
        }
        long |= some;
    }
    // Bits of the highest limb. Four more than two limbs make 64, below which words are the numbers.
    let length = 64 - (x[0] | y[0] | 8 & !long | 1).leading_zeros();
    let word = |limbs: [u64; 3], number: &[u64]| {
        let high = limbs[0] << (32 - length) | (limbs[1] << STEPS | limbs[2]) >> (28 + length);
        high << 32 | (number[1] << STEPS | number[0]) & 0xffff_ffff
    };
    (word(x, a), word(y, b))
}

/// The steps on words, and the rows f0 + 2^32 g0 and f1 + 2^32 g1 of what they do.
#[inline]
fn steps(mut a: u64, mut b: u64, sign: &mut u64, one: u64) -> (u64, u64) {
    let (mut first, mut second) = (1u64, 1 << 32);
    let mut flips = *sign;
    for _ in 0..STEPS {
        let odd = (a & one).wrapping_neg();
        // Whether a is less than b, as the borrow of a - b: a comparison may become a jump.
        let less = ((!a & b) | ((!a | b) & a.wrapping_sub(b))) >> 63 & one;
        let swap = odd & less.wrapping_neg();
        flips ^= a & b & swap;
        let (numbers, rows) = ((a ^ b) & swap, (first ^ second) & swap);
        (a, b, first, second) = (a ^ numbers, b ^ numbers, first ^ rows, second ^ rows);
        a = a.wrapping_sub(b & odd) >> 1;
        first = first.wrapping_sub(second & odd);
        second <<= 1;
        // Bit 1 of this is bit 2 of b + 2.
        flips ^= b ^ b >> 1;
    }
    *sign = flips;
    (first, second)
}

/// The new a and b in two's complement, and masks of whether they are negative.
#[inline]
fn divide(a: &mut [u64], b: &mut [u64], first: u64, second: u64) -> [u64; 2] {
    let parts = |row: u64| (i64::from(row as i32), row.wrapping_add(1 << 31) as i64 >> 32);
    let ((f0, g0), (f1, g1)) = (parts(first), parts(second));
    let (mut x, mut y) = (0i64, 0i64);
    for limb in 0..a.len() {
        let (of_a, of_b) = (a[limb] as i64, b[limb] as i64);
        x = x.wrapping_add(of_a.wrapping_mul(f0)).wrapping_add(of_b.wrapping_mul(g0));
        y = y.wrapping_add(of_a.wrapping_mul(f1)).wrapping_add(of_b.wrapping_mul(g1));
        if limb > 0 {
            (a[limb - 1], b[limb - 1]) = (x as u64 & LIMB, y as u64 & LIMB);
        }
        (x, y) = (x >> STEPS, y >> STEPS);
    }
    let last = a.len() - 1;
    (a[last], b[last]) = (x as u64 & LIMB, y as u64 & LIMB);
    [(x >> 63) as u64, (y >> 63) as u64]
}

/// The number itself, or minus it where the mask is all ones.
#[inline]
fn absolute(number: &mut [u64], negative: u64) {
    let (mask, mut carry) = (black_box(negative & LIMB), negative & 1);
    for limb in number {
        let sum = (*limb ^ mask).wrapping_add(carry);
        (*limb, carry) = (sum & LIMB, sum >> STEPS);
    }
}
