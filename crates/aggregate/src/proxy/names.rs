//! The numbers by which the queue knows participants: each has one from its first report on, for good. A participant is
//! an identity: what a list calls it may change, and nobody so becomes another one.
//!
//! A list that was lost, or is an older one, would give numbers of before to others. So a journal calls batches by
//! whose they are, and a queue does not fit it then.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::identity::Fingerprint;

use crate::queue::{BatchName, MarkKey};
use crate::wire::batch::BatchId;

pub(super) const FILE: &str = "participants.json";

/// Version 1 was a list of names.
const VERSION: u32 = 2;

/// Maximum size of a file with names, in bytes.
const MAX_BYTES: u64 = 1 << 26;

pub(super) struct Names {
    folder: Arc<Folder>,
    known: Mutex<Known>,
}

struct Known {
    numbers: HashMap<Fingerprint, u32>,
    /// Fingerprints in the order of their numbers.
    all: Vec<Fingerprint>,
}

/// The file: fingerprints in the order of their numbers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u32,
    participants: Vec<String>,
}

impl Names {
    /// Opens the names of a state directory.
    ///
    /// Errors ([`Error::Input`]): the file is damaged, or of another version.
    pub(super) fn open(folder: Arc<Folder>) -> Result<Names> {
        let all = if folder.has(FILE) { read(&folder)? } else { Vec::new() };
        let numbers = all.iter().copied().zip(0..).collect();
        Ok(Names { folder, known: Mutex::new(Known { numbers, all }) })
    }

    /// Returns the range of all assigned numbers.
    pub(super) fn all(&self) -> std::ops::Range<u32> {
        0..self.lock().all.len() as u32
    }

    /// The identities of all, by their numbers.
    pub(super) fn by_number(&self) -> HashMap<u32, Fingerprint> {
        (0..).zip(self.lock().all.iter().copied()).collect()
    }

    /// Maps the names that a journal gives to batches to those of the queue.
    ///
    /// Errors, in words: one has a number that nobody has.
    pub(super) fn batches(
        &self,
        keys: impl IntoIterator<Item = MarkKey>,
    ) -> std::result::Result<BTreeMap<BatchName, MarkKey>, String> {
        let known = self.lock();
        let name = |key: MarkKey| {
            let who =
                known.all.get(key.0 as usize).ok_or_else(|| format!("{FILE} lacks a participant of its queue"))?;
            Ok((batch_name(who, &key.1), key))
        };
        keys.into_iter().map(name).collect()
    }

    /// The number of a participant; it is on disk before this returns.
    pub(super) fn number(&self, who: &Fingerprint) -> Result<u32> {
        let mut known = self.lock();
        if let Some(number) = known.numbers.get(who) {
            return Ok(*number);
        }
        let number = u32::try_from(known.all.len()).map_err(|_| Error::Internal("too many participants".into()))?;
        let participants = known.all.iter().chain([who]).map(Fingerprint::to_string).collect();
        let bytes = serde_json::to_vec(&Kept { version: VERSION, participants });
        self.folder.write(FILE, &bytes.map_err(|error| Error::Internal(error.to_string()))?)?;
        known.numbers.insert(*who, number);
        known.all.push(*who);
        Ok(number)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever does not know the batch's random name does not find the participant in it.
pub(super) fn batch_name(who: &Fingerprint, batch: &BatchId) -> BatchName {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 aggregate journal batch");
    hasher.update(&who.0).update(batch);
    let mut name = BatchName::default();
    hasher.finalize_xof().fill(&mut name);
    name
}

fn read(folder: &Folder) -> Result<Vec<Fingerprint>> {
    let at = folder.at(FILE);
    let damaged = |what: &str| Error::Input(format!("{}: {what}: restore it from a backup", at.display()));
    let mut text = String::new();
    let file = folder.read(FILE).map_err(|error| damaged(&error.to_string()))?;
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| damaged(&error.to_string()))?;
    if serde_json::from_str::<Vec<String>>(&text).is_ok() {
        return Err(Error::Input(format!(
            "{}: is of an earlier version: finish the rounds of this directory with that version, or name another directory with \
             --state",
            at.display()
        )));
    }
    let kept = serde_json::from_str::<Kept>(&text).ok().filter(|kept| kept.version == VERSION);
    let kept = kept.ok_or_else(|| damaged("is no list of participants"))?;
    let all: Vec<Fingerprint> = kept.participants.iter().filter_map(|who| who.parse().ok()).collect();
    if all.len() == kept.participants.len() {
        Ok(all)
    } else {
        Err(damaged("names a participant without a fingerprint"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::make(&directory.path().join("state")).unwrap());
        let names = Names::open(folder.clone()).unwrap();
        let [a, b, c] = [1, 2, 3].map(|byte| Fingerprint([byte; 32]));
        assert_eq!([b, a, b].map(|who| names.number(&who).unwrap()), [0, 1, 0]);
        let again = Names::open(folder.clone()).unwrap();
        assert_eq!([a, c, b].map(|who| again.number(&who).unwrap()), [1, 2, 0]);
        assert_eq!(again.by_number(), [(0, b), (1, a), (2, c)].into());
        for damaged in ["[1", "{}", "{\"version\":3,\"participants\":[]}", "{\"version\":2,\"participants\":[\"a\"]}"] {
            std::fs::write(folder.at(FILE), damaged).unwrap();
            assert!(Names::open(folder.clone()).err().unwrap().to_string().contains("restore it"), "{damaged}");
        }
        std::fs::write(folder.at(FILE), "[\"a\",\"b\"]").unwrap();
        let error = Names::open(folder).err().unwrap().to_string();
        assert!(error.contains("earlier version") && error.contains("--state"), "{error}");
    }
}
