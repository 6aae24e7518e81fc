//! Behaviour of the queue, the batches that leave it, and its remains after a failure or a kill at any point.

mod claims;
mod crash;
mod meanwhile;
mod order;
mod power;
mod refused;
mod view;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use rustix::process::Signal;
use zeroize::Zeroizing;

use super::*;
use crate::testing::{self, FULL_AFTER, KILL_AT, MEANWHILE};

thread_local! {
    /// Number of times that each event was noted by this thread.
    static NOTED: Cell<BTreeMap<String, u64>> = const { Cell::new(BTreeMap::new()) };
}

/// See the function of that name for other builds.
pub(super) fn note(what: &str) {
    let mut noted = NOTED.take();
    *noted.entry(what.to_owned()).or_default() += 1;
    NOTED.set(noted);
}

/// Returns the number of times that an event has been noted since the last call.
fn noted(what: &str) -> u64 {
    let mut noted = NOTED.take();
    let count = noted.remove(what).unwrap_or_default();
    NOTED.set(noted);
    count
}

const RECORD_BYTES: usize = 24;

const LIMITS: QueueLimits = QueueLimits {
    record_bytes: RECORD_BYTES,
    batch_records: 100,
    bytes: 1 << 30,
    quota: u64::MAX,
    batches: u64::MAX,
    claims: false,
};

const TERMS: Conditions = Conditions { min_participants: 3, max_share: 0.5, batch_size: None };

const MEMORY: u64 = 16 << 20;

fn key() -> SealKey {
    SealKey::new(Zeroizing::new([3; 32]))
}

fn open(path: &Path) -> Queue {
    try_open(path, LIMITS).unwrap()
}

/// Opens a queue that another one of this process has had open.
fn try_open(path: &Path, limits: QueueLimits) -> Result<Queue> {
    testing::patient(|| Queue::open(path, key(), limits))
}

/// A record that tells where it is from.
fn record(participant: u32, batch: u8, place: u32) -> [u8; RECORD_BYTES] {
    let mut record = [0xab; RECORD_BYTES];
    record[..4].copy_from_slice(&participant.to_le_bytes());
    record[4] = batch;
    record[5..9].copy_from_slice(&place.to_le_bytes());
    record
}

fn origin(record: &[u8]) -> (u32, u8, u32) {
    let number = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
    (number(0), record[4], number(5))
}

fn batch(participant: u32, batch: u8, records: u32) -> Vec<u8> {
    (0..records).flat_map(|place| record(participant, batch, place)).collect()
}

fn submit(queue: &Queue, participant: u32, number: u8, records: u32) -> Result<Accepted> {
    let records = batch(participant, number, records);
    let digest = *blake3::hash(&records).as_bytes();
    queue.accept(&Submission { participant, batch: [number; 16], digest, records: &records })
}

/// Takes all that leaves; records by the batch that they leave in.
fn leave(queue: &Queue) -> Vec<Vec<(u32, u8, u32)>> {
    let mut batches = Vec::new();
    while let Some(outgoing) = queue.next_outgoing().unwrap() {
        batches.push(outgoing.records.chunks_exact(RECORD_BYTES).map(origin).collect());
        queue.sent(&outgoing.id).unwrap();
    }
    batches
}

/// Returns all records of some batches.
fn all(batches: &[(u32, u8, u32)]) -> Vec<(u32, u8, u32)> {
    let records =
        |&(participant, batch, records): &(u32, u8, u32)| (0..records).map(move |place| (participant, batch, place));
    let mut all: Vec<_> = batches.iter().flat_map(records).collect();
    all.sort_unstable();
    all
}

fn sorted(batches: Vec<Vec<(u32, u8, u32)>>) -> Vec<(u32, u8, u32)> {
    let mut all = batches.concat();
    all.sort_unstable();
    all
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_round_leaves_whole_at_its_close_and_once() {
    let home = tempfile::tempdir().unwrap();
    let batches = [(1, 1, 120), (2, 1, 300), (3, 1, 0), (3, 2, 1), (4, 7, 229)];
    let queue = open(home.path());
    for (participant, number, records) in batches {
        assert_eq!(submit(&queue, participant, number, records).unwrap(), Accepted::New);
    }
    assert!(
        matches!(queue.shuffle(&TERMS, MEMORY).unwrap(), ShuffleOutcome::Waiting(why) if why.contains("650 reports wait for the close"))
    );
    assert!(queue.next_outgoing().unwrap().is_none());
    queue.close().unwrap();
    drop(queue);
    let queue = open(home.path());
    assert_eq!(queue.counts(), BTreeMap::from([(1, 120), (2, 300), (3, 1), (4, 229)]));
    assert_eq!(queue.shuffle(&TERMS, MEMORY).unwrap(), ShuffleOutcome::Left { records: 650 });
    assert_eq!(queue.shuffle(&TERMS, MEMORY).unwrap(), ShuffleOutcome::Nothing);
    assert_eq!(queue.status().waiting, 0);
    assert_eq!(queue.accepted(2), 300);
    drop(queue);
    let queue = open(home.path());
    // One that was not said to be sent comes again.
    assert_eq!(queue.next_outgoing().unwrap().unwrap().id, queue.next_outgoing().unwrap().unwrap().id);
    let left = leave(&queue);
    let mut lengths: Vec<_> = left.iter().map(Vec::len).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [50, 100, 100, 100, 100, 100, 100]);
    assert_eq!(sorted(left), all(&batches));
    assert_eq!(names(home.path()), ["queue.lock", "state"]);
    assert_eq!((queue.status().bytes, queue.status().outgoing), (0, 0));
    drop(queue);
    // What has left is still known.
    let queue = open(home.path());
    assert_eq!(submit(&queue, 2, 1, 300).unwrap(), Accepted::Known);
    assert_eq!(submit(&queue, 2, 1, 299).unwrap(), Accepted::Refused(Refusal::Conflict));
    assert_eq!(submit(&queue, 2, 2, 1).unwrap(), Accepted::Refused(Refusal::Closed));
    assert_eq!(queue.shuffle(&TERMS, MEMORY).unwrap(), ShuffleOutcome::Nothing);
}

#[test]
fn random_batches_leave_while_the_round_is_open_and_the_rest_at_its_close() {
    let home = tempfile::tempdir().unwrap();
    let terms = Conditions { batch_size: Some(200), ..TERMS };
    let queue = open(home.path());
    let mut batches = Vec::new();
    let mut taken = Vec::new();
    for turn in 0..6 {
        for participant in 0..5 {
            batches.push((participant, turn, 30));
            assert_eq!(submit(&queue, participant, turn, 30).unwrap(), Accepted::New);
        }
        let before = queue.counts().values().sum::<u64>();
        match queue.shuffle(&terms, MEMORY).unwrap() {
            ShuffleOutcome::Left { records } => {
                assert_eq!(records, 200);
                let left = leave(&queue);
                assert_eq!(left.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100]);
                taken.extend(left);
                assert_eq!(queue.counts().values().sum::<u64>(), before - 200);
            }
            ShuffleOutcome::Waiting(why) => {
                assert!(before < 200 && why.contains("150 reports wait for a full batch of 200"), "{why}")
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(taken.len(), 8);
    queue.close().unwrap();
    drop(queue);
    let queue = open(home.path());
    assert_eq!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Left { records: 100 });
    taken.extend(leave(&queue));
    assert_eq!(sorted(taken), all(&batches));
    assert_eq!(names(home.path()), ["queue.lock", "state"]);
}
