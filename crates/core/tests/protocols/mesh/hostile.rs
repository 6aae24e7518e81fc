//! Parties that break the protocol: whoever is at the other end says so, everybody ends, and nobody waits for ever.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tacita_core::Error;
use tacita_core::primitive::ot::MESSAGES;
use tacita_core::protocol::dot::ot::mesh;
use tacita_core::protocol::dot::{Integers, SHARES, Shares};
use tacita_core::protocol::shares::ANSWERS;
use tacita_core::protocol::shares::at_least::MeshComparison;

use crate::support::many::{in_memory, run_parties};
use crate::support::mesh::{Ended, Mesh, product};
use crate::support::{Frame, Tap, blames, misses, passing, tapped};

/// Products of three parties, opened to all of them, and compared.
fn case() -> Mesh {
    let wanted = vec![product(&[(0, 0), (1, 0), (2, 0)]), product(&[(0, 0), (1, 0), (2, 1)])];
    Mesh::random(20, Integers::BINARY, "2^10".parse().unwrap(), &[1, 1, 2], wanted).dealt(5)
}

/// A run in which a tap stands between the first two, on what the one at `culprit` sends.
fn run(case: &Mesh, culprit: usize, tap: Arc<Tap>) -> Vec<Ended<Vec<u128>>> {
    let began = Instant::now();
    let wire = |one, other| match (one, other) {
        (0, 1) if culprit == 0 => tapped(tap.clone(), passing()),
        (0, 1) => tapped(passing(), tap.clone()),
        _ => in_memory(one, other),
    };
    let ended = run_parties(3, &wire, |me, channels| {
        let mut ots = case.ots(me, channels)?;
        let shares = mesh::run(&case.columns[me], &case.plan, &mut ots, channels)?;
        let comparison = MeshComparison::new(shares.modulus(), 20, 3, vec![vec![0, 1, 2]; 2])?;
        comparison.run(&shares, &mut ots, channels)?;
        open(&shares, me, channels)
    });
    assert!(began.elapsed() < Duration::from_secs(30), "nobody waits for ever");
    ended
}

fn open(shares: &Shares, me: usize, channels: &mut [tacita_core::Channel]) -> tacita_core::Result<Vec<u128>> {
    let peers: Vec<usize> = (0..3).filter(|&peer| peer != me).collect();
    Ok(mesh::open(shares, me, &[0, 1, 2], &peers, channels)?.unwrap_or_default())
}

/// Records all frames that the culprit sends in an honest run.
fn frames(case: &Mesh, culprit: usize) -> Vec<Frame> {
    let frames = Arc::new(Mutex::new(Vec::new()));
    let kept = frames.clone();
    let tap = move |frame: Frame| {
        kept.lock().unwrap().push(frame.clone());
        Some(vec![frame])
    };
    let ended = run(case, culprit, Arc::new(tap));
    assert!(ended.iter().all(|ended| ended.as_ref().is_ok_and(|(numbers, _)| *numbers == case.expected())));
    std::mem::take(&mut *frames.lock().unwrap())
}

/// A run in which one frame of the culprit is replaced: the victim ends with the expected error, and nobody has a wrong
/// result.
fn replaced(
    case: &Mesh,
    (culprit, number): (usize, usize),
    about: &str,
    expected: fn(&Error) -> bool,
    change: impl Fn(Frame) -> Option<Vec<Frame>> + Send + Sync + 'static,
) {
    let count = AtomicUsize::new(0);
    let tap = move |frame| {
        if count.fetch_add(1, Ordering::Relaxed) == number { change(frame) } else { Some(vec![frame]) }
    };
    let ended = run(case, culprit, Arc::new(tap));
    let error = ended[1 - culprit].as_ref().err();
    assert!(error.is_some_and(expected), "{about}, frame {number} of {culprit}: {error:?}");
    if let Ok((numbers, _)) = &ended[2] {
        assert_eq!(*numbers, case.expected(), "{about}");
    }
}

#[test]
fn messages_in_wrong_forms_end_the_run() {
    let case = case();
    for culprit in [0, 1] {
        let frames = frames(&case, culprit);
        for (number, _) in frames.iter().enumerate().filter(|(_, frame)| frame.kind == Frame::DATA) {
            let at = (culprit, number);
            replaced(&case, at, "shortened", blames, |mut frame| {
                frame.payload.pop();
                Some(vec![frame])
            });
            replaced(&case, at, "oversized", blames, |mut frame| {
                frame.payload.resize(1 << 20, 0);
                Some(vec![frame])
            });
            replaced(&case, at, "wrong label", blames, |mut frame| {
                frame.label ^= 0x40;
                Some(vec![frame])
            });
            replaced(&case, at, "twice", blames, |frame| Some(vec![frame.clone(), frame]));
            replaced(&case, at, "cut", misses, |_| None);
        }
    }
}

/// Every message of the protocol's own is among those that the test above changes; those of transfers have tests of
/// their own.
#[test]
fn every_message_is_attacked() {
    let case = case();
    let labels: Vec<u8> = [0, 1].iter().flat_map(|&culprit| frames(&case, culprit)).map(|frame| frame.label).collect();
    for label in [MESSAGES, ANSWERS, SHARES] {
        assert!(labels.contains(&label.code), "{}", label.name);
    }
}

/// Bits beyond the last of a message, and words that are no residues.
#[test]
fn messages_that_hold_no_words_end_the_run() {
    let case = case();
    for (label, culprit) in [(MESSAGES, 0), (ANSWERS, 0), (ANSWERS, 1)] {
        let frames = frames(&case, culprit);
        // Of the products, a message has whole bytes; of the comparison it has not.
        let last = frames.iter().rposition(|frame| frame.label == label.code && frame.kind == Frame::DATA).unwrap();
        replaced(&case, (culprit, last), label.name, blames, |mut frame| {
            if let Some(byte) = frame.payload.last_mut() {
                *byte |= 0x80;
            }
            Some(vec![frame])
        });
    }
    let wanted = vec![product(&[(0, 0), (1, 0), (2, 0)])];
    let case = Mesh::random(20, Integers::BINARY, "1009".parse().unwrap(), &[1, 1, 1], wanted);
    let run = |tap: Arc<Tap>| {
        run_parties(
            3,
            &|one, other| if (one, other) == (0, 1) { tapped(tap.clone(), passing()) } else { in_memory(one, other) },
            |me, channels| mesh::run(&case.columns[me], &case.plan, &mut case.ots(me, channels)?, channels),
        )
    };
    let ended = run(Arc::new(|mut frame: Frame| {
        if frame.kind == Frame::DATA && frame.label == MESSAGES.code {
            frame.payload.fill(0xff);
        }
        Some(vec![frame])
    }));
    assert!(ended[1].as_ref().is_err_and(blames) && ended.iter().all(Result::is_err));
}
