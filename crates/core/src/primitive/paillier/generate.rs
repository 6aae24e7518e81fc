//! Generation of Paillier keys.

use rand_core::CryptoRng;

use super::{KeySize, PaillierPublicKey, PaillierSecretKey, number};
use crate::primitive::blum::Primes;
use crate::primitive::kernel::montgomery::LANES;
use crate::primitive::kernel::power::power;

impl PaillierSecretKey {
    /// Generates a fresh key.
    pub fn generate(size: KeySize, rng: &mut impl CryptoRng) -> PaillierSecretKey {
        let primes = Primes::generate(size, rng);
        let mut public = PaillierPublicKey::new(size, primes.modulus(), None);
        public.base = base(&public, rng);
        PaillierSecretKey::from_primes(public, &primes)
    }
}

/// h_s: -x^2 to the power of N.
fn base(public: &PaillierPublicKey, rng: &mut impl CryptoRng) -> Vec<u64> {
    let ring = &public.ring;
    let x = public.random(1, rng);
    let divisor = public.modulus.as_nz_ref();
    let x = number(&x.all);
    let h = x.mul_mod(&x, divisor).neg_mod(divisor);
    let power = power(ring, &ring.enter([h.as_words()]), &[public.modulus.as_words(); LANES], public.size().bits());
    ring.leave(&power)[..ring.words()].to_vec()
}
