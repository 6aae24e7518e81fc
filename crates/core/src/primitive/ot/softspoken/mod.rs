//! SoftSpoken OT extension: from 128 base OTs to any number of OTs, for 128 / k bits of traffic each.
//!
//! Roy, *SoftSpokenOT: Quieter OT extension from small-field silent VOLE in the Minicrypt model*, CRYPTO 2022. The
//! sender has a secret delta of 128 bits, cut into parts of k bits. For each part a tree of 2^k seeds (`trees.rs`)
//! gives both parties a VOLE over GF(2^k) without further messages: u = sum of r_x and v = sum of x * r_x for the
//! receiver, who knows all streams r_x; w = v + part * u for the sender, who lacks the one at x = part. The receiver
//! then sends the differences between its choices and each tree's u, which puts the same choices into all trees; the
//! rows v of all trees together, taken column by column, are the blocks t_i = q_i + c_i * delta of correlated OTs.
//!
//! Random OTs are hashes of correlated ones, with the OT's index as tweak. The malicious form checks the trees once and
//! every chunk's choices (`check.rs`) before any of its OTs is used.
//!
//! Both roles stream: memory is bounded whatever the number of OTs, the receiver computes a chunk while the last one
//! travels, and each call goes on where the last one stopped.

#[cfg(test)]
mod cheating;
mod check;
mod keys;
mod params;
mod receiver;
mod sender;
mod trees;

use std::fmt;
use std::ops::Range;

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use params::TILE_BLOCKS;
pub use params::{MAX_K, Params};

use super::{Choices, CorrelatedOtReceiver, CorrelatedOtSender, RandomOtReceiver, RandomOtSender, base};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::kernel::block::{BLOCK_BITS, Block};
use crate::primitive::kernel::transpose;
use crate::session::Session;

/// The sender of random OTs.
pub struct RandomSender(sender::Sender);

/// The receiver of random OTs.
pub struct RandomReceiver(receiver::Receiver);

/// The sender of correlated OTs.
pub struct CorrelatedSender(sender::Sender);

/// The receiver of correlated OTs.
pub struct CorrelatedReceiver(receiver::Receiver);

impl RandomSender {
    /// Sets up OTs with a peer that sets up a [`RandomReceiver`], both with the same `purpose`, which no other OTs of
    /// the session may have. Includes the base OTs.
    pub fn setup(
        params: &Params,
        session: &Session,
        purpose: &str,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<RandomSender> {
        let mut base = base::BaseOtReceiver::new(session, &random(purpose), rng);
        RandomSender::setup_over(params, session, purpose, &mut base, channel, rng)
    }

    /// Sets up OTs as [`RandomSender::setup`] does, with base OTs from elsewhere.
    pub fn setup_over(
        params: &Params,
        session: &Session,
        purpose: &str,
        base: &mut impl RandomOtReceiver,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<RandomSender> {
        let delta = Block::random(rng);
        Ok(RandomSender(sender::Sender::setup(params, session, &random(purpose), delta, base, channel)?))
    }
}

impl RandomReceiver {
    /// The other side of [`RandomSender::setup`].
    pub fn setup(
        params: &Params,
        session: &Session,
        purpose: &str,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<RandomReceiver> {
        let mut base = base::BaseOtSender::new(session, &random(purpose), rng);
        RandomReceiver::setup_over(params, session, purpose, &mut base, channel, rng)
    }

    /// The other side of [`RandomSender::setup_over`].
    pub fn setup_over(
        params: &Params,
        session: &Session,
        purpose: &str,
        base: &mut impl RandomOtSender,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<RandomReceiver> {
        Ok(RandomReceiver(receiver::Receiver::setup(params, session, &random(purpose), base, channel, rng)?))
    }
}

impl CorrelatedSender {
    /// Sets up OTs as [`RandomSender::setup`] does, for a [`CorrelatedReceiver`] and with a random delta.
    pub fn setup(
        params: &Params,
        session: &Session,
        purpose: &str,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<CorrelatedSender> {
        let mut base = base::BaseOtReceiver::new(session, &correlated(purpose), rng);
        let delta = Block::random(rng);
        CorrelatedSender::setup_over(params, session, purpose, delta, &mut base, channel)
    }

    /// Sets up OTs as [`CorrelatedSender::setup`] does, with base OTs from elsewhere and a given delta. All that
    /// protects the sender is what the receiver does not know of delta: it should be uniformly random but for a bit or
    /// two.
    pub fn setup_over(
        params: &Params,
        session: &Session,
        purpose: &str,
        delta: Block,
        base: &mut impl RandomOtReceiver,
        channel: &mut Channel,
    ) -> Result<CorrelatedSender> {
        let purpose = correlated(purpose);
        Ok(CorrelatedSender(sender::Sender::setup(params, session, &purpose, delta, base, channel)?))
    }
}

impl CorrelatedReceiver {
    /// The other side of [`CorrelatedSender::setup`].
    pub fn setup(
        params: &Params,
        session: &Session,
        purpose: &str,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<CorrelatedReceiver> {
        let mut base = base::BaseOtSender::new(session, &correlated(purpose), rng);
        CorrelatedReceiver::setup_over(params, session, purpose, &mut base, channel, rng)
    }

    /// The other side of [`CorrelatedSender::setup_over`].
    pub fn setup_over(
        params: &Params,
        session: &Session,
        purpose: &str,
        base: &mut impl RandomOtSender,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<CorrelatedReceiver> {
        let purpose = correlated(purpose);
        Ok(CorrelatedReceiver(receiver::Receiver::setup(params, session, &purpose, base, channel, rng)?))
    }
}

fn random(purpose: &str) -> String {
    format!("random OT for {purpose}")
}

fn correlated(purpose: &str) -> String {
    format!("correlated OT for {purpose}")
}

/// Error of a call on an extension after an earlier call has failed.
fn after_failure() -> Error {
    Error::Internal("an OT extension was used again after a failure".into())
}

impl RandomOtSender for RandomSender {
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        self.0.send(outputs, channel)
    }
}

impl RandomOtReceiver for RandomReceiver {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        self.0.receive(choices, outputs, true, channel)
    }
}

impl CorrelatedOtSender for CorrelatedSender {
    fn delta(&self) -> Block {
        self.0.delta()
    }

    fn send(&mut self, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        self.0.send(outputs, channel)
    }
}

impl CorrelatedOtReceiver for CorrelatedReceiver {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        self.0.receive(choices, outputs, false, channel)
    }
}

macro_rules! redacted {
    ($($role:ident),*) => {$(
        impl fmt::Debug for $role {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($role), "(..)"))
            }
        }
    )*};
}

redacted!(RandomSender, RandomReceiver, CorrelatedSender, CorrelatedReceiver);

/// Pieces of `slice` with `size` elements each, the last with what is left; `count` of them, the ones beyond the end
/// empty.
fn pieces<T>(mut slice: &mut [T], size: usize, count: usize) -> Vec<&mut [T]> {
    let mut pieces = Vec::with_capacity(count);
    for _ in 0..count {
        let (piece, rest) = slice.split_at_mut(size.min(slice.len()));
        pieces.push(piece);
        slice = rest;
    }
    pieces
}

/// Division of a chunk into tiles, and of the tiles among threads.
#[derive(Debug, Clone, Copy)]
struct Division {
    /// Tiles that one thread works on.
    tiles: usize,
    /// Number of threads at work.
    threads: usize,
    /// Distance of a tile's rows in blocks.
    stride: usize,
}

impl Division {
    /// The division of a chunk that is `width` blocks wide, or less.
    fn new(width: usize) -> Division {
        let tiles = width.div_ceil(TILE_BLOCKS).max(1);
        let each = tiles.div_ceil(rayon::current_num_threads().max(1));
        // Rows at a power of two's distance would fall on few lines of the cache.
        let stride = TILE_BLOCKS.min(width) + 4;
        Division { tiles: each, threads: tiles.div_ceil(each), stride }
    }

    /// Blocks of a tile's 128 rows.
    fn tile(&self) -> usize {
        BLOCK_BITS * self.stride
    }

    /// The columns of one of a thread's tiles in blocks, of `width` in all.
    fn columns(&self, thread: usize, tile: usize, width: usize) -> Range<usize> {
        let start = (thread * self.tiles + tile) * TILE_BLOCKS;
        start.min(width)..(start + TILE_BLOCKS).min(width)
    }
}

/// Runs `work` on each element: one on this thread, more than one on several.
fn on_threads<T: Send>(mut parts: Vec<T>, work: impl Fn(T) + Sync + Send) {
    match parts.len() {
        0 | 1 => parts.pop().into_iter().for_each(work),
        _ => parts.into_par_iter().for_each(work),
    }
}

/// Outputs of more bytes are written past the caches, which would not hold them until somebody reads them.
const FAR_BYTES: usize = 8 << 20;

/// Columns that are transposed at once. They stay in the nearest cache until they are outputs, which often lie in
/// memory that is far away.
const STRIP: usize = 4 * BLOCK_BITS;

/// Hands the columns of a tile to `take`, as many as there are outputs, a few at a time: with the place of the first,
/// and the outputs that they belong to. The tile has at least so many.
fn for_columns<O>(rows: &[Block], stride: usize, outputs: &mut [O], take: impl Fn(usize, &[Block], &mut [O])) {
    let mut room = Zeroizing::new([Block::ZERO; STRIP]);
    for (strip, outputs) in outputs.chunks_mut(STRIP).enumerate() {
        let columns = &mut room[..outputs.len().next_multiple_of(BLOCK_BITS)];
        transpose::to_columns(&rows[strip * STRIP / BLOCK_BITS..], stride, columns);
        take(strip * STRIP, &columns[..outputs.len()], outputs);
    }
}
