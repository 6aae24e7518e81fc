//! The scalar products of a run by oblivious transfer: set up once for each direction, when it is first needed.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::primitive::ot::softspoken::{Params, RandomReceiver, RandomSender};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::ot::pairs::{self, Pairs};
use tacita_core::protocol::dot::{Shares, Side};
use tacita_core::protocol::rules::Batch;
use tacita_core::{Result, Security, Session};

use super::Cost;
use crate::dot::{OT_START, OT_WORD, transfer_seconds};

/// Each column of the party with fewer columns chooses, and has one transfer a row, whatever it is multiplied with.
pub struct Transfers<'a> {
    session: &'a Session,
    k: usize,
    params: Params,
    sender: Option<RandomSender>,
    receiver: Option<RandomReceiver>,
    batches: u32,
}

/// The products of a batch, as the transfers see them.
struct Wanted {
    chooser: Side,
    pairs: Pairs,
    /// Where each product stands in the batch: products are by the chooser's columns, and then by the other's.
    order: Vec<usize>,
}

/// Which party's columns choose: that with fewer of them, because each takes transfers.
fn chooser(batch: &Batch<'_>) -> Side {
    if batch.columns(Side::First) <= batch.columns(Side::Second) { Side::First } else { Side::Second }
}

/// What the transfers are set up for, by who chooses.
fn purpose(chooser: Side) -> &'static str {
    match chooser {
        Side::First => "products that the first party chooses",
        Side::Second => "products that the second party chooses",
    }
}

impl<'a> Transfers<'a> {
    /// With SoftSpoken's parameter `k`.
    pub fn new(session: &'a Session, k: usize) -> Result<Transfers<'a>> {
        let params = Params::new(Security::SemiHonest, k)?;
        Ok(Transfers { session, k, params, sender: None, receiver: None, batches: 0 })
    }

    fn wanted(&self, batch: &Batch<'_>) -> Result<Wanted> {
        let chooser = chooser(batch);
        let by_chooser = |&(first, second): &(u32, u32)| match chooser {
            Side::First => (first, second),
            Side::Second => (second, first),
        };
        let mut order: Vec<usize> = (0..batch.pairs().len()).collect();
        order.sort_unstable_by_key(|&index| by_chooser(&batch.pairs()[index]));
        let mut partners = vec![Vec::new(); batch.columns(chooser)];
        for &index in &order {
            let (column, partner) = by_chooser(&batch.pairs()[index]);
            partners[column as usize].push(partner);
        }
        let pairs = Pairs::new(batch.rows(), batch.modulus(), partners, self.batches)?;
        Ok(Wanted { chooser, pairs, order })
    }

    /// What a batch would cost. Errors: it cannot be done.
    pub fn cost(&self, batch: &Batch<'_>) -> Result<Cost> {
        let Wanted { chooser, pairs, .. } = self.wanted(batch)?;
        let transfers = pairs.transfers();
        let new = match (chooser == batch.side(), &self.sender, &self.receiver) {
            (true, _, None) | (false, None, _) => OT_START,
            _ => 0.0,
        };
        let numbers = (pairs.products() * batch.rows()) as f64;
        // The parties compute at the same time, and as much.
        let both = transfers as f64 * transfer_seconds(Extension::SoftSpoken(self.k)) + numbers * OT_WORD;
        Ok(Cost { seconds: new + both / 2.0, bytes: transfers * (128 / self.k as u64) / 8 + pairs.message_bytes() })
    }

    /// See [`tacita_core::protocol::rules::ScalarProducts`].
    pub fn products(&mut self, batch: &Batch<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<Shares> {
        let Wanted { chooser, pairs, order } = self.wanted(batch)?;
        self.batches += 1;
        let column = |index: u32| batch.column(index as usize).to_choices();
        let (session, params) = (self.session, &self.params);
        let made = if batch.side() == chooser {
            let ot = match &mut self.receiver {
                Some(ot) => ot,
                none => none.insert(RandomReceiver::setup(params, session, purpose(chooser), channel, rng)?),
            };
            pairs::receive(&pairs, column, session, ot, channel)?
        } else {
            let ot = match &mut self.sender {
                Some(ot) => ot,
                none => none.insert(RandomSender::setup(params, session, purpose(chooser), channel, rng)?),
            };
            pairs::send(&pairs, column, session, ot, channel)?
        };
        let mut residues = zeroize::Zeroizing::new(vec![0; order.len()]);
        order.iter().zip(made.residues()).for_each(|(&index, residue)| residues[index] = *residue);
        Shares::new(made.modulus(), std::mem::take(&mut *residues))
    }
}
