//! The oblivious pseudorandom function of RFC 9497, suite `ristretto255-SHA512`, mode OPRF.
//!
//! F(key, input) = SHA-512(input, key * H(input)), where the party with the input does not show it to the party with
//! the key, and learns nothing but the output (2HashDH: Jarecki & Liu 2009; Jarecki, Kiayias & Krawczyk 2014).
//!
//! The functions work on batches of inputs of at most 65,535 bytes (longer ones are a bug of the caller: a panic). Blinds are uniformly random and one for each input, so that what the party with the
//! key sees does not depend on the inputs at all, not even for an unbounded observer.

use std::fmt;
use std::result::Result as StdResult;

use rand_core::CryptoRng;
use rayon::prelude::*;
use sha2::{Digest, Sha512};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::primitive::group::{DecodeError, Group, Ristretto255};

/// Length of an encoded group element, blinded or evaluated.
pub const ELEMENT_BYTES: usize = Ristretto255::POINT_BYTES;

/// Length of an encoded [`Key`].
pub const KEY_BYTES: usize = Ristretto255::SCALAR_BYTES;

/// Length of the function's output.
pub const OUTPUT_BYTES: usize = 64;

/// Domain separation tags: a word, then `CreateContextString(modeOPRF, "ristretto255-SHA512")` of section 3.1.
const HASH_TO_GROUP_TAG: &[u8] = b"HashToGroup-OPRFV1-\x00-ristretto255-SHA512";
const DERIVE_KEY_PAIR_TAG: &[u8] = b"DeriveKeyPairOPRFV1-\x00-ristretto255-SHA512";

/// Inputs that one processor hashes at a time.
const BATCH: usize = 256;

type Scalar = <Ristretto255 as Group>::Scalar;

/// Outputs of the function, zeroized when dropped.
pub type Outputs = Zeroizing<Vec<[u8; OUTPUT_BYTES]>>;

/// The function's secret key.
pub struct Key(Scalar);

impl Key {
    /// A fresh random key.
    pub fn random(rng: &mut impl CryptoRng) -> Key {
        let [scalar] = <[Scalar; 1]>::try_from(Ristretto255.random_scalars(1, rng)).expect("one was asked for");
        Key(scalar)
    }

    /// The key that a seed and public information determine: `DeriveKeyPair` of section 3.2.1. Fails if `info` is
    /// longer than 65,535 bytes.
    pub fn derive(seed: &[u8; 32], info: &[u8]) -> Result<Key> {
        let length = u16::try_from(info.len())
            .map_err(|_| Error::Internal("key information has more than 65,535 bytes".into()))?;
        let mut input = Zeroizing::new([&seed[..], &length.to_be_bytes(), info, &[0]].concat());
        for counter in 0..=255 {
            if let Some(last) = input.last_mut() {
                *last = counter;
            }
            if let Some(scalar) = Ristretto255.hash_to_scalar(&input, DERIVE_KEY_PAIR_TAG) {
                return Ok(Key(scalar));
            }
        }
        Err(Error::Internal("no key can be derived from this seed".into()))
    }

    /// The key's encoding, for storage.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Ristretto255.encode_scalar(&self.0)
    }

    /// The key that `bytes` encode, if they are the canonical encoding of one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Key> {
        Ristretto255.decode_scalar(bytes).map(Key)
    }

    /// `BlindEvaluate` of section 3.3.1 for each encoded element of `blinded`, in order.
    pub fn blind_evaluate(&self, blinded: &[u8]) -> StdResult<Vec<u8>, DecodeError> {
        Ok(Ristretto255.multiply_encode(&Ristretto255.decode(blinded)?, &self.0))
    }

    /// The function of each input, by the party that holds the key: `Evaluate` of section 3.3.1. Fails if an input
    /// hashes to the identity; nobody can find one
    /// that does.
    pub fn evaluate<I: AsRef<[u8]> + Sync>(&self, inputs: &[I]) -> Result<Outputs> {
        let points = hash_to_group(inputs)?;
        let elements = Zeroizing::new(Ristretto255.multiply_encode(&points, &self.0));
        Ok(finalize_hash(inputs, &elements))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The secrets that hide a batch of inputs, one for each.
pub struct Blinds(Vec<Scalar>);

impl Blinds {
    /// Fresh random blinds for `count` inputs.
    pub fn random(count: usize, rng: &mut impl CryptoRng) -> Blinds {
        Blinds(Ristretto255.random_scalars(count, rng))
    }

    /// `Blind` of section 3.3.1: an encoded element for each input. Fails as [`Key::evaluate`] does.
    pub fn blind<I: AsRef<[u8]> + Sync>(&self, inputs: &[I]) -> Result<Vec<u8>> {
        Ok(Ristretto255.multiply_each_encode(&hash_to_group(inputs)?, &self.0))
    }

    /// `Finalize` of section 3.3.1: the function of each input, from the encoded elements that the party with the key
    /// returned in the same order.
    pub fn finalize<I: AsRef<[u8]> + Sync>(&self, inputs: &[I], evaluated: &[u8]) -> StdResult<Outputs, DecodeError> {
        let points = Ristretto255.decode(evaluated)?;
        if points.len() != inputs.len() {
            return Err(DecodeError::Length);
        }
        let elements = Zeroizing::new(Ristretto255.multiply_each_encode(&points, &Ristretto255.invert(&self.0)));
        Ok(finalize_hash(inputs, &elements))
    }
}

impl fmt::Debug for Blinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blinds({})", self.0.len())
    }
}

/// The group element of each input, under the suite's tag. Fails as [`Key::evaluate`] does.
pub fn hash_to_group<I: AsRef<[u8]> + Sync>(inputs: &[I]) -> Result<Vec<<Ristretto255 as Group>::Point>> {
    let points = Ristretto255.hash_to_points(inputs, HASH_TO_GROUP_TAG);
    match Ristretto255.any_identity(&points) {
        true => Err(Error::Internal("an input hashes to the identity".into())),
        false => Ok(points),
    }
}

/// The last step of `Finalize` and `Evaluate`.
fn finalize_hash<I: AsRef<[u8]> + Sync>(inputs: &[I], elements: &[u8]) -> Outputs {
    let hash = |(input, element): (&I, &[u8])| {
        let input = input.as_ref();
        let hasher = Sha512::new()
            .chain_update(u16::try_from(input.len()).expect("inputs have at most 65,535 bytes").to_be_bytes())
            .chain_update(input)
            .chain_update((ELEMENT_BYTES as u16).to_be_bytes())
            .chain_update(element)
            .chain_update(b"Finalize");
        hasher.finalize().into()
    };
    let outputs = inputs.par_iter().zip(elements.par_chunks(ELEMENT_BYTES)).with_min_len(BATCH).map(hash);
    Zeroizing::new(outputs.collect())
}

#[cfg(test)]
mod vectors;
