//! Files of a run on disk: a record of the participants and the progress, and a file for each part that was left.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tacita_core::depot::DepotParty;
use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::hex::{hex, unhex};
use tacita_node::base::text::json;
use tacita_node::transport::depot::frame::{Ticket, code};
use zeroize::Zeroizing;

const RECORD: &str = "run.json";

/// Prefix of the names of parts.
const PART: &str = "part-";

/// A part of a parcel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) step: u8,
    pub(super) from: DepotParty,
    pub(super) to: DepotParty,
    pub(super) part: u32,
}

/// Participants of a run, and its progress.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) tickets: Vec<Option<Ticket>>,
    pub(super) words: Vec<Option<Vec<u8>>>,
    pub(super) done: Vec<bool>,
    /// Parts of the helper's work that are done.
    pub(super) helped: u32,
    /// Seed from which the helper's randomness follows.
    pub(super) seed: Zeroizing<[u8; 32]>,
}

/// The same as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    tickets: Vec<Option<String>>,
    words: Vec<Option<String>>,
    done: Vec<bool>,
    helped: u32,
    seed: String,
}

/// The directory of a job.
pub(super) struct Files(Folder);

impl Key {
    fn name(&self) -> String {
        format!("{PART}{:02x}-{:02x}-{:02x}-{:08x}", self.step, code(self.from), code(self.to), self.part)
    }

    fn read(name: &str) -> Option<Key> {
        let mut numbers = name.strip_prefix(PART)?.split('-').map(|number| u32::from_str_radix(number, 16).ok());
        let mut next = || numbers.next().flatten();
        let place = |code: u8| if code == u8::MAX { DepotParty::Helper } else { DepotParty::Party(code) };
        let byte = |number: u32| u8::try_from(number).ok();
        let key = Key { step: byte(next()?)?, from: place(byte(next()?)?), to: place(byte(next()?)?), part: next()? };
        (key.name() == name).then_some(key)
    }
}

impl Record {
    /// Creates the record of a run without parties yet.
    pub(super) fn new(parties: usize, seed: Zeroizing<[u8; 32]>) -> Record {
        let (tickets, words) = (vec![None; parties], vec![None; parties]);
        Record { tickets, words, done: vec![false; parties], helped: 0, seed }
    }

    fn write(&self) -> Result<Vec<u8>> {
        let texts = |all: &[Option<Vec<u8>>]| all.iter().map(|one| one.as_deref().map(hex)).collect();
        let tickets: Vec<_> = self.tickets.iter().map(|ticket| ticket.map(|ticket| ticket.to_vec())).collect();
        let written = Written {
            tickets: texts(&tickets),
            words: texts(&self.words),
            done: self.done.clone(),
            helped: self.helped,
            seed: hex(&*self.seed),
        };
        json(serde_json::to_vec(&written))
    }

    fn read(bytes: &[u8], parties: usize) -> Option<Record> {
        let Written { tickets, words, done, helped, seed } = serde_json::from_slice(bytes).ok()?;
        let read = |all: Vec<Option<String>>| {
            let one = |text: Option<String>| text.map(|text| unhex(&text).ok_or(())).transpose().ok();
            all.into_iter().map(one).collect::<Option<Vec<Option<Vec<u8>>>>>()
        };
        let tickets = read(tickets)?.into_iter().map(|ticket| match ticket {
            Some(ticket) => Ticket::try_from(ticket.as_slice()).ok().map(Some),
            None => Some(None),
        });
        let seed = Zeroizing::new(unhex(&seed)?.try_into().ok()?);
        let record = Record { tickets: tickets.collect::<Option<_>>()?, words: read(words)?, done, helped, seed };
        let fits = [record.tickets.len(), record.words.len(), record.done.len()] == [parties; 3];
        fits.then_some(record)
    }
}

impl Files {
    /// The directory of a job in that of all.
    pub(super) fn open(state: &Path, name: &str) -> Result<Files> {
        Folder::make(&state.join(name)).map(Files)
    }

    /// Loads what is left of a run that was under way, with the lengths of its parts.
    pub(super) fn resume(&self, parties: usize) -> Result<Option<(Record, HashMap<Key, u64>)>> {
        let mut file = match self.0.read(RECORD) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.clear()?;
                return Ok(None);
            }
            Err(error) => return Err(self.cannot_read(RECORD, &error)),
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| self.cannot_read(RECORD, &error))?;
        let record = Record::read(&bytes, parties).ok_or_else(|| {
            Error::Input(format!("{}: is no record of a run: remove its directory", self.0.at(RECORD).display()))
        })?;
        if record.done.iter().all(|done| *done) {
            // It ended as the last party was done, before its files were gone.
            self.clear()?;
            return Ok(None);
        }
        let mut held = HashMap::new();
        for name in self.0.names()? {
            let Some(key) = Key::read(&name) else { continue };
            let facts = self.0.read(&name).and_then(|file| file.metadata());
            held.insert(key, facts.map_err(|error| self.cannot_read(&name, &error))?.len());
        }
        Ok(Some((record, held)))
    }

    /// Writes the record to disk.
    pub(super) fn record(&self, record: &Record) -> Result<()> {
        self.0.write(RECORD, &record.write()?)
    }

    /// Keeps a part: it is on disk when this returns.
    pub(super) fn keep(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.0.write(&key.name(), bytes)
    }

    /// A part that is kept.
    pub(super) fn part(&self, key: &Key) -> Result<Vec<u8>> {
        let name = key.name();
        let mut bytes = Vec::new();
        let read = self.0.read(&name).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|error| self.cannot_read(&name, &error))?;
        Ok(bytes)
    }

    /// Removes a part that nobody needs any more.
    pub(super) fn forget(&self, key: &Key) {
        // It goes with the run at the latest.
        let _ = self.0.remove(&key.name());
    }

    /// Removes all of a run, its record last.
    pub(super) fn clear(&self) -> Result<()> {
        let failed =
            |error: std::io::Error| Error::Input(format!("{}: cannot be emptied: {error}", self.0.path().display()));
        for name in self.0.names()?.into_iter().filter(|name| name != RECORD) {
            self.0.remove(&name).map_err(failed)?;
        }
        self.0.remove(RECORD).map_err(failed)
    }

    /// Removes the directory if it is empty.
    pub(super) fn leave_nothing(&self) {
        let _ = std::fs::remove_dir(self.0.path());
    }

    fn cannot_read(&self, name: &str, error: &std::io::Error) -> Error {
        Error::Input(format!("{}: cannot be read: {error}", self.0.at(name).display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_as_it_was_left() {
        let state = tempfile::tempdir().unwrap();
        let files = Files::open(state.path(), "job").unwrap();
        assert!(files.resume(2).unwrap().is_none());
        let key = Key { step: 7, from: DepotParty::Party(1), to: DepotParty::Helper, part: 258 };
        let record = Record {
            tickets: vec![Some([9; 32]), None],
            words: vec![Some(b"word".to_vec()), None],
            done: vec![false, true],
            helped: 3,
            seed: Zeroizing::new([5; 32]),
        };
        files.keep(&key, b"bytes").unwrap();
        files.record(&record).unwrap();
        let again = Files::open(state.path(), "job").unwrap();
        assert!(again.resume(2).unwrap() == Some((record, HashMap::from([(key, 5)]))));
        assert_eq!(again.part(&key).unwrap(), b"bytes");
        assert!(again.resume(3).is_err(), "a record of as many parties as the job has");
        again.leave_nothing();
        assert_eq!(again.part(&key).unwrap(), b"bytes", "a run that goes on is kept");
        again.clear().unwrap();
        assert_eq!(std::fs::read_dir(state.path().join("job")).unwrap().count(), 0);
        again.leave_nothing();
        assert!(!state.path().join("job").exists());
    }

    /// Run that was ended between the last party's end and the end of its files.
    #[test]
    fn a_run_that_all_are_done_with_goes() {
        let state = tempfile::tempdir().unwrap();
        let files = Files::open(state.path(), "job").unwrap();
        let record = Record {
            tickets: vec![Some([9; 32]), Some([8; 32])],
            words: vec![Some(b"a".to_vec()), Some(b"b".to_vec())],
            done: vec![true, true],
            helped: 0,
            seed: Zeroizing::new([5; 32]),
        };
        files.record(&record).unwrap();
        assert!(files.resume(2).unwrap().is_none());
        files.leave_nothing();
        assert!(!state.path().join("job").exists());
    }

    /// A record that is there and cannot be read is no reason to remove what belongs to it.
    #[test]
    fn a_record_that_cannot_be_opened_loses_nothing() {
        let state = tempfile::tempdir().unwrap();
        let files = Files::open(state.path(), "job").unwrap();
        let key = Key { step: 1, from: DepotParty::Party(0), to: DepotParty::Party(1), part: 0 };
        files.keep(&key, b"x").unwrap();
        std::os::unix::fs::symlink("elsewhere", state.path().join("job").join(RECORD)).unwrap();
        assert!(files.resume(2).is_err());
        assert_eq!(files.part(&key).unwrap(), b"x");
    }

    /// Run that was ended before anything was recorded.
    #[test]
    fn parts_without_a_record_go() {
        let state = tempfile::tempdir().unwrap();
        let files = Files::open(state.path(), "job").unwrap();
        files.keep(&Key { step: 1, from: DepotParty::Party(0), to: DepotParty::Party(1), part: 0 }, b"x").unwrap();
        assert!(files.resume(2).unwrap().is_none());
        assert_eq!(std::fs::read_dir(state.path().join("job")).unwrap().count(), 0);
    }
}
