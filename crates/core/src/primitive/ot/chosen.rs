//! Transfers of given messages: the sender has two for each OT, the receiver gets the one it chooses; or the sender has
//! one, which the receiver chooses to get or not.
//!
//! Each message is hidden by the random block of its side: by the block itself if the block is long enough, otherwise
//! by the stream of AES-128 in counter mode under it.

use std::ops::Range;

use zeroize::Zeroizing;

use super::{Choices, RandomOtReceiver, RandomOtSender, messages};
use crate::channel::{Channel, MAX_PAYLOAD_BYTES};
use crate::error::{Error, Result};
use crate::primitive::kernel::Prg;
use crate::primitive::kernel::block::{BLOCK_BYTES, Block};

/// Largest length of a message in bytes.
pub const MAX_BYTES: usize = MAX_PAYLOAD_BYTES / 2;

/// The sender's part. `pairs` holds the two messages of each OT one after the other, `bytes` long each, for one OT
/// after the other. What a malicious receiver gets is one message of each pair.
pub fn send(ot: &mut impl RandomOtSender, bytes: usize, pairs: &[u8], channel: &mut Channel) -> Result<()> {
    check(bytes)?;
    assert!(pairs.len().is_multiple_of(2 * bytes), "{} bytes are no pairs of messages", pairs.len());
    let mut pad = Pad::new(bytes);
    let pieces = messages::chunks(pairs.len() / (2 * bytes), chunk(bytes));
    messages::send(ot, pieces, channel, |range, blocks| {
        let mut message = pairs[2 * bytes * range.start..2 * bytes * range.end].to_vec();
        for (hidden, block) in message.chunks_mut(bytes).zip(blocks.as_flattened()) {
            xor(hidden, pad.of(*block));
        }
        Ok(message)
    })
}

/// The receiver's part: writes the chosen message of each OT, one after the other. `outputs` must have `bytes` for each
/// choice. A malicious sender can send any messages, but none that depend on the choices. If this fails, `outputs` are
/// zero.
pub fn receive(
    ot: &mut impl RandomOtReceiver,
    choices: &Choices,
    bytes: usize,
    outputs: &mut [u8],
    channel: &mut Channel,
) -> Result<()> {
    check(bytes)?;
    assert_eq!(outputs.len(), choices.len() * bytes, "{bytes} bytes for each choice");
    let mut pad = Pad::new(bytes);
    let pieces = messages::chunks(choices.len(), chunk(bytes));
    let choices = |range: &Range<usize>| choices.slice(range.clone());
    let length = |range: &Range<usize>| 2 * bytes * range.len();
    let received = messages::receive(ot, pieces, choices, length, channel, |range, choices, blocks, message, _| {
        let outputs = outputs[bytes * range.start..bytes * range.end].chunks_mut(bytes);
        for (((choice, output), block), pair) in choices.iter().zip(outputs).zip(blocks).zip(message.chunks(2 * bytes))
        {
            let chosen = Block::select(choice).0 as u8;
            let (first, second) = pair.split_at(bytes);
            for ((output, first), second) in output.iter_mut().zip(first).zip(second) {
                *output = first ^ ((first ^ second) & chosen);
            }
            xor(output, pad.of(*block));
        }
        Ok(())
    });
    received.inspect_err(|_| zeroize::Zeroize::zeroize(outputs))
}

/// The longest messages of `offer`.
pub const MAX_OFFERED_BYTES: usize = MAX_PAYLOAD_BYTES;

/// The sender's part where it has one message for each of `count` OTs: the receiver gets those for which its choice is 0. `load` yields
/// those of a range, `bytes` long each, one after the other. A malicious receiver gets as many of them as it likes.
pub(crate) fn offer(
    ot: &mut impl RandomOtSender,
    count: usize,
    bytes: usize,
    mut load: impl FnMut(Range<usize>) -> Result<Vec<u8>>,
    channel: &mut Channel,
) -> Result<()> {
    let progress = channel.progress().clone();
    let mut pad = Pad::new(bytes);
    messages::send(ot, messages::chunks(count, offered(bytes)?), channel, |range, pairs| {
        progress.advance(range.len());
        let mut message = load(range)?;
        if message.len() != bytes * pairs.len() {
            return Err(Error::Internal(format!(
                "OT of {} bytes where {bytes} were agreed on for each",
                message.len()
            )));
        }
        for (hidden, [first, _]) in message.chunks_mut(bytes).zip(pairs) {
            xor(hidden, pad.of(*first));
        }
        Ok(message)
    })
}

/// The other side of [`offer`]: `take` is given every choice in order, with the message where the choice is 0, and as
/// many bytes that tell nothing where it is 1. So it can last as long for each of them.
pub(crate) fn accept(
    ot: &mut impl RandomOtReceiver,
    choices: &Choices,
    bytes: usize,
    mut take: impl FnMut(bool, &[u8]) -> Result<()>,
    channel: &mut Channel,
) -> Result<()> {
    let progress = channel.progress().clone();
    let mut pad = Pad::new(bytes);
    let pieces = messages::chunks(choices.len(), offered(bytes)?);
    let choices = |range: &Range<usize>| choices.slice(range.clone());
    let length = |range: &Range<usize>| bytes * range.len();
    messages::receive(ot, pieces, choices, length, channel, |_, choices, blocks, message, _| {
        let mut message = Zeroizing::new(message.to_vec());
        for (hidden, block) in message.chunks_mut(bytes).zip(blocks) {
            xor(hidden, pad.of(*block));
        }
        progress.advance(choices.len());
        choices.iter().zip(message.chunks(bytes)).try_for_each(|(choice, message)| take(choice, message))
    })
}

/// The most OTs of one message each that share one frame.
pub(crate) fn offered(bytes: usize) -> Result<usize> {
    if (1..=MAX_OFFERED_BYTES).contains(&bytes) {
        Ok(messages::CHUNK.min(MAX_PAYLOAD_BYTES / bytes))
    } else {
        Err(Error::Internal(format!("OT of messages of {bytes} bytes: 1 to {MAX_OFFERED_BYTES} are possible")))
    }
}

/// The most OTs of messages of so many bytes that share one frame.
fn chunk(bytes: usize) -> usize {
    messages::CHUNK.min(MAX_PAYLOAD_BYTES / (2 * bytes))
}

fn check(bytes: usize) -> Result<()> {
    if (1..=MAX_BYTES).contains(&bytes) {
        Ok(())
    } else {
        Err(Error::Internal(format!("OT of messages of {bytes} bytes: 1 to {MAX_BYTES} are possible")))
    }
}

/// Room for what hides one message.
struct Pad(Zeroizing<Vec<u8>>);

impl Pad {
    fn new(bytes: usize) -> Pad {
        Pad(Zeroizing::new(vec![0; bytes]))
    }

    fn of(&mut self, block: Block) -> &[u8] {
        match self.0.len() {
            length @ ..=BLOCK_BYTES => self.0.copy_from_slice(&block.to_bytes()[..length]),
            _ => Prg::new(block).fill_bytes(&mut self.0),
        }
        &self.0
    }
}

fn xor(bytes: &mut [u8], others: &[u8]) {
    bytes.iter_mut().zip(others).for_each(|(byte, other)| *byte ^= other);
}
