//! `outsourced`: among any number of parties through a helper, or through the first party in its place. See
//! `tacita_core::protocol::intersect::outsourced`.

mod cost;
mod learned;
mod part;
mod published;
mod values;

use std::collections::BTreeMap;

use tacita_core::depot::Depot;
use tacita_core::primitive::group::Ristretto255;
use tacita_core::protocol::intersect::outsourced::meet::announcement_bytes;
use tacita_core::protocol::intersect::outsourced::{
    self, MAX_CATEGORIES, MAX_GIVEN_BYTES, OutsourcedGives, Params, helper,
};
use tacita_core::{Error, Result, Security};

use super::load::given_columns;
use super::methods::IntersectMethod;
use super::sizes::quota_limit;
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::bad;
use crate::agreement::{
    Ability, Chosen, Disclosure, JobSpec, KnownSizes, PartyInput, Protocol, Reveal, Sizes, Source, Terms, Topology,
};
use crate::base::text::count;
use crate::table::PayloadSchema;
use crate::transport::Peer;
use crate::transport::depot::Expected;
use crate::transport::depot::word::SIGNED_BYTES;

pub use learned::helper_learns;
pub use published::Filters;
use published::bloom;
pub use published::bloom::OutsourcedBloom;

/// The word for it.
pub const PROTOCOL: Protocol = Protocol::named("outsourced");

/// Row of the protocol in the table of methods.
pub struct Outsourced;

impl IntersectMethod for Outsourced {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn topology(&self) -> Topology<'static> {
        Topology::Helper
    }

    fn is_for(&self, _parties: usize) -> bool {
        true
    }

    fn is_usual(&self, job: &JobSpec) -> bool {
        job.helper.is_some()
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        check(job, PROTOCOL)?;
        job.check_level()?;
        // Gives that are not there yet are told of later.
        if job.reveal.columns().is_empty() || job.number_giver().is_some() {
            params(job)?;
        }
        Ok(())
    }

    fn check_work(&self, _job: &JobSpec, _what: Ability) -> Result<()> {
        refuse_work()
    }

    fn is_spread(&self) -> bool {
        false
    }

    fn why(&self, job: &JobSpec) -> &'static str {
        if job.protocol.is_auto() { "the job has a helper" } else { "the job names it" }
    }

    fn memory(&self, job: &JobSpec, me: &str, _chosen: &Chosen, _sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        cost::memory(job, me)
    }

    fn cost(
        &self,
        job: &JobSpec,
        _chosen: &Chosen,
        _sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        cost::cost(job, machine)
    }

    fn learned(&self, job: &JobSpec, party: &str, _known: KnownSizes<'_>) -> Vec<String> {
        learned::learned(job, party)
    }

    fn at_a_glance(&self, job: &JobSpec) -> Vec<Disclosure> {
        learned::at_a_glance(job)
    }

    fn load(&self, job: &JobSpec, me: &str, source: &Source) -> Result<Box<dyn PartyInput>> {
        Ok(Box::new(part::OutsourcedInput::load(job, me, source)?))
    }
}

/// Refuses tables elsewhere than in memory.
fn refuse_work() -> Result<()> {
    bad("--work: a run through a helper keeps its table in memory: leave it out")
}

/// Refuses what neither form of it does.
fn check(job: &JobSpec, protocol: Protocol) -> Result<()> {
    let with = format!("with protocol = \"{}\"", protocol.name());
    if job.reveal == Reveal::Payload {
        check_payload(job, &with)?;
    }
    if job.security == Security::Malicious {
        return bad(format!("security = \"malicious\" is not available {with}: use \"semi-honest\""));
    }
    if job.limits.pad_to.is_none() {
        return bad(format!(
            "limits.pad_to is missing, and is needed {with}: agree on the most keys that one party may have"
        ));
    }
    if let Some(limit) = quota_limit(job) {
        return bad(format!("limits.{limit} needs a prepared part, which is not available {with}: leave it out"));
    }
    if job.is_of_multisets() {
        return bad(format!("duplicates = \"multiset\" is not available {with}: use \"all\""));
    }
    if job.clients.is_some() {
        return bad(format!("[clients] is for a list that one party serves, and not {with}: leave it out"));
    }
    if job.key.as_ref().is_some_and(|key| !key.any.is_empty()) {
        return bad(format!("key.any is not available {with}: agree on key.columns"));
    }
    match (&job.reveal, job.scale) {
        (Reveal::Sum(summed), _) if summed.mean => {
            return bad(format!("reveal = \"{}\" is not available {with}: use \"sum:COLUMN\"", job.reveal.kind()));
        }
        (Reveal::Sum(summed), _) if summed.columns.len() > 1 => {
            return bad(format!(
                "reveal = \"{}\": {with} one column at a time is added up: run a job for each",
                job.reveal
            ));
        }
        (Reveal::Sum(_), _) => job.check_scale()?,
        (_, Some(_)) => return bad("scale is for reveal = \"sum:COLUMN\": leave it out"),
        (_, None) => (),
    }
    Ok(())
}

/// Refuses rows that cannot be given: they have one length, which all know before anybody has a table.
fn check_payload(job: &JobSpec, with: &str) -> Result<()> {
    if job.reveal_to.len() > 1 {
        return bad(format!(
            "reveal = \"payload\" {with} is for one party: leave one name in reveal_to, or use protocol = \"star\""
        ));
    }
    if job.limits.max_text.is_none() {
        return bad(format!(
            "limits.max_text is missing, and is needed for reveal = \"payload\" {with}: agree on the most bytes of a text that is \
             given"
        ));
    }
    if let Some(gives) = gives(job)?.into_iter().find(|gives| gives.row_bytes > MAX_GIVEN_BYTES) {
        return bad(format!(
            "gives: rows of up to {} bytes, and {} are possible {with}: agree on fewer columns, or on a lower limits.max_text",
            count(gives.row_bytes as u64),
            count(MAX_GIVEN_BYTES as u64)
        ));
    }
    Ok(())
}

/// Returns what the parties give, by place.
fn gives(job: &JobSpec) -> Result<Vec<OutsourcedGives>> {
    let mut gives = Vec::new();
    for (party, name) in job.parties.names().into_iter().enumerate() {
        if let Some(columns) = given_columns(job, name) {
            let [row_bytes, head_bytes] = PayloadSchema::most_bytes(columns, job.limits.max_text.unwrap_or_default())?;
            gives.push(OutsourcedGives { party, head_bytes, row_bytes });
        }
    }
    Ok(gives)
}

/// Returns the parameters that all derive from the terms.
pub fn params(job: &JobSpec) -> Result<Params> {
    let bound = job.limits.pad_to.unwrap_or_default() as usize;
    let mut learners = job.reveal_to.iter().map(|name| job.parties.place(name)).collect::<Result<Vec<_>>>()?;
    learners.sort_unstable();
    let giver = || {
        let giver = job.number_giver().ok_or_else(|| Error::Internal("nobody gives that column".into()))?;
        job.parties.place(giver)
    };
    let reveal = match job.reveal {
        Reveal::Rows => outsourced::OutsourcedReveal::Rows,
        Reveal::Payload => outsourced::OutsourcedReveal::Payload,
        Reveal::Count => outsourced::OutsourcedReveal::Count,
        Reveal::Sum(_) => match Params::value_bits(bound) {
            0 => return bad(format!("limits.pad_to = {bound}: so many values cannot be summed; agree on fewer")),
            bits => outsourced::OutsourcedReveal::Sum { giver: giver()?, bits },
        },
        Reveal::CountsBy(_) => outsourced::OutsourcedReveal::Counts { giver: giver()?, categories: MAX_CATEGORIES },
        _ => return Err(Error::Internal("a reveal of another job".into())),
    };
    let params = Params::new(job.parties.0.len(), bound, job.parties.place(job.receiver())?, learners, reveal)?;
    if job.reveal == Reveal::Payload { params.giving(gives(job)?) } else { Ok(params) }
}

/// Returns what the party at `place` leaves at the helper, and what it collects there.
pub fn expected(job: &JobSpec, place: usize) -> Result<Expected> {
    if job.protocol == bloom::PROTOCOL {
        return Ok(Expected { left: bloom::params(job)?.bytes_left_by(place), collected: None });
    }
    let params = params(job)?;
    Ok(Expected { left: params.bytes_left_by(place)?, collected: Some(params.bytes_collected_by(place)?) })
}

/// Data that a helper has to know of a job.
pub struct Helping {
    /// The parties' name for it.
    pub id: String,
    /// Terms of the job.
    pub terms: Terms,
    /// Participants in the job, in order.
    pub parties: Vec<Peer>,
    work: Work,
}

/// Kind of work that the helper does.
enum Work {
    Sound(Params),
    Published(bloom::Published),
}

impl Helping {
    /// A job as its helper sees it, with these parties in its order.
    ///
    /// Errors ([`Error::Input`]): it is not through a helper.
    pub fn new(job: &JobSpec, parties: Vec<Peer>) -> Result<Helping> {
        if job.topology() != Topology::Helper {
            return bad(format!(
                "job {} has no work for a helper: agree on protocol = \"{}\" in the place of \"{}\", or leave the job to its parties",
                job.id,
                PROTOCOL.name(),
                job.protocol.name()
            ));
        }
        let work = if job.protocol == bloom::PROTOCOL {
            Work::Published(bloom::params(job)?)
        } else {
            Work::Sound(params(job)?)
        };
        Ok(Helping { id: job.id.clone(), terms: Terms::of(job), parties, work })
    }

    /// Bytes of the signed word that each party tells all.
    pub fn word_bytes(&self) -> usize {
        SIGNED_BYTES
            + match &self.work {
                Work::Sound(_) => announcement_bytes(&Ristretto255),
                Work::Published(published) => published.word_bytes(),
            }
    }

    /// Returns sentences on what the helper learns.
    pub fn learns(&self) -> &'static [&'static str] {
        helper_learns(match &self.work {
            Work::Sound(_) => PROTOCOL,
            Work::Published(_) => bloom::PROTOCOL,
        })
    }

    /// The most bytes that the party at `place` leaves.
    pub fn most_bytes(&self, place: usize) -> Result<u64> {
        match &self.work {
            Work::Sound(params) => params.bytes_left_by(place),
            Work::Published(published) => Ok(published.bytes_left_by(place)),
        }
    }

    /// Returns the number of parts in which the helper does its work.
    pub fn parts(&self) -> Result<u32> {
        match &self.work {
            Work::Sound(params) => Ok(params.helper_parts()?.len() as u32),
            Work::Published(published) => Ok(published.parts()),
        }
    }

    /// Does one of them: the same, however often it is done with that seed.
    pub fn help(&self, depot: &impl Depot, part: u32, seed: &[u8; 32]) -> Result<()> {
        let params = match &self.work {
            Work::Sound(params) => params,
            Work::Published(published) => return published.help(depot, part, seed),
        };
        let bytes = params.helper_parts()?.get(part as usize).copied();
        helper::add(params, depot, part, bytes.ok_or_else(|| Error::Internal("no such part".into()))?, seed)
    }
}
