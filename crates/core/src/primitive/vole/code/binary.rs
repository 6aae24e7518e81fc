//! The code over GF(2), for symbols that are blocks.

use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{FRONT, GROUP, position, streams};
use crate::primitive::kernel::{Aes128, Block, block};

/// Terms of the convolution, the last of which is always there.
pub(crate) const MEMORY: usize = 15;

/// Regions of the expander, and edges of an output.
pub(crate) const REGIONS: usize = 10;

/// Symbols of which the convolution's bits are generated at once.
const STRETCH: usize = 512;

/// 32-bit numbers of an output: one for each region, and two that are not used.
const NUMBERS: usize = 12;

/// A code over GF(2) for any number of outputs; see [the module](super).
#[derive(Debug)]
pub struct Binary {
    length: usize,
    pub(super) bits: Aes128,
    pub(super) numbers: Aes128,
}

impl Binary {
    /// The code with `length` positions a region that a public seed stands for.
    pub fn new(seed: Block, length: usize) -> Binary {
        assert!(length > 0 && length < 1 << 31, "a region has positions, and they can be drawn");
        let [bits, numbers] = streams(seed);
        Binary { length, bits, numbers }
    }

    /// Symbols of an input.
    pub fn symbols(&self) -> usize {
        REGIONS * self.length
    }

    /// Encodes `word`, which starts with [`FRONT`] zeros, has at least as many symbols as the code behind them, and is
    /// overwritten.
    pub fn encode(&self, word: &mut [Block], outputs: &mut [Block]) {
        let word = &mut word[..FRONT + self.symbols()];
        self.convolve(word);
        self.expand(&word[FRONT..], outputs);
    }

    fn convolve(&self, word: &mut [Block]) {
        let mut bits = [Block::ZERO; STRETCH / 8];
        for first in (0..self.symbols()).step_by(STRETCH) {
            let count = STRETCH.min(self.symbols() - first);
            self.bits.encrypt_counters((first / 8) as u64, &mut bits);
            for (place, bits) in block::as_bytes(&bits).as_chunks::<2>().0[..count].iter().enumerate() {
                let bits = u16::from_le_bytes(*bits);
                let here = FRONT + first + place;
                let seen: &[Block; MEMORY] = word[here - MEMORY..].first_chunk().expect("the front is long enough");
                // The oldest symbol always counts.
                let mut sum = seen[0];
                for lag in 1..MEMORY {
                    let mask = u128::from(bits >> (lag - 1) & 1).wrapping_neg();
                    sum ^= Block(seen[MEMORY - lag].0 & mask);
                }
                word[here] ^= sum;
            }
        }
    }

    fn expand(&self, word: &[Block], outputs: &mut [Block]) {
        let threads = rayon::current_num_threads().max(1);
        let share = outputs.len().div_ceil(threads).next_multiple_of(GROUP).max(GROUP);
        let parts: Vec<(usize, &mut [Block])> = outputs.chunks_mut(share).enumerate().collect();
        let run = |(part, outputs): (usize, &mut [Block])| self.expand_part(word, part * share, outputs);
        match parts.len() {
            0 | 1 => parts.into_iter().for_each(run),
            _ => parts.into_par_iter().for_each(run),
        }
    }

    /// The outputs from index `start` on, which is a multiple of [`GROUP`].
    fn expand_part(&self, word: &[Block], start: usize, outputs: &mut [Block]) {
        let mut ahead = self.positions(word, start);
        for (group, outputs) in outputs.chunks_mut(GROUP).enumerate() {
            let positions = ahead;
            ahead = self.positions(word, start + (group + 1) * GROUP);
            for (positions, output) in positions.as_chunks::<REGIONS>().0.iter().zip(outputs) {
                *output = positions.iter().fold(Block::ZERO, |sum, &position| sum ^ word[position as usize]);
            }
        }
    }

    /// Returns the positions in `word` of the symbols of the group of outputs from index `first` on. The symbols are
    /// fetched.
    fn positions(&self, word: &[Block], first: usize) -> [u32; GROUP * REGIONS] {
        let mut numbers = [Block::ZERO; GROUP * NUMBERS / 4];
        self.numbers.encrypt_counters((first * NUMBERS / 4) as u64, &mut numbers);
        let mut positions = [0; GROUP * REGIONS];
        let numbers = block::as_bytes(&numbers).as_chunks::<4>().0.as_chunks::<NUMBERS>().0;
        for (positions, numbers) in positions.as_chunks_mut::<REGIONS>().0.iter_mut().zip(numbers) {
            for (region, (place, number)) in positions.iter_mut().zip(numbers).enumerate() {
                *place = position(u32::from_le_bytes(*number), region * self.length, self.length) as u32;
            }
        }
        #[cfg(target_arch = "x86_64")]
        x86::prefetch(word, &positions);
        positions
    }
}
