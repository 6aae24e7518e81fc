//! Intersections of tables that do not fit memory: sorted on disk, intersected bucket by bucket, and resumed after
//! whatever ended a run.
//!
//! `on_disk::prepare` sorts a table by key into two files. The parties agree on buckets and a seed (`attempt`, and
//! `run` for two of them); items are hashed and sorted into buckets (`buckets`), and the result of each is on disk
//! before the bucket counts as done. At the end one pass over the sorted rows writes those that are common
//! (`on_disk::rows`).

mod attempt;
mod buckets;
mod run;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result, Security};

pub use self::attempt::{Attempt, TablePlace, check_fresh, resumed, run_attempt};
pub use self::run::{LANES, bucketed, buckets_of, check_sizes, is_bucketed, params, run};
use crate::agreement::{DiskOptions, DiskRun, JobSpec, Protocol, ResumableRun, Reveal, Sizes, Topology};
use crate::jobs::intersect::methods;
use crate::jobs::limits::check_limits;
use crate::jobs::on_disk::rows::SortedRows;
use crate::jobs::on_disk::table::{Loading, SortedTable};
use crate::jobs::on_disk::{self, memory};
use crate::table::{ReadOptions, RowCounts};

/// A table on disk, in the order of its keys, and how far the run has come.
pub struct Disk {
    table: SortedTable<DiskAgreement>,
    sizes: Sizes,
    /// Memory for data, in bytes.
    memory: u64,
    /// Buckets that this process has done.
    done: AtomicUsize,
}

/// Outcome of the agreement with the others.
#[derive(Clone, Serialize, Deserialize)]
pub struct DiskAgreement {
    /// The run's seed and commitments, in hexadecimal.
    pub run: String,
    /// Name of the protocol.
    pub protocol: String,
    /// Number of buckets in the run.
    pub buckets: usize,
}

/// Work done by a run on disk, for the report.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Done {
    /// Sorted runs that were merged.
    pub runs: usize,
    /// Number of buckets in the run.
    pub buckets: usize,
    /// Number of buckets done in this run, and not in one that it has resumed.
    pub done: usize,
}

/// Whether a job can run on disk, and if not, why.
pub fn check_job(job: &JobSpec) -> Result<()> {
    let bad = |text: String| Err(Error::Input(format!("--work: {text}")));
    if methods::named(job.protocol).is_some_and(|method| method.in_buckets().is_none()) {
        let on_disk = methods::of_two().filter(|method| method.in_buckets().is_some());
        let names: Vec<_> = on_disk.map(|method| format!("\"{}\"", method.protocol().name())).collect();
        return bad(format!(
            "protocol = \"{}\" keeps its tables in memory: {} can be on disk",
            job.protocol.name(),
            names.join(" and ")
        ));
    }
    if job.reveal != Reveal::Rows {
        return bad(format!(
            "reveal = \"{}\" keeps its tables in memory: reveal = \"rows\" can be on disk",
            job.reveal
        ));
    }
    if job.security != Security::SemiHonest {
        return bad(format!(
            "security = \"{}\" keeps its tables in memory: \"semi-honest\" can be on disk",
            job.security
        ));
    }
    Ok(())
}

/// Returns the maximum number of buckets in flight.
pub fn at_once(job: &JobSpec) -> usize {
    if job.topology() == Topology::Mesh { 1 } else { LANES }
}

impl Disk {
    /// Sorts a table into the directory, unless it is there already.
    pub fn load(
        job: &JobSpec,
        me: &str,
        path: &Path,
        options: &ReadOptions,
        allow_unreadable: bool,
        work: &DiskOptions,
    ) -> Result<Disk> {
        check_job(job)?;
        let spec = job.key_spec(me, allow_unreadable)?;
        let memory = memory::enough_for_data(work.memory)?;
        let (rows, numbered) = (job.learns(me), job.keys_in_all() > 1);
        let table = SortedTable::load(job, me, work, &Loading { path, options, spec, rows, numbered, memory })?;
        let mut sizes = Sizes { items: table.sorted().counts.items as u64, ..Sizes::default() };
        check_limits(job, me, &path.display().to_string(), &mut sizes)?;
        let kept = match &table.state().run {
            Some(run) => Some(ResumableRun {
                run: run::public_id(run),
                finished: buckets::finished(table.directory())?.len() as u64,
                buckets: run.buckets as u64,
                protocol: run.protocol.clone(),
            }),
            None => None,
        };
        sizes.work = Some(DiskRun { memory: memory::for_buckets(memory), kept });
        Ok(Disk { table, sizes, memory, done: AtomicUsize::new(0) })
    }

    /// A run in the directory of which all parties have all they need of each other, so that only the result is to be
    /// written.
    pub fn ended(job: &JobSpec, me: &str, work: &DiskOptions) -> Result<Option<Disk>> {
        if !work.resume || !on_disk::holds_run(&work.directory) {
            return Ok(None);
        }
        check_job(job)?;
        Ok(Disk::reopen(job, me, work)?.filter(|disk| disk.table.state().ended))
    }

    /// A run in the directory of which this party, which learns, has all it needs of the others.
    pub fn complete(job: &JobSpec, me: &str, work: &DiskOptions) -> Result<Option<Disk>> {
        if !work.resume || !job.learns(me) {
            return Ok(None);
        }
        let Some(disk) = Disk::reopen(job, me, work)? else { return Ok(None) };
        let buckets = disk.table.state().run.as_ref().map(|run| run.buckets);
        let finished = buckets::finished(disk.table.directory())?.len();
        Ok((buckets == Some(finished)).then_some(disk))
    }

    /// The run in the directory, if its table has been sorted.
    fn reopen(job: &JobSpec, me: &str, work: &DiskOptions) -> Result<Option<Disk>> {
        let Some(table) = SortedTable::reopen(job, me, work)? else { return Ok(None) };
        let (memory, done) = (memory::for_data(work.memory), AtomicUsize::new(0));
        Ok(Some(Disk { table, sizes: Sizes::default(), memory, done }))
    }

    /// Returns the sizes that are announced to the peer.
    pub fn sizes(&self) -> Sizes {
        self.sizes.clone()
    }

    /// Returns the counts of the table's rows by outcome.
    pub fn row_counts(&self) -> RowCounts {
        self.table.sorted().counts
    }

    /// Returns a summary of the run's work.
    pub fn work(&self) -> Option<Done> {
        let buckets = self.table.state().run.as_ref().map(|run| run.buckets)?;
        Some(Done { runs: self.table.sorted().runs, buckets, done: self.done.load(Ordering::Relaxed) })
    }

    /// Returns the counts of the table's rows by several keys, of which this is one, if they are known.
    pub fn together(&self) -> Option<RowCounts> {
        self.table.state().together
    }

    /// Keeps what became of the table's rows by several keys.
    pub fn count_together(&self, counts: RowCounts) -> Result<()> {
        self.table.note(|state| state.together = Some(counts))
    }

    /// The protocol that ran.
    pub fn protocol(&self, job: &JobSpec) -> Result<Protocol> {
        let state = self.table.state();
        let run = state.run.as_ref().ok_or_else(|| Error::Internal("nothing has run".into()))?;
        methods::of(job).in_buckets_called(&run.protocol).ok_or_else(|| Error::Internal("a run by no protocol".into()))
    }

    /// Notes that all parties have all they need of each other.
    pub fn end(&self) -> Result<()> {
        self.table.note(|state| state.ended = true)
    }

    /// The rows that are common.
    pub fn common(&self) -> Result<SortedRows> {
        let run = self.table.state().run.as_ref().map(|run| run.run.clone());
        let run = run.ok_or_else(|| Error::Internal("nothing has run".into()))?;
        let bits = buckets::common(self.table.directory(), &run, self.table.sorted().counts.items)?;
        SortedRows::common(self.table.directory().clone(), bits)
    }

    /// Removes the run's files, now that it has succeeded.
    pub fn clear(&self) -> Result<()> {
        self.table.clear()
    }
}
