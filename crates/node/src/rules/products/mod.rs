//! The scalar products of a run, level by level: who makes them, and what they took.

mod encrypted;
mod transfers;

use std::time::Instant;

use chacha20::ChaCha20Rng;
use serde::Serialize;
use tacita_core::channel::{Channel, Traffic};
use tacita_core::protocol::dot::Shares;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::rules::{Batch, ScalarProducts};
use tacita_core::{Error, Result, Session};

use crate::choose::{Chosen, bandwidth_for};
use crate::job::Protocol;
use crate::report;
use encrypted::Encrypted;
use transfers::Transfers;

pub use encrypted::memory;

/// What a batch would cost: seconds of computation, with both parties at work, and bytes both ways.
#[derive(Debug, Clone, Copy)]
struct Cost {
    seconds: f64,
    bytes: u64,
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

    /// Whether a batch goes under encryption: a function of what both parties know.
    fn encrypts(&self, batch: &Batch<'_>) -> Result<bool> {
        let (transfers, encrypted) = match (&self.transfers, &self.encrypted) {
            (Some(transfers), Some(encrypted)) => (transfers.cost(batch), encrypted.cost(batch)),
            (None, None) => return Err(Error::Internal("no protocol for the products of rules".into())),
            (_, encrypted) => return Ok(encrypted.is_some()),
        };
        let time = |cost: Cost| cost.seconds + cost.bytes as f64 * 8.0 / self.bandwidth;
        match (transfers, encrypted) {
            (Ok(transfers), Ok(encrypted)) => Ok(time(encrypted) < time(transfers)),
            // The other one may do.
            (Ok(_), Err(_)) => Ok(false),
            (Err(_), Ok(_)) => Ok(true),
            (Err(error), Err(_)) => Err(error),
        }
    }
}

impl ScalarProducts for Products<'_> {
    fn products(&mut self, batch: &Batch<'_>, channel: &mut Channel) -> Result<Shares> {
        self.end(channel.traffic());
        self.began = Some((Instant::now(), channel.traffic()));
        let encrypts = self.encrypts(batch)?;
        self.levels.push(Level {
            length: batch.length(),
            products: batch.pairs().len(),
            protocol: if encrypts { Protocol::Lattice } else { Protocol::Ot }.name(),
            seconds: 0.0,
            sent: 0,
            received: 0,
        });
        match (encrypts, &mut self.transfers, &mut self.encrypted) {
            (true, _, Some(encrypted)) => encrypted.products(batch, channel, &mut self.rng),
            (false, Some(transfers), _) => transfers.products(batch, channel, &mut self.rng),
            _ => Err(Error::Internal("products by a protocol that was not chosen".into())),
        }
    }
}
