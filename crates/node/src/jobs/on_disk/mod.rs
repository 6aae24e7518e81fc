//! What jobs share that keep their work on disk: a table of any length is sorted by key into files that only the party's identity
//! opens, and a run that was cut off goes on with them. What lies on the disk meanwhile is described in `docs/security.md`.
//!
//! `prepare` sorts a table by key into two files, with `sort`. All files are sealed (`store::seal`) with a key that only the party's
//! identity can derive (`directory`), and are gone after the run.

pub(super) mod directory;
pub mod memory;
pub(super) mod prepare;
pub(super) mod rows;
pub(super) mod sort;
pub(super) mod table;

pub use self::prepare::room_for;
pub use self::rows::Common;
use directory::Numbered;

/// The file of keys.
pub(super) const KEYS: &str = "keys.sealed";

/// The file of rows.
pub(super) const ROWS: &str = "rows.sealed";

/// The file of buckets.
pub(super) const BUCKETS: &str = "buckets.sealed";

const RUNS: Numbered = Numbered("run");

/// The files of results, one a bucket.
pub(super) const RESULT: Numbered = Numbered("result");
