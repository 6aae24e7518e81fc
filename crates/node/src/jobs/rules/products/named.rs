//! The scalar products of a run by a protocol that the job names and that serves single products too: each part of a batch is
//! a run of it.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::dot::{Modulus, gm_bloom, paillier};
use tacita_core::protocol::rules::support::Fraction;
use tacita_core::protocol::rules::{Batch, Params};
use tacita_core::session::Transcript;
use tacita_core::{Level, Result, Session, Side};

use super::parts::{MOST, Part, part_columns, parts};
use super::{Cost, Wanted};
use crate::agreement::Protocol;
use crate::jobs::dot::Method;
use crate::jobs::rules::spec::Spec;

/// Such a protocol, with what the terms say of it.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    protocol: Protocol,
    level: Level,
    /// Which part of a column's rows may be ones.
    density: Fraction,
}

impl Terms {
    /// What the job names, if it is one.
    pub fn of(job: &Spec<'_>) -> Result<Option<Terms>> {
        let density = job.density()?.unwrap_or(Fraction::ONE);
        Ok(job.protocol.is_published().then_some(Terms { protocol: job.protocol, level: job.level, density }))
    }

    /// The protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    fn method(&self, part: &Part) -> Result<Method> {
        let (shape, modulus, pairs) = (part.shape, part.modulus, &part.pairs);
        Ok(match self.protocol {
            Protocol::GmBloom => {
                let (lengths, bound) = (gm_bloom::Lengths::of(self.level)?, self.density.ceiling(shape.rows as u64));
                Method::GmBloom(gm_bloom::Params::of_pairs(shape, modulus, lengths, bound as usize, pairs)?)
            }
            _ => Method::Paillier(paillier::Params::of_pairs(shape, modulus, KeySize::of(self.level), pairs)?),
        })
    }

    /// What products cost. Errors: they cannot be made.
    pub fn cost(&self, wanted: &Wanted) -> Result<Cost> {
        let mut cost = Cost { seconds: 0.0, bytes: 0 };
        for part in parts(wanted) {
            let method = self.method(&part)?;
            let cpu = method.cpu(None);
            cost.seconds += cpu.first + cpu.second;
            cost.bytes += [Side::First, Side::Second].map(|side| method.bytes_sent_by(side)).iter().sum::<u64>();
        }
        Ok(cost)
    }

    /// Bytes that a batch holds besides the items, at most: columns of a part, and what the protocol keeps for all products of
    /// these.
    pub fn memory(&self, rows: u64, params: &Params) -> Result<u64> {
        let columns = part_columns(rows as usize).min(MOST) as u32;
        let pairs = (0..columns).flat_map(|first| (0..columns).map(move |second| (first, second)));
        let pairs: Vec<_> = pairs.take(params.max_candidates).collect();
        let modulus = Modulus::power_of_two(u64::BITS - rows.leading_zeros().min(u64::BITS - 1))?;
        let wanted = Wanted::new(rows as usize, modulus, pairs);
        let kept: Result<Vec<u64>> = parts(&wanted).map(|part| Ok(self.method(&part)?.memory())).collect();
        Ok(rows / 8 * u64::from(columns) + kept?.into_iter().max().unwrap_or(0))
    }
}

/// A run's products by such a protocol.
pub struct Named<'a> {
    terms: Terms,
    session: &'a Session,
    /// Parts that have been made.
    parts: u64,
}

impl<'a> Named<'a> {
    pub fn new(terms: Terms, session: &'a Session) -> Named<'a> {
        Named { terms, session, parts: 0 }
    }

    /// The protocol.
    pub fn protocol(&self) -> Protocol {
        self.terms.protocol
    }

    /// Puts this party's shares of a part of a batch where they stand in it.
    pub fn products(
        &mut self,
        wanted: &Wanted,
        batch: &Batch<'_>,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
        residues: &mut [u128],
    ) -> Result<()> {
        for part in parts(wanted) {
            // Nothing of one part means anything in another.
            let mut transcript = Transcript::new("rules part");
            transcript.append("session", self.session.id()).append("part", &self.parts.to_le_bytes());
            self.parts += 1;
            let (method, session) = (self.terms.method(&part)?, Session::new(transcript));
            let made = method.run(batch.side(), &part.own(batch), &session, channel, rng)?;
            part.put(&made, residues);
        }
        Ok(())
    }
}
