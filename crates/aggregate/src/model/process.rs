//! The process of a database service.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use crate::database::record::Record;

/// State of the database's process.
#[derive(Clone)]
pub(super) struct Process {
    /// The record as it has seen it last: it is had from the storage anew when a change of it finds another one there.
    pub(super) record: Record,
    /// Current operation on the rows; there is one at a time.
    pub(super) work: Option<Work>,
}

/// Operation of a database on the rows of a complete round.
#[derive(Clone, Hash)]
pub(super) enum Work {
    /// Count of the rows, which have been read: this many entries of each proxy.
    Counts(BTreeMap<u32, u64>),
    /// Reveal of the rows, whose number has been compared.
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

/// Returns the fields that distinguish one record from another.
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
