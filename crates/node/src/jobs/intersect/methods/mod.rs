//! The protocols of an intersection, and the table of them: each is a file with all that is asked of it.

pub mod bloom;
pub mod ecdh;
pub mod polynomial;
pub mod vole;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::buckets;
use tacita_core::protocol::intersect::entries::{Common, Params, ReturnedRows};
use tacita_core::{Error, Item, Level, Result};

use super::found::{Found, found_payload};
use super::load::Loaded;
use crate::agreement::cost::{Calibration, RoleCost};
use crate::agreement::handshake::Agreed;
use crate::agreement::{JobSpec, Protocol};

/// A protocol of an intersection.
pub trait Method: Sync {
    /// The word for it in job files.
    fn protocol(&self) -> Protocol;

    /// Whether it does what the terms ask. The error is for who names it, and says what else does.
    fn check(&self, job: &JobSpec) -> Result<()>;

    /// Why it is chosen, where it is the fastest of those that can do it; none: only who names it gets it.
    fn advantage(&self) -> Option<&'static str>;

    /// Whether it can use what the sender has prepared.
    fn uses_prepared(&self) -> bool {
        false
    }

    /// How it runs bucket by bucket, with a table on disk.
    fn in_buckets(&self) -> Option<&dyn Bucketed> {
        None
    }

    /// Which way of it the parties go, where sizes decide that.
    fn way(&self, _job: &JobSpec, _params: Params) -> Result<Option<String>> {
        Ok(None)
    }

    /// What it costs on such a machine.
    fn cost(&self, job: &JobSpec, params: Params, returned: ReturnedRows, machine: &Calibration) -> Result<Cost>;

    /// Memory of the receiver or of the sender, which has `items` keys, in bytes: its table aside, an estimate from above.
    fn memory(&self, job: &JobSpec, receives: bool, items: u64, params: Params) -> Result<u64>;

    /// What `party` learns or could do by this protocol, beside what all of them tell.
    fn learned(&self, _job: &JobSpec, _party: &str, _learned: &mut Vec<String>) {}

    /// Runs it.
    fn run(&self, run: Setting<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<Found>;

    /// Runs it by several keys among malicious parties, who are bound to what they bring by all of them before anybody learns anything by
    /// one. This ends the channel's job. Returns what was found by each.
    fn run_each(&self, _runs: &[Setting<'_>], _channel: &mut Channel, _rng: &mut ChaCha20Rng) -> Result<Vec<Found>> {
        Err(Error::Internal(format!("{} among malicious parties", self.protocol().name())))
    }
}

/// A protocol that runs bucket by bucket.
pub trait Bucketed {
    /// What core calls it.
    fn protocol(&self, level: Level) -> buckets::Protocol;

    /// CPU seconds of receiver and sender for so many items of both in so many buckets.
    fn cpu(&self, level: Level, asked: f64, sent: f64, buckets: f64, machine: &Calibration) -> [f64; 2];

    /// Memory of the receiver or of the sender for a bucket with so many items of both, in bytes: what grows with them.
    fn memory(&self, receives: bool, params: &Params) -> u64;

    /// Bytes that the receiver or the sender gets for such a bucket, at most.
    fn received(&self, receives: bool, params: &Params) -> u64;
}

/// The protocols, in the order in which messages list them.
static METHODS: [&dyn Method; 4] = [&vole::Vole, &ecdh::Ecdh, &bloom::Bloom, &polynomial::Polynomial];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static dyn Method> {
    METHODS.into_iter()
}

/// Those among which the first party chooses, with what speaks for each.
pub fn automatic() -> impl Iterator<Item = &'static dyn Method> {
    all().filter(|method| method.advantage().is_some())
}

/// The one that a job names; none: the first party chooses.
pub fn named(protocol: Protocol) -> Option<&'static dyn Method> {
    all().find(|method| method.protocol() == protocol)
}

/// The one that was chosen.
pub fn chosen(protocol: Protocol) -> Result<&'static dyn Method> {
    named(protocol).ok_or_else(|| Error::Internal(format!("an intersection by {}", protocol.name())))
}

/// The one that is called so.
pub fn called(name: &str) -> Option<&'static dyn Method> {
    all().find(|method| method.protocol().name() == name)
}

/// What an intersection costs.
#[derive(Debug)]
pub struct Cost {
    /// The receiver.
    pub receiver: RoleCost,
    /// The sender.
    pub sender: RoleCost,
    /// Message flights in sequence.
    pub rounds: u32,
}

/// What a party runs a protocol with.
pub struct Setting<'a> {
    /// The job.
    pub job: &'a JobSpec,
    /// This party.
    pub me: &'a str,
    /// Its table.
    pub loaded: &'a Loaded,
    /// Its items.
    pub items: Vec<Item>,
    /// The id of the prepared part that items are bound to, in place of the session.
    pub epoch: Option<[u8; 32]>,
    /// What both derive from terms and sizes.
    pub params: Params,
    /// What was agreed on.
    pub agreed: &'a Agreed,
}

impl Setting<'_> {
    /// Whether this party is the receiver.
    pub fn receives(&self) -> bool {
        self.me == self.job.receiver()
    }

    /// What the receiver finds, with the sender's rows.
    pub fn payload(&self, common: Common) -> Result<Found> {
        found_payload(self.job, self.me, common, &self.agreed.peer_sizes)
    }

    /// What the sender finds, if it is told.
    pub fn returned_payload(&self, common: Option<Common>) -> Result<Found> {
        common.map_or(Ok(Found::Nothing), |common| self.payload(common))
    }
}
