//! `star`: among any number of parties, by shares of zero and programmed pseudorandom functions. See
//! `tacita_core::protocol::intersect::star`.

mod cost;
mod disk;
mod learned;
mod memory;
mod part;

use std::collections::BTreeMap;

use tacita_core::protocol::intersect::star::{Gives, Params};
use tacita_core::{Result, Security};

use super::load::given_columns;
use super::methods::IntersectMethod;
use super::sizes::quota_limit;
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::bad;
use crate::agreement::{
    Ability, Chosen, Disclosure, JobSpec, KnownSizes, PartyInput, Protocol, Reveal, Sizes, Source, Topology,
};

pub(in crate::jobs) use cost::cost as star_cost;
use cost::longest;
pub(in crate::jobs) use learned::sizes as learned_sizes;
pub(super) use learned::{at_a_glance, given_rows, givers, own_rows};
pub(in crate::jobs) use part::common_rows;

/// The word for it.
pub(in crate::jobs) const PROTOCOL: Protocol = Protocol::named("star");

/// Row of the protocol in the table of methods.
pub struct StarMethod;

impl IntersectMethod for StarMethod {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn topology(&self) -> Topology<'static> {
        Topology::Mesh
    }

    fn is_for(&self, _parties: usize) -> bool {
        true
    }

    fn is_usual(&self, job: &JobSpec) -> bool {
        job.parties.0.len() > 2 && job.helper.is_none()
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        let among = match job.parties.0.len() {
            2 => "protocol = \"star\"".to_owned(),
            count => format!("among {count} parties"),
        };
        if !matches!(job.reveal, Reveal::Rows | Reveal::Payload) {
            return bad(format!(
                "reveal = \"{}\" is not available {among}: use \"rows\" or \"payload\", or protocol = \"outsourced\" for numbers",
                job.reveal.kind()
            ));
        }
        check_several(job, &among)?;
        job.check_level()
    }

    fn check_work(&self, job: &JobSpec, what: Ability) -> Result<()> {
        if what == Ability::Disk { super::disk::check_job(job) } else { refuse_prepared() }
    }

    fn why(&self, job: &JobSpec) -> &'static str {
        if job.protocol.is_auto() {
            "it is the one for more than two parties that does what the job asks"
        } else {
            "the job names it"
        }
    }

    fn in_buckets_called(&self, name: &str) -> Option<Protocol> {
        Some(PROTOCOL).filter(|protocol| protocol.name() == name)
    }

    fn memory(&self, job: &JobSpec, me: &str, _chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        cost::memory(job, me, sizes)
    }

    fn cost(
        &self,
        job: &JobSpec,
        _chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        cost::cost(job, sizes, machine)
    }

    fn learned(&self, job: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        learned::learned(job, party, known)
    }

    fn at_a_glance(&self, job: &JobSpec) -> Vec<Disclosure> {
        at_a_glance(job)
    }

    fn load(&self, job: &JobSpec, me: &str, source: &Source) -> Result<Box<dyn PartyInput>> {
        Ok(Box::new(part::StarInput::load(job, me, source)?))
    }
}

/// Refuses a part that was prepared, among several.
pub(super) fn refuse_prepared() -> Result<()> {
    bad("--work: a part is prepared for one peer, and this job is among several")
}

/// Refuses what there is between two parties only. `among` says where it is not.
pub(super) fn check_several(job: &JobSpec, among: &str) -> Result<()> {
    if job.security == Security::Malicious {
        return bad(format!(
            "security = \"malicious\" is available between two parties, and not {among}: use \"semi-honest\""
        ));
    }
    if let Some(limit) = quota_limit(job) {
        return bad(format!("limits.{limit} needs a prepared part, which is not available {among}: leave it out"));
    }
    if job.scale.is_some() {
        return bad("scale is for reveal = \"sum:COLUMN\": leave it out");
    }
    if job.clients.is_some() {
        return bad(format!("[clients] is for a list that one party serves, and not {among}: leave it out"));
    }
    if job.key.as_ref().is_some_and(|key| !key.any.is_empty()) {
        return bad(format!("key.any is available between two parties, and not {among}: agree on key.columns"));
    }
    Ok(())
}

/// Returns the parameters that all derive from terms and sizes.
pub(super) fn params(job: &JobSpec, sizes: &BTreeMap<String, Sizes>) -> Result<Params> {
    let names = job.parties.names();
    let (items, leader, learners) = parties(job, sizes)?;
    let givers = names.iter().enumerate().filter(|(_, name)| given_columns(job, name).is_some());
    let givers = givers.map(|(party, name)| {
        let sizes = &sizes[*name];
        Gives { party, rows: sizes.entries as usize, row_bytes: sizes.row_bytes as usize }
    });
    Params::new(items, leader, learners, givers.collect())?.one_of(job.runs_in_all())
}

/// The items of all, by place; the place of the leader, and those of who learn.
fn parties(job: &JobSpec, sizes: &BTreeMap<String, Sizes>) -> Result<(Vec<usize>, usize, Vec<usize>)> {
    let items = job.parties.names().iter().map(|name| sizes[*name].items as usize).collect();
    let mut learners = job.reveal_to.iter().map(|name| job.parties.place(name)).collect::<Result<Vec<_>>>()?;
    learners.sort_unstable();
    Ok((items, job.parties.place(job.receiver())?, learners))
}
