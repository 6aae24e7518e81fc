//! Sources of a party's data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tacita_core::{Error, Result};

use super::{Ability, JobSpec, Show};
use crate::identity::Identity;
use crate::table::{ReadOptions, Table, read};
use crate::watch::ProgressSink;

/// Source of a party's data.
#[derive(Clone)]
pub enum Source {
    /// Table in a file.
    File {
        /// Path of the table, or `-` for CSV on standard input.
        path: PathBuf,
        /// Options for reading it.
        options: ReadOptions,
        /// Go on although more than half of the keys cannot be read.
        allow_unreadable: bool,
    },
    /// A table in memory.
    Table {
        /// Table that is read.
        table: Table,
        /// Go on although more than half of the keys cannot be read.
        allow_unreadable: bool,
    },
    /// A table, and one with keys to be tried.
    Candidates {
        /// The path of the table.
        path: PathBuf,
        /// The path of the other one.
        candidates: PathBuf,
        /// Options for reading both.
        options: ReadOptions,
        /// Go on although more than half of the keys cannot be read.
        allow_unreadable: bool,
    },
    /// Output of `tacita prepare` for a table.
    Prepared {
        /// Directory in which it is kept.
        directory: PathBuf,
        /// The table that it must have been made of, if the user gives it again.
        check: Option<(PathBuf, ReadOptions)>,
    },
    /// A table that is sorted on disk, and intersected there.
    Disk {
        /// Path of the table, or `-` for CSV on standard input.
        path: PathBuf,
        /// Options for reading it.
        options: ReadOptions,
        /// Go on although more than half of the keys cannot be read.
        allow_unreadable: bool,
        /// Location and options of the work on disk.
        work: DiskOptions,
    },
    /// Paths of share files.
    Shares(Vec<PathBuf>),
}

impl Source {
    /// Returns the source that the user of party `me` gave with --input, once or several times. The job decides what it
    /// is.
    pub fn of(
        job: &JobSpec,
        me: &str,
        paths: Vec<PathBuf>,
        options: ReadOptions,
        allow_unreadable: bool,
    ) -> Result<Source> {
        let options = job.reading(me, options);
        if let (Ok(()), [path, candidates]) = (job.job.can(job, Ability::Candidates), &paths[..]) {
            let (path, candidates) = (path.clone(), candidates.clone());
            return Ok(Source::Candidates { path, candidates, options, allow_unreadable });
        }
        match (job.job.can(job, Ability::SeveralInputs), <[PathBuf; 1]>::try_from(paths)) {
            (Ok(()), Ok(paths)) => Ok(Source::Shares(paths.into())),
            (Ok(()), Err(paths)) => Ok(Source::Shares(paths)),
            (Err(_), Ok([path])) => Ok(Source::File { path, options, allow_unreadable }),
            (Err(error), Err(paths)) => Err(Error::Input(format!("--input is given {} times: {error}", paths.len()))),
        }
    }

    /// The same with the work on disk, of party `me`.
    pub fn on_disk(self, job: &JobSpec, me: &str, work: DiskOptions) -> Result<Source> {
        match self {
            _ if job.parties.get(me).is_some_and(|party| party.show != Show::default()) => Err(Error::Input(format!(
                "--work: parties.{me}.show, --keep and --with-key are for tables in memory: leave one of them out"
            ))),
            Source::File { path, options, allow_unreadable } => {
                Ok(Source::Disk { path, options, allow_unreadable, work })
            }
            _ => Err(Error::Input("--work: only a table can be on disk".into())),
        }
    }

    /// The table, read if it is a file, and whether to go on although most of its keys cannot be read; nothing where
    /// the source is something else.
    pub fn table(&self) -> Result<Option<(Table, bool)>> {
        match self {
            Source::File { path, options, allow_unreadable } => Ok(Some((read(path, options)?, *allow_unreadable))),
            Source::Table { table, allow_unreadable } => Ok(Some((table.clone(), *allow_unreadable))),
            _ => Ok(None),
        }
    }

    /// The same of a source that has to be a table. Errors ([`Error::Input`]): it is something else.
    pub fn only_table(&self) -> Result<(Table, bool)> {
        self.table()?.ok_or_else(|| Error::Input("this job takes a table in memory: give --input FILE".into()))
    }

    /// The files that are read.
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Source::File { path, .. } | Source::Disk { path, .. } => vec![path],
            Source::Candidates { path, candidates, .. } => vec![path, candidates],
            Source::Prepared { .. } | Source::Table { .. } => Vec::new(),
            Source::Shares(paths) => paths.iter().map(PathBuf::as_path).collect(),
        }
    }
}

/// Location and options of a run's work on disk.
#[derive(Clone)]
pub struct DiskOptions {
    /// Directory of the work.
    pub directory: PathBuf,
    /// Goes on with the run in it.
    pub resume: bool,
    /// Memory that the run may use, in bytes.
    pub memory: Option<u64>,
    /// Identity whose key opens the data on disk.
    pub identity: Identity,
    /// Screen for messages while the table is sorted.
    pub screen: Arc<dyn ProgressSink>,
}

/// Location of a pool and its key.
#[derive(Debug, Clone)]
pub struct PoolPlace {
    /// Directory of the pool.
    pub directory: PathBuf,
    /// File of the pool's key, if it has been moved.
    pub key_file: Option<PathBuf>,
}
