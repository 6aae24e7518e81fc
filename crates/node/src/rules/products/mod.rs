//! The scalar products of a run, level by level: who makes them, and what they took.

mod encrypted;
mod transfers;

use std::time::Instant;

use chacha20::ChaCha20Rng;
use serde::Serialize;
use tacita_core::channel::{Channel, Traffic};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::{Modulus, Shares, Side};
use tacita_core::protocol::rules::{Batch, Params, ScalarProducts};
use tacita_core::{Error, Result, Session};

use crate::choose::{Chosen, bandwidth_for};
use crate::job::Protocol;
use crate::report;
use encrypted::Encrypted;
use transfers::Transfers;

pub use encrypted::memory;

/// What products cost, an estimate: CPU seconds of both parties together, and bytes both ways.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// On one thread.
    pub seconds: f64,
    /// Setting up aside.
    pub bytes: u64,
}

/// Products that are wanted: all that is known of them before they are made.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    rows: usize,
    modulus: Modulus,
    /// Columns of each party.
    columns: [usize; 2],
    pairs: &'a [(u32, u32)],
}

impl<'a> Wanted<'a> {
    fn of(batch: &'a Batch<'_>) -> Wanted<'a> {
        let columns = [Side::First, Side::Second].map(|side| batch.columns(side));
        Wanted { rows: batch.rows(), modulus: batch.modulus(), columns, pairs: batch.pairs() }
    }
}

/// What all products of `items` items of each party cost, by what was chosen, and who would make them.
pub fn estimate(chosen: &Chosen, params: &Params, items: [u32; 2]) -> Result<(Protocol, Cost)> {
    let pairs: Vec<_> = (0..items[0]).flat_map(|first| (0..items[1]).map(move |second| (first, second))).collect();
    let wanted = Wanted {
        rows: params.rows,
        modulus: params.modulus()?,
        columns: items.map(|items| items as usize),
        pairs: &pairs,
    };
    let transfers = match chosen.extension {
        Some(Extension::SoftSpoken(k)) => Some(transfers::cost(&wanted, k)),
        _ => None,
    };
    let encrypted = (chosen.protocol == Protocol::Lattice).then(|| encrypted::cost(&wanted));
    cheaper(transfers, encrypted, bandwidth_for(chosen.extension))
}

/// Which of the protocols that there are takes less time.
fn cheaper(
    transfers: Option<Result<Cost>>,
    encrypted: Option<Result<Cost>>,
    bandwidth: f64,
) -> Result<(Protocol, Cost)> {
    // The two parties compute at the same time, and as much.
    let time = |cost: &Cost| cost.seconds / 2.0 + cost.bytes as f64 * 8.0 / bandwidth;
    match (transfers, encrypted) {
        (Some(Ok(transfers)), Some(Ok(encrypted))) if time(&transfers) <= time(&encrypted) => {
            Ok((Protocol::Ot, transfers))
        }
        // Where one cannot do it, the other one may.
        (_, Some(Ok(encrypted))) => Ok((Protocol::Lattice, encrypted)),
        (Some(transfers), _) => Ok((Protocol::Ot, transfers?)),
        (None, Some(encrypted)) => Ok((Protocol::Lattice, encrypted?)),
        (None, None) => Err(Error::Internal("no protocol for the products of rules".into())),
    }
}

/// What a level took: its mixed candidates, up to where the next one begins.
#[derive(Debug, Clone, Serialize)]
pub struct Level {
    /// Items of each candidate.
    pub length: usize,
    /// Scalar products: the candidates with items of both parties.
    pub products: usize,
    /// The protocol that made them.
    pub protocol: &'static str,
    /// Wall time, comparisons and the opening of counts included.
    pub seconds: f64,
    /// Bytes that this party sent.
    pub sent: u64,
    /// Bytes that it received.
    pub received: u64,
}

/// The scalar products of a run.
pub struct Products<'a> {
    transfers: Option<Transfers<'a>>,
    encrypted: Option<Encrypted<'a>>,
    /// Bits a second that are assumed where both could be.
    bandwidth: f64,
    rng: ChaCha20Rng,
    levels: Vec<Level>,
    /// When the last level began, and the traffic up to then.
    began: Option<(Instant, Traffic)>,
}

impl<'a> Products<'a> {
    /// By what was chosen.
    pub fn new(session: &'a Session, chosen: &Chosen, rng: ChaCha20Rng) -> Result<Products<'a>> {
        let transfers = match chosen.extension {
            Some(Extension::SoftSpoken(k)) => Some(Transfers::new(session, k)?),
            Some(Extension::Silent) => return Err(Error::Internal("rules by silent transfers".into())),
            None => None,
        };
        let encrypted = (chosen.protocol == Protocol::Lattice).then(|| Encrypted::new(session));
        let bandwidth = bandwidth_for(chosen.extension);
        Ok(Products { transfers, encrypted, bandwidth, rng, levels: Vec::new(), began: None })
    }

    /// What each level took, if all are done.
    pub fn levels(mut self, traffic: Traffic) -> Vec<Level> {
        self.end(traffic);
        self.levels
    }

    fn end(&mut self, traffic: Traffic) {
        if let (Some((began, before)), Some(level)) = (self.began.take(), self.levels.last_mut()) {
            level.seconds = report::round(began.elapsed());
            (level.sent, level.received) = (traffic.sent - before.sent, traffic.received - before.received);
        }
    }

    /// The protocol for a batch: a function of what both parties know.
    fn protocol(&self, batch: &Batch<'_>) -> Result<Protocol> {
        match (&self.transfers, &self.encrypted) {
            (Some(transfers), Some(_)) => {
                let wanted = Wanted::of(batch);
                let (transfers, encrypted) = (transfers.cost(&wanted, batch.side()), encrypted::cost(&wanted));
                Ok(cheaper(Some(transfers), Some(encrypted), self.bandwidth)?.0)
            }
            (Some(_), None) => Ok(Protocol::Ot),
            _ => Ok(Protocol::Lattice),
        }
    }
}

impl ScalarProducts for Products<'_> {
    fn products(&mut self, batch: &Batch<'_>, channel: &mut Channel) -> Result<Shares> {
        self.end(channel.traffic());
        self.began = Some((Instant::now(), channel.traffic()));
        let protocol = self.protocol(batch)?;
        self.levels.push(Level {
            length: batch.length(),
            products: batch.pairs().len(),
            protocol: protocol.name(),
            seconds: 0.0,
            sent: 0,
            received: 0,
        });
        match (protocol, &mut self.transfers, &mut self.encrypted) {
            (Protocol::Lattice, _, Some(encrypted)) => encrypted.products(batch, channel, &mut self.rng),
            (Protocol::Ot, Some(transfers), _) => transfers.products(batch, channel, &mut self.rng),
            _ => Err(Error::Internal("products by a protocol that was not chosen".into())),
        }
    }
}
