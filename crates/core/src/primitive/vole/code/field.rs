//! The code over GF(2^128).

use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{FIELD_MEMORY as MEMORY, FIELD_REGIONS as REGIONS, FIRST_LAG, FRONT, GROUP, position, streams};
use crate::primitive::kernel::backend::{self, Backend};
use crate::primitive::kernel::memory::wipe;
use crate::primitive::kernel::{Aes128, Block, gf128};

/// Symbols of which the convolution's constants are generated at once.
pub(super) const STRETCH: usize = 64;

/// A code over GF(2^128) for any number of outputs; see [the module](super).
#[derive(Debug)]
pub struct FieldCode {
    length: usize,
    pub(super) constants: Aes128,
    pub(super) numbers: Aes128,
    pub(super) labels: Aes128,
    backend: Backend,
}

impl FieldCode {
    /// The code with `length` positions a region that a public seed stands for.
    pub fn new(seed: Block, length: usize) -> FieldCode {
        FieldCode::on(backend::chosen(), seed, length)
    }

    /// Creates the code as [`FieldCode::new`] does, on a back end that is available.
    pub(super) fn on(backend: Backend, seed: Block, length: usize) -> FieldCode {
        assert!(length > 0 && length < 1 << 31, "a region has positions, and they can be drawn");
        let [constants, numbers, labels] = streams(seed);
        FieldCode { length, constants, numbers, labels, backend }
    }

    /// Symbols of an input.
    pub fn symbols(&self) -> usize {
        REGIONS * self.length
    }

    /// Encodes WIDTH words at once, one or two: `words` has symbol i of all of them side by side, starts with [`FRONT`]
    /// symbols of zero, has at least as many as the code behind them, and is overwritten. All outputs are equally long.
    pub fn encode<const WIDTH: usize>(&self, words: &mut [Block], outputs: [&mut [Block]; WIDTH]) {
        const { assert!(WIDTH == 1 || WIDTH == 2) };
        let words = &mut words[..(FRONT + self.symbols()) * WIDTH];
        self.convolve::<WIDTH>(words);
        self.expand(&words[FRONT * WIDTH..], outputs);
    }

    /// Applies the convolution of the code.
    fn convolve<const WIDTH: usize>(&self, words: &mut [Block]) {
        let mut constants = [Block::ZERO; STRETCH * MEMORY];
        let symbols = self.symbols();
        for first in (0..symbols).step_by(STRETCH) {
            let count = STRETCH.min(symbols - first);
            let constants = &mut constants[..count * MEMORY];
            self.constants.encrypt_counters((first * MEMORY) as u64, constants);
            // What the stretch looks back at, and the stretch.
            let back = FIRST_LAG + MEMORY - 1;
            let start = (FRONT + first - back) * WIDTH;
            let stretch = &mut words[start..start + (back + count) * WIDTH];
            match self.backend.family() {
                // SAFETY: `Family::Avx512` is only taken where the processor has its features.
                #[cfg(target_arch = "x86_64")]
                backend::Family::Avx512 => unsafe { x86::convolve::<WIDTH>(constants, stretch) },
                _ => convolve::<WIDTH>(constants, stretch),
            }
        }
    }

    /// Applies the expander of the code.
    fn expand<const WIDTH: usize>(&self, words: &[Block], outputs: [&mut [Block]; WIDTH]) {
        let count = outputs[0].len();
        assert!(outputs.iter().all(|outputs| outputs.len() == count), "as many outputs of each word");
        let threads = rayon::current_num_threads().max(1);
        let share = count.div_ceil(threads).next_multiple_of(GROUP).max(GROUP);
        let mut rests = outputs.map(|outputs| outputs.chunks_mut(share));
        let parts: Vec<[&mut [Block]; WIDTH]> = (0..count.div_ceil(share))
            .map(|_| rests.each_mut().map(|rest| rest.next().expect("all are equally long")))
            .collect();
        let run = |(part, outputs): (usize, [&mut [Block]; WIDTH])| self.expand_part(words, part * share, outputs);
        match parts.len() {
            0 | 1 => parts.into_iter().enumerate().for_each(run),
            _ => parts.into_par_iter().enumerate().for_each(run),
        }
    }

    /// The outputs from index `start` on, which is a multiple of [`GROUP`].
    fn expand_part<const WIDTH: usize>(&self, words: &[Block], start: usize, mut outputs: [&mut [Block]; WIDTH]) {
        let mut labels = [Block::ZERO; GROUP * REGIONS];
        let mut sums = [[Block::ZERO; WIDTH]; GROUP];
        let mut ahead = self.positions::<WIDTH>(words, start);
        let count = outputs[0].len();
        for group in 0..count.div_ceil(GROUP) {
            let positions = ahead;
            let first = start + group * GROUP;
            ahead = self.positions::<WIDTH>(words, first + GROUP);
            self.labels.encrypt_counters((first * REGIONS) as u64, &mut labels);
            match self.backend.family() {
                // SAFETY: `Family::Avx512` is only taken where the processor has its features.
                #[cfg(target_arch = "x86_64")]
                backend::Family::Avx512 => unsafe { x86::sum_positions(words, &positions, &labels, &mut sums) },
                _ => sum_positions(words, &positions, &labels, &mut sums),
            }
            let range = group * GROUP..count.min((group + 1) * GROUP);
            for (word, outputs) in outputs.iter_mut().enumerate() {
                outputs[range.clone()].iter_mut().zip(&sums).for_each(|(output, sum)| *output = sum[word]);
            }
        }
        wipe(sums.as_flattened_mut());
    }

    /// Returns the positions in `words` of the symbols of the group of outputs from index `first` on. The symbols are
    /// fetched: those of four outputs for the first region, then for the next.
    fn positions<const WIDTH: usize>(&self, words: &[Block], first: usize) -> [u32; GROUP * REGIONS] {
        let mut numbers = [Block::ZERO; GROUP * REGIONS / 4];
        self.numbers.encrypt_counters((first * REGIONS / 4) as u64, &mut numbers);
        let mut positions = [0; GROUP * REGIONS];
        for (four, numbers) in
            positions.as_chunks_mut::<{ 4 * REGIONS }>().0.iter_mut().zip(numbers.as_chunks::<REGIONS>().0)
        {
            for (region, (positions, number)) in four.as_chunks_mut::<4>().0.iter_mut().zip(numbers).enumerate() {
                for (lane, place) in positions.iter_mut().enumerate() {
                    let number = (number.0 >> (32 * lane)) as u32;
                    *place = (position(number, region * self.length, self.length) * WIDTH) as u32;
                }
            }
        }
        #[cfg(target_arch = "x86_64")]
        x86::prefetch(words, &positions);
        positions
    }
}

/// Convolves the symbols behind the first few, those that they look back at. Portable.
fn convolve<const WIDTH: usize>(constants: &[Block], stretch: &mut [Block]) {
    let back = FIRST_LAG + MEMORY - 1;
    let count = constants.len() / MEMORY;
    for place in 0..count {
        let (quad, lane) = (place / 4, place % 4);
        for symbol in 0..WIDTH {
            let at = |lag: usize| (back + place - lag) * WIDTH + symbol;
            let seen: [Block; MEMORY] = std::array::from_fn(|tap| stretch[at(FIRST_LAG + tap)]);
            let factors: [Block; MEMORY] = std::array::from_fn(|tap| constants[(quad * MEMORY + tap) * 4 + lane]);
            stretch[at(0)] ^= gf128::inner_product(&seen, &factors);
        }
    }
}

/// The sums of a group of outputs. Portable.
fn sum_positions<const WIDTH: usize>(
    words: &[Block],
    positions: &[u32],
    labels: &[Block],
    sums: &mut [[Block; WIDTH]; GROUP],
) {
    for (index, sums) in sums.iter_mut().enumerate() {
        let (quad, lane) = (index / 4, index % 4);
        let place = |region: usize| (quad * REGIONS + region) * 4 + lane;
        let factors: [Block; REGIONS] = std::array::from_fn(|region| labels[place(region)]);
        for (symbol, sum) in sums.iter_mut().enumerate() {
            let seen: [Block; REGIONS] =
                std::array::from_fn(|region| words[positions[place(region)] as usize + symbol]);
            *sum = gf128::inner_product(&seen, &factors);
        }
    }
}
