//! Storage in which a database keeps the rows of its rounds.
//!
//! [`Storage`] is all that the database asks of it. [`Embedded`] keeps everything in a directory of one process,
//! [`Postgres`] in a server that others look after; both pass the same tests (`suite.rs`).

mod embedded;
mod postgres;
#[cfg(test)]
mod power;
mod rows;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use crate::wire::batch::{BatchId, ClaimId};

pub use embedded::Embedded;
pub use postgres::Postgres;

/// A row: what all reports of one key have in common, and nobody can tell which key it is.
pub type RowId = [u8; 32];

/// The random name of a process that shares a storage with others.
pub type Holder = [u8; 16];

/// A report as the database has opened it.
#[derive(Clone, PartialEq, Eq)]
pub struct OpenedReport {
    /// The row that it belongs to.
    pub id: RowId,
    /// Data that the row keeps of it.
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

impl std::fmt::Debug for OpenedReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Row(..)")
    }
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stored(..)")
    }
}

/// Outcome of storing a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ingested {
    /// New batch: its rows are stored.
    New,
    /// Known batch: its rows had been stored, and nothing has changed.
    Known,
    /// A batch of this name is in, with other rows: nothing has changed. Whoever sent it uses a name twice.
    Conflict,
    /// Sealed round: the batch is not in it, and it takes none any more. Nothing has changed.
    Sealed,
}

/// Amounts that are stored of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Batches that are in.
    pub batches: u64,
    /// Number of reports in these batches.
    pub reports: u64,
    /// Entries of theirs that held nothing that could be a report.
    pub dropped: u64,
}

/// The place of a sender that is none of the proxies: whoever puts a round back from a backup.
pub const NO_PROXY: u32 = u32::MAX;

/// Data that is kept of a batch beside its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchOrigin {
    /// The place of the proxy that sent it, or [`NO_PROXY`].
    pub proxy: u32,
    /// Entries of it that held nothing that could be a report.
    pub dropped: u64,
}

impl Default for BatchOrigin {
    fn default() -> BatchOrigin {
        BatchOrigin { proxy: NO_PROXY, dropped: 0 }
    }
}

/// Callback of [`Storage::groups`] for each row and its reports.
pub type GroupVisitor<'a> = dyn FnMut(&RowId, &mut dyn Iterator<Item = Result<Stored>>) -> Result<ControlFlow<()>> + 'a;

/// Rows of rounds, and a few small records beside them, on disk.
///
/// What a method has done is on disk when it returns. Several threads may use one at once; each call waits for the
/// disk, so that an asynchronous caller makes it on a thread for blocking work. Rounds are kept apart: nothing done to
/// one changes another.
///
/// Several processes may share one, where [`Storage::is_shared`] says so: then each method does what it says among all
/// of them.
///
/// Errors ([`Error::Input`]): the disk is full or fails, or what is on it is damaged. After an error of a method that
/// writes nothing or all of it has happened: trying again does it once.
pub trait Storage: Send + Sync {
    /// Whether other processes may have it open as well.
    fn is_shared(&self) -> bool;

    /// Takes the reports of a batch into a round that is not sealed, all of them or none, and exactly once for each
    /// name of a batch. Where it came from is written together with them.
    fn ingest_from(&self, origin: BatchOrigin, round: &str, batch: &BatchId, rows: &[OpenedReport])
    -> Result<Ingested>;

    /// The same for a batch of no proxy.
    fn ingest(&self, round: &str, batch: &BatchId, rows: &[OpenedReport]) -> Result<Ingested> {
        self.ingest_from(BatchOrigin::default(), round, batch, rows)
    }

    /// Goes through the rows of a round in the order of their ids, from behind `after`, until `each` breaks off.
    ///
    /// Neither the round nor a row is held in memory: the iterator reads as it goes, and what is left of it is skipped.
    /// Within a row, reports are in one order always, which is that of the names of batches. What is ingested meanwhile
    /// is not seen.
    fn groups(&self, round: &str, after: Option<&RowId>, each: &mut GroupVisitor<'_>) -> Result<()>;

    /// The reports of a row, in the order of [`Storage::groups`]; nothing if there are more than `limit`.
    fn entries(&self, round: &str, row: &RowId, limit: usize) -> Result<Option<Vec<Stored>>>;

    /// Claims participants' batches for a proxy, by its place: whether each is the proxy's now, or nothing if the round
    /// is sealed. Who claims one first has it for good; what one of `handed` has is the proxy's as well.
    fn claim(&self, round: &str, owner: u32, handed: &[u32], claims: &[ClaimId]) -> Result<Option<Vec<bool>>>;

    /// Returns the amounts that are stored of a round.
    fn totals(&self, round: &str) -> Result<Totals>;

    /// Returns the number of stored entries that each proxy has sent, by its place; those that were dropped are
    /// included.
    fn sent(&self, round: &str) -> Result<BTreeMap<u32, u64>>;

    /// Has a round take no batches any more, for good. Those that are being taken are in or refused when this returns.
    fn seal(&self, round: &str) -> Result<()>;

    /// Writes a small record of a round in place of one of that name.
    fn put(&self, round: &str, name: &str, value: &[u8]) -> Result<()>;

    /// A record of a round.
    fn get(&self, round: &str, name: &str) -> Result<Option<Vec<u8>>>;

    /// Writes a record of a round in place of `expected`, which is none where there is to be none, and other records
    /// `beside` it: all of them, or, where the record is another one, none; whether it has.
    fn change(
        &self,
        round: &str,
        name: &str,
        expected: Option<&[u8]>,
        new: &[u8],
        beside: &[(&str, &[u8])],
    ) -> Result<bool>;

    /// Each round that has a record of this name, and a fingerprint of it: of another record it is another one.
    fn versions(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>>;

    /// Rounds of which anything is there, in order.
    fn rounds(&self) -> Result<Vec<String>>;

    /// Removes all of a round, its records and its seal too, and gives its space back.
    fn remove(&self, round: &str) -> Result<()>;

    /// Removes all of a round but its name, gives its space back, and leaves one record; the round is sealed.
    fn clear(&self, round: &str, name: &str, value: &[u8]) -> Result<()>;

    /// Gives `holder` something to itself for a time from now on, unless another one has it; whether it has it. Who has
    /// it renews it by asking again. The time passes by one clock for all.
    fn lease(&self, name: &str, holder: &Holder, time: Duration) -> Result<bool>;
}

const EMBEDDED: &str = "embedded:";
const FILE: &str = "file:";

const USAGE: &str = "use embedded:DIR (a directory for this process alone), postgresql://USER@HOST/DATABASE, or file:PATH (a \
                     file with one of these)";

/// Location of the rows, as a URL names it.
enum Named<'a> {
    Embedded(&'a Path),
    Postgres(&'a str),
    /// The URL is in a file.
    File(&'a Path),
}

/// Whether the storage that a URL names can be that of several databases. What is wrong with it is told when it is
/// opened.
pub fn is_shared(url: &str) -> bool {
    match named(url) {
        Ok(Named::Postgres(_)) => true,
        Ok(Named::File(path)) => read(path).is_ok_and(|url| matches!(named(url.trim()), Ok(Named::Postgres(_)))),
        _ => false,
    }
}

/// Opens the storage that a URL names: `embedded:DIR`, `postgresql://USER@HOST/DATABASE`, or `file:PATH` of a file that
/// holds such a URL, which others of the machine may not read.
///
/// Errors ([`Error::Input`]): it names none, or see [`Embedded::open`] and [`Postgres::open`]. The text repeats no more
/// of a URL than what kind it is: the rest may hold a password.
pub fn open(url: &str) -> Result<Box<dyn Storage>> {
    Ok(match named(url)? {
        Named::Embedded(path) => {
            let storage = Embedded::open(path)?;
            tracing::info!("rows are kept in {}", path.display());
            Box::new(storage)
        }
        Named::Postgres(url) => {
            let storage = Postgres::open(url)?;
            tracing::info!("rows are kept in {storage:?}");
            Box::new(storage)
        }
        Named::File(path) => {
            let url = read(path)?;
            if let Named::File(_) = named(url.trim())? {
                return Err(Error::Input(format!("{}: names another file: {USAGE}", path.display())));
            }
            open(url.trim())?
        }
    })
}

/// Whether a URL holds a password, which has no place on a command line.
pub fn holds_password(url: &str) -> bool {
    let Ok(Named::Postgres(url)) = named(url) else { return false };
    let rest = url.split_once("//").map_or(url, |(_, rest)| rest);
    rest.contains("password=") || rest.split_once('@').is_some_and(|(user, _)| user.contains(':'))
}

/// A URL from a file.
fn read(path: &Path) -> Result<Zeroizing<String>> {
    use std::os::unix::fs::MetadataExt;
    let shown = path.display();
    let mode =
        std::fs::metadata(path).map_err(|error| Error::Input(format!("{shown}: cannot be read: {error}")))?.mode();
    if mode & 0o007 != 0 {
        return Err(Error::Input(format!("{shown}: everybody on this machine can read it: chmod 600 {shown}")));
    }
    std::fs::read_to_string(path)
        .map(Zeroizing::new)
        .map_err(|error| Error::Input(format!("{shown}: cannot be read: {error}")))
}

fn named(url: &str) -> Result<Named<'_>> {
    if postgres::SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
        return Ok(Named::Postgres(url));
    }
    if let Some(path) = url.strip_prefix(FILE).filter(|path| !path.is_empty()) {
        return Ok(Named::File(Path::new(path)));
    }
    match url.strip_prefix(EMBEDDED) {
        Some("") => Err(Error::Input(format!("storage: `{EMBEDDED}` names no directory: {USAGE}"))),
        Some(rest) if rest.starts_with("//") => Err(Error::Input(format!(
            "storage: `{EMBEDDED}//` is followed by no host: write embedded:DIR, as embedded:/srv/round"
        ))),
        Some(rest) => Ok(Named::Embedded(Path::new(rest))),
        None => Err(match url.split_once(':') {
            Some((kind, _)) if !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Error::Input(format!("storage: `{kind}:` is not a known kind of storage, or is not complete: {USAGE}"))
            }
            _ => Error::Input(format!("storage: no kind of storage is named: {USAGE}")),
        }),
    }
}

#[cfg(test)]
mod urls {
    use super::*;

    fn refused(url: &str) -> String {
        open(url).err().unwrap().to_string()
    }

    #[test]
    fn urls_are_read_and_what_is_wrong_is_said_without_passwords() {
        for (url, path) in [("embedded:/srv/x", "/srv/x"), ("embedded:state/rows", "state/rows")] {
            assert!(matches!(named(url), Ok(Named::Embedded(found)) if found == Path::new(path)));
        }
        for (url, part) in [
            ("embedded:", "names no directory"),
            ("embedded:///srv/x", "write embedded:DIR"),
            ("mysql://me:secret@host/db", "`mysql:` is not a known kind"),
            ("postgresql:secret", "`postgresql:` is not a known kind"),
            ("file:", "is not complete"),
            ("/srv/secret", "no kind of storage is named"),
            ("", "no kind of storage is named"),
            (":secret", "no kind of storage is named"),
            ("a secret:x", "no kind of storage is named"),
        ] {
            let error = refused(url);
            assert!(error.contains(part) && error.contains("embedded:DIR") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_url_in_a_file_is_for_no_eyes_of_others() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("url");
        let url = format!("file:{}", path.display());
        assert!(refused(&url).contains("cannot be read"));
        std::fs::write(&path, format!("embedded:{}\n", home.path().join("rows").display())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(refused(&url).contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        drop(open(&url).unwrap());
        assert!(home.path().join("rows/storage").exists());
        std::fs::write(&path, &url).unwrap();
        assert!(refused(&url).contains("names another file"));
    }

    #[test]
    fn passwords_are_noticed() {
        for url in [
            "postgresql://me:x@h/d",
            "postgres://me:x@h",
            "postgresql://h/d?password=x",
            "postgresql:///d?user=me&password=x",
        ] {
            assert!(holds_password(url), "{url}");
        }
        for url in [
            "postgresql://me@h:5433/d",
            "postgresql://h:5433/d",
            "embedded:password=x",
            "file:/a:b@c",
            "postgresql:///d?host=/run/postgresql",
        ] {
            assert!(!holds_password(url), "{url}");
        }
    }
}
