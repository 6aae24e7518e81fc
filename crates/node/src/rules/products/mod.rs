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
use zeroize::Zeroizing;

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
#[derive(Debug, Clone)]
struct Wanted {
    rows: usize,
    modulus: Modulus,
    /// A column of the first party and one of the second.
    pairs: Vec<(u32, u32)>,
    /// Where each product stands in the batch.
    order: Vec<usize>,
}

impl Wanted {
    fn of(batch: &Batch<'_>) -> Wanted {
        Wanted::new(batch.rows(), batch.modulus(), batch.pairs().to_vec())
    }

    fn new(rows: usize, modulus: Modulus, pairs: Vec<(u32, u32)>) -> Wanted {
        let order = (0..pairs.len()).collect();
        Wanted { rows, modulus, pairs, order }
    }

    /// Some of the products, by their places here.
    fn some(&self, places: Vec<usize>) -> Wanted {
        Wanted {
            rows: self.rows,
            modulus: self.modulus,
            pairs: places.iter().map(|&place| self.pairs[place]).collect(),
            order: places.iter().map(|&place| self.order[place]).collect(),
        }
    }

    /// The columns of a party that are used, in order.
    fn columns(&self, side: Side) -> Vec<u32> {
        let mut columns: Vec<u32> = self.pairs.iter().map(|pair| column(pair, side)).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// By which party's column is in more products. What a column costs is shared by its products, if it is the one that is
    /// encrypted, or that chooses: candidates of one item here and many there cost less apart from those of many and one.
    fn split(&self) -> Vec<Wanted> {
        let uses = [Side::First, Side::Second].map(|side| {
            let most = self.pairs.iter().map(|pair| column(pair, side)).max().unwrap_or(0);
            let mut uses = vec![0; most as usize + 1];
            self.pairs.iter().for_each(|pair| uses[column(pair, side) as usize] += 1);
            uses
        });
        let first = |place: &usize| {
            let (first, second) = self.pairs[*place];
            uses[0][first as usize] >= uses[1][second as usize]
        };
        let (first, second): (Vec<_>, Vec<_>) = (0..self.pairs.len()).partition(first);
        [first, second].into_iter().filter(|places| !places.is_empty()).map(|places| self.some(places)).collect()
    }
}

fn column(pair: &(u32, u32), side: Side) -> u32 {
    if side == Side::First { pair.0 } else { pair.1 }
}

/// How products are made: by which protocol, in which parts.
struct Way {
    protocol: Protocol,
    parts: Vec<Wanted>,
    cost: Cost,
}

impl Way {
    /// The way that takes the least time, among those by oblivious transfer, of which `transfers` says what they cost, and
    /// those under encryption.
    fn cheapest(
        wanted: Wanted,
        transfers: Option<impl Fn(&[Wanted]) -> Result<Cost>>,
        encrypted: bool,
        bandwidth: f64,
    ) -> Result<Way> {
        // The two parties compute at the same time, and as much.
        let time = |way: &Way| way.cost.seconds / 2.0 + way.cost.bytes as f64 * 8.0 / bandwidth;
        let (mut best, mut refused): (Option<Way>, _) = (None, None);
        for parts in [wanted.split(), vec![wanted]] {
            let by_transfers = transfers.as_ref().map(|cost| (Protocol::Ot, cost(&parts)));
            let encrypted = encrypted.then(|| (Protocol::Lattice, encrypted::cost(&parts)));
            for (protocol, cost) in by_transfers.into_iter().chain(encrypted) {
                match cost {
                    Ok(cost) => {
                        let way = Way { protocol, parts: parts.clone(), cost };
                        best = match best {
                            Some(best) if time(&best) <= time(&way) => Some(best),
                            _ => Some(way),
                        };
                    }
                    // Another way may do.
                    Err(error) => refused = Some(error),
                }
            }
        }
        best.ok_or_else(|| refused.unwrap_or_else(|| Error::Internal("no protocol for the products of rules".into())))
    }
}

/// What all products of `items` items of each party cost, by what was chosen, and who would make them.
pub fn estimate(chosen: &Chosen, params: &Params, items: [u32; 2]) -> Result<(Protocol, Cost)> {
    let pairs = (0..items[0]).flat_map(|first| (0..items[1]).map(move |second| (first, second)));
    let wanted = Wanted::new(params.rows, params.modulus()?, pairs.collect());
    let transfers = match chosen.extension {
        Some(Extension::SoftSpoken(k)) => Some(move |parts: &[Wanted]| transfers::cost(parts, k)),
        _ => None,
    };
    let encrypted = chosen.protocol == Protocol::Lattice;
    let way = Way::cheapest(wanted, transfers, encrypted, bandwidth_for(chosen.extension))?;
    Ok((way.protocol, way.cost))
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

    /// How a batch is made: a function of what both parties know.
    fn way(&self, batch: &Batch<'_>) -> Result<Way> {
        let transfers = self.transfers.as_ref();
        let transfers = transfers.map(|transfers| |parts: &[Wanted]| transfers.cost(parts, batch.side()));
        Way::cheapest(Wanted::of(batch), transfers, self.encrypted.is_some(), self.bandwidth)
    }
}

impl ScalarProducts for Products<'_> {
    fn products(&mut self, batch: &Batch<'_>, channel: &mut Channel) -> Result<Shares> {
        self.end(channel.traffic());
        self.began = Some((Instant::now(), channel.traffic()));
        let way = self.way(batch)?;
        self.levels.push(Level {
            length: batch.length(),
            products: batch.pairs().len(),
            protocol: way.protocol.name(),
            seconds: 0.0,
            sent: 0,
            received: 0,
        });
        let mut residues = Zeroizing::new(vec![0; batch.pairs().len()]);
        for wanted in &way.parts {
            match (way.protocol, &mut self.transfers, &mut self.encrypted) {
                (Protocol::Lattice, _, Some(encrypted)) => {
                    encrypted.products(wanted, batch, channel, &mut self.rng, &mut residues)?;
                }
                (Protocol::Ot, Some(transfers), _) => {
                    transfers.products(wanted, batch, channel, &mut self.rng, &mut residues)?;
                }
                _ => return Err(Error::Internal("products by a protocol that was not chosen".into())),
            }
        }
        Shares::new(batch.modulus(), std::mem::take(&mut *residues))
    }
}
