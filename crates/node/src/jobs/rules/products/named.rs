//! The scalar products of a run by a protocol that the job names and that serves single products too: each part of a
//! batch is a run of it.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::Modulus;
use tacita_core::protocol::rules::support::Fraction;
use tacita_core::protocol::rules::{Params, ProductBatch};
use tacita_core::{Result, Session, Side};

use super::parts::{MAX_COLUMNS, ProductPart, part_columns, parts};
use super::{ProductsCost, Wanted};
use crate::agreement::Protocol;
use crate::jobs::dot::methods::{self, PairProducts, PairTerms, Product};
use crate::jobs::rules::spec::RulesJob;

/// Terms of a protocol that a job names.
#[derive(Clone, Copy)]
pub struct ProductTerms {
    protocol: Protocol,
    pairs: &'static dyn PairProducts,
    terms: PairTerms,
}

impl ProductTerms {
    /// Returns the terms for the protocol that the job names, if it is one of these.
    pub fn of(job: &RulesJob<'_>) -> Result<Option<ProductTerms>> {
        let Some(pairs) = methods::named(job.protocol).and_then(|method| method.of_pairs()) else { return Ok(None) };
        let terms = PairTerms { level: job.level, density: job.density()?.unwrap_or(Fraction::ONE) };
        Ok(Some(ProductTerms { protocol: job.protocol, pairs, terms }))
    }

    /// Returns the protocol that the job names.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    fn product(&self, part: &ProductPart) -> Result<Box<dyn Product>> {
        self.pairs.product(&self.terms, part.shape, part.modulus, &part.pairs)
    }

    /// Returns the cost of products. Errors: they cannot be made.
    pub fn cost(&self, wanted: &Wanted) -> Result<ProductsCost> {
        let mut cost = ProductsCost { seconds: 0.0, bytes: 0 };
        for part in parts(wanted) {
            let product = self.product(&part)?;
            let cpu = product.cpu(None);
            cost.seconds += cpu.first + cpu.second;
            cost.bytes += [Side::First, Side::Second].map(|side| product.bytes_sent_by(side)).iter().sum::<u64>();
        }
        Ok(cost)
    }

    /// Bytes that a batch holds besides the items, at most: columns of a part, and what the protocol keeps for all
    /// products of these.
    pub fn memory(&self, rows: u64, params: &Params) -> Result<u64> {
        let columns = part_columns(rows as usize).min(MAX_COLUMNS) as u32;
        let pairs = (0..columns).flat_map(|first| (0..columns).map(move |second| (first, second)));
        let pairs: Vec<_> = pairs.take(params.max_candidates).collect();
        let modulus = Modulus::power_of_two(u64::BITS - rows.leading_zeros().min(u64::BITS - 1))?;
        let wanted = Wanted::new(rows as usize, modulus, pairs);
        let kept: Result<Vec<u64>> = parts(&wanted).map(|part| Ok(self.product(&part)?.memory())).collect();
        Ok(rows / 8 * u64::from(columns) + kept?.into_iter().max().unwrap_or(0))
    }
}

/// A run's products by such a protocol.
pub struct NamedProducts<'a> {
    terms: ProductTerms,
    session: &'a Session,
    /// Parts that have been made.
    parts: u64,
}

impl<'a> NamedProducts<'a> {
    pub fn new(terms: ProductTerms, session: &'a Session) -> NamedProducts<'a> {
        NamedProducts { terms, session, parts: 0 }
    }

    /// Returns the protocol that the job names.
    pub fn protocol(&self) -> Protocol {
        self.terms.protocol
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
        for part in parts(wanted) {
            // Nothing of one part means anything in another.
            let (product, session) = (self.terms.product(&part)?, self.session.child("rules part", self.parts));
            self.parts += 1;
            let made = product.run(batch.side(), &part.own(batch), &session, channel, rng)?;
            part.put(&made, residues);
        }
        Ok(())
    }
}
