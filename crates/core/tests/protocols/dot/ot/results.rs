//! `ot`: shares of scalar products against the plaintext, and what they cost.

use crate::support;
use crate::support::dot::*;
use crate::support::{payloads, recorded};
use proptest::prelude::*;
use tacita_core::channel::{HEADER_BYTES, Label};
use tacita_core::primitive::ot::softspoken::MAX_K;
use tacita_core::primitive::ot::{BASE_POINTS, CORRECTIONS, MESSAGES, TREES};
use tacita_core::primitive::vole::{TREE_SUMS, TREE_TIPS};
use tacita_core::protocol::dot::ot::{self, Extension, MAX_COLUMNS, Params};
use tacita_core::protocol::dot::{Columns, MAX_ROWS, Modulus, Shape, reveal};
use tacita_core::{Channel, ErrorKind, Side};

const K4: Extension = Extension::SoftSpoken(4);

fn modulus(value: u128) -> Modulus {
    Modulus::new(value).unwrap()
}

fn moduli() -> Vec<Modulus> {
    let powers = [1, 2, 20, 31, 33, 57, 63, 64, 65, 100, 112, 113, 127].map(|bits| 1 << bits);
    let others = [3, 65537, (1 << 61) - 1, (1 << 64) + 13, 10u128.pow(30), (1 << 127) - 1];
    powers.into_iter().chain(others).map(modulus).collect()
}

/// Over a dealer's OTs, with SoftSpoken's pieces and with silent segments.
fn check(dot: &Dot, modulus: Modulus) {
    for extension in [K4, Extension::Silent] {
        dot.check(&dot.params(modulus, extension), Source::Dealer(7));
    }
}

const CHUNK: usize = 255 * 128;

#[test]
fn rows_around_every_border() {
    let rows = [0, 1, 2, 7, 127, 128, 129, 1023, 1024, 1025, CHUNK - 1, CHUNK, CHUNK + 1, 100_000];
    for rows in rows {
        for value in [1 << 20, 1 << 64, 65537] {
            check(&Dot::random(integers(1, false), rows, (1, 1), 0.5, 3), modulus(value));
        }
        let signed = Dot::random(integers(3, true), rows, (1, 1), 0.9, 4);
        check(&signed, signed.shape().value_modulus().unwrap());
    }
}

#[test]
fn every_density() {
    for density in [0.0, 0.01, 0.5, 1.0] {
        for (bits, signed) in [(1, false), (1, true), (8, false), (8, true)] {
            let dot = Dot::random(integers(bits, signed), 3001, (2, 2), density, 9);
            check(&dot, dot.shape().value_modulus().unwrap());
        }
    }
}

#[test]
fn extreme_integers() {
    for bits in [1, 2, 8, 31, 32] {
        for signed in [false, true] {
            let integers = integers(bits, signed);
            let (low, high) = integers.range();
            for (a, b) in [(low, low), (low, high), (high, low), (high, high)] {
                for rows in [1, 300] {
                    let dot = Dot::constant(integers, rows, a, b);
                    let fitting = dot.shape().value_modulus().unwrap();
                    for modulus in moduli().into_iter().chain([fitting]) {
                        check(&dot, modulus);
                    }
                }
            }
        }
    }
}

#[test]
fn matrices() {
    for counts in [(1, 1), (1, 3), (3, 1), (5, 7), (7, 5), (2, 40), (0, 3), (3, 0), (0, 0)] {
        for value in moduli() {
            check(&Dot::random(integers(5, true), 140, counts, 1.0, 11), value);
            check(&Dot::random(integers(1, false), 1500, counts, 0.5, 12), value);
        }
    }
    // Messages of several pieces because rows of words are long, and several threads.
    for (counts, value) in [((2, 700), 1 << 127), ((300, 1), 10u128.pow(30))] {
        check(&Dot::random(integers(2, false), 1100, counts, 0.5, 13), modulus(value));
    }
    for columns in [1, 4, 9] {
        check(&Dot::random(integers(1, false), 70_000, (1, columns), 0.5, 13), modulus(1 << 20));
    }
}

/// Checks the costs of every extension with everything below it: all of its traffic is counted beforehand.
#[test]
fn every_extension_costs_what_the_formulas_say() {
    let extensions = (1..=MAX_K).map(Extension::SoftSpoken).chain([Extension::Silent]);
    for extension in extensions {
        let cases = [
            (Dot::random(integers(1, false), 0, (1, 1), 0.5, 1), modulus(1 << 20)),
            (Dot::random(integers(4, false), 10, (0, 2), 0.5, 1), modulus(1 << 20)),
            (Dot::random(integers(1, false), 1, (1, 1), 1.0, 1), modulus(1 << 1)),
            (Dot::random(integers(1, false), CHUNK + 5, (1, 1), 0.5, 1), modulus(1 << 20)),
            (Dot::random(integers(8, true), 1000, (5, 7), 0.5, 1), modulus(1 << 40)),
            (Dot::random(integers(2, true), 333, (3, 1), 0.5, 1), modulus(65537)),
        ];
        for (dot, modulus) in cases {
            check_costs(&dot, &dot.params(modulus, extension));
        }
    }
}

/// A million rows: several dozen messages, and the numbers that the documentation names.
#[test]
fn a_million_binary_rows() {
    for (extension, most) in [(K4, 7_000_000), (Extension::SoftSpoken(8), 5_000_000), (Extension::Silent, 5_000_000)] {
        let dot = Dot::random(integers(1, false), 1_000_000, (1, 1), 0.5, 1);
        let params = dot.params(modulus(1 << 20), extension);
        let ended = dot.check(&params, Source::Protocol);
        let sent = [Side::First, Side::Second].map(|side| params.bytes_sent_by(side));
        assert_eq!(ended.map(|(_, traffic)| traffic.sent - HEADER_BYTES as u64), sent);
        assert!(sent.iter().sum::<u64>() < most, "{extension}: {sent:?}");
    }
}

/// The whole protocol, with what it costs.
fn check_costs(dot: &Dot, params: &Params) {
    let ended = dot.check(params, Source::Protocol);
    for ((_, traffic), side) in ended.iter().zip([Side::First, Side::Second]) {
        assert_eq!(traffic.sent - HEADER_BYTES as u64, params.bytes_sent_by(side), "{params:?} {side:?}");
        assert_eq!(traffic.rounds, params.rounds(), "{params:?}");
    }
}

/// More OTs than one silent run makes: planes together, with some left over or not; one plane in several runs, of which
/// the last one is smaller or not, and of several messages each.
#[test]
fn several_small_silent_runs() {
    let cases = [
        (3, 1000, (1, 2), 2500),
        (3, 1000, (2, 2), 3000),
        (8, 700, (1, 1), 699),
        (1, 5000, (1, 1), 2000),
        (2, 4000, (3, 1), 2000),
        (2, 2000, (1, 1), 2000),
        (1, CHUNK + 3000, (1, 1), CHUNK + 1000),
    ];
    for (bits, rows, counts, most) in cases {
        for value in [1 << 40, 65537] {
            let dot = Dot::random(integers(bits, true), rows, counts, 0.5, 1);
            let params = dot.params(modulus(value), Extension::Silent).with_silent_runs_of(most);
            check_costs(&dot, &params);
            dot.check(&params, Source::Dealer(3));
        }
    }
}

/// The same with runs of the real size.
#[test]
#[ignore = "large: millions of OTs"]
fn several_silent_runs() {
    for (bits, rows, counts) in [(3, 1_500_000, (1, 2)), (1, (1 << 22) + 1000, (1, 1)), (8, 1_000_000, (1, 1))] {
        let dot = Dot::random(integers(bits, true), rows, counts, 0.5, 1);
        check_costs(&dot, &dot.params(modulus(1 << 40), Extension::Silent));
    }
}

/// Checks that, with the same inputs and the same randomness, whatever depends on a key differs between batches of a
/// session.
#[test]
fn batches_of_a_session_have_keys_of_their_own() {
    let sent = |dot: &Dot, params: &Params, source: Source| {
        let recorded = recorded(|receiver, sender| {
            let (received, sent) = dot.run_as(params, source, receiver, sender, (1, 2));
            let opened = received.unwrap().0.open(&sent.unwrap().0);
            assert_eq!(opened, dot.truth(params.modulus()));
        });
        move |label: Label| [payloads(&recorded.receiver, label.code), payloads(&recorded.sender, label.code)].concat()
    };
    let differ = |dot: &Dot, params: Params, source: Source, labels: &[Label]| {
        assert_eq!(params, params.numbered(0));
        let batches = [0, 1, u32::MAX].map(|batch| sent(dot, &params.numbered(batch), source));
        let again = sent(dot, &params.numbered(1), source);
        for &label in labels {
            let [zero, one, last] = [0, 1, 2].map(|batch| batches[batch](label));
            assert!(!zero.is_empty() && one == again(label), "{}", label.name);
            assert!(zero != one && zero != last && one != last, "{}", label.name);
        }
    };
    // The OTs' keys, down to those of the base OTs.
    let dot = Dot::random(integers(1, false), 300, (1, 1), 0.5, 1);
    differ(&dot, dot.params(modulus(1 << 20), K4), Source::Protocol, &[BASE_POINTS, TREES, CORRECTIONS, MESSAGES]);
    // Flips follow from the noise and the code, which all batches of a session share, and from no key.
    let labels = [BASE_POINTS, TREES, CORRECTIONS, TREE_SUMS, TREE_TIPS, MESSAGES];
    differ(&dot, dot.params(modulus(1 << 20), Extension::Silent), Source::Protocol, &labels);
    // The keys of words, from the same OTs.
    let dot = Dot::random(integers(2, false), 300, (9, 1), 0.5, 1);
    for value in [1 << 20, 1 << 100, 65537] {
        differ(&dot, dot.params(modulus(value), K4), Source::Dealer(1), &[MESSAGES]);
    }
    // Parties that do not mean the same batch get shares of something else.
    let dot = Dot::random(integers(1, false), 300, (1, 1), 1.0, 1);
    let params = dot.params(modulus(1 << 64), K4);
    let (mut first, mut second) = Channel::pair("first", "second");
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| dot.run(Side::Second, &params.numbered(1), Source::Protocol, 2, &mut second));
        (dot.run(Side::First, &params, Source::Protocol, 1, &mut first), second.join().unwrap())
    });
    assert_ne!(first.unwrap().open(&second.unwrap()), dot.truth(params.modulus()));
}

#[test]
fn the_side_with_more_columns_sends_and_otherwise_the_learner_receives() {
    let shape = |first, second| Shape { rows: 5, first, second, integers: integers(8, true) };
    let sender = |first, second, learner| {
        let params = Params::new(shape(first, second), modulus(1 << 20), K4, learner).unwrap();
        assert_eq!(params.transfers(), 5 * 8 * first.min(second) as u64);
        params.ot_sender()
    };
    for learner in [None, Some(Side::First), Some(Side::Second)] {
        assert_eq!(sender(3, 2, learner), Side::First);
        assert_eq!(sender(2, 3, learner), Side::Second);
    }
    assert_eq!(sender(2, 2, Some(Side::First)), Side::Second);
    assert_eq!(sender(2, 2, Some(Side::Second)), Side::First);
    // Bits beyond the modulus are not transferred.
    let params = Params::new(shape(1, 1), modulus(1 << 3), K4, None).unwrap();
    assert_eq!(params.transfers(), 5 * 3);
    let dot = Dot::random(integers(8, true), 500, (1, 1), 1.0, 5);
    check(&dot, modulus(1 << 3));
    for learner in [Side::First, Side::Second] {
        let params = Params::new(dot.shape(), modulus(1 << 30), K4, Some(learner)).unwrap();
        dot.check(&params, Source::Protocol);
    }
}

/// A learner who chooses in the OTs has the products with the sender's last flight; another one waits for one flight
/// more.
#[test]
fn the_named_learner_has_the_products_a_flight_earlier() {
    let dot = Dot::random(integers(1, false), 300, (1, 1), 0.5, 1);
    for named in [Side::First, Side::Second] {
        for extension in [K4, Extension::Silent] {
            let params = Params::new(dot.shape(), modulus(1 << 9), extension, Some(named)).unwrap();
            for learner in [named, named.other()] {
                let (first, second) = Channel::pair("first", "second");
                let party = |side: Side, mut channel: Channel| {
                    let shares = dot.run(side, &params, Source::Protocol, 3, &mut channel).unwrap();
                    let opened = reveal(&shares, side == learner, side != learner, &mut channel).unwrap();
                    (opened, channel.finish().unwrap().rounds)
                };
                let [first, second] = std::thread::scope(|scope| {
                    let second = scope.spawn(|| party(Side::Second, second));
                    [party(Side::First, first), second.join().unwrap()]
                });
                let rounds = params.rounds() + u32::from(learner != named);
                assert_eq!((first.1, second.1), (rounds, rounds));
                let truth = |side| (side == learner).then(|| dot.truth(params.modulus()));
                assert_eq!((first.0, second.0), (truth(Side::First), truth(Side::Second)));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_shapes(
        rows in 0usize..400,
        counts in (0usize..6, 0usize..6),
        bits in 1u32..=32,
        signed: bool,
        power in proptest::option::of(1u32..=127),
        value in 2u128..=1 << 127,
        learner in 0usize..3,
        seed: u8,
    ) {
        let dot = Dot::random(integers(bits, signed), rows, counts, 0.7, seed);
        let modulus = power.map_or(modulus(value), |bits| Modulus::power_of_two(bits).unwrap());
        let learner = [None, Some(Side::First), Some(Side::Second)][learner];
        for extension in [K4, Extension::Silent] {
            dot.check(&Params::new(dot.shape(), modulus, extension, learner).unwrap(), Source::Dealer(7));
        }
    }
}

#[test]
fn what_a_caller_does_wrong_is_an_error() {
    let shape = |rows, first| Shape { rows, first, second: 1, integers: integers(1, false) };
    let kind = |shape, extension| Params::new(shape, modulus(4), extension, None).unwrap_err().kind();
    assert_eq!(kind(shape(MAX_ROWS + 1, 1), K4), ErrorKind::Input);
    assert_eq!(kind(shape(1, MAX_COLUMNS + 1), K4), ErrorKind::Input);
    for k in [0, 9] {
        assert_eq!(kind(shape(1, 1), Extension::SoftSpoken(k)), ErrorKind::Input);
    }
    // More than anybody has is counted all the same, without counting; and then there is an end.
    let many = |first, second| Shape { rows: MAX_ROWS, first, second, integers: integers(32, true) };
    assert_eq!(kind(many(MAX_COLUMNS, MAX_COLUMNS), K4), ErrorKind::Input);
    for extension in [K4, Extension::Silent] {
        let most = many(MAX_COLUMNS, 8);
        let params = Params::new(most, modulus(1 << 127), extension, None).unwrap();
        assert!(params.bytes_sent_by(Side::First) > params.transfers());
    }
    // Other columns than agreed on.
    let params = Params::new(shape(5, 2), modulus(4), K4, None).unwrap();
    let with = |bits, rows: usize, count: usize| {
        let mut columns = Columns::new(integers(bits, false), rows);
        (0..count).for_each(|_| columns.push(vec![0; rows]).unwrap());
        let (mut end, _other) = Channel::pair("first", "second");
        ot::run(Side::First, &columns, &params, &support::session(), &mut end, &mut support::rng(1)).unwrap_err().kind()
    };
    for (bits, rows, count) in [(2, 5, 2), (1, 4, 2), (1, 5, 1), (1, 5, 3)] {
        assert_eq!(with(bits, rows, count), ErrorKind::Internal);
    }
}
