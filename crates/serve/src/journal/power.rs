//! The power fails at any write of a journal: what was written down is there, and what was under way is there whole or
//! not at all.

use std::path::Path;

use super::*;
use crate::crashes::{Recording, Syncs, tell, told};

const CHILD: &str = "TACITA_TEST_JOURNAL";

/// Lengths of changes, of which some cross blocks of the disk.
const CHANGES: [usize; 8] = [20, 600, 0, 1, 1500, 333, 5000, 64];

/// Behind so many changes, the journal begins again.
const AGAIN: usize = 5;

fn change(number: usize) -> Vec<u8> {
    let mut bytes = vec![number as u8; CHANGES[number]];
    blake3::Hasher::new().update(&[number as u8]).finalize_xof().fill(&mut bytes);
    bytes
}

fn key() -> Key {
    Key::new(Zeroizing::new([5; 32]))
}

/// A state says how many changes it has in it.
fn state(changes: usize) -> [u8; 700] {
    [changes as u8; 700]
}

#[test]
#[ignore = "the process that is recorded"]
fn child() {
    let Ok(home) = std::env::var(CHILD) else { return };
    let home = Path::new(&home);
    let folder = Arc::new(Folder::make(&home.join("state")).unwrap());
    let mut journal = Journal::begin(&folder, "j", &key(), &state(0)).unwrap();
    tell(home, "change", 1);
    for number in 0..CHANGES.len() {
        if number == AGAIN {
            journal.begin_again(&state(AGAIN)).unwrap();
        }
        journal.append(&change(number)).unwrap();
        tell(home, "change", number + 2);
    }
}

fn is_kept(home: &Path) {
    // The first that was told is that it has begun.
    let told = told(home, "change");
    let kept = Folder::make(&home.join("state")).and_then(|folder| Journal::read(&folder, "j", &key())).unwrap();
    let Some(kept) = kept else { return assert_eq!(told, 0, "the journal is gone") };
    let first = usize::from(kept.state[0]);
    assert!(*kept.state == state(first));
    for (number, found) in kept.changes.iter().enumerate() {
        assert!(**found == change(first + number), "change {number}");
    }
    let changes = first + kept.changes.len();
    assert!(changes + 1 == told || changes == told, "{changes} changes, and told {told}");
}

#[test]
fn wherever_the_power_fails_what_was_written_down_is_there() {
    let recording = Recording::of("journal::power::child", CHILD);
    recording.cuts("state", Syncs::All).keep("live journal", is_kept);
    for syncs in [Syncs::None, Syncs::OfFiles, Syncs::OfDirectories] {
        assert!(!recording.cuts("state", syncs).wrong(1, is_kept).is_empty(), "{syncs:?}");
    }
}
