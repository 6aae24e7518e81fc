//! `intersect` between two parties: from a table to the rows or the number that a party learns.

pub mod choose;
pub mod cost;
pub mod disk;
mod found;
pub mod learned;
mod load;
pub mod memory;
pub mod prepared;
mod run;
mod sizes;

use tacita_core::{Error, Result};

use crate::agreement::{JobSpec, Sizes};
use crate::run::party::Source;
use crate::table::RowCounts;
use disk::Disk;
use prepared::Prepared;

pub use found::{Found, told_rows};
pub use load::{Loaded, check_limits, empty_rows, key_spec};
pub use run::run;
pub use sizes::{bloom_params, check_peer, item_key_of_epoch, params};

/// What a party brings to an intersection.
pub enum Brought {
    /// A table and its keys.
    Table(Box<Loaded>),
    /// The sender's part, made earlier.
    Prepared(Box<Prepared>),
    /// A table on disk, sorted by its keys.
    Disk(Box<Disk>),
}

impl Brought {
    /// Reads and normalises a party's data.
    pub fn load(job: &JobSpec, me: &str, source: &Source) -> Result<Brought> {
        match source {
            Source::File { path, options, allow_unreadable } => {
                Ok(Brought::Table(Box::new(Loaded::read(job, me, path, options, *allow_unreadable)?)))
            }
            Source::Prepared { directory, check } => {
                let prepared = Prepared::open(directory, job, me)?;
                if let Some((path, options)) = check {
                    prepared.check_data(&Loaded::read(job, me, path, options, true)?)?;
                }
                Ok(Brought::Prepared(Box::new(prepared)))
            }
            Source::Disk { path, options, allow_unreadable, work } => {
                Ok(Brought::Disk(Box::new(Disk::load(job, me, path, options, *allow_unreadable, work)?)))
            }
            Source::Shares(_) => Err(Error::Internal("an intersection of shares".into())),
        }
    }

    /// How much it is, as the peer is told.
    pub fn sizes(&self) -> Sizes {
        match self {
            Brought::Table(loaded) => loaded.sizes.clone(),
            Brought::Prepared(prepared) => prepared.sizes(),
            Brought::Disk(disk) => disk.sizes(),
        }
    }

    /// What became of the input's rows.
    pub fn row_counts(&self) -> RowCounts {
        match self {
            Brought::Table(loaded) => loaded.keys.counts(),
            Brought::Prepared(prepared) => prepared.row_counts(),
            Brought::Disk(disk) => disk.row_counts(),
        }
    }
}
