//! The scalar products of a run by oblivious transfer: set up once for each direction, when it is first needed.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::primitive::ot::softspoken::{Params, RandomReceiver, RandomSender};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::ot::pairs::{self, Pairs};
use tacita_core::protocol::dot::{Shares, Side};
use tacita_core::protocol::rules::{Batch, ScalarProducts};
use tacita_core::{Error, Result, Security, Session};

use crate::choose::Chosen;

/// Each column of the party with fewer columns chooses, and has one transfer a row, whatever it is multiplied with.
pub struct Transfers<'a> {
    session: &'a Session,
    params: Params,
    rng: ChaCha20Rng,
    sender: Option<RandomSender>,
    receiver: Option<RandomReceiver>,
    batches: u32,
}

impl<'a> Transfers<'a> {
    pub fn new(session: &'a Session, chosen: &Chosen, rng: ChaCha20Rng) -> Result<Transfers<'a>> {
        let Some(Extension::SoftSpoken(k)) = chosen.extension else {
            return Err(Error::Internal("no extension was chosen that rules can use".into()));
        };
        let params = Params::new(Security::SemiHonest, k)?;
        Ok(Transfers { session, params, rng, sender: None, receiver: None, batches: 0 })
    }
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

impl ScalarProducts for Transfers<'_> {
    fn products(&mut self, batch: &Batch<'_>, channel: &mut Channel) -> Result<Shares> {
        let chooser = chooser(batch);
        // By the chooser's columns, and then by the other's; the batch has products by candidate.
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
        let wanted = Pairs::new(batch.rows(), batch.modulus(), partners, self.batches)?;
        self.batches += 1;
        let column = |index: u32| batch.column(index as usize).to_choices();
        let (session, params, rng) = (self.session, &self.params, &mut self.rng);
        let made = if batch.side() == chooser {
            let ot = match &mut self.receiver {
                Some(ot) => ot,
                none => none.insert(RandomReceiver::setup(params, session, purpose(chooser), channel, rng)?),
            };
            pairs::receive(&wanted, column, session, ot, channel)?
        } else {
            let ot = match &mut self.sender {
                Some(ot) => ot,
                none => none.insert(RandomSender::setup(params, session, purpose(chooser), channel, rng)?),
            };
            pairs::send(&wanted, column, session, ot, channel)?
        };
        let mut residues = zeroize::Zeroizing::new(vec![0; order.len()]);
        order.iter().zip(made.residues()).for_each(|(&index, residue)| residues[index] = *residue);
        Shares::new(made.modulus(), residues.to_vec())
    }
}
