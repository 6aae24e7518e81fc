//! Oblivious transfer (OT): a receiver gets one of two strings of a sender, who does not learn which; the receiver
//! learns nothing of the other.
//!
//! One trait for each functionality, with the protocol and a trusted dealer behind it ([`ideal`]), so that what is
//! built on OT can be tested alone:
//!
//! - [`RandomOtSender`] and [`RandomOtReceiver`]: the strings are random blocks, the receiver chooses its bits;
//! - [`CorrelatedOtSender`] and [`CorrelatedOtReceiver`]: each pair of blocks differs by the same secret.
//!
//! [`base`] makes a few OTs from public-key operations, [`softspoken`] many from those. [`StoredSender`] and
//! [`StoredReceiver`] keep random OTs until the choices are known; [`additive`] and [`chosen`] turn them into products
//! of integers with bits and into transfers of given messages.
//!
//! Random outputs are *endemic* (Masny and Rindal 2019): a corrupted party can bias its own outputs, and never learns
//! more of the other's than its own choice allows. Whoever needs strings that neither party has influenced hashes
//! them with a coin tossed afterwards.

pub mod additive;
pub mod base;
mod choices;
pub mod chosen;
pub mod ideal;
pub mod messages;
pub(crate) mod packing;
pub mod softspoken;
pub(crate) mod stored;

pub use crate::channel::labels::ot::{BASE_KEY, BASE_POINTS, CONSISTENCY, CORRECTIONS, FLIPS, MESSAGES, TREES};
pub use choices::Choices;
pub use stored::{StoredReceiver, StoredSender};

use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::Block;

/// The sender of random OTs.
pub trait RandomOtSender {
    /// The next `outputs.len()` OTs: pairs of random blocks. The peer must receive as many in one call. Fails if the
    /// channel does, or the peer breaks the protocol; `outputs` are then zero.
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()>;
}

/// The receiver of random OTs.
pub trait RandomOtReceiver {
    /// The next OTs, one for each choice bit c: the block c of the sender's pair. The peer must send as many in one
    /// call. Fails if the channel does, or the peer breaks the protocol; `outputs` are then zero.
    ///
    /// # Panics
    ///
    /// If `choices` and `outputs` are not equally long.
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()>;

    /// Whether [`RandomOtReceiver::receive`] waits for a message of the peer. Then nothing else of the peer may be on
    /// its way.
    fn waits(&self) -> bool {
        false
    }
}

/// The sender of correlated OTs.
pub trait CorrelatedOtSender {
    /// Returns the difference of the blocks of each pair: the same secret in all OTs.
    fn delta(&self) -> Block;

    /// The next `outputs.len()` OTs: random blocks q_i, the first of each pair (q_i, q_i ^ delta). Otherwise as
    /// [`RandomOtSender::send`].
    fn send(&mut self, outputs: &mut [Block], channel: &mut Channel) -> Result<()>;
}

/// The receiver of correlated OTs.
pub trait CorrelatedOtReceiver {
    /// The next OTs, one for each choice bit c_i: t_i = q_i ^ c_i * delta. Otherwise as [`RandomOtReceiver::receive`].
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()>;
}
