//! Whether the two parties' values of a bin are equal, as a bit that they share.
//!
//! By way of the number of bits in which the values differ, as Couteau, "New protocols for secure equality test and
//! comparison" (ACNS 2018). With 63 bits at most, it is below 64:
//!
//! 1. One OT for each bit: the second party's bit y chooses between a pad, and another pad that a correction of six bits
//!    turns into what makes both shares add up to x + y - 2 x y modulo 64, where x is the first party's bit.
//! 2. The shares of the number are equal up to the sign if, and only if, it is zero: a transfer out of a table of 64 bits
//!    by six OTs, as in `at_least` (`gates.rs`).
//!
//! The union's receiver is the first party, which sends in all OTs.

use std::ops::Range;

use tacita_core::primitive::ot::messages::{self, CHUNK, Piece};
use tacita_core::primitive::ot::{Choices, RandomOtReceiver, RandomOtSender};
use tacita_core::{Channel, Result};

/// Bits of a number of differences.
const WIDTH: usize = 6;

/// Mask of a number of differences.
const MASK: u64 = (1 << WIDTH) - 1;

/// Largest length of a value in bits.
pub const MAX_BITS: usize = MASK as usize;

/// Corrections in a word of 128 bits.
const GROUP: usize = 128 / WIDTH;

/// Bytes of a word.
const WORD_BYTES: usize = 16;

/// Bytes of a table.
const TABLE_BYTES: usize = 8;

/// Entries of a table with bit i of their number set.
const WITH_BIT: [u64; WIDTH] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

/// Bins that share a message.
struct Bins {
    range: Range<usize>,
    /// Number of OTs for each.
    transfers: usize,
}

impl Piece for Bins {
    fn count(&self) -> usize {
        self.range.len() * self.transfers
    }
}

/// OTs for each bin.
pub fn transfers(bits: usize) -> usize {
    bits + WIDTH
}

fn pieces(bins: usize, transfers: usize) -> impl Iterator<Item = Bins> {
    messages::chunks(bins, CHUNK / transfers).map(move |range| Bins { range, transfers })
}

/// Bytes of a bin's corrections.
fn correction_bytes(bits: usize) -> usize {
    bits.div_ceil(GROUP) * WORD_BYTES
}

/// The first party's share for each bin.
pub fn offer(values: &[u64], bits: usize, ot: &mut impl RandomOtSender, channel: &mut Channel) -> Result<Vec<u8>> {
    assert!(bits <= MAX_BITS, "values of {bits} bits");
    // 1.
    let mut differences = vec![0; values.len()];
    messages::send(ot, pieces(values.len(), bits), channel, |Bins { range, .. }, pairs| {
        let mut message = Vec::with_capacity(range.len() * correction_bytes(bits));
        for (bin, pairs) in range.zip(pairs.chunks_exact(bits)) {
            let mut difference = 0u64;
            for (group, pairs) in pairs.chunks(GROUP).enumerate() {
                let (own, mut word) = (values[bin] >> (GROUP * group), 0);
                for (place, [zero, one]) in pairs.iter().enumerate() {
                    let (bit, zero, one) = (own >> place & 1, zero.0 as u64, one.0 as u64);
                    difference = difference.wrapping_add(bit).wrapping_sub(zero);
                    let correction = zero.wrapping_sub(one).wrapping_add(1).wrapping_sub(2 * bit) & MASK;
                    word |= u128::from(correction) << (WIDTH * place);
                }
                message.extend(word.to_le_bytes());
            }
            differences[bin] = difference & MASK;
        }
        Ok(message)
    })?;

    // 2.
    let mut shares = vec![0; values.len()];
    messages::send(ot, pieces(values.len(), WIDTH), channel, |Bins { range, .. }, pairs| {
        let mut message = Vec::with_capacity(range.len() * TABLE_BYTES);
        for (bin, pairs) in range.zip(pairs.chunks_exact(WIDTH)) {
            let hidden = pairs
                .iter()
                .zip(WITH_BIT)
                .fold(1u64 << (differences[bin].wrapping_neg() & MASK), |hidden, (pair, with)| {
                    hidden ^ (pair[0].0 as u64 & !with) ^ (pair[1].0 as u64 & with)
                });
            // The share is what makes the first entry zero.
            let share = hidden & 1;
            shares[bin] = share as u8;
            message.extend((hidden ^ share.wrapping_neg()).to_le_bytes());
        }
        Ok(message)
    })?;
    Ok(shares)
}

/// The second party's share for each bin.
pub fn choose(values: &[u64], bits: usize, ot: &mut impl RandomOtReceiver, channel: &mut Channel) -> Result<Vec<u8>> {
    assert!(bits <= MAX_BITS, "values of {bits} bits");
    // 1.
    let mut differences = vec![0; values.len()];
    let choices = |piece: &Bins| choices(&values[piece.range.clone()], bits);
    let bytes = |piece: &Bins| piece.range.len() * correction_bytes(bits);
    messages::receive(ot, pieces(values.len(), bits), choices, bytes, channel, |piece, _, blocks, message, _| {
        let all = blocks.chunks_exact(bits).zip(message.chunks_exact(correction_bytes(bits)));
        for (bin, (blocks, words)) in piece.range.zip(all) {
            let mut difference = 0u64;
            for (group, (blocks, word)) in blocks.chunks(GROUP).zip(words.as_chunks().0).enumerate() {
                let (own, word) = (values[bin] >> (GROUP * group), u128::from_le_bytes(*word));
                for (place, block) in blocks.iter().enumerate() {
                    let correction = (word >> (WIDTH * place)) as u64 & (own >> place & 1).wrapping_neg();
                    difference = difference.wrapping_add(block.0 as u64).wrapping_add(correction);
                }
            }
            differences[bin] = difference & MASK;
        }
        Ok(())
    })?;

    // 2.
    let mut shares = vec![0; values.len()];
    let choices = |piece: &Bins| self::choices(&differences[piece.range.clone()], WIDTH);
    let bytes = |piece: &Bins| piece.range.len() * TABLE_BYTES;
    messages::receive(ot, pieces(values.len(), WIDTH), choices, bytes, channel, |piece, _, blocks, message, _| {
        let all = blocks.chunks_exact(WIDTH).zip(message.as_chunks().0);
        for (bin, (blocks, table)) in piece.range.zip(all) {
            let pad = blocks.iter().fold(0, |pad, block| pad ^ block.0 as u64);
            shares[bin] = ((u64::from_le_bytes(*table) ^ pad) >> differences[bin]) as u8 & 1;
        }
        Ok(())
    })?;
    Ok(shares)
}

/// The lowest bits of each number as choices.
fn choices(numbers: &[u64], bits: usize) -> Choices {
    let mut bytes = Vec::with_capacity((numbers.len() * bits).div_ceil(8) + 8);
    let (mut word, mut held) = (0u128, 0);
    for number in numbers {
        word |= u128::from(number & ((1 << bits) - 1)) << held;
        held += bits;
        while held >= 8 {
            bytes.push(word as u8);
            word >>= 8;
            held -= 8;
        }
    }
    bytes.push(word as u8);
    Choices::from_bytes(&bytes, numbers.len() * bits)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};
    use tacita_core::primitive::ot::ideal;

    use super::*;

    #[test]
    fn equal_values_are_told_from_others() {
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        for bits in [1, 2, 20, 21, 22, 41, 61, MAX_BITS] {
            let own: Vec<u64> = (0..2000).map(|_| rng.next_u64()).collect();
            // Equal, equal in the lowest bits alone, different in one bit, in all, or at random.
            let other = |(index, own): (usize, &u64)| match index % 5 {
                0 => *own,
                1 => own ^ 1 << bits,
                2 => own ^ 1 << (index % bits),
                3 => !own,
                _ => rng.next_u64(),
            };
            let theirs: Vec<u64> = own.iter().enumerate().map(other).collect();
            let (mut one, mut two) = Channel::pair("one", "two");
            let (mut sender, mut receiver) = ideal::pair([6; 32]);
            let (first, second) = std::thread::scope(|scope| {
                let first = scope.spawn(|| offer(&own, bits, &mut sender, &mut one).unwrap());
                let second = choose(&theirs, bits, &mut receiver, &mut two).unwrap();
                (first.join().unwrap(), second)
            });
            for ((own, theirs), (first, second)) in own.iter().zip(&theirs).zip(first.iter().zip(&second)) {
                assert_eq!(first ^ second == 1, (own ^ theirs) & ((1 << bits) - 1) == 0, "{bits} bits");
            }
        }
    }
}
