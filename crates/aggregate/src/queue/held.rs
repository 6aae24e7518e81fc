//! Contents of a queue, as far as they have to be known without reading it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::store::seal::SealKey;

use super::files::{self, Mark, MarkKey, Run};
use super::state::{State, Unwritten};
use super::{Accepted, Conditions, LOCK, QueueBatchId, QueueLimits, RecordCounts, Refusal, note};

/// Contents of the queue, as far as they have to be known without reading it.
pub(super) struct Held {
    pub(super) state: State,
    /// Whether the queue takes nothing for the time being.
    pub(super) pauses: bool,
    pub(super) waiting: BTreeMap<MarkKey, InQueue>,
    /// Owners of the records that the last shuffle has left behind, in the order of their file.
    pub(super) left: Vec<Run>,
    pub(super) left_bytes: u64,
    pub(super) outgoing: BTreeMap<QueueBatchId, (String, u64)>,
    /// Records of each participant in the round, wherever they are, but for those that leave elsewhere.
    pub(super) accepted: RecordCounts,
    /// Number of batches of each participant.
    batches: RecordCounts,
    /// Bytes of all these on disk.
    pub(super) bytes: u64,
    /// Bytes of batches that are being taken.
    pub(super) coming: u64,
    /// Whether it is unknown which state is on disk.
    pub(super) broken: bool,
    /// Number of changes to the waiting batches.
    pub(super) changes: u64,
    /// At which of these changes what waited met which conditions not.
    pub(super) unfit: Option<(u64, Conditions)>,
    /// Batches that have come since they were asked for.
    pub(super) fresh: Vec<MarkKey>,
    /// Number of times that a batch has come, or a shuffle let some leave.
    pub(super) written: u64,
}

/// A batch that waits.
pub(super) struct InQueue {
    pub(super) mark: Mark,
    pub(super) bytes: u64,
    /// Time since which the batch waits.
    pub(super) since: SystemTime,
    /// Whether it may leave.
    pub(super) claimed: bool,
}

impl Held {
    /// Reads the contents of the disk, and removes the files that do not count.
    pub(super) fn read(folder: &Folder, key: &SealKey, limits: &QueueLimits) -> Result<Held> {
        let names = folder.names()?;
        let state = match State::read(folder, key)? {
            Some(state) => state,
            // A queue without a state would take reports that have left for such that wait.
            None if names
                .iter()
                .any(|name| [files::IN, files::LEFT, files::OUT].iter().any(|kind| name.starts_with(kind))) =>
            {
                return Err(files::damaged(folder, files::STATE));
            }
            None => {
                let state = State::new(limits.record_bytes as u64);
                state.write(folder, key).map_err(|(Unwritten::Before(error) | Unwritten::Unknown(error))| error)?;
                state
            }
        };
        if state.record_bytes != limits.record_bytes as u64 {
            return Err(Error::Input(format!(
                "{}: holds records of {} bytes, and those of this job have {}: name another directory",
                folder.path().display(),
                state.record_bytes,
                limits.record_bytes
            )));
        }
        let mut held = Held {
            waiting: BTreeMap::new(),
            left: Vec::new(),
            left_bytes: 0,
            outgoing: BTreeMap::new(),
            accepted: RecordCounts::new(),
            batches: RecordCounts::new(),
            bytes: 0,
            coming: 0,
            broken: false,
            pauses: false,
            changes: 0,
            unfit: None,
            fresh: Vec::new(),
            written: 0,
            state,
        };
        for name in names {
            if !held.find(folder, key, &name, limits)? {
                folder.remove(&name).map_err(|error| files::cannot_write(folder, &name, &error))?;
            }
        }
        // What leaves elsewhere counts there.
        let records = |key: &MarkKey, mark: &Mark| if held.state.elsewhere.contains(key) { 0 } else { mark.records };
        let of_state = held.state.marks.iter().map(|(key, mark)| (key.0, records(key, mark)));
        let of_waiting = held.waiting.iter().map(|((participant, _), one)| (*participant, one.mark.records));
        for (participant, records) in of_state.chain(of_waiting).collect::<Vec<_>>() {
            held.count(participant, records);
        }
        held.count_bytes();
        Ok(held)
    }

    /// Whether a file of that name counts.
    fn find(&mut self, folder: &Folder, key: &SealKey, name: &str, limits: &QueueLimits) -> Result<bool> {
        let length = || {
            let facts = folder.read(name).and_then(|file| file.metadata());
            facts.map(|facts| files::on_disk(facts.len())).map_err(|error| files::cannot_read(folder, name, &error))
        };
        if name == files::STATE || name == LOCK {
            return Ok(true);
        }
        if name.ends_with(files::PART) || name.starts_with(files::BUCKET) {
            return Ok(false);
        }
        if let Some((generation, id)) = files::read_outgoing(name) {
            let counts = generation <= self.state.generation;
            if counts {
                self.outgoing.insert(id, (name.to_owned(), length()?));
            }
            return Ok(counts);
        }
        if name.starts_with(files::LEFT) {
            let counts = name == files::left(self.state.generation);
            if counts {
                self.left = files::read_runs(folder, key, name, self.state.record_bytes)?;
                self.left_bytes = length()?;
            }
            return Ok(counts);
        }
        if name.starts_with(files::IN) {
            let mut reader = files::open(folder, name, key)?;
            let mark = files::next(&mut reader, folder, name)?;
            let (key, mark) = files::decode_mark(&mark).ok_or_else(|| files::damaged(folder, name))?;
            let counts = !self.state.marks.contains_key(&key);
            if counts {
                let facts = folder.read(name).and_then(|file| file.metadata()?.modified());
                let since = facts.map_err(|error| files::cannot_read(folder, name, &error))?;
                self.waiting.insert(key, InQueue { mark, bytes: length()?, since, claimed: !limits.claims });
            }
            return Ok(counts);
        }
        // Whatever else is there is somebody's.
        Ok(true)
    }

    /// Takes a batch in that is on disk.
    pub(super) fn insert(&mut self, key: MarkKey, one: InQueue) {
        self.count(key.0, one.mark.records);
        self.waiting.insert(key, one);
        self.fresh.push(key);
        self.changes += 1;
        self.written += 1;
    }

    /// The batches that were taken, wherever they are now.
    pub(super) fn present(&self) -> BTreeSet<MarkKey> {
        self.state.marks.keys().chain(self.waiting.keys()).copied().collect()
    }

    /// Counts a batch of a participant.
    pub(super) fn count(&mut self, participant: u32, records: u64) {
        *self.accepted.entry(participant).or_default() += records;
        *self.batches.entry(participant).or_default() += 1;
    }

    /// Returns the reason why a batch is not to be written.
    pub(super) fn answer(&self, key: &MarkKey, mark: &Mark, bytes: u64, limits: &QueueLimits) -> Option<Accepted> {
        let known = self.state.marks.get(key).or_else(|| self.waiting.get(key).map(|one| &one.mark));
        let has = self.accepted.get(&key.0).copied().unwrap_or_default();
        match known {
            Some(known) if known == mark => Some(Accepted::Known),
            Some(_) => Some(Accepted::Refused(Refusal::Conflict)),
            None if self.state.closed || self.pauses => Some(Accepted::Refused(Refusal::Closed)),
            None if has.saturating_add(mark.records) > limits.quota => {
                Some(Accepted::Refused(Refusal::Quota { has, limit: limits.quota }))
            }
            None if self.batches.get(&key.0).is_some_and(|batches| *batches >= limits.batches) => {
                Some(Accepted::Refused(Refusal::Batches { limit: limits.batches }))
            }
            None if self.bytes.saturating_add(self.coming).saturating_add(bytes) > limits.bytes => {
                Some(Accepted::Refused(Refusal::Full))
            }
            None => None,
        }
    }

    /// Takes a batch out that leaves elsewhere.
    pub(super) fn drop_batch(&mut self, key: &MarkKey) {
        let Some(one) = self.waiting.remove(key) else { return };
        self.changes += 1;
        if let Some(accepted) = self.accepted.get_mut(&key.0) {
            *accepted = accepted.saturating_sub(one.mark.records);
        }
    }

    /// Records that wait, by participant; of batches, those that are wanted.
    pub(super) fn counts(&self, wanted: impl Fn(&InQueue) -> bool) -> RecordCounts {
        note("counts");
        let mut counts = RecordCounts::new();
        for (participant, records) in &self.left {
            *counts.entry(*participant).or_default() += records;
        }
        for ((participant, _), one) in self.waiting.iter().filter(|(_, one)| wanted(one)) {
            *counts.entry(*participant).or_default() += one.mark.records;
        }
        counts.retain(|_, count| *count > 0);
        counts
    }

    /// Adds up what is on disk.
    pub(super) fn count_bytes(&mut self) {
        let waiting = self.waiting.values().map(|one| one.bytes).sum::<u64>();
        self.bytes = waiting + self.left_bytes + self.outgoing.values().map(|(_, bytes)| bytes).sum::<u64>();
    }
}
