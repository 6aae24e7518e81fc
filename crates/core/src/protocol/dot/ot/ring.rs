//! The arithmetic on words of shares: modulo a power of two, in one or two machine words, or modulo another number.

use zeroize::Zeroize;

use crate::primitive::kernel::Block;
use crate::primitive::kernel::block::BLOCK_BITS;
use crate::primitive::ot::packing;
use crate::protocol::dot::{Integers, Modulus};

/// Words of one plane. All operations take the same time whatever the words are.
pub(super) trait Ring: Copy + Send + Sync {
    /// A word; what is above its bits may be anything.
    type Word: Copy + Default + Send + Sync + Zeroize;

    /// Random blocks that words are cut from at a time.
    const BLOCKS: usize;

    /// Words that are cut from [`Ring::BLOCKS`] blocks.
    fn words(&self) -> usize;

    /// Bits of a word on the wire.
    fn bits(&self) -> u32;

    /// A random word from random blocks, of which `second` counts only if there are two; the first one of the blocks,
    /// or the one at `place`.
    fn cut<const FIRST: bool>(&self, place: usize, first: Block, second: Block) -> Self::Word;

    /// The word of one of the sender's integers.
    fn word(&self, integer: i64) -> Self::Word;

    fn add(&self, a: Self::Word, b: Self::Word) -> Self::Word;

    fn subtract(&self, a: Self::Word, b: Self::Word) -> Self::Word;

    /// The word if `mask` is all ones, zero if it is zero.
    fn select(&self, mask: i64, word: Self::Word) -> Self::Word;

    /// Converts a word to a number, in which only the word's bits are set.
    fn number(&self, word: Self::Word) -> u128;

    /// Writes words to a message.
    fn pack(&self, words: &mut [Self::Word], out: &mut [u8]);

    /// Reads words; false if something else stands there.
    fn unpack(&self, packed: &[u8], words: &mut [Self::Word]) -> bool;
}

/// One of the rings.
pub(super) enum AnyRing {
    Narrow(Narrow),
    Wide(Wide),
    Residues(Residues),
}

impl AnyRing {
    /// The arithmetic modulo `modulus`, into which integers of this range go.
    pub(super) fn of(modulus: Modulus, integers: Integers) -> AnyRing {
        match modulus.bits() {
            _ if !modulus.is_power_of_two() => AnyRing::Residues(Residues::new(modulus, integers)),
            bits @ ..=64 => AnyRing::Narrow(Narrow::new(bits)),
            bits => AnyRing::Wide(Wide::new(bits)),
        }
    }
}

/// Modulo 2^bits, at most 2^64.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    bits: u32,
    mask: u64,
}

impl Narrow {
    pub(super) fn new(bits: u32) -> Narrow {
        Narrow { bits, mask: u64::MAX >> (64 - bits) }
    }
}

impl Ring for Narrow {
    type Word = u64;
    const BLOCKS: usize = 1;

    fn words(&self) -> usize {
        BLOCK_BITS / self.bits as usize
    }

    fn bits(&self) -> u32 {
        self.bits
    }

    #[inline(always)]
    fn cut<const FIRST: bool>(&self, place: usize, first: Block, _: Block) -> u64 {
        if FIRST { first.0 as u64 } else { (first.0 >> (place as u32 * self.bits)) as u64 }
    }

    #[inline(always)]
    fn word(&self, integer: i64) -> u64 {
        integer as u64
    }

    #[inline(always)]
    fn add(&self, a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn subtract(&self, a: u64, b: u64) -> u64 {
        a.wrapping_sub(b)
    }

    #[inline(always)]
    fn select(&self, mask: i64, word: u64) -> u64 {
        word & mask as u64
    }

    fn number(&self, word: u64) -> u128 {
        (word & self.mask).into()
    }

    fn pack(&self, words: &mut [u64], out: &mut [u8]) {
        words.iter_mut().for_each(|word| *word &= self.mask);
        packing::pack(words, self.bits, out);
    }

    fn unpack(&self, packed: &[u8], words: &mut [u64]) -> bool {
        packing::unpack(packed, words.len(), self.bits, |index, number| words[index] = number as u64)
    }
}

/// Modulo 2^bits, more than 2^64.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    bits: u32,
    mask: u128,
}

impl Wide {
    pub(super) fn new(bits: u32) -> Wide {
        Wide { bits, mask: u128::MAX >> (128 - bits) }
    }
}

impl Ring for Wide {
    type Word = u128;
    const BLOCKS: usize = 1;

    fn words(&self) -> usize {
        1
    }

    fn bits(&self) -> u32 {
        self.bits
    }

    #[inline(always)]
    fn cut<const FIRST: bool>(&self, _: usize, first: Block, _: Block) -> u128 {
        first.0
    }

    #[inline(always)]
    fn word(&self, integer: i64) -> u128 {
        i128::from(integer) as u128
    }

    #[inline(always)]
    fn add(&self, a: u128, b: u128) -> u128 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn subtract(&self, a: u128, b: u128) -> u128 {
        a.wrapping_sub(b)
    }

    #[inline(always)]
    fn select(&self, mask: i64, word: u128) -> u128 {
        word & i128::from(mask) as u128
    }

    fn number(&self, word: u128) -> u128 {
        word & self.mask
    }

    fn pack(&self, words: &mut [u128], out: &mut [u8]) {
        words.iter_mut().for_each(|word| *word &= self.mask);
        packing::pack(words, self.bits, out);
    }

    fn unpack(&self, packed: &[u8], words: &mut [u128]) -> bool {
        packing::unpack(packed, words.len(), self.bits, |index, number| words[index] = number)
    }
}

/// Modulo a number that is no power of two. Words are always residues.
#[derive(Clone, Copy)]
pub(super) struct Residues {
    modulus: Modulus,
    /// The smallest integer, and its residue.
    low: (i64, u128),
    /// Reciprocal floor(2^64 / modulus).
    reciprocal: u128,
}

impl Residues {
    pub(super) fn new(modulus: Modulus, integers: Integers) -> Residues {
        let low = integers.range().0;
        Residues { modulus, low: (low, modulus.residue(low.into())), reciprocal: (1 << 64) / modulus.value() }
    }
}

impl Ring for Residues {
    type Word = u128;
    const BLOCKS: usize = 2;

    fn words(&self) -> usize {
        1
    }

    fn bits(&self) -> u32 {
        self.modulus.bits()
    }

    #[inline(always)]
    fn cut<const FIRST: bool>(&self, _: usize, first: Block, second: Block) -> u128 {
        self.modulus.uniform(first.0, second.0)
    }

    /// Integers have 32 bits, so the one above the smallest is x < 2^32. x floor(2^64 / m) / 2^64 is less than x / m by
    /// less than x / 2^64 < 1, so that what is left of x is less than twice the modulus. A division would take a time
    /// that depends on x.
    #[inline(always)]
    fn word(&self, integer: i64) -> u128 {
        let above = u128::from(integer.wrapping_sub(self.low.0) as u64);
        let times = above.wrapping_mul(self.reciprocal) >> 64;
        let rest = above.wrapping_sub(times.wrapping_mul(self.modulus.value()));
        // Adding takes away what is left of a modulus too much.
        let rest = self.modulus.add(rest, 0);
        self.modulus.add(rest, self.low.1)
    }

    #[inline(always)]
    fn add(&self, a: u128, b: u128) -> u128 {
        self.modulus.add(a, b)
    }

    #[inline(always)]
    fn subtract(&self, a: u128, b: u128) -> u128 {
        self.modulus.subtract(a, b)
    }

    #[inline(always)]
    fn select(&self, mask: i64, word: u128) -> u128 {
        word & i128::from(mask) as u128
    }

    fn number(&self, word: u128) -> u128 {
        word
    }

    fn pack(&self, words: &mut [u128], out: &mut [u8]) {
        packing::pack(words, self.bits(), out);
    }

    fn unpack(&self, packed: &[u8], words: &mut [u128]) -> bool {
        let clean = packing::unpack(packed, words.len(), self.bits(), |index, number| words[index] = number);
        clean && words.iter().all(|word| *word < self.modulus.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_become_residues_whatever_the_modulus() {
        for value in
            [3, 5, 255, 257, 65537, (1 << 31) - 1, (1 << 32) - 5, (1 << 32) + 15, (1 << 61) - 1, 10u128.pow(30)]
        {
            let modulus = Modulus::new(value).unwrap();
            for (bits, signed) in [(1, false), (1, true), (2, true), (8, false), (31, true), (32, false), (32, true)] {
                let integers = Integers::new(bits, signed).unwrap();
                let (low, high) = integers.range();
                let ring = Residues::new(modulus, integers);
                let near = |middle: i64| (middle - 3..=middle + 3).collect::<Vec<_>>();
                let multiples = [1, 2, 1000].map(|times| (value as i64).checked_mul(times).unwrap_or(0));
                let places = [low, high, 0].into_iter().chain(multiples).chain(multiples.map(|at| -at));
                for integer in places.flat_map(near).filter(|integer| (low..=high).contains(integer)) {
                    let expected = i128::from(integer).rem_euclid(value as i128) as u128;
                    assert_eq!(ring.word(integer), expected, "{integer} modulo {value}");
                }
            }
        }
    }
}
