//! `paillier` with a peer that breaks the protocol at every message, in either role: the victim must end with the right error,
//! and neither side may panic or hang.

use std::collections::HashSet;
use std::sync::Arc;

use crate::support::attack::{Attack, Culprit, Mutation, Parties, change, in_wrong_forms, network, run_all};
use crate::support::dot::{Dot, integers};
use crate::support::{Frame, blames, recorded, rng};
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::dot::Integers;
use tacita_core::protocol::dot::paillier::{self, ANSWERS, COLUMNS, PUBLIC_KEY, Params};
use tacita_core::{Channel, Error, Result, Side};

/// What is run: shares of products, the value, several columns of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Shares,
    Value,
    Matrix,
}

const VARIANTS: [Variant; 3] = [Variant::Shares, Variant::Value, Variant::Matrix];

/// Bytes of N.
const MODULUS_BYTES: usize = 64;

/// Bytes of a ciphertext.
const BYTES: usize = 128;

fn dot(variant: Variant) -> Dot {
    match variant {
        Variant::Shares | Variant::Value => Dot::random(Integers::BINARY, 20, (1, 1), 0.5, 1),
        Variant::Matrix => Dot::random(integers(3, true), 9, (2, 3), 0.5, 1),
    }
}

fn params(variant: Variant) -> Params {
    let shape = dot(variant).shape();
    let learner = (variant == Variant::Value).then_some(Side::First);
    let size = KeySize::new(8 * MODULUS_BYTES).unwrap();
    let params = Params::new(shape, shape.value_modulus().unwrap(), size, learner).unwrap().with_chunk(8);
    assert_eq!((params.encryptor(), params.values()), (Side::First, variant == Variant::Value));
    params
}

fn role(side: Side, variant: Variant, mut channel: Channel) -> Result<()> {
    let (columns, params) = (dot(variant).columns(side), params(variant));
    match paillier::run(side, &columns, &params, &mut channel, &mut rng(1 + side as u8)) {
        Ok(_) => channel.finish().map(drop),
        Err(error) => {
            channel.abort(&error);
            Err(error)
        }
    }
}

/// The first party, who encrypts, has the receiver's end.
impl Parties for Variant {
    fn run(&self, receiver: Channel, sender: Channel) -> (Result<()>, Result<()>) {
        std::thread::scope(|scope| {
            let other = scope.spawn(move || role(Side::Second, *self, sender));
            let one = role(Side::First, *self, receiver);
            (one, other.join().unwrap())
        })
    }

    fn name(&self) -> String {
        format!("{self:?}")
    }
}

/// A frame with its number, and who sends it in which run.
type Sent = (Variant, Culprit, usize, Frame);

/// Whether an error is the right one.
type Expected = fn(&Error) -> bool;

/// Every frame of every variant from both roles, the closing one included; and N, which seeds determine.
fn frames() -> (Vec<Sent>, Vec<u8>) {
    let (mut all, mut modulus) = (Vec::new(), Vec::new());
    for variant in VARIANTS {
        let recorded = recorded(|receiver, sender| {
            let (one, other) = variant.run(receiver, sender);
            one.unwrap();
            other.unwrap();
        });
        modulus = recorded.receiver[0].payload[..MODULUS_BYTES].to_vec();
        for (culprit, frames) in [(Culprit::Receiver, recorded.receiver), (Culprit::Sender, recorded.sender)] {
            all.extend(frames.into_iter().enumerate().map(|(number, frame)| (variant, culprit, number, frame)));
        }
    }
    (all, modulus)
}

#[test]
fn every_message_in_a_wrong_form() {
    let mut attacks = Vec::new();
    let mut labels = HashSet::new();
    for (variant, culprit, frame, data) in frames().0 {
        labels.insert(data.label);
        let case = Arc::new(variant);
        attacks.extend(in_wrong_forms(&case, culprit, frame, &data));
        if data.kind == Frame::DATA {
            attacks.push(Attack {
                name: "left out".into(),
                case,
                culprit,
                frame,
                mutation: Arc::new(|_| Some(Vec::new())),
                // Both may then wait for each other, until the transport has heard nothing for too long.
                expected: |error| blames(error) || network(error),
            });
        }
    }
    assert!([PUBLIC_KEY, COLUMNS, ANSWERS].iter().all(|label| labels.contains(&label.code)));
    assert!(attacks.len() > 100, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// Whether an error blames the peer for a check that is told in these words.
fn says(error: &Error, words: &str) -> bool {
    matches!(error, Error::Protocol { check, .. } if check.contains(words))
}

/// N^2, little-endian.
fn squared(modulus: &[u8]) -> Vec<u8> {
    let mut square = vec![0u32; 2 * modulus.len()];
    for (i, &a) in modulus.iter().enumerate() {
        for (j, &b) in modulus.iter().enumerate() {
            square[i + j] += u32::from(a) * u32::from(b);
        }
    }
    let mut carry = 0;
    let mut byte = |sum: u32| {
        let sum = sum + carry;
        carry = sum >> 8;
        sum as u8
    };
    square.into_iter().map(&mut byte).collect()
}

#[test]
fn ciphertexts_that_are_none() {
    let (frames, modulus) = frames();
    let square = squared(&modulus);
    let padded = |bytes: &[u8]| [bytes, &[0; BYTES]].concat()[..BYTES].to_vec();
    let mut attacks = Vec::new();
    for (variant, culprit, frame, data) in frames {
        if ![COLUMNS.code, ANSWERS.code].contains(&data.label) || data.kind != Frame::DATA {
            continue;
        }
        let kinds: [(&str, Vec<u8>, Expected); 5] = [
            ("0", vec![0; BYTES], |error| says(error, "a ciphertext that is 0")),
            ("N", padded(&modulus), |error| says(error, "not coprime to N")),
            ("256 N", padded(&[&[0], &modulus[..]].concat()), |error| says(error, "not coprime to N")),
            ("N^2", square.clone(), |error| says(error, "not below N^2")),
            ("ones", vec![0xff; BYTES], |error| says(error, "not below N^2")),
        ];
        for (name, bytes, expected) in kinds {
            for place in [0, data.payload.len() / BYTES - 1] {
                let bytes = bytes.clone();
                let mutation: Mutation =
                    change(move |frame| frame.payload[BYTES * place..][..BYTES].copy_from_slice(&bytes));
                attacks.push(Attack { name: name.into(), case: Arc::new(variant), culprit, frame, mutation, expected });
            }
        }
    }
    assert!(attacks.len() > 50, "only {} attacks", attacks.len());
    run_all(attacks);
}

#[test]
fn keys_that_are_none() {
    let mut attacks = Vec::new();
    for variant in VARIANTS {
        let mut add = |name: &str, expected: Expected, mutation: Mutation| {
            let case = Arc::new(variant);
            attacks.push(Attack { name: name.into(), case, culprit: Culprit::Receiver, frame: 0, mutation, expected });
        };
        let base = MODULUS_BYTES..MODULUS_BYTES + BYTES;
        add("even", |error| says(error, "even"), change(|frame| frame.payload[0] &= 0xfe));
        add("short", |error| says(error, "another length"), change(|frame| frame.payload[MODULUS_BYTES - 1] = 0));
        add("zero", |error| says(error, "another length"), change(|frame| frame.payload.fill(0)));
        let range = base.clone();
        add("base 0", |error| says(error, "that is 0"), change(move |frame| frame.payload[range.clone()].fill(0)));
        let range = base.clone();
        add(
            "base ones",
            |error| says(error, "below N^2"),
            change(move |frame| frame.payload[range.clone()].fill(0xff)),
        );
        let one = change(|frame| {
            frame.payload[MODULUS_BYTES..].fill(0);
            frame.payload[MODULUS_BYTES] = 1;
        });
        add("base 1", |error| says(error, "that is 1"), one);
        let modulus = change(|frame| {
            frame.payload[MODULUS_BYTES..].fill(0);
            frame.payload.copy_within(..MODULUS_BYTES, MODULUS_BYTES);
        });
        add("base N", |error| says(error, "not coprime"), modulus);
    }
    run_all(attacks);
}

/// A value that no product can have: the answer is a ciphertext of something else.
#[test]
fn values_that_are_no_products() {
    let expected = |error: &Error| says(error, "no product");
    // Any number is a ciphertext of something.
    let mutation = change(|frame| frame.payload[..BYTES - 1].fill(0x35));
    let case = Arc::new(Variant::Value);
    run_all(vec![Attack { name: "random".into(), case, culprit: Culprit::Sender, frame: 0, mutation, expected }]);
}
