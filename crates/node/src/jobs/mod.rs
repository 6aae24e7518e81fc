//! The jobs, a room each.

pub mod aligned;
pub mod choose;
pub mod dot;
pub mod intersect;
pub mod learned;
pub mod memory;
pub mod numbers;
pub mod rules;
pub mod shares;

use std::collections::BTreeMap;

use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::{Chosen, Found, Job, JobSpec, Part, PoolPlace, Sizes, Source};

/// Reads a party's data.
pub fn load(job: &JobSpec, me: &str, source: &Source, pool: Option<&PoolPlace>) -> Result<Box<dyn Part>> {
    if let (Job::Intersect | Job::Shares | Job::Rules, Some(place)) = (job.job, pool) {
        return dot::pool::Pool::open(place, job)
            .and(Err(Error::Internal("a pool for a job that encrypts nothing".into())));
    }
    Ok(match job.job {
        Job::Intersect => Box::new(intersect::load(job, me, source)?),
        Job::Dot => Box::new(dot::Brought::load(job, me, source, pool)?),
        Job::Shares => Box::new(shares::Brought::load(job, me, source)?),
        Job::Rules => Box::new(rules::Brought::load(job, me, source)?),
    })
}

/// Checks that the peer's sizes fit the job and this party's own: all that can be said of them before it is chosen what runs.
pub fn check_peer(job: &JobSpec, own: &Sizes, theirs: &Sizes, channel: &Channel) -> Result<()> {
    if job.job != Job::Intersect && theirs.work.is_some() {
        return Err(channel.violation("it announces a run on disk in a job that has none"));
    }
    if job.job != Job::Shares && theirs.runs.is_some() {
        return Err(channel.violation("it announces shares in a job that opens none"));
    }
    match job.job {
        Job::Intersect => intersect::check_peer(job, own, theirs, channel),
        Job::Dot => dot::check_peer(job, own, theirs, channel),
        Job::Rules => rules::check_peer(job, own, theirs, channel),
        Job::Shares => shares::check_peer(theirs, channel),
    }
}

/// What was done by a run that was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Both parties have all they need of each other.
    Ended,
    /// This party, which learns, has all it needs of the other.
    Complete,
}

/// A run that was cut off when so much was done that all that is left is to write the result.
pub fn left(job: &JobSpec, me: &str, source: &Source, done: Left) -> Result<Option<(Box<dyn Part>, Found)>> {
    let Source::Disk { work, .. } = source else { return Ok(None) };
    let disk = match done {
        Left::Ended => intersect::disk::Disk::ended(job, me, work)?,
        Left::Complete => intersect::disk::Disk::complete(job, me, work)?,
    };
    let Some(disk) = disk else { return Ok(None) };
    let (part, found) = intersect::left_on_disk(job, me, disk)?;
    Ok(Some((Box::new(part), found)))
}

/// What stands beside an output: what is put into the file's name, and what messages call it.
pub fn beside(job: &JobSpec) -> &'static [(&'static str, &'static str)] {
    match job.job {
        Job::Rules => &[("itemsets", "the itemsets")],
        _ => &[],
    }
}

/// What a job between two costs, the handshake aside.
pub fn cost(job: &JobSpec, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>, machine: &Calibration) -> Result<Cost> {
    match job.job {
        Job::Intersect => intersect::cost::intersection_cost(chosen, job, sizes, machine),
        Job::Dot => dot::cost::dot_cost(chosen, job, sizes, machine),
        Job::Shares => shares::cost::shares_cost(job, sizes, None, machine),
        Job::Rules => rules::cost::rules_cost(chosen, job, sizes, machine),
    }
}
