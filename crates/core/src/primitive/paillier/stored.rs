//! Secret keys as they are kept.

use crypto_bigint::{BoxedUint, ConcatenatingMul, Gcd};
use crypto_primes::{Flavor, is_prime};
use zeroize::Zeroizing;

use super::public::words;
use super::{Invalid, KeySize, PublicKey, SecretKey, number};

/// The primes differ in one of their highest bits of this number, as FIPS 186-5 (A.1.3) asks.
const DISTANCE_BITS: u32 = 100;

impl SecretKey {
    /// As it is kept: the public key, then p and q, little-endian, [`KeySize::secret_key_bytes`] together.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.public().size().secret_key_bytes()));
        bytes.extend_from_slice(&self.public().to_bytes());
        for prime in self.primes() {
            prime.as_words().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        }
        bytes
    }

    /// A key that was kept. All that a key is made to be is checked: a damaged one would open answers wrongly, or hide nothing.
    ///
    /// Errors: [`Invalid`] says which check failed, and nothing of the key.
    pub fn from_bytes(size: KeySize, bytes: &[u8]) -> Result<SecretKey, Invalid> {
        if bytes.len() != size.secret_key_bytes() {
            return Err(Invalid::Length);
        }
        let (public, primes) = bytes.split_at(size.public_key_bytes());
        let public = PublicKey::from_bytes(size, public)?;
        let [p, q] = [0, 1].map(|index| {
            let half = size.bits() / 16;
            Zeroizing::new(number(&Zeroizing::new(words(&primes[index * half..][..half]))))
        });
        let product = Zeroizing::new(p.concatenating_mul(&*q));
        if *product != *public.modulus.as_ref() || !are_primes_of_a_key(&p, &q, size) {
            return Err(Invalid::Primes);
        }
        let base = public.read(&public.to_bytes()[size.bits() / 8..])?;
        let key = SecretKey::from_primes(public, &p, &q);
        // An N-th power is an encryption of zero.
        match key.decrypt(&base) == key.public().encode(&[0]) {
            true => Ok(key),
            false => Err(Invalid::Primes),
        }
    }
}

/// Whether a key may have these primes, if they are some.
pub(super) fn is_pair_of_a_key(p: &BoxedUint, q: &BoxedUint, size: KeySize) -> bool {
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

/// Whether these are the primes of a key.
fn are_primes_of_a_key(p: &BoxedUint, q: &BoxedUint, size: KeySize) -> bool {
    let half = size.bits() as u32 / 2;
    let formed = [p, q].iter().all(|prime| prime.bits() == half && prime.as_words()[0] & 3 == 3);
    formed && is_pair_of_a_key(p, q, size) && [p, q].iter().all(|prime| is_prime(Flavor::Any, *prime))
}
