//! The protocols of a union, and the table of them.

pub mod ecdh;
mod published;

use std::sync::Arc;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::published::intersect::{self, polynomial::PolynomialRequest};
use tacita_core::session::Session;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::disk::Disk;
use super::load::Loaded;
use super::{Union, UnionInput, sizes};
use crate::agreement::cost::{Calibration, RoleCost};
use crate::agreement::handshake::HandshakeResult;
use crate::agreement::{JobSpec, Protocol, Reveal, Sizes};

/// A protocol of a union.
pub(super) trait Method: Sync {
    /// The word for it in job files.
    fn protocol(&self) -> Protocol;

    /// Whether it does what the terms ask. The error is for who names it, and says what else does.
    fn check(&self, job: &JobSpec) -> Result<()>;

    /// Returns the reason to choose the protocol; none: it runs only if named.
    fn advantage(&self) -> Option<&'static str>;

    /// Returns the variant that the parties run, if sizes decide it.
    fn way(&self, _sizes: &Pair<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    /// Returns the cost of one run.
    fn cost(&self, sizes: &Pair<'_>, machine: &Calibration) -> Result<Cost>;

    /// Memory of the receiver or of the sender in one run, in bytes: its table aside, an estimate from above.
    fn memory(&self, sizes: &Pair<'_>, receives: bool) -> Result<u64>;

    /// Appends what `party` learns or could do by this protocol, besides what all of them tell.
    fn learned(&self, _job: &JobSpec, _party: &str, _learned: &mut Vec<String>) {}

    /// Runs the protocol once.
    fn run(&self, setting: &Setting<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<Found>;
}

/// The protocols, in the order in which messages list them.
static METHODS: [&dyn Method; 3] =
    [&ecdh::Ecdh, &published::polynomial_ot::PolynomialOt, &published::polynomial::Polynomial];

/// Returns all the protocols.
pub(super) fn all() -> impl Iterator<Item = &'static dyn Method> {
    METHODS.into_iter()
}

/// The one that a job names; none: the first party chooses.
pub(super) fn named(protocol: Protocol) -> Option<&'static dyn Method> {
    all().find(|method| method.protocol() == protocol)
}

/// The one that was chosen.
pub(super) fn chosen(protocol: Protocol) -> Result<&'static dyn Method> {
    named(protocol).ok_or_else(|| Error::Internal(format!("a union by {}", protocol.name())))
}

/// The parties that learn, each in a run of its own. Of a count one run tells both.
pub(super) fn receivers(job: &JobSpec) -> impl Iterator<Item = &str> {
    let runs = if job.reveal == Reveal::Count { 1 } else { usize::MAX };
    job.parties.names().into_iter().filter(|name| job.learns(name)).take(runs)
}

/// Terms and sizes of one run.
pub(super) struct Pair<'a> {
    /// Job that is run.
    pub job: &'a JobSpec,
    /// Sizes of the receiver.
    pub asks: &'a Sizes,
    /// Sizes of the sender.
    pub has: &'a Sizes,
}

/// Cost of one run for both roles.
pub(super) struct Cost {
    pub receiver: RoleCost,
    pub sender: RoleCost,
    pub rounds: u32,
}

/// Context in which a party runs a protocol.
pub(super) struct Setting<'a> {
    /// Job that is run.
    pub job: &'a JobSpec,
    /// Name of this party.
    pub me: &'a str,
    /// Input of this party.
    pub brought: &'a UnionInput,
    /// Party that learns in this run.
    pub receiver: &'a str,
    /// The session of this run.
    pub session: &'a Session,
    /// Outcome of the handshake.
    pub agreed: &'a HandshakeResult,
}

impl Setting<'_> {
    /// Whether this party learns in this run.
    pub fn receives(&self) -> bool {
        self.me == self.receiver
    }

    /// Returns the sizes of both parties.
    pub fn sizes(&self) -> Pair<'_> {
        let (own, theirs) = (&self.agreed.own_sizes, &self.agreed.peer_sizes);
        let (asks, has) = if self.receives() { (own, theirs) } else { (theirs, own) };
        Pair { job: self.job, asks, has }
    }
}

impl Pair<'_> {
    /// Returns the requested properties of polynomials.
    pub fn wanted(&self) -> PolynomialRequest {
        let own = Union::of(self.job).polynomials();
        PolynomialRequest {
            level: self.job.level,
            reveal: intersect::polynomial::PolynomialReveal::Count,
            strategy: own.strategy(),
            bins: own.bins(),
            runs: self.job.reveal_to.len(),
        }
    }

    /// Returns the parameters that both parties derive from terms and sizes.
    pub fn params(&self) -> tacita_core::protocol::union::Params {
        sizes::params(self.job, self.asks, self.has)
    }
}

/// Result of a party in one run.
pub(super) enum Found {
    /// No result: the party is not meant to learn anything.
    Nothing,
    /// Table in memory, and the numbers of the keys tried that are in the union.
    Candidates(Arc<Loaded>, Vec<usize>),
    /// Number of keys that the two have together.
    Count(u64),
    /// Table on disk, where the peer's rows are, too.
    OnDisk(Arc<Disk>),
    /// Table in memory, and the data that the peer gives for its keys that this party lacks, concatenated.
    Payloads(Arc<Loaded>, Zeroizing<Vec<u8>>),
}

/// Runs a protocol once.
pub(super) fn run(
    protocol: Protocol,
    setting: &Setting<'_>,
    channel: &mut Channel,
    rng: &mut ChaCha20Rng,
) -> Result<Found> {
    chosen(protocol)?.run(setting, channel, rng)
}
