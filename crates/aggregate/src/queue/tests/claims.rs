//! Batches that another queue has claimed, or may have.

use super::*;
use crate::wire::rounds::Rest;

const CLAIMED: QueueLimits = QueueLimits { claims: true, quota: 100, ..LIMITS };

fn keys(batches: &[(u32, u8)]) -> Vec<MarkKey> {
    batches.iter().map(|(participant, number)| (*participant, [*number; 16])).collect()
}

#[test]
fn what_another_has_claimed_leaves_there_and_is_still_known() {
    let home = tempfile::tempdir().unwrap();
    let queue = try_open(home.path(), CLAIMED).unwrap();
    let batches = [(1, 1, 40), (1, 2, 60), (2, 1, 30), (3, 1, 20), (4, 1, 10)];
    for (participant, number, records) in batches {
        assert_eq!(submit(&queue, participant, number, records).unwrap(), Accepted::New);
    }
    // One participant has as many as it may.
    assert!(matches!(submit(&queue, 1, 3, 1).unwrap(), Accepted::Refused(Refusal::Quota { has: 100, .. })));
    assert_eq!(queue.unclaimed(), keys(&[(1, 1), (1, 2), (2, 1), (3, 1), (4, 1)]));
    queue.settle(&keys(&[(1, 1)]), &keys(&[(1, 2), (4, 1), (7, 7)])).unwrap();
    assert_eq!(queue.unclaimed(), keys(&[(2, 1), (3, 1)]));
    assert_eq!(queue.counts(), BTreeMap::from([(1, 40), (2, 30), (3, 20)]));
    assert_eq!(names(home.path()).iter().filter(|name| name.starts_with("in-")).count(), 3);
    // It counts there, and not here; another one is taken in its place.
    assert_eq!((queue.accepted(1), queue.accepted(4)), (40, 0));
    for _ in 0..2 {
        assert_eq!(submit(&queue, 1, 2, 60).unwrap(), Accepted::Known);
        assert_eq!(submit(&queue, 1, 2, 59).unwrap(), Accepted::Refused(Refusal::Conflict));
    }
    assert_eq!(submit(&queue, 1, 3, 1).unwrap(), Accepted::New);
    drop(queue);
    // After a start all that waits is to be claimed again, and nothing else.
    let queue = try_open(home.path(), CLAIMED).unwrap();
    assert_eq!(queue.unclaimed(), keys(&[(1, 1), (1, 3), (2, 1), (3, 1)]));
    assert_eq!((queue.accepted(1), queue.accepted(4)), (41, 0));
    assert_eq!(submit(&queue, 1, 2, 60).unwrap(), Accepted::Known);
    queue.close().unwrap();
    // What is not claimed does not leave.
    assert_eq!(queue.shuffle(&TERMS, MEMORY).unwrap(), ShuffleOutcome::Nothing);
    queue.settle(&queue.unclaimed(), &[]).unwrap();
    assert_eq!(queue.shuffle(&TERMS, MEMORY).unwrap(), ShuffleOutcome::Left { records: 91 });
    assert_eq!(sorted(leave(&queue)), all(&[(1, 1, 40), (1, 3, 1), (2, 1, 30), (3, 1, 20)]));
    assert_eq!(submit(&queue, 4, 1, 10).unwrap(), Accepted::Known);
    assert_eq!(names(home.path()), ["queue.lock", "state"]);
}

/// Whoever says what is another's could leave one participant's alone.
#[test]
fn conditions_are_those_of_what_is_left() {
    for (others, why) in [
        (&[(3, 1), (3, 2), (4, 1)][..], "90 reports are of 2 participants, and a shuffle needs those of 3"),
        (&[(2, 1), (3, 2)], "60 of 90 reports are of one participant"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let queue = try_open(home.path(), CLAIMED).unwrap();
        for (participant, number, records) in [(1, 1, 60), (2, 1, 30), (3, 1, 20), (3, 2, 40), (4, 1, 10)] {
            submit(&queue, participant, number, records).unwrap();
        }
        queue.close().unwrap();
        let (others, own): (Vec<_>, Vec<_>) = queue.unclaimed().into_iter().partition(|key| keys(others).contains(key));
        queue.settle(&own, &others).unwrap();
        let ShuffleOutcome::Unshufflable(told) = queue.shuffle(&TERMS, MEMORY).unwrap() else { panic!() };
        assert!(told.contains(why), "{told}");
        assert!(queue.next_outgoing().unwrap().is_none());
    }
}

/// Batches that come between a claim and its shuffle wait for the next one. Nothing is due that would only say when it
/// came.
#[test]
fn what_is_taken_after_a_claim_waits() {
    let home = tempfile::tempdir().unwrap();
    let queue = try_open(home.path(), CLAIMED).unwrap();
    let terms = Conditions { batch_size: Some(90), ..TERMS };
    assert!(!queue.is_due(&terms) && !queue.is_due(&TERMS));
    for participant in 1..=3 {
        assert!(!queue.is_due(&terms));
        submit(&queue, participant, 1, 30).unwrap();
    }
    assert!(queue.is_due(&terms) && !queue.is_due(&TERMS), "the whole round leaves at its close");
    queue.settle(&queue.unclaimed(), &[]).unwrap();
    submit(&queue, 4, 1, 30).unwrap();
    assert_eq!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Left { records: 90 });
    assert_eq!(sorted(leave(&queue)), all(&[(1, 1, 30), (2, 1, 30), (3, 1, 30)]));
    assert_eq!(queue.unclaimed(), keys(&[(4, 1)]));
    // Enough have come, and some turn out to be another's.
    for participant in 5..=6 {
        submit(&queue, participant, 1, 30).unwrap();
    }
    assert!(queue.is_due(&terms));
    queue.settle(&keys(&[(4, 1), (6, 1)]), &keys(&[(5, 1)])).unwrap();
    assert!(matches!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Waiting(_)) && !queue.is_due(&terms));
    queue.close().unwrap();
    assert!(queue.is_due(&terms));
}

/// A batch of elsewhere is as well kept as others: whatever is changed in the file is seen.
#[test]
fn damage_of_a_state_with_batches_of_elsewhere_is_found() {
    let home = tempfile::tempdir().unwrap();
    let queue = try_open(home.path(), CLAIMED).unwrap();
    for participant in 1..=4 {
        submit(&queue, participant, 1, 10).unwrap();
    }
    queue.settle(&[], &keys(&[(1, 1), (3, 1)])).unwrap();
    drop(queue);
    let path = home.path().join("state");
    let whole = std::fs::read(&path).unwrap();
    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 4;
        for damaged in [&changed[..], &whole[..place]] {
            std::fs::write(&path, damaged).unwrap();
            let error = try_open(home.path(), CLAIMED).unwrap_err().to_string();
            assert!(error.contains("damaged"), "{error}");
        }
    }
    std::fs::write(&path, whole).unwrap();
    let queue = try_open(home.path(), CLAIMED).unwrap();
    assert_eq!(queue.unclaimed(), keys(&[(2, 1), (4, 1)]));
    assert_eq!(submit(&queue, 3, 1, 10).unwrap(), Accepted::Known);
}

/// A batch that another queue has claimed and cannot shuffle comes here after all, once, wherever the disk fails
/// meanwhile.
#[test]
fn what_another_cannot_shuffle_is_taken_over_once() {
    for was_here in [false, true] {
        for full_after in 0.. {
            let home = tempfile::tempdir().unwrap();
            let queue = try_open(home.path(), CLAIMED).unwrap();
            for participant in 1..=3 + u32::from(was_here) {
                submit(&queue, participant, 1, 30).unwrap();
            }
            queue.close().unwrap();
            let (others, own): (Vec<_>, Vec<_>) = queue.unclaimed().into_iter().partition(|key| key.0 == 4);
            queue.settle(&own, &others).unwrap();
            assert_eq!(queue.rest(&TERMS), Rest::Enough);
            let records: Vec<u8> = (0..30).flat_map(|place| record(4, 1, place)).collect();
            let submission = Submission { participant: 4, batch: [1; 16], digest: [30; 32], records: &records };
            FULL_AFTER.set(Some(full_after));
            let failed = queue.take_over(&submission).is_err();
            FULL_AFTER.set(None);
            drop(queue);
            let queue = try_open(home.path(), CLAIMED).unwrap();
            for _ in 0..2 {
                queue.take_over(&submission).unwrap();
            }
            assert_eq!(queue.accepted(4), 30);
            queue.settle(&queue.unclaimed(), &[]).unwrap();
            assert_eq!(queue.batch(&(4, [1; 16])).unwrap().1, records);
            assert_eq!(queue.shuffle(&TERMS, MEMORY).unwrap(), ShuffleOutcome::Left { records: 120 });
            assert_eq!(sorted(leave(&queue)), all(&[(1, 1, 30), (2, 1, 30), (3, 1, 30), (4, 1, 30)]));
            queue.take_over(&submission).unwrap();
            assert_eq!((queue.status().waiting, queue.rest(&TERMS)), (0, Rest::Nothing));
            if !failed {
                assert!(full_after > 2, "no step was met");
                break;
            }
        }
    }
}

#[test]
fn what_is_there_is_enough_or_not() {
    let home = tempfile::tempdir().unwrap();
    let queue = try_open(home.path(), CLAIMED).unwrap();
    for participant in 1..=2 {
        submit(&queue, participant, 1, 30).unwrap();
    }
    queue.close().unwrap();
    assert_eq!(queue.rest(&TERMS), Rest::Nothing, "nothing is claimed");
    queue.settle(&queue.unclaimed(), &[]).unwrap();
    assert_eq!(queue.rest(&TERMS), Rest::TooFew);
    assert_eq!(queue.claimed(), keys(&[(1, 1), (2, 1)]));
    queue.settle(&[], &queue.claimed()).unwrap();
    assert_eq!((queue.rest(&TERMS), queue.accepted(1)), (Rest::Nothing, 0));
}
