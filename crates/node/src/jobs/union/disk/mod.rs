//! Unions of tables that do not fit memory.
//!
//! There are no buckets: how many common items are in each would tell what overlaps. What has to be in order is sorted
//! as a whole: the own table by key (`on_disk::prepare`), a sender's items by random numbers, which is the random order
//! that they go in (`given`), tags (`on_disk::records`), and the peer's rows by key (`order`). Nothing on the wire
//! differs from a run in memory. An attempt begins the protocol anew, with fresh keys and a fresh order; what a run
//! goes on with is the sorted table, and what was received, once that is all there.

mod given;
mod items;
mod order;

use std::path::Path;

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use self::given::Measured;
use super::found::{All, Own};
use super::load::{announce, check_limits, check_names, filling};
use super::sizes::sends;
use crate::agreement::{DiskOptions, Duplicates, JobSpec, Protocol, Reveal, Sizes};
use crate::base::hex::hex;
use crate::jobs::on_disk::records::{DiskSortSpace, FileWriter};
use crate::jobs::on_disk::rows::{Batches, SortedRows};
use crate::jobs::on_disk::table::{Loading, SortedTable};
use crate::jobs::on_disk::{GIVEN, ITEMS, RECEIVED, ROWS, RUNS, memory};
use crate::jobs::polynomials::is_of_polynomials;
use crate::table::{ReadOptions, RowCounts, output, read};

/// A table on disk, in the order of its keys, and how far the run has come.
pub(super) struct Disk {
    table: SortedTable<Agreed>,
    sizes: Sizes,
    /// Measurements of the data that a sender gives.
    measured: Option<Measured>,
    /// Name of the table in messages.
    source: String,
    /// Memory for data, in bytes.
    memory: u64,
}

/// Record of a run that has come to its end for this party.
#[derive(Clone, Serialize, Deserialize)]
struct Agreed {
    /// Name of the protocol.
    protocol: String,
    /// Sizes that the peer has announced.
    theirs: Sizes,
    /// File received by a party that learns: its number, and its random name in hexadecimal.
    received: Option<(usize, String)>,
}

/// Work done by a run on disk, for the report.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Done {
    /// Sorted runs of the table that were merged.
    pub runs: usize,
}

/// Whether a job can run on disk, and if not, why.
pub(super) fn check_job(job: &JobSpec) -> Result<()> {
    if is_of_polynomials(job.protocol) {
        return Err(Error::Input(format!(
            "--work: protocol = \"{}\" keeps its tables in memory: \"ecdh\" can be on disk",
            job.protocol.name()
        )));
    }
    match job.reveal {
        Reveal::Rows => Ok(()),
        _ => Err(Error::Input(format!(
            "--work: reveal = \"{}\" keeps its tables in memory: reveal = \"rows\" can be on disk",
            job.reveal
        ))),
    }
}

/// Memory of the bits that say which of so many items a receiver has, in bytes: as they are found, and as they are
/// used.
pub(super) fn bits(items: u64) -> u64 {
    items / 2
}

impl Disk {
    /// Sorts a table into the directory, unless it is there already, and measures what is given.
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
        let loading = Loading { path, options, spec, rows: true, numbered: sends(job, me), memory };
        let table = SortedTable::load(job, me, work, &loading)?;
        RUNS.remove_all(table.directory())?;
        let source = read::source_name(path);
        check_names(job, me, &source, &Batches::open(table.directory(), ROWS)?.schema)?;
        let counts = table.sorted().counts;
        let mut sizes = Sizes { items: counts.items as u64, on_disk: true, ..Sizes::default() };
        let first = job.key.as_ref().is_some_and(|key| key.duplicates == Duplicates::First);
        let rows = if first { counts.items } else { counts.items + counts.duplicates } as u64;
        let measured = if sends(job, me) {
            let measured = Measured::of(job, me, &table, &source)?;
            let (most, place) = (measured.most_rows(), || measured.fullest());
            announce(job, me, measured.schema(), most, &mut sizes, &source, place)?;
            if let Some(filling) = filling(&sizes, rows, most, &source, place) {
                tracing::warn!("{filling}");
            }
            Some(measured)
        } else {
            None
        };
        check_limits(job, me, &source, rows, &mut sizes)?;
        Ok(Disk { table, sizes, measured, source, memory })
    }

    /// A run in the directory of which both parties have all they need of each other, so that only the result is to be
    /// written.
    pub fn ended(job: &JobSpec, me: &str, path: &Path, work: &DiskOptions) -> Result<Option<Disk>> {
        Ok(Disk::reopen(job, me, path, work)?.filter(|disk| disk.table.state().ended))
    }

    /// A run in the directory of which this party, which learns, has all it needs of the other.
    pub fn complete(job: &JobSpec, me: &str, path: &Path, work: &DiskOptions) -> Result<Option<Disk>> {
        let has_all = |disk: &Disk| disk.table.state().run.as_ref().is_some_and(|run| run.received.is_some());
        Ok(Disk::reopen(job, me, path, work)?.filter(|disk| job.learns(me) && has_all(disk)))
    }

    /// The run in the directory, if it is to be resumed and its table has been sorted.
    fn reopen(job: &JobSpec, me: &str, path: &Path, work: &DiskOptions) -> Result<Option<Disk>> {
        if !work.resume || !crate::jobs::on_disk::holds_run(&work.directory) {
            return Ok(None);
        }
        check_job(job)?;
        let Some(table) = SortedTable::reopen(job, me, work)? else { return Ok(None) };
        let (source, memory) = (read::source_name(path), memory::for_data(work.memory));
        Ok(Some(Disk { table, sizes: Sizes::default(), measured: None, source, memory }))
    }

    /// Returns the sizes that are announced to the peer.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Returns the counts of the table's rows by outcome.
    pub fn row_counts(&self) -> RowCounts {
        self.table.sorted().counts
    }

    /// Returns a summary of the run's work.
    pub fn work(&self) -> Done {
        Done { runs: self.table.sorted().runs }
    }

    /// Returns the space for sorting tags at a party that has bits for so many items.
    pub fn room(&self, items: usize) -> DiskSortSpace<'_> {
        let memory = self.memory.saturating_sub(bits(items as u64)).max(memory::MIN_BYTES);
        DiskSortSpace { directory: self.table.directory(), memory: memory as usize }
    }

    /// Removes what was given, which no other run uses.
    pub fn forget_given(&self) -> Result<()> {
        [ITEMS, GIVEN].iter().try_for_each(|name| self.table.directory().remove(name))
    }

    /// Begins the file of what is received: for each of the peer's items a byte, 1 if this party lacks it, and what is
    /// given.
    pub fn receive(&self, payload_bytes: usize) -> Result<FileWriter> {
        let bytes = 1 + payload_bytes;
        let directory = self.table.directory();
        FileWriter::create(directory, &RECEIVED.name(self.next_number()), bytes, self.memory as usize)
    }

    /// The number of the next file of what is received. The last one stays until another is whole.
    fn next_number(&self) -> usize {
        let state = self.table.state();
        state.run.as_ref().and_then(|run| run.received.as_ref()).map_or(0, |(number, _)| number + 1)
    }

    /// Notes that all has been received.
    pub fn received(&self, received: FileWriter, protocol: Protocol, theirs: &Sizes) -> Result<()> {
        let number = self.next_number();
        let id = hex(&received.finish()?);
        let run = Agreed { protocol: protocol.name().into(), theirs: theirs.clone(), received: Some((number, id)) };
        self.table.note(|state| state.run = Some(run))?;
        let directory = self.table.directory();
        let others = RECEIVED.numbers(directory)?.into_iter().filter(|other| *other != number);
        others.map(|other| RECEIVED.name(other)).try_for_each(|name| directory.remove(&name))
    }

    /// Notes that a party that does not learn has done its part.
    pub fn sent(&self, protocol: Protocol, theirs: &Sizes) -> Result<()> {
        let run = Agreed { protocol: protocol.name().into(), theirs: theirs.clone(), received: None };
        self.table.note(|state| state.run = Some(run))
    }

    /// Notes that both parties have all they need of each other.
    pub fn end(&self) -> Result<()> {
        self.table.note(|state| state.ended = true)
    }

    /// Removes the run's files, now that it has succeeded.
    pub fn clear(&self) -> Result<()> {
        self.table.clear()
    }

    /// The protocol that ran.
    pub fn protocol(&self) -> Result<Protocol> {
        let run = self.agreed()?;
        let known = super::methods::all().map(|method| method.protocol()).find(|known| known.name() == run.protocol);
        known.ok_or_else(|| Error::Internal("a run by no protocol".into()))
    }

    fn agreed(&self) -> Result<Agreed> {
        self.table.state().run.clone().ok_or_else(|| Error::Internal("nothing has run".into()))
    }

    /// Returns all rows: the own ones, and those that were received.
    pub fn all(&self, job: &JobSpec, me: &str) -> Result<All> {
        let theirs = order::by_key(self, job, me)?;
        let own = SortedRows::sorted(self.table.directory().clone())?;
        // Where the party gives, too, each row has its number at the end.
        let columns = output::RowSource::schema(&own).fields().len() - usize::from(sends(job, me));
        All::new(job, me, Own { rows: Box::new(own), columns, source: &self.source }, Box::new(theirs))
    }
}
