//! `paillier` with a peer that breaks the protocol at every message, in either role: the victim must end with the right
//! error, and neither side may panic or hang.

use std::collections::HashSet;
use std::sync::Arc;

use crate::support::attack::{
    Attack, Mutation, Parties, Sent, by_turns, change, in_all_wrong_forms, run_all, says, sent, side,
};
use crate::support::dot::{Dot, integers};
use crate::support::{Frame, rng};
use tacita_core::primitive::paillier::{KeySize, PaillierPublicKey};
use tacita_core::protocol::dot::Integers;
use tacita_core::protocol::dot::paillier::{self, ANSWERS, COLUMNS, PUBLIC_KEY, Params};
use tacita_core::{Channel, Error, Result, Role, Side};

/// Variant of the run: shares of products, the value, several columns of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Shares,
    Value,
    Matrix,
}

const VARIANTS: [Variant; 3] = [Variant::Shares, Variant::Value, Variant::Matrix];

/// Length of N in bytes.
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

/// The first party, who encrypts, has the receiver's end.
impl Parties for Variant {
    fn part(&self, role: Role, channel: &mut Channel) -> Result<()> {
        let (side, params) = (side(role), params(*self));
        paillier::run(side, &dot(*self).columns(side), &params, channel, &mut rng(1 + side as u8)).map(drop)
    }

    fn name(&self) -> String {
        format!("{self:?}")
    }
}

/// Whether an error is the right one.
type Expected = fn(&Error) -> bool;

/// Every frame of every variant from both roles, the closing one included.
fn frames() -> Vec<Sent<Variant>> {
    VARIANTS.into_iter().flat_map(|variant| sent(Arc::new(variant))).collect()
}

#[test]
fn every_message_in_a_wrong_form() {
    let frames = frames();
    let labels: HashSet<u8> = frames.iter().map(|(.., data)| data.label).collect();
    assert!([PUBLIC_KEY, COLUMNS, ANSWERS].iter().all(|label| labels.contains(&label.code)));
    let attacks = by_turns(&frames, in_all_wrong_forms);
    assert!(attacks.len() > 20, "only {} attacks", attacks.len());
    run_all(attacks);
}

#[test]
#[ignore = "slow: every message of every variant in every form"]
fn every_message_of_every_variant_in_a_wrong_form() {
    let attacks = in_all_wrong_forms(&frames());
    assert!(attacks.len() > 100, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// Returns the square N^2, little-endian.
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
    let frames = frames();
    // Of all variants, because seeds determine it.
    let modulus = frames[0].3.payload[..MODULUS_BYTES].to_vec();
    let square = squared(&modulus);
    let padded = |bytes: &[u8]| [bytes, &[0; BYTES]].concat()[..BYTES].to_vec();
    let mut attacks = Vec::new();
    for (case, culprit, frame, data) in frames {
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
                attacks.push(Attack { name: name.into(), case: case.clone(), culprit, frame, mutation, expected });
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
            attacks.push(Attack { name: name.into(), case, culprit: Role::Receiver, frame: 0, mutation, expected });
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
    run_all(vec![Attack { name: "random".into(), case, culprit: Role::Sender, frame: 0, mutation, expected }]);
}

/// An answerer that encrypts whatever it likes: only what some columns can have for their product is taken.
#[test]
fn values_just_beyond_every_product_are_refused() {
    let params = params(Variant::Value);
    let rows = dot(Variant::Value).columns(Side::First).rows();
    let answered = |value: i128| {
        let (mut one, mut other) = Channel::pair("encryptor", "answerer");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let size = params.key_size();
                let key = other.receive(PUBLIC_KEY, size.public_key_bytes()).unwrap();
                let key = PaillierPublicKey::from_bytes(size, &key).unwrap();
                for chunk in (0..rows).step_by(8) {
                    other.receive(COLUMNS, 8.min(rows - chunk) * BYTES).unwrap();
                }
                other.send(ANSWERS, key.encrypt(&key.encode(&[value]), &mut rng(3)).to_bytes()).unwrap();
            });
            paillier::run(Side::First, &dot(Variant::Value).columns(Side::First), &params, &mut one, &mut rng(1))
        })
    };
    for value in [0, 7, rows as i128] {
        assert_eq!(answered(value).unwrap().residues(), [value as u128]);
    }
    for value in [-1, rows as i128 + 1, 1 << 100, -(1 << 100)] {
        assert!(answered(value).is_err_and(|error| says(&error, "no product")), "{value}");
    }
}
