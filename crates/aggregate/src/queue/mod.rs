//! The proxy's queue of one round: reports wait on disk, sealed, until a shuffle lets them leave in a random order.
//!
//! What leaves says nothing of who reported what, nor when: a batch that leaves has a random name, is as long as all
//! others of its shuffle but one, holds records of a uniformly random place in a uniformly random order, and is on disk
//! before the first of them can be sent. Which records may leave together is for [`Conditions`]; why nothing leaves
//! because time has passed is said there.
//!
//! A report that was accepted leaves exactly once, whatever is killed when: until the mark of a shuffle is on disk
//! (`state.rs`), the next start finds the reports as they waited, and begins anew; from then on it finds the batches
//! that leave. What neither counts on goes at the next start.
//!
//! Where participants may give one batch to several queues, it leaves the one that has claimed it (`claims.rs`).

mod claims;
mod conditions;
mod files;
mod held;
mod log;
mod mix;
mod shuffle;
mod state;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::store::seal::SealKey;
use tacita_serve::sync::lock;

pub use conditions::{Conditions, RecordCounts};
pub use files::{BatchName, MarkKey};
use files::{Mark, extend_runs};
use held::{Held, InQueue};
pub use log::Fresh;
use mix::Source;
use shuffle::Waiting;
use state::{State, Unwritten};

use crate::step;

/// The random name of a batch.
pub type QueueBatchId = [u8; 16];

const LOCK: &str = "queue.lock";

/// Participants whose batches are written at the same time, at most.
const LANES: usize = 64;

/// Limits on the contents of a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    /// Bytes of a record, all of one length; the same whenever a queue is opened.
    pub record_bytes: usize,
    /// Records of a batch that leaves.
    pub batch_records: usize,
    /// Bytes on disk of what waits and what has not been sent. (A shuffle needs as much again, for a while.)
    pub bytes: u64,
    /// Records of one participant in the round.
    pub quota: u64,
    /// Batches of one participant in the round: what is kept of each, in memory and on disk, stays as long as the
    /// round.
    pub batches: u64,
    /// Whether only batches leave that were claimed ([`Queue::settle`]): another queue may have them as well.
    pub claims: bool,
}

/// A batch of a participant.
pub struct Submission<'a> {
    /// The participant's number, the same at each start.
    pub participant: u32,
    /// The name that the participant gave the batch.
    pub batch: QueueBatchId,
    /// A fingerprint of what the participant sent: when it repeats itself, that is the same, and the records made of it
    /// are not.
    pub digest: [u8; 32],
    /// The records that are to leave.
    pub records: &'a [u8],
}

/// Outcome for a batch of a participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// New batch, which is now on disk.
    New,
    /// Known batch, which was on disk already: nothing has changed.
    Known,
    /// Refused batch, which was not taken.
    Refused(Refusal),
}

/// Reason why a batch is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The queue is full: it will take it when batches have left.
    Full,
    /// The participant would have more records in the round than one may.
    Quota {
        /// Records that it has.
        has: u64,
        /// Records that one may have.
        limit: u64,
    },
    /// The participant has as many batches in the round as one may.
    Batches {
        /// Batches that one may have.
        limit: u64,
    },
    /// The participant has sent another batch of that name.
    Conflict,
    /// The round takes nothing any more.
    Closed,
}

/// Outcome of a shuffle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShuffleOutcome {
    /// Number of records that leave.
    Left {
        /// Number of these records.
        records: u64,
    },
    /// Nothing left to shuffle: no record waits.
    Nothing,
    /// None leaves now, for a reason in a plain sentence; some may later.
    Waiting(String),
    /// None of those that wait will ever leave, for a reason in a plain sentence. [`Queue::discard`] removes them.
    Unshufflable(String),
}

/// A batch that leaves.
pub struct OutgoingBatch {
    /// Random name of the batch.
    pub id: QueueBatchId,
    /// Records of the batch.
    pub records: Vec<u8>,
}

/// Amounts in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueStatus {
    /// Number of records that wait.
    pub waiting: u64,
    /// Batches that leave and have not been sent.
    pub outgoing: u64,
    /// Bytes of all of it on disk.
    pub bytes: u64,
}

/// The queue of one round, in a directory that this process alone has open.
pub struct Queue {
    folder: Folder,
    key: SealKey,
    limits: QueueLimits,
    /// A participant's batches are taken one after the other.
    lanes: [Mutex<()>; LANES],
    /// Held while a batch is taken, so that the round closes behind it.
    taking: RwLock<()>,
    /// Held by whatever changes the state.
    shuffling: Mutex<()>,
    held: Mutex<Held>,
    _lock: File,
}

impl Queue {
    /// Opens the queue in a directory, which is made if it is not there, and removes what a crash has left half done.
    ///
    /// Errors ([`Error::Input`]): others can write to it; another process has it open; its files are damaged, or of
    /// another key or version, or of records of another length.
    pub fn open(path: &Path, key: SealKey, limits: QueueLimits) -> Result<Queue> {
        if limits.record_bytes == 0 || limits.batch_records == 0 {
            return Err(Error::Internal("a queue of records or batches without length".into()));
        }
        let folder = Folder::make(path)?;
        let lock = folder.try_lock(LOCK)?.ok_or_else(|| {
            Error::Input(format!(
                "{}: another process has this queue open: stop it, or name another directory",
                path.display()
            ))
        })?;
        let held = Held::read(&folder, &key, &limits)?;
        let lanes = std::array::from_fn(|_| Mutex::new(()));
        let (taking, shuffling) = (RwLock::new(()), Mutex::new(()));
        Ok(Queue { folder, key, limits, lanes, taking, shuffling, held: Mutex::new(held), _lock: lock })
    }

    /// Predicts the outcome for a batch with this many records, as far as that is known without it: nothing if it would
    /// be taken.
    pub fn foresee(&self, participant: u32, batch: &QueueBatchId, digest: &[u8; 32], records: u64) -> Option<Accepted> {
        let bytes = files::incoming_bytes(records.saturating_mul(self.limits.record_bytes as u64));
        lock(&self.held).answer(&(participant, *batch), &Mark { digest: *digest, records }, bytes, &self.limits)
    }

    /// Takes a batch of a participant: it is on disk when this returns [`Accepted::New`] or [`Accepted::Known`].
    ///
    /// Errors ([`Error::Input`]): the disk is full or fails. The batch was not taken then; trying again takes it once.
    pub fn accept(&self, submission: &Submission<'_>) -> Result<Accepted> {
        let Submission { participant, batch, digest, records } = *submission;
        if records.len() % self.limits.record_bytes != 0 {
            return Err(Error::Internal("a part of a record in a batch".into()));
        }
        let key = (participant, batch);
        let mark = Mark { digest, records: (records.len() / self.limits.record_bytes) as u64 };
        let bytes = files::incoming_bytes(records.len() as u64);
        let _taking = self.taking.read().unwrap_or_else(PoisonError::into_inner);
        let _lane = lock(&self.lanes[participant as usize % LANES]);
        {
            let mut held = self.sound()?;
            if let Some(answer) = held.answer(&key, &mark, bytes, &self.limits) {
                return Ok(answer);
            }
            held.coming += bytes;
        }
        let written = self.write_incoming(&key, submission);
        let mut held = lock(&self.held);
        held.coming -= bytes;
        written?;
        held.bytes += bytes;
        let claimed = !self.limits.claims;
        held.insert(key, InQueue { mark, bytes, since: SystemTime::now(), claimed });
        Ok(Accepted::New)
    }

    fn write_incoming(&self, key: &MarkKey, submission: &Submission<'_>) -> Result<()> {
        let name = files::incoming(key);
        step("in")?;
        let write = |writer: &mut _| files::write_incoming(writer, submission, self.limits.record_bytes);
        files::write_part(&self.folder, &name, &self.key, write)?;
        step("in written")?;
        let named = files::name_whole(&self.folder, &name).and_then(|()| step("in named"));
        // It may be there, and nobody is told so.
        named.inspect_err(|_| drop(self.folder.remove(&name)))
    }

    /// Takes nothing any more. Durable when this returns.
    pub fn close(&self) -> Result<()> {
        let _one = lock(&self.shuffling);
        let _none = self.taking.write().unwrap_or_else(PoisonError::into_inner);
        let state = State { closed: true, ..self.sound()?.state.clone() };
        self.write_state(&state)?;
        lock(&self.held).state = state;
        Ok(())
    }

    /// Takes nothing for the time being, or goes on; whether that is new. Nothing is being taken any more when this
    /// returns.
    pub fn pause(&self, pauses: bool) -> bool {
        if lock(&self.held).pauses == pauses {
            return false;
        }
        let _none = self.taking.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut lock(&self.held).pauses, pauses) != pauses
    }

    /// Removes all records that wait: nothing of them ever leaves. What has been shuffled stays. Durable when this
    /// returns.
    pub fn discard(&self) -> Result<()> {
        let _one = lock(&self.shuffling);
        let _none = self.taking.write().unwrap_or_else(PoisonError::into_inner);
        let Waiting { sources, marks, mut state, .. } = self.waiting(|_| true)?;
        state.generation += 1;
        state.marks.extend(marks);
        self.write_state(&state)?;
        let mut held = lock(&self.held);
        held.waiting.clear();
        held.left.clear();
        held.left_bytes = 0;
        held.changes += 1;
        held.state = state;
        held.count_bytes();
        drop(held);
        self.remove_obsolete(&sources);
        Ok(())
    }

    /// Removes what does not count any more, whether it is there or not: what stays now goes at the next start.
    fn remove_obsolete(&self, sources: &[Source]) {
        for source in sources {
            let _ = step("obsolete");
            let _ = self.folder.remove(&source.name);
        }
    }

    /// Whether there is anything that leaves and has not been sent.
    pub fn has_outgoing(&self) -> bool {
        !lock(&self.held).outgoing.is_empty()
    }

    /// A batch that leaves and has not been sent; the same one until [`Queue::sent`].
    pub fn next_outgoing(&self) -> Result<Option<OutgoingBatch>> {
        let first = self.sound()?.outgoing.first_key_value().map(|(id, (name, _))| (*id, name.clone()));
        let Some((id, name)) = first else { return Ok(None) };
        let mut reader = files::open(&self.folder, &name, &self.key)?;
        let records = files::next(&mut reader, &self.folder, &name)?;
        files::end(&mut reader, &self.folder, &name)?;
        Ok(Some(OutgoingBatch { id, records }))
    }

    /// Removes a batch that the database has. Durable when this returns.
    pub fn sent(&self, id: &QueueBatchId) -> Result<()> {
        let name = self.sound()?.outgoing.get(id).map(|(name, _)| name.clone());
        if let Some(name) = name {
            step("sent")?;
            self.folder.remove(&name).map_err(|error| files::cannot_write(&self.folder, &name, &error))?;
            let mut held = lock(&self.held);
            held.outgoing.remove(id);
            held.count_bytes();
        }
        step("sent removed")?;
        self.folder.flush().map_err(|error| files::cannot_write(&self.folder, "", &error))
    }

    /// Records that wait, by participant.
    pub fn counts(&self) -> RecordCounts {
        lock(&self.held).counts(|_| true)
    }

    /// Records of a participant that were taken in this round, wherever they are now, but for those that leave
    /// elsewhere.
    pub fn accepted(&self, participant: u32) -> u64 {
        lock(&self.held).accepted.get(&participant).copied().unwrap_or_default()
    }

    /// Returns the time since which the longest-waiting report waits; of those that a shuffle has left behind, since
    /// the last shuffle.
    pub fn oldest(&self) -> Option<SystemTime> {
        let held = lock(&self.held);
        let left = (held.left_bytes > 0).then(|| files::left(held.state.generation));
        let waiting = held.waiting.values().map(|one| one.since).min();
        drop(held);
        let left = left.and_then(|name| self.folder.read(&name).and_then(|file| file.metadata()?.modified()).ok());
        waiting.into_iter().chain(left).min()
    }

    /// Whether nothing more is taken.
    pub fn is_closed(&self) -> bool {
        lock(&self.held).state.closed
    }

    /// Whether what is new is taken now.
    pub fn takes(&self) -> bool {
        let held = lock(&self.held);
        !held.state.closed && !held.pauses
    }

    /// Returns the amounts in the queue.
    pub fn status(&self) -> QueueStatus {
        let held = lock(&self.held);
        QueueStatus {
            waiting: held.counts(|_| true).values().sum(),
            outgoing: held.outgoing.len() as u64,
            bytes: held.bytes + held.coming,
        }
    }

    /// Returns the waiting records; of batches, only those that are wanted.
    fn waiting(&self, wanted: impl Fn(&InQueue) -> bool) -> Result<Waiting> {
        let held = self.sound()?;
        let incoming = held.waiting.iter().filter(|(_, one)| wanted(one)).map(|(key, one)| Source {
            name: files::incoming(key),
            marked: true,
            records: one.mark.records,
        });
        let mut sources: Vec<_> = incoming.collect();
        let mut runs = Vec::new();
        for ((participant, _), one) in held.waiting.iter().filter(|(_, one)| wanted(one)) {
            extend_runs(&mut runs, *participant, one.mark.records);
        }
        if !held.left.is_empty() {
            let name = files::left(held.state.generation);
            sources.push(Source { name, marked: false, records: held.left.iter().map(|(_, records)| records).sum() });
            held.left.iter().for_each(|(participant, records)| extend_runs(&mut runs, *participant, *records));
        }
        let marks = held.waiting.iter().filter(|(_, one)| wanted(one)).map(|(key, one)| (*key, one.mark)).collect();
        Ok(Waiting { sources, runs, marks, counts: held.counts(wanted), state: held.state.clone() })
    }

    fn write_state(&self, state: &State) -> Result<()> {
        state.write(&self.folder, &self.key).map_err(|unwritten| match unwritten {
            Unwritten::Before(error) => error,
            Unwritten::Unknown(error) => {
                lock(&self.held).broken = true;
                error
            }
        })
    }

    /// Removes what an attempt at a shuffle has left behind.
    fn clear_attempt(&self, generation: u64) {
        if lock(&self.held).broken {
            return;
        }
        for name in self.folder.names().unwrap_or_default() {
            let of_attempt = files::read_outgoing(&name).is_some_and(|(other, _)| other == generation)
                || name == files::left(generation)
                || name.starts_with(files::BUCKET);
            if of_attempt {
                let _ = self.folder.remove(&name);
            }
        }
    }

    /// Locks the contents of the queue, if they are known.
    fn sound(&self) -> Result<MutexGuard<'_, Held>> {
        let held = lock(&self.held);
        if held.broken {
            Err(Error::Input(format!(
                "{}: the disk failed while the queue changed: mend it, and start again",
                self.folder.path().display()
            )))
        } else {
            Ok(held)
        }
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue({})", self.folder.path().display())
    }
}

/// Notes an event that tests count.
#[cfg(not(test))]
fn note(_: &str) {}

#[cfg(test)]
use tests::note;
