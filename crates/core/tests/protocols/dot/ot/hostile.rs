//! `ot` with a peer that breaks the protocol at every message, in either role: the victim must end with the right
//! error, and neither side may panic or hang.
//!
//! Semi-honest OTs say nothing of well-formed messages with other contents: those change the result and nothing else.

use std::sync::Arc;

use crate::support::attack::*;
use crate::support::dot::*;
use crate::support::*;
use tacita_core::primitive::ot::{BASE_KEY, BASE_POINTS, FLIPS, MESSAGES};
use tacita_core::protocol::dot::Modulus;
use tacita_core::protocol::dot::ot::{Extension, Params};
use tacita_core::{Channel, Result, Role};

/// Two parties and what they agree on.
struct Run {
    dot: Dot,
    params: Params,
    source: Source,
}

impl Parties for Run {
    fn part(&self, role: Role, channel: &mut Channel) -> Result<()> {
        let side = match role {
            Role::Receiver => self.params.ot_sender().other(),
            Role::Sender => self.params.ot_sender(),
        };
        let seed = if role == Role::Receiver { 1 } else { 2 };
        self.dot.run(side, &self.params, self.source, seed, channel).map(drop)
    }

    fn name(&self) -> String {
        format!("{:?}", self.params)
    }
}

/// Messages of several pieces, with bits that fill no byte; words that are cut from a block and made of hashes;
/// residues.
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
fn frames() -> Vec<Sent<Run>> {
    runs().into_iter().flat_map(sent).collect()
}

/// Attacks with all wrong forms of messages, and too long ones.
fn wrong_forms(frames: &[Sent<Run>]) -> Vec<Attack> {
    let mut attacks = in_all_wrong_forms(frames);
    attacks.extend(oversized(frames));
    attacks
}

#[test]
fn every_message_in_a_wrong_form() {
    let attacks = by_turns(&frames(), wrong_forms);
    assert!(attacks.len() > 40, "only {} attacks", attacks.len());
    run_all(attacks);
}

#[test]
#[ignore = "slow: every message of every run in every form"]
fn every_message_of_every_run_in_a_wrong_form() {
    let attacks = wrong_forms(&frames());
    assert!(attacks.len() > 300, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// Each message after the next one, and each after an older one once more.
#[test]
fn messages_in_the_wrong_order() {
    let all = frames();
    let mut attacks = Vec::new();
    for (place, (case, culprit, frame, _)) in all.iter().enumerate() {
        let mut insert = |name: &str, other: Option<&Sent<Run>>| {
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
    let attack = |(case, culprit, frame, data): Sent<Run>| {
        let mutation = mutation(&case).filter(|_| data.kind == Frame::DATA && labels.contains(&data.label))?;
        Some(Attack { name: name.into(), case, culprit, frame, mutation, expected: blames })
    };
    frames().into_iter().filter_map(attack).collect()
}

#[test]
fn points_that_are_none() {
    let attacks = no_points(&frames(), &[BASE_POINTS, BASE_KEY]);
    assert_eq!(attacks.len(), 6 * 8);
    run_all(attacks);
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
