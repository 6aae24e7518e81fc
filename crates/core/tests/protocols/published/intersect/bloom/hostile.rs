//! `bloom` with a peer that breaks the protocol at every message, in either role: the victim must end with the right
//! error, and neither side may panic, hang or report a wrong result as a good one.

use std::sync::Arc;

use crate::support::attack::run_all;
use crate::support::two::{Repeated, Two, on_payload, record, run_over, wrong_forms};
use crate::support::{Frame, Tap, items, passing, rng, session, tapped};
use tacita_core::Result;
use tacita_core::channel::Channel;
use tacita_core::protocol::published::intersect::bloom::{self, Params, SLOTS, Strength};

fn params() -> Params {
    Params::new(40, Strength::Bits80, 4).unwrap()
}

fn receive(channel: &mut Channel, seed: u8) -> Result<Vec<usize>> {
    bloom::receive(&items(0..40), &params(), &session(), channel, &mut rng(seed))
}

fn send(channel: &mut Channel, seed: u8) -> Result<Vec<usize>> {
    bloom::send(&items(10..50), &params(), &session(), channel, &mut rng(seed))?;
    Ok(Vec::new())
}

fn honest(seeds: (u8, u8)) -> [Vec<Frame>; 2] {
    record(&|channel| receive(channel, seeds.0), &|channel| send(channel, seeds.1)).0
}

#[test]
fn every_message_in_a_wrong_form() {
    let parties: [Repeated; 2] =
        [Box::new(|channel| receive(channel, 1).map(drop)), Box::new(|channel| send(channel, 2).map(drop))];
    let [first, second] = parties;
    let case = Arc::new(Two { name: "bloom".into(), first, second });
    let frames = honest((1, 2));
    let mut attacks = wrong_forms(&case, &frames, None);
    // A message of half the slots, and one of twice as many.
    let slots = frames[1].iter().position(|frame| frame.label == SLOTS.code).unwrap();
    attacks.push(on_payload(&case, "half", 1, slots, |payload| payload.truncate(payload.len() / 2)));
    attacks.push(on_payload(&case, "double", 1, slots, |payload| payload.extend_from_within(..)));
    // Base OTs, trees and corrections; points, slots; and both ends: with eight forms of most.
    assert!(attacks.len() > 40, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// Slots of random bytes match nothing; one changed slot loses no more than the items that have it.
#[test]
fn changed_slots_match_nothing_wrong() {
    for all in [true, false] {
        let tap: Arc<Tap> = Arc::new(move |mut frame| {
            if frame.kind == Frame::DATA && frame.label == SLOTS.code {
                let changed = if all { frame.payload.len() } else { 10 };
                frame.payload[..changed].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(7) ^ 0x5a);
            }
            Some(vec![frame])
        });
        let ends = tapped(passing(), tap);
        let (received, sent) = run_over(ends, &|channel| receive(channel, 1), &|channel| send(channel, 2));
        let found = received.unwrap().0;
        sent.unwrap();
        assert!(found.iter().all(|item| (10..40).contains(item)));
        assert!(if all { found.is_empty() } else { found.len() >= 20 }, "{found:?}");
    }
}

/// Slots of another run with the same items and keys of the session, replayed, match nothing: each run has OTs of its
/// own.
#[test]
fn slots_of_another_run_match_nothing() {
    let recorded = honest((3, 4))[1].iter().find(|frame| frame.label == SLOTS.code).unwrap().clone();
    let tap: Arc<Tap> = Arc::new(move |frame| {
        let replayed = frame.kind == Frame::DATA && frame.label == SLOTS.code;
        Some(vec![if replayed { recorded.clone() } else { frame }])
    });
    let ends = tapped(passing(), tap);
    let (received, sent) = run_over(ends, &|channel| receive(channel, 1), &|channel| send(channel, 2));
    assert_eq!(received.unwrap().0, [0usize; 0]);
    sent.unwrap();
}
