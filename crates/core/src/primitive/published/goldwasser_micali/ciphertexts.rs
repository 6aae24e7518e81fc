//! Lists of Goldwasser-Micali ciphertexts.

use std::fmt;

/// Ciphertexts of one key: numbers from 1 to N - 1 whose Jacobi symbol is 1. They are read by
/// [`PublicKey::read`](super::GmPublicKey::read), which checks that.
#[derive(Clone, PartialEq, Eq)]
pub struct GmCiphertexts {
    /// Length of one ciphertext in bytes.
    each: usize,
    /// One after the other, little-endian.
    bytes: Vec<u8>,
}

impl GmCiphertexts {
    /// Creates a list from bytes that are known to be right.
    pub(super) fn new(each: usize, bytes: Vec<u8>) -> GmCiphertexts {
        GmCiphertexts { each, bytes }
    }

    /// Returns the number of ciphertexts.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.each
    }

    /// Returns the encoding on the wire: one ciphertext after the other, little-endian,
    /// [`KeySize::modulus_bytes`](super::KeySize::modulus_bytes) each.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the encoding on the wire, without a copy.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends ciphertexts of the same key.
    ///
    /// # Panics
    ///
    /// If they are of a key of another size.
    pub(crate) fn append(&mut self, further: &GmCiphertexts) {
        assert_eq!(self.each, further.each, "ciphertexts of one key");
        self.bytes.extend_from_slice(&further.bytes);
    }

    /// The bytes of one of them.
    pub(super) fn one(&self, number: usize) -> &[u8] {
        &self.bytes[number * self.each..][..self.each]
    }
}

/// Prints the number of ciphertexts only.
impl fmt::Debug for GmCiphertexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ciphertexts({})", self.len())
    }
}
