//! The pseudorandom function of Naor & Reingold.

use std::fmt;

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use crate::primitive::group::Group;
use crate::protocol::aggregate::Params;

/// The longest input in bytes: longer keys are hashed to so many.
pub const MAX_INPUT_BYTES: usize = 16;

/// Inputs that one thread works on at once.
const BATCH: usize = 64;

/// Bytes of the inputs of keys that have at most `key_bytes`.
pub(super) fn input_bytes(key_bytes: usize) -> usize {
    key_bytes.min(MAX_INPUT_BYTES)
}

/// The inputs of keys as [`RowFunction::rows`](crate::protocol::aggregate::RowFunction::rows) has them, one after the
/// other: the key itself, filled up with zeros; or a hash of it that is bound to the round, where keys may be longer.
///
/// Two keys have one input with a probability of 2^-128 then. Whoever looks for two of its own that do, and finds them
/// with 2^64 hashes, can report the one as the other.
pub fn inputs<G: Group>(params: &Params<G>, keys: &[Zeroizing<Vec<u8>>]) -> Zeroizing<Vec<u8>> {
    let length = input_bytes(params.key_bytes());
    let mut inputs = Zeroizing::new(vec![0; length * keys.len()]);
    let hash_key = params.session.derive("naor-reingold input");
    for (input, key) in inputs.chunks_mut(length).zip(keys) {
        if params.key_bytes() <= MAX_INPUT_BYTES {
            input.copy_from_slice(&key[..length])
        } else {
            let hash = Zeroizing::new(*blake3::keyed_hash(&hash_key, key).as_bytes());
            input.copy_from_slice(&hash[..length]);
        }
    }
    inputs
}

/// Whether the bit of an input with this number is set: the lowest of a byte comes first.
pub(super) fn bit(input: &[u8], index: usize) -> u8 {
    input[index / 8] >> (index % 8) & 1
}

/// A key of the function F: secret scalars a and s_1, ..., s_m for inputs of m bits. F(x) is a times the product of all
/// s_i whose bit of x is set, times the generator.
///
/// Naor & Reingold, "Number-theoretic constructions of efficient pseudo-random functions" (FOCS 1997), construction 4.1. The paper on
/// aggregation leaves a out; then F(0) is the generator, and whoever sees rows sees which one is 0's.
pub struct PseudorandomFunction<G: Group> {
    whole: G::Scalar,
    factors: Vec<G::Scalar>,
}

impl<G: Group + Sync> PseudorandomFunction<G> {
    /// A fresh random key for inputs of so many bytes.
    pub fn generate(group: &G, input_bytes: usize, rng: &mut impl CryptoRng) -> PseudorandomFunction<G> {
        let whole = group.random_scalars(1, rng).remove(0);
        PseudorandomFunction { whole, factors: group.random_scalars(8 * input_bytes, rng) }
    }

    /// Bytes of an input.
    pub fn input_bytes(&self) -> usize {
        self.factors.len() / 8
    }

    /// F at inputs that stand one after the other.
    pub fn evaluate(&self, group: &G, inputs: &[u8]) -> Vec<G::Point> {
        let one = group.scalar(1);
        // 1 + bit (s - 1) is s or 1.
        let lesser: Vec<G::Scalar> = self.factors.iter().map(|factor| group.minus(factor, &one)).collect();
        let exponent = |input: &[u8]| {
            lesser.iter().enumerate().fold(self.whole.clone(), |product, (index, lesser)| {
                let chosen = group.times(&group.scalar(u64::from(bit(input, index))), lesser);
                group.times(&product, &group.plus(&one, &chosen))
            })
        };
        let exponents: Vec<G::Scalar> =
            inputs.par_chunks(self.input_bytes().max(1)).with_min_len(BATCH).map(exponent).collect();
        group.multiply_generator(&exponents)
    }

    /// a, and s_1, ..., s_m.
    pub(super) fn scalars(&self) -> (&G::Scalar, &[G::Scalar]) {
        (&self.whole, &self.factors)
    }

    /// Length of [`PseudorandomFunction::to_bytes`] in bytes.
    pub fn bytes(group: &G, input_bytes: usize) -> usize {
        (1 + 8 * input_bytes) * group.scalar_bytes()
    }

    /// The key, which is secret.
    pub fn to_bytes(&self, group: &G) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(PseudorandomFunction::bytes(group, self.input_bytes())));
        for scalar in std::iter::once(&self.whole).chain(&self.factors) {
            bytes.extend_from_slice(&group.encode_scalar(scalar));
        }
        bytes
    }

    /// The key that `bytes` encode, for inputs of so many bytes.
    pub fn from_bytes(group: &G, input_bytes: usize, bytes: &[u8]) -> Option<PseudorandomFunction<G>> {
        if bytes.len() != PseudorandomFunction::bytes(group, input_bytes) {
            return None;
        }
        let mut scalars = bytes.chunks(group.scalar_bytes()).map(|bytes| group.decode_scalar(bytes));
        let whole = scalars.next()??;
        Some(PseudorandomFunction { whole, factors: scalars.collect::<Option<_>>()? })
    }
}

impl<G: Group> Drop for PseudorandomFunction<G> {
    fn drop(&mut self) {
        self.whole.zeroize();
        self.factors.zeroize();
    }
}

impl<G: Group> fmt::Debug for PseudorandomFunction<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} bits)", self.factors.len())
    }
}
