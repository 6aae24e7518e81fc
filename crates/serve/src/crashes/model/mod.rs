//! Cuts of the power at every write: what may be on disk then, and whether the promise is kept there.
//!
//! A process is recorded while it runs ([`Recording`]). After each of its changes the power may fail. What it has
//! waited for (`fsync` of a file for what is in it, of a directory for its entries) is on disk then; of everything
//! else, anything: nothing or all of it, names without data, data without names, a length without its bytes, each
//! change alone or missing, and the last write torn or with blocks missing. No file system is so bad, and each does
//! some of it (Pillai et al., "All File Systems Are Not Created Equal: On the Complexity of Crafting Crash-Consistent
//! Applications", OSDI 2014, whose model this is).

mod disk;
mod recording;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use disk::{Disk, Tree};
use recording::{Event, record};

/// Maximum length of a fault's description, in characters.
const LONG: usize = 400;

/// Actions of a process, in order.
pub(crate) struct Recording(Vec<Event>);

/// Selection of the waits for the disk that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syncs {
    /// Count of all waits.
    All,
    /// None: as if they had been left out.
    None,
    /// Count of waits for files alone.
    OfFiles,
    /// Count of waits for directories alone.
    OfDirectories,
}

/// State that is found after a cut.
pub(crate) struct Found {
    how: String,
    tree: Tree,
}

/// Set of all states that may be found.
pub(crate) struct Cuts {
    /// Changes behind which the power fails.
    pub(crate) points: usize,
    /// States that are found then; nothing twice.
    pub(crate) found: Vec<Found>,
}

impl Recording {
    /// Runs a test of this program in a process of its own, told its directory by an environment variable.
    pub(crate) fn of(test: &str, variable: &str) -> Recording {
        let home = tempfile::tempdir().unwrap();
        Recording(record(home.path(), test, variable))
    }

    /// Returns the number of files that the process opened for writing, with paths that begin like this.
    pub(crate) fn made(&self, beginning: &str) -> usize {
        self.0.iter().filter(|event| matches!(event, Event::Opened { path, .. } if path.starts_with(beginning))).count()
    }

    /// Returns the states that may be found of the actions of the process at `volatile`. Everything else is in its
    /// state at that moment: it is on disk at once.
    pub(crate) fn cuts(&self, volatile: &str, syncs: Syncs) -> Cuts {
        let mut disk = Disk::new(volatile);
        let (mut points, mut found, mut known) = (0, Vec::new(), HashSet::new());
        for (place, event) in self.0.iter().enumerate() {
            let counts = match event {
                Event::Synced { inode } => match syncs {
                    Syncs::All => true,
                    Syncs::None => false,
                    Syncs::OfFiles => !disk.is_directory(*inode),
                    Syncs::OfDirectories => disk.is_directory(*inode),
                },
                _ => true,
            };
            points += usize::from(counts && disk.follow(event));
            // Where waits are left out, so much is open that a few ways do.
            disk.cuts(syncs == Syncs::All, &mut |how, tree| {
                if known.insert(tree.fingerprint()) {
                    found.push(Found { how: format!("cut behind event {place} ({}), {how}", shown(event)), tree });
                }
            });
        }
        Cuts { points, found }
    }
}

fn shown(event: &Event) -> String {
    match event {
        Event::Written { inode, at, bytes } => format!("{} bytes written to {inode} at {at}", bytes.len()),
        other => format!("{other:?}"),
    }
}

impl Cuts {
    /// Every so many of them alone.
    pub(crate) fn thinned(self, every: usize) -> Cuts {
        Cuts { found: self.found.into_iter().step_by(every).collect(), ..self }
    }

    /// Runs `check`, which panics at a fault, in a directory with each state. Returns at most `most` faults, each with
    /// how the state came about.
    pub(crate) fn wrong(&self, most: usize, check: impl Fn(&Path) + Sync) -> Vec<String> {
        let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some(found) = self.found.get(next.fetch_add(1, Ordering::Relaxed)) {
                let home = memory();
                found.tree.put(home.path());
                let checked = catch_unwind(AssertUnwindSafe(|| check(home.path())));
                let Err(panic) = checked else { continue };
                let texts = [panic.downcast_ref::<String>().map(String::as_str), panic.downcast_ref::<&str>().copied()];
                let text = texts.into_iter().flatten().next().unwrap_or("a panic");
                let text: String = text.chars().take(LONG).collect();
                let mut wrong = wrong.lock().unwrap();
                wrong.push(format!("{}: {text}", found.how));
                if wrong.len() >= most {
                    next.store(self.found.len(), Ordering::Relaxed);
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        wrong.into_inner().unwrap()
    }

    /// Whether the promise is kept wherever the power fails.
    pub(crate) fn keep(&self, what: &str, check: impl Fn(&Path) + Sync) {
        let wrong = self.wrong(10, check);
        println!("{what}: cut at {} points, {} states found", self.points, self.found.len());
        assert!(wrong.is_empty(), "{what}: {}", wrong.join("\n\n"));
    }
}

fn told_at(home: &Path, what: &str, number: usize) -> PathBuf {
    home.join(format!("told-{what}-{number}"))
}

/// Tells somebody elsewhere that so much has been done, each number after the one before.
pub(crate) fn tell(home: &Path, what: &str, number: usize) {
    std::fs::File::create_new(told_at(home, what, number)).unwrap();
}

/// Returns the number of steps that were reported elsewhere.
pub(crate) fn told(home: &Path, what: &str) -> usize {
    (1..).take_while(|number| told_at(home, what, *number).exists()).count()
}

/// A directory that waits for no disk, where there is one.
fn memory() -> tempfile::TempDir {
    let made = tempfile::Builder::new().prefix("cut").tempdir_in("/dev/shm");
    made.or_else(|_| tempfile::tempdir()).unwrap()
}
