//! Key generation.

use std::num::NonZeroU32;

use chacha20::ChaCha20Rng;
use crypto_bigint::{BoxedUint, ConcatenatingMul};
use crypto_primes::hazmat::{SetBits, SmallFactorsSieveFactory};
use crypto_primes::{Flavor, is_prime, sieve_and_find};
use rand_core::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

use super::stored::is_pair_of_a_key;
use super::{KeySize, PublicKey, SecretKey, number};
use crate::primitive::kernel::montgomery::LANES;
use crate::primitive::kernel::power::power;

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

impl SecretKey {
    /// A fresh key.
    pub fn generate(size: KeySize, rng: &mut impl CryptoRng) -> SecretKey {
        let half = size.bits as u32 / 2;
        loop {
            let mut seeds = Zeroizing::new([[0; 32]; 2]);
            seeds.iter_mut().for_each(|seed| rng.fill_bytes(seed));
            let one = |seed: &[u8; 32]| prime(half, &mut ChaCha20Rng::from_seed(*seed));
            let (p, q) = rayon::join(|| one(&seeds[0]), || one(&seeds[1]));
            if is_pair_of_a_key(&p, &q, size) {
                let modulus = p.concatenating_mul(&*q).into_odd().expect("a product of odd primes");
                let mut public = PublicKey::new(size, modulus, None);
                public.base = base(&public, rng);
                return SecretKey::from_primes(public, &p, &q);
            }
        }
    }
}

/// h_s: -x^2 to the power of N.
fn base(public: &PublicKey, rng: &mut impl CryptoRng) -> Vec<u64> {
    let field = &public.field;
    let x = public.random(1, rng);
    let divisor = public.modulus.as_nz_ref();
    let x = number(&x.all);
    let h = x.mul_mod(&x, divisor).neg_mod(divisor);
    let h = field.enter(&field.pack([h.as_words()]));
    let power = power(field, &h, &[public.modulus.as_words(); LANES], public.size().bits);
    field.leave(&power)[..2 * public.size().words()].to_vec()
}
