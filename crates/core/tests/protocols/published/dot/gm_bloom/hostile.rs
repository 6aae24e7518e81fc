//! `gm-bloom` with a peer that breaks the protocol at every message, in either role: the victim must end with the right
//! error, and neither side may panic or hang.

use std::collections::HashSet;
use std::sync::Arc;

use crate::support::attack::{
    Attack, Mutation, Parties, Sent, by_turns, change, in_all_wrong_forms, run_all, says, sent, side,
};
use crate::support::dot::Dot;
use crate::support::{Frame, rng, session, short_key};
use tacita_core::primitive::published::bloom::Strength;
use tacita_core::primitive::published::goldwasser_micali::{GmFormatError, GmPublicKey};
use tacita_core::protocol::dot::Integers;
use tacita_core::protocol::published::dot::gm_bloom::{self, BITS, LABELLED, Lengths, PUBLIC_KEY, Params};
use tacita_core::protocol::published::intersect::bloom::SLOTS;
use tacita_core::{Channel, Error, Result, Role};

/// Variant of the run: a value, several columns, two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Value,
    Matrix,
    Parts,
}

const VARIANTS: [Variant; 3] = [Variant::Value, Variant::Matrix, Variant::Parts];

/// Bytes of a number modulo N, and of a label.
const BYTES: usize = 64;
const LABEL_BYTES: usize = 10;

const ROWS: usize = 20;

fn dot(variant: Variant) -> Dot {
    let counts = if variant == Variant::Matrix { (2, 2) } else { (1, 1) };
    Dot::random(Integers::BINARY, ROWS, counts, 0.5, 1)
}

fn params(variant: Variant) -> Params {
    let (shape, lengths) = (dot(variant).shape(), Lengths { key: short_key(), strength: Strength::Bits80 });
    let modulus = shape.value_modulus().unwrap();
    match variant {
        Variant::Parts => Params::in_parts(shape, modulus, lengths, ROWS),
        _ => Params::new(shape, modulus, lengths, ROWS, None),
    }
    .unwrap()
}

/// The first party, who counts first, has the receiver's end.
impl Parties for Variant {
    fn part(&self, role: Role, channel: &mut Channel) -> Result<()> {
        let (side, params) = (side(role), params(*self));
        let columns = dot(*self).columns(side);
        gm_bloom::run(side, &columns, &params, &session(), channel, &mut rng(1 + side as u8)).map(drop)
    }

    fn name(&self) -> String {
        format!("{self:?}")
    }
}

/// Whether an error is the right one.
type Expected = fn(&Error) -> bool;

/// Every frame of a variant from both roles, the closing one included.
fn frames(variant: Variant) -> Vec<Sent<Variant>> {
    sent(Arc::new(variant))
}

#[test]
fn every_message_in_a_wrong_form() {
    let frames: Vec<_> = VARIANTS.into_iter().flat_map(frames).collect();
    let labels: HashSet<u8> = frames.iter().map(|(.., data)| data.label).collect();
    assert!([PUBLIC_KEY, BITS, LABELLED, SLOTS].iter().all(|label| labels.contains(&label.code)));
    let attacks = by_turns(&frames, in_all_wrong_forms);
    assert!(attacks.len() > 30, "only {} attacks", attacks.len());
    run_all(attacks);
}

#[test]
#[ignore = "slow: every message of every variant in every form"]
fn every_message_of_every_variant_in_a_wrong_form() {
    let frames: Vec<_> = VARIANTS.into_iter().flat_map(frames).collect();
    let attacks = in_all_wrong_forms(&frames);
    assert!(attacks.len() > 200, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// A number whose Jacobi symbol is -1.
fn of_neither_bit(key: &GmPublicKey) -> Vec<u8> {
    let number = |small: u8| [&[small][..], &[0; BYTES - 1]].concat();
    (2..).map(number).find(|bytes| key.read(bytes) == Err(GmFormatError::Symbol)).unwrap()
}

#[test]
fn ciphertexts_that_are_none() {
    let mut attacks = Vec::new();
    for variant in [Variant::Value, Variant::Matrix] {
        let frames = frames(variant);
        let modulus = frames.iter().find(|frame| frame.3.label == PUBLIC_KEY.code).unwrap().3.payload.clone();
        let key = GmPublicKey::from_bytes(short_key(), &modulus).unwrap();
        let kinds: [(&str, Vec<u8>, Expected); 4] = [
            ("0", vec![0; BYTES], |error| says(error, "a ciphertext that is 0")),
            ("N", modulus.clone(), |error| says(error, "not below N")),
            ("ones", vec![0xff; BYTES], |error| says(error, "not below N")),
            ("symbol", of_neither_bit(&key), |error| says(error, "symbol is -1")),
        ];
        for (case, culprit, frame, data) in frames {
            // Labels come before the ciphertexts.
            let start = match (data.kind, data.label) {
                (Frame::DATA, label) if label == BITS.code => 0,
                (Frame::DATA, label) if label == LABELLED.code => ROWS * LABEL_BYTES,
                _ => continue,
            };
            for (name, bytes, expected) in &kinds {
                for place in [0, ROWS - 1] {
                    let bytes = bytes.clone();
                    let put = move |frame: &mut Frame| {
                        frame.payload[start + BYTES * place..][..BYTES].copy_from_slice(&bytes);
                    };
                    let (name, expected) = (name.to_string(), *expected);
                    attacks.push(Attack { name, case: case.clone(), culprit, frame, mutation: change(put), expected });
                }
            }
        }
    }
    assert!(attacks.len() > 40, "only {} attacks", attacks.len());
    run_all(attacks);
}

#[test]
fn keys_that_are_none() {
    let mut attacks = Vec::new();
    let mut add = |name: &str, expected: Expected, mutation: Mutation| {
        let case = Arc::new(Variant::Value);
        attacks.push(Attack { name: name.into(), case, culprit: Role::Receiver, frame: 0, mutation, expected });
    };
    add("even", |error| says(error, "not 1 modulo 4"), change(|frame| frame.payload[0] &= 0xfe));
    add("3 modulo 4", |error| says(error, "not 1 modulo 4"), change(|frame| frame.payload[0] |= 3));
    add("short", |error| says(error, "another length"), change(|frame| frame.payload[BYTES - 1] = 0));
    add("zero", |error| says(error, "another length"), change(|frame| frame.payload.fill(0)));
    run_all(attacks);
}

/// Answers that are well formed, and no answers to what was asked.
#[test]
fn answers_that_cannot_be() {
    let mut attacks = Vec::new();
    let expected = |error: &Error| says(error, "not those of the column that was sent");
    let (_, culprit, frame, _) =
        frames(Variant::Value).into_iter().find(|frame| frame.3.label == LABELLED.code).unwrap();
    let mut add = |name: &str, mutation: Mutation| {
        let case = Arc::new(Variant::Value);
        attacks.push(Attack { name: name.into(), case, culprit, frame, mutation, expected });
    };
    add("one label", change(|frame| frame.payload[..ROWS * LABEL_BYTES].fill(7)));
    add(
        "one ciphertext",
        change(|frame| {
            let (first, rest) = frame.payload[ROWS * LABEL_BYTES..].split_at_mut(BYTES);
            rest.chunks_mut(BYTES).for_each(|ciphertext| ciphertext.copy_from_slice(first));
        }),
    );
    run_all(attacks);
}
