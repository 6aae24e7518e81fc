//! Bits of many numbers: a plane holds one bit of each.

use std::fmt;

use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bits of one word.
const WORD: usize = 64;

/// Planes of as many bits each. Bit i of a plane is bit i % 64 of its word i / 64; the bits beyond the last one are
/// zero. Secret: zeroized when dropped, never printed.
#[derive(ZeroizeOnDrop)]
pub(crate) struct Planes {
    words: Vec<u64>,
    /// Words of a plane.
    stride: usize,
    length: usize,
}

impl Planes {
    /// `count` planes of `length` zeros.
    pub(crate) fn zeros(count: usize, length: usize) -> Planes {
        let stride = length.div_ceil(WORD);
        Planes { words: vec![0; count * stride], stride, length }
    }

    /// Draws uniformly random bits.
    pub(crate) fn random(count: usize, length: usize, rng: &mut impl CryptoRng) -> Planes {
        let mut planes = Planes::zeros(count, length);
        let mut bytes = [0; WORD / 8];
        for word in &mut planes.words {
            rng.fill_bytes(&mut bytes);
            *word = u64::from_le_bytes(bytes);
        }
        bytes.zeroize();
        for plane in 0..count {
            planes.clear_tail(plane);
        }
        planes
    }

    /// Returns the number of planes, if any has bits.
    pub(super) fn count(&self) -> usize {
        self.words.len() / self.stride.max(1)
    }

    /// Adds (exclusive or) as many others.
    pub(crate) fn add(&mut self, others: &Planes) {
        self.words.iter_mut().zip(&others.words).for_each(|(word, other)| *word ^= other);
    }

    /// Bits of a plane.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The words of a plane.
    pub(super) fn plane(&self, plane: usize) -> &[u64] {
        &self.words[plane * self.stride..][..self.stride]
    }

    /// Returns a plane as [`Planes::plane`] does, to be written.
    pub(super) fn plane_mut(&mut self, plane: usize) -> &mut [u64] {
        &mut self.words[plane * self.stride..][..self.stride]
    }

    /// Bit `index` of a plane: 0 or 1.
    #[inline]
    pub(crate) fn bit(&self, plane: usize, index: usize) -> u32 {
        (self.words[plane * self.stride + index / WORD] >> (index % WORD)) as u32 & 1
    }

    /// Sets bit `index` of a plane, which is zero, to the lowest of `bit`.
    #[inline]
    pub(crate) fn put(&mut self, plane: usize, index: usize, bit: u32) {
        self.words[plane * self.stride + index / WORD] |= u64::from(bit & 1) << (index % WORD);
    }

    /// Bytes of a plane on the wire.
    pub(crate) fn plane_bytes(length: usize) -> usize {
        length.div_ceil(8)
    }

    /// Encodes all planes, one after the other, each in whole bytes, the lowest bit first.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.words.len() * WORD / 8);
        for plane in self.words.chunks(self.stride.max(1)) {
            let start = bytes.len();
            plane.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            bytes.truncate(start + Planes::plane_bytes(self.length));
        }
        bytes
    }

    /// The other way, for as many bytes as there are due; `None` if a bit beyond the last of a plane is set.
    pub(crate) fn from_bytes(count: usize, length: usize, bytes: &[u8]) -> Option<Planes> {
        let mut planes = Planes::zeros(count, length);
        if length == 0 {
            return Some(planes);
        }
        let mut clean = true;
        for (plane, bytes) in bytes.chunks(Planes::plane_bytes(length)).enumerate() {
            for (word, bytes) in planes.plane_mut(plane).iter_mut().zip(bytes.chunks(WORD / 8)) {
                let mut padded = [0; WORD / 8];
                padded[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_le_bytes(padded);
            }
            clean &= planes.clear_tail(plane);
        }
        clean.then_some(planes)
    }

    /// Clears the bits beyond the last; whether there were none.
    pub(super) fn clear_tail(&mut self, plane: usize) -> bool {
        let used = self.length % WORD;
        match self.plane_mut(plane).last_mut() {
            Some(last) if used > 0 => {
                let before = *last;
                *last &= (1 << used) - 1;
                *last == before
            }
            _ => true,
        }
    }
}

impl fmt::Debug for Planes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Planes({} words of bits)", self.words.len())
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn bits_survive_the_wire() {
        let mut rng = ChaCha20Rng::from_seed([9; 32]);
        for length in [0, 1, 7, 8, 63, 64, 65, 200] {
            for count in [0, 1, 3] {
                let planes = Planes::random(count, length, &mut rng);
                let mut again = Planes::zeros(count, length);
                for (plane, index) in (0..count).flat_map(|plane| (0..length).map(move |index| (plane, index))) {
                    again.put(plane, index, planes.bit(plane, index));
                }
                assert_eq!(again.words, planes.words);
                let mut bytes = planes.to_bytes();
                assert_eq!(bytes.len(), count * length.div_ceil(8));
                assert_eq!(Planes::from_bytes(count, length, &bytes).unwrap().words, planes.words);
                if count > 0 && !length.is_multiple_of(8) {
                    *bytes.last_mut().unwrap() |= 0x80;
                    assert!(Planes::from_bytes(count, length, &bytes).is_none());
                }
            }
        }
        assert_eq!(format!("{:?}", Planes::zeros(2, 64)), "Planes(2 words of bits)");
    }
}
