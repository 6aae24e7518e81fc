//! Polynomials modulo X^N + 1 and several primes.

use crate::primitive::kernel::MAX_PRIME_BITS;
use crate::primitive::kernel::Prime;
use crate::primitive::kernel::ntt::Ntt;

/// The longest modulus q in bits for which ring learning with errors of degree N takes 2^128 operations of a classical
/// computer, for a uniform secret with coefficients -1, 0 and 1 and errors of a standard deviation of 3.19 or more:
/// Bossuat et al., "Security Guidelines for Implementing Homomorphic Encryption" (ePrint 2024/463). The standard of
/// 2018 (Albrecht et al., HomomorphicEncryption.org) had 54, 109, 218, 438 and 881. 0 for degrees that are not used.
pub(crate) fn most_modulus_bits(degree: usize) -> u32 {
    match degree {
        2048 => 53,
        4096 => 106,
        8192 => 214,
        16384 => 430,
        32768 => 868,
        _ => 0,
    }
}

/// The shortest primes: there are enough of them for every degree.
pub(crate) const MIN_PRIME_BITS: u32 = 34;

/// Returns a lower bound of the primes of a [`Ring`] with primes of `bits` bits.
pub(crate) fn prime_at_least(bits: u32) -> u64 {
    (1 << bits) - (1 << 27)
}

/// The polynomials modulo X^N + 1 and each of some primes, which are the largest that have `bits` bits and are 1 modulo
/// 2N.
///
/// A polynomial is a list of residues: N modulo the first prime, then N modulo the second, and so on.
#[derive(Debug)]
pub struct Ring {
    degree: usize,
    bits: u32,
    primes: Vec<Ntt>,
}

impl Ring {
    /// The ring of degree N, a power of two, with `count` primes of `bits` bits.
    pub fn new(degree: usize, bits: u32, count: usize) -> Ring {
        assert!((MIN_PRIME_BITS..=MAX_PRIME_BITS).contains(&bits), "primes of {bits} bits");
        let step = 2 * degree as u64;
        let candidates =
            (1..).map(|index| (1u64 << bits) + 1 - index * step).take_while(|&p| p >= prime_at_least(bits));
        let primes: Vec<_> = candidates.filter(|&p| is_prime(p)).take(count).collect();
        assert_eq!(primes.len(), count, "there are enough primes");
        Ring { degree, bits, primes: primes.into_iter().map(|p| Ntt::new(Prime::new(p), degree)).collect() }
    }

    /// Returns the degree N.
    pub(crate) fn degree(&self) -> usize {
        self.degree
    }

    /// Bits of a residue.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// The primes with their transforms.
    pub fn primes(&self) -> &[Ntt] {
        &self.primes
    }

    /// Returns the zero polynomial.
    pub(crate) fn zero(&self) -> Vec<u64> {
        vec![0; self.degree * self.primes.len()]
    }

    /// The product of the first `count` primes, in limbs.
    pub(crate) fn modulus(&self, count: usize) -> Vec<u64> {
        self.primes[..count].iter().fold(vec![1], |product, ntt| super::multiply(&product, &[ntt.prime().value()]))
    }
}

/// Whether a number is prime (Miller & Rabin; these bases decide it below 2^64: Sorenson & Webster, 2017).
fn is_prime(number: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if number < 2 || BASES.iter().any(|&base| number.is_multiple_of(base)) {
        return BASES.contains(&number);
    }
    let multiply = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(number)) as u64;
    let twos = (number - 1).trailing_zeros();
    let power = |base: u64| {
        let bits = (0..64 - number.leading_zeros()).rev().map(|bit| (number - 1) >> twos >> bit & 1 == 1);
        bits.fold(1, |power, bit| multiply(multiply(power, power), if bit { base } else { 1 }))
    };
    BASES.iter().all(|&base| {
        let mut square = power(base);
        square == 1
            || (0..twos).any(|_| {
                let minus_one = square == number - 1;
                square = multiply(square, square);
                minus_one
            })
    })
}

#[cfg(test)]
mod tests {
    use super::super::DEGREES;
    use super::*;

    #[test]
    fn small_primes_are_told_apart() {
        let by_division = |n: u64| n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
        assert!((0..3000).all(|n| is_prime(n) == by_division(n)));
        // Strong pseudoprimes to many bases.
        assert!(!is_prime(3215031751) && !is_prime(3825123056546413051) && is_prime((1 << 61) - 1));
    }

    #[test]
    fn there_are_enough_primes_of_every_length() {
        for degree in DEGREES {
            for bits in MIN_PRIME_BITS..=MAX_PRIME_BITS {
                let count = most_modulus_bits(degree) / bits;
                let ring = Ring::new(degree, bits, (count as usize).min(if bits > 36 { 64 } else { 4 }));
                for (index, ntt) in ring.primes().iter().enumerate() {
                    let p = ntt.prime().value();
                    assert!(p >= prime_at_least(bits) && p < 1 << bits && p % (2 * degree as u64) == 1);
                    assert!(ring.primes()[..index].iter().all(|other| other.prime() != ntt.prime()));
                }
            }
        }
    }
}
