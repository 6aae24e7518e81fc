//! Common part of protocols between two parties, as rows of the table.

use std::collections::BTreeMap;

use serde_json::Value;
use tacita_core::{Result, Role, Security};

use super::{IntersectMethod, IntersectPairMethod};
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::bad;
use crate::agreement::{
    Ability, Choice, Chosen, Disclosure, JobSpec, KnownSizes, Network, PartyInput, Protocol, Reveal, Sizes, Source,
    Topology,
};
use crate::jobs::intersect::{Intersect, any, choose, cost, disk, learned, load, memory, methods, multiset};
use crate::jobs::on_disk;

/// A protocol between two parties.
pub struct IntersectPair(pub &'static dyn IntersectPairMethod);

impl IntersectMethod for IntersectPair {
    fn protocol(&self) -> Protocol {
        self.0.protocol()
    }

    fn topology(&self) -> Topology<'static> {
        Topology::Pair
    }

    fn is_for(&self, parties: usize) -> bool {
        parties < 3
    }

    fn is_usual(&self, job: &JobSpec) -> bool {
        self.is_for(job.parties.0.len()) && job.helper.is_none()
    }

    fn pair(&self) -> Option<&'static dyn IntersectPairMethod> {
        Some(self.0)
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        check(job)
    }

    fn check_work(&self, job: &JobSpec, what: Ability) -> Result<()> {
        if what == Ability::Disk {
            return disk::check_job(job);
        }
        if job.key.as_ref().is_some_and(|key| !key.any.is_empty()) {
            return bad(
                "--work: a part is prepared for one key, and this job has several (key.any): run it without, or agree on one",
            );
        }
        multiset::check_prepared(job)
    }

    fn terms(&self, own: &Intersect) -> Vec<(&'static str, Value)> {
        self.0.terms(own)
    }

    fn choose(&self, job: &JobSpec, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
        let [(first, own), (_, theirs)] = job.both(sizes);
        choose::choose_intersection(job, first, own, theirs, network)
    }

    fn allows(&self, job: &JobSpec, chosen: &Chosen) -> bool {
        let Some(method) = methods::named(chosen.protocol) else { return false };
        let open = job.protocol == chosen.protocol || (job.protocol.is_auto() && method.advantage().is_some());
        open && method.check(job).is_ok() && *chosen == Chosen::only(chosen.protocol)
    }

    fn in_buckets_called(&self, name: &str) -> Option<Protocol> {
        methods::called(name).filter(|method| method.in_buckets().is_some()).map(|method| method.protocol())
    }

    fn memory(&self, job: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        let (own, theirs) = (&sizes[me], &sizes[job.peer_of(me)]);
        if !own.any.is_empty() {
            let each = any::split(job, own, theirs)
                .map(|(one, own, theirs)| self.memory(&one, me, chosen, &one.sizes_of_both(me, own, theirs)));
            let each = each.collect::<Result<Vec<_>>>()?.into_iter();
            // One after the other. Malicious parties hold the states of all runs until all are bound, and all entries
            // until the last one has come.
            return Ok(match job.security {
                Security::SemiHonest => each.max().unwrap_or(0),
                Security::Malicious => each.fold(0, u64::saturating_add),
            });
        }
        if !disk::is_bucketed(own, theirs) {
            return memory::needed(job, me, chosen, own, theirs);
        }
        let params = disk::params(job, me, chosen.protocol, own, theirs)?;
        let [asked, sent] = [Role::Receiver, Role::Sender].map(|role| params.bound(role) as u64);
        let one = memory::of_bucket(me == job.receiver(), disk::bucketed(chosen.protocol)?, job.level, asked, sent);
        let in_memory = if own.work.is_none() { own.items.saturating_mul(memory::ITEM_IN_MEMORY_BYTES) } else { 0 };
        let lanes = one.saturating_mul(params.buckets.min(disk::LANES) as u64);
        Ok(lanes.saturating_add(on_disk::memory::FIXED_BYTES).saturating_add(in_memory))
    }

    fn cost(
        &self,
        job: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        cost::intersection_cost(chosen, job, sizes, machine)
    }

    fn learned(&self, job: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        learned::intersect(job, party, known)
    }

    fn at_a_glance(&self, job: &JobSpec) -> Vec<Disclosure> {
        learned::at_a_glance(job)
    }

    fn load(&self, job: &JobSpec, me: &str, source: &Source) -> Result<Box<dyn PartyInput>> {
        if job.key.as_ref().is_some_and(|key| !key.any.is_empty()) {
            Ok(Box::new(any::load_all(job, me, source)?))
        } else {
            Ok(Box::new(load(job, me, source)?))
        }
    }
}

/// Refuses what no protocol between two does, or not the one that the job names.
pub fn check(job: &JobSpec) -> Result<()> {
    if matches!(job.reveal, Reveal::CountsBy(_)) {
        return bad("reveal = \"counts:COLUMN\" is available through a helper only: use protocol = \"outsourced\"");
    }
    match methods::named(job.protocol) {
        Some(named) => named.check(job)?,
        None if methods::automatic().any(|method| method.check(job).is_ok()) => (),
        None => job.check_level()?,
    }
    let kind = job.reveal.kind();
    match (&job.reveal, job.scale) {
        (Reveal::Sum(_), _) => job.check_scale()?,
        (_, Some(_)) => {
            return bad(format!("scale is for reveal = \"sum:COLUMN\", and this is \"{kind}\": leave it out"));
        }
        (_, None) => (),
    }
    if job.security == Security::SemiHonest {
        return Ok(());
    }
    if matches!(job.reveal, Reveal::Count | Reveal::Sum(_)) {
        return bad(format!("security = \"malicious\" is not available with reveal = \"{kind}\": use \"semi-honest\""));
    }
    match job.reveal_to.len() {
        ..2 => Ok(()),
        _ => bad(
            "security = \"malicious\" is there with one learner only, because nothing would make it tell the other the \
             truth: name one party in reveal_to, or run two jobs",
        ),
    }
}
