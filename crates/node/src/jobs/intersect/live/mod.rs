//! A live list: one party stands and answers, for as long as it likes, many clients that each ask whether a row is on
//! its list. What follows from the job file for both sides is here; `tacita-serve` has the two programs.

mod learned;
mod reader;
mod roll;

use std::collections::BTreeMap;

use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::live::Params;
use tacita_core::session::Transcript;
use tacita_core::{Result, Security};

use super::methods::{self, IntersectMethod, IntersectPair, ecdh};
use super::prepared::{DEFAULT_MAX_CLIENTS, MAX_TOTAL_QUERIES};
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::bad;
use crate::agreement::{
    Ability, Chosen, Disclosure, Duplicates, JobSpec, KeyVerdict, KnownSizes, PartyInput, Protocol, Reveal, Sizes,
    Source, Terms, Topology,
};
use crate::base::text;

pub use learned::{at_a_glance, learned, protocol};
pub use reader::{KeyReader, QueryColumn, QueryRow};
pub use roll::{EncodedRow, Roll, RollChange, RowsRead};

/// Default period in seconds within which the key is rotated, again and again, unless the terms say otherwise.
pub const DEFAULT_ROTATE_WITHIN: u64 = 24 * 3600;

/// The shortest such time.
const MIN_ROTATE_WITHIN: u64 = 10;

/// Maximum lifetime of a key, in days.
pub const EPOCH_DAYS: u64 = 30;

/// The job of a live list: which party is which.
#[derive(Debug, Clone)]
pub struct Live {
    /// Job file of the list.
    pub job: JobSpec,
    /// The party that has the list.
    pub authority: String,
    /// The party that each client is.
    pub desk: String,
    /// Parameters that are the same for all desks and epochs.
    pub params: Params,
}

/// Limits on the queries of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Keys of one client, as long as the list is kept.
    pub in_all: Option<u64>,
    /// Keys of one client on one day (UTC).
    pub daily: Option<u64>,
    /// Maximum number of clients.
    pub clients: u64,
}

impl Quota {
    /// Returns the quota of a job.
    pub fn of(job: &JobSpec) -> Quota {
        let limits = &job.limits;
        let clients = limits.max_clients.unwrap_or(DEFAULT_MAX_CLIENTS);
        Quota { in_all: limits.max_queries, daily: limits.daily_queries, clients }
    }

    /// Keys of all clients in one epoch.
    pub fn of_epoch(&self) -> u64 {
        // A span of days touches one day more.
        let daily = self.daily.map_or(u64::MAX, |daily| daily.saturating_mul(EPOCH_DAYS + 1));
        self.in_all.unwrap_or(u64::MAX).min(daily).saturating_mul(self.clients)
    }
}

impl Live {
    /// Reads the settings of a live list from a job file, for the party `me`.
    ///
    /// Errors ([`tacita_core::Error::Input`]): it is not a job for one, or `me` is no party of it.
    pub fn of(job: JobSpec, me: &str) -> Result<Live> {
        job.party(me)?;
        if job.clients.is_none() {
            return bad(
                "[clients] is missing: name the file that lists the clients, as [clients] allow = \"desks.txt\"; for a job of \
                 two parties, use `tacita run`",
            );
        }
        let desk = job.receiver().to_owned();
        let authority = job.peer_of(&desk).to_owned();
        let params = params(&job)?;
        Ok(Live { job, authority, desk, params })
    }

    /// Returns the number of keys per row: each is a place in the table, and an element of a query.
    pub fn keys(&self) -> usize {
        self.job.alternatives().len().max(1)
    }

    /// The verdict by each key.
    pub fn verdicts(&self) -> Vec<KeyVerdict> {
        let verdict = |number| self.job.key.as_ref().map_or(KeyVerdict::Match, |key| key.verdict(number));
        (0..self.keys()).map(verdict).collect()
    }

    /// The job of each key.
    pub fn jobs(&self) -> Vec<JobSpec> {
        let alternatives = self.job.alternatives();
        if alternatives.is_empty() { vec![self.job.clone()] } else { alternatives }
    }

    /// Returns the identifier in all computations of an epoch with this random id: bound to the terms, and so to the
    /// authority's identity.
    pub fn epoch(&self, id: &[u8; 32]) -> [u8; 32] {
        let mut transcript = Transcript::new("live epoch");
        transcript.append("epoch", id).append("terms", Terms::of(&self.job).agreement().as_bytes());
        transcript.challenge("epoch")
    }

    /// The keys under which rows are items in an epoch, one for each key of a row.
    pub fn item_keys(&self, epoch: &[u8; 32]) -> Vec<[u8; 32]> {
        let of = |number: u32| {
            let mut hasher = blake3::Hasher::new_derive_key("tacita 1 live item");
            *hasher.update(epoch).update(&number.to_le_bytes()).finalize().as_bytes()
        };
        (0..self.keys() as u32).map(of).collect()
    }

    /// Returns the period in seconds within which the key is rotated, again and again, whatever happens to the list.
    pub fn rotate_within(&self) -> u64 {
        self.job.limits.rotate_within.unwrap_or(DEFAULT_ROTATE_WITHIN)
    }
}

/// Returns the parameters that are the same for all desks and epochs.
fn params(job: &JobSpec) -> Result<Params> {
    let rows = job.limits.pad_to.unwrap_or_default() as usize;
    let suite = ecdh::suite(job.level);
    let keys = job.alternatives().len().max(1);
    Params::new(rows.saturating_mul(keys), Quota::of(job).of_epoch() as usize, suite)
}

/// Refuses to run a job that is served.
///
/// Errors ([`tacita_core::Error::Input`]): it has `[clients]`.
pub fn refuse_run(job: &JobSpec) -> Result<()> {
    if job.clients.is_some() { not_run(job) } else { Ok(()) }
}

/// An error about a job that is served, and was to be run.
fn not_run<T>(job: &JobSpec) -> Result<T> {
    bad(format!(
        "[clients]: this job is a standing service, not a single run: {} starts `tacita serve`, and each of the others `tacita \
         desk`",
        job.peer_of(job.receiver())
    ))
}

/// The protocol of a list that is served, which is one between two parties again and again.
pub struct LiveList;

impl IntersectMethod for LiveList {
    fn protocol(&self) -> Protocol {
        ecdh::PROTOCOL
    }

    fn topology(&self) -> Topology<'static> {
        Topology::Served
    }

    /// A job goes by it that says who asks, whatever it names.
    fn is_for(&self, _parties: usize) -> bool {
        false
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        methods::check_pair(job)
    }

    fn check_work(&self, job: &JobSpec, what: Ability) -> Result<()> {
        ONCE.check_work(job, what)
    }

    fn memory(&self, job: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        ONCE.memory(job, me, chosen, sizes)
    }

    fn cost(
        &self,
        job: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        ONCE.cost(job, chosen, sizes, machine)
    }

    fn learned(&self, job: &JobSpec, party: &str, _known: KnownSizes<'_>) -> Vec<String> {
        learned(job, party)
    }

    fn at_a_glance(&self, job: &JobSpec) -> Vec<Disclosure> {
        at_a_glance(job)
    }

    fn load(&self, job: &JobSpec, _me: &str, _source: &Source) -> Result<Box<dyn PartyInput>> {
        not_run(job)
    }
}

/// Protocol that stands for the work for one client.
const ONCE: IntersectPair = IntersectPair(&ecdh::Ecdh);

/// Checks what a job for a live list has to be, and that no other has what is for them alone.
pub(super) fn check(job: &JobSpec) -> Result<()> {
    let limits = &job.limits;
    if job.clients.is_none() {
        let only = [("daily_queries", limits.daily_queries), ("rotate_within", limits.rotate_within)];
        return match only.into_iter().find(|(_, limit)| limit.is_some()) {
            Some((name, _)) => bad(format!(
                "limits.{name} is for standing services only: leave it out, or name the clients ([clients] allow = FILE)"
            )),
            None => Ok(()),
        };
    }
    let of_runs = [
        ("min_rows", limits.min_rows.is_some()),
        ("max_null", limits.max_null.is_some()),
        ("max_unreadable", limits.max_unreadable.is_some()),
    ];
    if let Some((name, _)) = of_runs.into_iter().find(|(_, is_there)| *is_there) {
        return bad(format!(
            "limits.{name} is for jobs that are run, and this one is served ([clients]): leave it out"
        ));
    }
    if !job.protocol.is_auto() && job.protocol != ecdh::PROTOCOL {
        return bad(format!(
            "protocol = \"{}\" has no live list ([clients]): use \"ecdh\" or \"auto\"",
            job.protocol.name()
        ));
    }
    if job.security != Security::SemiHonest || Suite::of(job.level).is_none() {
        return bad(
            "[clients]: a live list answers by \"ecdh\", for semi-honest parties, at bits128, bits192 or bits256: change security or level",
        );
    }
    if job.reveal != Reveal::Rows {
        return bad(format!(
            "reveal = \"{}\" is not available for a live list ([clients]): use reveal = \"rows\", which tells a desk whether a \
             row is on it",
            job.reveal.kind()
        ));
    }
    let [desk] = &job.reveal_to[..] else {
        return bad(
            "reveal_to: of a live list ([clients]), the desks learn and the other does not: name the desks' party alone",
        );
    };
    if job.party(desk)?.identity.is_some() {
        return bad(format!(
            "parties.{desk}.identity: desks are listed in the file of [clients] allow: leave it out, so that all share one job file"
        ));
    }
    if job.key.as_ref().is_some_and(|key| matches!(key.duplicates, Duplicates::Multiset | Duplicates::Error)) {
        return bad("key.duplicates: a live list is a set: use \"all\" or \"first\", or leave it out");
    }
    if limits.min_result.is_some() {
        return bad("limits.min_result applies to numbers, and a live list answers for single rows: leave it out");
    }
    if limits.pad_to.is_none() {
        return bad(
            "limits.pad_to is missing: set it to the most rows that the list may ever have, which is the length of its table",
        );
    }
    let quota = Quota::of(job);
    if quota.in_all.is_none() && quota.daily.is_none() {
        return bad(
            "limits.daily_queries is missing: set how many keys one desk may ask a day (or, with max_queries, in all). Without a \
             limit, a desk could try every possible name",
        );
    }
    if quota.of_epoch() > MAX_TOTAL_QUERIES {
        return bad(format!(
            "limits: all clients may ask {} keys in the {EPOCH_DAYS} days of one secret key, which answers at most {}: lower \
             max_clients, or the quota of each",
            text::count(quota.of_epoch()),
            text::count(MAX_TOTAL_QUERIES)
        ));
    }
    let longest = EPOCH_DAYS * 24 * 3600;
    if limits.rotate_within.is_some_and(|seconds| !(MIN_ROTATE_WITHIN..=longest).contains(&seconds)) {
        return bad(format!("limits.rotate_within: use {MIN_ROTATE_WITHIN}s to {EPOCH_DAYS}d"));
    }
    params(job).map(drop)
}

#[cfg(test)]
mod tests;
