//! `ecdh` against the plaintext union.

use super::{ended, is_union, receive, run, send_given};
use crate::support::items;
use crate::support::two::run_over;
use proptest::prelude::*;
use tacita_core::protocol::union::{Params, ShuffledItems};
use tacita_core::{Channel, Item, Role};

/// The receiver gets what it lacks, and both send as much as was counted beforehand.
fn check(receiver: &[Item], sender: &[Item], params: &Params) {
    let (received, traffic) = ended(run(receiver, sender, params, [1, 2]));
    is_union(received, receiver, sender, params.payload_bytes);
    let counted = [Role::Receiver, Role::Sender].map(|role| params.bytes_sent_by(role));
    assert_eq!(traffic, (counted, [params.rounds(); 2]), "{params:?}");
}

/// One of every `step` combinations of sizes.
fn small_sizes(step: usize) {
    let mut number = 0usize;
    for (receiver, sender) in (0..5).flat_map(|receiver| (0..5).map(move |sender| (receiver, sender))) {
        for shift in [0, 1, 2, 9] {
            for padding in [0, 1, 7] {
                if number.is_multiple_of(step) {
                    let params = Params::new(receiver + padding, sender, 1 + shift);
                    check(&items(0..receiver), &items(shift..shift + sender), &params);
                }
                number += 1;
            }
        }
    }
}

/// No number of values has the factor 7: every value meets every other one.
#[test]
fn all_small_sizes() {
    small_sizes(7);
}

#[test]
#[ignore = "slow: every combination"]
fn all_small_sizes_in_every_combination() {
    small_sizes(1);
}

#[test]
fn sizes_that_differ_by_orders_of_magnitude() {
    for (receiver, sender) in [(1, 3_000), (3_000, 1), (3, 3_000), (2_999, 7)] {
        let params = Params::new(receiver, sender, 20);
        check(&items(0..receiver), &items(receiver - 1..receiver - 1 + sender), &params);
        check(&items(0..receiver), &items((0..sender).rev()), &params);
    }
}

/// Short ones, those of a block, and one that takes a whole message.
#[test]
fn payloads_of_all_lengths() {
    for bytes in [1, 2, 15, 16, 17, 33, 1_000, 70_000, 1 << 20] {
        check(&items(0..3), &items(2..5), &Params::new(3, 3, bytes));
    }
    // More OTs than share a message.
    check(&items(0..40_000), &items(100..33_200), &Params::new(40_000, 33_100, 1));
}

#[test]
fn the_probability_of_a_wrong_answer_is_divided_among_runs() {
    let params = Params::new(1 << 20, 1 << 20, 8);
    assert_eq!(params.tag_bytes, 11);
    assert_eq!(params.one_of(1), params);
    assert_eq!(params.one_of(64).tag_bytes, 12);
}

#[test]
fn what_cannot_work_is_refused() {
    let nothing = |_: usize, _: &mut Vec<u8>| ();
    let refused =
        ShuffledItems::new(&items([1, 2, 1]), &nothing, &mut crate::support::rng(1)).err().unwrap().to_string();
    assert!(refused.contains("not distinct"));
    let (params, two) = (Params::new(2, 2, 9), items(0..2));
    let given = ShuffledItems::new(&two, &nothing, &mut crate::support::rng(1)).unwrap();
    let first = |channel: &mut Channel| receive(&two, &params, channel, 1);
    let second = |channel: &mut Channel| send_given(&given, &params, channel, 2).map(|()| (Vec::new(), 0));
    let (_, sent) = run_over(Channel::pair("receiver", "sender"), &first, &second);
    assert!(sent.unwrap_err().to_string().contains("0 bytes where 9 were agreed on"));
    let ended = |params: Params| {
        let (received, sent) = run(&items(0..3), &items(0..3), &params, [1, 2]);
        [received.unwrap_err(), sent.unwrap_err()].map(|error| error.to_string())
    };
    assert!(ended(Params::new(2, 3, 1))[0].contains("3 items where 2 were agreed on"));
    // All of the sender's items are its own: there is no filling them up.
    assert!(ended(Params::new(3, 4, 1))[1].contains("3 items where 4 were agreed on"));
    assert!(ended(Params::new(3, 3, (1 << 20) + 1))[0].contains("exceed 1 MiB"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn random_sets(
        receiver in prop::collection::hash_set(0usize..300, 0..120),
        sender in prop::collection::hash_set(0usize..300, 0..120),
        padding in 0usize..30,
        bytes in 1usize..40,
        chunk in 1usize..70,
    ) {
        let params = Params { chunk, ..Params::new(receiver.len() + padding, sender.len(), bytes) };
        check(&items(receiver), &items(sender), &params);
    }
}
