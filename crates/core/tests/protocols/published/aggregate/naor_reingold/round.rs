//! A round of `naor-reingold` in memory, over channels where the roles have one.

use std::sync::Mutex;

use tacita_core::primitive::group::{Embedding, Ristretto255};
use tacita_core::primitive::ot::ideal;
use tacita_core::protocol::aggregate::{Entry, Opened, Params, Refused, open};
use tacita_core::protocol::published::aggregate::naor_reingold::{
    NaorReingoldProxyKey, Offer, Reporting, TransferForm, evaluate, offer, participant, proxy, report, unblind,
};
use tacita_core::{Channel, Result};

use crate::aggregate::round::{rng, session};
use crate::support::two;

/// Selects the messages that an honest participant chooses of the pairs.
pub fn choose(pairs: &[u8], scalar_bytes: usize, inputs: &[u8]) -> Vec<u8> {
    let pair = |(index, pair): (usize, &[u8])| {
        let bit = usize::from(inputs[index / 8] >> (index % 8) & 1);
        pair[bit * scalar_bytes..][..scalar_bytes].to_vec()
    };
    pairs.chunks(2 * scalar_bytes).enumerate().flat_map(pair).collect()
}

/// A round of this protocol.
pub type Round<G = Ristretto255> = crate::aggregate::round::Round<NaorReingoldProxyKey<G>, G>;

pub fn round(key_bytes: usize, values: u32, distinct: bool, seed: u64) -> Round {
    round_of(Params::new(session("one"), key_bytes, values, distinct).unwrap(), seed)
}

pub fn round_of<G: Embedding + Sync>(params: Params<G>, seed: u64) -> Round<G> {
    let mut rng = rng(seed);
    let proxy = NaorReingoldProxyKey::generate(&params, &mut rng);
    Round::of(params, proxy, rng)
}

impl<G: Embedding + Sync> Round<G> {
    pub fn reporting<'a>(&'a self, participant: &'a str, first: u64, stage: usize) -> Reporting<'a, G> {
        Reporting { params: &self.params, keys: &self.keys, participant, first, stage }
    }

    /// The participant's role, with everything that it is made of.
    pub fn send(
        &self,
        participant: &str,
        entries: &[Entry],
        stage: usize,
        seed: u64,
        channel: &mut Channel,
    ) -> Result<()> {
        let mut ot = participant::connect(&session("connection"), channel, &mut rng(seed))?;
        participant::send(&self.reporting(participant, 0, stage), entries, &mut ot, channel, &mut rng(seed + 1000))
    }

    /// The proxy's: the entries of each stage.
    pub fn receive(
        &self,
        participant: &str,
        count: usize,
        stage: usize,
        seed: u64,
        channel: &mut Channel,
    ) -> Result<Vec<Vec<u8>>> {
        let mut stages = Vec::new();
        let mut ot = proxy::connect(&session("connection"), channel, &mut rng(seed))?;
        let reporting = self.reporting(participant, 0, stage);
        proxy::receive(&reporting, &self.proxy, count, &mut ot, channel, &mut rng(seed + 1000), |entries| {
            stages.push(entries);
            Ok(())
        })?;
        Ok(stages)
    }

    /// The entries of a participant, by both roles over a dealer's transfers.
    pub fn submit(&mut self, participant: &str, entries: &[Entry], stage: usize) -> Vec<u8> {
        let seed = rand_core::Rng::next_u64(&mut self.rng);
        let (sender, receiver) = ideal::pair([seed as u8; 32]);
        let (sender, receiver) = (Mutex::new(sender), Mutex::new(receiver));
        let this = &*self;
        let send = |channel: &mut Channel| {
            let reporting = this.reporting(participant, 0, stage);
            participant::send(&reporting, entries, &mut *receiver.lock().unwrap(), channel, &mut rng(seed))?;
            Ok(Vec::new())
        };
        let receive = |channel: &mut Channel| {
            let (reporting, mut all) = (this.reporting(participant, 0, stage), Vec::new());
            let (ot, rng) = (&mut *sender.lock().unwrap(), &mut rng(!seed));
            proxy::receive(&reporting, &this.proxy, entries.len(), ot, channel, rng, |entries| {
                all.extend(entries);
                Ok(())
            })?;
            Ok(all)
        };
        let (sent, received) = two::run(&send, &receive);
        sent.unwrap();
        received.unwrap().0
    }

    /// Returns the values that the proxy draws for so many keys, and the values that a participant that chooses these
    /// inputs has of them.
    pub fn evaluated(&mut self, inputs: &[u8], form: TransferForm) -> (Offer<G>, Vec<G::Point>) {
        let (group, length) = (self.params.group(), self.proxy.function().input_bytes());
        let made = offer(group, self.proxy.function(), inputs.len() / length, form, &mut self.rng);
        let chosen = choose(&made.pairs, group.scalar_bytes(), inputs);
        let values = evaluate(group, length, &group.decode(&made.blinds).unwrap(), &chosen);
        (made, values)
    }

    /// The reports of a participant whose values of the function are these.
    pub fn report(&mut self, from: (&str, u64), entries: &[Entry], values: Vec<G::Point>) -> Vec<u8> {
        report(&self.params, &self.keys, from, entries, values, &mut self.rng).unwrap()
    }

    /// Makes the proxy's entries of reports, with the values that it has drawn for them.
    pub fn unblind(
        &mut self,
        from: (&str, u64),
        reports: &[u8],
        made: &Offer<G>,
    ) -> std::result::Result<Vec<u8>, Refused> {
        unblind((&self.params, &self.keys, &self.proxy), from, reports, &made.unblind, &mut self.rng)
    }

    pub fn open(&self, entries: &[u8]) -> Opened {
        open(&self.params, &self.database, entries).unwrap()
    }
}
