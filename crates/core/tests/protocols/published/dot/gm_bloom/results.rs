//! Scalar products by `gm-bloom` against plaintext: every length and density; matrices, chosen pairs, the form with two
//! outputs; their cost, and columns that are too dense.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::support::dot::{Dot, integers};
use crate::support::{rng, session, short_key, two};
use tacita_core::primitive::published::bloom::Strength;
use tacita_core::protocol::dot::{Integers, Modulus, Shape, Shares};
use tacita_core::protocol::published::dot::gm_bloom::{self, Dense, Lengths, Params};
use tacita_core::{Channel, Error, Level, Result, Side};

/// Keys of 512 bits are long enough for tests.
fn lengths() -> Lengths {
    Lengths { key: short_key(), strength: Strength::Bits80 }
}

const LEARNERS: [Option<Side>; 3] = [None, Some(Side::First), Some(Side::Second)];

fn params(dot: &Dot, bound: usize, learner: Option<Side>) -> Params {
    Params::new(dot.shape(), dot.shape().value_modulus().unwrap(), lengths(), bound, learner).unwrap()
}

fn role(dot: &Dot, params: &Params, side: Side, channel: &mut Channel) -> Result<Shares> {
    let columns = dot.columns(side);
    gm_bloom::run(side, &columns, params, &session(), channel, &mut rng(1 + side as u8))
}

/// Checks that both parties' shares add up to these products, and that bytes and rounds are those announced. Returns
/// the shares.
#[track_caller]
fn check(dot: &Dot, params: &Params, truth: &[u128]) -> [Shares; 2] {
    let party = |side: Side| {
        move |channel: &mut Channel| {
            let shares = role(dot, params, side, channel)?;
            let traffic = channel.traffic();
            assert_eq!((traffic.sent, traffic.rounds), (params.bytes_sent_by(side), params.rounds()), "{params:?}");
            Ok(shares)
        }
    };
    let (first, second) = two::run(&party(Side::First), &party(Side::Second));
    let (first, second) = (first.unwrap().0, second.unwrap().0);
    assert_eq!(first.open(&second), truth, "{params:?}");
    if let Some(counter) = params.counter() {
        let (values, zeros) = if counter == Side::First { (&first, &second) } else { (&second, &first) };
        assert_eq!(values.residues(), truth);
        assert!(zeros.residues().iter().all(|&share| share == 0));
    }
    [first, second]
}

/// One of every `step` combinations.
fn one_product(step: usize) {
    let mut number = 0usize;
    for rows in [0, 1, 2, 7, 64, 501] {
        for density in [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0] {
            let dot = Dot::random(Integers::BINARY, rows, (1, 1), density, 3);
            let ones = [&dot.first, &dot.second].map(|columns| columns[0].iter().sum::<i64>() as usize);
            for bound in [ones[0].max(ones[1]), rows, 10 * rows] {
                for learner in LEARNERS {
                    number += 1;
                    if !number.is_multiple_of(step) {
                        continue;
                    }
                    let params = params(&dot, bound, learner);
                    assert_eq!(params.counter(), Some(learner.unwrap_or(Side::First)));
                    check(&dot, &params, &dot.truth(params.modulus()));
                }
            }
        }
    }
}

/// No number of values has the factor 5: every value meets every other one.
#[test]
fn one_product_of_every_length_and_density() {
    one_product(5);
}

#[test]
#[ignore = "slow: every combination"]
fn one_product_in_every_combination() {
    one_product(1);
}

/// Several chunks, and several pieces of the filter.
#[test]
fn ten_thousand_rows() {
    for density in [0.02, 0.3] {
        let dot = Dot::random(Integers::BINARY, 10_000, (1, 1), density, 5);
        let params = params(&dot, (11_000.0 * density) as usize, Some(Side::Second));
        assert!(params.chunk() < 10_000);
        check(&dot, &params, &dot.truth(params.modulus()));
    }
}

#[test]
#[ignore = "slow: a million rows"]
fn a_million_rows() {
    let dot = Dot::random(Integers::BINARY, 1_000_000, (1, 1), 0.1, 5);
    let params = params(&dot, 110_000, None);
    check(&dot, &params, &dot.truth(params.modulus()));
}

#[test]
fn every_level() {
    let dot = Dot::random(Integers::BINARY, 30, (1, 1), 0.5, 7);
    for level in [Level::Paper80, Level::Bits112, Level::Bits128] {
        let lengths = Lengths::of(level).unwrap();
        let params = Params::new(dot.shape(), dot.shape().value_modulus().unwrap(), lengths, 30, None).unwrap();
        check(&dot, &params, &dot.truth(params.modulus()));
    }
    for level in [Level::Bits192, Level::Bits256] {
        assert!(matches!(Lengths::of(level), Err(Error::Input(text)) if text.contains("bits128")));
    }
}

#[test]
fn matrices_and_chosen_pairs() {
    for counts in [(1, 3), (3, 1), (2, 2), (3, 4), (0, 2), (2, 0)] {
        let dot = Dot::random(Integers::BINARY, 40, counts, 0.5, 9);
        for learner in LEARNERS {
            let params = params(&dot, 40, learner);
            let fewer = if counts.0 <= counts.1 { Side::First } else { Side::Second };
            assert_eq!(params.counter(), Some(learner.unwrap_or(fewer)));
            check(&dot, &params, &dot.truth(params.modulus()));
        }
    }
    for (counts, pairs) in [((3, 4), &[(2, 1), (0, 3), (1, 0), (0, 0)][..]), ((4, 3), &[(3, 2), (0, 1), (3, 0)])] {
        let dot = Dot::random(Integers::BINARY, 40, counts, 0.5, 9);
        let modulus = dot.shape().value_modulus().unwrap();
        let params = Params::of_pairs(dot.shape(), modulus, lengths(), 40, pairs).unwrap();
        let all = dot.truth(modulus);
        let truth: Vec<u128> = pairs.iter().map(|&(a, b)| all[a as usize * counts.1 + b as usize]).collect();
        check(&dot, &params, &truth);
        // A column that is not there, one of the counter's without a partner, and a pair twice.
        let all: Vec<(u32, u32)> = (0..12).map(|pair| (pair % counts.0 as u32, pair % counts.1 as u32)).collect();
        assert!(Params::of_pairs(dot.shape(), modulus, lengths(), 40, &all).is_ok());
        for wrong in [[&all[..], &[(4, 0)]].concat(), all[..2].to_vec(), [&all[..], &all[3..4]].concat()] {
            let refused = Params::of_pairs(dot.shape(), modulus, lengths(), 40, &wrong);
            assert!(matches!(refused, Err(Error::Internal(_))), "{wrong:?}");
        }
    }
}

#[test]
fn parts_add_up_modulo_anything() {
    for rows in [0, 1, 77] {
        for density in [0.0, 0.4, 1.0] {
            let dot = Dot::random(Integers::BINARY, rows, (2, 2), density, 11);
            for modulus in [2, 7, 1 << 64, 1 << 127] {
                let modulus = Modulus::new(modulus).unwrap();
                let params = Params::in_parts(dot.shape(), modulus, lengths(), rows).unwrap();
                check(&dot, &params, &dot.truth(modulus));
            }
        }
    }
}

/// Said before anything is sent, by the party whose column it is.
#[test]
fn too_many_ones_are_refused() {
    let mut dot = Dot::random(Integers::BINARY, 20, (1, 2), 0.0, 13);
    dot.first[0][..5].fill(1);
    dot.second[1][..6].fill(1);
    let params = params(&dot, 5, None);
    let dense = |side, bound| gm_bloom::dense(&dot.columns(side), bound);
    assert_eq!(dense(Side::First, 5), None);
    assert_eq!(dense(Side::Second, 5), Some(Dense { column: 1, ones: 6 }));
    let (mut channel, _other) = Channel::pair("first", "second");
    let Err(Error::Input(text)) = role(&dot, &params, Side::Second, &mut channel) else { panic!("taken") };
    assert!(text.contains("column 2") && text.contains("6 ones") && text.contains("allows 5"), "{text}");
    assert_eq!(channel.traffic().sent, 0);
}

#[test]
fn impossible_parameters_are_refused() {
    let modulus = Modulus::new(1 << 40).unwrap();
    let new = |shape, modulus| Params::new(shape, modulus, lengths(), 5, None);
    let shape = |rows, first, second| Shape { rows, first, second, integers: Integers::BINARY };
    let refused = |params: Result<Params>| matches!(params, Err(Error::Input(_)));
    assert!(refused(new(shape(1 << 33, 1, 1), modulus)));
    assert!(refused(new(shape(1, 4097, 1), modulus)) && refused(new(shape(1, 1, 4097), modulus)));
    assert!(refused(new(shape(8, 1, 1), Modulus::new(8).unwrap())), "8 would be 0");
    for integers in [integers(2, false), integers(1, true)] {
        let refused = new(Shape { integers, ..shape(5, 1, 1) }, modulus);
        assert!(matches!(refused, Err(Error::Input(text)) if text.contains("\"ot\", \"lattice\" or \"paillier\"")));
    }
    let params = new(shape(5, 1, 1), modulus).unwrap();
    let other = Dot::random(Integers::BINARY, 6, (1, 1), 0.5, 1);
    let (mut channel, _other) = Channel::pair("first", "second");
    assert!(matches!(role(&other, &params, Side::First, &mut channel), Err(Error::Internal(_))));
}

/// The items that most baskets hold, of each party.
#[test]
fn groceries() {
    let root = std::env::var_os("TACITA_DATA").map(|root| PathBuf::from(root).join("association_rules/vertical"));
    let Some(data) = root.filter(|path| path.is_dir()) else {
        println!("skipped: TACITA_DATA does not lead to association_rules");
        return;
    };
    let columns = |party: &str| -> Vec<Vec<i64>> {
        let text = std::fs::read_to_string(data.join(format!("groceries.2party_{party}.csv"))).unwrap();
        let mut items: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for (row, line) in text.lines().skip(1).enumerate() {
            let (_, basket) = line.split_once(',').unwrap();
            for item in basket.trim_matches('"').split('|').filter(|item| !item.is_empty()) {
                items.entry(item).or_insert_with(|| vec![0; 9835])[row] = 1;
            }
        }
        let mut columns: Vec<_> = items.into_values().collect();
        columns.sort_by_key(|column| std::cmp::Reverse(column.iter().sum::<i64>()));
        columns.truncate(3);
        columns
    };
    let dot = Dot { integers: Integers::BINARY, rows: 9835, first: columns("A"), second: columns("B") };
    let params = params(&dot, 2951, Some(Side::First));
    let [values, _] = check(&dot, &params, &dot.truth(params.modulus()));
    assert!(values.residues().iter().all(|&count| count > 100));
}
