//! Several keys of which one is enough: an intersection by each over the same connection, and the union of what they
//! find.
//!
//! Semi-honest parties do one after the other. Among malicious ones, what the receiver brings by all keys is fixed
//! before it learns anything by one: rows that it gets by the first key would else say what to test by the next.
//!
//! Each intersection is that of a job with one key ([`JobSpec::alternatives`]), in a session of its own. Given rows
//! come with numbers, so that a row of the peer that matches by two keys is known to be one.

mod answer;
mod counts;
mod spec;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tacita_core::channel::Channel;
use tacita_core::{Error, Result, Security};

use super::disk::Disk;
use super::load::{Loaded, NumberKey};
use super::sizes::peer_schema;
use super::{IntersectInput, IntersectResult, hint, load_on_disk, run, sizes};
use crate::agreement::handshake::HandshakeResult;
use crate::agreement::{
    self, DiskOptions, JobSpec, KnownSizes, PairContext, PartContext, PartyInput, ResumePoint, Sizes, Source,
};
use crate::base::files::is_read_once;
use crate::base::folder::Folder;
use crate::table::RowCounts;
use crate::watch::Warned;

pub use spec::check;

/// Input that a party brings to an intersection by several keys.
pub struct Alternatives {
    /// The job of each key, and what the party brings to it.
    each: Vec<(JobSpec, IntersectInput)>,
    counts: RowCounts,
    /// Directory of the work, if it is on disk.
    directory: Option<PathBuf>,
}

/// The job of each key, with the sizes of a party and its peer in it.
pub fn split<'a>(
    job: &JobSpec,
    own: &'a Sizes,
    theirs: &'a Sizes,
) -> impl Iterator<Item = (JobSpec, &'a Sizes, &'a Sizes)> + use<'a> {
    job.alternatives().into_iter().zip(own.any.iter().zip(&theirs.any)).map(|(job, (own, theirs))| (job, own, theirs))
}

/// The work directory of one key.
fn directory_of(directory: &Path, number: usize) -> PathBuf {
    directory.join(format!("key-{}", number + 1))
}

/// Whether a directory holds an unfinished run by several keys.
pub fn holds_run(directory: &Path) -> bool {
    crate::jobs::on_disk::holds_run(&directory_of(directory, 0))
}

/// Reads and normalises a party's data.
pub fn load_all(job: &JobSpec, me: &str, source: &Source) -> Result<Alternatives> {
    let jobs = job.alternatives();
    if let Source::Disk { path, options, allow_unreadable, work } = source {
        if is_read_once(path) {
            return Err(Error::Input(format!(
                "--input {}: by several keys a table on disk is read several times, so it has to be a file",
                path.display()
            )));
        }
        // Nobody else can then put another directory in the place of one in it.
        drop(Folder::make(&work.directory)?);
        let bring = |(number, job): (usize, JobSpec)| {
            let work = DiskOptions { directory: directory_of(&work.directory, number), ..work.clone() };
            let disk = load_on_disk(&job, me, (path, options), *allow_unreadable, &work)?;
            Ok((job, disk))
        };
        let all: Vec<_> = jobs.into_iter().enumerate().map(bring).collect::<Result<_>>()?;
        let first = &all[0].1;
        let counts = match first.together() {
            Some(counts) => counts,
            None => counts::of_file(job, me, path, options)?,
        };
        first.count_together(counts)?;
        let each = all.into_iter().map(|(job, disk)| (job, IntersectInput::Disk(disk))).collect();
        return Ok(Alternatives { each, counts, directory: Some(work.directory.clone()) });
    }
    let (table, allow_unreadable) = source.only_table()?;
    let counts = counts::of_table(job, me, &table)?;
    let numbers = NumberKey::fresh()?;
    let mut warned = Warned::default();
    let bring = |job: JobSpec| {
        let loaded = Loaded::with(&job, me, table.clone(), allow_unreadable, Some(&numbers), &mut warned)?;
        Ok((job, IntersectInput::Table(loaded.into())))
    };
    let each = jobs.into_iter().map(bring).collect::<Result<_>>()?;
    Ok(Alternatives { each, counts, directory: None })
}

/// A run on disk that was cut off when only the result was left to be written.
pub fn left(
    job: &JobSpec,
    me: &str,
    work: &DiskOptions,
    done: ResumePoint,
) -> Result<Option<(Alternatives, agreement::RunResult)>> {
    let mut all = Vec::new();
    for (number, job) in job.alternatives().into_iter().enumerate() {
        let work = DiskOptions { directory: directory_of(&work.directory, number), ..work.clone() };
        let Some(disk) = super::left_disk(&job, me, &work, done)? else { return Ok(None) };
        all.push((job, Arc::new(disk)));
    }
    let first = &all[0].1;
    let (protocol, counts) = (first.protocol(job)?, first.together().unwrap_or_default());
    let learns = job.learns(me);
    let result =
        |disk: &Arc<Disk>| if learns { IntersectResult::OnDisk(disk.clone()) } else { IntersectResult::Nothing };
    let found = all.iter().map(|(_, disk)| result(disk)).collect();
    let each = all.into_iter().map(|(job, disk)| (job, IntersectInput::Disk(disk))).collect();
    let part = Alternatives { each, counts, directory: Some(work.directory.clone()) };
    let learned = super::learned::intersect(job, me, KnownSizes::default());
    let found = part.found(job, me, found, agreement::RunResult::nothing(protocol, learned))?;
    Ok(Some((part, found)))
}

impl PartyInput for Alternatives {
    fn sizes(&self) -> Sizes {
        Sizes::of_alternatives(self.each.iter().map(|(_, brought)| brought.sizes()).collect())
    }

    fn rows(&self) -> RowCounts {
        self.counts
    }

    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        let own = self.sizes();
        let mut schema = None;
        for (job, own, theirs) in split(job, &own, theirs) {
            sizes::check_peer(&job, own, theirs, channel)?;
            if !theirs.schema.is_empty() {
                let given = peer_schema(&job, channel.peer(), theirs)?.arrow(channel.peer());
                if schema.get_or_insert_with(|| given.clone()) != &given {
                    return Err(channel.violation("it announces different column types for different keys"));
                }
            }
        }
        Ok(())
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<agreement::RunResult> {
        let PairContext { job, me, agreed, channel, rng, .. } = run.pair()?;
        let of_key = |number: usize| HandshakeResult {
            session: agreed.session.child("alternative", number as u64),
            chosen: agreed.chosen,
            own_sizes: agreed.own_sizes.any[number].clone(),
            peer_sizes: agreed.peer_sizes.any[number].clone(),
        };
        let of_keys: Vec<_> = (0..self.each.len()).map(of_key).collect();
        let all = match job.security {
            Security::SemiHonest => {
                let one = |((job, brought), agreed): (&(JobSpec, IntersectInput), &HandshakeResult)| {
                    channel.count_rounds_anew();
                    run::run(job, me, brought, agreed, channel, rng)
                };
                self.each.iter().zip(&of_keys).map(one).collect::<Result<Vec<_>>>()?
            }
            Security::Malicious => run::run_each(&self.each, me, &of_keys, agreed.chosen.protocol, channel, rng)?,
        };
        if all.iter().all(|found| found.is_nothing_in_common(job)) {
            for ((job, brought), theirs) in self.each.iter().zip(&agreed.peer_sizes.any) {
                if let IntersectInput::Table(loaded) = brought
                    && !loaded.keys.is_empty()
                    && theirs.items > 0
                {
                    hint::warn_of_nothing(job, me, loaded);
                }
            }
        }
        let learned = super::learned::intersect(job, me, KnownSizes::of(agreed));
        self.found(job, me, all, agreement::RunResult::nothing(agreed.chosen.protocol, learned))
    }

    fn ended(&self) -> Result<()> {
        self.each.iter().try_for_each(|(_, brought)| brought.ended())
    }

    fn clear(&self) -> Result<()> {
        self.each.iter().try_for_each(|(_, brought)| brought.clear())?;
        for number in self.directory.iter().flat_map(|_| 0..self.each.len()) {
            let directory = self.directory.as_deref().unwrap_or(Path::new(""));
            // What somebody else has put there stays.
            let _ = std::fs::remove_dir(directory_of(directory, number));
        }
        Ok(())
    }
}

impl Alternatives {
    /// Combines the results of all keys for the caller that runs the party. `nothing` is the result without an answer.
    fn found(
        &self,
        job: &JobSpec,
        me: &str,
        all: Vec<IntersectResult>,
        nothing: agreement::RunResult,
    ) -> Result<agreement::RunResult> {
        let key = |((job, brought), found): (&(JobSpec, IntersectInput), &IntersectResult)| {
            let columns = job.key.as_ref().map(|key| key.columns.clone());
            let mut key = json!({ "columns": columns, "rows": brought.rows() });
            if let IntersectResult::Rows(_, common) | IntersectResult::Payload(_, common, _) = found {
                key["common"] = common.len().into();
            }
            key
        };
        let keys: Vec<_> = self.each.iter().zip(&all).map(key).collect();
        let work: Vec<_> = self.each.iter().filter_map(|(_, brought)| brought.work()).collect();
        let answer = answer::of(job.peer_of(me), all)?;
        let found = agreement::RunResult { answer, ..nothing }.with("keys", keys)?;
        if work.is_empty() { Ok(found) } else { found.with("work", work) }
    }
}
