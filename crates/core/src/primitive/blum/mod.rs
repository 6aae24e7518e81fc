//! Products N = p q of two secret primes that are 3 modulo 4 (Blum integers): what keys are made of whose safety is
//! that nobody else can find p and q.

mod primes;

pub(crate) use primes::Primes;

use crypto_bigint::BoxedUint;

use crate::error::{Error, Result};
use crate::security::Level;

/// Length of N in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeySize {
    bits: usize,
}

impl KeySize {
    /// List of all key sizes. 512 bits serve measurements and tests alone.
    const ALL: [usize; 6] = [512, 1024, 2048, 3072, 7680, 15360];

    /// Keys of so many bits.
    ///
    /// Errors ([`Error::Input`]): there are no such keys.
    pub fn new(bits: usize) -> Result<KeySize> {
        if KeySize::ALL.contains(&bits) {
            Ok(KeySize { bits })
        } else {
            Err(Error::Input(format!("keys of {bits} bits: use one of {:?}", KeySize::ALL)))
        }
    }

    /// Keys for a level of security.
    pub fn of(level: Level) -> KeySize {
        let bits = match level {
            Level::Paper80 => 1024,
            Level::Bits112 => 2048,
            Level::Bits128 => 3072,
            Level::Bits192 => 7680,
            Level::Bits256 => 15360,
        };
        KeySize { bits }
    }

    /// Bits of N: exactly so many.
    pub fn bits(self) -> usize {
        self.bits
    }

    /// Bytes of N, and of a number modulo N.
    pub fn modulus_bytes(self) -> usize {
        self.bits / 8
    }

    /// 64-bit words of N.
    pub(super) fn words(self) -> usize {
        self.bits / 64
    }
}

/// A number of these words, the lowest first.
pub(super) fn number(words: &[u64]) -> BoxedUint {
    BoxedUint::from_words(words.iter().copied())
}

/// Reads bytes as little-endian words.
pub(super) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}
