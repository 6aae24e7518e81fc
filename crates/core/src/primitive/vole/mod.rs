//! Vector oblivious linear evaluation (VOLE) over GF(2^128), and correlated OT with random choices, many at a time for
//! little traffic.
//!
//! - [`VoleSender`] and [`VoleReceiver`]: the sender has a fixed secret delta and gets b; the receiver gets random a,
//!   and c = b + delta * a.
//! - [`RandomCotSender`] and [`RandomCotReceiver`]: the same with random bits in the place of a.
//!
//! [`silent`] has the protocols, [`ideal`] a trusted dealer behind the same traits, [`params`] what the security of the
//! protocols rests on in numbers and [`estimator`] how they are computed. `docs/protocols/engine-vole.md` is the
//! specification.

pub mod code;
pub mod estimator;
pub mod ideal;
pub mod params;
pub mod silent;

pub use crate::channel::labels::silent::{ANSWER, CHALLENGE, TREE_SUMS, TREE_TIPS};

use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::Block;

/// The sender of a VOLE.
pub trait VoleSender {
    /// The factor, the same for all elements. Secret.
    fn delta(&self) -> Block;

    /// The next `b.len()` elements. The peer must take as many in one call; either may take them in several, cut at
    /// multiples of `RUN_OUTPUTS`. Fails if the channel does, or the peer breaks the protocol; `b` is then zero.
    fn extend(&mut self, b: &mut [Block], channel: &mut Channel) -> Result<()>;
}

/// The receiver of a VOLE.
pub trait VoleReceiver {
    /// The next elements: pseudo-random a, and c = b + delta * a. Otherwise as [`VoleSender::extend`].
    ///
    /// # Panics
    ///
    /// If `a` and `c` are not equally long.
    fn extend(&mut self, a: &mut [Block], c: &mut [Block], channel: &mut Channel) -> Result<()>;
}

/// The sender of correlated OTs with random choices.
pub trait RandomCotSender {
    /// Difference of the two blocks of each OT. Secret but for its lowest bit, which is one.
    fn delta(&self) -> Block;

    /// The next `b.len()` OTs: the block for choice zero of each, whose lowest bit is zero; that for choice one is
    /// b + delta. Otherwise as [`VoleSender::extend`].
    fn extend(&mut self, b: &mut [Block], channel: &mut Channel) -> Result<()>;
}

/// The receiver of correlated OTs with random choices.
pub trait RandomCotReceiver {
    /// The next `c.len()` OTs: c = b + choice * delta for pseudo-random choices. The choice is the lowest bit of c.
    fn extend(&mut self, c: &mut [Block], channel: &mut Channel) -> Result<()>;
}
