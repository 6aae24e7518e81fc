//! `intersect`: from a table to the rows or the number that a party learns.

pub mod any;
pub mod choose;
pub mod cost;
pub mod disk;
mod distributed;
mod found;
mod groups;
pub(crate) mod hint;
mod job;
pub mod learned;
pub mod live;
mod load;
pub mod memory;
pub mod methods;
mod multiset;
pub mod outsourced;
pub mod pooled;
pub mod prepared;
mod run;
mod shown;
mod sizes;
pub mod star;
mod sums;

use std::path::Path;
use std::sync::Arc;

use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use crate::agreement::{
    self, DiskOptions, JobSpec, KnownSizes, PairContext, PartContext, PartyInput, Protocol, ResumePoint, Sizes, Source,
};
use crate::table::{ReadOptions, RowCounts};
use disk::Disk;
use prepared::PreparedPart;

pub use found::IntersectResult;
use groups::in_group;
pub use job::Intersect;
pub use load::{Loaded, empty_rows, first_rows};
pub use run::run;
pub use sizes::{check_peer, item_key_of_epoch, params};

/// Input that a party brings to an intersection.
pub enum IntersectInput {
    /// A table and its keys.
    Table(Arc<Loaded>),
    /// The sender's part, made earlier.
    Prepared(Box<PreparedPart>),
    /// A table on disk, sorted by its keys.
    Disk(Arc<Disk>),
}

/// Reads and normalises a party's data.
pub fn load(job: &JobSpec, me: &str, source: &Source) -> Result<IntersectInput> {
    match source {
        Source::Prepared { directory, check } => {
            let prepared = PreparedPart::open(directory, job, me)?;
            if let Some((path, options)) = check {
                prepared.check_data(&Loaded::read(job, me, path, options, true)?)?;
            }
            Ok(IntersectInput::Prepared(Box::new(prepared)))
        }
        Source::Disk { path, options, allow_unreadable, work } => {
            Ok(IntersectInput::Disk(load_on_disk(job, me, (path, options), *allow_unreadable, work)?))
        }
        _ => load_table(job, me, source).map(IntersectInput::Table),
    }
}

/// Reads and normalises a party's table in memory.
fn load_table(job: &JobSpec, me: &str, source: &Source) -> Result<Arc<Loaded>> {
    check_prepared(job, me)?;
    let (table, allow_unreadable) = source.only_table()?;
    Loaded::of(job, me, table, allow_unreadable).map(Arc::new)
}

/// Reads and normalises a party's table on disk.
fn load_on_disk(
    job: &JobSpec,
    me: &str,
    (path, options): (&Path, &ReadOptions),
    allow_unreadable: bool,
    work: &DiskOptions,
) -> Result<Arc<Disk>> {
    check_prepared(job, me)?;
    Disk::load(job, me, path, options, allow_unreadable, work).map(Arc::new)
}

/// Refuses to answer from a table what may be answered from a prepared part only.
fn check_prepared(job: &JobSpec, me: &str) -> Result<()> {
    match sizes::quota_limit(job) {
        Some(limit) if me != job.receiver() => Err(Error::Input(format!(
            "limits.{limit}: it needs a prepared part, and this run has none: make one with `tacita prepare` and name it with \
             --work, or agree to leave the limit out"
        ))),
        _ => Ok(()),
    }
}

impl PartyInput for IntersectInput {
    fn sizes(&self) -> Sizes {
        match self {
            IntersectInput::Table(loaded) => loaded.sizes.clone(),
            IntersectInput::Prepared(prepared) => prepared.sizes(),
            IntersectInput::Disk(disk) => disk.sizes(),
        }
    }

    fn rows(&self) -> RowCounts {
        match self {
            IntersectInput::Table(loaded) => loaded.keys.counts(),
            IntersectInput::Prepared(prepared) => prepared.row_counts(),
            IntersectInput::Disk(disk) => disk.row_counts(),
        }
    }

    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        check_peer(job, &self.sizes(), theirs, channel)
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<agreement::RunResult> {
        let PairContext { job, me, agreed, channel, rng, .. } = run.pair()?;
        let found = self::run(job, me, self, agreed, channel, rng)?;
        if let (IntersectInput::Table(loaded), true) =
            (&*self, found.is_nothing_in_common(job) && agreed.peer_sizes.items > 0)
            && !loaded.keys.is_empty()
        {
            hint::warn_of_nothing(job, me, loaded);
        }
        let learned = learned::intersect(job, me, KnownSizes::of(agreed));
        self.found(job, me, found, agreed.chosen.protocol, learned)
    }

    fn ended(&self) -> Result<()> {
        match self {
            IntersectInput::Disk(disk) => disk.end(),
            _ => Ok(()),
        }
    }

    fn clear(&self) -> Result<()> {
        match self {
            IntersectInput::Disk(disk) => disk.clear(),
            _ => Ok(()),
        }
    }
}

impl IntersectInput {
    /// Builds the result for the caller that runs the party.
    fn found(
        &self,
        job: &JobSpec,
        me: &str,
        found: IntersectResult,
        protocol: Protocol,
        learned: Vec<String>,
    ) -> Result<agreement::RunResult> {
        let found = found.result(job, me, protocol, learned);
        match self.work() {
            Some(work) => found.with("work", work),
            None => Ok(found),
        }
    }

    /// Returns a summary of the work of a run on disk.
    fn work(&self) -> Option<disk::Done> {
        match self {
            IntersectInput::Disk(disk) => disk.work(),
            _ => None,
        }
    }
}

/// The run in a directory, if so much of it is done.
fn left_disk(job: &JobSpec, me: &str, work: &DiskOptions, done: ResumePoint) -> Result<Option<Disk>> {
    match done {
        ResumePoint::Ended => Disk::ended(job, me, work),
        ResumePoint::Complete => Disk::complete(job, me, work),
    }
}

/// A run on disk of which all parties have all they need of each other, as what is left: to write the result.
fn left_on_disk(job: &JobSpec, me: &str, disk: Arc<Disk>) -> Result<(IntersectInput, agreement::RunResult)> {
    let protocol = disk.protocol(job)?;
    let brought = IntersectInput::Disk(disk.clone());
    let found = if job.learns(me) { IntersectResult::OnDisk(disk) } else { IntersectResult::Nothing };
    let found = brought.found(job, me, found, protocol, job.job.learned(job, me, KnownSizes::default()))?;
    Ok((brought, found))
}
