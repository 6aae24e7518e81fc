//! Role of the sender.

use chacha20::ChaCha20Rng;
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::{Keys, PURPOSE, Params, SLOTS, STRIP, slots_of};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::kernel::block::{self, BLOCK_BYTES, Block};
use crate::primitive::ot::CorrelatedOtSender;
use crate::primitive::ot::softspoken::CorrelatedSender;
use crate::primitive::published::bloom::{Garbled, PIECE};
use crate::protocol::intersect::tag_exchange::items::fork;
use crate::session::Session;

/// The sender, with OTs for any number of runs.
pub struct BloomSender {
    ot: CorrelatedSender,
    session: Session,
    purpose: String,
    rng: ChaCha20Rng,
}

impl BloomSender {
    /// The other side of [`Receiver::setup`](super::BloomReceiver::setup).
    pub fn setup(
        params: &Params,
        session: &Session,
        purpose: &str,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<BloomSender> {
        let ot = CorrelatedSender::setup(params.extension(), session, &format!("bloom {purpose}"), channel, rng)?;
        Ok(BloomSender { ot, session: session.clone(), purpose: purpose.into(), rng: fork(rng) })
    }

    /// One run. `run` is another number in each run over this set-up. As [`send`] otherwise.
    pub fn intersect(&mut self, items: &[Item], params: &Params, run: u64, channel: &mut Channel) -> Result<()> {
        let run = (self.purpose.as_str(), run);
        send_over(items, params, &self.session, run, &mut self.ot, channel, &mut self.rng)
    }
}

impl std::fmt::Debug for BloomSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sender(..)")
    }
}

/// One run alone. Items must be distinct, and made with a key of this session. Nothing is learned.
///
/// Errors: [`Error::Input`](crate::Error::Input) for more items than agreed on, before anything is sent;
/// [`Error::NotReady`](crate::Error::NotReady) if no filter of the items could be made (see [`Garbled::new`]), before
/// anything that depends on them is; the channel fails, or the peer breaks the protocol.
///
/// Memory besides the items: a quarter of a byte for each slot, about 50 bytes for each item, and 16 MB.
pub fn send(
    items: &[Item],
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    params.check(items)?;
    if params.slots() == 0 {
        return Ok(());
    }
    BloomSender::setup(params, session, PURPOSE, channel, rng)?.intersect(items, params, 0, channel)
}

/// Runs the sender's role as [`BloomSender::intersect`] does, with OTs from elsewhere; `run` is the purpose and the
/// number of the run.
pub fn send_over(
    items: &[Item],
    params: &Params,
    session: &Session,
    run: (&str, u64),
    ot: &mut impl CorrelatedOtSender,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    params.check(items)?;
    let keys = Keys::new(params, session, run.0, run.1);
    let progress = channel.progress().clone();

    // 1. The garbled filter of the own items.
    let filter = Garbled::new(items, &keys.hashes, rng)?;

    // 2. In each OT the slot for choice 1. The string for choice 0 is random: the receiver has it already.
    progress.start("transferring slots", params.slots());
    let mut room = Zeroizing::new(block::zeros(PIECE.min(params.slots())));
    for piece in 0..params.slots().div_ceil(PIECE) {
        let blocks = &mut room[..slots_of(piece, params)];
        ot.send(blocks, channel)?;
        channel.send(SLOTS, mask(&keys, &filter, ot.delta(), piece * PIECE, blocks))?;
        progress.advance(blocks.len());
    }
    Ok(())
}

/// The slots from `start` on, each hidden by a hash of what the receiver has for choice 1. Uses up the `blocks` for
/// choice 0.
fn mask(keys: &Keys, filter: &Garbled, delta: Block, start: usize, blocks: &mut [Block]) -> Vec<u8> {
    let slot_bytes = keys.hashes.slot_bytes();
    let mut message = vec![0; blocks.len() * slot_bytes];
    let parts = blocks.par_chunks_mut(STRIP).zip(message.par_chunks_mut(STRIP * slot_bytes));
    parts.enumerate().for_each(|(strip, (blocks, message))| {
        let start = start + strip * STRIP;
        blocks.iter_mut().for_each(|block| *block ^= delta);
        let mut room = Zeroizing::new([Block::ZERO; STRIP]);
        let hidden = &mut room[..blocks.len()];
        keys.pads.hash(start as u64, blocks, hidden, false);
        filter.slots(start, blocks);
        block::xor_into(blocks, hidden);
        // Each slot but the last ones is written with bytes of no meaning behind it, which the next one overwrites.
        let whole = (message.len() + slot_bytes).saturating_sub(BLOCK_BYTES) / slot_bytes;
        for (hidden, at) in hidden[..whole].iter().zip((0..).step_by(slot_bytes)) {
            message[at..at + BLOCK_BYTES].copy_from_slice(&hidden.to_bytes());
        }
        for (hidden, slot) in hidden[whole..].iter().zip(message[whole * slot_bytes..].chunks_mut(slot_bytes)) {
            slot.copy_from_slice(&hidden.to_bytes()[..slot_bytes]);
        }
    });
    message
}
