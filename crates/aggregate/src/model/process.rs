//! The database's process.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use crate::database::record::Record;

/// What the database's process knows.
#[derive(Clone)]
pub(super) struct Process {
    /// The record as it has seen it last: it is had from the storage anew when a change of it finds another one there.
    pub(super) record: Record,
    /// What it is doing with the rows: one thing at a time.
    pub(super) work: Option<Work>,
}

/// What a database does with the rows of a round that has all.
#[derive(Clone, Hash)]
pub(super) enum Work {
    /// It has read them, so many entries of each proxy, and counts them.
    Counts(BTreeMap<u32, u64>),
    /// It has compared what is there, and reveals it.
    Reveals,
}

impl Process {
    /// One that has been started.
    pub(super) fn new(record: Record) -> Process {
        Process { record, work: None }
    }
}

impl Hash for Process {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (key(&self.record), &self.work).hash(state);
    }
}

/// What one record is told from another one by.
pub(super) fn key(record: &Record) -> impl Hash + PartialEq + use<> {
    let complete: Vec<_> = record
        .complete
        .iter()
        .map(|(place, one)| (*place, one.entries, one.discarded, one.unshufflable.is_some()))
        .collect();
    let rests: Vec<_> = record.rests.iter().map(|(place, rest)| (*place, *rest as u8)).collect();
    let sessions: Vec<_> = record.sessions.iter().map(|(place, session)| (*place, *session)).collect();
    let without: Vec<_> = record.without.iter().copied().collect();
    (record.state as u8, complete, rests, sessions, without)
}
