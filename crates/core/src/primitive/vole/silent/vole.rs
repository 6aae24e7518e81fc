//! Silent VOLE over GF(2^128).

use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use zeroize::{Zeroize, Zeroizing};

use super::check::{self, Checker};
use super::keys::Keys;
use super::trees::{self, Holes};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::memory::Secrets;
use crate::primitive::kernel::{Block, block};
use crate::primitive::ot::{CorrelatedOtReceiver, CorrelatedOtSender};
use crate::primitive::vole::code::{FRONT, FieldCode};
use crate::primitive::vole::params::{Parameters, RUN_OUTPUTS, VoleKind};
use crate::primitive::vole::{VoleReceiver, VoleSender};
use crate::security::Security;
use crate::session::Session;

/// The sender. Its delta is that of the correlated OTs that it is made from.
pub struct SilentSender<O> {
    transfers: O,
    security: Security,
    keys: Keys,
    rng: ChaCha20Rng,
}

/// Receiver of silent VOLE.
pub struct SilentReceiver<O> {
    transfers: O,
    security: Security,
    keys: Keys,
    rng: ChaCha20Rng,
}

/// Base elements of a run: one for each tree, and in the malicious form one that hides the receiver's part in the
/// check.
pub(super) fn base_elements(parameters: &Parameters, security: Security) -> usize {
    parameters.trees + usize::from(security == Security::Malicious)
}

impl<O: CorrelatedOtSender> SilentSender<O> {
    /// A sender over correlated OTs, which must have the same security and not be used for anything else. No other
    /// silent protocol of the session may have the same `purpose`.
    pub fn new(
        transfers: O,
        security: Security,
        session: &Session,
        purpose: &str,
        rng: &mut impl CryptoRng,
    ) -> SilentSender<O> {
        let keys = Keys::new(session, VoleKind::Field, purpose);
        SilentSender { transfers, security, keys, rng: forked(rng) }
    }

    fn run(&mut self, b: &mut [Block], channel: &mut Channel) -> Result<()> {
        let parameters = Parameters::new(VoleKind::Field, b.len())?;
        let (delta, base) = (self.transfers.delta(), base_elements(&parameters, self.security));
        let mut transfers = Zeroizing::new(block::zeros(128 * base + parameters.tree_transfers()));
        self.transfers.send(&mut transfers, channel)?;
        let (of_base, masks) = transfers.split_at(128 * base);
        let base = trees::gather(of_base);
        let (tips, extra) = base.split_at(parameters.trees);
        self.keys.runs += 1;
        let mut word = Secrets::zeros(FRONT + trees::room(&parameters));
        let nodes = &mut word[FRONT..];
        trees::grow(&parameters, &mut self.keys, delta, masks, tips, nodes, channel, &mut self.rng)?;
        if let [share] = extra {
            let leaves = &nodes[..parameters.leaves * parameters.trees];
            check::answer(&self.keys, delta, *share, leaves, channel)?;
        }
        FieldCode::new(self.keys.code, parameters.length).encode(&mut word, [b]);
        Ok(())
    }
}

impl<O: CorrelatedOtReceiver> SilentReceiver<O> {
    /// The other side of [`SilentSender::new`].
    pub fn new(
        transfers: O,
        security: Security,
        session: &Session,
        purpose: &str,
        rng: &mut impl CryptoRng,
    ) -> SilentReceiver<O> {
        let keys = Keys::new(session, VoleKind::Field, purpose);
        SilentReceiver { transfers, security, keys, rng: forked(rng) }
    }

    fn run(&mut self, a: &mut [Block], c: &mut [Block], channel: &mut Channel) -> Result<()> {
        let parameters = Parameters::new(VoleKind::Field, a.len())?;
        let base = base_elements(&parameters, self.security);
        let values = Zeroizing::new(block::random(base, &mut self.rng));
        let holes = Holes::random(&parameters, &mut self.rng);
        let choices = trees::all_choices(&values, &holes, &parameters);
        let mut transfers = Zeroizing::new(block::zeros(choices.len()));
        self.transfers.receive(&choices, &mut transfers, channel)?;
        let (of_base, masks) = transfers.split_at(128 * base);
        let base = trees::gather(of_base);
        let (tips, extra) = base.split_at(parameters.trees);
        self.keys.runs += 1;
        // Both words' symbols side by side, in the end. Leaves grow in the second half.
        let mut words = Secrets::zeros(2 * (FRONT + trees::room(&parameters)));
        let start = 2 * FRONT + trees::room(&parameters);
        let nodes = &mut words[start..];
        let trees = trees::grow_punctured(&parameters, &mut self.keys, holes, masks, tips, nodes, channel)?;

        let mut checker = (self.security == Security::Malicious).then(|| Checker::new(&mut self.rng));
        trees.finish(&mut words, start, &values, |words, first, leaves, values| {
            let pairs = words[2 * (FRONT + first)..].as_chunks_mut::<2>().0;
            for (pair, (leaf, value)) in pairs.iter_mut().zip(leaves.iter().zip(values)) {
                *pair = [*value, *leaf];
            }
            if let Some(checker) = &mut checker {
                checker.add(first, leaves, values);
            }
        });
        words[2 * (FRONT + parameters.leaves * parameters.trees)..].fill(Block::ZERO);
        if let (Some(checker), [share]) = (checker, extra) {
            checker.finish(&self.keys, values[parameters.trees], *share, channel)?;
        }
        FieldCode::new(self.keys.code, parameters.length).encode(&mut words, [a, c]);
        Ok(())
    }
}

impl<O: CorrelatedOtSender> VoleSender for SilentSender<O> {
    fn delta(&self) -> Block {
        self.transfers.delta()
    }

    fn extend(&mut self, b: &mut [Block], channel: &mut Channel) -> Result<()> {
        let extended = b.chunks_mut(RUN_OUTPUTS).try_for_each(|b| self.run(b, channel));
        extended.inspect_err(|_| b.zeroize())
    }
}

impl<O: CorrelatedOtReceiver> VoleReceiver for SilentReceiver<O> {
    fn extend(&mut self, a: &mut [Block], c: &mut [Block], channel: &mut Channel) -> Result<()> {
        assert_eq!(a.len(), c.len(), "as many products as factors");
        let mut runs = a.chunks_mut(RUN_OUTPUTS).zip(c.chunks_mut(RUN_OUTPUTS));
        let extended = runs.try_for_each(|(a, c)| self.run(a, c, channel));
        extended.inspect_err(|_| {
            a.zeroize();
            c.zeroize();
        })
    }
}

/// A generator of one's own, seeded from another.
pub(super) fn forked(rng: &mut impl CryptoRng) -> ChaCha20Rng {
    let mut seed = Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *seed);
    ChaCha20Rng::from_seed(*seed)
}

impl<O> fmt::Debug for SilentSender<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SilentSender(..)")
    }
}

impl<O> fmt::Debug for SilentReceiver<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SilentReceiver(..)")
    }
}
