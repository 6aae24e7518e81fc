//! Modulus of the sum of shares.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::primitive::kernel::mask::mask;

/// The longest modulus: 2^`MAX_MODULUS_BITS` and below, so that every residue is an `i128`.
const MAX_MODULUS_BITS: u32 = 127;

/// A modulus from 2 to 2^127. Arithmetic on residues takes the same time for all of them. It does not overflow, and
/// wraps so that no overflow is looked for: that would be a conditional jump on secrets, even if one that is never
/// taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modulus {
    value: u128,
    /// Bits of the largest residue.
    bits: u32,
}

impl Modulus {
    /// Creates the modulus `value`.
    pub fn new(value: u128) -> Result<Modulus> {
        if !(2..=1 << MAX_MODULUS_BITS).contains(&value) {
            return Err(Error::Input(format!("modulus = {value}: use 2 to 2^{MAX_MODULUS_BITS}")));
        }
        Ok(Modulus { value, bits: 128 - (value - 1).leading_zeros() })
    }

    /// 2^`bits`, 1 to 127.
    pub fn power_of_two(bits: u32) -> Result<Modulus> {
        if (1..=MAX_MODULUS_BITS).contains(&bits) {
            Modulus::new(1 << bits)
        } else {
            Err(Error::Input(format!("modulus = 2^{bits}: use 2 to 2^{MAX_MODULUS_BITS}")))
        }
    }

    /// Returns the modulus as an integer.
    pub fn value(&self) -> u128 {
        self.value
    }

    /// Bits of the largest residue: each residue takes so many on the wire.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Whether it is a power of two.
    pub fn is_power_of_two(&self) -> bool {
        self.value.is_power_of_two()
    }

    /// a + b, for residues a and b.
    #[inline]
    pub fn add(&self, a: u128, b: u128) -> u128 {
        self.at_most_once(a.wrapping_add(b))
    }

    /// a - b, for residues a and b.
    #[inline]
    pub fn subtract(&self, a: u128, b: u128) -> u128 {
        self.at_most_once(a.wrapping_add(self.value.wrapping_sub(b)))
    }

    /// `sum`, which is less than twice the modulus, as a residue.
    #[inline]
    fn at_most_once(&self, sum: u128) -> u128 {
        let (less, borrowed) = sum.overflowing_sub(self.value);
        less.wrapping_add(self.value & mask(borrowed))
    }

    /// The residue of a public integer, or of a secret one that is less than the modulus in absolute value, for which
    /// the time does not depend on it.
    pub fn residue(&self, integer: i128) -> u128 {
        let reduced = if integer.unsigned_abs() < self.value {
            integer
        } else {
            integer.checked_rem(self.value as i128).unwrap_or(0)
        };
        self.at_most_once((reduced as u128).wrapping_add(self.value & mask(reduced < 0)))
    }

    /// A uniformly random residue from 256 uniformly random bits, of which `high` are the upper ones: floor(bits *
    /// modulus / 2^256), which is uniform but for a statistical distance below modulus / 2^256.
    #[inline]
    pub fn uniform(&self, high: u128, low: u128) -> u128 {
        if self.is_power_of_two() {
            return high >> (128 - self.bits);
        }
        let carried = multiply_high(low, self.value).0;
        let (upper, lower) = multiply_high(high, self.value);
        upper.wrapping_add(u128::from(lower.overflowing_add(carried).1))
    }

    /// The integer that a residue stands for: itself, or, `signed`, the one nearest to zero (half of an even modulus is
    /// negative, as in two's complement).
    pub fn integer(&self, residue: u128, signed: bool) -> i128 {
        if signed && residue >= self.value.div_ceil(2) { -((self.value - residue) as i128) } else { residue as i128 }
    }

    /// Whether the residue of this integer is told from those of all others nearer to zero: [`Modulus::integer`] gives
    /// it back.
    pub fn tells(&self, integer: i128, signed: bool) -> bool {
        self.integer(self.residue(integer), signed) == integer
    }
}

/// The upper and the lower half of a product.
#[inline]
fn multiply_high(a: u128, b: u128) -> (u128, u128) {
    let halves = |x: u128| (x >> 64, x & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    // Factors below 2^64: no product, and no sum of one with a half or two, overflows.
    let product = |a: u128, b: u128| a.wrapping_mul(b);
    let (low, cross) = (product(a0, b0), product(a1, b0));
    let (cross1, cross0) = halves(cross.wrapping_add(low >> 64));
    let middle = cross0.wrapping_add(product(a0, b1));
    let high = product(a1, b1).wrapping_add(cross1).wrapping_add(middle >> 64);
    (high, middle << 64 | low & u128::from(u64::MAX))
}

/// Formats the modulus as a decimal number.
impl fmt::Display for Modulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value)
    }
}

/// Parses a decimal number or `2^64`.
impl FromStr for Modulus {
    type Err = Error;

    fn from_str(text: &str) -> Result<Modulus> {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let bad = || {
            let shown: String = text.chars().take(60).collect::<String>().escape_debug().collect();
            Error::Input(format!(
                "modulus = \"{shown}\": use 2 to 2^{MAX_MODULUS_BITS}, as \"2^64\" or a decimal number"
            ))
        };
        let modulus = match text.strip_prefix("2^") {
            Some(bits) if digits(bits) => bits.parse().ok().and_then(|bits| Modulus::power_of_two(bits).ok()),
            None if digits(text) => text.parse().ok().and_then(|value| Modulus::new(value).ok()),
            _ => None,
        };
        modulus.ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_are_read_or_refused() {
        for (text, value) in [("2^64", 1 << 64), ("2^1", 2), ("2^127", 1 << 127), ("2", 2), ("65537", 65537)] {
            assert_eq!(text.parse::<Modulus>().unwrap().value(), value);
        }
        assert_eq!("18446744073709551616".parse::<Modulus>().unwrap().to_string(), "18446744073709551616");
        for text in ["", "0", "1", "2^0", "2^128", "2^", "-5", "+5", "1e3", " 7", "3^2", &"9".repeat(80)] {
            assert!(text.parse::<Modulus>().is_err(), "{text}");
        }
    }

    #[test]
    fn bits_hold_the_largest_residue() {
        for (value, bits) in [(2, 1), (3, 2), (4, 2), (5, 3), (1 << 64, 64), ((1 << 64) + 1, 65), (1 << 127, 127)] {
            assert_eq!(Modulus::new(value).unwrap().bits(), bits);
        }
    }

    #[test]
    fn uniform_residues_are_the_quantiles_of_their_bits() {
        for value in [2, 3, 5, 1 << 64, (1 << 64) - 59, (1 << 127) - 1, 1 << 127] {
            let modulus = Modulus::new(value).unwrap();
            assert_eq!(modulus.uniform(0, 0), 0);
            assert_eq!(modulus.uniform(u128::MAX, u128::MAX), value - 1);
            // The first bits at which residue 1 begins: 2^256 / value, rounded up.
            let high = u128::MAX / value + u128::from(u128::MAX % value + 1 == value);
            assert_eq!(modulus.uniform(high, u128::MAX), 1, "{value}");
            assert_eq!(modulus.uniform(high - 1, u128::MAX), 0);
        }
    }

    proptest! {
        #[test]
        fn halves_of_products_are_right(a: u128, b: u128) {
            let (high, low) = multiply_high(a, b);
            prop_assert_eq!(low, a.wrapping_mul(b));
            // Modulo 2^61 - 1, where 2^128 is 2^6.
            let prime = (1u128 << 61) - 1;
            let left = (a % prime) * (b % prime) % prime;
            let right = ((high % prime) * 64 + low % prime) % prime;
            prop_assert_eq!(left, right);
        }

        #[test]
        fn arithmetic_is_that_of_residues(value in 2u128..=1 << 127, a: u128, b: u128, x: i128) {
            let modulus = Modulus::new(value).unwrap();
            let (a, b) = (a % value, b % value);
            prop_assert_eq!(modulus.add(a, b), (a % value + b % value) % value);
            prop_assert_eq!(modulus.add(modulus.subtract(a, b), b), a);
            let residue = modulus.residue(x);
            prop_assert!(residue < value);
            if value <= 1 << 126 {
                prop_assert_eq!(residue, x.rem_euclid(value as i128) as u128);
            }
            for signed in [false, true] {
                prop_assert_eq!(modulus.residue(modulus.integer(a, signed)), a);
            }
        }
    }
}
