//! Goldwasser & Micali, "Probabilistic encryption and how to play mental poker keeping secret all partial information"
//! (STOC 1982), as in Dong & Chen, "A fast secure dot product protocol with application to privacy preserving
//! association rule mining" (PAKDD 2014), section 3.1.
//!
//! N = p q with p = q = 3 modulo 4, so that x = -1 is no square modulo either prime. A bit b has the ciphertexts (-1)^b
//! y^2 modulo N, with y uniformly random in Z_N*. A ciphertext is a square modulo p if and only if b is 0, which its
//! Legendre symbol tells. Products of ciphertexts hold exclusive ors.
//!
//! A number c that comes from elsewhere is a ciphertext if its Jacobi symbol (c/N) is 1: it is then a square or minus
//! one, and which of them, nobody can tell without p and q. [`GmPublicKey::rerandomize`] makes of it one that is
//! uniformly random among those of its bit, also in the eyes of the key's owner. That takes the owner's word for it
//! that N is a product of two such primes: with more primes the Jacobi symbol leaves more than two classes, which
//! ciphertexts would keep.
//!
//! Everything takes and gives lists, on all threads. Time depends on numbers and sizes only, and on random numbers that
//! are thrown away.

mod ciphertexts;
mod public;
mod random;
mod secret;
#[cfg(test)]
mod tests;

pub use crate::primitive::blum::KeySize;
pub use ciphertexts::GmCiphertexts;
pub use public::GmPublicKey;
pub use secret::GmSecretKey;

use std::fmt;

/// Ciphertexts of which one thread makes a list at a time: as many as take random numbers from one generator.
const BLOCK: usize = 64;

/// Reason why bytes are no public key, or no ciphertexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GmFormatError {
    /// There are too few or too many bytes.
    Length,
    /// N has another length than agreed on.
    Size,
    /// N is not 1 modulo 4: it is even, or -1 has another Jacobi symbol than 1.
    Residue,
    /// N is a square: every number would have the Jacobi symbol 1.
    Square,
    /// A ciphertext is 0.
    Zero,
    /// A ciphertext is not below N.
    TooLarge,
    /// A ciphertext has a factor in common with N.
    NotCoprime,
    /// A ciphertext's Jacobi symbol is -1: it is of neither bit.
    Symbol,
}

/// Prints the reason as the end of a sentence that begins with the party that sent the bytes: "holds ...".
impl fmt::Display for GmFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GmFormatError::Length => "something of a wrong length",
            GmFormatError::Size => "a modulus N of another length",
            GmFormatError::Residue => "a modulus N that is not 1 modulo 4",
            GmFormatError::Square => "a modulus N that is a square",
            GmFormatError::Zero => "a ciphertext that is 0",
            GmFormatError::TooLarge => "a ciphertext that is not below N",
            GmFormatError::NotCoprime => "a ciphertext that is not coprime to N",
            GmFormatError::Symbol => "a ciphertext whose Jacobi symbol is -1",
        })
    }
}

impl std::error::Error for GmFormatError {}
