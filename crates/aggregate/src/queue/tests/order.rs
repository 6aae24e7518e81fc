//! The order in which records leave is uniformly random, and takes no more memory than it is given.

use tacita_node::base::usage::peak_memory;

use super::super::mix::{Buckets, Draw, Sealed, below, buckets};
use super::*;
use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

fn chi_square(seen: &BTreeMap<Vec<u8>, u32>, different: f64, runs: f64) -> f64 {
    let expected = runs / different;
    let missing = different - seen.len() as f64;
    seen.values().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum::<f64>() + missing * expected
}

/// Each of the 24 orders of 4 records is as likely as any other, by one bucket and by several. A wrong shuffle, which
/// swaps each record with any of them, has statistics of about 120 in so many runs.
#[test]
fn every_order_is_equally_likely() {
    orders_are_equally_likely(&[1, 3], 2400);
}

#[test]
#[ignore = "slow: twice as many orders, and by two buckets too"]
fn every_order_is_equally_likely_in_more_runs() {
    orders_are_equally_likely(&[1, 2, 3], 4800);
}

/// A test of 23 degrees of freedom: the statistic is above 65 with probability below 10^-5.
fn orders_are_equally_likely(buckets: &[u64], runs: u32) {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::open(home.path()).unwrap();
    let key = key();
    let sealed = Sealed { folder: &folder, key: &key, record_bytes: 1 };
    for &count in buckets {
        let mut seen = BTreeMap::new();
        for _ in 0..runs {
            let mut mixed = Buckets::new(sealed, count).unwrap();
            (0..4).try_for_each(|record| mixed.add(&[record])).unwrap();
            let mut order = Vec::new();
            mixed
                .empty(&mut |record| {
                    order.extend_from_slice(record);
                    Ok(())
                })
                .unwrap();
            *seen.entry(order).or_insert(0) += 1;
        }
        let statistic = chi_square(&seen, 24.0, f64::from(runs));
        assert!(seen.len() <= 24 && statistic < 65.0, "{count} buckets: {statistic}");
    }
}

/// Each of the 20 subsets of 3 of 6 records is equally likely, too. (19 degrees of freedom: above 58 with probability
/// below 10^-5.)
#[test]
fn every_subset_is_equally_likely() {
    let mut seen = BTreeMap::new();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for _ in 0..40_000 {
        let mut draw = Draw::new(&mut rng, 3, 6);
        let taken: Vec<u8> = (0..6).filter(|_| draw.next()).collect();
        assert_eq!((taken.len(), draw.next()), (3, false));
        *seen.entry(taken).or_insert(0) += 1;
    }
    let statistic = chi_square(&seen, 20.0, 40_000.0);
    assert!(seen.len() == 20 && statistic < 58.0, "{statistic}");
}

/// Different records leave each time, of the same reports: a party that knows what waits does not know what leaves.
#[test]
fn who_leaves_early_is_drawn_anew() {
    let leaving = || {
        let home = tempfile::tempdir().unwrap();
        let queue = open(home.path());
        (1..=4).for_each(|participant| assert_eq!(submit(&queue, participant, 1, 50).unwrap(), Accepted::New));
        let terms = Conditions { batch_size: Some(100), ..TERMS };
        while !matches!(queue.shuffle(&terms, MEMORY).unwrap(), ShuffleOutcome::Left { .. }) {}
        sorted(leave(&queue))
    };
    // The same of all choices with probability below 10^-58.
    assert_ne!(leaving(), leaving());
}

#[test]
fn numbers_below_a_bound_are_equally_likely() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let mut seen = [0u32; 3];
    (0..30_000).for_each(|_| seen[below(3, &mut rng) as usize] += 1);
    assert!(seen.iter().all(|count| (9_500..10_500).contains(count)), "{seen:?}");
    // A bound that half of all numbers would be biased by.
    let bound = 3 << 62;
    let drawn: Vec<u64> = (0..30_000).map(|_| below(bound, &mut rng)).collect();
    let low = drawn.iter().filter(|&&one| one < bound / 3).count();
    let thirds = drawn.iter().filter(|&&one| one % 3 == 0).count();
    assert!([low, thirds].iter().all(|count| (9_500..10_500).contains(count)), "{low}, {thirds}");
}

#[test]
fn buckets_fit_the_memory_and_too_little_is_refused() {
    assert_eq!(buckets(0, 300, MEMORY).unwrap(), 1);
    assert_eq!(buckets(1000, 300, MEMORY).unwrap(), 1);
    let many = buckets(1_000_000, 300, MEMORY).unwrap();
    assert!(1_000_000 * 304 / many <= MEMORY / 4 && many < 100, "{many}");
    let error = buckets(100_000_000, 300, MEMORY).unwrap_err().to_string();
    let needed: u64 = error.split(" needs ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    buckets(100_000_000, 300, needed << 20).unwrap();
    assert!(buckets(100_000_000, 300, (needed << 20) * 9 / 10).is_err());
}

/// Whatever the batches were, the records that leave are those that were taken.
#[test]
fn what_leaves_is_what_was_taken() {
    as_many_leave_as_are_taken(12);
}

#[test]
#[ignore = "slow: many rounds of random batches"]
fn what_leaves_is_what_was_taken_in_many_rounds() {
    as_many_leave_as_are_taken(60);
}

fn as_many_leave_as_are_taken(rounds: u32) {
    proptest::proptest!(proptest::test_runner::Config::with_cases(rounds), |(
        batches in proptest::collection::vec((0u32..9, 0u32..400), 1..30),
        size in proptest::option::of(1u64..2000),
        pieces in 1usize..300,
    )| {
        let home = tempfile::tempdir().unwrap();
        let limits = QueueLimits { batch_records: pieces, ..LIMITS };
        let terms = Conditions { min_participants: 1, max_share: 1.0, batch_size: size };
        let queue = try_open(home.path(), limits).unwrap();
        let mut sent = Vec::new();
        let mut left = Vec::new();
        for (number, &(participant, records)) in batches.iter().enumerate() {
            let number = number as u8;
            proptest::prop_assert_eq!(submit(&queue, participant, number, records).unwrap(), Accepted::New);
            sent.push((participant, number, records));
            while let ShuffleOutcome::Left { .. } = queue.shuffle(&terms, MEMORY).unwrap() {
                left.extend(leave(&queue));
            }
        }
        queue.close().unwrap();
        queue.shuffle(&terms, MEMORY).unwrap();
        left.extend(leave(&queue));
        proptest::prop_assert_eq!(sorted(left), all(&sent));
    });
}

const MEMORY_CHILD: &str = "TACITA_TEST_MEMORY";

/// Records of a batch of those.
const MANY: u32 = 10_000;

/// 100,000 records of 300 bytes, which are 30 MB, in 16 MiB.
#[test]
fn more_records_than_the_memory_holds_are_shuffled_in_it() {
    shuffled_in_the_memory_that_is_given(10);
}

#[test]
#[ignore = "slow: a million records"]
fn a_million_records_are_shuffled_in_the_memory_that_is_given() {
    shuffled_in_the_memory_that_is_given(100);
}

/// Shuffles so many batches of [`MANY`] records: a process of its own tells its peak.
fn shuffled_in_the_memory_that_is_given(batches: u8) {
    let home = tempfile::tempdir().unwrap();
    let test = std::env::current_exe().unwrap();
    let mut child = std::process::Command::new(test);
    child.args(["--exact", "queue::tests::order::shuffle_many", "--nocapture", "--ignored"]);
    let output = child.env(MEMORY_CHILD, format!("{batches}@{}", home.path().display())).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let Some(line) = text.lines().find(|line| line.starts_with("grew by")) else {
        return println!("no peak is told here");
    };
    let grown: u64 = line.split(' ').nth(2).unwrap().parse().unwrap();
    println!("{line}");
    assert!(grown <= MEMORY, "{line}");
}

#[test]
#[ignore = "the process that is measured"]
fn shuffle_many() {
    let Ok(told) = std::env::var(MEMORY_CHILD) else { return };
    let (batches, path) = told.split_once('@').unwrap();
    let batches: u8 = batches.parse().unwrap();
    const SIZE: usize = 300;
    let limits = QueueLimits {
        record_bytes: SIZE,
        batch_records: 1000,
        bytes: 1 << 40,
        quota: u64::MAX,
        batches: u64::MAX,
        claims: false,
    };
    let queue = try_open(Path::new(path), limits).unwrap();
    for number in 0..batches {
        let records: Vec<u8> = (0..MANY)
            .flat_map(|place| {
                let mut record = [number; SIZE];
                record[..4].copy_from_slice(&place.to_le_bytes());
                record
            })
            .collect();
        let submission =
            Submission { participant: u32::from(number), batch: [number; 16], digest: [0; 32], records: &records };
        assert_eq!(queue.accept(&submission).unwrap(), Accepted::New);
    }
    queue.close().unwrap();
    let before = peak_memory();
    let (all, each) = (u64::from(batches), u64::from(MANY));
    assert_eq!(queue.shuffle(&TERMS, MEMORY).unwrap(), ShuffleOutcome::Left { records: all * each });
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        println!("grew by {} bytes to {after}", after - before);
    }
    let mut sum = 0u64;
    while let Some(outgoing) = queue.next_outgoing().unwrap() {
        sum += outgoing
            .records
            .chunks_exact(SIZE)
            .map(|record| u64::from(u32::from_le_bytes(record[..4].try_into().unwrap())) * 256 + u64::from(record[299]))
            .sum::<u64>();
        queue.sent(&outgoing.id).unwrap();
    }
    assert_eq!(sum, all * (0..each).sum::<u64>() * 256 + each * (0..all).sum::<u64>());
}
