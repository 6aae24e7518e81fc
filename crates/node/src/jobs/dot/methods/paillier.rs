//! Under Paillier's encryption: see `tacita_core::protocol::dot::paillier`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::paillier::{self, Params};
use tacita_core::protocol::dot::{Columns, Modulus, Shape, Shares};
use tacita_core::{Level, Result, Session, Side};

use super::{Cpu, DotPairMethod, PairProducts, PairTerms, Product, ProductRequest, ProtocolKeys};
use crate::agreement::cost::Calibration;
use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol};
use crate::jobs::dot::DotJob;
use crate::jobs::paillier::OperationSeconds;

/// The word for it.
pub const PROTOCOL: Protocol = Protocol::named("paillier");

/// Protocol based on Paillier encryption.
pub struct Paillier;

impl DotPairMethod for Paillier {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn is_published(&self) -> bool {
        true
    }

    fn has(&self, _level: Level) -> bool {
        true
    }

    fn sends_chunks(&self) -> bool {
        true
    }

    fn check(&self, job: &JobSpec, keys: &ProtocolKeys<'_>) -> Result<()> {
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

    fn ways(&self, _job: &DotJob<'_>, _products: usize) -> Vec<Option<Extension>> {
        vec![None]
    }

    fn product(&self, job: &DotJob<'_>, wanted: ProductRequest) -> Result<Box<dyn Product>> {
        let params = Params::new(wanted.shape, wanted.modulus, KeySize::of(job.level), wanted.learner)?;
        Ok(Box::new(match job.own.chunk {
            Some(rows) => params.with_chunk(rows as usize),
            None => params,
        }))
    }

    fn of_pairs(&self) -> Option<&dyn PairProducts> {
        Some(self)
    }
}

impl PairProducts for Paillier {
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

    fn cpu(&self, machine: Option<&Calibration>) -> Cpu {
        if Params::rounds(self) == 0 {
            return Cpu::default();
        }
        let (shape, encryptor) = (Params::shape(self), self.encryptor());
        let (rows, columns, answers) = (shape.rows as f64, shape.columns(encryptor) as f64, self.products() as f64);
        let (numbers, messages) = (rows * columns, columns * shape.rows.div_ceil(self.chunk()) as f64);
        let factors = rows * answers * f64::from(shape.integers.bits());
        let seconds = OperationSeconds::of(self.key_size(), machine);
        let encrypting = seconds.key + seconds.encrypt * numbers + seconds.decrypt * answers;
        let answering = seconds.read(numbers, messages) + seconds.multiply * factors + seconds.rerandomize * answers;
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
