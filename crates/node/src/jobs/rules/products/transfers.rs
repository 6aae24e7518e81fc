//! The scalar products of a run by oblivious transfer: set up once for each direction, when it is first needed.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::primitive::ot::softspoken::{Params, RandomReceiver, RandomSender};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::ot::pairs::{self, ProductPairs};
use tacita_core::protocol::rules::ProductBatch;
use tacita_core::{Result, Security, Session, Side};

use super::{ProductsCost, Wanted, column};
use crate::jobs::dot::methods::ot::{START, WORD, transfer_seconds};

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
    pairs: ProductPairs,
    /// Position of each product in the batch.
    order: Vec<usize>,
}

impl ByChooser {
    fn new(wanted: &Wanted, batch: u32) -> Result<ByChooser> {
        let chooser = chooser(wanted);
        let by_chooser = |place: usize| {
            let pair = &wanted.pairs[place];
            (column(pair, chooser), column(pair, chooser.other()))
        };
        let mut places: Vec<usize> = (0..wanted.pairs.len()).collect();
        places.sort_unstable_by_key(|&place| by_chooser(place));
        let columns = places.last().map_or(0, |&place| by_chooser(place).0 as usize + 1);
        let mut partners = vec![Vec::new(); columns];
        for &place in &places {
            let (column, partner) = by_chooser(place);
            partners[column as usize].push(partner);
        }
        let pairs = ProductPairs::new(wanted.rows, wanted.modulus, partners, batch)?;
        let order = places.into_iter().map(|place| wanted.order[place]).collect();
        Ok(ByChooser { chooser, pairs, order })
    }
}

/// Returns the party whose columns choose: that with fewer of them, because each takes transfers.
fn chooser(wanted: &Wanted) -> Side {
    let [first, second] = [Side::First, Side::Second].map(|side| wanted.columns(side).len());
    if first <= second { Side::First } else { Side::Second }
}

/// Returns the label for the set-up of the transfers, by the party that chooses.
fn purpose(chooser: Side) -> &'static str {
    match chooser {
        Side::First => "products that the first party chooses",
        Side::Second => "products that the second party chooses",
    }
}

/// Returns the cost of products with SoftSpoken's parameter `k`, without the set-up. Errors: they cannot be made.
pub fn cost(parts: &[Wanted], k: usize) -> Result<ProductsCost> {
    let mut cost = ProductsCost { seconds: 0.0, bytes: 0 };
    for wanted in parts {
        let ByChooser { pairs, .. } = ByChooser::new(wanted, 0)?;
        let (transfers, numbers) = (pairs.transfers(), (pairs.products() * wanted.rows) as f64);
        cost.seconds += transfers as f64 * transfer_seconds(Extension::SoftSpoken(k)) + numbers * WORD;
        cost.bytes += transfers * (128 / k as u64) / 8 + pairs.message_bytes();
    }
    Ok(cost)
}

impl<'a> Transfers<'a> {
    /// Creates transfers with SoftSpoken's parameter `k`.
    pub fn new(session: &'a Session, k: usize) -> Result<Transfers<'a>> {
        let params = Params::new(Security::SemiHonest, k)?;
        Ok(Transfers { session, k, params, sender: None, receiver: None, batches: 0 })
    }

    /// Returns the cost of parts of a batch, as the first party sees it. Errors: they cannot be made.
    pub fn cost(&self, parts: &[Wanted]) -> Result<ProductsCost> {
        let mut cost = cost(parts, self.k)?;
        // Whoever asks is the first party.
        for (chooser, ready) in [(Side::First, self.receiver.is_some()), (Side::Second, self.sender.is_some())] {
            if !ready && parts.iter().any(|wanted| self::chooser(wanted) == chooser) {
                cost.seconds += 2.0 * START;
            }
        }
        Ok(cost)
    }

    /// Puts this party's shares of a part of a batch where they stand in it.
    pub fn products(
        &mut self,
        wanted: &Wanted,
        batch: &ProductBatch<'_>,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
        residues: &mut [u128],
    ) -> Result<()> {
        let ByChooser { chooser, pairs, order } = ByChooser::new(wanted, self.batches)?;
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
        order.iter().zip(made.residues()).for_each(|(&place, residue)| residues[place] = *residue);
        Ok(())
    }
}
