//! `ecdh` that reveals a sum: numbers at their limits, and a peer whose contents no honest party sends. What it shares
//! with the other variants is tested in `results.rs` and `hostile.rs`.

use std::sync::Arc;

use crate::support::attack::*;
use crate::support::*;
use proptest::prelude::*;
use rand_core::Rng;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::intersect::ecdh::sum::{BLINDED_SUM, ENCRYPTED_SUM, MAX_SUM, PUBLIC_KEY, TOLD_SUM};
use tacita_core::protocol::intersect::tag_exchange::{ENTRIES, Params};
use tacita_core::security::Level;
use tacita_core::{Channel, Error, Role};

/// Five items each, of which 2, 3 and 4 are common.
fn case(numbers: &[i128]) -> Case {
    let mut case = Case::new(Variant::SumBoth, items(0..5), items(2..7), 1, 3);
    case.sender_numbers = numbers.to_vec();
    case
}

const NUMBERS: [i128; 5] = [3, -10, 4, 1000, -1];

/// The same with `sums` numbers for each item.
fn case_of(sums: usize, numbers: &[i128]) -> Case {
    let mut case = case(numbers);
    case.params = case.params.of_sums(sums);
    case
}

fn pair() -> (Channel, Channel) {
    Channel::pair("receiver", "sender")
}

/// The results of both, for three common items.
fn sums_of(case: &Case) -> Vec<i128> {
    let (received, sent) = run(case);
    let (received, sent) = (received.unwrap().0, sent.unwrap().0);
    assert_eq!(received, sent);
    assert_eq!(received, case.expected().0);
    match received {
        Learned::Sum(3, sums) => sums,
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
        assert_eq!(sums_of(&case(&numbers)), [sum]);
    }
}

/// Sums of three numbers, next to each other as low and as high as they may be.
#[test]
fn sums_at_their_limits_do_not_run_into_each_other() {
    let sums = [-MAX_SUM, -1, 0, 1, MAX_SUM];
    for one in sums {
        for other in sums {
            // What belongs to items that only the sender has adds nothing.
            let numbers = [[one, other, -one], [0; 3], [0; 3], [0; 3], [0; 3]].concat();
            assert_eq!(sums_of(&case_of(3, &numbers)), [one, other, -one]);
        }
    }
    let whole = [[MAX_SUM - 2, -MAX_SUM, 5], [1, 0, -9], [1, 0, 4], [-MAX_SUM, MAX_SUM, -1], [0, -0, 1]].concat();
    assert_eq!(sums_of(&case_of(3, &whole)), [MAX_SUM, -MAX_SUM, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Against sums in the clear.
    #[test]
    fn random_sums_are_those_of_the_common_items(
        mine in 0..9usize,
        theirs in 0..9usize,
        shift in 0..5usize,
        sums in 1..=4usize,
        padding in 0..3usize,
        seed: u8,
    ) {
        let mut case = Case::new(Variant::SumBoth, items(0..mine), items(shift..shift + theirs), padding, 2);
        let size = if sums > 3 { KeySize::new(1024).unwrap() } else { short_key() };
        let params = Params::sum(mine + padding, theirs + padding, size);
        case.params = Params { chunk: 2, ..params.of_sums(sums).to_both() };
        let mut random = rng(seed);
        let mut number = || {
            let [high, low] = [random.next_u64(), random.next_u64()].map(u128::from);
            ((high << 64 | low) as i128) >> (random.next_u64() % 128).max(8)
        };
        case.sender_numbers = (0..theirs * sums).map(|_| number()).collect();
        let (received, sent) = run(&case);
        prop_assert_eq!((received.unwrap().0, sent.unwrap().0), case.expected());
    }
}

/// A sender that has another number of sums in mind than the receiver ends with an error at the receiver, whoever has
/// more of them.
#[test]
fn parties_that_are_not_of_one_mind_on_how_many_sums_there_are_get_no_result() {
    for (mine, theirs) in [(1, 2), (2, 1), (3, 2), (2, 3)] {
        let (receiver, sender) = (case_of(mine, &NUMBERS), case_of(theirs, &NUMBERS.repeat(theirs)));
        let (mut receiving, mut sending) = pair();
        std::thread::scope(|scope| {
            scope.spawn(move || sender.send(&mut sending, 1));
            assert!(blames(&receiver.receive(&mut receiving, 2).unwrap_err()), "{mine} and {theirs}");
            drop(receiving);
        });
    }
}

/// Each column by itself has a sum that fits; more of them than the key has room for do not, nor does none.
#[test]
fn more_sums_than_a_key_has_room_for_are_refused_before_anything_is_sent() {
    for sums in [0, 4, 100, usize::MAX] {
        // Whoever would send finds nobody at the other end.
        let ((mut receiver, _), (_, mut sender)) = (pair(), pair());
        let case = case_of(sums, &[0; 20]);
        for error in [case.send(&mut sender, 1).unwrap_err(), case.receive(&mut receiver, 1).unwrap_err()] {
            assert_eq!(error.kind(), tacita_core::ErrorKind::Input, "{sums}");
        }
        assert_eq!((receiver.traffic().sent, sender.traffic().sent), (0, 0));
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
        let (_receiver, mut sender) = pair();
        let error = case(numbers).send(&mut sender, 1).unwrap_err();
        assert_eq!(error.kind(), tacita_core::ErrorKind::Internal);
        assert_eq!(sender.traffic().sent, 0);
    }
    // Of two sums one alone cannot be, or there are numbers for one.
    for numbers in [&[0, MAX_SUM, 0, 1, 0, 0, 0, 0, 0, 0][..], &NUMBERS, &[1; 9], &[1; 11]] {
        let (_, mut sender) = pair();
        let error = case_of(2, numbers).send(&mut sender, 1).unwrap_err();
        assert_eq!((error.kind(), sender.traffic().sent), (tacita_core::ErrorKind::Internal, 0));
    }
}

/// The key of the usual level, once.
#[test]
fn a_key_of_full_length() {
    let size = KeySize::of(Level::Bits128);
    let mut case = case(&NUMBERS);
    case.params = Params::sum(5, 5, size).to_both();
    assert_eq!(sums_of(&case), [-3]);
    assert_eq!(case.params.entry_bytes(), case.params.tag_bytes + 768);
}

/// Whether an error is what the victim must make of an attack.
type Expected = fn(&Error) -> bool;

/// A change of a message: its name, what the victim must make of it, and the change.
type Change = (&'static str, Expected, Mutation);

/// Builds attacks with these changes of each message with a label.
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
    // Of three sums each.
    let numbers: Vec<i128> = NUMBERS.iter().flat_map(|number| [*number, 0, -number]).collect();
    let several = Arc::new(case_of(3, &numbers));
    for place in 0..3 {
        let more = vec![("2^126 more", no_sum, change(move |frame| frame.payload[16 * place + 15] ^= 0x40))];
        attacks.extend(attacks_on(&several, Role::Sender, BLINDED_SUM.code, more));
        let too_much = vec![("too much", no_sum, change(move |frame| frame.payload[8 + 16 * place + 4] ^= 1))];
        attacks.extend(attacks_on(&several, Role::Receiver, TOLD_SUM.code, too_much));
    }
    let beyond: Vec<Change> =
        vec![("2^383", |error| says(error, "not below 2^383"), change(|frame| frame.payload[47] |= 0x80))];
    attacks.extend(attacks_on(&several, Role::Sender, BLINDED_SUM.code, beyond));
    run_all(attacks);
}
