//! `polynomial-ot` against the plaintext union.

use super::{run, wanted};
use crate::support::items;
use crate::union::{ended, is_union};
use proptest::prelude::*;
use tacita_core::channel::HEADER_BYTES;
use tacita_core::protocol::published::intersect::polynomial::{PolynomialRequest, Strategy};
use tacita_core::protocol::published::union::polynomial_ot::Params;
use tacita_core::{Error, Item, Level, Role};

/// The receiver gets what it lacks, and both send as much as was counted beforehand.
fn check(receiver: &[Item], sender: &[Item], params: &Params) {
    let (received, traffic) = ended(run(receiver, sender, params));
    is_union(received, receiver, sender, params.payload_bytes());
    let counted = [Role::Receiver, Role::Sender].map(|role| params.bytes_sent_by(role));
    assert_eq!(traffic, (counted, [params.rounds(); 2]), "{params:?}");
}

fn strategies() -> impl Iterator<Item = Option<Strategy>> {
    Strategy::ALL.into_iter().map(Some).chain([None])
}

/// One of every `step` combinations of sizes and numbers of bins.
fn small_sizes(step: usize) {
    let mut number = 0usize;
    for (receiver, sender) in (0..4).flat_map(|receiver| (0..4).map(move |sender| (receiver, sender))) {
        for (more, bins) in [(0, Some(1)), (2, Some(3)), (0, None)] {
            for shift in [0, 1, 3] {
                let params = Params::new(wanted(None, bins), receiver + more, sender, 1 + shift).unwrap();
                if number.is_multiple_of(step) {
                    check(&items(0..receiver), &items(shift..shift + sender), &params);
                }
                number += 1;
            }
        }
    }
}

/// No number of values has the factor 5: every value meets every other one.
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
fn odd_and_unequal_sizes_by_every_strategy() {
    for (receiver, sender, more) in [(0, 3, 0), (1, 20, 0), (20, 1, 3), (33, 17, 0), (31, 32, 9)] {
        for (strategy, bins) in strategies().flat_map(|strategy| [Some(1), Some(7)].map(|bins| (strategy, bins))) {
            let params = Params::new(wanted(strategy, bins), receiver + more, sender, 20).unwrap();
            check(&items(0..receiver), &items((receiver / 2..receiver / 2 + sender).rev()), &params);
        }
    }
}

/// More than one portion of bins, and more than one message of answers.
#[test]
fn several_messages() {
    let params = Params::new(wanted(Some(Strategy::Points), Some(256)), 900, 1300, 8).unwrap();
    assert!(params.polynomials().bound(Role::Receiver) * 256 > 4096);
    check(&items(0..900), &items(450..1750), &params);
    let params = Params::new(wanted(None, None), 20, 4200, 8).unwrap();
    check(&items(0..20), &items(10..4210), &params);
}

#[test]
fn what_cannot_work_is_refused() {
    for level in [Level::Paper80, Level::Bits112, Level::Bits192, Level::Bits256] {
        let params = Params::new(PolynomialRequest { level, ..wanted(None, None) }, 5, 5, 1);
        assert!(matches!(params, Err(Error::Input(_))), "{level}");
    }
    let too_long = Params::new(wanted(None, None), 5, 5, (1 << 20) + 1).unwrap_err().to_string();
    assert!(too_long.contains("exceed 1 MiB"), "{too_long}");
    assert!(matches!(Params::new(wanted(None, None), 5, 5, 0), Err(Error::Internal(_))));
    let errors = |receiver, sender| {
        let params = Params::new(wanted(None, None), receiver, sender, 1).unwrap();
        let (received, sent) = run(&items(0..3), &items(0..3), &params);
        [received.unwrap_err(), sent.unwrap_err()].map(|error| error.to_string())
    };
    assert!(errors(2, 3)[0].contains("3 items where 2 were agreed on"));
    // All of the sender's items are its own: there is no filling them up.
    assert!(errors(3, 4)[1].contains("3 items where 4 were agreed on"));
}

/// Without the sender's items nothing travels; without the receiver's, all of them do.
#[test]
fn empty_sets() {
    let params = Params::new(wanted(None, None), 9, 0, 1).unwrap();
    assert_eq!((params.bytes_sent_by(Role::Receiver), params.rounds()), (HEADER_BYTES as u64, 0));
    check(&items(0..9), &[], &params);
    check(&[], &items(0..9), &Params::new(wanted(None, None), 0, 9, 1).unwrap());
    check(&[], &items(0..9), &Params::new(wanted(None, None), 5, 9, 1).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn random_sets(
        receiver in prop::collection::hash_set(0usize..300, 0..120),
        sender in prop::collection::hash_set(0usize..300, 0..120),
        padding in 0usize..30,
        bytes in 1usize..40,
    ) {
        let params = Params::new(wanted(None, None), receiver.len() + padding, sender.len(), bytes).unwrap();
        check(&items(receiver), &items(sender), &params);
    }
}
