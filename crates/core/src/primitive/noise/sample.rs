//! Exact samplers (Canonne, Kamath & Steinke 2020, algorithms 1 to 3), on integers alone. Their time depends on what
//! they draw: a caller draws where nobody sees how long it takes.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::{Wide, divide};

/// A uniformly random integer below `bound`, which is at least 1.
fn uniform(bound: &Wide, rng: &mut impl CryptoRng) -> Wide {
    let bits = bound.wrapping_sub(&Wide::ONE).bits_vartime();
    let bytes = bits.div_ceil(8) as usize;
    let mut buffer = Zeroizing::new([0; Wide::BYTES]);
    loop {
        rng.fill_bytes(&mut buffer[..bytes]);
        if !bits.is_multiple_of(8) {
            buffer[bytes - 1] &= (1 << (bits % 8)) - 1;
        }
        let drawn = Wide::from_le_slice(&*buffer);
        if drawn < *bound {
            return drawn;
        }
    }
}

/// True with probability exp(-`numerator` / `denominator`): algorithm 1.
pub(super) fn bernoulli_exp(numerator: &Wide, denominator: &Wide, rng: &mut impl CryptoRng) -> bool {
    let (mut whole, rest) = divide(numerator, denominator);
    while !whole.is_zero_vartime() {
        if !bernoulli_exp_of_fraction(&Wide::ONE, &Wide::ONE, rng) {
            return false;
        }
        whole = whole.wrapping_sub(&Wide::ONE);
    }
    bernoulli_exp_of_fraction(&rest, denominator, rng)
}

/// The same for a fraction from 0 to 1: the first k is odd for which a coin of probability `numerator` / (k
/// `denominator`) says no.
fn bernoulli_exp_of_fraction(numerator: &Wide, denominator: &Wide, rng: &mut impl CryptoRng) -> bool {
    let (mut odd, mut sides) = (true, *denominator);
    while uniform(&sides, rng) < *numerator {
        odd = !odd;
        sides = sides.wrapping_add(denominator);
    }
    odd
}

/// An integer x with probability proportional to exp(-|x| `denominator` / `numerator`): algorithm 2.
pub(super) fn laplace(numerator: &Wide, denominator: &Wide, rng: &mut impl CryptoRng) -> i128 {
    loop {
        let part = uniform(numerator, rng);
        if !bernoulli_exp_of_fraction(&part, numerator, rng) {
            continue;
        }
        let mut geometric = part;
        while bernoulli_exp_of_fraction(&Wide::ONE, &Wide::ONE, rng) {
            geometric = geometric.wrapping_add(numerator);
        }
        let (size, _) = divide(&geometric, denominator);
        let negative = uniform(&Wide::from_u64(2), rng) == Wide::ONE;
        // Else zero would have both signs.
        if !(negative && size.is_zero_vartime()) {
            let size = integer(&size);
            return if negative { -size } else { size };
        }
    }
}

/// An integer x with probability proportional to exp(-x^2 / (2 `variance`)): algorithm 3.
pub(super) fn gaussian(variance: &Wide, rng: &mut impl CryptoRng) -> i128 {
    let scale = variance.floor_sqrt_vartime().wrapping_add(&Wide::ONE);
    let denominator = variance.wrapping_mul(&scale).wrapping_mul(&scale).wrapping_mul(&Wide::from_u64(2));
    loop {
        let drawn = laplace(&scale, &Wide::ONE, rng);
        // Accepted with probability exp(-(|x| - variance / scale)^2 / (2 variance)).
        let size = Wide::from_u128(drawn.unsigned_abs()).wrapping_mul(&scale);
        let distance = if size < *variance { variance.wrapping_sub(&size) } else { size.wrapping_sub(variance) };
        if bernoulli_exp(&distance.wrapping_mul(&distance), &denominator, rng) {
            return drawn;
        }
    }
}

/// The same number; the largest in place of one that does not fit, which no run will see.
fn integer(size: &Wide) -> i128 {
    if size.bits_vartime() > 126 {
        return i128::MAX;
    }
    size.to_words().iter().rev().fold(0, |sum, word| sum << 64 | i128::from(*word))
}
