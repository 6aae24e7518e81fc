//! Under Paillier's encryption: see `tacita_core::protocol::dot::paillier`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::paillier::{self, Params};
use tacita_core::protocol::dot::{Columns, Modulus, Shape, Shares};
use tacita_core::{Result, Session, Side};

use super::{Cpu, Keys, Method, PairTerms, Pairs, Product, Wanted};
use crate::agreement::cost::Calibration;
use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol};
use crate::jobs::dot::Spec;

/// The word for it.
pub const PROTOCOL: Protocol = Protocol::named("paillier");

/// The protocol.
pub struct Paillier;

/// What it costs under a key of 3072 bits on a processor with AVX-512: a key; the encryptor for a number that it encrypts and for
/// an answer that it decrypts; the answerer for an answer, and for a message that it reads; a factor of a product. Exponentiations
/// grow with the cube of a key's length, generation with the fourth power, the others with the square.
const KEY: f64 = 0.45;
const ENCRYPTION: f64 = 460e-6;
const DECRYPTION: f64 = 2.6e-3;
const ANSWER: f64 = 9e-3;
const MESSAGE: f64 = 2e-3;
const FACTOR: f64 = 4.2e-6;

impl Method for Paillier {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn is_published(&self) -> bool {
        true
    }

    fn has_levels(&self) -> bool {
        true
    }

    fn sends_chunks(&self) -> bool {
        true
    }

    fn check(&self, job: &JobSpec, keys: &Keys<'_>) -> Result<()> {
        let size = KeySize::of(job.level);
        let most = paillier::max_chunk(size) as u64;
        match keys.chunk {
            Some(chunk) if chunk == 0 || chunk > most => bad(format!(
                "chunk = {chunk}: a message holds 1 to {most} numbers that are encrypted under a key of {} bits",
                size.bits()
            )),
            _ => Ok(()),
        }
    }

    fn ways(&self, _job: &Spec<'_>, _products: usize) -> Vec<Option<Extension>> {
        vec![None]
    }

    fn product(&self, job: &Spec<'_>, wanted: Wanted) -> Result<Box<dyn Product>> {
        let params = Params::new(wanted.shape, wanted.modulus, KeySize::of(job.level), wanted.learner)?;
        Ok(Box::new(match job.own.chunk {
            Some(rows) => params.with_chunk(rows as usize),
            None => params,
        }))
    }

    fn of_pairs(&self) -> Option<&dyn Pairs> {
        Some(self)
    }
}

impl Pairs for Paillier {
    fn product(
        &self,
        terms: &PairTerms,
        shape: Shape,
        modulus: Modulus,
        pairs: &[(u32, u32)],
    ) -> Result<Box<dyn Product>> {
        Ok(Box::new(Params::of_pairs(shape, modulus, KeySize::of(terms.level), pairs)?))
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
        self.encryptor()
    }

    fn ends(&self) -> Side {
        self.encryptor().other()
    }

    fn cpu(&self, _machine: Option<&Calibration>) -> Cpu {
        if Params::rounds(self) == 0 {
            return Cpu::default();
        }
        let (shape, encryptor) = (Params::shape(self), self.encryptor());
        let (rows, columns) = (shape.rows as f64, shape.columns(encryptor) as f64);
        let longer = self.key_size().bits() as f64 / 3072.0;
        let (square, cube) = (longer.powi(2), longer.powi(3));
        let numbers = rows * columns;
        let messages = columns * shape.rows.div_ceil(self.chunk()) as f64;
        let answers = self.products() as f64;
        let factors = numbers + rows * answers * f64::from(shape.integers.bits());
        let encrypting = KEY * longer.powi(4) + cube * (ENCRYPTION * numbers + DECRYPTION * answers);
        let answering = square * (MESSAGE * messages + FACTOR * factors) + cube * ANSWER * answers;
        Cpu::of(encryptor, encrypting, answering)
    }

    fn memory(&self) -> u64 {
        let shape = Params::shape(self);
        let planes = shape.first.max(shape.second) as u64 * u64::from(shape.integers.bits());
        let ciphertexts = 16 * planes.max(64) + 3 * self.products() as u64;
        (192 << 20) + ciphertexts * self.key_size().ciphertext_bytes() as u64
    }

    fn pooled(&self) -> Option<&Params> {
        Some(self)
    }

    fn run(
        &self,
        side: Side,
        columns: &Columns,
        _session: &Session,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
    ) -> Result<Shares> {
        paillier::run(side, columns, self, channel, rng)
    }
}
