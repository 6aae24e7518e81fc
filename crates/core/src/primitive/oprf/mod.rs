//! The oblivious pseudorandom function of RFC 9497, mode OPRF, in the suites of three levels.
//!
//! F(key, input) = H'(input, key * H(input)), where the party with the input does not show it to the party with
//! the key, and learns nothing but the output (2HashDH: Jarecki & Liu 2009; Jarecki, Kiayias & Krawczyk 2014).
//!
//! The functions work on batches of inputs of at most 65,535 bytes (longer ones are a bug of the caller: a panic).
//! Blinds are uniformly random and one for each input, so that what the party with the key sees does not depend on the
//! inputs at all, not even for an unbounded observer.
//!
//! [`Blinds`] multiply, as the RFC does. [`AdditiveBlinds`] add a multiple of the generator, which is faster: both of
//! their products are of points that are made ready. They need the key's public part, [`OprfPublicKey`], beforehand. A
//! party that answers with another key gets an output that it can compute for a guess of the input; so what is made of
//! outputs has to be bound to that key (Jarecki, Krawczyk & Xu, "On the (in)security of the Diffie-Hellman oblivious
//! PRF with multiplicative blinding", PKC 2021). The outputs are those of the RFC.

mod suite;

use std::fmt;
use std::result::Result as StdResult;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::primitive::group::DecodeError;
pub use suite::Suite;
use suite::{PublicKey, Scalars, slices};

/// Length of the function's output. A shorter hash is followed by zeros.
pub(crate) const OUTPUT_BYTES: usize = 64;

/// Outputs of the function, zeroized when dropped.
pub(crate) type Outputs = Zeroizing<Vec<[u8; OUTPUT_BYTES]>>;

/// The function's secret key.
pub struct OprfKey(Scalars);

impl OprfKey {
    /// A fresh random key.
    pub fn random(suite: Suite, rng: &mut impl CryptoRng) -> OprfKey {
        OprfKey(suite.random_scalars(1, rng))
    }

    /// The key that a seed and public information determine: `DeriveKeyPair` of section 3.2.1. Fails if `info` is
    /// longer than 65,535 bytes.
    pub fn derive(suite: Suite, seed: &[u8; 32], info: &[u8]) -> Result<OprfKey> {
        let length = u16::try_from(info.len())
            .map_err(|_| Error::Internal("key information has more than 65,535 bytes".into()))?;
        let mut input = Zeroizing::new([&seed[..], &length.to_be_bytes(), info, &[0]].concat());
        for counter in 0..=255 {
            if let Some(last) = input.last_mut() {
                *last = counter;
            }
            if let Some(scalar) = suite.hash_to_scalar(&input) {
                return Ok(OprfKey(scalar));
            }
        }
        Err(Error::Internal("no key can be derived from this seed".into()))
    }

    /// Returns the key's suite.
    pub(crate) fn suite(&self) -> Suite {
        self.0.suite()
    }

    /// The key's encoding, for storage.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        self.0.encode()
    }

    /// The key that `bytes` encode, if they are the canonical encoding of one.
    pub fn from_bytes(suite: Suite, bytes: &[u8]) -> Option<OprfKey> {
        suite.decode_scalar(bytes).map(OprfKey)
    }

    /// The public part: the encoding of `key * G` for the generator G.
    pub fn public(&self) -> Vec<u8> {
        self.0.times_generator()
    }

    /// The key that takes back what this one does to elements.
    pub fn inverse(&self) -> OprfKey {
        OprfKey(self.0.invert())
    }

    /// `BlindEvaluate` of section 3.3.1 for each encoded element of `blinded`, in order.
    pub fn blind_evaluate(&self, blinded: &[u8]) -> StdResult<Vec<u8>, DecodeError> {
        self.0.times_elements(blinded)
    }

    /// `key * H(input)` for each input, encoded, one after the other. Fails as `OprfKey::evaluate` does.
    pub fn elements<I: AsRef<[u8]> + Sync>(&self, inputs: &[I]) -> Result<Vec<u8>> {
        self.0.times_hashes(&slices(inputs))
    }

    /// The function of each input, by the party that holds the key: `Evaluate` of section 3.3.1. Fails if an input
    /// hashes to the identity; nobody can find one that does.
    pub(crate) fn evaluate<I: AsRef<[u8]> + Sync>(&self, inputs: &[I]) -> Result<Outputs> {
        let elements = Zeroizing::new(self.elements(inputs)?);
        Ok(self.suite().finalize(inputs, &elements))
    }
}

impl fmt::Debug for OprfKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The secrets that hide a batch of inputs, one for each.
pub struct Blinds(Scalars);

impl Blinds {
    /// Fresh random blinds for `count` inputs.
    pub fn random(suite: Suite, count: usize, rng: &mut impl CryptoRng) -> Blinds {
        Blinds(suite.random_scalars(count, rng))
    }

    /// `Blind` of section 3.3.1: an encoded element for each input. Fails as `OprfKey::evaluate` does.
    pub fn blind<I: AsRef<[u8]> + Sync>(&self, inputs: &[I]) -> Result<Vec<u8>> {
        assert_eq!(self.0.len(), inputs.len(), "every input has its blind");
        self.0.times_hashes(&slices(inputs))
    }

    /// `Finalize` of section 3.3.1: the function of each input, from the encoded elements that the party with the key
    /// returned in the same order.
    pub(crate) fn finalize<I: AsRef<[u8]> + Sync>(
        &self,
        inputs: &[I],
        evaluated: &[u8],
    ) -> StdResult<Outputs, DecodeError> {
        let suite = self.0.suite();
        if evaluated.len() != inputs.len() * suite.element_bytes() || self.0.len() != inputs.len() {
            return Err(DecodeError::Length);
        }
        let elements = Zeroizing::new(self.0.invert().times_elements(evaluated)?);
        Ok(suite.finalize(inputs, &elements))
    }
}

impl fmt::Debug for Blinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blinds({})", self.0.len())
    }
}

/// The public part of an [`OprfKey`], made ready for many products.
pub struct OprfPublicKey(PublicKey);

impl OprfPublicKey {
    /// The public part that `bytes` encode. Only the canonical encoding of one element other than the identity is one.
    pub fn from_bytes(suite: Suite, bytes: &[u8]) -> StdResult<OprfPublicKey, DecodeError> {
        suite.decode_public_key(bytes).map(OprfPublicKey)
    }
}

impl fmt::Debug for OprfPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(..)")
    }
}

/// The secrets that hide a batch of inputs by addition, one for each.
pub struct AdditiveBlinds(Scalars);

impl AdditiveBlinds {
    /// Fresh random blinds for `count` inputs.
    pub fn random(suite: Suite, count: usize, rng: &mut impl CryptoRng) -> AdditiveBlinds {
        AdditiveBlinds(suite.random_scalars(count, rng))
    }

    /// The encoding of `H(input) + blind * G` for each input. Fails as `OprfKey::evaluate` does, and if a sum is the
    /// identity, which is as unlikely.
    pub fn blind<I: AsRef<[u8]> + Sync>(&self, inputs: &[I]) -> Result<Vec<u8>> {
        assert_eq!(self.0.len(), inputs.len(), "every input has its blind");
        self.0.plus_hashes(&slices(inputs))
    }

    /// The function of each input, from the encoded elements that the party with this public key returned in the same
    /// order: takes `blind * (key * G)` off each.
    pub(crate) fn finalize<I: AsRef<[u8]> + Sync>(
        &self,
        inputs: &[I],
        evaluated: &[u8],
        key: &OprfPublicKey,
    ) -> StdResult<Outputs, DecodeError> {
        let suite = self.0.suite();
        if evaluated.len() != inputs.len() * suite.element_bytes() || self.0.len() != inputs.len() {
            return Err(DecodeError::Length);
        }
        let elements = Zeroizing::new(self.0.times_key_off(&key.0, evaluated)?);
        Ok(suite.finalize(inputs, &elements))
    }
}

impl fmt::Debug for AdditiveBlinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdditiveBlinds({})", self.0.len())
    }
}

#[cfg(test)]
mod vectors;
