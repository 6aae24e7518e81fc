//! `union` of two tables: from a table to all that either party has, without showing which rows both have.

mod disk;
mod found;
mod job;
mod learned;
mod load;
mod methods;
mod received;
mod sizes;

use std::sync::Arc;

use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use crate::agreement::{
    self, Ability, JobSpec, KnownSizes, PairContext, PartContext, PartyInput, ResumePoint, Sizes, Source,
};
use crate::jobs::polynomials::POLYNOMIAL;
use crate::table::{RowCounts, read};
use disk::Disk;
use load::Loaded;
use methods::{Found, Setting};

pub use job::Union;
pub use received::given_rows;

/// Input that a party brings: its table, and the data that it gives.
enum UnionInput {
    /// Input held in memory.
    Table(Arc<Loaded>),
    /// Input held on disk.
    Disk(Arc<Disk>),
}

/// Reads and normalises a party's table.
fn load(job: &JobSpec, me: &str, source: &Source) -> Result<UnionInput> {
    if let Source::Candidates { path, candidates, options, allow_unreadable } = source {
        if !job.learns(me) {
            return Err(Ability::Candidates.missing(job.job.name()));
        }
        let loaded = Loaded::of(job, me, read(path, options)?, *allow_unreadable)?;
        let loaded = loaded.trying(job, me, read(candidates, options)?, *allow_unreadable)?;
        return Ok(UnionInput::Table(Arc::new(loaded)));
    }
    if let Source::Disk { path, options, allow_unreadable, work } = source {
        return Ok(UnionInput::Disk(Arc::new(Disk::load(job, me, path, options, *allow_unreadable, work)?)));
    }
    let (table, allow_unreadable) = source.only_table()?;
    if job.protocol == POLYNOMIAL && job.learns(me) {
        return Err(Error::Input(format!(
            "{}: protocol = \"polynomial\" only tests given keys for being in the union: give a table of keys to test as a \
             second --input",
            table.source()
        )));
    }
    Ok(UnionInput::Table(Arc::new(Loaded::of(job, me, table, allow_unreadable)?)))
}

/// A run that was cut off when only the result was left to be written.
fn left(
    job: &JobSpec,
    me: &str,
    source: &Source,
    done: ResumePoint,
) -> Result<Option<(UnionInput, agreement::RunResult)>> {
    let Source::Disk { path, work, .. } = source else { return Ok(None) };
    let disk = match done {
        ResumePoint::Ended => Disk::ended(job, me, path, work)?,
        ResumePoint::Complete => Disk::complete(job, me, path, work)?,
    };
    let Some(disk) = disk else { return Ok(None) };
    let protocol = disk.protocol()?;
    let disk = Arc::new(disk);
    let found = if job.learns(me) { Found::OnDisk(disk.clone()) } else { Found::Nothing };
    let (brought, answer) = (UnionInput::Disk(disk), found.answer(job, me, &Sizes::default()));
    let learned = learned::union(job, me, KnownSizes::default());
    let found = brought.found(agreement::RunResult { answer, ..agreement::RunResult::nothing(protocol, learned) })?;
    Ok(Some((brought, found)))
}

impl UnionInput {
    /// Adds to the result a summary of the work of a run on disk.
    fn found(&self, found: agreement::RunResult) -> Result<agreement::RunResult> {
        match self {
            UnionInput::Table(_) => Ok(found),
            UnionInput::Disk(disk) => found.with("work", disk.work()),
        }
    }

    /// Returns the input held in memory.
    fn table(&self) -> Result<&Arc<Loaded>> {
        match self {
            UnionInput::Table(loaded) => Ok(loaded),
            UnionInput::Disk(_) => Err(Error::Internal("a table on disk in a run in memory".into())),
        }
    }
}

impl PartyInput for UnionInput {
    fn sizes(&self) -> Sizes {
        match self {
            UnionInput::Table(loaded) => loaded.sizes().clone(),
            UnionInput::Disk(disk) => disk.sizes().clone(),
        }
    }

    fn rows(&self) -> RowCounts {
        match self {
            UnionInput::Table(loaded) => loaded.keys().counts(),
            UnionInput::Disk(disk) => disk.row_counts(),
        }
    }

    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        sizes::check_peer(job, theirs, channel)
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<agreement::RunResult> {
        let PairContext { job, me, agreed, channel, rng, .. } = run.pair()?;
        let protocol = agreed.chosen.protocol;
        let learned = learned::union(job, me, KnownSizes::of(agreed));
        let mut own = Found::Nothing;
        // One run for each party that learns, with keys of its own: the receiver is the one who does.
        for (place, receiver) in methods::receivers(job).enumerate() {
            let session = agreed.session.child("union", place as u64);
            let setting = Setting { job, me, brought: self, receiver, session: &session, agreed };
            let found = methods::run(protocol, &setting, channel, rng)?;
            if !matches!(found, Found::Nothing) {
                own = found;
            }
        }
        if let (UnionInput::Disk(disk), false) = (&*self, job.learns(me)) {
            disk.sent(protocol, &agreed.peer_sizes)?;
        }
        let answer = own.answer(job, me, &agreed.peer_sizes);
        self.found(agreement::RunResult { answer, ..agreement::RunResult::nothing(protocol, learned) })
    }

    fn ended(&self) -> Result<()> {
        match self {
            UnionInput::Table(_) => Ok(()),
            UnionInput::Disk(disk) => disk.end(),
        }
    }

    fn clear(&self) -> Result<()> {
        match self {
            UnionInput::Table(_) => Ok(()),
            UnionInput::Disk(disk) => disk.clear(),
        }
    }
}
