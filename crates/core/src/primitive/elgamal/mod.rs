//! Exponential ElGamal: additively homomorphic encryption of scalars (ElGamal, 1985; Cramer, Gennaro & Schoenmakers,
//! EUROCRYPT 1997, section 2.5). With the public key Y = y G, a ciphertext of m is (r G, m G + r Y): under decisional
//! Diffie-Hellman it tells nothing of m. Who has y gets m G, and m itself only if it is small.

pub mod known;
pub mod masks;
pub mod small;
#[cfg(test)]
mod tests;
pub mod threshold;

use std::fmt;

use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable};

use crate::parallel;
use crate::primitive::group::{DecodeError, Group};

/// A ciphertext: r G, and m G + r Y.
pub(crate) type Ciphertext<G> = [<G as Group>::Point; 2];

/// Secret key of ElGamal encryption.
pub struct ElGamalSecretKey<G: Group>(G::Scalar);

/// A public key. Those that somebody else has made come with a proof that its maker knows the secret one, or matter to
/// nobody else.
pub struct ElGamalPublicKey<G: Group>(G::Point);

impl<G: Group> ElGamalSecretKey<G> {
    /// A fresh random key.
    pub fn generate(group: &G, rng: &mut impl CryptoRng) -> ElGamalSecretKey<G> {
        ElGamalSecretKey(group.random_scalars(1, rng).remove(0))
    }

    /// The public key that belongs to it.
    pub fn public(&self, group: &G) -> ElGamalPublicKey<G> {
        ElGamalPublicKey(group.multiply_generator(std::slice::from_ref(&self.0)).remove(0))
    }

    /// A fresh ciphertext of each scalar, as [`ElGamalPublicKey::encrypt`] makes them. Who has the secret key takes
    /// less time.
    pub fn encrypt(&self, group: &G, scalars: &[G::Scalar], rng: &mut impl CryptoRng) -> Vec<Ciphertext<G>> {
        let masks = group.random_scalars(scalars.len(), rng);
        let hidden = |(scalar, mask)| group.plus(scalar, &group.times(mask, &self.0));
        let hidden: Vec<_> = scalars.iter().zip(&masks).map(hidden).collect();
        pairs::<G>(group.multiply_generator(&masks), group.multiply_generator(&hidden))
    }

    /// m G for each ciphertext of m.
    pub fn decrypt(&self, group: &G, ciphertexts: &[Ciphertext<G>]) -> Vec<G::Point> {
        let [first, second] = columns::<G>(ciphertexts);
        group.subtract(&second, &group.multiply(&first, &self.0))
    }

    /// Whether each is a ciphertext of 0.
    pub(crate) fn are_zero(&self, group: &G, ciphertexts: &[Ciphertext<G>]) -> Vec<bool> {
        let points = self.decrypt(group, ciphertexts);
        points.iter().map(|point| group.any_identity(std::slice::from_ref(point))).collect()
    }

    /// m for each ciphertext of an m below `bound`, none for others, as [`small`](small::small) finds it.
    #[cfg(test)]
    pub(crate) fn decrypt_small(&self, group: &G, ciphertexts: &[Ciphertext<G>], bound: u64) -> Vec<Option<u64>> {
        small::small(group, &self.decrypt(group, ciphertexts), bound)
    }
}

impl<G: Group> fmt::Debug for ElGamalSecretKey<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

impl<G: Group + Sync> ElGamalPublicKey<G> {
    /// Returns the encoding of the key.
    pub fn to_bytes(&self, group: &G) -> Vec<u8> {
        group.encode(std::slice::from_ref(&self.0))
    }

    /// The key that `bytes` encode: any point but the identity.
    pub fn from_bytes(group: &G, bytes: &[u8]) -> Result<ElGamalPublicKey<G>, DecodeError> {
        match <[G::Point; 1]>::try_from(group.decode(bytes)?) {
            Ok([point]) => Ok(ElGamalPublicKey(point)),
            Err(_) => Err(DecodeError::Length),
        }
    }

    /// A fresh ciphertext of each scalar.
    pub fn encrypt(&self, group: &G, scalars: &[G::Scalar], rng: &mut impl CryptoRng) -> Vec<Ciphertext<G>> {
        let masks = group.random_scalars(scalars.len(), rng);
        let hidden = group.add(&group.multiply_generator(scalars), &group.multiply_one(&self.0, &masks));
        pairs::<G>(group.multiply_generator(&masks), hidden)
    }

    /// The encodings of fresh ciphertexts, as [`encode`] has them: of 0 for each bit that is 1, of -1 for each that is 0. Faster than
    /// encrypting and encoding, and in the same time and the same memory whatever the bits are.
    ///
    /// Of r G and r Y for half the mask r twice is encoded; and of r Y - G/2, of which the bit chooses by arithmetic.
    pub fn encrypt_bits_encode(&self, group: &G, bits: &[u8], rng: &mut impl CryptoRng) -> Vec<u8> {
        let halves = group.random_scalars(bits.len(), rng);
        let half = group.minus(&group.scalar(0), &group.invert(&[group.scalar(2)])[0]);
        let minus_half = vec![group.multiply_generator(&[half]).remove(0); bits.len()];
        let zeros = group.multiply_one(&self.0, &halves);
        let masks = group.double_encode(&group.multiply_generator(&halves));
        let minus_ones = group.double_encode(&group.add(&zeros, &minus_half));
        let zeros = group.double_encode(&zeros);
        let length = group.point_bytes();
        let mut out = Vec::with_capacity(2 * masks.len());
        let hidden = zeros.chunks(length).zip(minus_ones.chunks(length));
        for ((bit, mask), (zero, minus_one)) in bits.iter().zip(masks.chunks(length)).zip(hidden) {
            let bit = Choice::from(*bit);
            out.extend_from_slice(mask);
            out.extend(
                zero.iter().zip(minus_one).map(|(zero, minus_one)| u8::conditional_select(minus_one, zero, bit)),
            );
        }
        out
    }

    /// Fresh ciphertexts of the same: nobody without the secret key can tell of which, nor which scalars or sums they
    /// were made of.
    pub fn rerandomize(
        &self,
        group: &G,
        ciphertexts: &[Ciphertext<G>],
        rng: &mut impl CryptoRng,
    ) -> Vec<Ciphertext<G>> {
        let zeros = self.encrypt(group, &vec![group.scalar(0); ciphertexts.len()], rng);
        let ([first, second], [masks, hidden]) = (columns::<G>(ciphertexts), columns::<G>(&zeros));
        pairs::<G>(group.add(&first, &masks), group.add(&second, &hidden))
    }
}

impl<G: Group> fmt::Debug for ElGamalPublicKey<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(..)")
    }
}

/// The encodings of ciphertexts, one after the other, r G before m G + r Y. What is fresh or re-randomised has one that
/// can be decoded, but for a chance of 1 in the group's order.
pub fn encode<G: Group>(group: &G, ciphertexts: &[Ciphertext<G>]) -> Vec<u8> {
    group.encode(&ciphertexts.iter().flatten().cloned().collect::<Vec<_>>())
}

/// The ciphertexts whose encodings follow each other in `bytes`.
pub fn decode<G: Group>(group: &G, bytes: &[u8]) -> Result<Vec<Ciphertext<G>>, DecodeError> {
    if !bytes.len().is_multiple_of(2 * group.point_bytes()) {
        return Err(DecodeError::Length);
    }
    let mut points = group.decode(bytes)?.into_iter();
    Ok(std::iter::from_fn(|| Some([points.next()?, points.next()?])).collect())
}

pub(crate) fn columns<G: Group>(ciphertexts: &[Ciphertext<G>]) -> [Vec<G::Point>; 2] {
    [0, 1].map(|column| parallel::map(ciphertexts, 1, |ciphertext| ciphertext[column].clone()))
}

pub(crate) fn pairs<G: Group>(first: Vec<G::Point>, second: Vec<G::Point>) -> Vec<Ciphertext<G>> {
    first.into_iter().zip(second).map(|(first, second)| [first, second]).collect()
}
