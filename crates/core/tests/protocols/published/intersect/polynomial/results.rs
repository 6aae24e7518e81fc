//! `polynomial` against the plaintext intersection.

use std::collections::HashSet;

use super::{run, wanted};
use crate::support::{items, rng};
use rand_core::Rng;
use tacita_core::channel::{Channel, HEADER_BYTES};
use tacita_core::protocol::published::intersect::polynomial::{
    Curve, MAX_BINS, Params, PolynomialRequest, PolynomialReveal, Strategy, count, rows,
};
use tacita_core::{Error, ErrorKind, Item, Level, Role};

const REVEALS: [PolynomialReveal; 2] = [PolynomialReveal::Rows, PolynomialReveal::Count];

/// Checks that both parties learn just what they should, and send as much as was counted beforehand.
fn check(mine: &[Item], theirs: &[Item], params: &Params) {
    let (received, sent) = run(mine, theirs, params);
    let ((received, receiver_traffic), (_, sender_traffic)) = (received.unwrap(), sent.unwrap());
    let set: HashSet<&Item> = theirs.iter().collect();
    let common: Vec<usize> = (0..mine.len()).filter(|&index| set.contains(&mine[index])).collect();
    match params.reveal() {
        PolynomialReveal::Rows => assert_eq!(received, common, "{params:?}"),
        PolynomialReveal::Count => assert_eq!(received.len(), common.len(), "{params:?}"),
    }
    assert_eq!(
        [sender_traffic.sent, receiver_traffic.sent],
        [Role::Sender, Role::Receiver].map(|role| params.bytes_sent_by(role)),
        "{params:?}"
    );
    assert_eq!([receiver_traffic.rounds, sender_traffic.rounds], [params.rounds(); 2]);
}

/// Iterates over all strategies, and the automatic choice.
fn strategies() -> impl Iterator<Item = Option<Strategy>> {
    Strategy::ALL.into_iter().map(Some).chain([None])
}

/// A step through all combinations of what has 2 to 6 values each: it has no factor in common with any of these
/// numbers, so that every value meets every other one.
const STEP: usize = 7;

/// One of every `step` combinations of sizes, strategies and so on.
fn small_sizes(step: usize) {
    let mut number = 0usize;
    for (receiver, sender) in (0..4).flat_map(|receiver| (0..4).map(move |sender| (receiver, sender))) {
        for (strategy, reveal) in strategies().flat_map(|strategy| REVEALS.map(|reveal| (strategy, reveal))) {
            for (more, bins) in [(0, Some(1)), (2, Some(3)), (0, None)] {
                let params = Params::new(wanted(reveal, strategy, bins), receiver + more, sender + more).unwrap();
                for shift in [0, 1, 3] {
                    if number.is_multiple_of(step) {
                        check(&items(0..receiver), &items(shift..shift + sender), &params);
                    }
                    number += 1;
                }
            }
        }
    }
}

#[test]
fn all_small_sizes_by_every_strategy() {
    small_sizes(STEP);
}

#[test]
#[ignore = "slow: every combination"]
fn all_small_sizes_in_every_combination() {
    small_sizes(1);
}

/// One of every `step` combinations.
fn odd_and_unequal_sizes(step: usize) {
    let mut number = 0usize;
    for (receiver, sender) in [(1, 20), (20, 1), (33, 17), (31, 32)] {
        for (strategy, reveal) in strategies().flat_map(|strategy| REVEALS.map(|reveal| (strategy, reveal))) {
            for bins in [Some(1), Some(7), None] {
                let params = Params::new(wanted(reveal, strategy, bins), receiver, sender).unwrap();
                for theirs in [items(receiver / 2..receiver / 2 + sender), items((0..sender).rev())] {
                    if number.is_multiple_of(step) {
                        check(&items(0..receiver), &theirs, &params);
                    }
                    number += 1;
                }
            }
        }
    }
}

#[test]
fn odd_and_unequal_sizes_by_every_strategy() {
    odd_and_unequal_sizes(STEP);
}

#[test]
#[ignore = "slow: every combination"]
fn odd_and_unequal_sizes_in_every_combination() {
    odd_and_unequal_sizes(1);
}

/// More than one portion of bins.
fn many_bins(reveal: PolynomialReveal) {
    let params = Params::new(wanted(reveal, Some(Strategy::Points), Some(256)), 900, 1300).unwrap();
    check(&items(0..900), &items(450..1750), &params);
}

/// More than one message of a bin's polynomials.
fn large_bin(reveal: PolynomialReveal) {
    let params = Params::new(wanted(reveal, None, Some(1)), 20, 4200).unwrap();
    check(&items(0..20), &items(10..4210), &params);
}

#[test]
fn several_messages() {
    many_bins(PolynomialReveal::Rows);
    large_bin(PolynomialReveal::Count);
}

#[test]
#[ignore = "slow: the other outputs, and larger sets"]
fn several_messages_of_every_reveal() {
    many_bins(PolynomialReveal::Count);
    large_bin(PolynomialReveal::Rows);
    let params = Params::new(wanted(PolynomialReveal::Rows, None, None), 3000, 2000).unwrap();
    check(&items(0..3000), &items(1500..3500), &params);
}

#[test]
fn higher_levels() {
    for (level, curve) in [(Level::Bits192, Curve::P384), (Level::Bits256, Curve::P521)] {
        for (reveal, strategy) in REVEALS.into_iter().zip([Some(Strategy::Karatsuba), None]) {
            let params = Params::new(PolynomialRequest { level, ..wanted(reveal, strategy, None) }, 12, 7).unwrap();
            assert_eq!(params.curve(), curve);
            check(&items(0..12), &items(9..16), &params);
        }
        let fft =
            Params::new(PolynomialRequest { level, ..wanted(PolynomialReveal::Rows, Some(Strategy::Fft), None) }, 5, 5);
        assert!(matches!(fft, Err(Error::Input(_))), "no roots of unity");
    }
    for level in [Level::Paper80, Level::Bits112] {
        assert!(Params::new(PolynomialRequest { level, ..wanted(PolynomialReveal::Rows, None, None) }, 5, 5).is_err());
    }
}

#[test]
fn random_sets() {
    let mut numbers = rng(9);
    for round in 0..12 {
        let mut some = |most: u32| numbers.next_u32() % most;
        let (receiver, sender, range) = (some(200), some(200), 1 + some(300) as usize);
        let mut set = |count: u32| {
            let set: HashSet<usize> = (0..count).map(|_| some(1 << 30) as usize % range).collect();
            items(set)
        };
        let (mine, theirs) = (set(receiver), set(sender));
        let params = wanted(REVEALS[round % 2], None, [None, Some(1)][round / 2 % 2]);
        check(&mine, &theirs, &Params::new(params, mine.len() + round, theirs.len() + 2).unwrap());
    }
}

/// Checks that the automatic choice takes the least work, as bins do once sets are large.
#[test]
fn the_choice_takes_the_least_work() {
    for reveal in REVEALS {
        for (receiver, sender) in [(10, 10), (1000, 1000), (100_000, 300), (300, 100_000)] {
            let chosen = Params::new(wanted(reveal, None, None), receiver, sender).unwrap();
            for strategy in Strategy::ALL {
                for bins in [1, 8, 64, 512] {
                    let other = Params::new(wanted(reveal, Some(strategy), Some(bins)), receiver, sender).unwrap();
                    assert!(chosen.cost().work() <= other.cost().work(), "{chosen:?} and {other:?}");
                }
            }
            assert_eq!(chosen.bins() > 1, receiver + sender > 100);
        }
    }
}

/// Before anything is sent: the peer sees nothing but the end.
#[test]
fn what_a_caller_does_wrong_is_an_error() {
    let params = Params::new(wanted(PolynomialReveal::Rows, None, None), 2, 2).unwrap();
    let (mut end, _other) = Channel::pair("one", "other");
    for wrong in [items(0..3), items([1, 1])] {
        let errors = [
            rows::receive(&wrong, &params, &mut end, &mut rng(1)).map(drop).unwrap_err(),
            rows::send(&wrong, &params, &mut end, &mut rng(1)).unwrap_err(),
            count::receive(&wrong, &params, &mut end, &mut rng(1)).map(drop).unwrap_err(),
        ];
        assert!(errors.iter().all(|error| error.kind() == ErrorKind::Internal), "{errors:?}");
    }
    assert_eq!(end.traffic().sent, 0);
    for (bins, receiver) in [(Some(0), 10), (Some(MAX_BINS + 1), 10), (None, 1 << 32)] {
        let params = Params::new(wanted(PolynomialReveal::Rows, None, bins), receiver, 10);
        assert!(matches!(params, Err(Error::Input(_))), "{bins:?} {receiver}");
    }
    let nothing = Params::new(wanted(PolynomialReveal::Rows, None, None), 0, 10).unwrap();
    assert_eq!(nothing.bytes_sent_by(Role::Sender), HEADER_BYTES as u64);
}

/// Items that do not fit their bins, which does not happen by chance: nothing is sent.
#[test]
fn items_that_do_not_fit_are_an_error() {
    let params = Params::new(wanted(PolynomialReveal::Rows, Some(Strategy::Points), Some(512)), 400, 400).unwrap();
    let bound = params.bound(Role::Receiver);
    assert!(bound < 40);
    // The bytes that choose the bin are the same.
    let crowded: Vec<Item> = items(0..bound + 1)
        .into_iter()
        .map(|mut item| {
            item.0[8..16].fill(7);
            item
        })
        .collect();
    let (mut end, _other) = Channel::pair("one", "other");
    let errors = [
        rows::receive(&crowded, &params, &mut end, &mut rng(1)).map(drop).unwrap_err(),
        rows::send(&crowded, &params, &mut end, &mut rng(1)).unwrap_err(),
    ];
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::NotReady), "{errors:?}");
    assert_eq!(end.traffic().sent, 0);
    // Half as many do, whatever the items are that fill the sets up.
    let (received, sent) = run(&crowded[..bound / 2], &crowded[..bound / 2], &params);
    sent.unwrap();
    assert_eq!(received.unwrap().0.len(), bound / 2);
}

/// Checks that the automatic choice stays the same. It is not told: both parties derive it, so that another choice is
/// another version of the wire.
#[test]
fn the_choice_stays_what_it_is() {
    let mut found = String::new();
    for (receiver, sender) in
        [(1, 1), (30, 30), (300, 300), (1, 100_000), (5000, 9905), (1 << 16, 1 << 16), (1 << 20, 1000)]
    {
        for reveal in REVEALS {
            let params = Params::new(wanted(reveal, None, None), receiver, sender).unwrap();
            let bounds = [Role::Receiver, Role::Sender].map(|role| params.bound(role));
            let (strategy, bins) = (params.strategy(), params.bins());
            found += &format!("{receiver} {sender} {reveal:?}: {strategy}, {bins} bins of {bounds:?}\n");
        }
    }
    assert_eq!(found, include_str!("choices.txt"));
}
