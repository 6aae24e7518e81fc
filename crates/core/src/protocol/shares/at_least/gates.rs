//! Transfers out of tables: one bit or two of each entry, up to sixteen entries, chosen by the receiver's bits.
//!
//! A table out of 2^m entries takes m random OTs, one for each bit i of the choice c; the receiver gets the block
//! K_i^(c_i), the sender has both blocks. Entry k is hidden by the exclusive or over i of K_i^(k_i) (Naor and Pinkas,
//! STOC 1999), each at the bits of the block that belong to entry k alone: so a block, 128 random bits, serves as a
//! function of k, and for each entry but c some block that the receiver does not have hides it with bits that hide
//! nothing else. No hash is needed. The first entry is not sent: the sender takes as its share what makes it zero.

use std::ops::Range;

use zeroize::Zeroizing;

use super::circuit::{Circuit, Gate};
use super::planes::Planes;
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::Block;
use crate::primitive::ot::messages::{self, Piece};
use crate::primitive::ot::packing::{self, STRIP};
use crate::primitive::ot::{Choices, MESSAGES, RandomOtReceiver, RandomOtSender};

/// The entries with bit i of their number set, for i = 0 to 3.
const WITH_BIT: [u32; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];

/// Numbers whose gates share one message.
struct Numbers {
    range: Range<usize>,
    /// Number of OTs for each number.
    transfers: usize,
}

impl Piece for Numbers {
    fn count(&self) -> usize {
        self.range.len() * self.transfers
    }
}

/// The most numbers whose gates share one message.
pub(crate) fn numbers_per_message(circuit: &Circuit) -> usize {
    messages::CHUNK / circuit.transfers()
}

fn pieces(circuit: &Circuit, numbers: usize) -> impl Iterator<Item = Numbers> {
    let transfers = circuit.transfers();
    messages::chunks(numbers, numbers_per_message(circuit)).map(move |range| Numbers { range, transfers })
}

/// Bytes of a message for so many numbers: gate by gate, in whole bytes each.
pub(crate) fn message_bytes(circuit: &Circuit, numbers: usize) -> usize {
    circuit.gates.iter().map(|gate| gate.message_bytes(numbers)).sum()
}

/// The sender's part: its shares of all gates' outputs for numbers whose bits it compares, and its masks.
pub(crate) fn send(
    circuit: &Circuit,
    numbers: &[u128],
    masks: &Planes,
    ot: &mut impl RandomOtSender,
    channel: &mut Channel,
) -> Result<Planes> {
    let mut outputs = Planes::zeros(circuit.outputs(), numbers.len());
    if circuit.transfers() == 0 {
        return Ok(outputs);
    }
    messages::send(ot, pieces(circuit, numbers.len()), channel, |Numbers { range, .. }, mut pairs| {
        let mut message = vec![0; message_bytes(circuit, range.len())];
        let (mut at, mut output) = (0, 0);
        for gate in &circuit.gates {
            let (own, rest) = pairs.split_at(range.len() * gate.transfers());
            pairs = rest;
            let end = at + gate.message_bytes(range.len());
            let mut number = range.start;
            let strips = own.chunks(STRIP * gate.transfers());
            for (own, bytes) in strips.zip(message[at..end].chunks_mut(gate.message_bytes(STRIP))) {
                let mut tables = [0; STRIP];
                for (pairs, rest) in own.chunks_exact(gate.transfers()).zip(&mut tables) {
                    let hidden = gate.table(numbers[number], masks, number) ^ gate.pads(pairs);
                    let share;
                    (share, *rest) = gate.without_first(hidden);
                    (0..gate.outputs()).for_each(|bit| outputs.put(output + bit, number, share >> bit));
                    number += 1;
                }
                packing::pack(&tables[..own.len() / gate.transfers()], gate.message_bits(), bytes);
            }
            at = end;
            output += gate.outputs();
        }
        Ok(message)
    })?;
    Ok(outputs)
}

/// The receiver's part: its shares of all gates' outputs.
pub(crate) fn receive(
    circuit: &Circuit,
    numbers: &[u128],
    masks: &Planes,
    ot: &mut impl RandomOtReceiver,
    channel: &mut Channel,
) -> Result<Planes> {
    let mut outputs = Planes::zeros(circuit.outputs(), numbers.len());
    if circuit.transfers() == 0 {
        return Ok(outputs);
    }
    let pieces = pieces(circuit, numbers.len());
    let choices = |piece: &Numbers| choices(circuit, piece, numbers, masks);
    let bytes = |piece: &Numbers| message_bytes(circuit, piece.range.len());
    messages::receive(ot, pieces, choices, bytes, channel, |piece, _, mut blocks, mut message, channel| {
        let (range, mut output, mut clean) = (piece.range, 0, true);
        for gate in &circuit.gates {
            let (own, rest) = blocks.split_at(range.len() * gate.transfers());
            blocks = rest;
            let (bytes, rest) = message.split_at(gate.message_bytes(range.len()));
            message = rest;
            let strips = own.chunks(STRIP * gate.transfers()).zip(bytes.chunks(gate.message_bytes(STRIP)));
            for (strip, (own, bytes)) in strips.enumerate() {
                let (start, count) = (range.start + strip * STRIP, own.len() / gate.transfers());
                clean &= packing::unpack(bytes, count, gate.message_bits(), |index, rest| {
                    let (number, blocks) = (start + index, &own[index * gate.transfers()..][..gate.transfers()]);
                    let pad = blocks.iter().fold(0, |pad, block| pad ^ block.0 as u32);
                    let chosen = (gate.with_first(rest as u32) ^ pad) >> gate.choice(numbers[number], masks, number);
                    let share = |bit| chosen >> (bit * gate.entries());
                    (0..gate.outputs()).for_each(|bit| outputs.put(output + bit, number, share(bit as u32)));
                });
            }
            output += gate.outputs();
        }
        if clean { Ok(()) } else { Err(channel.violation(format!("`{}` have bits beyond the last", MESSAGES.name))) }
    })?;
    Ok(outputs)
}

/// The receiver's choice bits for a message, in the order of the OTs: gate by gate, number by number.
fn choices(circuit: &Circuit, piece: &Numbers, numbers: &[u128], masks: &Planes) -> Choices {
    let mut bytes = Zeroizing::new(vec![0; piece.count().div_ceil(8)]);
    let mut at = 0;
    for gate in &circuit.gates {
        for number in piece.range.clone() {
            let choice = gate.choice(numbers[number], masks, number);
            for bit in 0..gate.transfers() {
                bytes[at / 8] |= (choice >> bit & 1) << (at % 8);
                at += 1;
            }
        }
    }
    Choices::from_bytes(&bytes, piece.count())
}

/// Tables hold the first bit of all entries, then the second; the lowest bit of a word first.
impl Gate {
    /// Bytes of the tables of so many numbers.
    fn message_bytes(&self, numbers: usize) -> usize {
        packing::bytes(numbers, self.message_bits())
    }

    /// The sender's table for a number.
    fn table(&self, own: u128, masks: &Planes, number: usize) -> u32 {
        match self {
            Gate::Compare { block, equal } => {
                let same = 1u32 << self.block_of(own, block.start);
                let greater = same - 1;
                greater | if *equal { same << self.entries() } else { 0 }
            }
            Gate::Multiply { factors, .. } => factors
                .iter()
                .enumerate()
                .fold(0, |table, (bit, &factor)| table | masks.bit(factor, number) << (2 * bit + 1)),
        }
    }

    /// The receiver's choice for a number.
    fn choice(&self, own: u128, masks: &Planes, number: usize) -> u8 {
        match self {
            Gate::Compare { block, .. } => self.block_of(own, block.start),
            Gate::Multiply { choice, .. } => masks.bit(*choice, number) as u8,
        }
    }

    /// The bits of a block.
    fn block_of(&self, own: u128, start: u32) -> u8 {
        (own >> start) as u8 & (self.entries() - 1) as u8
    }

    /// Pads that hide each entry of the table.
    fn pads(&self, pairs: &[[Block; 2]]) -> u32 {
        let entries = self.entries();
        let used = u32::MAX >> (32 - entries * self.outputs() as u32);
        pairs.iter().zip(WITH_BIT).fold(0, |pads, (pair, with_bit)| {
            let with_bit = with_bit & ((1 << entries) - 1);
            let with_bit = if self.outputs() == 2 { with_bit | with_bit << entries } else { with_bit };
            pads ^ (pair[0].0 as u32 & used & !with_bit) ^ (pair[1].0 as u32 & with_bit)
        })
    }

    /// The first entry, and the others minus the first, which are sent.
    fn without_first(&self, table: u32) -> (u32, u32) {
        let entries = self.entries();
        let others = (1 << (entries - 1)) - 1;
        (0..self.outputs() as u32).fold((0, 0), |(share, rest), bit| {
            let table = table >> (bit * entries);
            let first = table & 1;
            let differences = (table >> 1 & others) ^ (first.wrapping_neg() & others);
            (share | first << bit, rest | differences << (bit * (entries - 1)))
        })
    }

    /// The table with a first entry of zeros in front of what was sent.
    fn with_first(&self, rest: u32) -> u32 {
        let entries = self.entries();
        let others = (1 << (entries - 1)) - 1;
        let part = |bit: u32| (rest >> (bit * (entries - 1)) & others) << 1 << (bit * entries);
        (0..self.outputs() as u32).fold(0, |table, bit| table | part(bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::MAX_PAYLOAD_BYTES;

    #[test]
    fn messages_fit_frames() {
        for bits in 1..=126 {
            let circuit = Circuit::new(bits);
            assert!(message_bytes(&circuit, numbers_per_message(&circuit)) <= MAX_PAYLOAD_BYTES);
        }
    }

    #[test]
    fn tables_are_those_of_their_gates() {
        let masks = Planes::from_bytes(3, 1, &[1, 0, 1]).unwrap();
        for equal in [false, true] {
            for bits in 1..=4 {
                let gate = Gate::Compare { block: 3..3 + bits, equal };
                for (x, k) in (0..1u32 << bits).flat_map(|x| (0..1u32 << bits).map(move |k| (x, k))) {
                    let table = gate.table(u128::from(x) << 3 | 5, &masks, 0);
                    assert_eq!(table >> k & 1 == 1, x > k);
                    assert!(!equal || (table >> (k + gate.entries()) & 1 == 1) == (x == k));
                    let (first, rest) = gate.without_first(table);
                    let again = gate.with_first(rest) >> k;
                    for bit in 0..gate.outputs() {
                        let shift = bit as u32 * gate.entries();
                        assert_eq!((again >> shift ^ first >> bit) & 1, table >> (k + shift) & 1);
                    }
                }
            }
        }
        let gate = Gate::Multiply { choice: 1, factors: vec![0, 2] };
        assert_eq!((gate.table(0, &masks, 0), gate.choice(0, &masks, 0)), (0b1010, 0));
        assert_eq!(Gate::Multiply { choice: 2, factors: vec![1] }.table(0, &masks, 0), 0);
    }

    /// Each entry's pad is what the receiver has if it chose that entry.
    #[test]
    fn pads_are_those_of_the_chosen_blocks() {
        let pairs: Vec<[Block; 2]> =
            (1..5u128).map(|i| [Block(i * 0x9e37_79b9_7f4a), Block(i * i * 0x85eb_ca6b_31c5)]).collect();
        for equal in [false, true] {
            for bits in 1..=4usize {
                let gate = Gate::Compare { block: 0..bits as u32, equal };
                let pads = gate.pads(&pairs[..bits]);
                for choice in 0..1usize << bits {
                    let of_receiver = (0..bits).fold(0, |pad, bit| pad ^ pairs[bit][choice >> bit & 1].0 as u32);
                    for bit in 0..gate.outputs() {
                        let at = bit * gate.entries() as usize + choice;
                        assert_eq!(pads >> at & 1, of_receiver >> at & 1);
                    }
                }
            }
        }
    }
}
