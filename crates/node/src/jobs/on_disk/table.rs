//! A table on disk, in the order of its keys, and how far the run of it has come.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tacita_core::{Error, Progress, Result};

use super::directory::{Directory, DirectoryState, InputFile, Owner, Sorted};
use super::{KEYS, ROWS, prepare};
use crate::agreement::{DiskOptions, JobSpec, Terms};
use crate::base::hex::{hex, unhex};
use crate::base::random::fill_random;
use crate::base::text::counted;
use crate::store::seal;
use crate::table::read::Encoding;
use crate::table::{KeySpec, ReadOptions};
use crate::watch::Watcher;

/// A table on disk, in the order of its keys, and how far the run has come; `R` is what a job keeps of what was agreed
/// on.
pub struct SortedTable<R> {
    directory: Arc<Directory>,
    state: Mutex<DirectoryState<R>>,
    sorted: Sorted,
}

/// A table that is to be on disk.
pub struct Loading<'a> {
    /// Path of the table.
    pub path: &'a Path,
    /// Options with which it is read.
    pub options: &'a ReadOptions,
    /// Specification of its key.
    pub spec: KeySpec,
    /// Whether rows are kept.
    pub rows: bool,
    /// Whether rows are kept with their numbers.
    pub numbered: bool,
    /// Memory for data, in bytes.
    pub memory: u64,
}

impl<R: Serialize + DeserializeOwned> SortedTable<R> {
    /// Sorts a table into the directory, unless it is there already.
    pub fn load(job: &JobSpec, me: &str, work: &DiskOptions, loading: &Loading<'_>) -> Result<SortedTable<R>> {
        let Loading { path, options, spec, .. } = loading;
        let (directory, kept) = open(job, me, work)?;
        let mut state = state_for(kept, path, reading(spec, options), &work.directory)?;
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
                let preparation = prepare::Preparation {
                    path,
                    options: (*options).clone(),
                    spec,
                    rows: loading.rows,
                    numbered: loading.numbered,
                    memory: loading.memory as usize,
                };
                let sorted = prepare::prepare(&directory, &preparation, &progress)?;
                state.sorted = Some(sorted.clone());
                directory.keep(&state)?;
                tracing::info!(
                    "sorted {} into {}, merging {}",
                    counted(sorted.counts.read as u64, "row"),
                    work.directory.display(),
                    counted(sorted.runs as u64, "run")
                );
                sorted
            }
        };
        Ok(SortedTable { directory: Arc::new(directory), state: Mutex::new(state), sorted })
    }

    /// The table of the run in a directory, if it has been sorted.
    pub fn reopen(job: &JobSpec, me: &str, work: &DiskOptions) -> Result<Option<SortedTable<R>>> {
        let (directory, state) = open(job, me, work)?;
        let Some((state, sorted)) =
            state.and_then(|state: DirectoryState<R>| state.sorted.clone().map(|sorted| (state, sorted)))
        else {
            return Ok(None);
        };
        check_files(&directory, &sorted)?;
        Ok(Some(SortedTable { directory: Arc::new(directory), state: Mutex::new(state), sorted }))
    }

    /// Returns the directory of the table.
    pub fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// Returns the sorted data of the table.
    pub fn sorted(&self) -> &Sorted {
        &self.sorted
    }

    /// Returns the progress of the run.
    pub fn state(&self) -> MutexGuard<'_, DirectoryState<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how far the run has come now; on disk before this returns.
    pub fn note(&self, change: impl FnOnce(&mut DirectoryState<R>)) -> Result<()> {
        let mut state = self.state();
        change(&mut state);
        self.directory.keep(&*state)
    }

    /// Removes the run's files, now that it has succeeded.
    pub fn clear(&self) -> Result<()> {
        self.directory.clear()
    }
}

fn open<R: DeserializeOwned>(
    job: &JobSpec,
    me: &str,
    work: &DiskOptions,
) -> Result<(Directory, Option<DirectoryState<R>>)> {
    let terms = Terms::of(job).agreement();
    let owner = Owner { id: &job.id, party: me, terms: &terms, identity: &work.identity };
    Directory::open(&work.directory, &owner, work.resume)
}

/// The state of a run of this table: the one that was kept, or that of a run that begins.
fn state_for<R>(
    kept: Option<DirectoryState<R>>,
    path: &Path,
    reading: String,
    directory: &Path,
) -> Result<DirectoryState<R>> {
    let input = InputFile::of(path, reading)?;
    let Some(mut state) = kept else {
        let mut nonce = [0; 32];
        fill_random(&mut nonce)?;
        return Ok(DirectoryState { input, nonce: hex(&nonce), sorted: None, run: None, ended: false, together: None });
    };
    let anew = format!("or remove {} and start again", directory.display());
    if state.input.reading != input.reading {
        return Err(Error::Terms(format!(
            "{}: its run began with other columns, profiles, nulls or reading options (--delimiter, --encoding, --skip and the \
             like): use those again, {anew}",
            directory.display()
        )));
    }
    // Where the file looks the same it is not read again.
    if let Some(sorted) = state.sorted.as_ref().filter(|_| state.input != input)
        && !prepare::is_same(path, sorted)?
    {
        return Err(Error::Terms(format!(
            "{}: not the table that the run in {} began with: give that one, {anew}",
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
    part(format!("{:?}", (options.kind, options.skip, options.no_header, options.expand, &options.sheet)).as_bytes());
    for column in &spec.columns {
        part(column.header.as_bytes());
        // With the decimal mark, which its name does not have.
        part(format!("{:?}", column.profile).as_bytes());
    }
    spec.words.nulls().iter().for_each(|word| part(word.as_bytes()));
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
