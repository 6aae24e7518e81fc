//! Role of the receiver.

use std::collections::VecDeque;

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::{Keys, PURPOSE, Params, SLOTS, STRIP};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::kernel::block::{self, BLOCK_BYTES, Block};
use crate::primitive::ot::CorrelatedOtReceiver;
use crate::primitive::ot::softspoken::CorrelatedReceiver;
use crate::primitive::published::bloom::{Filter, PIECE};
use crate::session::Session;

/// Number of pieces by which the receiver's OTs are ahead of the slots that it has taken: see
/// [`messages`](crate::primitive::ot::messages).
const AHEAD: usize = 3;

/// The receiver, with OTs for any number of runs.
#[derive(Debug)]
pub struct BloomReceiver {
    ot: CorrelatedReceiver,
    session: Session,
    purpose: String,
}

impl BloomReceiver {
    /// Sets up OTs with a peer that sets up a [`Sender`](super::BloomSender), both with the same `purpose`, which
    /// nothing else in the session has, and with parameters that have the same extension as those of all runs.
    pub fn setup(
        params: &Params,
        session: &Session,
        purpose: &str,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<BloomReceiver> {
        let ot = CorrelatedReceiver::setup(params.extension(), session, &format!("bloom {purpose}"), channel, rng)?;
        Ok(BloomReceiver { ot, session: session.clone(), purpose: purpose.into() })
    }

    /// One run. `run` is another number in each run over this set-up. As [`receive`] otherwise.
    pub fn intersect(
        &mut self,
        items: &[Item],
        params: &Params,
        run: u64,
        channel: &mut Channel,
    ) -> Result<Vec<usize>> {
        receive_over(items, params, &self.session, (&self.purpose, run), &mut self.ot, channel)
    }
}

/// One run alone: returns the indices of the items that are common, ascending. Items must be distinct, and made with a
/// key of this session.
///
/// Errors: [`Error::Input`](crate::Error::Input) for more items than agreed on, before anything is sent; the channel
/// fails, or the peer breaks the protocol.
///
/// Memory besides the items: 16 + 4 k bytes for each of them, 21 MB for each thread and 12 MB.
pub fn receive(
    items: &[Item],
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<usize>> {
    params.check(items)?;
    if params.slots() == 0 {
        return Ok(Vec::new());
    }
    BloomReceiver::setup(params, session, PURPOSE, channel, rng)?.intersect(items, params, 0, channel)
}

/// Runs the receiver's role as [`BloomReceiver::intersect`] does, with OTs from elsewhere; `run` is the purpose and the
/// number of the run.
pub(crate) fn receive_over(
    items: &[Item],
    params: &Params,
    session: &Session,
    run: (&str, u64),
    ot: &mut impl CorrelatedOtReceiver,
    channel: &mut Channel,
) -> Result<Vec<usize>> {
    params.check(items)?;
    let keys = Keys::new(params, session, run.0, run.1);

    // 1. The Bloom filter of the own items.
    let filter = Filter::new(items, &keys.hashes);

    // 2. Its bits choose in the OTs; and the slots that come are added up item by item.
    channel.progress().start("transferring slots", params.slots());
    let mut query = Query { keys, filter, room: Zeroizing::new(block::zeros(PIECE.min(params.slots()))) };
    let mut waiting = VecDeque::with_capacity(AHEAD + 1);
    let mut spare = Zeroizing::new(Vec::new());
    for piece in 0..params.slots().div_ceil(PIECE) {
        let choices = query.filter.bits(piece);
        let mut blocks = std::mem::take(&mut spare);
        if blocks.len() != choices.len() {
            blocks = Zeroizing::new(block::zeros(choices.len()));
        }
        ot.receive(&choices, &mut blocks, channel)?;
        waiting.push_back((piece, blocks));
        if waiting.len() > AHEAD
            && let Some((first, blocks)) = waiting.pop_front()
        {
            query.receive(first, &blocks, channel)?;
            spare = blocks;
        }
    }
    waiting.into_iter().try_for_each(|(piece, blocks)| query.receive(piece, &blocks, channel))?;

    // 3. The items whose slots add up to their values.
    Ok(query.filter.matches())
}

/// Processing of slots by the receiver.
struct Query {
    keys: Keys,
    filter: Filter,
    room: Zeroizing<Vec<Block>>,
}

impl Query {
    /// Takes a piece of slots, without what hides them: hashes of `blocks`, which came out of the OTs.
    fn receive(&mut self, piece: usize, blocks: &[Block], channel: &mut Channel) -> Result<()> {
        let message = channel.receive(SLOTS, blocks.len() * self.keys.hashes.slot_bytes())?;
        let slots = &mut self.room[..blocks.len()];
        unmask(&self.keys, piece * PIECE, blocks, &message, slots);
        self.filter.add(piece, slots);
        channel.progress().advance(slots.len());
        Ok(())
    }
}

/// Writes what `message` hides: the slots from `start` on where the receiver's bits are set, and anything elsewhere.
/// Only the k lowest bits of each matter.
fn unmask(keys: &Keys, start: usize, blocks: &[Block], message: &[u8], out: &mut [Block]) {
    let slot_bytes = keys.hashes.slot_bytes();
    let parts = blocks.par_chunks(STRIP).zip(message.par_chunks(STRIP * slot_bytes)).zip(out.par_chunks_mut(STRIP));
    parts.enumerate().for_each(|(strip, ((blocks, message), out))| {
        keys.pads.hash((start + strip * STRIP) as u64, blocks, out, false);
        // The last slots of shorter than 16 bytes are read with zeros behind them.
        let whole = (message.len() + slot_bytes).saturating_sub(BLOCK_BYTES) / slot_bytes;
        let (out, last) = out.split_at_mut(whole);
        for (out, at) in out.iter_mut().zip((0..).step_by(slot_bytes)) {
            *out ^= Block::from_le_slice(&message[at..]);
        }
        for (out, slot) in last.iter_mut().zip(message[whole * slot_bytes..].chunks(slot_bytes)) {
            let mut padded = [0; BLOCK_BYTES];
            padded[..slot_bytes].copy_from_slice(slot);
            *out ^= Block::from_bytes(padded);
        }
    });
}
