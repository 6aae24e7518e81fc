//! The protocols that multiply columns, and the table of them: each is a file with all that is asked of it.

pub mod lattice;
pub mod ot;
pub mod paillier;
mod pair;
pub mod published;

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::paillier::Params as PaillierParams;
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares};
use tacita_core::protocol::rules::support::Fraction;
use tacita_core::{Error, Level, Result, Session, Side};

use super::clients::{self, WithClients};
use super::mesh::DotMesh;
use super::{DotInput, DotJob};
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::{bad, either};
use crate::agreement::{
    Choice, Chosen, Disclosure, JobSpec, KnownSizes, Names, Network, PartContext, Protocol, Reveal, RunResult, Sizes,
    WrittenNumber,
};
use pair::DotPair;

/// A way to make a job's products: between two parties, among more, or with clients.
pub trait DotMethod {
    /// The protocols that do it.
    fn protocols(&self) -> Vec<Protocol>;

    /// Chooses the protocol that runs.
    fn choose(&self, job: &DotJob<'_>, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice>;

    /// Memory of a party, its table aside, in bytes: an estimate from above.
    fn memory(&self, job: &DotJob<'_>, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64>;

    /// Computes the cost to all parties, the handshake aside.
    fn cost(
        &self,
        job: &DotJob<'_>,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost>;

    /// Returns plain sentences on what `party` learns, given what is known.
    fn learned(&self, job: &DotJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String>;

    /// Returns a summary of who learns what.
    fn at_a_glance(&self, job: &DotJob<'_>) -> Vec<Disclosure>;

    /// Runs a party's part of the protocol.
    fn run(&self, brought: &mut DotInput, run: PartContext<'_>) -> Result<RunResult>;
}

/// The way of a job.
pub fn of(job: &JobSpec) -> Box<dyn DotMethod + '_> {
    match job.clients() {
        Some(roles) => Box::new(WithClients(roles)),
        None if job.parties.0.len() > 2 => Box::new(DotMesh),
        None => Box::new(DotPair),
    }
}

/// A protocol that multiplies columns of two parties.
pub trait DotPairMethod: Sync {
    /// The word for it in job files.
    fn protocol(&self) -> Protocol;

    /// Whether it is there as a paper has it, for who names it, and costs a thousand times as much as others that do
    /// the same.
    fn is_published(&self) -> bool {
        false
    }

    /// Whether parties may add noise to what it makes: it holds the receiver's numbers to their bits.
    fn adds_noise(&self) -> bool {
        false
    }

    /// Whether it is there at this level, which is another than 128 bits.
    fn has(&self, _level: Level) -> bool {
        false
    }

    /// Whether it sends columns in messages of so many rows.
    fn sends_chunks(&self) -> bool {
        false
    }

    /// Whether it has a bound on the ones of a column.
    fn bounds_ones(&self) -> bool {
        false
    }

    /// Returns why there is no choice of extension for its oblivious transfers; none if there is one.
    fn has_no_extension(&self) -> Option<&'static str> {
        Some("makes no oblivious transfers")
    }

    /// Returns a further hint for users whose numbers cannot be read, besides the expected form.
    fn only_numbers(&self) -> Option<&'static str> {
        None
    }

    /// Whether it does what the terms ask, where it is named. The error says what would.
    fn check(&self, _job: &JobSpec, _keys: &ProtocolKeys<'_>) -> Result<()> {
        Ok(())
    }

    /// Returns the ways to run the protocol; none if another protocol is better at it and no job names this one.
    fn ways(&self, job: &DotJob<'_>, products: usize) -> Vec<Option<Extension>>;

    /// Whether the terms leave this way of doing it.
    fn allows(&self, _job: &DotJob<'_>, extension: Option<Extension>) -> bool {
        extension.is_none()
    }

    /// A job's products over so many rows.
    ///
    /// Errors: the protocol cannot make them.
    fn product(&self, job: &DotJob<'_>, wanted: ProductRequest) -> Result<Box<dyn Product>>;

    /// Returns the protocol's form for association rules, which multiplies some pairs of columns at a time.
    fn of_pairs(&self) -> Option<&dyn PairProducts> {
        None
    }

    /// Returns plain sentences on what the shares of this side tell, if they are no uniformly random numbers.
    fn telling(&self, _side: Side) -> Option<&'static str> {
        None
    }
}

/// A protocol that makes some products of pairs of columns.
pub trait PairProducts: Sync {
    /// The products of pairs of columns.
    ///
    /// Errors: the protocol cannot make them.
    fn product(
        &self,
        terms: &PairTerms,
        shape: Shape,
        modulus: Modulus,
        pairs: &[(u32, u32)],
    ) -> Result<Box<dyn Product>>;
}

/// Terms for products of pairs.
#[derive(Debug, Clone, Copy)]
pub struct PairTerms {
    /// The level of security.
    pub level: Level,
    /// Fraction of a column's rows that may be ones.
    pub density: Fraction,
}

/// Products that a job wants.
#[derive(Debug, Clone, Copy)]
pub struct ProductRequest {
    /// Number of columns and rows.
    pub shape: Shape,
    /// Modulus of the sum of shares.
    pub modulus: Modulus,
    /// Extension with which oblivious transfers are made.
    pub extension: Option<Extension>,
    /// Party that alone learns the products, as soon as they are there, if there is one.
    pub learner: Option<Side>,
}

/// A protocol with all that both parties derive from terms, choice and the number of rows.
pub trait Product: Send + Sync {
    /// Returns the shape of the product.
    fn shape(&self) -> Shape;

    /// Returns the modulus of the sum of shares.
    fn modulus(&self) -> Modulus;

    /// Bytes that a party sends, without the opening of shares and the closing frame.
    fn bytes_sent_by(&self, side: Side) -> u64;

    /// Message flights in sequence, as a channel counts them: of silent transfers' segments, the first alone.
    fn rounds(&self) -> u32;

    /// Returns the side that sends the first message.
    fn begins(&self) -> Side;

    /// Returns the side that sends the last message.
    fn ends(&self) -> Side;

    /// CPU seconds of each party on this machine; without one, on any.
    fn cpu(&self, machine: Option<&Calibration>) -> Cpu;

    /// Memory besides the columns, in bytes, an estimate from above.
    fn memory(&self) -> u64;

    /// Returns the protocol's parameters, if a party may take its encryptions from a pool.
    fn pooled(&self) -> Option<&PaillierParams> {
        None
    }

    /// A party's part: its shares of the products.
    fn run(
        &self,
        side: Side,
        columns: &Columns,
        session: &Session,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
    ) -> Result<Shares>;
}

/// CPU seconds that a protocol takes, as far as they can be told before: see `docs/benchmarks.md`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu {
    /// CPU seconds of the first party.
    pub first: f64,
    /// CPU seconds of the second party.
    pub second: f64,
}

impl Cpu {
    /// Returns the CPU time of the party at `side` and of the other.
    fn of(side: Side, its: f64, other: f64) -> Cpu {
        match side {
            Side::First => Cpu { first: its, second: other },
            Side::Second => Cpu { first: other, second: its },
        }
    }
}

/// The protocols, in the order in which messages list them.
static METHODS: [&dyn DotPairMethod; 4] =
    [&ot::Ot, &lattice::Lattice, &paillier::Paillier, &published::gm_bloom::GmBloom];

/// Returns all methods for a pair.
pub fn all() -> impl Iterator<Item = &'static dyn DotPairMethod> {
    METHODS.into_iter()
}

/// The one that a job names; none: the first party chooses.
pub fn named(protocol: Protocol) -> Option<&'static dyn DotPairMethod> {
    all().find(|method| method.protocol() == protocol)
}

/// A job's products over `rows` rows, by what was chosen.
///
/// Errors: the protocol cannot make them; the choice is not of this job.
pub fn product(job: &DotJob<'_>, chosen: &Chosen, rows: usize) -> Result<Box<dyn Product>> {
    let shape = job.dot_shape(rows)?;
    let modulus = job.modulus(rows)?;
    let learner = match (&job.reveal, &job.reveal_to[..]) {
        (Reveal::Value, [only]) => Some(super::side(job, only)),
        _ => None,
    };
    let method = named(chosen.protocol).filter(|method| method.allows(job, chosen.extension));
    let method = method.ok_or_else(|| Error::Internal(format!("\"{chosen}\" multiplies no columns")))?;
    method.product(job, ProductRequest { shape, modulus, extension: chosen.extension, learner })
}

/// Keys of job files that go with some protocols alone, and what else these look at.
pub struct ProtocolKeys<'a> {
    /// Extension with which oblivious transfers are made.
    pub extension: Option<Extension>,
    /// Fraction of a column's rows that may be ones.
    pub density: Option<&'a WrittenNumber>,
    /// Rows of a column in one message.
    pub chunk: Option<u64>,
    /// The columns by which rows are aligned.
    pub row_id: Option<&'a Names>,
    /// Kind of integers that columns hold, and their number of decimals.
    pub numbers: (Integers, u32),
}

/// Whether the protocol that a job names, or any, goes with these keys.
pub fn check(job: &JobSpec, keys: &ProtocolKeys<'_>) -> Result<()> {
    // Clients have one protocol, whether the job names it or not.
    let protocol = if job.has_roles() { clients::PROTOCOL } else { job.protocol };
    let named = named(protocol);
    let those = |does: &dyn Fn(&dyn DotPairMethod) -> bool| {
        either(all().filter(|method| does(*method)).map(|method| method.protocol().name()))
    };
    if keys.chunk.is_some() && !named.is_some_and(|method| method.sends_chunks()) {
        let those = those(&|method| method.sends_chunks());
        return bad(format!("chunk: only protocol = {those} sends its columns in chunks; leave it out"));
    }
    if keys.extension.is_some()
        && let Some(why) = named.and_then(|method| method.has_no_extension())
    {
        return bad(format!("extension: protocol = \"{}\" {why}; leave it out", protocol.name()));
    }
    if keys.density.is_some() && !named.is_some_and(|method| method.bounds_ones()) {
        let those = those(&|method| method.bounds_ones());
        return bad(format!("density: only protocol = {those} has a bound on the ones of a column; leave it out"));
    }
    if job.level != Level::Bits128 && !named.is_some_and(|method| method.has(job.level)) {
        let those = those(&|method| method.has(job.level));
        return bad(format!("level = \"{}\" is available with protocol = {those} only: use \"bits128\"", job.level));
    }
    named.map_or(Ok(()), |method| method.check(job, keys))?;
    if job.level != Level::Bits128 && keys.row_id.is_some() {
        bad(format!(
            "level = \"{}\" is not available with row_id, because the intersection that aligns rows has 128 bits: use \
             \"bits128\", or align rows by position",
            job.level
        ))
    } else {
        Ok(())
    }
}
