//! `vole` with a peer that breaks the protocol at every message, in either role: the victim must end with the right
//! error, and neither side may panic, hang or report a wrong result as a good one.

use std::collections::HashSet;
use std::sync::Arc;

use crate::support::attack::*;
use crate::support::two::conclude;
use crate::support::*;
use tacita_core::protocol::intersect::vole::{COMMITMENT, ENTRIES, MASKED, OPENING, SEED};
use tacita_core::{Role, Security};

/// Every variant, with a few common items.
fn cases() -> Vec<Arc<Case>> {
    let case = |variant, security| Arc::new(Case::new(variant, items(0..5), items(2..7), 1, 2).by_vole(security, 5));
    vec![
        case(Variant::Rows, Security::SemiHonest),
        case(Variant::RowsBoth, Security::SemiHonest),
        case(Variant::Payload, Security::SemiHonest),
        case(Variant::PayloadReturned, Security::SemiHonest),
        case(Variant::Rows, Security::Malicious),
        case(Variant::Payload, Security::Malicious),
    ]
}

#[test]
fn every_message_in_a_wrong_form() {
    let mut attacks = Vec::new();
    for case in cases() {
        for (case, culprit, number, frame) in sent(case) {
            attacks.extend(in_wrong_forms(&case, culprit, number, &frame));
        }
    }
    assert!(attacks.len() > 300, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// Checks that a frame of random bytes is taken for what it says: nothing matches, and nothing wrong is reported.
#[test]
fn a_changed_store_or_seed_matches_nothing() {
    for label in [SEED, MASKED, ENTRIES] {
        for security in [Security::SemiHonest, Security::Malicious] {
            let case = Case::new(Variant::Rows, items(0..40), items(0..40), 0, 8).by_vole(security, 5);
            let tap: Arc<Tap> = Arc::new(move |mut frame| {
                if frame.kind == Frame::DATA && frame.label == label.code {
                    frame.payload.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(7) ^ 0x5a);
                }
                Some(vec![frame])
            });
            let (receiver, sender) = tapped(tap.clone(), tap);
            let (received, sent) = run_over(&case, receiver, sender, (1, 2));
            assert_eq!(received.unwrap().0, Learned::Rows(vec![]), "{}", label.name);
            sent.unwrap();
        }
    }
}

/// A sender cannot change its share of the coin once it has committed to it, in any bit.
#[test]
fn a_coin_that_was_not_committed_to_is_refused() {
    let case = Arc::new(Case::new(Variant::Rows, items(0..5), items(2..7), 0, 2).by_vole(Security::Malicious, 5));
    let frames = record(&case, (1, 2)).sender;
    let mut attacks = Vec::new();
    for (frame, data) in frames.iter().enumerate() {
        if data.kind == Frame::DATA && [COMMITMENT.code, OPENING.code].contains(&data.label) {
            for bit in 0..8 * data.payload.len() {
                attacks.push(Attack {
                    name: format!("bit {bit}"),
                    case: case.clone(),
                    culprit: Role::Sender,
                    frame,
                    mutation: change(move |frame| frame.payload[bit / 8] ^= 1 << (bit % 8)),
                    expected: blames,
                });
            }
        }
    }
    assert_eq!(attacks.len(), 2 * 256);
    run_all(attacks);
}

/// A sender that sends a tag twice, in place of another, or a row that is not authentic, learns nothing by whether the
/// job ends: a malicious one could otherwise ask whether an item of its choice is common.
#[test]
fn a_malicious_sender_cannot_tell_what_is_common_by_the_end_of_the_job() {
    for variant in [Variant::Rows, Variant::Payload] {
        for common in [true, false] {
            let theirs = if common { items(0..40) } else { items(100..140) };
            let case = Case::new(variant, items(0..40), theirs, 0, 512).by_vole(Security::Malicious, 5);
            let length = case.params.entry_bytes();
            let tap: Arc<Tap> = Arc::new(move |mut frame| {
                if frame.kind == Frame::DATA && frame.label == ENTRIES.code {
                    match variant {
                        Variant::Rows => frame.payload.copy_within(..length, length),
                        _ => frame.payload.chunks_mut(length).for_each(|entry| entry[length - 20] ^= 1),
                    }
                }
                Some(vec![frame])
            });
            let (receiver, sender) = tapped(passing(), tap);
            let (received, sent) = run_over(&case, receiver, sender, (1, 2));
            let found = match received.unwrap().0 {
                Learned::Rows(found) | Learned::Payload(found, _) => found.len(),
                other => panic!("{other:?}"),
            };
            let expected = if common && variant == Variant::Rows { 39 } else { 0 };
            assert_eq!(found, expected);
            sent.unwrap();
        }
    }
    // Among semi-honest parties it is an error.
    let case = Case::new(Variant::Rows, items(0..40), items(0..40), 0, 512).by_vole(Security::SemiHonest, 5);
    let length = case.params.entry_bytes();
    let tap: Arc<Tap> = Arc::new(move |mut frame| {
        if frame.kind == Frame::DATA && frame.label == ENTRIES.code {
            frame.payload.copy_within(..length, length);
        }
        Some(vec![frame])
    });
    let (receiver, sender) = tapped(passing(), tap);
    assert!(blames(&run_over(&case, receiver, sender, (1, 2)).0.unwrap_err()));
}

/// The receiver has closed, and waited for the sender to close, before it looks up anything: else the sender could tell
/// by the time of the end what was found. Seen by a sender that never closes.
#[test]
fn a_malicious_sender_cannot_tell_what_is_common_by_the_time_of_the_end() {
    for variant in [Variant::Rows, Variant::Payload] {
        for security in [Security::SemiHonest, Security::Malicious] {
            let case = Case::new(variant, items(0..40), items(0..40), 0, 512).by_vole(security, 5);
            let tap: Arc<Tap> = Arc::new(|frame| (frame.kind != Frame::CLOSE).then(|| vec![frame]));
            let (mut receiver, sender) = tapped(passing(), tap);
            let role = std::thread::scope(|scope| {
                scope.spawn(|| conclude(sender, |channel| case.send(channel, 2)));
                let role = case.receive(&mut receiver, 1);
                drop(receiver);
                role
            });
            assert_eq!(role.is_ok(), security == Security::SemiHonest, "{variant:?} {security:?}");
        }
    }
}

/// Frames of another run with the same items, replayed, match nothing: outputs are bound to the coin, the correlation
/// and the session.
#[test]
fn tags_of_another_run_match_nothing() {
    for security in [Security::SemiHonest, Security::Malicious] {
        let case = |seed| Case::new(Variant::Rows, items(0..40), items(0..40), 0, 512).by_vole(security, seed);
        let old: HashSet<Vec<u8>> = record(&case(5), (1, 2))
            .sender
            .into_iter()
            .filter(|frame| frame.label == ENTRIES.code && frame.kind == Frame::DATA)
            .map(|frame| frame.payload)
            .collect();
        let old = old.into_iter().next().unwrap();
        let tap: Arc<Tap> = Arc::new(move |mut frame| {
            if frame.kind == Frame::DATA && frame.label == ENTRIES.code {
                frame.payload.copy_from_slice(&old);
            }
            Some(vec![frame])
        });
        let (receiver, sender) = tapped(passing(), tap);
        let (received, _) = run_over(&case(6), receiver, sender, (1, 2));
        assert_eq!(received.unwrap().0, Learned::Rows(vec![]));
    }
}
