//! The files of the trees: made, opened, and what is wrong with them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fjall::{Database, KeyspaceCreateOptions, PersistMode};
use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;

use super::{CACHE_BYTES, JOURNAL_BYTES, STATE, THREADS, TREES, UNFINISHED};

/// Makes trees without rows, whole or not at all: what a crash leaves half made could not be opened.
pub(super) fn create(folder: &Folder) -> fjall::Result<()> {
    let unfinished = folder.at(UNFINISHED);
    if folder.has(UNFINISHED) {
        std::fs::remove_dir_all(&unfinished)?;
    }
    let database = open_trees(&unfinished)?;
    let state = database.keyspace(STATE, KeyspaceCreateOptions::default)?;
    keep_trees(&unfinished)?;
    database.persist(PersistMode::SyncAll)?;
    drop((state, database));
    Ok(folder.rename(UNFINISHED, TREES)?)
}

pub(super) fn open_trees(path: &Path) -> fjall::Result<Database> {
    let open = || {
        Database::builder(path)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES)
            .worker_threads(THREADS)
            .open()
    };
    // Of some damaged files the crate takes for granted what they say.
    catch_unwind(AssertUnwindSafe(open)).unwrap_or(Err(fjall::Error::Unrecoverable))
}

/// Waits until the directory of each tree is on disk. The crate waits for what is in it alone, and what is written to a
/// tree without a directory is passed over at the next start.
pub(super) fn keep_trees(trees: &Path) -> fjall::Result<()> {
    Ok(std::fs::File::open(trees.join("keyspaces"))?.sync_all()?)
}

pub(super) fn make_private(directory: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let changed = std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700));
    changed.map_err(|error| Error::Input(format!("{}: cannot be made private: {error}", directory.display())))
}

pub(super) fn damaged(path: &Path, what: &str) -> Error {
    Error::Input(format!(
        "{}: damaged ({what}): put back the directory from a backup, or begin with a new one",
        path.display()
    ))
}

pub(super) fn fault(path: &Path, error: &fjall::Error) -> Error {
    use std::io::ErrorKind::{FileTooLarge, InvalidData, QuotaExceeded, StorageFull, UnexpectedEof};
    let shown = path.display();
    let io = match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => Some(error),
        _ => None,
    };
    Error::Input(match (error, io.map(std::io::Error::kind)) {
        (_, Some(StorageFull | QuotaExceeded | FileTooLarge)) => {
            format!("{shown}: the disk is full, or the file may not grow: make room, and start again")
        }
        (_, Some(kind)) if !matches!(kind, InvalidData | UnexpectedEof) => {
            format!("{shown}: the disk fails ({kind}): mend it, and start again")
        }
        (fjall::Error::Locked, _) => {
            format!("{shown}: another process has this storage open: stop it, or name another directory")
        }
        (fjall::Error::Poisoned, _) => {
            format!(
                "{shown}: nothing is written any more, since the disk was full or failed before: mend it, and start again"
            )
        }
        (fjall::Error::InvalidVersion(_), _) => return damaged(path, "or of another version of this program"),
        (error, _) => return damaged(path, &error.to_string()),
    })
}
