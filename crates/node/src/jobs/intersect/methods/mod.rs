//! The protocols of an intersection, and the table of them: each is a file with all that is asked of it.

pub mod ecdh;
mod pair;
pub mod published;
pub mod vole;

use std::collections::BTreeMap;
use std::sync::Arc;

use chacha20::ChaCha20Rng;
use serde_json::Value;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::buckets;
use tacita_core::protocol::intersect::tag_exchange::{Matches, Params, ReturnedRows};
use tacita_core::{Error, Item, Level, Result};

use super::Intersect;
use super::found::{IntersectResult, found_payload};
use super::live::LiveList;
use super::load::Loaded;
use super::outsourced::{Outsourced, OutsourcedBloom};
use super::star::StarMethod;
use crate::agreement::cost::{Calibration, Cost as WholeCost, RoleCost};
use crate::agreement::handshake::HandshakeResult;
use crate::agreement::{
    Ability, Choice, Chosen, Disclosure, JobSpec, KnownSizes, Network, PartyInput, Protocol, Sizes, Source, Topology,
};
pub use pair::{IntersectPair, check as check_pair};

/// A protocol of an intersection, among any number of parties: all that the job asks of it.
pub trait IntersectMethod: Sync {
    /// The word for it in job files.
    fn protocol(&self) -> Protocol;

    /// Returns the topology: the parties that talk to each other.
    fn topology(&self) -> Topology<'static>;

    /// Whether there is a form of it for so many parties.
    fn is_for(&self, parties: usize) -> bool;

    /// Whether a job that names no protocol goes by it.
    fn is_usual(&self, _job: &JobSpec) -> bool {
        false
    }

    /// The same as a protocol between two parties.
    fn pair(&self) -> Option<&'static dyn IntersectPairMethod> {
        None
    }

    /// Whether it does what the terms ask. The error is for who names it, and says what else does.
    fn check(&self, job: &JobSpec) -> Result<()>;

    /// Refuses a table on disk, or a part that was prepared, where it has no use for one.
    fn check_work(&self, job: &JobSpec, what: Ability) -> Result<()>;

    /// Whether it can be done bucket by bucket on many machines.
    fn is_spread(&self) -> bool {
        true
    }

    /// Returns the entries of the terms for its own keys.
    fn terms(&self, _own: &Intersect) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// Returns the leak that defeats the purpose of an intersection, so that the protocol is there for comparisons
    /// only.
    fn leak(&self) -> Option<&'static str> {
        None
    }

    /// Returns the reason why this protocol is the one that runs.
    fn why(&self, _job: &JobSpec) -> &'static str {
        "the job names it"
    }

    /// Chooses the protocol that runs.
    fn choose(&self, job: &JobSpec, _sizes: &BTreeMap<String, Sizes>, _network: Network) -> Result<Choice> {
        Ok(Choice { chosen: Chosen::only(self.protocol()), why: self.why(job).into() })
    }

    /// Whether the terms allow the first party to choose this.
    fn allows(&self, _job: &JobSpec, chosen: &Chosen) -> bool {
        *chosen == Chosen::only(self.protocol())
    }

    /// The protocol of this name, if it is by it that such jobs do buckets on disk.
    fn in_buckets_called(&self, _name: &str) -> Option<Protocol> {
        None
    }

    /// Memory of a party, its table aside, in bytes: an estimate from above.
    fn memory(&self, job: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64>;

    /// Computes the cost to all parties, the handshake aside.
    fn cost(
        &self,
        job: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<WholeCost>;

    /// Returns plain sentences on what `party` learns, given what is known.
    fn learned(&self, job: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String>;

    /// Returns a summary of who learns what.
    fn at_a_glance(&self, job: &JobSpec) -> Vec<Disclosure>;

    /// Reads a party's data.
    fn load(&self, job: &JobSpec, me: &str, source: &Source) -> Result<Box<dyn PartyInput>>;
}

/// A protocol of an intersection between two parties.
pub trait IntersectPairMethod: Sync {
    /// The word for it in job files.
    fn protocol(&self) -> Protocol;

    /// Whether it does what the terms ask. The error is for who names it, and says what else does.
    fn check(&self, job: &JobSpec) -> Result<()>;

    /// Returns the entries of the terms for its own keys.
    fn terms(&self, _own: &Intersect) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// Returns the reason to choose the protocol, if it is the fastest of those able to do the job; none: it runs only
    /// if named.
    fn advantage(&self) -> Option<&'static str>;

    /// Whether it can use what the sender has prepared.
    fn uses_prepared(&self) -> bool {
        false
    }

    /// Returns the bucketed form of the protocol, with a table on disk.
    fn in_buckets(&self) -> Option<&dyn Bucketed> {
        None
    }

    /// Returns the variant that the parties run, if sizes decide it.
    fn way(&self, _job: &JobSpec, _params: Params) -> Result<Option<String>> {
        Ok(None)
    }

    /// Returns the cost on such a machine.
    fn cost(
        &self,
        job: &JobSpec,
        params: Params,
        returned: ReturnedRows,
        machine: &Calibration,
    ) -> Result<IntersectCost>;

    /// Memory of the receiver or of the sender, which has `items` keys, in bytes: its table aside, an estimate from
    /// above.
    fn memory(&self, job: &JobSpec, receives: bool, items: u64, params: Params) -> Result<u64>;

    /// Appends what `party` learns or could do by this protocol, besides what all of them tell.
    fn learned(&self, _job: &JobSpec, _party: &str, _learned: &mut Vec<String>) {}

    /// Runs the protocol for this party.
    fn run(&self, run: MethodContext<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<IntersectResult>;

    /// Runs it by several keys among malicious parties, who are bound to what they bring by all of them before anybody
    /// learns anything by one. This ends the channel's job. Returns what was found by each.
    fn run_each(
        &self,
        _runs: &[MethodContext<'_>],
        _channel: &mut Channel,
        _rng: &mut ChaCha20Rng,
    ) -> Result<Vec<IntersectResult>> {
        Err(Error::Internal(format!("{} among malicious parties", self.protocol().name())))
    }
}

/// A protocol that runs bucket by bucket.
pub trait Bucketed {
    /// Returns the protocol's identifier in core.
    fn protocol(&self, level: Level) -> buckets::BucketProtocol;

    /// CPU seconds of receiver and sender for so many items of both in so many buckets.
    fn cpu(&self, level: Level, asked: f64, sent: f64, buckets: f64, machine: &Calibration) -> [f64; 2];

    /// Memory of the receiver or of the sender for a bucket with so many items of both, in bytes: what grows with them.
    fn memory(&self, receives: bool, params: &Params) -> u64;

    /// Bytes that the receiver or the sender gets for such a bucket, at most.
    fn received(&self, level: Level, receives: bool, params: &Params) -> u64;
}

/// The protocols, in the order in which messages list them. A word may stand for several, of which each is for other
/// jobs.
static METHODS: [&dyn IntersectMethod; 9] = [
    &IntersectPair(&vole::Vole),
    &IntersectPair(&ecdh::Ecdh),
    &IntersectPair(&published::bloom::Bloom),
    &IntersectPair(&published::polynomial::Polynomial),
    &StarMethod,
    &published::kissner_song::KissnerSong,
    &Outsourced,
    &OutsourcedBloom,
    &LiveList,
];

/// The words for those that there are for so many parties, each once; for any number where none is given.
pub fn protocols(parties: Option<usize>) -> Vec<Protocol> {
    let mut words = Vec::new();
    for method in METHODS.into_iter().filter(|method| parties.is_none_or(|parties| method.is_for(parties))) {
        if !words.contains(&method.protocol()) {
            words.push(method.protocol());
        }
    }
    words
}

/// The one that a job goes by, or one of those among which its first party chooses.
pub fn of(job: &JobSpec) -> &'static dyn IntersectMethod {
    let goes_by = |method: &&dyn IntersectMethod| {
        let named = method.protocol() == job.protocol && method.is_for(job.parties.0.len());
        named || (job.protocol.is_auto() && method.is_usual(job))
    };
    match METHODS.into_iter().find(goes_by).unwrap_or(&IntersectPair(&vole::Vole)) {
        method if method.topology() == Topology::Pair && job.clients.is_some() => &LiveList,
        method => method,
    }
}

/// Returns the protocols between two parties.
pub fn of_two() -> impl Iterator<Item = &'static dyn IntersectPairMethod> {
    METHODS.into_iter().filter_map(|method| method.pair())
}

/// Returns the protocols between two parties among which the first party chooses, with the advantage of each.
pub fn automatic() -> impl Iterator<Item = &'static dyn IntersectPairMethod> {
    of_two().filter(|method| method.advantage().is_some())
}

/// The one between two that a job names; none: the first party chooses.
pub fn named(protocol: Protocol) -> Option<&'static dyn IntersectPairMethod> {
    of_two().find(|method| method.protocol() == protocol)
}

/// The one between two that was chosen.
pub fn chosen(protocol: Protocol) -> Result<&'static dyn IntersectPairMethod> {
    named(protocol).ok_or_else(|| Error::Internal(format!("an intersection by {}", protocol.name())))
}

/// The one between two that is called so.
pub fn called(name: &str) -> Option<&'static dyn IntersectPairMethod> {
    of_two().find(|method| method.protocol().name() == name)
}

/// Cost of an intersection for both roles.
#[derive(Debug)]
pub struct IntersectCost {
    /// Cost for the receiver.
    pub receiver: RoleCost,
    /// Cost for the sender.
    pub sender: RoleCost,
    /// Message flights in sequence.
    pub rounds: u32,
}

/// Context in which a party runs a protocol.
pub struct MethodContext<'a> {
    /// Job that is run.
    pub job: &'a JobSpec,
    /// Name of this party.
    pub me: &'a str,
    /// Loaded table of this party.
    pub loaded: &'a Arc<Loaded>,
    /// Items of this party.
    pub items: Vec<Item>,
    /// The id of the prepared part that items are bound to, in place of the session.
    pub epoch: Option<[u8; 32]>,
    /// Parameters that both parties derive from terms and sizes.
    pub params: Params,
    /// Outcome of the handshake.
    pub agreed: &'a HandshakeResult,
}

impl MethodContext<'_> {
    /// Whether this party is the receiver.
    pub fn receives(&self) -> bool {
        self.me == self.job.receiver()
    }

    /// Returns the receiver's result.
    pub fn rows(&self, common: Vec<usize>) -> IntersectResult {
        IntersectResult::Rows(self.loaded.clone(), common)
    }

    /// Returns the receiver's result, with the sender's rows.
    pub fn payload(&self, common: Matches) -> Result<IntersectResult> {
        found_payload(self.job, self.me, self.loaded, common, &self.agreed.peer_sizes)
    }

    /// Returns the sender's result, if it is told.
    pub fn returned_payload(&self, common: Option<Matches>) -> Result<IntersectResult> {
        common.map_or(Ok(IntersectResult::Nothing), |common| self.payload(common))
    }
}
