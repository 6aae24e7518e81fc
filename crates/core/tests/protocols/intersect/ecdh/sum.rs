//! `ecdh` that reveals a sum: numbers at their limits, and a peer whose contents no honest party sends. What it shares with
//! the other variants is tested in `results.rs` and `hostile.rs`.

use std::sync::Arc;

use crate::support::attack::*;
use crate::support::*;
use tacita_core::protocol::intersect::ecdh::sum::{BLINDED_SUM, ENCRYPTED_SUM, MAX_SUM, PUBLIC_KEY, TOLD_SUM};
use tacita_core::protocol::intersect::ecdh::{ENTRIES, Params};
use tacita_core::security::Level;
use tacita_core::{Error, Role};

/// Five items each, of which 2, 3 and 4 are common.
fn case(numbers: &[i128]) -> Case {
    let mut case = Case::new(Variant::SumBoth, items(0..5), items(2..7), 1, 3);
    case.sender_numbers = numbers.to_vec();
    case
}

const NUMBERS: [i128; 5] = [3, -10, 4, 1000, -1];

fn sum_of(case: &Case) -> i128 {
    let (received, sent) = run(case);
    let (received, sent) = (received.unwrap().0, sent.unwrap().0);
    assert_eq!(received, sent);
    assert_eq!(received, case.expected().0);
    match received {
        Learned::Sum(3, sum) => sum,
        other => panic!("{other:?}"),
    }
}

#[test]
fn numbers_at_their_limits() {
    for (numbers, sum) in [
        (NUMBERS, -3),
        ([0; 5], 0),
        ([MAX_SUM, 0, 0, 0, 0], MAX_SUM),
        ([-MAX_SUM, 0, 0, 0, 0], -MAX_SUM),
        ([MAX_SUM - 2, 1, 1, 0, -MAX_SUM], MAX_SUM),
    ] {
        assert_eq!(sum_of(&case(&numbers)), sum);
    }
}

#[test]
fn numbers_that_cannot_be_added_or_are_not_as_many_as_items_are_refused_before_anything_is_sent() {
    let numbers: [&[i128]; 6] = [
        &[MAX_SUM, 1, 0, 0, 0],
        &[-MAX_SUM, 0, -1, 5, 0],
        &[i128::MAX, i128::MAX, 0, 0, 0],
        &[i128::MIN, i128::MIN, 0, 0, 0],
        &[1, 2, 3, 4],
        &[1, 2, 3, 4, 5, 6],
    ];
    for numbers in numbers {
        let (_receiver, mut sender) = tacita_core::Channel::pair("receiver", "sender");
        let error = case(numbers).send(&mut sender, 1).unwrap_err();
        assert_eq!(error.kind(), tacita_core::ErrorKind::Internal);
        assert_eq!(sender.traffic().sent, 0);
    }
}

/// The key of the usual level, once.
#[test]
fn a_key_of_full_length() {
    let size = tacita_core::primitive::paillier::KeySize::of(Level::Bits128);
    let mut case = case(&NUMBERS);
    case.params = Params::sum(5, 5, size).to_both();
    assert_eq!(sum_of(&case), -3);
    assert_eq!(case.params.entry_bytes(), case.params.tag_bytes + 768);
}

/// Whether an error is what the victim must make of an attack.
type Expected = fn(&Error) -> bool;

/// A change of a message: its name, what the victim must make of it, and the change.
type Change = (&'static str, Expected, Mutation);

/// These changes of each message with a label.
fn attacks_on(case: &Arc<Case>, culprit: Role, label: u8, attacks: Vec<Change>) -> Vec<Attack> {
    let recorded = record(case, (1, 2));
    let frames = if culprit == Role::Receiver { recorded.receiver } else { recorded.sender };
    let numbers: Vec<_> =
        (0..frames.len()).filter(|&n| frames[n].kind == Frame::DATA && frames[n].label == label).collect();
    assert!(!numbers.is_empty(), "no message {label}");
    let mut all = Vec::new();
    for frame in numbers {
        for (name, expected, mutation) in &attacks {
            let (name, mutation) = ((*name).to_owned(), mutation.clone());
            all.push(Attack { name, case: case.clone(), culprit, frame, mutation, expected: *expected });
        }
    }
    all
}

/// Bytes of N and of a ciphertext under short keys.
const N_BYTES: usize = 64;
const CIPHERTEXT: usize = 128;

#[test]
fn ciphertexts_and_keys_that_are_none() {
    let case = Arc::new(case(&NUMBERS));
    let modulus = payloads(&record(&case, (1, 2)).sender, PUBLIC_KEY.code)[..N_BYTES].to_vec();
    let padded = [&modulus[..], &[0; N_BYTES]].concat();
    let kinds: [(&'static str, Vec<u8>, Expected); 3] = [
        ("0", vec![0; CIPHERTEXT], |error| says(error, "a ciphertext that is 0")),
        ("N", padded, |error| says(error, "not coprime to N")),
        ("ones", vec![0xff; CIPHERTEXT], |error| says(error, "not below N^2")),
    ];
    let mut attacks = Vec::new();
    for (culprit, label) in [(Role::Receiver, ENCRYPTED_SUM), (Role::Sender, ENTRIES)] {
        for (name, bytes, expected) in &kinds {
            // The last one of each message: an entry ends with its ciphertext.
            let bytes = bytes.clone();
            let mutation = change(move |frame| {
                let start = frame.payload.len() - CIPHERTEXT;
                frame.payload[start..].copy_from_slice(&bytes);
            });
            attacks.extend(attacks_on(&case, culprit, label.code, vec![(*name, *expected, mutation)]));
        }
    }
    let keys: Vec<Change> = vec![
        ("even", |error| says(error, "even"), change(|frame| frame.payload[0] &= 0xfe)),
        ("short", |error| says(error, "another length"), change(|frame| frame.payload[N_BYTES - 1] = 0)),
        ("base 0", |error| says(error, "that is 0"), change(|frame| frame.payload[N_BYTES..].fill(0))),
        ("base ones", |error| says(error, "below N^2"), change(|frame| frame.payload[N_BYTES..].fill(0xff))),
    ];
    attacks.extend(attacks_on(&case, Role::Sender, PUBLIC_KEY.code, keys));
    run_all(attacks);
}

#[test]
fn sums_that_are_none() {
    let no_sum: Expected = |error| says(error, "no sum");
    let common = Arc::new(case(&NUMBERS));
    let mut attacks = attacks_on(
        &common,
        Role::Sender,
        BLINDED_SUM.code,
        vec![
            ("2^127", |error| says(error, "not below 2^127"), change(|frame| frame.payload[15] |= 0x80)),
            ("2^126 more", no_sum, change(|frame| frame.payload[15] ^= 0x40)),
        ],
    );
    // With nothing in common there is no other sum than zero.
    let apart = Case::new(Variant::Sum, items(0..5), items(10..15), 1, 3);
    let more: Vec<Change> = vec![("one more", no_sum, change(|frame| frame.payload[0] ^= 1))];
    attacks.extend(attacks_on(&Arc::new(apart), Role::Sender, BLINDED_SUM.code, more));
    // Between -11 and 1007.
    let told = |count: u64, sum: i128| {
        change(move |frame| frame.payload = [&count.to_le_bytes()[..], &sum.to_le_bytes()].concat())
    };
    let counted: Expected = |error| says(error, "more than either party has");
    let told = vec![
        ("six common", counted, told(6, 0)),
        ("very many common", counted, told(u64::MAX, 0)),
        ("too little", no_sum, told(3, -12)),
        ("too much", no_sum, told(3, 1008)),
        ("far too much", no_sum, told(3, i128::MAX)),
        ("a sum of nothing", no_sum, told(0, 1)),
    ];
    attacks.extend(attacks_on(&common, Role::Receiver, TOLD_SUM.code, told));
    run_all(attacks);
}
