//! A party of several that breaks the protocol: whoever it is at the other end says so, and nobody waits for ever or
//! has another result.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tacita_core::Error;
use tacita_core::protocol::dot::SHARES;
use tacita_core::protocol::mesh::DIGESTS;
use tacita_core::protocol::rules::association::Consequents;
use tacita_core::protocol::rules::{FIT, ITEMS, Mined, Params, RevealedCounts, SUPPORTS, TOLD};

use super::super::results::{Case, Set, params, terms};
use crate::support::many::{in_memory, run_parties};
use crate::support::mesh::{Ended, Source};
use crate::support::{Frame, Tap, blames, misses, passing, tapped};

fn case(mixed_only: bool) -> Case {
    let rows: Vec<Set> = (0..30usize).map(|row| (0..6).filter(|item| row * (item + 3) % 7 < 5).collect()).collect();
    let params = params(rows.len(), 9, RevealedCounts::Frequent, terms("0.6", Consequents::Any, mixed_only));
    let params = Params { max_len: 3, ..params };
    Case { rows, parties: 3, owners: (0..6).map(|item| item % 3).collect(), params, dealt: true }
}

/// A run in which a tap stands between the first two, on what the one at `culprit` sends.
fn run(case: &Case, culprit: usize, tap: Arc<Tap>) -> Vec<Ended<Mined>> {
    let wire = |one, other| match (one, other) {
        (0, 1) if culprit == 0 => tapped(tap.clone(), passing()),
        (0, 1) => tapped(passing(), tap.clone()),
        _ => in_memory(one, other),
    };
    run_parties(3, &wire, |me, channels| case.part(me, Source::Dealer(4), 3, channels))
}

/// Records all frames that the culprit sends in an honest run.
fn frames(case: &Case, culprit: usize) -> Vec<Frame> {
    let frames = Arc::new(Mutex::new(Vec::new()));
    let kept = frames.clone();
    let tap = move |frame: Frame| {
        kept.lock().unwrap().push(frame.clone());
        Some(vec![frame])
    };
    let ended = run(case, culprit, Arc::new(tap));
    assert!(ended.iter().all(|ended| ended.is_ok()));
    std::mem::take(&mut *frames.lock().unwrap())
}

/// Replaces one frame of the culprit: the error with which the victim ends.
fn replaced(
    case: &Case,
    (culprit, number): (usize, usize),
    change: impl Fn(Frame) -> Option<Vec<Frame>> + Send + Sync + 'static,
) -> Option<Error> {
    let count = AtomicUsize::new(0);
    let tap = move |frame| {
        if count.fetch_add(1, Ordering::Relaxed) == number { change(frame) } else { Some(vec![frame]) }
    };
    run(case, culprit, Arc::new(tap)).swap_remove(1 - culprit).err()
}

/// Messages of the rules themselves. Those of products and comparisons have tests of their own.
#[test]
fn messages_in_wrong_forms_end_the_run() {
    for mixed_only in [false, true] {
        let case = case(mixed_only);
        let own: Vec<u8> = if mixed_only {
            vec![ITEMS.code, SUPPORTS.code, SHARES.code, TOLD.code, FIT.code, DIGESTS.code]
        } else {
            vec![ITEMS.code, SUPPORTS.code, SHARES.code, DIGESTS.code]
        };
        for culprit in [0, 1] {
            let frames = frames(&case, culprit);
            assert!(own.iter().all(|label| frames.iter().any(|frame| frame.label == *label)), "all are attacked");
            let attacked = |(_, frame): &(usize, &Frame)| frame.kind == Frame::DATA && own.contains(&frame.label);
            for (number, frame) in frames.iter().enumerate().filter(attacked) {
                let at = (culprit, number);
                let is_blamed = |about: &str, error: Option<Error>| {
                    assert!(error.as_ref().is_some_and(blames), "{about} label {}: {error:?}", frame.label);
                };
                is_blamed(
                    "shortened",
                    replaced(&case, at, |mut frame| {
                        frame.payload.pop();
                        Some(vec![frame])
                    }),
                );
                is_blamed(
                    "oversized",
                    replaced(&case, at, |mut frame| {
                        frame.payload.resize(1 << 20, 0);
                        Some(vec![frame])
                    }),
                );
                is_blamed(
                    "wrong label",
                    replaced(&case, at, |mut frame| {
                        frame.label ^= 0x40;
                        Some(vec![frame])
                    }),
                );
                is_blamed("twice", replaced(&case, at, |frame| Some(vec![frame.clone(), frame])));
                let cut = replaced(&case, at, |_| None);
                assert!(cut.as_ref().is_some_and(misses), "cut: {cut:?}");
            }
        }
    }
}

/// Counts in the right form that cannot be: more than all rows, fewer than the minimum.
#[test]
fn counts_that_cannot_be_end_the_run() {
    for (mixed_only, label) in [(false, SUPPORTS), (true, TOLD)] {
        let case = case(mixed_only);
        for culprit in [0, 1] {
            let frames = frames(&case, culprit);
            let has_counts = |(_, frame): &(usize, &Frame)| frame.label == label.code && frame.payload.len() > 4;
            let mut attacked = 0;
            for (number, _) in frames.iter().enumerate().filter(has_counts) {
                for count in [0u32, 8, 31, u32::MAX] {
                    let error = replaced(&case, (culprit, number), move |mut frame| {
                        let at = frame.payload.len() - 4;
                        frame.payload[at..].copy_from_slice(&count.to_le_bytes());
                        Some(vec![frame])
                    });
                    assert!(error.as_ref().is_some_and(blames), "{count} of {culprit}: {error:?}");
                }
                attacked += 1;
            }
            assert!(attacked > 0);
        }
    }
    // Shares of a count that add up to too much, of two parties: the other one is named. Of three, it is one of two.
    let case = case(false);
    let frames = frames(&case, 0);
    let mut named = Vec::new();
    for (number, frame) in frames.iter().enumerate().filter(|(_, frame)| frame.label == SHARES.code) {
        for at in 0..frame.payload.len() {
            let error = replaced(&case, (0, number), move |mut frame| {
                frame.payload[at] ^= 0x15;
                Some(vec![frame])
            });
            match error {
                Some(Error::Protocol { peer, .. }) => named.push(peer),
                Some(Error::OneOf { peers, .. }) => named.push(peers.join(", ")),
                _ => (),
            }
        }
    }
    assert!(["receiver", "receiver, 2"].iter().all(|who| named.iter().any(|peer| peer == who)), "{named:?}");
}
