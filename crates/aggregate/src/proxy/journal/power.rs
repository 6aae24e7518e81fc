//! The power fails at any write of a proxy's journal: the lines that were written are there, and it can be written on.

use std::path::Path;

use super::*;
use crate::crashes::{Recording, Syncs, tell, told};

const CHILD: &str = "TACITA_TEST_LINES";

/// Batches behind which a session stands; some make writes that cross blocks of the disk.
const SESSIONS: [u8; 6] = [0, 1, 40, 2, 17, 3];

fn group(session: usize) -> Vec<Line> {
    let name = |number: u8| {
        let mut name = [number; NAME_BYTES];
        name[0] = session as u8;
        name
    };
    let batches = (0..SESSIONS[session]).map(|number| Line::Batch(name(number)));
    batches.chain([Line::Session(name(255), session as u64)]).collect()
}

fn open(home: &Path) -> (Journal, Past) {
    Journal::open(&Arc::new(Folder::make(&home.join("state")).unwrap()), "one").unwrap()
}

#[test]
#[ignore = "the process that is recorded"]
fn child() {
    let Ok(home) = std::env::var(CHILD) else { return };
    let home = Path::new(&home);
    for session in 0..SESSIONS.len() {
        open(home).0.write(&group(session)).unwrap();
        tell(home, "session", session + 1);
    }
}

/// Checks that the journal holds what was reported, or that and some of what comes next, and that later lines are
/// found.
fn goes_on(home: &Path) {
    let told = told(home, "session");
    let before: Vec<Line> = (0..told).flat_map(group).collect();
    let after: Vec<Line> = if told < SESSIONS.len() { group(told) } else { Vec::new() };
    let (mut journal, past) = open(home);
    let known = (0..=after.len()).find(|more| Past::of(&[&before, &after[..*more]].concat()) == past);
    let more = known.unwrap_or_else(|| panic!("something else than after {told} sessions"));
    let next = [Line::Batch([77; 16]), Line::Session([78; 16], 99)];
    journal.write(&next).unwrap();
    let all = [&before, &after[..more], &next].concat();
    assert_eq!(open(home).1, Past::of(&all));
}

#[test]
fn wherever_the_power_fails_what_was_written_is_there() {
    let recording = Recording::of("proxy::journal::power::child", CHILD);
    recording.cuts("state", Syncs::All).keep("proxy's journal", goes_on);
    for syncs in [Syncs::None, Syncs::OfFiles, Syncs::OfDirectories] {
        assert!(!recording.cuts("state", syncs).wrong(1, goes_on).is_empty(), "{syncs:?}");
    }
}
