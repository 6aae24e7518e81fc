//! A table that is checked without a page: for scripts.

use std::path::PathBuf;
use std::sync::Mutex;

use tacita_core::{Error, Result};
use tacita_node::base::text::counted;
use tacita_node::jobs::intersect::live::KeyReader;
use tacita_node::table::{ReadOptions, read};

use super::batch::Batch;
use super::judge::Judge;
use super::upload::{self, Choices};
use super::verdicts::{Outcome, Verdicts};
use super::{Asking, DeskLink};

/// A table to check.
pub struct Checking {
    /// The job, and who asks.
    pub asking: Asking,
    /// Path of the table.
    pub table: PathBuf,
    /// Options for reading the table.
    pub reading: ReadOptions,
    /// Column of references in the table; if absent, `reference`, if it has one.
    pub reference: Option<String>,
    /// File in which verdicts are kept.
    pub verdicts: PathBuf,
}

/// Outcome for a table.
pub struct Checked {
    /// The verdicts, as CSV.
    pub csv: String,
    /// Number of rows that were checked, and of those that were not.
    pub progress: String,
    /// Reason why some rows were not checked, if any were not.
    pub unchecked: Option<Error>,
}

/// Checks all rows of a table, as far as the quota goes.
///
/// Errors ([`Error::Input`]): the table or the file of verdicts cannot be used.
pub fn check(checking: Checking) -> Result<Checked> {
    let Checking { asking, table, reading, reference, verdicts } = checking;
    let reader = KeyReader::new(&asking.live, &asking.live.desk)?;
    let judge = Judge::new(&asking.live, &reader);
    let choices = Choices { reference: reference.unwrap_or_default(), ..Choices::default() };
    let rows = upload::rows(&read(&table, &reading)?, &choices, &reader)?;
    let batch = Batch::new(1, rows.len());
    let verdicts = Mutex::new(Verdicts::open(&verdicts)?);
    let ended = batch.run(rows, &DeskLink::start(asking), &judge, &verdicts);
    let unchecked = batch.counts()[Outcome::NotChecked as usize] as u64;
    let left_out = || Error::Input(format!("{}: {} NOT checked", table.display(), counted(unchecked, "row")));
    let unchecked = ended.err().or_else(|| (unchecked > 0).then(left_out));
    Ok(Checked { csv: batch.csv(), progress: batch.progress(), unchecked })
}
