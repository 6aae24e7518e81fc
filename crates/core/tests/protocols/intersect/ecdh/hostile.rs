//! `ecdh` with a peer that breaks the protocol at every message, in either role and every variant: the victim must
//! end with the right error, and neither side may panic, hang or report a wrong result as a good one.

use std::sync::Arc;

use crate::support::attack::*;
use crate::support::*;
use tacita_core::Role;
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::ecdh::{
    BLINDED, COUNT, ENTRIES, EVALUATED, MATCHES, PUBLIC_KEY, RETURNED_COUNTS, ReceiverReveal,
};

fn case(variant: Variant) -> Case {
    Case::new(variant, items(0..5), items(2..7), 1, 2)
}

/// Every frame of every variant from both roles, the closing one included.
fn frames() -> Vec<(Variant, Role, usize, Frame)> {
    let frames = |variant| {
        let frames = sent(Arc::new(case(variant))).into_iter();
        frames.map(move |(_, culprit, number, frame)| (variant, culprit, number, frame))
    };
    VARIANTS.into_iter().flat_map(frames).collect()
}

#[test]
fn every_message_in_a_wrong_form() {
    let of_variant = |variant| sent(Arc::new(case(variant)));
    let frames: Vec<_> = VARIANTS.into_iter().flat_map(of_variant).collect();
    let forms = |frames: &[Sent<Case>]| -> Vec<Attack> {
        frames.iter().flat_map(|(case, culprit, frame, data)| in_wrong_forms(case, *culprit, *frame, data)).collect()
    };
    let mut attacks = by_turns(&frames, forms);
    for (case, culprit, frame, data) in of_variant(Variant::PayloadReturned) {
        attacks.extend(left_out(&case, culprit, frame, &data));
    }
    run_all(attacks);
}

#[test]
#[ignore = "slow: every message of every variant in every form"]
fn every_message_of_every_variant_in_a_wrong_form() {
    let mut attacks = Vec::new();
    for (variant, culprit, frame, data) in frames() {
        let case = Arc::new(case(variant));
        attacks.extend(in_wrong_forms(&case, culprit, frame, &data));
        let to_both =
            [Variant::RowsBoth, Variant::CountBoth, Variant::SumBoth, Variant::SumsBoth, Variant::PayloadReturned];
        if to_both.contains(&variant) {
            attacks.extend(left_out(&case, culprit, frame, &data));
        }
    }
    run_all(attacks);
}

/// Each message in the form of the next one, as when the two have changed places.
#[test]
fn messages_in_the_wrong_order() {
    let all = frames();
    let mut attacks = Vec::new();
    for pair in all.windows(2) {
        let ((variant, culprit, frame, first), (next_variant, next_culprit, _, second)) = (&pair[0], &pair[1]);
        let same_place = (variant, culprit) == (next_variant, next_culprit);
        let told_apart = first.label != second.label || first.payload.len() != second.payload.len();
        if same_place && told_apart {
            attacks.push(Attack {
                name: "swapped with the next".into(),
                case: Arc::new(case(*variant)),
                culprit: *culprit,
                frame: *frame,
                mutation: {
                    let (label, length, kind) = (second.label, second.payload.len(), second.kind);
                    change(move |frame| {
                        (frame.label, frame.kind) = (label, kind);
                        frame.payload.resize(length, 1);
                    })
                },
                expected: blames,
            });
        }
    }
    run_all(attacks);
}

#[test]
fn elements_that_are_none() {
    let frames: Vec<_> = VARIANTS.into_iter().flat_map(|variant| sent(Arc::new(case(variant)))).collect();
    run_all(no_points(&frames, &[BLINDED, EVALUATED, PUBLIC_KEY]));
}

#[test]
fn elements_that_are_none_at_higher_levels() {
    for suite in [Suite::P384, Suite::P521] {
        let good = suite.hash_to_group(&[b"x"]).unwrap();
        let tagged = |tag: u8| [&[tag], &good[1..]].concat();
        let wrong = [
            ("the identity", vec![0; good.len()]),
            ("not reduced", [&[2][..], &vec![0xff; good.len() - 1]].concat()),
            ("all ones", vec![0xff; good.len()]),
            ("compact", tagged(5)),
            ("uncompressed", tagged(4)),
            ("no tag", tagged(0)),
        ];
        let variants = [Variant::Rows, Variant::Count].into_iter();
        let frames: Vec<_> = variants.flat_map(|variant| sent(Arc::new(case(variant).in_suite(suite)))).collect();
        run_all(no_elements(&frames, &[BLINDED, EVALUATED, PUBLIC_KEY], &wrong));
    }
}

#[test]
fn contents_that_no_honest_party_sends() {
    let mut attacks = Vec::new();
    for (variant, culprit, frame, data) in frames() {
        let params = case(variant).params;
        let mut add = |name: &str, mutation: Mutation| {
            attacks.push(Attack {
                name: name.into(),
                case: Arc::new(case(variant)),
                culprit,
                frame,
                mutation,
                expected: blames,
            });
        };
        let (data_kind, label) = (data.kind == Frame::DATA, data.label);
        if data_kind && label == MATCHES.code {
            add("everything marked", change(|frame| frame.payload.fill(0xff)));
            // Entries are 6 with one dummy, or 10 and a dummy.
            let beyond = params.sender_entries % 8;
            if frame + 1 == params.receiver_items.div_ceil(2) + params.sender_entries.div_ceil(8).div_ceil(2) {
                add("a mark beyond the end", change(move |frame| *frame.payload.last_mut().unwrap() |= 1 << beyond));
            }
        } else if data_kind && label == COUNT.code {
            for count in [6u64, u64::MAX] {
                add("more than there are", change(move |frame| frame.payload = count.to_le_bytes().to_vec()));
            }
        } else if data_kind && label == RETURNED_COUNTS.code {
            add("no rows", change(|frame| frame.payload[..4].fill(0)));
            add("too many rows", change(|frame| frame.payload[..4].fill(0xff)));
        } else if data_kind && label == ENTRIES.code && matches!(params.reveal, ReceiverReveal::Payload { .. }) {
            let length = params.entry_bytes();
            if data.payload.len() > length {
                add("an entry twice", change(move |frame| frame.payload.copy_within(..length, length)));
            }
        }
        if data_kind && label == MATCHES.code && matches!(params.reveal, ReceiverReveal::Payload { .. }) {
            // The common items have 1, 2 and 3 rows, so that four of these six marks are whole items only if the one
            // with two is left out; with these seeds it is not.
            let places: Vec<usize> =
                (0..8 * data.payload.len()).filter(|place| data.payload[place / 8] >> (place % 8) & 1 == 1).collect();
            assert_eq!(places.len(), 6);
            let partial = change(move |frame| {
                frame.payload.fill(0);
                places[..4].iter().for_each(|place| frame.payload[place / 8] |= 1 << (place % 8));
            });
            add("a part of the marks", partial);
        }
    }
    run_all(attacks);
}

/// Every sealed row changed in one bit: whichever the receiver opens, it notices, and passes over. To end the job would
/// tell a sender that learns nothing that the item of the row is common.
#[test]
fn rows_that_are_not_authentic() {
    for variant in [Variant::Payload, Variant::PayloadReturned] {
        let length = case(variant).params.entry_bytes();
        let tap: Arc<Tap> = Arc::new(move |mut frame| {
            if frame.kind == Frame::DATA && frame.label == ENTRIES.code {
                frame.payload.chunks_mut(length).for_each(|entry| entry[length - 20] ^= 1);
            }
            Some(vec![frame])
        });
        let (receiver, sender) = tapped(passing(), tap);
        let (received, sent) = run_over(&case(variant), receiver, sender, (1, 2));
        assert!(matches!(received.unwrap().0, Learned::Payload(found, _) if found.is_empty()), "{variant:?}");
        assert!(sent.is_ok(), "{variant:?}");
    }
}

/// A sender that sends one common item's tag in every place.
#[test]
fn the_same_tag_again_and_again() {
    for variant in VARIANTS {
        if matches!(case(variant).params.reveal, ReceiverReveal::Payload { .. }) {
            continue;
        }
        let case = Case::new(variant, items(0..5), items(0..5), 0, 8);
        let length = case.params.entry_bytes();
        let tap: Arc<Tap> = Arc::new(move |mut frame| {
            if frame.kind == Frame::DATA && frame.label == ENTRIES.code {
                frame.payload.copy_within(..length, length);
            }
            Some(vec![frame])
        });
        let (receiver, sender) = tapped(passing(), tap);
        let (received, _) = run_over(&case, receiver, sender, (1, 2));
        assert!(blames(&received.unwrap_err()), "{variant:?}");
    }
}

/// Tags that were replaced by random ones are no violation: nothing matches, and nothing wrong is reported.
#[test]
fn random_tags_match_nothing() {
    let case = Case::new(Variant::RowsBoth, items(0..40), items(0..40), 0, 8);
    let tap: Arc<Tap> = Arc::new(|mut frame| {
        if frame.kind == Frame::DATA && frame.label == ENTRIES.code {
            frame.payload = frame.payload.iter().map(|byte| byte.wrapping_mul(7) ^ 0x5a).collect();
        }
        Some(vec![frame])
    });
    let (receiver, sender) = tapped(passing(), tap);
    let (received, sent) = run_over(&case, receiver, sender, (1, 2));
    assert_eq!((received.unwrap().0, sent.unwrap().0), (Learned::Rows(vec![]), Learned::Rows(vec![])));
}
