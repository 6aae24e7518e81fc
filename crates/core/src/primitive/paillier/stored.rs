//! Secret keys as they are kept.

use crypto_bigint::ConcatenatingMul;
use zeroize::Zeroizing;

use super::{KeySize, PaillierFormatError, PaillierPublicKey, PaillierSecretKey, number, words};
use crate::primitive::blum::Primes;

impl PaillierSecretKey {
    /// Returns the encoding for storage: the public key, then p and q, little-endian, [`KeySize::secret_key_bytes`]
    /// together.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.public().size().secret_key_bytes()));
        bytes.extend_from_slice(&self.public().to_bytes());
        for prime in self.primes() {
            prime.as_words().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        }
        bytes
    }

    /// A key that was kept. All that a key is made to be is checked: a damaged one would open answers wrongly, or hide
    /// nothing.
    ///
    /// Errors: [`PaillierFormatError`] says which check failed, and nothing of the key.
    pub fn from_bytes(size: KeySize, bytes: &[u8]) -> Result<PaillierSecretKey, PaillierFormatError> {
        if bytes.len() != size.secret_key_bytes() {
            return Err(PaillierFormatError::Length);
        }
        let (public, primes) = bytes.split_at(size.public_key_bytes());
        let public = PaillierPublicKey::from_bytes(size, public)?;
        let [p, q] = [0, 1].map(|index| {
            let half = size.bits() / 16;
            Zeroizing::new(number(&Zeroizing::new(words(&primes[index * half..][..half]))))
        });
        let primes = Primes { p, q };
        let product = Zeroizing::new(primes.p.concatenating_mul(&*primes.q));
        if *product != *public.modulus.as_ref() || !primes.are_of_a_key(size) {
            return Err(PaillierFormatError::Primes);
        }
        let base = public.read(&public.to_bytes()[size.bits() / 8..])?;
        let key = PaillierSecretKey::from_primes(public, &primes);
        // An N-th power is an encryption of zero.
        if key.decrypt(&base) == key.public().encode(&[0]) { Ok(key) } else { Err(PaillierFormatError::Primes) }
    }
}
