//! Silent COT: correlated OTs with random choices.
//!
//! As [`super::vole`] with all values one, so that a tree's tip is delta itself. The lowest bit of each block is the
//! choice: the sender clears it in all leaves, the receiver too but sets it at the holes, and delta's lowest bit is
//! one; so the code carries the choices along.

use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use super::check::{self, Checker};
use super::keys::Keys;
use super::trees::{self, Holes};
use super::vole::forked;
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::kernel::memory::Secrets;
use crate::primitive::kernel::{Block, block};
use crate::primitive::ot::{CorrelatedOtReceiver, CorrelatedOtSender};
use crate::primitive::vole::code::{Binary, FRONT};
use crate::primitive::vole::params::{Parameters, RUN_OUTPUTS, VoleKind};
use crate::primitive::vole::{RandomCotReceiver, RandomCotSender};
use crate::security::Security;
use crate::session::Session;

/// The sender. Its delta is that of the correlated OTs that it is made from.
pub struct CotSender<O> {
    transfers: O,
    security: Security,
    keys: Keys,
    rng: ChaCha20Rng,
}

/// Receiver of correlated OTs.
pub struct CotReceiver<O> {
    transfers: O,
    security: Security,
    keys: Keys,
    rng: ChaCha20Rng,
}

/// Mask of all bits but the lowest.
const UPPER: u128 = !1;

/// Base elements of a run: the one that hides the receiver's part in the check.
pub(super) fn base_elements(security: Security) -> usize {
    usize::from(security == Security::Malicious)
}

impl<O: CorrelatedOtSender> CotSender<O> {
    /// A sender over correlated OTs, which must have the same security and not be used for anything else. Their delta's
    /// lowest bit must be one, else this fails. No other silent protocol of the session may have the same `purpose`.
    pub fn new(
        transfers: O,
        security: Security,
        session: &Session,
        purpose: &str,
        rng: &mut impl CryptoRng,
    ) -> Result<CotSender<O>> {
        if !transfers.delta().bit(0) {
            return Err(Error::Internal("silent COT needs a delta whose lowest bit is one".into()));
        }
        let keys = Keys::new(session, VoleKind::Binary, purpose);
        Ok(CotSender { transfers, security, keys, rng: forked(rng) })
    }

    fn run(&mut self, b: &mut [Block], channel: &mut Channel) -> Result<()> {
        let parameters = Parameters::new(VoleKind::Binary, b.len())?;
        let (delta, base) = (self.transfers.delta(), base_elements(self.security));
        let mut transfers = Zeroizing::new(block::zeros(128 * base + parameters.tree_transfers()));
        self.transfers.send(&mut transfers, channel)?;
        let (of_base, masks) = transfers.split_at(128 * base);
        let extra = trees::gather(of_base);
        let tips = Zeroizing::new(vec![delta; parameters.trees]);
        self.keys.runs += 1;
        let mut word = Secrets::zeros(FRONT + trees::room(&parameters));
        let nodes = &mut word[FRONT..];
        trees::grow(&parameters, &mut self.keys, delta, masks, &tips, nodes, channel, &mut self.rng)?;
        let leaves = &mut nodes[..parameters.leaves * parameters.trees];
        if let [share] = extra[..] {
            check::answer(&self.keys, delta, share, leaves, channel)?;
        }
        leaves.iter_mut().for_each(|leaf| leaf.0 &= UPPER);
        Binary::new(self.keys.code, parameters.length).encode(&mut word, b);
        Ok(())
    }
}

impl<O: CorrelatedOtReceiver> CotReceiver<O> {
    /// The other side of [`CotSender::new`].
    pub fn new(
        transfers: O,
        security: Security,
        session: &Session,
        purpose: &str,
        rng: &mut impl CryptoRng,
    ) -> CotReceiver<O> {
        let keys = Keys::new(session, VoleKind::Binary, purpose);
        CotReceiver { transfers, security, keys, rng: forked(rng) }
    }

    fn run(&mut self, c: &mut [Block], channel: &mut Channel) -> Result<()> {
        let parameters = Parameters::new(VoleKind::Binary, c.len())?;
        let base = base_elements(self.security);
        let masks = Zeroizing::new(block::random(base, &mut self.rng));
        let holes = Holes::random(&parameters, &mut self.rng);
        let choices = trees::all_choices(&masks, &holes, &parameters);
        let mut transfers = Zeroizing::new(block::zeros(choices.len()));
        self.transfers.receive(&choices, &mut transfers, channel)?;
        let (of_base, of_trees) = transfers.split_at(128 * base);
        let extra = trees::gather(of_base);
        self.keys.runs += 1;
        let tips = vec![Block::ZERO; parameters.trees];
        let mut word = Secrets::zeros(FRONT + trees::room(&parameters));
        let nodes = &mut word[FRONT..];
        let trees = trees::grow_punctured(&parameters, &mut self.keys, holes, of_trees, &tips, nodes, channel)?;

        let mut checker = (self.security == Security::Malicious).then(|| Checker::new(&mut self.rng));
        let ones = vec![Block::ONE; parameters.trees];
        trees.finish(&mut word, FRONT, &ones, |word, first, leaves, values| {
            if let Some(checker) = &mut checker {
                checker.add(first, leaves, values);
            }
            for (place, (leaf, value)) in word[FRONT + first..].iter_mut().zip(leaves.iter().zip(values)) {
                place.0 = leaf.0 & UPPER | value.0;
            }
        });
        word[FRONT + parameters.leaves * parameters.trees..].fill(Block::ZERO);
        if let (Some(checker), [share]) = (checker, &extra[..]) {
            checker.finish(&self.keys, masks[0], *share, channel)?;
        }
        Binary::new(self.keys.code, parameters.length).encode(&mut word, c);
        Ok(())
    }
}

impl<O: CorrelatedOtSender> RandomCotSender for CotSender<O> {
    fn delta(&self) -> Block {
        self.transfers.delta()
    }

    fn extend(&mut self, b: &mut [Block], channel: &mut Channel) -> Result<()> {
        let extended = b.chunks_mut(RUN_OUTPUTS).try_for_each(|b| self.run(b, channel));
        extended.inspect_err(|_| b.zeroize())
    }
}

impl<O: CorrelatedOtReceiver> RandomCotReceiver for CotReceiver<O> {
    fn extend(&mut self, c: &mut [Block], channel: &mut Channel) -> Result<()> {
        let extended = c.chunks_mut(RUN_OUTPUTS).try_for_each(|c| self.run(c, channel));
        extended.inspect_err(|_| c.zeroize())
    }
}

impl<O> fmt::Debug for CotSender<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CotSender(..)")
    }
}

impl<O> fmt::Debug for CotReceiver<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CotReceiver(..)")
    }
}
