//! `polynomial` against the plaintext union.

use std::collections::HashSet;

use super::{run, wanted};
use crate::support::items;
use crate::union::ended;
use proptest::prelude::*;
use tacita_core::protocol::published::intersect::polynomial::{Curve, PolynomialRequest, Strategy};
use tacita_core::protocol::published::union::polynomial::Params;
use tacita_core::{Channel, Error, ErrorKind, Item, Level, Role};

/// The receiver finds those of the candidates that are in the union, and both send as much as was counted beforehand.
fn check(mine: &[Item], candidates: &[Item], theirs: &[Item], params: &Params) {
    let (found, traffic) = ended(run(mine, candidates, theirs, params));
    let union: HashSet<&Item> = mine.iter().chain(theirs).collect();
    let expected: Vec<usize> = (0..candidates.len()).filter(|&index| union.contains(&candidates[index])).collect();
    assert_eq!(found, expected, "{params:?}");
    let counted = [Role::Receiver, Role::Sender].map(|role| params.bytes_sent_by(role));
    assert_eq!(traffic, (counted, [params.rounds(); 2]), "{params:?}");
}

fn strategies() -> impl Iterator<Item = Option<Strategy>> {
    Strategy::ALL.into_iter().map(Some).chain([None])
}

/// One of every `step` combinations of sizes, strategies and numbers of bins.
fn small_sizes(step: usize) {
    let mut number = 0usize;
    for (receiver, sender) in (0..4).flat_map(|receiver| (0..4).map(move |sender| (receiver, sender))) {
        for strategy in strategies() {
            for (more, bins) in [(0, Some(1)), (2, Some(3))] {
                let params = Params::new(wanted(strategy, bins), receiver + more, sender + more).unwrap();
                if number.is_multiple_of(step) {
                    check(&items(0..receiver), &items(0..8), &items(2..2 + sender), &params);
                }
                number += 1;
            }
        }
    }
}

/// No number of values has the factor 5: every value meets every other one.
#[test]
fn all_small_sizes_by_every_strategy() {
    small_sizes(5);
}

#[test]
#[ignore = "slow: every combination"]
fn all_small_sizes_in_every_combination() {
    small_sizes(1);
}

/// Tries all combinations of sizes and strategies, with all numbers of bins or with one of them in turn.
fn odd_and_unequal_sizes(all: bool) {
    for (place, (receiver, sender)) in [(1, 20), (20, 1), (33, 17), (31, 32)].into_iter().enumerate() {
        for (index, strategy) in strategies().enumerate() {
            for (turn, bins) in [Some(1), Some(7)].into_iter().enumerate() {
                if !all && (place + index) % 2 != turn {
                    continue;
                }
                let params = Params::new(wanted(strategy, bins), receiver, sender).unwrap();
                let theirs = items(receiver / 2..receiver / 2 + sender);
                check(&items(0..receiver), &items((0..61).rev()), &theirs, &params);
            }
        }
    }
}

#[test]
fn odd_and_unequal_sizes_by_every_strategy() {
    odd_and_unequal_sizes(false);
}

#[test]
#[ignore = "slow: every combination"]
fn odd_and_unequal_sizes_in_every_combination() {
    odd_and_unequal_sizes(true);
}

/// None, fewer than anybody has items, many more, and all in one bin.
#[test]
fn any_number_of_candidates() {
    for bins in [Some(1), Some(16), None] {
        let params = Params::new(wanted(None, bins), 50, 40).unwrap();
        let (mine, theirs) = (items(0..50), items(30..70));
        for candidates in [items([]), items([3]), items(20..90), items(0..600)] {
            check(&mine, &candidates, &theirs, &params);
        }
        let mut crowded = items(0..200);
        crowded.iter_mut().for_each(|item| item.0[8..16].fill(7));
        crowded.push(theirs[0]);
        check(&mine, &crowded, &theirs, &params);
    }
}

/// More than one portion of bins.
#[test]
fn several_messages() {
    let params = Params::new(wanted(Some(Strategy::Points), Some(128)), 600, 700).unwrap();
    let of_bin: usize = [Role::Receiver, Role::Sender].map(|role| params.polynomials().bound(role)).iter().sum();
    assert!(of_bin * 128 > 4096);
    check(&items(0..600), &items(300..1300), &items(450..1150), &params);
}

#[test]
fn higher_levels() {
    for (level, curve) in [(Level::Bits192, Curve::P384), (Level::Bits256, Curve::P521)] {
        for strategy in [Some(Strategy::Karatsuba), None] {
            let params = Params::new(PolynomialRequest { level, ..wanted(strategy, None) }, 9, 7).unwrap();
            assert_eq!(params.polynomials().curve(), curve);
            check(&items(0..9), &items(5..20), &items(6..13), &params);
        }
    }
    assert!(matches!(
        Params::new(PolynomialRequest { level: Level::Paper80, ..wanted(None, None) }, 9, 7),
        Err(Error::Input(_))
    ));
}

/// Before anything is sent: the peer sees nothing but the end.
#[test]
fn what_a_caller_does_wrong_is_an_error() {
    let params = Params::new(wanted(None, None), 2, 2).unwrap();
    let (mut end, _other) = Channel::pair("one", "other");
    let twice = super::receive(&items(0..2), &items([1, 1]), &params, &mut end, 1).unwrap_err();
    let many = super::receive(&items(0..3), &[], &params, &mut end, 1).unwrap_err();
    let sent = super::send(&items([1, 1]), &params, &mut end, 1).unwrap_err();
    assert!([twice, many, sent].iter().all(|error| error.kind() == ErrorKind::Internal));
    assert_eq!(end.traffic().sent, 0);
}

/// Candidates cost the receiver alone.
#[test]
fn what_candidates_cost() {
    for bins in [Some(1), None] {
        let params = Params::new(wanted(None, bins), 1000, 1000).unwrap();
        let [few, many] = [10, 100_000].map(|candidates| params.cost(candidates));
        assert_eq!(few.sender, many.sender);
        assert!(few.receiver < many.receiver);
        let memory = |candidates| [Role::Receiver, Role::Sender].map(|role| params.memory(role, candidates));
        assert!(memory(10)[0] < memory(100_000)[0] && memory(10)[1] == memory(100_000)[1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn random_sets(
        mine in prop::collection::hash_set(0usize..200, 0..100),
        theirs in prop::collection::hash_set(0usize..200, 0..100),
        candidates in prop::collection::hash_set(0usize..300, 0..200),
        padding in 0usize..30,
    ) {
        let params = Params::new(wanted(None, None), mine.len() + padding, theirs.len() + 2).unwrap();
        check(&items(mine), &items(candidates), &items(theirs), &params);
    }
}
