//! Messages on top of random OTs: one for each piece of them.

use std::collections::VecDeque;
use std::ops::Range;

use zeroize::Zeroizing;

use super::{Choices, MESSAGES, RandomOtReceiver, RandomOtSender};
use crate::channel::{Channel, MAX_PAYLOAD_BYTES};
use crate::error::Result;
use crate::primitive::kernel::block::{self, Block};

/// The most OTs that share one message: as many as one chunk of the extension holds in either form.
pub const CHUNK: usize = 255 * 128;

/// Number of pieces by which the receiver's random OTs are ahead of the messages that it has taken. On a slow line, the
/// sender then always has something to do. The channel's queues, which hold more messages, never stop both at once.
const AHEAD: usize = 3;

/// OTs that share one message.
pub trait Piece {
    /// Returns the number of OTs in the piece: [`CHUNK`] at most.
    fn count(&self) -> usize;
}

impl Piece for Range<usize> {
    fn count(&self) -> usize {
        self.len()
    }
}

/// A piece that the receiver is ahead with.
type Waiting<P> = (P, Choices, Zeroizing<Vec<Block>>);

/// Sends a message for each piece: `make` is given the piece and its pairs.
pub fn send<P: Piece>(
    ot: &mut (impl RandomOtSender + ?Sized),
    pieces: impl Iterator<Item = P>,
    channel: &mut Channel,
    mut make: impl FnMut(P, &[[Block; 2]]) -> Result<Vec<u8>>,
) -> Result<()> {
    let mut room = Zeroizing::new(Vec::new());
    for piece in pieces {
        if room.len() < piece.count() {
            room = Zeroizing::new(vec![[Block::ZERO; 2]; piece.count()]);
        }
        let pairs = &mut room[..piece.count()];
        ot.send(pairs, channel)?;
        channel.send(MESSAGES, make(piece, pairs)?)?;
    }
    Ok(())
}

/// The other side of [`send`]: a piece has its `choices`, its message has `bytes`, and `take` is given both and the
/// piece's blocks.
pub fn receive<P: Piece>(
    ot: &mut (impl RandomOtReceiver + ?Sized),
    pieces: impl Iterator<Item = P>,
    choices: impl Fn(&P) -> Choices,
    bytes: impl Fn(&P) -> usize,
    channel: &mut Channel,
    mut take: impl FnMut(P, &Choices, &[Block], &[u8], &Channel) -> Result<()>,
) -> Result<()> {
    let ahead = if ot.waits() { 0 } else { AHEAD };
    let mut waiting: VecDeque<Waiting<P>> = VecDeque::with_capacity(ahead + 1);
    let mut finish = |(piece, choices, blocks): Waiting<P>, channel: &mut Channel| -> Result<Zeroizing<Vec<Block>>> {
        let message = channel.receive(MESSAGES, bytes(&piece))?;
        take(piece, &choices, &blocks[..choices.len()], &message, channel)?;
        Ok(blocks)
    };
    // The memory of a piece that is done with.
    let mut spare = Zeroizing::new(Vec::new());
    for piece in pieces {
        let choices = choices(&piece);
        let mut blocks = std::mem::take(&mut spare);
        if blocks.len() < choices.len() {
            blocks = Zeroizing::new(block::zeros(choices.len()));
        }
        ot.receive(&choices, &mut blocks[..choices.len()], channel)?;
        waiting.push_back((piece, choices, blocks));
        if waiting.len() > ahead
            && let Some(first) = waiting.pop_front()
        {
            spare = finish(first, channel)?;
        }
    }
    waiting.into_iter().try_for_each(|next| finish(next, channel).map(drop))
}

/// The most OTs whose words, of `bits` bits for each of so many columns, share a message.
pub(crate) fn rows_per_message(columns: usize, bits: u32) -> usize {
    match CHUNK.min(MAX_PAYLOAD_BYTES / columns.max(1) * 8 / bits as usize) {
        // OT extension makes whole blocks of 128.
        most @ 128.. => most / 128 * 128,
        most => most.max(1),
    }
}

/// Pieces of `count` OTs, `chunk` in each but the last.
pub fn chunks(count: usize, chunk: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(chunk).map(move |start| start..count.min(start + chunk))
}
