//! A journal of what a proxy has taken in a round, and of the sessions of its state directory: it stands beside the
//! queue, so that a queue that was lost, or is an older one, is noticed.
//!
//! A batch is in the queue first, then in the journal, then covered by a session behind it that the database holds, and
//! only then acknowledged. A line has 32 bytes: what it is (1), a name (16), for a session how many shuffles there have
//! been (8), and a check of all this and its place (7).

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::hex::{hex, unhex};

use crate::queue::BatchName;
use crate::step;
use crate::wire::sessions::{Advance, StateSession};

#[cfg(test)]
mod power;

const PREFIX: &str = "journal-";

const LINE_BYTES: usize = 32;
const NAME_BYTES: usize = 16;
const CHECKED_BYTES: usize = 1 + NAME_BYTES + 8;
const BATCH: u8 = 1;
const SESSION: u8 = 2;

/// Line of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Line {
    /// A participant's batch is in the queue.
    Batch(BatchName),
    /// The state directory goes on to a session of this name, after so many shuffles.
    Session([u8; NAME_BYTES], u64),
}

/// Contents of a journal's lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Past {
    /// Batches that were taken.
    pub(crate) batches: BTreeSet<BatchName>,
    /// Shuffles that there had been at the last session.
    pub(crate) generation: u64,
    pub(crate) chain: Chain,
}

/// Reason why a queue does not belong to a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// Number of batches that were taken and are not in the queue.
    Lacks(usize),
    /// Older copy of the queue.
    Older,
}

/// Position of a state directory in its chain of sessions, and the amount of what was written to it that the chain
/// covers.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Chain {
    before: Option<StateSession>,
    last: Option<StateSession>,
    /// The database is known to hold the last one.
    is_sure: bool,
    covers: u64,
}

impl Chain {
    /// Whether the database is known to hold a session behind so much of what was written.
    pub(crate) fn covers(&self, written: u64) -> bool {
        self.is_sure && self.covers >= written
    }

    /// Returns the amount of what was written that the last session covers.
    pub(crate) fn covered(&self) -> u64 {
        self.covers
    }

    /// The session that the database is known to hold.
    pub(crate) fn session(&self) -> Option<StateSession> {
        self.last.filter(|_| self.is_sure)
    }

    /// Returns the step to request from the database: to the last session, while it is not known to hold it.
    pub(crate) fn asks(&self) -> Option<Advance> {
        self.last.filter(|_| !self.is_sure).map(|to| Advance { from: self.before, to })
    }

    /// Goes on to a session that is on disk behind so much of what was written; the one of before was held.
    pub(crate) fn propose(&mut self, next: StateSession, written: u64) {
        *self = Chain { before: self.last, last: Some(next), is_sure: false, covers: written };
    }

    /// The database holds the last session.
    pub(crate) fn held(&mut self) {
        self.is_sure = true;
    }

    /// The database has refused the last session: it is asked again.
    pub(crate) fn doubt(&mut self) {
        self.is_sure = false;
    }

    /// The session to come.
    pub(crate) fn next(&self) -> Result<StateSession> {
        StateSession::after(self.last)
    }

    /// Whether the directory has gone on since its first session.
    fn has_gone_on(&self) -> bool {
        self.before.is_some()
    }
}

impl Past {
    /// Reads the contents of these lines. Whether the database holds the last session is not known.
    pub(crate) fn of(lines: &[Line]) -> Past {
        let mut past = Past::default();
        for line in lines {
            match line {
                Line::Batch(name) => drop(past.batches.insert(*name)),
                Line::Session(name, generation) => {
                    past.generation = *generation;
                    let number = past.chain.last.map_or(0, |last| last.number) + 1;
                    past.chain.propose(StateSession { number, name: *name }, 0);
                }
            }
        }
        past
    }

    /// Whether a queue that has had so many shuffles, and taken these batches, can be the one that belongs here.
    pub(crate) fn check(&self, generation: u64, present: &BTreeSet<BatchName>) -> std::result::Result<(), Unfit> {
        match self.batches.difference(present).count() {
            0 if generation < self.generation => Err(Unfit::Older),
            0 => Ok(()),
            missing => Err(Unfit::Lacks(missing)),
        }
    }

    /// Whether nothing was ever acknowledged.
    pub(crate) fn is_new(&self) -> bool {
        self.batches.is_empty() && !self.chain.has_gone_on()
    }
}

/// A journal that is open to be written.
pub(super) struct Journal {
    folder: Arc<Folder>,
    name: String,
    check: [u8; 32],
    /// Absent until something is written.
    file: Option<File>,
    lines: u64,
}

/// The name of a round's journal.
pub(super) fn file_name(round: &str) -> String {
    format!("{PREFIX}{}", hex(round.as_bytes()))
}

/// The round whose journal has this name.
pub(super) fn round_of(file: &str) -> Option<String> {
    file.strip_prefix(PREFIX).and_then(unhex).and_then(|name| String::from_utf8(name).ok())
}

impl Journal {
    /// The journal of a round, and what it says; nothing if there is none.
    ///
    /// Errors ([`Error::Input`]): it cannot be read, or is damaged before its last write.
    pub(super) fn open(folder: &Arc<Folder>, round: &str) -> Result<(Journal, Past)> {
        let name = file_name(round);
        let check = blake3::derive_key("tacita 1 aggregate journal", round.as_bytes());
        let mut journal = Journal { folder: folder.clone(), name, check, file: None, lines: 0 };
        if !folder.has(&journal.name) {
            return Ok((journal, Past::default()));
        }
        let mut bytes = Vec::new();
        let mut file = folder.change(&journal.name).map_err(|error| journal.failed(&error))?;
        file.read_to_end(&mut bytes).map_err(|error| journal.failed(&error))?;
        let read = |(place, line): (u64, &[u8; LINE_BYTES])| journal.decode(line, place);
        let lines: Vec<Option<Line>> = (0u64..).zip(bytes.as_chunks().0).map(read).collect();
        // Of what a crash has left at its end, nobody was told. That is of one write, in any of its blocks, and a
        // session is the last line of a write.
        let whole: Vec<Line> = lines.iter().map_while(|line| *line).collect();
        let left = lines[whole.len()..].iter().flatten();
        if left.rev().skip(1).any(|line| matches!(line, Line::Session(..))) {
            return Err(Error::Input(format!(
                "{}: is damaged: put the state directory back as it was",
                folder.at(&journal.name).display()
            )));
        }
        journal.lines = whole.len() as u64;
        // What is written next may be shorter than what a crash has left.
        if (bytes.len() as u64) > journal.length() {
            file.set_len(journal.length()).and_then(|()| file.sync_all()).map_err(|error| journal.failed(&error))?;
        }
        journal.file = Some(file);
        Ok((journal, Past::of(&whole)))
    }

    fn length(&self) -> u64 {
        self.lines * LINE_BYTES as u64
    }

    /// Reads the current contents of the journal.
    pub(super) fn past(&self) -> Result<Past> {
        let round = round_of(&self.name).ok_or_else(|| Error::Internal("a journal of no round".into()))?;
        Ok(Journal::open(&self.folder, &round)?.1)
    }

    /// Writes lines. On disk when this returns; after an error they are not there, or are written again in the same
    /// place.
    pub(super) fn write(&mut self, lines: &[Line]) -> Result<()> {
        let bytes: Vec<u8> = (self.lines..).zip(lines).flat_map(|(place, line)| self.encode(*line, place)).collect();
        let put = |journal: &mut Journal| {
            let (is_new, length) = (journal.file.is_none(), journal.length());
            let file = match journal.file.take() {
                Some(file) => file,
                None => journal.folder.create(&journal.name)?,
            };
            let file = journal.file.insert(file);
            file.write_all_at(&bytes, length)?;
            file.sync_data()?;
            if is_new { journal.folder.flush() } else { Ok(()) }
        };
        step("journal")?;
        put(self).map_err(|error| self.failed(&error))?;
        step("journal written")?;
        self.lines += lines.len() as u64;
        Ok(())
    }

    fn encode(&self, line: Line, place: u64) -> [u8; LINE_BYTES] {
        let (kind, name, number) = match line {
            Line::Batch(name) => (BATCH, name, 0),
            Line::Session(name, generation) => (SESSION, name, generation),
        };
        let mut bytes = [0; LINE_BYTES];
        bytes[0] = kind;
        bytes[1..=NAME_BYTES].copy_from_slice(&name);
        bytes[1 + NAME_BYTES..CHECKED_BYTES].copy_from_slice(&number.to_le_bytes());
        let check = self.check(&bytes[..CHECKED_BYTES], place);
        bytes[CHECKED_BYTES..].copy_from_slice(&check);
        bytes
    }

    fn decode(&self, bytes: &[u8; LINE_BYTES], place: u64) -> Option<Line> {
        let (checked, check) = bytes.split_at(CHECKED_BYTES);
        let (kind, rest) = checked.split_first()?;
        let (name, number) = rest.split_first_chunk()?;
        let number = u64::from_le_bytes(number.try_into().ok()?);
        match (*kind, number) {
            _ if self.check(checked, place) != check => None,
            (BATCH, 0) => Some(Line::Batch(*name)),
            (SESSION, generation) => Some(Line::Session(*name, generation)),
            _ => None,
        }
    }

    /// Tells a line from what a crash leaves, from another round's, and from one of another place.
    fn check(&self, bytes: &[u8], place: u64) -> [u8; LINE_BYTES - CHECKED_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.check);
        hasher.update(&place.to_le_bytes()).update(bytes);
        let mut check = [0; LINE_BYTES - CHECKED_BYTES];
        hasher.finalize_xof().fill(&mut check);
        check
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        Error::Input(format!("{}: {error}: make room, or mend the disk", self.folder.at(&self.name).display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Arc<Folder>) {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::make(&home.path().join("state")).unwrap();
        (home, Arc::new(folder))
    }

    const LINES: [Line; 5] = [
        Line::Session([1; 16], 0),
        Line::Batch([2; 16]),
        Line::Batch([3; 16]),
        Line::Session([4; 16], 7),
        Line::Batch([5; 16]),
    ];

    #[test]
    fn what_was_written_comes_back() {
        let (_home, folder) = folder();
        let (mut journal, past) = Journal::open(&folder, "one").unwrap();
        assert_eq!((past, folder.has(&file_name("one"))), (Past::default(), false));
        journal.write(&LINES[..2]).unwrap();
        journal.write(&LINES[2..]).unwrap();
        let past = Journal::open(&folder, "one").unwrap().1;
        assert_eq!((&past, journal.past().unwrap()), (&Past::of(&LINES), past.clone()));
        assert_eq!((past.generation, past.batches), (7, [[2; 16], [3; 16], [5; 16]].into()));
        let [one, two] = [(1, [1; 16]), (2, [4; 16])].map(|(number, name)| StateSession { number, name });
        assert_eq!(past.chain.asks(), Some(Advance { from: Some(one), to: two }));
        // Another round's is none.
        std::fs::copy(folder.at(&file_name("one")), folder.at(&file_name("two"))).unwrap();
        assert_eq!(Journal::open(&folder, "two").unwrap().1, Past::default());
    }

    #[test]
    fn what_a_crash_leaves_at_the_end_is_written_over_and_damage_before_it_is_refused() {
        let (_home, folder) = folder();
        Journal::open(&folder, "one").unwrap().0.write(&LINES[..3]).unwrap();
        let path = folder.at(&file_name("one"));
        let whole = std::fs::read(&path).unwrap();
        for left in [&[0; LINE_BYTES][..], &[1; 5], &[9; 3 * LINE_BYTES], &whole[..LINE_BYTES]] {
            std::fs::write(&path, [&whole[..], left].concat()).unwrap();
            let (mut journal, past) = Journal::open(&folder, "one").unwrap();
            assert_eq!(past, Past::of(&LINES[..3]));
            journal.write(&LINES[3..4]).unwrap();
            drop(journal);
            let past = Journal::open(&folder, "one").unwrap().1;
            assert_eq!(past, Past::of(&LINES[..4]));
        }
        let later = [Line::Batch([5; 16]), Line::Session([6; 16], 8)];
        Journal::open(&folder, "one").unwrap().0.write(&later).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let damage = |line: usize| {
            let mut damaged = whole.clone();
            damaged[line * LINE_BYTES + 3] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            Journal::open(&folder, "one").map(|(_, past)| past)
        };
        // Of the last write, any block may be missing.
        assert_eq!(damage(4).unwrap(), Past::of(&LINES[..4]));
        assert_eq!(std::fs::read(&path).unwrap(), whole[..4 * LINE_BYTES]);
        for line in [0, 1, 2] {
            assert!(damage(line).unwrap_err().to_string().contains("is damaged"), "{line}");
        }
    }

    #[test]
    fn a_queue_that_lacks_batches_or_is_older_does_not_fit() {
        let past = Past::of(&LINES);
        let all = past.batches.clone();
        assert_eq!(past.check(7, &all), Ok(()));
        assert_eq!(past.check(8, &all.iter().copied().chain([[9; 16]]).collect()), Ok(()));
        assert_eq!(past.check(6, &all), Err(Unfit::Older));
        assert_eq!(past.check(9, &[[2; 16]].into()), Err(Unfit::Lacks(2)));
        assert!(!past.is_new() && Past::of(&LINES[..1]).is_new() && !Past::of(&LINES[..2]).is_new());
    }

    #[test]
    fn a_session_covers_what_was_written_before_it_once_it_is_held() {
        let mut chain = Chain::default();
        assert!(!chain.covers(0) && chain.asks().is_none());
        chain.propose(chain.next().unwrap(), 3);
        assert!(!chain.covers(0) && chain.session().is_none());
        let asked = chain.asks().unwrap();
        assert_eq!(chain.asks(), Some(asked), "the same again until it is held");
        chain.held();
        assert!(chain.covers(3) && !chain.covers(4) && chain.session() == Some(asked.to));
        chain.doubt();
        assert!(!chain.covers(3) && chain.asks() == Some(asked));
        chain.held();
        chain.propose(chain.next().unwrap(), 4);
        assert_eq!(chain.asks().map(|advance| advance.from), Some(Some(asked.to)));
    }
}
