//! The directory of a run that keeps its work on disk: its key, its lock, its files, and how far the run has come.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use super::{BUCKETS, GIVEN, ITEMS, KEYS, RECEIVED, RESULT, ROWS, RUNS, THEIRS};
use crate::base::files::is_read_once;
use crate::base::folder::{Folder, LEFT_BEHIND};
use crate::base::hex::{hex, unhex};
use crate::base::random::fill_random;
use crate::base::text;
use crate::base::text::json;
use crate::identity::Identity;
use crate::store::seal::{self, SealKey, SealedReader, SealedWriter, damaged, part};
use crate::table::RowCounts;

/// Public header of a run: its owner, and the salt from which its key is derived.
const HEAD_FILE: &str = "run.json";
const STATE_FILE: &str = "state.sealed";
const LOCK_FILE: &str = "run.lock";

/// 2: tags and buckets have other sizes than in 1, because all that may go wrong by chance shares one bound.
const VERSION: u32 = 2;
const SALT_BYTES: usize = 32;

/// A directory that this process alone works in.
#[derive(Debug)]
pub struct Directory {
    folder: Folder,
    key: SealKey,
    _lock: File,
    /// Bytes that the run needs in all, about; 0 if that is not known yet.
    needed: AtomicU64,
}

#[derive(Serialize, Deserialize)]
struct Head {
    tacita_work: u32,
    /// Id of the job.
    id: String,
    party: String,
    /// Fingerprint of the identity whose key opens the files.
    identity: String,
    /// Fingerprint of the terms.
    terms: String,
    /// Salt for deriving the key of the files, in hexadecimal.
    salt: String,
}

/// Owner of a run.
pub struct Owner<'a> {
    /// Id of the job.
    pub id: &'a str,
    /// Name of the party.
    pub party: &'a str,
    /// Fingerprint of the terms.
    pub terms: &'a str,
    /// The party's key pair.
    pub identity: &'a Identity,
}

/// Progress of a run; `R` is what a job keeps of what was agreed on.
#[derive(Serialize, Deserialize)]
pub struct DirectoryState<R> {
    /// Table that the run is based on.
    pub input: InputFile,
    /// Nonce for the commitment to the input, in hexadecimal.
    pub nonce: String,
    /// The table in order, once it is.
    pub sorted: Option<Sorted>,
    /// The run that was agreed on with the peer.
    pub run: Option<R>,
    /// Whether both parties have everything that they need from each other.
    pub ended: bool,
    /// Counts of the table's rows by several keys, of which this is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<RowCounts>,
}

/// A party's table, as far as one can tell without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Path of the table, or `-`.
    pub path: PathBuf,
    /// Length of the table in bytes.
    pub bytes: u64,
    /// Modification time in nanoseconds.
    pub changed: i128,
    /// Fingerprint of how it is read: which columns are the key, by which profiles.
    pub reading: String,
}

/// A table that is on disk in the order of its keys.
#[derive(Clone, Serialize, Deserialize)]
pub struct Sorted {
    /// Counts of the table's rows by outcome.
    pub counts: RowCounts,
    /// Random name of the file of keys, in hexadecimal.
    pub keys: String,
    /// Likewise of the file of rows, where the party learns any.
    pub rows: Option<String>,
    /// BLAKE3 of the table's file, and of its keys, in hexadecimal.
    pub digest: String,
    /// BLAKE3 of the table's file alone, where there is one.
    pub file: Option<String>,
    /// Runs that were merged.
    pub runs: usize,
    /// Rows are numbered by the lines of a text file.
    #[serde(default)]
    pub lines: bool,
}

impl Directory {
    /// Opens a directory for this process alone. Returns how far the run has come that is kept in it, as
    /// [`Directory::keep`] has kept it, if one is to be resumed.
    ///
    /// Errors: others can write to it; another process has it; there is an unfinished run and `resume` is not set, or
    /// one of another party, identity or other terms; its files are damaged.
    pub fn open<S: DeserializeOwned>(path: &Path, owner: &Owner<'_>, resume: bool) -> Result<(Directory, Option<S>)> {
        let fault = |what: String| Error::Input(format!("{}: {what}", path.display()));
        let folder = Folder::make(path)?;
        let lock = folder.try_lock(LOCK_FILE)?.ok_or_else(|| {
            fault("another run uses this directory: wait until it ends, or give another --work".into())
        })?;
        let text = match folder.read(HEAD_FILE).and_then(std::io::read_to_string) {
            Ok(text) if resume => text,
            Ok(_) => {
                return Err(fault("it holds an unfinished run: resume it with --resume, or remove it".into()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if resume {
                    tracing::info!("{}: nothing to resume, the run starts from the beginning", path.display());
                }
                return Ok((Directory::create(folder, owner, lock)?, None));
            }
            Err(error) => {
                return Err(Error::Input(format!("{}: cannot be read: {error}", folder.at(HEAD_FILE).display())));
            }
        };
        let head_path = folder.at(HEAD_FILE);
        let head: Head = serde_json::from_str(&text).map_err(|_| damaged(&head_path))?;
        if head.tacita_work != VERSION {
            let which = if head.tacita_work < VERSION { "an older" } else { "a newer" };
            return Err(fault(format!(
                "its run was begun by {which} version of this program: finish it with that one at both parties, or remove the \
                 directory and start again"
            )));
        }
        if head.identity != owner.identity.fingerprint().to_string() {
            return Err(fault(format!(
                "its run was begun by {}, and --identity is {}: use that identity, or remove the directory",
                text::shown(&head.identity),
                owner.identity.fingerprint()
            )));
        }
        if head.party != owner.party {
            return Err(Error::Terms(format!(
                "{}: its run is that of {}: resume it as that party, or remove the directory",
                path.display(),
                text::shown(&head.party)
            )));
        }
        if head.terms != owner.terms {
            return Err(Error::Terms(format!(
                "{}: the terms have changed since this run of \"{}\" began: use the original job file, or remove the directory \
                 and start again",
                path.display(),
                text::shown(&head.id)
            )));
        }
        let salt = unhex(&head.salt).filter(|salt| salt.len() == SALT_BYTES).ok_or_else(|| damaged(&head_path))?;
        let directory = Directory::new(folder, owner, &salt, lock);
        if !directory.folder.has(STATE_FILE) {
            return Ok((directory, None));
        }
        let state = directory.open_file(STATE_FILE, STATE_FILE)?.only()?;
        let state = serde_json::from_slice(&state).map_err(|_| damaged(&directory.path(STATE_FILE)))?;
        Ok((directory, Some(state)))
    }

    fn create(folder: Folder, owner: &Owner<'_>, lock: File) -> Result<Directory> {
        let mut salt = [0; SALT_BYTES];
        fill_random(&mut salt)?;
        let head = Head {
            tacita_work: VERSION,
            id: owner.id.to_owned(),
            party: owner.party.to_owned(),
            identity: owner.identity.fingerprint().to_string(),
            terms: owner.terms.to_owned(),
            salt: hex(&salt),
        };
        let directory = Directory::new(folder, owner, &salt, lock);
        // Of a run that was ended while it removed its files.
        directory.remove_all()?;
        let text = json(serde_json::to_string_pretty(&head))?;
        directory.folder.write(HEAD_FILE, format!("{text}\n").as_bytes())?;
        Ok(directory)
    }

    fn new(folder: Folder, owner: &Owner<'_>, salt: &[u8], lock: File) -> Directory {
        let key = SealKey::new(owner.identity.derive("work directory", salt));
        Directory { folder, key, _lock: lock, needed: AtomicU64::new(0) }
    }

    /// Whether a run is kept in a directory.
    pub fn holds_run(path: &Path) -> bool {
        path.join(HEAD_FILE).exists()
    }

    /// The path of one of its files.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.at(name)
    }

    /// Notes that the run will need about so many bytes beside the files that are there.
    pub fn note_needed(&self, more: u64) {
        let length = |name: &String| std::fs::metadata(self.path(name)).map_or(0, |facts| facts.len());
        let there: u64 = self.folder.names().unwrap_or_default().iter().map(length).sum();
        self.needed.store(there + more, Ordering::Relaxed);
    }

    /// Begins a file of this purpose.
    pub fn create_file(&self, name: &str, purpose: &str) -> Result<SealedWriter> {
        SealedWriter::create(&self.folder, name, &self.key, purpose, self.advice())
    }

    /// Opens a file of this purpose.
    pub fn open_file(&self, name: &str, purpose: &str) -> Result<SealedReader> {
        SealedReader::open(&self.folder, name, &self.key, purpose)
    }

    /// Writes a file with one record, whole or not at all, and on disk before this returns.
    pub fn put(&self, name: &str, purpose: &str, record: Vec<u8>) -> Result<()> {
        seal::put(&self.folder, name, &self.key, purpose, record, self.advice()).map(drop)
    }

    /// Keeps how far the run has come.
    pub fn keep(&self, state: &impl Serialize) -> Result<()> {
        let bytes = json(serde_json::to_vec(state))?;
        self.put(STATE_FILE, STATE_FILE, bytes)
    }

    /// Removes one of its files, if it is there.
    pub fn remove(&self, name: &str) -> Result<()> {
        let failed = |error| Error::Input(format!("{}: cannot be removed: {error}", self.path(name).display()));
        self.folder.remove(name).map_err(failed)
    }

    /// Removes all that a run leaves, and the lock last. The head goes first: without it there is no run.
    pub fn clear(&self) -> Result<()> {
        self.remove(HEAD_FILE)?;
        self.remove_all()?;
        self.remove(LOCK_FILE)
    }

    fn remove_all(&self) -> Result<()> {
        for name in [STATE_FILE, KEYS, ROWS, BUCKETS, ITEMS, GIVEN, THEIRS] {
            self.remove(name)?;
            self.remove(&part(name))?;
        }
        let names = self.folder.names()?;
        names.iter().filter(|name| name.starts_with(LEFT_BEHIND)).try_for_each(|name| self.remove(name))?;
        [RUNS, RESULT, RECEIVED].iter().try_for_each(|numbered| numbered.remove_all(self))
    }

    fn advice(&self) -> String {
        let needed = match self.needed.load(Ordering::Relaxed) {
            0 => "a few times the table's size".into(),
            bytes => format!("about {} there in all", text::bytes(bytes)),
        };
        format!("the run needs {needed}; make room, then --resume goes on")
    }
}

/// Files of one kind, each with a number in its name.
pub struct Numbered(pub &'static str);

impl Numbered {
    /// The name of one of them.
    pub fn name(&self, number: usize) -> String {
        format!("{}-{number:06}.sealed", self.0)
    }

    /// The numbers of those that are there, whole.
    pub fn numbers(&self, directory: &Directory) -> Result<Vec<usize>> {
        Ok(directory.folder.names()?.iter().filter_map(|name| self.number(name)).collect())
    }

    /// Removes all of them.
    pub fn remove_all(&self, directory: &Directory) -> Result<()> {
        let is_one = |name: &&String| self.number(name.strip_suffix(".part").unwrap_or(name)).is_some();
        directory.folder.names()?.iter().filter(is_one).try_for_each(|name| directory.remove(name))
    }

    fn number(&self, name: &str) -> Option<usize> {
        let digits = name.strip_prefix(self.0)?.strip_prefix('-')?.strip_suffix(".sealed")?;
        digits.parse().ok().filter(|number| self.name(*number) == name)
    }
}

impl InputFile {
    /// Returns the properties of a table that can be determined now.
    pub fn of(path: &Path, reading: String) -> Result<InputFile> {
        if is_read_once(path) {
            return Ok(InputFile { path: path.to_owned(), bytes: 0, changed: 0, reading });
        }
        let failed = |error: std::io::Error| Error::Input(format!("{}: cannot read: {error}", path.display()));
        let facts = std::fs::metadata(path).map_err(failed)?;
        Ok(InputFile {
            path: std::fs::canonicalize(path).map_err(failed)?,
            bytes: facts.len(),
            changed: i128::from(facts.mtime()) * 1_000_000_000 + i128::from(facts.mtime_nsec()),
            reading,
        })
    }
}
