//! `ecdh` against the plaintext intersection, and its costs against their formulas.

use crate::support::two::conclude;
use crate::support::*;
use proptest::prelude::*;
use tacita_core::Role;
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::ecdh::Params;
use tacita_core::protocol::intersect::tag_exchange::{self, CHUNK, epoch_tag_bytes, payload_tag_bytes, tag_bytes};

/// Checks that both parties learn just what they should, and that the traffic is what the formulas say.
fn check(case: &Case) {
    let (received, sent) = run(case);
    let ((received, receiver_traffic), (sent, sender_traffic)) = (received.unwrap(), sent.unwrap());
    assert_eq!((received, sent), case.expected());
    let (params, returned) = (case.ecdh(), case.returned());
    assert_eq!(receiver_traffic.sent, params.bytes_sent_by(Role::Receiver, returned));
    assert_eq!(sender_traffic.sent, params.bytes_sent_by(Role::Sender, returned));
    assert_eq!(receiver_traffic.received, sender_traffic.sent);
    assert_eq!(sender_traffic.received, receiver_traffic.sent);
    assert_eq!((receiver_traffic.rounds, sender_traffic.rounds), (params.rounds(returned), params.rounds(returned)));
}

/// One of every `step` combinations of variants and sizes.
fn small_sizes(step: usize) {
    let mut number = 0usize;
    for variant in VARIANTS {
        for receiver in 0..4 {
            for sender in 0..4 {
                for shift in [0, 1, 3] {
                    for padding in [0, 2] {
                        if number.is_multiple_of(step) {
                            let (mine, theirs) = (items(0..receiver), items(shift..shift + sender));
                            check(&Case::new(variant, mine, theirs, padding, 2));
                        }
                        number += 1;
                    }
                }
            }
        }
    }
}

/// Each variant's numbers of values are without the factor 5: it meets every pair of sizes.
#[test]
fn all_small_sizes() {
    small_sizes(5);
}

#[test]
#[ignore = "slow: every combination"]
fn all_small_sizes_in_every_combination() {
    small_sizes(1);
}

#[test]
fn every_suite_finds_the_same() {
    for suite in [Suite::P384, Suite::P521] {
        for variant in VARIANTS {
            for (receiver, sender, padding) in [(0, 3, 0), (3, 0, 2), (1, 1, 0), (13, 7, 3)] {
                check(&Case::new(variant, items(0..receiver), items(0..sender), padding, 6).in_suite(suite));
            }
        }
    }
}

#[test]
fn sizes_around_a_chunk() {
    for variant in VARIANTS {
        for size in [31, 32, 33, 64] {
            check(&Case::new(variant, items(0..size), items(10..90), 0, 32));
            check(&Case::new(variant, items(0..90), items(10..10 + size), 7, 32));
        }
    }
    check(&Case::new(Variant::RowsBoth, items(0..CHUNK + 1), items(5..CHUNK - 1), 0, CHUNK));
}

#[test]
fn unequal_all_and_none() {
    for variant in VARIANTS {
        check(&Case::new(variant, items(500..502), items(0..700), 0, CHUNK));
        check(&Case::new(variant, items(0..700), items([699, 0]), 0, CHUNK));
        check(&Case::new(variant, items(0..257), items((0..257).rev()), 0, 100));
        check(&Case::new(variant, items(0..101), items(101..202), 3, 100));
    }
}

#[test]
fn columns_may_be_empty_and_long() {
    use tacita_core::protocol::intersect::ecdh::{Payload, TagDomain, payload};
    for row_bytes in [0, 300_000] {
        let (mine, theirs) = (items(0..3), items(1..6));
        let rows = |count: usize| {
            let mut payload = Payload::new(row_bytes);
            (0..count).for_each(|item| payload.push(1, &vec![item as u8; row_bytes]).unwrap());
            payload
        };
        let (my_rows, their_rows) = (rows(3), rows(5));
        let entries = tag_exchange::Params::payload(3, 5, row_bytes).returning(3, row_bytes);
        let params = Params::new(entries, Suite::Ristretto255);
        let domain = TagDomain::of_session(&session());
        let (mut receiver, mut sender) = tacita_core::Channel::pair("receiver", "sender");
        let (received, sent) = std::thread::scope(|scope| {
            let sending =
                scope.spawn(|| payload::send(&theirs, &their_rows, &domain, &params, &mut sender, &mut rng(2)));
            let own = Some(&my_rows);
            let received = payload::receive(&mine, own, &domain, &params, &mut receiver, &mut rng(1)).unwrap();
            (received, sending.join().unwrap().unwrap().unwrap())
        });
        assert_eq!((received.items, sent.items), (vec![1, 2], vec![0, 1]));
        assert_eq!(received.payload.unwrap().item(1), vec![1; row_bytes]);
        assert_eq!(sent.payload.unwrap().item(1), vec![2; row_bytes]);
    }
}

#[test]
fn what_a_caller_does_wrong_is_refused_before_anything_is_sent() {
    let refused = |case: &Case| {
        let (receiver, sender) = tacita_core::Channel::pair("receiver", "sender");
        let outcomes =
            [conclude(receiver, |channel| case.receive(channel, 1)), conclude(sender, |channel| case.send(channel, 2))];
        outcomes.map(|outcome| outcome.unwrap_err().kind())
    };
    use tacita_core::ErrorKind::{Input, Internal};
    for variant in VARIANTS {
        let case = || Case::new(variant, items(0..3), items(0..3), 0, 2);
        let twice = Case::new(variant, items([0, 1, 0]), items([0, 1, 0]), 0, 2);
        assert_eq!(refused(&twice), [Internal; 2]);
        let mut many = case();
        many.params.receiver_items = 2;
        many.params.sender_entries = 2;
        assert_eq!(refused(&many), [Internal; 2]);
        for chunk in [0, usize::MAX] {
            let mut chunked = case();
            chunked.params.chunk = chunk;
            assert_eq!(refused(&chunked), [Input; 2]);
        }
        let mut tagless = case();
        tagless.params.tag_bytes = 0;
        assert_eq!(refused(&tagless), [Input; 2]);
    }
}

/// 43 bits on top of the number of pairs, rounded up to bytes, compared with floating point where that is exact enough.
#[test]
fn tags_are_as_long_as_they_must_be() {
    assert_eq!([(0, 0), (0, 9), (1, 1), (4, 8), (4, 9), (16, 17)].map(|(y, x)| tag_bytes(y, x)), [6, 6, 6, 6, 7, 7]);
    assert_eq!(tag_bytes(1 << 16, 1 << 16), 10);
    assert_eq!(tag_bytes(1 << 20, 1 << 25), 11);
    assert_eq!(tag_bytes((1 << 20) + 1, 1 << 25), 12);
    assert_eq!(tag_bytes(u32::MAX as usize, u32::MAX as usize), 14);
    for (y, x) in [(3, 1000), (12_345, 678), (1_000_000, 999)] {
        assert_eq!(tag_bytes(y, x), ((43.0 + ((y * x) as f64).log2()) / 8.0).ceil() as usize);
    }
    assert_eq!(payload_tag_bytes(1 << 15, 1 << 15), 10);
    assert_eq!(epoch_tag_bytes(1 << 23, 1 << 3, 1 << 20), 11);
}

/// Checks that the traffic is within 5 % of 64 bytes for each item of the receiver and a tag for each of the sender.
#[test]
fn framing_costs_little() {
    for (y, x) in [(1 << 16, 1 << 16), (1000, 1000), (100, 1_000_000), (1_000_000, 100)] {
        let params = Params::new(tag_exchange::Params::rows(y, x), Suite::Ristretto255);
        let bytes: u64 =
            [Role::Receiver, Role::Sender].map(|role| params.bytes_sent_by(role, Default::default())).iter().sum();
        let tag_bytes = ((43.0 + ((y * x) as f64).log2()) / 8.0).ceil();
        let ideal = 64.0 * y as f64 + tag_bytes * x as f64;
        assert!((bytes as f64) < 1.05 * ideal && (bytes as f64) > ideal);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_sets(
        variant in 0..VARIANTS.len(),
        mine in proptest::collection::hash_set(0usize..60, 0..40),
        theirs in proptest::collection::hash_set(0usize..60, 0..40),
        padding in 0usize..20,
        chunk in 1usize..50,
    ) {
        check(&Case::new(VARIANTS[variant], items(mine), items(theirs), padding, chunk));
    }
}
