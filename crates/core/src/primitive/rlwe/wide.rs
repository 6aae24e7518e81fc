//! Numbers of many limbs: 64 bits each, the lowest first.

use zeroize::Zeroizing;

use crate::primitive::kernel::Prime;

/// The product; as many limbs as both have.
pub(crate) fn multiply(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut product = vec![0; a.len() + b.len()];
    for (i, &a) in a.iter().enumerate() {
        let mut carry = 0;
        for (&b, place) in b.iter().zip(&mut product[i..]) {
            let sum = u128::from(a) * u128::from(b) + u128::from(*place) + carry;
            *place = sum as u64;
            carry = sum >> 64;
        }
        product[i + b.len()] = carry as u64;
    }
    product
}

/// Returns a power of the number `base`.
pub(crate) fn power(base: &[u64], exponent: usize) -> Vec<u64> {
    (0..exponent).fold(vec![1], |power, _| trimmed(multiply(&power, base)))
}

/// Returns the sum of two numbers.
pub(crate) fn add(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut carry = 0;
    let mut sum: Vec<_> = (0..a.len().max(b.len()))
        .map(|index| {
            let limb = |number: &[u64]| u128::from(number.get(index).copied().unwrap_or(0));
            carry += limb(a) + limb(b);
            let low = carry as u64;
            carry >>= 64;
            low
        })
        .collect();
    sum.push(carry as u64);
    sum
}

/// Without the limbs above the highest one that is not zero.
fn trimmed(mut limbs: Vec<u64>) -> Vec<u64> {
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    limbs
}

/// A number without its lowest `bits` bits.
pub(crate) fn shift_right(number: &[u64], bits: usize) -> Vec<u64> {
    let limbs = &number[(bits / 64).min(number.len())..];
    let above = limbs.iter().skip(1).copied().chain([0]);
    limbs
        .iter()
        .zip(above)
        .map(|(&limb, above)| (u128::from(above) << 64 | u128::from(limb)) >> (bits % 64))
        .map(|wide| wide as u64)
        .collect()
}

/// floor(number * 2^`shift` / divisor), for public numbers, bit by bit.
pub(crate) fn divide(number: &[u64], shift: usize, divisor: &[u64]) -> Vec<u64> {
    let bits = 64 * number.len() + shift;
    let mut quotient = vec![0; bits.div_ceil(64)];
    let divisor = trimmed(divisor.to_vec());
    // One limb more than the divisor: the remainder doubled.
    let mut remainder = vec![0u64; divisor.len() + 1];
    for bit in (0..bits).rev() {
        let next = if bit >= shift { number[(bit - shift) / 64] >> ((bit - shift) % 64) & 1 } else { 0 };
        let mut carry = next;
        for limb in &mut remainder {
            let out = *limb >> 63;
            *limb = *limb << 1 | carry;
            carry = out;
        }
        if at_least(&remainder, &divisor) {
            let mut borrow = false;
            for (index, limb) in remainder.iter_mut().enumerate() {
                let (less, first) = limb.overflowing_sub(divisor.get(index).copied().unwrap_or(0));
                let (less, second) = less.overflowing_sub(u64::from(borrow));
                (*limb, borrow) = (less, first || second);
            }
            quotient[bit / 64] |= 1 << (bit % 64);
        }
    }
    quotient
}

/// Whether a public number is at least another one.
pub(crate) fn at_least(a: &[u64], b: &[u64]) -> bool {
    let limb = |number: &[u64], index: usize| number.get(index).copied().unwrap_or(0);
    let highest = (0..a.len().max(b.len())).rev().find(|&index| limb(a, index) != limb(b, index));
    highest.is_none_or(|index| limb(a, index) > limb(b, index))
}

/// Reads numbers modulo several primes as fractions of the primes' product q', and their digits.
///
/// By the Chinese remainder theorem x / q' = sum of ([x * (q' / p)^-1] mod p) / p, modulo 1; fixed-point fractions that
/// wrap around are all that this takes. They have 64 bits more than q', so that their error is less than 1 / q'.
#[derive(Debug)]
pub(crate) struct FractionReader {
    /// For each prime: (q' / p)^-1 modulo it, and 1 / p.
    parts: Vec<(Prime, u64, Vec<u64>)>,
    /// Constant that is added first: the digits' offset, and half of the lowest digit's unit.
    offset: Vec<u64>,
    base: [u64; 2],
    digits: usize,
}

impl FractionReader {
    /// For fractions m / `base`^`digits` with an error of less than half a unit of m, where m is a sum of digits d_j
    /// `base`^j and each d_j is at least -`offset` and less than `base` - `offset`.
    pub(crate) fn new(primes: &[Prime], base: u128, digits: usize, offset: u128) -> FractionReader {
        let product = primes.iter().fold(vec![1], |product, prime| trimmed(multiply(&product, &[prime.value()])));
        let limbs = product.len() + 1;
        let base = [base as u64, (base >> 64) as u64];
        let unit = |number: &[u64], divisor: &[u64]| {
            let mut fraction = divide(number, 64 * limbs, divisor);
            fraction.resize(limbs, 0);
            fraction
        };
        let parts = primes.iter().map(|prime| {
            let others = primes.iter().filter(|other| *other != prime);
            let product = others.fold(1, |product, other| prime.multiply(product, prime.reduce(other.value())));
            (*prime, prime.invert(product), unit(&[1], &[prime.value()]))
        });
        // (2 * offset * (1 + base + base^2 + ...) + 1) / (2 * base^digits)
        let ones = (0..digits).fold(vec![0], |sum, _| trimmed(add(&multiply(&sum, &base), &[1])));
        let offset = [offset as u64, (offset >> 64) as u64];
        let numerator = add(&multiply(&multiply(&ones, &offset), &[2]), &[1]);
        let offset = unit(&numerator, &multiply(&power(&base, digits), &[2]));
        FractionReader { parts: parts.collect(), offset, base, digits }
    }

    /// The digits, each plus the offset, of the number that has these residues, the lowest digit first. In time that
    /// does not depend on them.
    pub(crate) fn digits(&self, residues: &[u64]) -> Zeroizing<Vec<u128>> {
        let mut fraction = Zeroizing::new(self.offset.clone());
        for ((prime, inverse, unit), &residue) in self.parts.iter().zip(residues) {
            let factor = u128::from(prime.multiply(residue, *inverse));
            let mut carry = 0;
            for (place, &limb) in fraction.iter_mut().zip(unit) {
                let sum = factor * u128::from(limb) + u128::from(*place) + carry;
                *place = sum as u64;
                carry = sum >> 64;
            }
        }
        let limbs = fraction.len();
        let mut digits = Zeroizing::new(vec![0; self.digits]);
        for digit in digits.iter_mut().rev() {
            let product = Zeroizing::new(multiply(&fraction, &self.base));
            fraction.copy_from_slice(&product[..limbs]);
            *digit = u128::from(product[limbs + 1]) << 64 | u128::from(product[limbs]);
        }
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limbs(number: u128) -> [u64; 2] {
        [number as u64, (number >> 64) as u64]
    }

    fn number(limbs: &[u64]) -> u128 {
        assert!(limbs.iter().skip(2).all(|&limb| limb == 0));
        u128::from(limbs[0]) | u128::from(limbs.get(1).copied().unwrap_or(0)) << 64
    }

    proptest! {
        #[test]
        fn limbs_are_numbers(a: u128, b: u64, c in 1u128.., shift in 0usize..128) {
            prop_assert_eq!(number(&multiply(&[a as u64], &[b])), u128::from(a as u64) * u128::from(b));
            prop_assert_eq!(number(&divide(&limbs(a), 0, &limbs(c))), a / c);
            let quotient = divide(&limbs(a), shift, &limbs(c));
            let back = multiply(&quotient, &limbs(c));
            // number * 2^shift - quotient * divisor is a remainder.
            let rest = shift_right(&add(&back, &limbs(c)), shift);
            prop_assert!(at_least(&rest, &limbs(a)));
            prop_assert!(at_least(&multiply(&limbs(a), &power(&[2], shift)), &back));
            prop_assert_eq!(number(&shift_right(&limbs(a), shift)), a >> shift);
        }

        #[test]
        fn digits_come_back_with_any_error_below_half_a_unit(
            values in proptest::collection::vec(-500i64..500, 3),
            noise in -0.49f64..0.49,
        ) {
            let primes = [1125899904679937, 68718428161].map(Prime::new);
            let product = u128::from(primes[0].value()) * u128::from(primes[1].value());
            let base = 1000u128;
            let fraction = FractionReader::new(&primes, base, 3, 500);
            let value = values.iter().rev().fold(0i128, |sum, &value| sum * 1000 + i128::from(value));
            let unit = product / 1_000_000_000;
            let exact = value * unit as i128 + value * (product % 1_000_000_000) as i128 / 1_000_000_000;
            let phase = (exact + (noise * unit as f64) as i128).rem_euclid(product as i128) as u128;
            let residues = primes.map(|prime| prime.reduce_wide(phase));
            let digits: Vec<_> = fraction.digits(&residues).iter().map(|&digit| digit as i64 - 500).collect();
            prop_assert_eq!(digits, values);
        }
    }
}
