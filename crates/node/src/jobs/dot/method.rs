//! The protocols that multiply columns, behind one face: what a run, a plan and a choice ask of them.

use rand_core::CryptoRng;
use tacita_core::channel::Channel;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::{Columns, Modulus, Shape, Shares, gm_bloom, lattice, ot, paillier};
use tacita_core::{Error, Result, Session, Side};

use crate::agreement::{Chosen, Protocol, Reveal};
use crate::jobs::dot::spec::Spec;

/// A protocol with all that both parties derive from terms, choice and the number of rows.
pub enum Method {
    /// By oblivious transfer.
    Ot(ot::Params),
    /// Under encryption.
    Lattice(Box<lattice::Params>),
    /// Under Paillier's encryption.
    Paillier(paillier::Params),
    /// Under Goldwasser and Micali's encryption, with Bloom filters.
    GmBloom(gm_bloom::Params),
}

/// CPU seconds that a protocol takes, as far as they can be told before: see `docs/benchmarks.md`.
#[derive(Debug, Clone, Copy)]
pub struct Cpu {
    /// Of the first party.
    pub first: f64,
    /// Of the second.
    pub second: f64,
}

impl Cpu {
    /// Of one party and the other.
    fn of(side: Side, its: f64, other: f64) -> Cpu {
        match side {
            Side::First => Cpu { first: its, second: other },
            Side::Second => Cpu { first: other, second: its },
        }
    }
}

/// What `ot` costs both parties together for one transfer.
const TRANSFERS: [(Extension, f64); 4] = [
    (Extension::SoftSpoken(2), 32e-9),
    (Extension::SoftSpoken(4), 35e-9),
    (Extension::SoftSpoken(8), 90e-9),
    (Extension::Silent, 550e-9),
];
/// CPU seconds of both parties together for a further column that shares a transfer.
pub const OT_WORD: f64 = 5e-9;
/// CPU seconds of each party before the first transfer.
pub const OT_START: f64 = 12e-3;
const SILENT_START: f64 = 30e-3;

/// What `lattice` costs: the encryptor for a number that it encrypts; the answerer for one that it reads, for one that it
/// prepares, and for each product of two; each of them for each prime of the modulus; and each party before the first.
const ENCRYPT: f64 = 13e-9;
const RECEIVE: f64 = 4e-9;
const PREPARE: f64 = 8e-9;
const MULTIPLY: f64 = 0.43e-9;
const LATTICE_START: f64 = 2e-3;

/// What `paillier` costs under a key of 3072 bits on a processor with AVX-512: a key; the encryptor for a number that it
/// encrypts and for an answer that it decrypts; the answerer for an answer, and for a message that it reads; a factor of a
/// product. Exponentiations grow with the cube of a key's length, generation with the fourth power, the others with the square.
const KEY: f64 = 0.45;
const ENCRYPTION: f64 = 460e-6;
const DECRYPTION: f64 = 2.6e-3;
const ANSWER: f64 = 9e-3;
const MESSAGE: f64 = 2e-3;
const FACTOR: f64 = 4.2e-6;

/// What `gm-bloom` costs under a key of 3072 bits on a processor with AVX2: the counter for a bit that it encrypts and for one
/// that it opens; the labeller for one that it reads, and for one that it makes new; all of these with the length of a key to the
/// power of 1.5. And each of them for a slot of the filters.
const GM_ENCRYPT: f64 = 8e-6;
const GM_OPEN: f64 = 25e-6;
const GM_READ: f64 = 25e-6;
const GM_RENEW: f64 = 15e-6;
const GM_SLOT: f64 = 45e-9;

fn gm_bloom_cpu(params: &gm_bloom::Params) -> Cpu {
    if params.is_empty() {
        return Cpu { first: 0.0, second: 0.0 };
    }
    let (shape, products) = (params.shape(), params.products() as f64);
    let longer = params.lengths().key.bits() as f64 / 3072.0;
    let (rows, slots) = (shape.rows as f64, GM_SLOT * params.bloom().slots() as f64 * products);
    let execution = |counter: Side| {
        let columns = shape.columns(counter) as f64;
        let counting = longer.powf(1.5) * rows * (GM_ENCRYPT * columns + GM_OPEN * products);
        let labelling = longer.powf(1.5) * rows * (GM_READ * columns + GM_RENEW * products);
        Cpu::of(counter, KEY * longer.powi(4) + OT_START + counting + slots, OT_START + labelling + slots)
    };
    match params.counter() {
        Some(counter) => execution(counter),
        None => {
            let (one, other) = (execution(Side::First), execution(Side::Second));
            Cpu { first: one.first + other.first, second: one.second + other.second }
        }
    }
}

/// CPU seconds of both parties together for one transfer.
pub fn transfer_seconds(extension: Extension) -> f64 {
    let known = TRANSFERS.iter().find(|(known, _)| *known == extension);
    known.map_or(TRANSFERS[2].1, |(_, seconds)| *seconds)
}

impl Method {
    /// What was chosen, for `rows` rows.
    ///
    /// Errors: the protocol cannot do it; the choice is not of this job.
    pub fn new(job: &Spec<'_>, chosen: &Chosen, rows: usize) -> Result<Method> {
        let shape = job.dot_shape(rows)?;
        let modulus = job.modulus(&shape)?;
        let learner = match (&job.reveal, &job.reveal_to[..]) {
            (Reveal::Value, [only]) => Some(super::side(job, only)),
            _ => None,
        };
        match (chosen.protocol, chosen.extension) {
            (Protocol::Ot, Some(extension)) => Ok(Method::Ot(ot::Params::new(shape, modulus, extension, learner)?)),
            (Protocol::Lattice, None) => Ok(Method::Lattice(Box::new(lattice::Params::new(shape, modulus, learner)?))),
            (Protocol::Paillier, None) => {
                let params = paillier::Params::new(shape, modulus, KeySize::of(job.level), learner)?;
                Ok(Method::Paillier(match job.own.chunk {
                    Some(rows) => params.with_chunk(rows as usize),
                    None => params,
                }))
            }
            (Protocol::GmBloom, None) => {
                let lengths = gm_bloom::Lengths::of(job.level)?;
                let bound = job.most_ones(rows)?.unwrap_or(rows);
                Ok(Method::GmBloom(match job.reveal {
                    Reveal::Shares => gm_bloom::Params::in_parts(shape, modulus, lengths, bound)?,
                    _ => gm_bloom::Params::new(shape, modulus, lengths, bound, learner)?,
                }))
            }
            _ => Err(Error::Internal(format!("\"{chosen}\" multiplies no columns"))),
        }
    }

    /// What is multiplied.
    pub fn shape(&self) -> Shape {
        match self {
            Method::Ot(params) => *params.shape(),
            Method::Lattice(params) => params.shape(),
            Method::Paillier(params) => *params.shape(),
            Method::GmBloom(params) => *params.shape(),
        }
    }

    /// What shares add up modulo.
    pub fn modulus(&self) -> Modulus {
        match self {
            Method::Ot(params) => params.modulus(),
            Method::Lattice(params) => params.modulus(),
            Method::Paillier(params) => params.modulus(),
            Method::GmBloom(params) => params.modulus(),
        }
    }

    /// Bytes that a party sends, without the opening of shares and the closing frame.
    pub fn bytes_sent_by(&self, side: Side) -> u64 {
        match self {
            Method::Ot(params) => params.bytes_sent_by(side),
            Method::Lattice(params) => params.bytes_sent_by(side),
            Method::Paillier(params) => params.bytes_sent_by(side),
            Method::GmBloom(params) => params.bytes_sent_by(side),
        }
    }

    /// Message flights in sequence, as a channel counts them: of silent transfers' segments, the first alone.
    pub fn rounds(&self) -> u32 {
        match self {
            Method::Ot(params) => params.rounds(),
            Method::Lattice(params) => params.rounds(),
            Method::Paillier(params) => params.rounds(),
            Method::GmBloom(params) => params.rounds(),
        }
    }

    /// Who sends the first message.
    pub fn begins(&self) -> Side {
        match self {
            Method::Ot(params) => params.ot_sender(),
            Method::Lattice(params) => params.encryptor(),
            Method::Paillier(params) => params.encryptor(),
            Method::GmBloom(params) => params.counter().unwrap_or(Side::First),
        }
    }

    /// Who sends the last message.
    pub fn ends(&self) -> Side {
        match self {
            Method::Ot(params) => params.ot_sender(),
            Method::Lattice(params) => params.encryptor().other(),
            Method::Paillier(params) => params.encryptor().other(),
            Method::GmBloom(params) => params.counter().map_or(Side::First, Side::other),
        }
    }

    /// CPU seconds of each party on this machine, where `ot` by [`MEASURED`](crate::agreement::cost::MEASURED) takes each party `start` before the first
    /// transfer and both together `transfer` for each; without these, on any.
    pub fn cpu(&self, measured: Option<(f64, f64)>) -> Cpu {
        let shape = self.shape();
        let rows = shape.rows as f64;
        let (ot_start, machine) = measured.map_or((OT_START, 1.0), |(start, each)| (start, each / TRANSFERS[1].1));
        match self {
            Method::Ot(params) => {
                let each = transfer_seconds(params.extension());
                let shared = shape.first.max(shape.second).saturating_sub(1) as f64;
                let transfers = params.transfers() as f64;
                let start = if params.extension() == Extension::Silent { SILENT_START } else { ot_start };
                let both = transfers * machine * (each + shared * OT_WORD);
                Cpu { first: start + both / 2.0, second: start + both / 2.0 }
            }
            Method::Lattice(params) => {
                let (_, primes) = params.prime_bits();
                let (encrypted, prepared) = match params.encryptor() {
                    Side::First => (shape.first, shape.second),
                    Side::Second => (shape.second, shape.first),
                };
                let primes = primes as f64;
                // Several columns in one number are encrypted and multiplied as one.
                let numbers = rows * encrypted.div_ceil(params.digits()) as f64;
                let encryptor = LATTICE_START + primes * ENCRYPT * numbers;
                let answerer = LATTICE_START
                    + primes
                        * (RECEIVE * numbers + PREPARE * rows * prepared as f64 + MULTIPLY * numbers * prepared as f64);
                Cpu::of(params.encryptor(), encryptor, answerer)
            }
            Method::Paillier(params) if params.rounds() == 0 => Cpu { first: 0.0, second: 0.0 },
            Method::GmBloom(params) => gm_bloom_cpu(params),
            Method::Paillier(params) => {
                let encryptor = params.encryptor();
                let columns = shape.columns(encryptor) as f64;
                let longer = params.key_size().bits() as f64 / 3072.0;
                let (square, cube) = (longer.powi(2), longer.powi(3));
                let numbers = rows * columns;
                let messages = columns * shape.rows.div_ceil(params.chunk()) as f64;
                let answers = params.products() as f64;
                let factors = numbers + rows * answers * f64::from(shape.integers.bits());
                let encrypting = KEY * longer.powi(4) + cube * (ENCRYPTION * numbers + DECRYPTION * answers);
                let answering = square * (MESSAGE * messages + FACTOR * factors) + cube * ANSWER * answers;
                Cpu::of(encryptor, encrypting, answering)
            }
        }
    }

    /// Memory besides the columns, in bytes, an estimate from above.
    pub fn memory(&self) -> u64 {
        match self {
            Method::Ot(params) if params.extension() == Extension::Silent => 512 << 20,
            Method::Ot(_) => 64 << 20,
            Method::Lattice(params) => {
                let shape = params.shape();
                let polynomials = shape.first.max(shape.second).div_ceil(params.columns_in_polynomial()) as u64;
                (64 << 20) + polynomials * params.sums_bytes()
            }
            Method::Paillier(params) => {
                let shape = params.shape();
                let planes = shape.first.max(shape.second) as u64 * u64::from(shape.integers.bits());
                let ciphertexts = 16 * planes.max(64) + 3 * params.products() as u64;
                (192 << 20) + ciphertexts * params.key_size().ciphertext_bytes() as u64
            }
            Method::GmBloom(params) => {
                // The labeller keeps a column of the counter's. Both have labels, an order, and two sets with their filters.
                let (rows, ones) = (params.shape().rows as u64, params.bound() as u64);
                let lengths = params.lengths();
                let kept = rows * (lengths.key.modulus_bytes() as u64 + 36);
                let sets = ones * (100 + 4 * lengths.strength.bits() as u64) + params.bloom().slots() as u64 / 4;
                (64 << 20) + (21 << 20) * rayon::current_num_threads() as u64 + kept + sets
            }
        }
    }

    /// A party's part: its shares of the products.
    pub fn run(
        &self,
        side: Side,
        columns: &Columns,
        session: &Session,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Shares> {
        match self {
            Method::Ot(params) => ot::run(side, columns, params, session, channel, rng),
            Method::Lattice(params) => lattice::run(side, columns, params, session, channel, rng),
            Method::Paillier(params) => paillier::run(side, columns, params, channel, rng),
            Method::GmBloom(params) => gm_bloom::run(side, columns, params, session, channel, rng),
        }
    }
}
