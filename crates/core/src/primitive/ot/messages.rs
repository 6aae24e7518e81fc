//! What is sent on top of random OTs: one message for each chunk of them.

use std::collections::VecDeque;
use std::ops::Range;

use zeroize::Zeroizing;

use super::{Choices, MESSAGES, RandomOtReceiver, RandomOtSender};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::block::{self, Block};

/// The most OTs that share one message: as many as one chunk of the extension holds in either form.
pub(super) const CHUNK: usize = 255 * 128;

/// How many chunks the receiver is ahead with its random OTs of the messages that it has taken. On a slow line, the
/// sender then always has something to do; and the channel's queues, which hold more messages, never stop both at once.
const AHEAD: usize = 3;

/// Sends a message for each chunk of `count` OTs: `make` is given the chunk's place and its pairs.
pub(super) fn send(
    ot: &mut impl RandomOtSender,
    count: usize,
    chunk: usize,
    channel: &mut Channel,
    mut make: impl FnMut(Range<usize>, &[[Block; 2]]) -> Vec<u8>,
) -> Result<()> {
    let mut pairs = Zeroizing::new(vec![[Block::ZERO; 2]; chunk.min(count)]);
    for range in chunks(count, chunk) {
        let pairs = &mut pairs[..range.len()];
        ot.send(pairs, channel)?;
        channel.send(MESSAGES, make(range, pairs))?;
    }
    Ok(())
}

/// The other side of [`send`]: messages have `bytes(OTs)` bytes, `take` is given the chunk's place, its blocks and its
/// message.
pub(super) fn receive(
    ot: &mut impl RandomOtReceiver,
    choices: &Choices,
    chunk: usize,
    channel: &mut Channel,
    bytes: impl Fn(usize) -> usize,
    mut take: impl FnMut(Range<usize>, &[Block], &[u8], &Channel) -> Result<()>,
) -> Result<()> {
    let ahead = if ot.waits() { 0 } else { AHEAD };
    let mut waiting: VecDeque<(Range<usize>, Zeroizing<Vec<Block>>)> = VecDeque::with_capacity(ahead + 1);
    let mut finish = |(range, blocks): (Range<usize>, Zeroizing<Vec<Block>>), channel: &mut Channel| {
        let message = channel.receive(MESSAGES, bytes(range.len()))?;
        take(range, &blocks, &message, channel)
    };
    for range in chunks(choices.len(), chunk) {
        let mut blocks = Zeroizing::new(block::zeros(range.len()));
        ot.receive(&choices.slice(range.clone()), &mut blocks, channel)?;
        waiting.push_back((range, blocks));
        if waiting.len() > ahead
            && let Some(first) = waiting.pop_front()
        {
            finish(first, channel)?;
        }
    }
    waiting.into_iter().try_for_each(|next| finish(next, channel))
}

fn chunks(count: usize, chunk: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(chunk).map(move |start| start..count.min(start + chunk))
}
