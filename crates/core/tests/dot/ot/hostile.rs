//! `ot` with a peer that breaks the protocol at every message, in either role: the victim must end with the right error,
//! and neither side may panic or hang.
//!
//! Semi-honest OTs say nothing of well-formed messages with other contents: those change the result and nothing else.

use std::sync::Arc;

use crate::support::attack::*;
use crate::support::dot::*;
use crate::support::*;
use tacita_core::primitive::ot::{BASE_KEY, BASE_POINTS, FLIPS, MESSAGES};
use tacita_core::protocol::dot::Modulus;
use tacita_core::protocol::dot::ot::{Extension, Params};
use tacita_core::{Channel, Result};

/// Two parties and what they agree on.
struct Run {
    dot: Dot,
    params: Params,
    source: Source,
}

impl Parties for Run {
    fn run(&self, receiver: Channel, sender: Channel) -> (Result<()>, Result<()>) {
        let (received, sent) = self.dot.run_as(&self.params, self.source, receiver, sender, (1, 2));
        (received.map(drop), sent.map(drop))
    }

    fn name(&self) -> String {
        format!("{:?}", self.params)
    }
}

/// Messages of several pieces, with bits that fill no byte; words that are cut from a block and made of hashes; residues.
fn runs() -> Vec<Arc<Run>> {
    let run = |bits, rows, counts, modulus, extension, source| {
        let dot = Dot::random(integers(bits, true), rows, counts, 0.7, 3);
        let params = dot.params(Modulus::new(modulus).unwrap(), extension);
        Arc::new(Run { dot, params, source })
    };
    let k4 = Extension::SoftSpoken(4);
    vec![
        run(2, 203, (1, 1), 1 << 13, k4, Source::Protocol),
        run(1, 77, (3, 1), 65537, k4, Source::Protocol),
        run(2, 203, (1, 2), 1 << 13, Extension::Silent, Source::Protocol),
        run(2, 1001, (1, 20), 1 << 51, k4, Source::Dealer(1)),
        run(1, 33_001, (1, 1), 3, k4, Source::Dealer(1)),
        run(1, 50, (1, 1), 65537, k4, Source::Dealer(1)),
    ]
}

/// Every frame of every run from both roles, the closing one included.
fn frames() -> Vec<(Arc<Run>, Culprit, usize, Frame)> {
    let mut all = Vec::new();
    for run in runs() {
        let recorded = recorded(|receiver, sender| {
            let (received, sent) = run.run(receiver, sender);
            received.unwrap();
            sent.unwrap();
        });
        for (culprit, frames) in [(Culprit::Receiver, recorded.receiver), (Culprit::Sender, recorded.sender)] {
            all.extend(frames.into_iter().enumerate().map(|(number, frame)| (run.clone(), culprit, number, frame)));
        }
    }
    all
}

#[test]
fn every_message_in_a_wrong_form() {
    let mut attacks = Vec::new();
    for (case, culprit, frame, data) in frames() {
        attacks.extend(in_wrong_forms(&case, culprit, frame, &data));
        if data.kind == Frame::CLOSE {
            continue;
        }
        let mut add = |name: &str, expected: fn(&tacita_core::Error) -> bool, mutation: Mutation| {
            attacks.push(Attack { name: name.into(), case: case.clone(), culprit, frame, mutation, expected });
        };
        add("oversized", blames, change(|frame| frame.payload.resize(1 << 20, 0)));
        // Both may then wait for each other, until the transport has heard nothing for too long.
        add("left out", |error| blames(error) || network(error), Arc::new(|_| Some(Vec::new())));
    }
    assert!(attacks.len() > 300, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// Each message after the next one, and each after an older one once more.
#[test]
fn messages_in_the_wrong_order() {
    let all = frames();
    let mut attacks = Vec::new();
    for (place, (case, culprit, frame, _)) in all.iter().enumerate() {
        let mut insert = |name: &str, other: Option<&(Arc<Run>, Culprit, usize, Frame)>| {
            let Some((other_case, other_culprit, _, other)) = other else { return };
            if Arc::ptr_eq(case, other_case) && culprit == other_culprit && other.kind == Frame::DATA {
                let other = other.clone();
                attacks.push(Attack {
                    name: name.into(),
                    case: case.clone(),
                    culprit: *culprit,
                    frame: *frame,
                    mutation: Arc::new(move |frame| Some(vec![other.clone(), frame])),
                    // A message after the last one may be noticed by the end of the connection first.
                    expected: |error| blames(error) || network(error),
                });
            }
        };
        insert("after the next", all.get(place + 1));
        insert("after the last but one again", place.checked_sub(2).and_then(|place| all.get(place)));
    }
    assert!(attacks.len() > 20, "only {} attacks", attacks.len());
    run_all(attacks);
}

fn changed(labels: &[u8], name: &str, mutation: impl Fn(&Run) -> Option<Mutation>) -> Vec<Attack> {
    let attack = |(case, culprit, frame, data): (Arc<Run>, Culprit, usize, Frame)| {
        let mutation = mutation(&case).filter(|_| data.kind == Frame::DATA && labels.contains(&data.label))?;
        Some(Attack { name: name.into(), case, culprit, frame, mutation, expected: blames })
    };
    frames().into_iter().filter_map(attack).collect()
}

#[test]
fn points_that_are_none() {
    let labels = [BASE_POINTS.code, BASE_KEY.code];
    for (name, byte) in [("the identity", 0), ("not reduced", 0xff)] {
        let attacks = changed(&labels, name, |_| Some(change(move |frame| frame.payload[..32].fill(byte))));
        assert_eq!(attacks.len(), 6);
        run_all(attacks);
    }
}

/// Every word of a message becomes the modulus itself, or only the last one does.
#[test]
fn words_that_are_no_residues() {
    let at_or_above = |start: fn(usize) -> usize| {
        changed(&[MESSAGES.code], "the modulus", move |run| {
            let modulus = run.params.modulus();
            let mutation = move |frame: &mut Frame| {
                let bits = modulus.bits() as usize;
                let words = 8 * frame.payload.len() / bits;
                for word in start(words)..words {
                    for bit in 0..bits {
                        let (at, value) = (word * bits + bit, modulus.value() >> bit & 1);
                        let byte = &mut frame.payload[at / 8];
                        *byte = *byte & !(1 << (at % 8)) | (value as u8) << (at % 8);
                    }
                }
            };
            (!modulus.is_power_of_two() && run.params.shape().products() == 1).then(|| change(mutation))
        })
    };
    for attacks in [at_or_above(|_| 0), at_or_above(|words| words - 1)] {
        assert_eq!(attacks.len(), 3);
        run_all(attacks);
    }
    // The modulus less one is a residue.
    let dot = Dot::random(integers(1, false), 100, (1, 1), 0.5, 3);
    let params = dot.params(Modulus::new(3).unwrap(), Extension::SoftSpoken(4));
    let tap: Arc<Tap> = Arc::new(|mut frame| {
        frame.payload.fill(0b1010_1010);
        Some(vec![frame])
    });
    let (receiver, sender) = tapped(passing(), tap);
    let (received, sent) = dot.run_as(&params, Source::Dealer(1), receiver, sender, (1, 2));
    received.unwrap();
    sent.unwrap();
}

/// Every column of a message, and every message of flips, ends with bits that stand for nothing.
#[test]
fn bits_that_nobody_sends() {
    let mut attacks = Vec::new();
    for (case, culprit, frame, data) in frames() {
        if data.kind != Frame::DATA || ![MESSAGES.code, FLIPS.code].contains(&data.label) {
            continue;
        }
        let shape = *case.params.shape();
        let columns = if data.label == FLIPS.code { 1 } else { shape.first.max(shape.second) };
        let bytes = data.payload.len() / columns;
        // A bit of every column that is zero in all of its messages of this length.
        for column in 0..columns {
            let last = data.payload[(column + 1) * bytes - 1];
            let rows = if shape.rows > 32_640 && bytes == 32_640 / 4 { 32_640 } else { shape.rows % 32_640 };
            let used = if data.label == FLIPS.code { rows } else { used_bits(&case.params, rows, bytes) };
            if used % 8 == 0 {
                continue;
            }
            assert_eq!(last >> (used % 8), 0);
            let (at, bit) = ((column + 1) * bytes - 1, used % 8);
            attacks.push(Attack {
                name: format!("column {column}"),
                case: case.clone(),
                culprit,
                frame,
                mutation: change(move |frame| frame.payload[at] |= 1 << bit),
                expected: blames,
            });
        }
    }
    assert!(attacks.len() > 20, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// Bits of a column of words of `rows` rows that takes so many bytes: words have as many bits as the modulus, or a few
/// less.
fn used_bits(params: &Params, rows: usize, bytes: usize) -> usize {
    let longest = params.modulus().bits() as usize;
    (0..longest).map(|less| (longest - less) * rows).find(|used| used.div_ceil(8) == bytes).unwrap()
}
