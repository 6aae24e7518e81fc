//! Parties that break the protocol: whoever is at the other end says so, everybody ends, and nobody waits for ever.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tacita_core::Error;
use tacita_core::channel::Label;
use tacita_core::protocol::intersect::opprf::{PROGRAMMED, STORE_SEED};
use tacita_core::protocol::intersect::star::{COMMON, GIVEN_COUNTS, GIVEN_ROWS};
use tacita_core::protocol::intersect::tag_exchange::ENTRIES;
use tacita_core::protocol::intersect::vole::{MASKED, SEED};

use crate::support::many::{Ended, Many, in_memory};
use crate::support::{Frame, Tap, blames, misses, passing, tapped};

/// Three parties around the second, of whom all learn and give.
fn case() -> Many {
    let sets = [(0..30).collect(), (10..45).collect(), (5..40).collect::<Vec<usize>>()];
    Many::new(&sets, 0, 1, &[0, 1, 2], &[0, 1, 2])
}

const LEADER: usize = 1;
const OTHER: usize = 2;

/// A run in which a tap stands between leader and another, on what the one at `culprit` sends.
fn run(case: &Many, culprit: usize, tap: Arc<Tap>) -> Vec<Ended> {
    let began = Instant::now();
    let ended = case.run_over(&|one, other| match (one, other) {
        (LEADER, OTHER) if culprit == LEADER => tapped(tap.clone(), passing()),
        (LEADER, OTHER) => tapped(passing(), tap.clone()),
        _ => in_memory(one, other),
    });
    assert!(began.elapsed() < Duration::from_secs(30), "nobody waits for ever");
    ended
}

/// Records all frames that the culprit sends in an honest run.
fn frames(case: &Many, culprit: usize) -> Vec<Frame> {
    let frames = Arc::new(Mutex::new(Vec::new()));
    let kept = frames.clone();
    let ended = run(
        case,
        culprit,
        Arc::new(move |frame: Frame| {
            kept.lock().unwrap().push(frame.clone());
            Some(vec![frame])
        }),
    );
    assert!(ended.iter().all(Result::is_ok));
    std::mem::take(&mut *frames.lock().unwrap())
}

/// A run in which one frame of the culprit is replaced: how all ended.
fn with(
    case: &Many,
    culprit: usize,
    number: usize,
    change: impl Fn(Frame) -> Option<Vec<Frame>> + Send + Sync + 'static,
) -> Vec<Ended> {
    let count = AtomicUsize::new(0);
    run(
        case,
        culprit,
        Arc::new(
            move |frame| {
                if count.fetch_add(1, Ordering::Relaxed) == number { change(frame) } else { Some(vec![frame]) }
            },
        ),
    )
}

/// The victim names the culprit's doing, and nobody has a wrong result.
fn all_end(ended: &[Ended], culprit: usize, expected: fn(&Error) -> bool, about: &str) {
    let victim = if culprit == LEADER { OTHER } else { LEADER };
    let error = ended[victim].as_ref().err();
    assert!(error.is_some_and(expected), "{about}: {error:?}");
    // The third party ends too, unless it had all that it was to learn.
    if let Ok((learned, _)) = &ended[0] {
        let learned = learned.as_ref().map(|common| (common.items.clone(), common.rows.clone()));
        assert_eq!(learned, case().expected(0), "{about}");
    }
}

/// Name of a change, the change of a frame, and the error with which the victim must end.
type Form = (&'static str, fn(Frame) -> Option<Vec<Frame>>, fn(&Error) -> bool);

const FORMS: [Form; 5] = [
    (
        "shortened",
        |mut frame| {
            frame.payload.pop();
            Some(vec![frame])
        },
        blames,
    ),
    (
        "oversized",
        |mut frame| {
            frame.payload.resize(1 << 20, 0);
            Some(vec![frame])
        },
        blames,
    ),
    (
        "wrong label",
        |mut frame| {
            frame.label ^= 0x40;
            Some(vec![frame])
        },
        blames,
    ),
    ("twice", |frame| Some(vec![frame.clone(), frame]), blames),
    ("cut", |_| None, misses),
];

/// Every kind of message in every form; unless `all`, messages of one kind take turns.
fn wrong_forms(all: bool) {
    let case = case();
    for culprit in [LEADER, OTHER] {
        let frames = frames(&case, culprit);
        for (number, frame) in frames.iter().enumerate().filter(|(_, frame)| frame.kind == Frame::DATA) {
            let count = |frames: &[Frame]| {
                frames.iter().filter(|other| (other.kind, other.label) == (frame.kind, frame.label)).count()
            };
            let turns = count(&frames).min(FORMS.len());
            for (form, (name, change, expected)) in FORMS.into_iter().enumerate() {
                if !all && form % turns != count(&frames[..number]) % turns {
                    continue;
                }
                let ended = with(&case, culprit, number, change);
                all_end(&ended, culprit, expected, &format!("{name}: message {} of {culprit}", frame.label));
            }
        }
    }
}

#[test]
fn messages_in_wrong_forms_end_the_run() {
    wrong_forms(false);
}

#[test]
#[ignore = "slow: every message in every form"]
fn every_message_in_every_wrong_form_ends_the_run() {
    wrong_forms(true);
}

/// Every message of the protocol's own is in the runs that the tests above change.
#[test]
fn every_message_is_attacked() {
    let case = case();
    let labels: Vec<u8> = [LEADER, OTHER].iter().flat_map(|&culprit| frames(&case, culprit)).map(|f| f.label).collect();
    for label in [SEED, MASKED, STORE_SEED, PROGRAMMED, ENTRIES, COMMON, GIVEN_COUNTS, GIVEN_ROWS] {
        assert!(labels.contains(&label.code), "{}", label.name);
    }
}

/// A message whose form is right and whose content is not.
fn content(culprit: usize, label: Label, change: impl Fn(&mut Vec<u8>) + Send + Sync + 'static) -> Vec<Ended> {
    let case = case();
    let number = frames(&case, culprit).iter().position(|frame| frame.label == label.code).unwrap();
    with(&case, culprit, number, move |mut frame| {
        change(&mut frame.payload);
        Some(vec![frame])
    })
}

#[test]
fn wrong_content_is_refused() {
    let ended = content(OTHER, ENTRIES, |payload| payload.fill(7));
    all_end(&ended, OTHER, blames, "one tag for all");
    let ended = content(LEADER, COMMON, |payload| payload.fill(3));
    // Equal tags that nobody looks for are dummies; what follows is then too long.
    all_end(&ended, LEADER, blames, "tags of nothing");
    let ended = content(LEADER, COMMON, |payload| payload.reverse());
    all_end(&ended, LEADER, blames, "tags out of order");
    let ended = content(LEADER, GIVEN_COUNTS, |payload| payload[..4].fill(0));
    all_end(&ended, LEADER, blames, "an item without rows");
    let ended = content(LEADER, GIVEN_COUNTS, |payload| payload[..4].fill(0xff));
    all_end(&ended, LEADER, blames, "more rows than were agreed on");
}

/// Checks that the leader's result has one form: as many tags as agreed, in order, none twice.
#[test]
fn a_result_has_one_form() {
    // As many as the smallest set has.
    const TOLD: usize = 30;
    let check = |ended: &[Ended]| match &ended[OTHER] {
        Err(Error::Protocol { check, .. }) => check.clone(),
        ended => panic!("{ended:?}"),
    };
    let swapped = content(LEADER, COMMON, |payload| {
        let length = payload.len() / TOLD;
        assert_eq!(payload.len(), TOLD * length);
        payload[..2 * length].rotate_left(length);
    });
    assert!(check(&swapped).contains("are not in order"), "{swapped:?}");
    // One tag in three is a dummy's, which may be there twice.
    let twice = (0..TOLD - 1).step_by(7).map(|place| {
        check(&content(LEADER, COMMON, move |payload| {
            let length = payload.len() / TOLD;
            payload.copy_within(place * length..(place + 1) * length, (place + 1) * length);
        }))
    });
    let twice: Vec<String> = twice.collect();
    assert!(twice.iter().any(|check| check.contains("holds a tag twice")), "{twice:?}");
}

/// A giver that seals a row wrongly, or leaves it out, is not told by an end of the run that all have the item: the
/// item is in nobody's result.
#[test]
fn wrong_rows_are_passed_over() {
    let case = case();
    let (rows, common) = (case.rows[OTHER].as_ref().unwrap().rows(), case.expected(0).unwrap().0.len());
    for (step, in_tag) in [(1, true), (1, false), (3, true), (3, false)] {
        let ended = content(OTHER, ENTRIES, move |payload| {
            let length = payload.len() / rows;
            let byte = if in_tag { 0 } else { length - 1 };
            payload.chunks_mut(length).step_by(step).for_each(|entry| entry[byte] ^= 1);
        });
        let found = ended.iter().map(|ended| ended.as_ref().unwrap().0.as_ref().unwrap().items.len());
        let found: Vec<usize> = found.collect();
        assert_eq!(found, [found[0]; 3], "each {step}");
        let expected = if step == 1 { 0..1 } else { 1..common };
        assert!(expected.contains(&found[0]), "each {step}: {found:?} of {common}");
    }
}

/// Garbage in a store makes other answers, and no others: nothing is common.
#[test]
fn garbage_in_a_store_finds_nothing() {
    for label in [PROGRAMMED, STORE_SEED] {
        let ended = content(OTHER, label, |payload| payload.iter_mut().for_each(|byte| *byte ^= 0xa5));
        let found = ended.iter().map(|ended| ended.as_ref().unwrap().0.as_ref().unwrap().items.len());
        assert_eq!(found.collect::<Vec<_>>(), [0, 0, 0]);
    }
}
