//! Where a database keeps the rows of its rounds.
//!
//! [`Storage`] is all that the database asks of it. [`Embedded`] keeps everything in a directory of one process; another back end is another
//! implementation, and passes the same tests (`suite.rs`).

mod embedded;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::path::Path;

use tacita_core::{Error, Result};

pub use embedded::Embedded;

/// A row: what all reports of one key have in common, and nobody can tell which key it is.
pub type RowId = [u8; 32];

/// The random name of a batch.
pub type BatchId = [u8; 16];

/// A report as the database has opened it.
#[derive(Clone, PartialEq, Eq)]
pub struct Row {
    /// The row that it belongs to.
    pub id: RowId,
    /// What is kept of it there.
    pub stored: Stored,
}

/// A report within its row.
#[derive(Clone, PartialEq, Eq)]
pub struct Stored {
    /// The same in two reports of a row if one participant made both; zero where tags are not made.
    pub tag: [u8; 32],
    /// The value's place in the domain.
    pub value: u32,
    /// The key, encrypted for the oracles.
    pub sealed: Vec<u8>,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Row(..)")
    }
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stored(..)")
    }
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ingested {
    /// Its rows are in.
    New,
    /// They had been in: nothing has changed.
    Known,
    /// A batch of this name is in, with other rows: nothing has changed. Whoever sent it uses a name twice.
    Conflict,
}

/// How much of a round is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Batches that are in.
    pub batches: u64,
    /// Reports in them.
    pub reports: u64,
}

/// What [`Storage::groups`] calls with each row and its reports.
pub type Each<'a> = dyn FnMut(&RowId, &mut dyn Iterator<Item = Result<Stored>>) -> Result<ControlFlow<()>> + 'a;

/// Rows of rounds, and a few small records beside them, on disk.
///
/// What a method has done is on disk when it returns. Several threads may use one at once; each call waits for the disk, so that an
/// asynchronous caller makes it on a thread for blocking work. Rounds are kept apart: nothing done to one changes another.
///
/// Errors ([`Error::Input`]): the disk is full or fails, or what is on it is damaged. After an error of `ingest`, `put` or `remove` nothing or
/// all of it has happened: trying again does it once.
pub trait Storage: Send + Sync {
    /// Takes the reports of a batch into a round, all of them or none, and exactly once for each name of a batch.
    fn ingest(&self, round: &str, batch: &BatchId, rows: &[Row]) -> Result<Ingested>;

    /// Goes through the rows of a round in the order of their ids, from behind `after`, until `each` breaks off.
    ///
    /// Neither the round nor a row is held in memory: the iterator reads as it goes, and what is left of it is skipped. Within a row, reports
    /// are in one order always, which is that of the names of batches. What is ingested meanwhile is not seen.
    fn groups(&self, round: &str, after: Option<&RowId>, each: &mut Each<'_>) -> Result<()>;

    /// The reports of a row, in the order of [`Storage::groups`]; nothing if there are more than `limit`.
    fn entries(&self, round: &str, row: &RowId, limit: usize) -> Result<Option<Vec<Stored>>>;

    /// How much of a round is there.
    fn totals(&self, round: &str) -> Result<Totals>;

    /// Writes a small record of a round in place of one of that name.
    fn put(&self, round: &str, name: &str, value: &[u8]) -> Result<()>;

    /// A record of a round.
    fn get(&self, round: &str, name: &str) -> Result<Option<Vec<u8>>>;

    /// Rounds of which anything is there, in order.
    fn rounds(&self) -> Result<Vec<String>>;

    /// Removes all of a round, its records too, and gives its space back.
    fn remove(&self, round: &str) -> Result<()>;
}

const EMBEDDED: &str = "embedded:";

/// Opens the storage that a URL names: `embedded:DIR`.
///
/// Errors ([`Error::Input`]): it names none, or see [`Embedded::open`]. The text repeats no more of a URL than what kind it is: the rest may hold
/// a password.
pub fn open(url: &str) -> Result<Box<dyn Storage>> {
    Ok(Box::new(Embedded::open(directory(url)?)?))
}

fn directory(url: &str) -> Result<&Path> {
    let usage = "use embedded:DIR, a directory of this process alone";
    match url.strip_prefix(EMBEDDED) {
        Some("") => Err(Error::Input(format!("storage: `{EMBEDDED}` names no directory: {usage}"))),
        Some(rest) if rest.starts_with("//") => Err(Error::Input(format!(
            "storage: `{EMBEDDED}//` is followed by no host: write embedded:DIR, as embedded:/srv/round"
        ))),
        Some(rest) => Ok(Path::new(rest)),
        None => Err(match url.split_once(':') {
            Some((kind, _)) if !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Error::Input(format!("storage: this program has none of the kind `{kind}`: {usage}"))
            }
            _ => Error::Input(format!("storage: what is given names no kind of storage: {usage}")),
        }),
    }
}

#[cfg(test)]
mod urls {
    use super::*;

    #[test]
    fn urls_are_read_and_what_is_wrong_is_said_without_passwords() {
        assert_eq!(directory("embedded:/srv/x").unwrap(), Path::new("/srv/x"));
        assert_eq!(directory("embedded:state/rows").unwrap(), Path::new("state/rows"));
        for (url, part) in [
            ("embedded:", "names no directory"),
            ("embedded:///srv/x", "write embedded:DIR"),
            ("postgresql://me:secret@host/db", "none of the kind `postgresql`"),
            ("/srv/secret", "names no kind"),
            ("", "names no kind"),
            (":secret", "names no kind"),
            ("a secret:x", "names no kind"),
        ] {
            let error = directory(url).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("embedded:DIR") && !error.contains("secret"), "{error}");
        }
    }
}
