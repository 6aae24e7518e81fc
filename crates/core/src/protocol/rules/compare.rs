//! Comparisons of shared counts with the minimum.

use rand_core::CryptoRng;

use super::params::Params;
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::ot::softspoken::{RandomReceiver, RandomSender};
use crate::protocol::dot::Shares;
use crate::protocol::shares::at_least;
use crate::role::Side;
use crate::session::Session;

/// A party's part of comparisons, over OTs that are set up when they are first needed, once in a session.
pub struct Comparisons {
    side: Side,
    session: Session,
    rows: u128,
    minimum: u128,
    sender: Option<RandomSender>,
    receiver: Option<RandomReceiver>,
}

impl Comparisons {
    /// Prepares comparisons with the minimum of `params`.
    pub fn new(side: Side, params: &Params, session: Session) -> Comparisons {
        let (rows, minimum) = (params.rows as u128, params.minimum as u128);
        Comparisons { side, session, rows, minimum, sender: None, receiver: None }
    }

    /// For each of the shared counts whether it reaches the minimum; both parties learn that and nothing else.
    pub fn reached(&mut self, shares: &Shares, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<Vec<bool>> {
        self.at_least(shares, self.rows, self.minimum, channel, rng)
    }

    /// The same of shared numbers up to `bound`, with a threshold.
    pub(super) fn at_least(
        &mut self,
        shares: &Shares,
        bound: u128,
        threshold: u128,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<bool>> {
        match self.side {
            Side::First => {
                let ot = match &mut self.sender {
                    Some(ot) => ot,
                    none => none.insert(at_least::first_setup(&self.session, channel, rng)?),
                };
                at_least::first_over(shares, bound, threshold, ot, channel, rng)
            }
            Side::Second => {
                let ot = match &mut self.receiver {
                    Some(ot) => ot,
                    none => none.insert(at_least::second_setup(&self.session, channel, rng)?),
                };
                at_least::second_over(shares, bound, threshold, ot, channel, rng)
            }
        }
    }
}
