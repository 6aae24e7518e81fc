//! Lists of plaintexts and of ciphertexts.

use std::fmt;
use std::ops::Range;

use zeroize::ZeroizeOnDrop;

/// Numbers modulo N. Secret: zeroized when dropped, never printed. [`PublicKey`](super::PaillierPublicKey) makes them
/// of integers.
#[derive(Clone, PartialEq, Eq, ZeroizeOnDrop)]
pub struct Plaintexts {
    pub(super) words: usize,
    pub(super) all: Vec<u64>,
}

impl Plaintexts {
    /// Returns the number of plaintexts.
    pub fn len(&self) -> usize {
        self.all.len() / self.words
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The words of some of them.
    pub(super) fn range(&self, range: Range<usize>) -> impl Iterator<Item = &[u64]> {
        self.all[range.start * self.words..range.end * self.words].chunks_exact(self.words)
    }
}

/// Prints the number of plaintexts only.
impl fmt::Debug for Plaintexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plaintexts({})", self.len())
    }
}

/// Ciphertexts of one key: numbers from 1 to N^2 - 1 that have no factor in common with N. They are read by
/// [`PublicKey::read`](super::PaillierPublicKey::read), which checks that.
#[derive(Clone, PartialEq, Eq)]
pub struct PaillierCiphertexts {
    pub(super) words: usize,
    pub(super) all: Vec<u64>,
}

impl PaillierCiphertexts {
    /// Returns the number of ciphertexts.
    pub fn len(&self) -> usize {
        self.all.len() / self.words
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the encoding on the wire: one ciphertext after the other, little-endian,
    /// [`KeySize::ciphertext_bytes`](super::KeySize::ciphertext_bytes) each.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.all.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Returns the ciphertexts at these indices, in this order.
    ///
    /// # Panics
    ///
    /// If there is no such ciphertext.
    pub fn select(&self, numbers: impl IntoIterator<Item = usize>) -> PaillierCiphertexts {
        let all = numbers.into_iter().flat_map(|number| self.one(number).iter().copied()).collect();
        PaillierCiphertexts { words: self.words, all }
    }

    /// Appends ciphertexts of the same key.
    ///
    /// # Panics
    ///
    /// If they are of a key of another size.
    pub fn append(&mut self, further: &PaillierCiphertexts) {
        assert_eq!(self.words, further.words, "ciphertexts of one key");
        self.all.extend_from_slice(&further.all);
    }

    /// The words of one of them.
    pub(super) fn one(&self, number: usize) -> &[u64] {
        &self.all[number * self.words..(number + 1) * self.words]
    }

    /// The words of some of them.
    pub(super) fn range(&self, range: Range<usize>) -> impl Iterator<Item = &[u64]> {
        self.all[range.start * self.words..range.end * self.words].chunks_exact(self.words)
    }
}

/// Prints the number of ciphertexts only.
impl fmt::Debug for PaillierCiphertexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ciphertexts({})", self.len())
    }
}
