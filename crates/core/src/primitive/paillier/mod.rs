//! Paillier's cryptosystem, in the form of Damgård, Jurik & Nielsen, "A generalization of Paillier's public-key system
//! with applications to electronic voting" (2010), section 4.2, for s = 1.
//!
//! N = p q with p = q = 3 modulo 4, and h = -x^2 modulo N for a random x. A plaintext m below N has the ciphertexts
//! (1 + m N) h_s^r modulo N^2, where h_s = h^N and r has half as many bits as N. Products of ciphertexts hold sums.
//!
//! Who has the secret key computes modulo p^2 and q^2 both ways. Everything takes and gives lists, on all threads. Time
//! depends on the numbers of things and on sizes only. What is no ciphertext of a key is refused when it is read.
//!
//! r hides plaintexts from those who do not know p and q. From the owner of the key it does not: discrete logarithms
//! are easier for it. What goes back to the owner, and must not tell it of which ciphertexts it was made, has to pass
//! [`PaillierPublicKey::rerandomize`], after which it is uniformly random among the ciphertexts of its plaintext.

mod ciphertexts;
mod generate;
mod packed;
mod products;
mod public;
mod secret;
mod stored;
#[cfg(test)]
mod tests;

pub use ciphertexts::{PaillierCiphertexts, Plaintexts};
pub(crate) use packed::{PACKED_BITS, unpack};
pub use products::CiphertextProducts;
pub use public::PaillierPublicKey;
pub use secret::PaillierSecretKey;

pub use super::blum::KeySize;

use std::fmt;
use std::ops::Range;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::blum::{number, words};
use super::kernel::montgomery::LANES;

impl KeySize {
    /// Bytes of a public key on the wire: N and h_s.
    pub fn public_key_bytes(self) -> usize {
        self.modulus_bytes() + self.ciphertext_bytes()
    }

    /// Bytes of a secret key that is kept: the public one, p and q.
    pub fn secret_key_bytes(self) -> usize {
        self.public_key_bytes() + self.modulus_bytes()
    }

    /// Bytes of a ciphertext on the wire.
    pub fn ciphertext_bytes(self) -> usize {
        2 * self.modulus_bytes()
    }

    /// Returns the length of r in bits.
    fn random_bits(self) -> usize {
        self.bits() / 2
    }
}

/// Reason why bytes are no public key, or no ciphertexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PaillierFormatError {
    /// There are too few or too many bytes.
    Length,
    /// N has another length than agreed on.
    Size,
    /// Modulus N that is even.
    Even,
    /// A ciphertext, or h_s, is 0.
    Zero,
    /// A ciphertext, or h_s, is not below N^2.
    TooLarge,
    /// A ciphertext, or h_s, has a factor in common with N.
    NotCoprime,
    /// h_s is 1: nothing would be hidden.
    One,
    /// p and q are not the primes that belong to N and h_s.
    Primes,
}

/// Prints the reason as the end of a sentence that begins with the party that sent the bytes: "holds ...".
impl fmt::Display for PaillierFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PaillierFormatError::Length => "something of a wrong length",
            PaillierFormatError::Size => "a modulus N of another length",
            PaillierFormatError::Even => "a modulus N that is even",
            PaillierFormatError::Zero => "a ciphertext that is 0",
            PaillierFormatError::TooLarge => "a ciphertext that is not below N^2",
            PaillierFormatError::NotCoprime => "a ciphertext that is not coprime to N",
            PaillierFormatError::One => "a base of randomness that is 1",
            PaillierFormatError::Primes => "primes that do not belong to it",
        })
    }
}

impl std::error::Error for PaillierFormatError {}

/// Words of `count` numbers, made by all threads: `make` gets at most `groups` times eight of them, and may make more
/// than it is asked for, which are dropped.
fn in_groups(count: usize, words: usize, groups: usize, make: impl Fn(Range<usize>) -> Vec<u64> + Sync) -> Vec<u64> {
    // Not more than there is for every thread.
    let each = count.div_ceil(LANES * rayon::current_num_threads()).clamp(1, groups) * LANES;
    let starts: Vec<_> = (0..count).step_by(each).collect();
    // They may be plaintexts.
    let parts: Zeroizing<Vec<Vec<u64>>> = starts
        .into_par_iter()
        .map(|start| {
            let range = start..count.min(start + each);
            let mut made = make(range.clone());
            made.truncate(range.len() * words);
            made
        })
        .collect::<Vec<_>>()
        .into();
    parts.concat()
}
