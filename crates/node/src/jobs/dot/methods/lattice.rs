//! Under homomorphic encryption: see `tacita_core::protocol::dot::lattice`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::lattice::{self, Params};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::{Columns, Modulus, Shape, Shares};
use tacita_core::{Result, Session, Side};

use super::{Cpu, DotPairMethod, Product, ProductRequest};
use crate::agreement::Protocol;
use crate::agreement::cost::Calibration;
use crate::jobs::dot::DotJob;

/// The word for it.
pub const PROTOCOL: Protocol = Protocol::named("lattice");

/// Protocol based on lattice encryption.
pub struct Lattice;

/// CPU seconds of the encryptor for a number that it encrypts; of the answerer for one that it reads, for one that it
/// prepares, and for each product of two; each of them for each prime of the modulus; and of each party before the
/// first.
const ENCRYPT: f64 = 13e-9;
const RECEIVE: f64 = 4e-9;
const PREPARE: f64 = 8e-9;
const MULTIPLY: f64 = 0.43e-9;
const START: f64 = 2e-3;

impl DotPairMethod for Lattice {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    /// One product is so little that the fewest bytes are worth more than a few milliseconds.
    fn ways(&self, job: &DotJob<'_>, products: usize) -> Vec<Option<Extension>> {
        let worth = products > 1 && job.own.extension.is_none();
        if worth || job.protocol == PROTOCOL { vec![None] } else { Vec::new() }
    }

    fn product(&self, _job: &DotJob<'_>, wanted: ProductRequest) -> Result<Box<dyn Product>> {
        Ok(Box::new(Params::new(wanted.shape, wanted.modulus, wanted.learner)?))
    }
}

impl Product for Params {
    fn shape(&self) -> Shape {
        Params::shape(self)
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
        self.encryptor()
    }

    fn ends(&self) -> Side {
        self.encryptor().other()
    }

    fn cpu(&self, _machine: Option<&Calibration>) -> Cpu {
        let (shape, (_, primes)) = (Params::shape(self), self.prime_bits());
        let (encrypted, prepared) = (shape.columns(self.encryptor()), shape.columns(self.encryptor().other()));
        let (rows, primes) = (shape.rows as f64, primes as f64);
        // Several columns in one number are encrypted and multiplied as one.
        let numbers = rows * encrypted.div_ceil(self.digits()) as f64;
        let answering = RECEIVE * numbers + PREPARE * rows * prepared as f64 + MULTIPLY * numbers * prepared as f64;
        Cpu::of(self.encryptor(), START + primes * ENCRYPT * numbers, START + primes * answering)
    }

    fn memory(&self) -> u64 {
        let shape = Params::shape(self);
        let polynomials = shape.first.max(shape.second).div_ceil(self.columns_in_polynomial()) as u64;
        (64 << 20) + polynomials * self.sums_bytes()
    }

    fn run(
        &self,
        side: Side,
        columns: &Columns,
        session: &Session,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
    ) -> Result<Shares> {
        lattice::run(side, columns, self, session, channel, rng)
    }
}
