//! Under Goldwasser and Micali's encryption, with Bloom filters: see `tacita_core::protocol::published::dot::gm_bloom`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares};
use tacita_core::protocol::published::dot::gm_bloom::{self, Lengths, Params};
use tacita_core::{Level, Result, Session, Side};

use super::super::{Cpu, DotPairMethod, PairProducts, PairTerms, Product, ProductRequest, ProtocolKeys, ot};
use crate::agreement::cost::Calibration;
use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol, Reveal};
use crate::jobs::dot::{DotJob, density};
use crate::jobs::paillier::OperationSeconds;

/// The word for it.
pub const PROTOCOL: Protocol = Protocol::named("gm-bloom");

/// Protocol based on Bloom filters.
pub struct GmBloom;

/// CPU seconds under a key of 3072 bits on a processor with AVX2, besides the key. The counter's costs are per bit
/// that it encrypts and per bit that it opens. The labeller's are per bit that it reads and per bit that it makes
/// new. All of these grow with the length of a key to the power of 1.5. The last is the cost of a slot of the
/// filters for each of them.
const ENCRYPT: f64 = 8e-6;
const OPEN: f64 = 25e-6;
const READ: f64 = 25e-6;
const RENEW: f64 = 15e-6;
const SLOT: f64 = 45e-9;

impl DotPairMethod for GmBloom {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn is_published(&self) -> bool {
        true
    }

    fn has(&self, level: Level) -> bool {
        Lengths::of(level).is_ok()
    }

    fn bounds_ones(&self) -> bool {
        true
    }

    fn has_no_extension(&self) -> Option<&'static str> {
        Some("has one way to make its oblivious transfers")
    }

    fn only_numbers(&self) -> Option<&'static str> {
        Some("\"gm-bloom\" multiplies zeros and ones alone: name another protocol for other numbers")
    }

    fn check(&self, job: &JobSpec, keys: &ProtocolKeys<'_>) -> Result<()> {
        density::of(job, keys.density)?;
        match keys.numbers {
            (Integers::BINARY, 0) => Ok(()),
            _ => bad(
                "protocol = \"gm-bloom\" multiplies zeros and ones: leave out bits, signed and scale, or use \"ot\", \
                 \"lattice\" or \"paillier\"",
            ),
        }
    }

    fn ways(&self, _job: &DotJob<'_>, _products: usize) -> Vec<Option<Extension>> {
        vec![None]
    }

    fn product(&self, job: &DotJob<'_>, wanted: ProductRequest) -> Result<Box<dyn Product>> {
        let ProductRequest { shape, modulus, learner, .. } = wanted;
        let lengths = Lengths::of(job.level)?;
        let bound = job.most_ones(shape.rows)?.unwrap_or(shape.rows);
        Ok(Box::new(match job.reveal {
            Reveal::Shares => Params::in_parts(shape, modulus, lengths, bound)?,
            _ => Params::new(shape, modulus, lengths, bound, learner)?,
        }))
    }

    fn of_pairs(&self) -> Option<&dyn PairProducts> {
        Some(self)
    }

    fn telling(&self, side: Side) -> Option<&'static str> {
        Some(match side {
            Side::First => "about half, so that twice the part is the product, give or take twice its square root",
            Side::Second => {
                "the exact product over a random half of its ones, and it knows which half. That is nearly what the other half \
                 would give, and more than the product says about the rows of that half"
            }
        })
    }
}

impl PairProducts for GmBloom {
    fn product(
        &self,
        terms: &PairTerms,
        shape: Shape,
        modulus: Modulus,
        pairs: &[(u32, u32)],
    ) -> Result<Box<dyn Product>> {
        let bound = terms.density.ceiling(shape.rows as u64) as usize;
        Ok(Box::new(Params::of_pairs(shape, modulus, Lengths::of(terms.level)?, bound, pairs)?))
    }
}

impl Product for Params {
    fn shape(&self) -> Shape {
        *Params::shape(self)
    }

    fn modulus(&self) -> Modulus {
        Params::modulus(self)
    }

    fn bytes_sent_by(&self, side: Side) -> u64 {
        Params::bytes_sent_by(self, side)
    }

    fn rounds(&self) -> u32 {
        Params::rounds(self)
    }

    fn begins(&self) -> Side {
        self.counter().unwrap_or(Side::First)
    }

    fn ends(&self) -> Side {
        self.counter().map_or(Side::First, Side::other)
    }

    fn cpu(&self, _machine: Option<&Calibration>) -> Cpu {
        if self.is_empty() {
            return Cpu::default();
        }
        let (shape, products) = (Params::shape(self), self.products() as f64);
        let size = self.lengths().key;
        let (longer, key) = (size.bits() as f64 / 3072.0, OperationSeconds::of(size, None).key);
        let (rows, slots) = (shape.rows as f64, SLOT * self.bloom().slots() as f64 * products);
        let execution = |counter: Side| {
            let columns = shape.columns(counter) as f64;
            let counting = longer.powf(1.5) * rows * (ENCRYPT * columns + OPEN * products);
            let labelling = longer.powf(1.5) * rows * (READ * columns + RENEW * products);
            Cpu::of(counter, key + ot::START + counting + slots, ot::START + labelling + slots)
        };
        match self.counter() {
            Some(counter) => execution(counter),
            None => {
                let (one, other) = (execution(Side::First), execution(Side::Second));
                Cpu { first: one.first + other.first, second: one.second + other.second }
            }
        }
    }

    /// The labeller keeps a column of the counter's. Both have labels, an order, and two sets with their filters.
    fn memory(&self) -> u64 {
        let (rows, ones, lengths) = (Params::shape(self).rows as u64, self.bound() as u64, self.lengths());
        let kept = rows * (lengths.key.modulus_bytes() as u64 + 36);
        let sets = ones * (100 + 4 * lengths.strength.bits() as u64) + self.bloom().slots() as u64 / 4;
        (64 << 20) + (21 << 20) * rayon::current_num_threads() as u64 + kept + sets
    }

    fn run(
        &self,
        side: Side,
        columns: &Columns,
        session: &Session,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
    ) -> Result<Shares> {
        gm_bloom::run(side, columns, self, session, channel, rng)
    }
}
