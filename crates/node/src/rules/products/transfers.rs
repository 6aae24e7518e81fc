//! The scalar products of a run by oblivious transfer: set up once for each direction, when it is first needed.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::primitive::ot::softspoken::{Params, RandomReceiver, RandomSender};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::ot::pairs::{self, Pairs};
use tacita_core::protocol::dot::{Shares, Side};
use tacita_core::protocol::rules::Batch;
use tacita_core::{Result, Security, Session};

use super::{Cost, Wanted};
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

/// Products as the transfers see them: by the chooser's columns, and then by the other's.
struct ByChooser {
    chooser: Side,
    pairs: Pairs,
    /// Where each product stands among those that are wanted.
    order: Vec<usize>,
}

impl ByChooser {
    fn new(wanted: &Wanted<'_>, batch: u32) -> Result<ByChooser> {
        let chooser = chooser(wanted);
        let by_chooser = |&(first, second): &(u32, u32)| match chooser {
            Side::First => (first, second),
            Side::Second => (second, first),
        };
        let mut order: Vec<usize> = (0..wanted.pairs.len()).collect();
        order.sort_unstable_by_key(|&index| by_chooser(&wanted.pairs[index]));
        let mut partners = vec![Vec::new(); wanted.columns[chooser as usize]];
        for &index in &order {
            let (column, partner) = by_chooser(&wanted.pairs[index]);
            partners[column as usize].push(partner);
        }
        let pairs = Pairs::new(wanted.rows, wanted.modulus, partners, batch)?;
        Ok(ByChooser { chooser, pairs, order })
    }
}

/// What products cost with SoftSpoken's parameter `k`, setting up aside. Errors: they cannot be made.
pub fn cost(wanted: &Wanted<'_>, k: usize) -> Result<Cost> {
    let ByChooser { pairs, .. } = ByChooser::new(wanted, 0)?;
    let (transfers, numbers) = (pairs.transfers(), (pairs.products() * wanted.rows) as f64);
    Ok(Cost {
        seconds: transfers as f64 * transfer_seconds(Extension::SoftSpoken(k)) + numbers * OT_WORD,
        bytes: transfers * (128 / k as u64) / 8 + pairs.message_bytes(),
    })
}

/// Which party's columns choose: that with fewer of them, because each takes transfers.
fn chooser(wanted: &Wanted<'_>) -> Side {
    if wanted.columns[0] <= wanted.columns[1] { Side::First } else { Side::Second }
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

    /// What a batch costs. Errors: it cannot be done.
    pub fn cost(&self, wanted: &Wanted<'_>, side: Side) -> Result<Cost> {
        let mut cost = cost(wanted, self.k)?;
        let ready = if chooser(wanted) == side { self.receiver.is_some() } else { self.sender.is_some() };
        if !ready {
            cost.seconds += 2.0 * OT_START;
        }
        Ok(cost)
    }

    /// See [`tacita_core::protocol::rules::ScalarProducts`].
    pub fn products(&mut self, batch: &Batch<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<Shares> {
        let ByChooser { chooser, pairs, order } = ByChooser::new(&Wanted::of(batch), self.batches)?;
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
