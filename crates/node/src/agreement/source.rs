//! Where a party's data comes from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tacita_core::{Error, Result};

use super::{Ability, JobSpec, Show};
use crate::identity::Identity;
use crate::table::{ReadOptions, Table, read};
use crate::watch::Screen;

/// Where a party's data comes from.
#[derive(Clone)]
pub enum Source {
    /// A table.
    File {
        /// Its path, or `-` for CSV on standard input.
        path: PathBuf,
        /// How to read it.
        options: ReadOptions,
        /// Go on although more than half of the keys cannot be read.
        allow_unreadable: bool,
    },
    /// A table in memory.
    Table {
        /// It.
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
        /// How to read both.
        options: ReadOptions,
        /// Go on although more than half of the keys cannot be read.
        allow_unreadable: bool,
    },
    /// What `tacita prepare` made of a table.
    Prepared {
        /// Where it is kept.
        directory: PathBuf,
        /// The table that it must have been made of, if the user gives it again.
        check: Option<(PathBuf, ReadOptions)>,
    },
    /// A table that is sorted on disk, and intersected there.
    Disk {
        /// Its path, or `-` for CSV on standard input.
        path: PathBuf,
        /// How to read it.
        options: ReadOptions,
        /// Go on although more than half of the keys cannot be read.
        allow_unreadable: bool,
        /// Where the work is kept.
        work: OnDisk,
    },
    /// Share files.
    Shares(Vec<PathBuf>),
}

impl Source {
    /// What the user of party `me` gave with --input, once or several times: for the job to say what it is.
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
    pub fn on_disk(self, job: &JobSpec, me: &str, work: OnDisk) -> Result<Source> {
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

    /// The table, read if it is a file, and whether to go on although most of its keys cannot be read; nothing where the source is
    /// something else.
    pub fn table(&self) -> Result<Option<(Table, bool)>> {
        match self {
            Source::File { path, options, allow_unreadable } => Ok(Some((read(path, options)?, *allow_unreadable))),
            Source::Table { table, allow_unreadable } => Ok(Some((table.clone(), *allow_unreadable))),
            _ => Ok(None),
        }
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

/// Where and how a run keeps its work.
#[derive(Clone)]
pub struct OnDisk {
    /// The directory.
    pub directory: PathBuf,
    /// Goes on with the run in it.
    pub resume: bool,
    /// Memory that the run may use, in bytes.
    pub memory: Option<u64>,
    /// Whose key opens what is on disk.
    pub identity: Identity,
    /// What is said while the table is sorted.
    pub screen: Arc<dyn Screen>,
}

/// Where a pool is.
#[derive(Debug, Clone)]
pub struct PoolPlace {
    /// Its directory.
    pub directory: PathBuf,
    /// Its key's file, if it is not where it was.
    pub key_file: Option<PathBuf>,
}
