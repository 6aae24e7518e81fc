//! Scalar products by `lattice` against plaintext: every shape, density and kind of integers; their cost; kept columns.

use crate::support::{rng, session};
use rand_core::CryptoRng;
use tacita_core::protocol::dot::lattice::{self, Answerer, Encryptor, Params};
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares, reveal};
use tacita_core::{Channel, Error, Result, Side};

/// Values of a party's columns: ones with a probability of `density`, or integers of the whole range, their limits
/// often.
fn values(shape: &Shape, count: usize, density: f64, rng: &mut impl CryptoRng) -> Vec<Vec<i64>> {
    let (low, high) = shape.integers.range();
    let value = |word: u64| match (shape.integers == Integers::BINARY, word % 8) {
        (true, _) => i64::from((word >> 11) as f64 / (1u64 << 53) as f64 <= density && density > 0.0),
        (false, 0) => low,
        (false, 1) => high,
        _ => (i128::from(low) + i128::from(word) % (i128::from(high) - i128::from(low) + 1)) as i64,
    };
    (0..count).map(|_| (0..shape.rows).map(|_| value(rng.next_u64())).collect()).collect()
}

fn columns(shape: &Shape, values: &[Vec<i64>]) -> Columns {
    let mut columns = Columns::new(shape.integers, shape.rows);
    values.iter().for_each(|values| columns.push(values.iter().copied()).unwrap());
    columns
}

fn product(a: &[i64], b: &[i64]) -> i128 {
    a.iter().zip(b).map(|(&a, &b)| i128::from(a) * i128::from(b)).sum()
}

/// The products' residues, row by row.
fn expected(modulus: &Modulus, first: &[Vec<i64>], second: &[Vec<i64>]) -> Vec<u128> {
    first.iter().flat_map(|a| second.iter().map(|b| modulus.residue(product(a, b)))).collect()
}

/// Runs both parties in memory.
fn both<A: Send, B: Send>(
    one: impl FnOnce(&mut Channel) -> Result<A> + Send,
    two: impl FnOnce(&mut Channel) -> Result<B> + Send,
) -> (A, B) {
    let (mut first, mut second) = Channel::pair("first", "second");
    std::thread::scope(|scope| {
        let one = scope.spawn(move || one(&mut first).and_then(|result| first.finish().map(|_| result)));
        let two = two(&mut second).and_then(|result| second.finish().map(|_| result));
        (one.join().unwrap().unwrap(), two.unwrap())
    })
}

/// Checks that both parties' shares add up to the products, and that bytes and rounds are those announced. Returns the
/// shares.
fn check(shape: Shape, modulus: Modulus, learner: Option<Side>, density: f64) -> (Params, [Shares; 2]) {
    let (a, b) =
        (values(&shape, shape.first, density, &mut rng(1)), values(&shape, shape.second, density, &mut rng(2)));
    let params = Params::new(shape, modulus, learner).unwrap();
    let run = |side: Side| {
        let (params, a, b) = (&params, &a, &b);
        move |channel: &mut Channel| {
            let own = if side == Side::First { a } else { b };
            let mut rng = rng(3 + side as u8);
            let shares = lattice::run(side, &columns(&shape, own), params, &session(), channel, &mut rng)?;
            let traffic = channel.traffic();
            assert_eq!(traffic.sent, params.bytes_sent_by(side), "{shape:?}");
            assert_eq!(traffic.rounds, params.rounds(), "{shape:?}");
            if let Some(learner) = learner {
                reveal(&shares, learner == side, learner != side, channel)?;
            }
            Ok(shares)
        }
    };
    let (one, two) = both(run(Side::First), run(Side::Second));
    assert!(one.open(&two) == expected(&modulus, &a, &b), "{shape:?} {modulus} {learner:?} {params:?}");
    (params, [one, two])
}

fn binary(rows: usize, first: usize, second: usize) -> Shape {
    Shape { rows, first, second, integers: Integers::BINARY }
}

const LEARNERS: [Option<Side>; 3] = [None, Some(Side::First), Some(Side::Second)];

#[test]
fn one_product_of_every_length() {
    for rows in [0, 1, 2, 4095, 4096, 4097, 10_000] {
        for learner in LEARNERS {
            let shape = binary(rows, 1, 1);
            check(shape, shape.value_modulus().unwrap(), learner, 0.5);
        }
        check(binary(rows, 1, 1), "2^64".parse().unwrap(), None, 0.3);
    }
}

#[test]
fn every_density() {
    for density in [0.0, 0.001, 0.5, 1.0] {
        for learner in LEARNERS {
            let shape = binary(5000, 3, 2);
            check(shape, shape.value_modulus().unwrap(), learner, density);
        }
    }
}

#[test]
fn matrices_of_every_shape() {
    let shapes =
        [(1, 2), (2, 1), (3, 5), (5, 3), (1, 200), (200, 1), (7, 64), (64, 7), (33, 35), (0, 3), (3, 0), (0, 0)];
    for (first, second) in shapes {
        for rows in [0, 1, 100, 700] {
            for learner in LEARNERS {
                let shape = binary(rows, first, second);
                check(shape, shape.value_modulus().unwrap(), learner, 0.5);
            }
        }
    }
    for (first, second, rows) in [(200, 200, 37), (100, 100, 1000), (3, 4, 4096), (5, 2, 8193)] {
        let shape = binary(rows, first, second);
        for learner in LEARNERS {
            check(shape, shape.value_modulus().unwrap(), learner, 0.5);
        }
    }
}

#[test]
fn integers_of_every_kind() {
    for bits in [2, 8, 31, 32] {
        for signed in [false, true] {
            let integers = Integers::new(bits, signed).unwrap();
            for (rows, first, second) in [(1, 1, 1), (300, 3, 2), (4097, 1, 2)] {
                let shape = Shape { rows, first, second, integers };
                for learner in LEARNERS {
                    check(shape, shape.value_modulus().unwrap(), learner, 0.5);
                }
            }
        }
    }
    let signed_bits = Shape { integers: Integers::new(1, true).unwrap(), ..binary(500, 2, 2) };
    check(signed_bits, signed_bits.value_modulus().unwrap(), None, 0.5);
}

#[test]
fn every_modulus() {
    for value in
        [2, 3, 251, 256, 65537, (1 << 61) - 1, 1 << 64, (1 << 64) + 13, (1 << 126) + 1, (1 << 127) - 1, 1 << 127]
    {
        let modulus = Modulus::new(value).unwrap();
        for (bits, signed) in [(1, false), (20, true), (32, false)] {
            let integers = Integers::new(bits, signed).unwrap();
            for learner in [None, Some(Side::First)] {
                check(Shape { rows: 600, first: 2, second: 3, integers }, modulus, learner, 0.5);
            }
        }
    }
}

#[test]
fn a_learner_who_encrypts_holds_the_values() {
    let shape = binary(4000, 12, 12);
    let (params, [_, two]) = check(shape, shape.value_modulus().unwrap(), Some(Side::Second), 0.5);
    assert_eq!(params.encryptor(), Side::Second);
    assert!(params.values() && params.digits() > 1 && two.residues().iter().all(|&value| value > 0 && value <= 4000));
    // A modulus that does not hold the values must not become one that does.
    let (params, [_, two]) = check(shape, Modulus::new(16).unwrap(), Some(Side::Second), 0.5);
    assert!(!params.values() && params.digits() == 1 && two.residues().iter().all(|&value| value < 16));
}

#[test]
fn without_a_learner_nobody_is_given_values() {
    for (rows, first, second) in [(0, 1, 1), (1, 1, 1), (4000, 12, 12), (100_000, 100, 100), (1000, 1, 300)] {
        let shape = binary(rows, first, second);
        let modulus = shape.value_modulus().unwrap();
        for params in [Params::new(shape, modulus, None).unwrap(), Params::keeping(shape, modulus, 100).unwrap()] {
            assert!(!params.values() && params.digits() == 1, "{params:?}");
            assert!(params.answers_for(&[(0, 0)]).is_ok());
        }
        for learner in [Side::First, Side::Second] {
            let params = Params::new(shape, modulus, Some(learner)).unwrap();
            assert_eq!(params.values(), params.encryptor() == learner);
            // Values are not for chosen pairs, of which only shares may be wanted.
            assert_eq!(params.answers_for(&[(0, 0)]).is_err(), params.values(), "{params:?}");
        }
    }
}

#[test]
fn columns_that_were_not_agreed_on_are_refused() {
    let shape = binary(10, 2, 3);
    let params = Params::new(shape, shape.value_modulus().unwrap(), None).unwrap();
    let (mut channel, _other) = Channel::pair("first", "second");
    for wrong in [binary(9, 2, 3), binary(10, 3, 3), Shape { integers: Integers::new(2, false).unwrap(), ..shape }] {
        let columns = columns(&wrong, &values(&wrong, wrong.first, 0.5, &mut rng(1)));
        let refused = lattice::run(Side::First, &columns, &params, &session(), &mut channel, &mut rng(3));
        assert!(matches!(refused, Err(Error::Internal(_))));
    }
}

#[test]
fn what_no_parameters_hold_is_refused() {
    let wide =
        Shape { rows: u32::MAX as usize, first: 1 << 16, second: 1 << 16, integers: Integers::new(32, true).unwrap() };
    // The largest modulus still fits the largest degree.
    assert!(Params::new(Shape { first: 1, second: 1, ..wide }, Modulus::power_of_two(127).unwrap(), None).is_ok());
    let huge = Shape { rows: 1 << 24, first: 1 << 20, second: 1 << 20, integers: Integers::new(32, false).unwrap() };
    let columns = Shape { rows: 10, first: (1 << 16) + 1, second: 1, integers: Integers::BINARY };
    let products = Shape { rows: 10, first: 1 << 13, second: (1 << 13) + 1, integers: Integers::BINARY };
    let most = Shape { first: usize::MAX, second: usize::MAX, ..columns };
    for refused in [columns, products, huge, most, wide, Shape { second: 1, ..wide }] {
        for modulus in [16, 1 << 127].map(|value| Modulus::new(value).unwrap()) {
            for learner in LEARNERS {
                assert!(matches!(Params::new(refused, modulus, learner), Err(Error::Input(_))), "{refused:?}");
            }
            assert!(matches!(Params::keeping(refused, modulus, usize::MAX), Err(Error::Input(_))), "{refused:?}");
        }
    }
}

/// The largest inputs that are not refused at once: parameters are found or not, but soon, and nothing overflows.
#[test]
fn parameters_of_the_largest_inputs_are_found() {
    for (rows, first, second) in
        [(1 << 28, (1 << 16) - 1, 1 << 10), (0, 1 << 16, 1 << 10), (1 << 31, 8191, 8191), (3, 1023, 65535)]
    {
        for integers in [Integers::BINARY, Integers::new(32, true).unwrap()] {
            let shape = Shape { rows, first, second, integers };
            for modulus in [2, 1 << 127].map(|value| Modulus::new(value).unwrap()) {
                for learner in LEARNERS {
                    let params = Params::new(shape, modulus, learner).unwrap();
                    assert!(params.bytes_sent_by(Side::First) > 0 && params.bytes_sent_by(Side::Second) > 0);
                }
                assert!(Params::keeping(shape, modulus, 1 << 20).is_ok());
                assert!(matches!(Params::keeping(shape, modulus, usize::MAX), Ok(_) | Err(Error::Input(_))));
            }
        }
    }
}

/// The encryptor's columns stay; the answerer brings further columns of its own, and only some products are wanted.
#[test]
fn kept_columns_meet_further_columns_and_chosen_pairs() {
    for (rows, first, second) in [(300, 40, 50), (5000, 3, 9), (100, 2, 100)] {
        let shape = binary(rows, first, second);
        let modulus: Modulus = "2^20".parse().unwrap();
        let params = Params::keeping(shape, modulus, 1000).unwrap();
        let (a, b) = (values(&shape, first, 0.5, &mut rng(1)), values(&shape, second, 0.5, &mut rng(2)));
        let (own, others) = if params.encryptor() == Side::First { (&a, &b) } else { (&b, &a) };
        // Batches of pairs: some, one, a row of the matrix.
        let batches = [
            vec![(0, 1), (first - 1, second - 1), (0, 1), (1, 0)],
            vec![(1, 1)],
            (0..second).map(|j| (0, j)).collect(),
        ];
        let encrypt = |channel: &mut Channel| -> Result<Vec<Vec<(usize, usize, u128)>>> {
            let rng = &mut rng(3);
            let mut encryptor = Encryptor::new(&params, &session(), rng);
            encryptor.send_keys(channel)?;
            let columns = columns(&shape, own);
            for group in 0..params.groups().len() {
                encryptor.send_columns(&columns, group, channel, rng)?;
            }
            assert!(encryptor.send_columns(&columns, 0, channel, rng).is_err(), "a mask would be used twice");
            let receive = |pairs: &Vec<(usize, usize)>| {
                let mut shares = Vec::new();
                for answer in params.answers_for(pairs)? {
                    let values = encryptor.receive_answer(&answer, channel)?;
                    shares.extend(params.products_of(&answer).zip(values.iter()).map(|((i, j), &v)| (i, j, v)));
                }
                Ok(shares)
            };
            batches.iter().map(receive).collect()
        };
        let answer = |channel: &mut Channel| -> Result<Vec<Vec<(usize, usize, u128)>>> {
            let rng = &mut rng(4);
            let mut answerer = Answerer::receive_keys(&params, &session(), channel)?;
            let encrypted = answerer.receive_columns(channel)?;
            // The columns come in two parts.
            let cut = params.columns_in_polynomial() * (others.len() / params.columns_in_polynomial() / 2);
            let mut prepared = answerer.prepare(&columns(&shape, &others[..cut]), 0)?;
            prepared.append(answerer.prepare(&columns(&shape, &others[cut..]), cut)?)?;
            let mut batch = |pairs: &Vec<(usize, usize)>| {
                let (mut shares, answers) = (Vec::new(), params.answers_for(pairs)?);
                for answers in answers.chunk_by(|one, other| one.group == other.group) {
                    let products = answerer.multiply(&encrypted, &prepared, answers)?;
                    answerer.send_answers(answers, &products, channel, rng, |answer, values| {
                        shares.extend(params.products_of(answer).zip(values).map(|((i, j), &v)| (i, j, v)));
                    })?;
                }
                Ok(shares)
            };
            batches.iter().map(&mut batch).collect()
        };
        let (one, two) = both(encrypt, answer);
        for ((one, two), pairs) in one.iter().zip(&two).zip(&batches) {
            assert_eq!(one.len(), two.len());
            let mut found = Vec::new();
            for (&(i, j, v), &(k, l, w)) in one.iter().zip(two) {
                assert_eq!((i, j), (k, l));
                assert_eq!(modulus.add(v, w), modulus.residue(product(&a[i], &b[j])));
                found.push((i, j));
            }
            assert!(pairs.iter().all(|pair| found.contains(pair)));
        }
    }
}

#[test]
fn bytes_a_row_and_column_are_few() {
    let per_row = |shape: Shape, learner| {
        let params = Params::new(shape, shape.value_modulus().unwrap(), learner).unwrap();
        let columns = if params.encryptor() == Side::First { shape.first } else { shape.second };
        println!("{shape:?} {learner:?}: {params:?}, answers {}", params.bytes_sent_by(Side::Second));
        params.bytes_sent_by(params.encryptor()) as f64 / (shape.rows * columns) as f64
    };
    for (rows, first, second) in [(1_000_000, 1, 1), (100_000, 100, 100), (100_000, 1, 1), (100_000, 200, 200)] {
        let shape = binary(rows, first, second);
        let bytes = per_row(shape, None);
        assert!(bytes <= 13.0, "{shape:?}: {bytes}");
    }
    for (rows, first, second) in [(1_000_000, 10, 10), (100_000, 100, 100), (100_000, 200, 200)] {
        let shape = binary(rows, first, second);
        let bytes = per_row(shape, Some(Side::First));
        assert!(bytes <= 5.0, "{shape:?}: {bytes}");
    }
}

#[test]
#[ignore = "takes long: a million rows, and a matrix of 100 x 100 columns"]
fn large_inputs() {
    for (rows, first, second) in [(1_000_000, 1, 1), (100_000, 100, 100), (20_000, 200, 200)] {
        let shape = binary(rows, first, second);
        check(shape, shape.value_modulus().unwrap(), None, 0.5);
        check(shape, shape.value_modulus().unwrap(), Some(Side::First), 0.5);
    }
}

/// Some pairs: none, one, a diagonal, all; columns without a pair; in another order than that of columns.
#[test]
fn chosen_pairs_come_in_their_order() {
    for (rows, first, second) in [(0, 2, 2), (1, 1, 1), (300, 40, 50), (5000, 3, 9), (100, 2, 300), (9000, 33, 1)] {
        let shape = binary(rows, first, second);
        let modulus: Modulus = "2^20".parse().unwrap();
        let (a, b) = (values(&shape, first, 0.5, &mut rng(1)), values(&shape, second, 0.5, &mut rng(2)));
        let all: Vec<(u32, u32)> =
            (0..second as u32).rev().flat_map(|j| (0..first as u32).map(move |i| (i, j))).collect();
        let diagonal: Vec<(u32, u32)> = (0..first.min(second) as u32).map(|i| (i, i)).collect();
        let some: Vec<(u32, u32)> = all.iter().copied().filter(|(i, j)| (i * 7 + j * 3) % 11 == 0).collect();
        for pairs in [vec![], vec![(first as u32 - 1, 0)], diagonal, some, all] {
            let params = Params::of_pairs(shape, modulus, &pairs).unwrap();
            assert_eq!(params.products(), pairs.len());
            let sent = |side, columns: Columns, params: &Params, channel: &mut Channel| {
                let shares = lattice::run(side, &columns, params, &session(), channel, &mut rng(3 + side as u8))?;
                Ok((shares, channel.traffic().sent))
            };
            let ((one, sent_one), (two, sent_two)) = both(
                |channel| sent(Side::First, columns(&shape, &a), &params, channel),
                |channel| sent(Side::Second, columns(&shape, &b), &params, channel),
            );
            assert_eq!((one.len(), two.len()), (pairs.len(), pairs.len()));
            for ((&(i, j), v), w) in pairs.iter().zip(one.residues()).zip(two.residues()) {
                assert_eq!(modulus.add(*v, *w), modulus.residue(product(&a[i as usize], &b[j as usize])));
            }
            assert_eq!([params.bytes_sent_by(Side::First), params.bytes_sent_by(Side::Second)], [sent_one, sent_two]);
        }
    }
}

#[test]
fn pairs_that_stand_there_twice_or_of_no_columns_are_refused() {
    let modulus: Modulus = "2^20".parse().unwrap();
    for pairs in [&[(0, 1), (1, 1), (0, 1)][..], &[(2, 0)], &[(0, 3)]] {
        assert!(matches!(Params::of_pairs(binary(10, 2, 3), modulus, pairs), Err(Error::Internal(_))), "{pairs:?}");
    }
    let many = binary(10, 5000, 2);
    assert!(matches!(Params::of_pairs(many, modulus, &[(0, 0)]), Err(Error::Input(_))));
}
