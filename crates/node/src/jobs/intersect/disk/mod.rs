//! Intersections of tables that do not fit memory: sorted on disk, intersected bucket by bucket, and resumed after
//! whatever ended a run.
//!
//! `on_disk::prepare` sorts a table by key into two files. The parties agree on buckets and a seed (`run`); items are hashed and
//! sorted into buckets (`buckets`), and the result of each is on disk before the bucket counts as done. At the end one pass
//! over the sorted rows writes those that are common (`on_disk::rows`).

mod buckets;
mod run;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tacita_core::{Error, Progress, Result, Security};

pub use self::run::{LANES, Party, bucketed, buckets_of, check_sizes, is_bucketed, params, resumed, run};
use crate::agreement::{JobSpec, Kept, OnDisk as Work, Protocol, Reveal, Sizes, Terms, Work as WorkSizes};
use crate::base::hex::{hex, unhex};
use crate::jobs::intersect::{check_limits, key_spec, methods};
use crate::jobs::on_disk::directory::{Directory, Input, Owner, Sorted, State};
use crate::jobs::on_disk::{Common, KEYS, ROWS, memory, prepare};
use crate::store::seal;
use crate::table::read::Encoding;
use crate::table::{KeySpec, ReadOptions, RowCounts};
use crate::watch::Watcher;

/// A table on disk, in the order of its keys, and how far the run has come.
pub struct Disk {
    directory: Arc<Directory>,
    state: Mutex<State>,
    sorted: Sorted,
    sizes: Sizes,
    /// Memory for data, in bytes.
    memory: u64,
    /// Buckets that this process has done.
    done: AtomicUsize,
}

/// What a run on disk has done, for the report.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Done {
    /// Sorted runs that were merged.
    pub runs: usize,
    /// Buckets.
    pub buckets: usize,
    /// Those of them that were done in this run, and not in one that it has resumed.
    pub done: usize,
}

/// Whether a job can run on disk, and if not, why.
pub fn check_job(job: &JobSpec) -> Result<()> {
    let bad = |text: String| Err(Error::Input(format!("--work: {text}")));
    if methods::named(job.protocol).is_some_and(|method| method.in_buckets().is_none()) {
        let on_disk = methods::all().filter(|method| method.in_buckets().is_some());
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

/// Whether a directory holds an unfinished run.
pub fn holds_run(directory: &Path) -> bool {
    Directory::holds_run(directory)
}

/// What a table of so many rows takes on disk at once, in bytes, if rows have the length that is assumed; rows are kept
/// where the party `learns`.
pub fn bytes(rows: u64, learns: bool) -> u64 {
    let row = if learns { ASSUMED_ROW_BYTES } else { ASSUMED_KEY_BYTES };
    // Once in runs and once in order.
    2 * rows * row
}

/// What is assumed of a table that has not been read: the bytes of a row with its key, and of its key.
const ASSUMED_ROW_BYTES: u64 = 100;
const ASSUMED_KEY_BYTES: u64 = 36;

impl Disk {
    /// Sorts a table into the directory, unless it is there already.
    pub fn load(
        job: &JobSpec,
        me: &str,
        path: &Path,
        options: &ReadOptions,
        allow_unreadable: bool,
        work: &Work,
    ) -> Result<Disk> {
        check_job(job)?;
        let spec = key_spec(job, me, allow_unreadable)?;
        let memory = memory::enough_for_data(work.memory)?;
        let (directory, kept) = open(job, me, work)?;
        let mut state = state_for(kept, path, reading(&spec, options), &work.directory)?;
        let sorted = match state.sorted.clone() {
            Some(sorted) => {
                check_files(&directory, &sorted)?;
                directory.keep(&state)?;
                tracing::info!("{}: the sorted table is there", work.directory.display());
                sorted
            }
            None => {
                directory.keep(&state)?;
                let progress = Arc::new(Progress::default());
                let _watcher = Watcher::of_progress(progress.clone(), work.screen.clone());
                let rows = job.learns(me);
                let memory = memory as usize;
                let numbered = job.keys_in_all() > 1;
                let preparation = prepare::Preparation { path, options: *options, spec: &spec, rows, numbered, memory };
                let sorted = prepare::prepare(&directory, &preparation, &progress)?;
                state.sorted = Some(sorted.clone());
                directory.keep(&state)?;
                tracing::info!(
                    "sorted {} into {}, merging {}",
                    crate::base::text::counted(sorted.counts.read as u64, "row"),
                    work.directory.display(),
                    crate::base::text::counted(sorted.runs as u64, "run")
                );
                sorted
            }
        };
        let mut sizes = Sizes { items: sorted.counts.items as u64, ..Sizes::default() };
        check_limits(job, &path.display().to_string(), &mut sizes)?;
        let kept = match &state.run {
            Some(run) => Some(Kept {
                run: run::public_id(run),
                finished: buckets::finished(&directory)?.len() as u64,
                buckets: run.buckets as u64,
                protocol: run.protocol.clone(),
            }),
            None => None,
        };
        sizes.work = Some(WorkSizes { memory: memory::for_buckets(memory), kept });
        let directory = Arc::new(directory);
        Ok(Disk { directory, state: Mutex::new(state), sorted, sizes, memory, done: AtomicUsize::new(0) })
    }

    /// A run in the directory of which both parties have all they need of each other, so that only the result is to be
    /// written.
    pub fn ended(job: &JobSpec, me: &str, work: &Work) -> Result<Option<Disk>> {
        if !work.resume || !holds_run(&work.directory) {
            return Ok(None);
        }
        check_job(job)?;
        Ok(Disk::reopen(job, me, work)?.filter(|disk| disk.state().ended))
    }

    /// A run in the directory of which this party, which learns, has all it needs of the other.
    pub fn complete(job: &JobSpec, me: &str, work: &Work) -> Result<Option<Disk>> {
        if !work.resume || !job.learns(me) {
            return Ok(None);
        }
        let Some(disk) = Disk::reopen(job, me, work)? else { return Ok(None) };
        let buckets = disk.state().run.as_ref().map(|run| run.buckets);
        let finished = buckets::finished(&disk.directory)?.len();
        Ok((buckets == Some(finished)).then_some(disk))
    }

    /// The run in the directory, if its table has been sorted.
    fn reopen(job: &JobSpec, me: &str, work: &Work) -> Result<Option<Disk>> {
        let (directory, state) = open(job, me, work)?;
        let Some((state, sorted)) = state.and_then(|state| state.sorted.clone().map(|sorted| (state, sorted))) else {
            return Ok(None);
        };
        check_files(&directory, &sorted)?;
        let memory = memory::for_data(work.memory);
        let (state, done) = (Mutex::new(state), AtomicUsize::new(0));
        let directory = Arc::new(directory);
        Ok(Some(Disk { directory, state, sorted, sizes: Sizes::default(), memory, done }))
    }

    /// How much it is, as the peer is told.
    pub fn sizes(&self) -> Sizes {
        self.sizes.clone()
    }

    /// What became of the table's rows.
    pub fn row_counts(&self) -> RowCounts {
        self.sorted.counts
    }

    /// How the run went.
    pub fn work(&self) -> Option<Done> {
        let buckets = self.state().run.as_ref().map(|run| run.buckets)?;
        Some(Done { runs: self.sorted.runs, buckets, done: self.done.load(Ordering::Relaxed) })
    }

    /// What became of the table's rows by several keys, of which this is one, if that is known.
    pub fn together(&self) -> Option<RowCounts> {
        self.state().together
    }

    /// Keeps what became of the table's rows by several keys.
    pub fn count_together(&self, counts: RowCounts) -> Result<()> {
        let mut state = self.state();
        state.together = Some(counts);
        self.directory.keep(&state)
    }

    /// The protocol that ran.
    pub fn protocol(&self) -> Result<Protocol> {
        let state = self.state();
        let run = state.run.as_ref().ok_or_else(|| Error::Internal("nothing has run".into()))?;
        let method = methods::called(&run.protocol);
        method.map(|method| method.protocol()).ok_or_else(|| Error::Internal("a run by no protocol".into()))
    }

    /// Notes that both parties have all they need of each other.
    pub fn end(&self) -> Result<()> {
        let mut state = self.state();
        state.ended = true;
        self.directory.keep(&state)
    }

    /// The rows that are common.
    pub fn common(&self) -> Result<Common> {
        let run = self.state().run.as_ref().map(|run| run.run.clone());
        let run = run.ok_or_else(|| Error::Internal("nothing has run".into()))?;
        let bits = buckets::common(&self.directory, &run, self.sorted.counts.items)?;
        Common::new(self.directory.clone(), bits)
    }

    /// Removes the run's files, now that it has succeeded.
    pub fn clear(&self) -> Result<()> {
        self.directory.clear()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(job: &JobSpec, me: &str, work: &Work) -> Result<(Directory, Option<State>)> {
    let terms = Terms::of(job).agreement();
    let owner = Owner { id: &job.id, party: me, terms: &terms, identity: &work.identity };
    Directory::open(&work.directory, &owner, work.resume)
}

/// The state of a run of this table: the one that was kept, or that of a run that begins.
fn state_for(kept: Option<State>, path: &Path, reading: String, directory: &Path) -> Result<State> {
    let input = Input::of(path, reading)?;
    let Some(mut state) = kept else {
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce)
            .map_err(|error| Error::Internal(format!("the operating system gives no randomness: {error}")))?;
        return Ok(State { input, nonce: hex(&nonce), sorted: None, run: None, ended: false, together: None });
    };
    let anew = format!("or remove {} and start anew", directory.display());
    if state.input.reading != input.reading {
        return Err(Error::Terms(format!(
            "{}: the run in it read the key by other columns or profiles, or another --delimiter or --encoding: go back to those, {anew}",
            directory.display()
        )));
    }
    // Where the file looks the same it is not read again.
    if let Some(sorted) = state.sorted.as_ref().filter(|_| state.input != input)
        && !prepare::is_same(path, sorted)?
    {
        return Err(Error::Terms(format!(
            "{}: not the table that the run in {} began with: bring that one, {anew}",
            path.display(),
            directory.display()
        )));
    }
    state.input = input;
    Ok(state)
}

/// Fingerprint of how a table is read.
fn reading(spec: &KeySpec, options: &ReadOptions) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 work reading");
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    part(options.delimiter.as_slice());
    part(options.encoding.map_or("", Encoding::name).as_bytes());
    for column in &spec.columns {
        part(column.header.as_bytes());
        part(column.profile.to_string().as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Refuses files of keys and rows that are not those that were sorted.
fn check_files(directory: &Directory, sorted: &Sorted) -> Result<()> {
    for (name, id) in [(KEYS, Some(&sorted.keys)), (ROWS, sorted.rows.as_ref())] {
        if let Some(id) = id
            && unhex(id).as_deref() != Some(&directory.open_file(name, name)?.id()[..])
        {
            return Err(seal::damaged(&directory.path(name)));
        }
    }
    Ok(())
}
