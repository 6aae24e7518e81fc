//! Primes of a Blum integer.

use std::num::NonZeroU32;

use chacha20::ChaCha20Rng;
use crypto_bigint::{BoxedUint, ConcatenatingMul, Gcd, Odd};
use crypto_primes::hazmat::{SetBits, SmallFactorsSieveFactory};
use crypto_primes::{Flavor, is_prime, sieve_and_find};
use rand_core::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

use super::KeySize;

/// The primes differ in one of their highest bits of this number, as FIPS 186-5 (A.1.3) asks.
const DISTANCE_BITS: u32 = 100;

/// p and q of a key. Zeroized when dropped, never printed.
pub(crate) struct Primes {
    /// One of the two primes.
    pub p: Zeroizing<BoxedUint>,
    /// The other one of the two primes.
    pub q: Zeroizing<BoxedUint>,
}

impl std::fmt::Debug for Primes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Primes(..)")
    }
}

impl Primes {
    /// Fresh ones, whose product has exactly as many bits as keys of this size.
    pub(crate) fn generate(size: KeySize, rng: &mut impl CryptoRng) -> Primes {
        let half = size.bits() as u32 / 2;
        loop {
            let mut seeds = Zeroizing::new([[0; 32]; 2]);
            seeds.iter_mut().for_each(|seed| rng.fill_bytes(seed));
            let one = |seed: &[u8; 32]| prime(half, &mut ChaCha20Rng::from_seed(*seed));
            let (p, q) = rayon::join(|| one(&seeds[0]), || one(&seeds[1]));
            let primes = Primes { p, q };
            if primes.are_a_pair(size) {
                return primes;
            }
        }
    }

    /// N. It is public.
    pub(crate) fn modulus(&self) -> Odd<BoxedUint> {
        self.p.concatenating_mul(&*self.q).into_odd().expect("a product of odd primes")
    }

    /// Whether these are primes as a key may have them.
    pub(crate) fn are_of_a_key(&self, size: KeySize) -> bool {
        let (half, both) = (size.bits() as u32 / 2, [&self.p, &self.q]);
        let formed = both.iter().all(|prime| prime.bits() == half && prime.as_words()[0] & 3 == 3);
        formed && self.are_a_pair(size) && both.iter().all(|prime| is_prime(Flavor::Any, &***prime))
    }

    /// Whether a key may have both of them, if they are primes.
    fn are_a_pair(&self, size: KeySize) -> bool {
        let (p, q) = (&*self.p, &*self.q);
        let half = size.bits() as u32 / 2;
        let less = |prime: &BoxedUint| Zeroizing::new(prime.wrapping_sub(BoxedUint::one()));
        let order = Zeroizing::new(less(p).concatenating_mul(&*less(q)));
        let difference = Zeroizing::new(p.wrapping_sub(q));
        let distance = difference.bits().min(Zeroizing::new(q.wrapping_sub(p)).bits());
        let modulus = Zeroizing::new(p.concatenating_mul(q));
        let coprime = modulus.gcd(&order).is_one().to_bool();
        // Both are 2 modulo 4, so this says that nothing but 2 divides both: the squares modulo N are cyclic then.
        let cyclic = Zeroizing::new(less(p).gcd(&*less(q))).bits() == 2;
        distance + DISTANCE_BITS > half && coprime && cyclic && modulus.bits() as usize == size.bits()
    }
}

/// A random prime that is 3 modulo 4, its two highest bits set so that products of two have exactly twice as many.
fn prime(bits: u32, rng: &mut impl CryptoRng) -> Zeroizing<BoxedUint> {
    let length = NonZeroU32::new(bits).expect("primes have bits");
    loop {
        let sieve = SmallFactorsSieveFactory::<BoxedUint>::new(Flavor::Any, length.get(), SetBits::TwoMsb);
        let sieve = sieve.expect("such primes exist");
        let found = sieve_and_find(rng, sieve, |_, candidate| {
            candidate.as_words()[0] & 3 == 3 && is_prime(Flavor::Any, candidate)
        });
        // The sieve ends at the next power of two, in theory before it has found one.
        if let Ok(Some(prime)) = found {
            return Zeroizing::new(prime);
        }
    }
}
