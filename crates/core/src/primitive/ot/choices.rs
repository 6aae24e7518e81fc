//! The receiver's secret choice bits.

use std::fmt;
use std::ops::Range;

use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bits of one word.
const WORD: usize = 128;

/// A receiver's choice bits, packed. Secret: zeroized when dropped, never printed.
///
/// Bit `i` is bit `i % 128` of word `i / 128`; the bits beyond the last one are zero.
#[derive(Clone, PartialEq, Eq, Default, Zeroize, ZeroizeOnDrop)]
pub struct Choices {
    words: Vec<u128>,
    length: usize,
}

impl Choices {
    /// `length` zeros.
    pub fn zeros(length: usize) -> Choices {
        Choices { words: vec![0; length.div_ceil(WORD)], length }
    }

    /// `length` uniformly random bits.
    pub fn random(length: usize, rng: &mut impl CryptoRng) -> Choices {
        let mut choices = Choices::zeros(length);
        let mut bytes = [0; WORD / 8];
        for word in &mut choices.words {
            rng.fill_bytes(&mut bytes);
            *word = u128::from_le_bytes(bytes);
        }
        bytes.zeroize();
        choices.clear_tail();
        choices
    }

    /// Collects these bits, in order.
    pub fn from_bits(bits: impl IntoIterator<Item = bool>) -> Choices {
        let bits = bits.into_iter();
        let mut choices = Choices::with_capacity(bits.size_hint().0);
        bits.for_each(|bit| choices.push(bit));
        choices
    }

    /// None yet, and room for `length`: growing beyond it would leave copies behind.
    pub(crate) fn with_capacity(length: usize) -> Choices {
        Choices { words: Vec::with_capacity(length.div_ceil(WORD)), length: 0 }
    }

    /// For how many there is room.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.words.capacity() * WORD
    }

    /// Adds one choice bit.
    pub(crate) fn push(&mut self, bit: bool) {
        if self.length.is_multiple_of(WORD) {
            self.words.push(0);
        }
        self.words[self.length / WORD] |= u128::from(bit) << (self.length % WORD);
        self.length += 1;
    }

    /// The first `length` bits of `bytes`, of which each holds eight, the lowest first.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn from_bytes(bytes: &[u8], length: usize) -> Choices {
        assert!(bytes.len() >= length.div_ceil(8), "{length} choice bits in {} bytes", bytes.len());
        let mut choices = Choices::zeros(length);
        for (word, bytes) in choices.words.iter_mut().zip(bytes.chunks(WORD / 8)) {
            let mut padded = [0; WORD / 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u128::from_le_bytes(padded);
            padded.zeroize();
        }
        choices.clear_tail();
        choices
    }

    /// Returns the number of choice bits.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the choice bit at `index`.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn get(&self, index: usize) -> bool {
        assert!(index < self.length, "choice bit {index} of {}", self.length);
        self.words[index / WORD] >> (index % WORD) & 1 == 1
    }

    /// The bits in order.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        (0..self.length).map(|index| self.get(index))
    }

    /// The bits in `range`, copied.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn slice(&self, range: Range<usize>) -> Choices {
        assert!(range.start <= range.end && range.end <= self.length, "choice bits {range:?} of {}", self.length);
        let mut slice = Choices::zeros(range.len());
        for (index, word) in slice.words.iter_mut().enumerate() {
            *word = self.word_at(range.start + index * WORD);
        }
        slice.clear_tail();
        slice
    }

    /// The 128 bits from bit `start` on, with zeros beyond the last one.
    pub(crate) fn word_at(&self, start: usize) -> u128 {
        let word = |index: usize| self.words.get(index).copied().unwrap_or(0);
        match start % WORD {
            0 => word(start / WORD),
            shift => word(start / WORD) >> shift | word(start / WORD + 1) << (WORD - shift),
        }
    }

    fn clear_tail(&mut self) {
        if !self.length.is_multiple_of(WORD)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (self.length % WORD)) - 1;
        }
    }
}

impl fmt::Debug for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Choices({} bits)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn every_way_to_make_and_read_them_agrees() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for length in [0, 1, 7, 8, 127, 128, 129, 255, 256, 1000] {
            let choices = Choices::random(length, &mut rng);
            let bits: Vec<bool> = choices.iter().collect();
            assert_eq!(bits.len(), length);
            assert_eq!(choices, Choices::from_bits(bits.iter().copied()));
            let mut bytes = vec![0xff; length.div_ceil(8) + 3];
            for (index, &bit) in bits.iter().enumerate() {
                bytes[index / 8] &= !(u8::from(!bit) << (index % 8));
            }
            assert_eq!(choices, Choices::from_bytes(&bytes, length));
            for start in [0, 1, 5, 127, 128, 200] {
                for end in [start, start + 1, start + 128, start + 129, length] {
                    if start <= end && end <= length {
                        let slice = choices.slice(start..end);
                        assert_eq!(slice, Choices::from_bits(bits[start..end].iter().copied()));
                    }
                }
            }
        }
    }

    #[test]
    fn they_are_not_printed() {
        assert_eq!(format!("{:?}", Choices::from_bits([true, false])), "Choices(2 bits)");
    }
}
