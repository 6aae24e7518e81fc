//! Batches that are not taken, and records that never leave.

use super::*;

#[test]
fn what_is_too_much_or_another_batch_of_a_name_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let limits = QueueLimits { bytes: 60_000, quota: 1000, ..LIMITS };
    let queue = try_open(home.path(), limits).unwrap();
    assert_eq!(submit(&queue, 1, 1, 600).unwrap(), Accepted::New);
    assert_eq!(submit(&queue, 1, 1, 600).unwrap(), Accepted::Known);
    let conflict = Accepted::Refused(Refusal::Conflict);
    assert_eq!(submit(&queue, 1, 1, 601).unwrap(), conflict);
    let same_records = batch(1, 1, 600);
    let other = Submission { participant: 1, batch: [1; 16], digest: [0; 32], records: &same_records };
    assert_eq!(queue.accept(&other).unwrap(), conflict);
    // Another participant's batch of that name is another batch.
    assert_eq!(submit(&queue, 2, 1, 600).unwrap(), Accepted::New);
    let quota = Accepted::Refused(Refusal::Quota { has: 600, limit: 1000 });
    assert_eq!(submit(&queue, 1, 2, 401).unwrap(), quota);
    assert_eq!(queue.foresee(1, &[2; 16], &[0; 32], 401), Some(quota));
    assert_eq!(queue.foresee(1, &[2; 16], &[0; 32], 400), None);
    // What repeats itself is known, also where nothing more is taken.
    assert_eq!(submit(&queue, 3, 1, 900).unwrap(), Accepted::Refused(Refusal::Full));
    assert_eq!(submit(&queue, 1, 1, 600).unwrap(), Accepted::Known);
    let bytes = queue.status().bytes;
    drop(queue);
    let queue = try_open(home.path(), limits).unwrap();
    // What was foreseen is never less than what is there.
    assert!(queue.status().bytes <= bytes && queue.status().bytes > 24 * 1200);
    assert_eq!(submit(&queue, 1, 2, 401).unwrap(), quota);
    queue.close().unwrap();
    assert_eq!(submit(&queue, 2, 1, 600).unwrap(), Accepted::Known);
    assert_eq!(submit(&queue, 2, 2, 1).unwrap(), Accepted::Refused(Refusal::Closed));
    assert!(queue.accept(&Submission { participant: 1, batch: [9; 16], digest: [0; 32], records: &[1; 25] }).is_err());
}

/// A pause ends with the process at the latest: what has been refused meanwhile is taken then.
#[test]
fn a_queue_that_pauses_takes_nothing_new_until_it_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let queue = open(home.path());
    assert_eq!(submit(&queue, 1, 1, 5).unwrap(), Accepted::New);
    assert!(queue.pause(true) && !queue.pause(true) && !queue.takes() && !queue.is_closed());
    assert_eq!(submit(&queue, 1, 1, 5).unwrap(), Accepted::Known);
    assert_eq!(submit(&queue, 1, 2, 5).unwrap(), Accepted::Refused(Refusal::Closed));
    assert!(queue.pause(false) && queue.takes());
    assert_eq!(submit(&queue, 1, 2, 5).unwrap(), Accepted::New);
    queue.pause(true);
    drop(queue);
    let queue = open(home.path());
    assert_eq!(submit(&queue, 1, 3, 5).unwrap(), Accepted::New);
    queue.close().unwrap();
    assert!(!queue.pause(false) && !queue.takes());
}

/// Batches of one record each cost the queue a file each: they count as such.
#[test]
fn many_small_batches_fill_it_too() {
    let home = tempfile::tempdir().unwrap();
    let queue = try_open(home.path(), QueueLimits { bytes: 80_000, ..LIMITS }).unwrap();
    let taken = (0..100).take_while(|number| submit(&queue, 1, *number, 1).unwrap() == Accepted::New).count();
    assert!((5..20).contains(&taken), "{taken}");
}

/// Marks of a batch stay when the batch has left, and are bounded for each participant.
#[test]
fn a_participant_has_so_many_batches() {
    let home = tempfile::tempdir().unwrap();
    let limits = QueueLimits { batches: 3, ..LIMITS };
    let queue = try_open(home.path(), limits).unwrap();
    let batches = Accepted::Refused(Refusal::Batches { limit: 3 });
    for number in 0..3 {
        [1, 2, 3].iter().for_each(|one| assert_eq!(submit(&queue, *one, number, 1).unwrap(), Accepted::New));
    }
    assert_eq!(submit(&queue, 1, 3, 1).unwrap(), batches);
    let terms = Conditions { batch_size: Some(9), ..TERMS };
    assert_eq!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Left { records: 9 });
    assert_eq!(queue.foresee(1, &[3; 16], &[0; 32], 1), Some(batches));
    drop(queue);
    let queue = try_open(home.path(), limits).unwrap();
    assert_eq!(submit(&queue, 1, 3, 1).unwrap(), batches);
    assert_eq!(submit(&queue, 1, 2, 1).unwrap(), Accepted::Known);
    assert_eq!(submit(&queue, 4, 3, 1).unwrap(), Accepted::New);
}

/// Names of batches are kept as long as the round: what 100,000 of one report each take.
#[test]
#[ignore = "makes 100,000 files; prints what they take"]
fn what_many_batches_of_one_report_take() {
    let home = tempfile::tempdir().unwrap();
    let queue = try_open(home.path(), QueueLimits { bytes: 1 << 40, ..LIMITS }).unwrap();
    let before = tacita_node::base::usage::peak_memory();
    for number in 0..100_000u32 {
        let mut name = [0; 16];
        name[..4].copy_from_slice(&number.to_le_bytes());
        let records = record(number % 10, 0, number);
        let one = Submission { participant: number % 10, batch: name, digest: [1; 32], records: &records };
        assert_eq!(queue.accept(&one).unwrap(), Accepted::New);
    }
    println!("waiting: {:?}, peak memory {before:?} to {:?}", queue.status(), tacita_node::base::usage::peak_memory());
    drop(queue);
    let terms = Conditions { batch_size: Some(100_000), ..TERMS };
    for what in ["waiting", "shuffled"] {
        let began = std::time::Instant::now();
        let queue = try_open(home.path(), QueueLimits { bytes: 1 << 40, ..LIMITS }).unwrap();
        println!("{what}: opened in {:?}", began.elapsed());
        let began = std::time::Instant::now();
        println!("{:?} in {:?}", queue.shuffle(&terms, MEMORY).unwrap(), began.elapsed());
    }
    let state = std::fs::metadata(home.path().join("state")).unwrap().len();
    println!("state {state} bytes, peak memory {:?}", tacita_node::base::usage::peak_memory());
}

#[test]
fn a_round_that_meets_no_conditions_says_why_and_never_leaves() {
    let few: &[(u32, u8, u32)] = &[(1, 1, 5), (2, 1, 5)];
    let one_sided: &[(u32, u8, u32)] = &[(1, 1, 5), (2, 1, 5), (3, 1, 4), (3, 2, 7)];
    let texts =
        ["10 reports are of 2 participants, and a shuffle needs those of 3", "11 of 21 reports are of one participant"];
    for (batches, text) in [few, one_sided].into_iter().zip(texts) {
        for batch_size in [None, Some(8)] {
            let home = tempfile::tempdir().unwrap();
            let queue = open(home.path());
            for &(participant, number, records) in batches {
                submit(&queue, participant, number, records).unwrap();
            }
            let terms = Conditions { batch_size, ..TERMS };
            assert!(matches!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Waiting(_)));
            queue.close().unwrap();
            for _ in 0..3 {
                let ShuffleOutcome::Unshufflable(why) = queue.shuffle(&terms, MEMORY).unwrap() else { panic!() };
                assert!(why.contains(text), "{why}");
                assert!(queue.next_outgoing().unwrap().is_none());
            }
            assert!(!names(home.path()).iter().any(|name| name.starts_with("out-") || name.starts_with("bucket-")));
            queue.discard().unwrap();
            assert_eq!(names(home.path()), ["queue.lock", "state"]);
            drop(queue);
            let queue = open(home.path());
            assert_eq!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Nothing);
            assert_eq!(submit(&queue, 1, 1, 5).unwrap(), Accepted::Known);
        }
    }
}

/// Whether records leave is seen by how many there are of whom: none is read before it leaves, and what has not changed
/// is not even counted again.
#[test]
fn what_does_not_leave_is_not_read() {
    let home = tempfile::tempdir().unwrap();
    let queue = open(home.path());
    let terms = Conditions { batch_size: Some(30), ..TERMS };
    submit(&queue, 0, 1, 100).unwrap();
    submit(&queue, 1, 1, 100).unwrap();
    noted("counts");
    // Of too few participants.
    for _ in 0..5 {
        assert!(!queue.is_due(&terms) && matches!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Waiting(_)));
    }
    assert_eq!(noted("read"), 0);
    noted("counts");
    (0..5).for_each(|_| assert!(!queue.is_due(&terms)));
    assert_eq!(noted("counts"), 0);
    // Something came: it is counted once more.
    submit(&queue, 0, 2, 1).unwrap();
    (0..5).for_each(|_| assert!(!queue.is_due(&terms)));
    assert_eq!(noted("counts"), 1);
    // Of enough, of whom hardly ever enough are drawn: nor is what is drawn in vain read.
    submit(&queue, 2, 1, 1).unwrap();
    let terms = Conditions { max_share: 1.0, ..terms };
    assert!(queue.is_due(&terms));
    for _ in 0..5 {
        assert!(matches!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Waiting(_)));
    }
    assert_eq!(noted("read"), 0);
    // Each file once when they leave, and what is left behind when that leaves, also after a start.
    submit(&queue, 2, 2, 98).unwrap();
    let terms = Conditions { batch_size: Some(150), max_share: 1.0, ..TERMS };
    assert_eq!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Left { records: 150 });
    assert_eq!(noted("read"), 5 + buckets_of(150));
    let counts = queue.counts();
    assert_eq!(counts.values().sum::<u64>(), 150);
    drop(queue);
    let queue = open(home.path());
    assert_eq!(queue.counts(), counts);
    noted("read");
    let terms = Conditions { batch_size: Some(60), ..terms };
    assert_eq!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Left { records: 60 });
    assert_eq!(noted("read"), 1 + buckets_of(60));
    assert_eq!(sorted(leave(&queue)).len(), 210);
}

/// Whether a queue is closed, and whether a batch is there, is answered without a look at all others.
#[test]
fn what_is_asked_of_a_batch_is_not_asked_of_all() {
    let home = tempfile::tempdir().unwrap();
    let queue = open(home.path());
    submit(&queue, 1, 1, 5).unwrap();
    noted("counts");
    assert!(!queue.is_closed() && queue.foresee(1, &[1; 16], &[0; 32], 5).is_some());
    queue.close().unwrap();
    assert!(queue.is_closed());
    assert_eq!(noted("counts"), 0);
}

/// Returns the number of buckets in which this many records are mixed, each of which is read once.
fn buckets_of(records: u64) -> u64 {
    mix::buckets(records, RECORD_BYTES, MEMORY).unwrap()
}

/// A batch that would leave too little behind does not leave, however often it is asked for.
#[test]
fn what_stays_behind_has_to_meet_the_conditions_too() {
    let home = tempfile::tempdir().unwrap();
    let queue = open(home.path());
    for participant in 0..4 {
        submit(&queue, participant, 1, 50).unwrap();
    }
    let terms = Conditions { batch_size: Some(198), ..TERMS };
    for _ in 0..20 {
        let ShuffleOutcome::Waiting(why) = queue.shuffle(&terms, MEMORY).unwrap() else { panic!() };
        assert!(why.starts_with("of the reports that a random batch would leave behind, 2 reports are of"), "{why}");
    }
    // Four participants of one record each among 200: hardly any batch of four is of three participants with two each
    // at the most.
    let terms = Conditions { min_participants: 4, max_share: 0.3, batch_size: Some(4) };
    let tries =
        (0..500).filter(|_| matches!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Left { .. })).count();
    let left = leave(&queue);
    assert!(left.len() == tries && tries > 0);
    for batch in left {
        let mut participants: Vec<_> = batch.iter().map(|(participant, ..)| *participant).collect();
        participants.sort_unstable();
        assert_eq!(participants, [0, 1, 2, 3]);
    }
}

#[test]
fn a_second_process_another_key_and_other_lengths_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let queue = open(home.path());
    submit(&queue, 1, 1, 5).unwrap();
    let refused = |key: SealKey, limits: QueueLimits| Queue::open(home.path(), key, limits).unwrap_err().to_string();
    assert!(refused(key(), LIMITS).contains("another process has this queue open"));
    drop(queue);
    drop(open(home.path()));
    assert!(refused(SealKey::new(Zeroizing::new([4; 32])), LIMITS).contains("damaged, or of another key"));
    let other = refused(key(), QueueLimits { record_bytes: 25, ..LIMITS });
    assert!(other.contains("holds records of 24 bytes, and those of this job have 25"), "{other}");
    open(home.path());
}

/// A participant's batch without a report is one sealed record: under the name of a batch that leaves it would be sent.
#[test]
fn a_file_of_one_kind_is_none_of_another() {
    let home = tempfile::tempdir().unwrap();
    let queue = open(home.path());
    submit(&queue, 1, 1, 0).unwrap();
    drop(queue);
    let batch = names(home.path()).into_iter().find(|name| name.starts_with("in-")).unwrap();
    let leaving = format!("out-{:016x}-{}", 0, "00".repeat(16));
    std::fs::copy(home.path().join(batch), home.path().join(&leaving)).unwrap();
    let queue = open(home.path());
    assert!(queue.has_outgoing());
    let error = queue.next_outgoing().err().unwrap().to_string();
    assert!(error.contains(&leaving) && error.contains("damaged"), "{error}");
}

#[test]
fn damage_is_found_and_no_record_is_lost_in_silence() {
    let home = tempfile::tempdir().unwrap();
    let queue = open(home.path());
    for participant in 0..4 {
        submit(&queue, participant, 1, 900).unwrap();
    }
    queue.close().unwrap();
    drop(queue);
    for name in names(home.path()).into_iter().filter(|name| name != "queue.lock") {
        let path = home.path().join(&name);
        let whole = std::fs::read(&path).unwrap();
        let places = (0..whole.len()).step_by((whole.len() / 50).max(13) | 1).chain([whole.len() - 1]);
        for place in places {
            let mut changed = whole.clone();
            changed[place] ^= 4;
            for damaged in [&changed[..], &whole[..place]] {
                std::fs::write(&path, damaged).unwrap();
                let opened = try_open(home.path(), LIMITS);
                let error = opened.and_then(|queue| queue.shuffle(&TERMS, MEMORY)).unwrap_err().to_string();
                assert!(error.contains(&name) && error.contains("damaged"), "{error}");
            }
        }
        std::fs::remove_file(&path).unwrap();
        if name == "state" {
            assert!(try_open(home.path(), LIMITS).unwrap_err().to_string().contains("damaged"));
        }
        std::fs::write(&path, whole).unwrap();
    }
    assert_eq!(open(home.path()).shuffle(&TERMS, MEMORY).unwrap(), ShuffleOutcome::Left { records: 3600 });
}
