//! Common code of jobs that keep their work on disk. A table of any length is sorted by key into files that only
//! the party's identity opens. An interrupted run resumes from them. The contents of the disk meanwhile are
//! described in `docs/security.md`.
//!
//! `prepare` sorts a table by key into two files, with `sort`. All files are sealed (`store::seal`) with a key that
//! only the party's identity can derive (`directory`), and are gone after the run.

pub(crate) mod directory;
mod heap;
pub mod memory;
pub(super) mod prepare;
pub(super) mod records;
pub mod rows;
pub(super) mod sort;
pub(super) mod table;

pub use self::prepare::room_for;
use std::path::Path;

use directory::Numbered;

/// Whether a directory holds an unfinished run.
pub fn holds_run(directory: &Path) -> bool {
    directory::Directory::holds_run(directory)
}

/// The file of keys.
pub(super) const KEYS: &str = "keys.sealed";

/// The file of rows.
pub(super) const ROWS: &str = "rows.sealed";

/// The file of buckets.
pub(super) const BUCKETS: &str = "buckets.sealed";

/// The file of a sender's items, in the order in which they go.
pub(super) const ITEMS: &str = "items.sealed";

/// The file of what is given for each of them.
pub(super) const GIVEN: &str = "given.sealed";

/// The file of the peer's rows, in the order of their keys.
pub(super) const THEIRS: &str = "theirs.sealed";

/// The files of what a receiver has got, one an attempt.
pub(super) const RECEIVED: Numbered = Numbered("received");

/// The files of sorted runs.
pub(super) const RUNS: Numbered = Numbered("run");

/// The files of results, one a bucket.
pub(super) const RESULT: Numbered = Numbered("result");

/// Returns the peak disk usage, in bytes, of a table of so many rows, if rows have the assumed length. Rows are
/// kept if `keeps` says so.
pub(super) fn sorted_bytes(rows: u64, keeps: bool) -> u64 {
    let row = if keeps { ASSUMED_ROW_BYTES } else { ASSUMED_KEY_BYTES };
    // Once in runs and once in order.
    2 * rows * row
}

/// CPU time in seconds that it takes to read a row, sort it on disk, hash its key and write it, measured.
pub(super) const SORTED_ROW: f64 = 3e-6;

/// Assumed sizes for a table that has not been read: the bytes of a row with its key, and of its key.
const ASSUMED_ROW_BYTES: u64 = 100;
const ASSUMED_KEY_BYTES: u64 = 36;
