//! Noise at its worst, and what the encryptor reads from the noise of answers: nothing, but only because it is flooded.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::answerer::{EncryptedColumns, GroupProducts};
use super::blocks::{EncryptedBlocks, PreparedBlocks, Sums};
use super::noise::{Noise, decodes};
use super::params::{ColumnGroup, LatticeAnswer};
use super::plaintext::{Encoder, ShareEncoder};
use super::*;
use crate::primitive::kernel::{Block, Prg, Prime};
use crate::primitive::rlwe::{self, ERROR_BOUND, Ring, RlweSecretKey, Uniform, pack};
use crate::protocol::dot::{Integers, Modulus, Shape};
use crate::session::Transcript;
use zeroize::Zeroizing;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn session() -> Session {
    Session::new(Transcript::new("test"))
}

fn shape(rows: usize, first: usize, second: usize, bits: u32, signed: bool) -> Shape {
    Shape { rows, first, second, integers: Integers::new(bits, signed).unwrap() }
}

/// The modulus that holds the shape's values.
fn parameters(shape: Shape, learner: Option<Side>) -> Params {
    Params::new(shape, shape.value_modulus().unwrap(), learner).unwrap()
}

fn constant(shape: &Shape, count: usize, value: i64) -> Columns {
    let mut columns = Columns::new(shape.integers, shape.rows);
    (0..count).for_each(|_| columns.push(std::iter::repeat_n(value, shape.rows)).unwrap());
    columns
}

/// x - y, both given by their residues: the number next to zero, which must be less than 2^60 in absolute value if
/// there are more than two primes.
fn difference(ring: &Ring, x: &[u64], y: &[u64]) -> i128 {
    let primes: Vec<_> = ring.primes().iter().map(|ntt| *ntt.prime()).collect();
    let wanted: Vec<_> = (0..primes.len()).map(|index| primes[index].subtract(x[index], y[index])).collect();
    // From the first two primes; the others must agree.
    let digit = primes[1].subtract(wanted[1], primes[1].reduce(wanted[0]));
    let digit = primes[1].multiply(digit, primes[1].invert(primes[1].reduce(primes[0].value())));
    let number = i128::from(wanted[0]) + i128::from(primes[0].value()) * i128::from(digit);
    let product = i128::from(primes[0].value()) * i128::from(primes[1].value());
    let number = if number > product / 2 { number - product } else { number };
    let residue = |prime: &Prime| number.rem_euclid(i128::from(prime.value())) as u64;
    assert!(primes.iter().zip(&wanted).all(|(prime, &wanted)| residue(prime) == wanted));
    number
}

/// The error of the first output of `sums`, before anything is added to it: its phase less the sum of q / base^(k - j)
/// times digit j of k, but for the fractions that are left out: less than 1 for each digit.
fn error(params: &Params, ring: &Ring, key: &RlweSecretKey, sums: &Sums, digits: &[i128]) -> i128 {
    let [mut first, mut second] = sums.halves(ring, 0);
    let degree = params.degree;
    let q = ring.modulus(params.primes);
    assert_eq!(params.digits, digits.len());
    let encoded: Vec<_> = (0..)
        .zip(digits)
        .map(|(digit, value)| {
            let product = rlwe::multiply(&q, &limbs(value.unsigned_abs()));
            (value < &0, rlwe::divide(&product, 0, &rlwe::power(&limbs(params.base), params.digits - digit)))
        })
        .collect();
    let (mut phase, mut exact) = (Vec::new(), Vec::new());
    for (index, ntt) in ring.primes().iter().enumerate() {
        let prime = ntt.prime();
        let part = index * degree..(index + 1) * degree;
        ntt.inverse(&mut first[part.clone()]);
        ntt.inverse(&mut second[part.clone()]);
        let product = key.negative_product(ring, index, &mut second[part.clone()]);
        phase.push(prime.subtract(first[part.start], product[0]));
        exact.push(encoded.iter().fold(0, |sum, (negative, encoded)| {
            if *negative {
                prime.subtract(sum, prime.reduce_limbs(encoded))
            } else {
                prime.add(sum, prime.reduce_limbs(encoded))
            }
        }));
    }
    difference(ring, &phase, &exact)
}

fn limbs(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

/// Encrypts all blocks of the first group under `key`, with these errors in the coefficients.
fn encrypted(
    (params, ring): (&Params, &Ring),
    key: &RlweSecretKey,
    columns: &Columns,
    masks: &Uniform,
    errors: impl Fn(usize) -> i64,
) -> EncryptedBlocks {
    let encoder = Encoder::new(params, ring);
    let mut payload = Vec::new();
    for block in 0..params.blocks() {
        let errors = Zeroizing::new((0..params.degree).map(&errors).collect());
        let mut values = encoder.block(columns, (params, ring), (0, block), errors);
        let mut mask = vec![0; params.degree];
        for (index, values) in values.chunks_exact_mut(params.degree).enumerate() {
            masks.fill(&ring.primes()[index], params.prime_bits, (block * params.primes + index) as u64, &mut mask);
            key.encrypt(ring, index, &mask, values);
            pack(params.prime_bits, values, &mut payload);
        }
    }
    EncryptedBlocks::read((params, ring), masks, 0, &payload).unwrap()
}

#[test]
fn the_largest_errors_of_the_largest_columns_are_within_the_bound() {
    for (rows, bits, signed) in [(9000, 1, false), (5000, 8, true), (4097, 16, false), (300, 16, true)] {
        let shape = shape(rows, 1, 1, bits, signed);
        let params = parameters(shape, None);
        let (ring, layout) = (params.ring(), params.layout(0));
        let key = RlweSecretKey::new(&ring, &mut Prg::new(Block(1)));
        let masks = Uniform::new([7; 16]);
        let (low, high) = shape.integers.range();
        for (x, y) in [(high, high), (high, low), (low, high), (low, low), (0, low)] {
            for sign in [1, -1] {
                let (columns, others) = (constant(&shape, 1, x), constant(&shape, 1, y));
                let errors = |_| sign * ERROR_BOUND as i64;
                let blocks = encrypted((&params, &ring), &key, &columns, &masks, errors);
                let prepared = PreparedBlocks::new(&others, (&ring, &layout), 0, 0..params.blocks());
                let mut sums = Sums::new(&ring, 1);
                sums.add((&ring, &layout), &blocks, 0, &[&prepared]);
                let value = rows as i128 * i128::from(x) * i128::from(y);
                let error = error(&params, &ring, &key, &sums, &[value]).unsigned_abs();
                let each = u128::from(ERROR_BOUND) + u128::from(noise::ROUNDING);
                assert!(error <= each * u128::from(y.unsigned_abs()) * rows as u128 + 1);
                assert!(error <= params.noise().bound().unwrap());
                // The bound is no larger than it has to be: all errors add up.
                assert!(error + 2 >= (each - 4) * u128::from(y.unsigned_abs()) * rows as u128, "{error}");
            }
        }
    }
}

/// Several columns of the answerer in a polynomial, and several of the encryptor in a number, all errors with the signs
/// that let them add up, and numbers that are halfway between two multiples when they are encoded.
#[test]
fn columns_that_share_polynomials_and_numbers_are_within_the_bound() {
    const ROWS: usize = 3000;
    for (digits, others) in [(1, 8), (7, 1), (7, 8)] {
        let shape = shape(ROWS, digits, others, 8, false);
        let params = parameters(shape, Some(Side::First));
        let groups = vec![ColumnGroup { columns: 0..digits, slots: 1 }];
        let (degree, base) = (16384, 1 << 28);
        let params = Params {
            encryptor: Side::First,
            values: true,
            degree,
            prime_bits: 49,
            primes: 7,
            digits,
            others,
            base,
            groups,
            ..params
        };
        let (ring, layout) = (params.ring(), params.layout(0));
        let key = RlweSecretKey::new(&ring, &mut Prg::new(Block(1)));
        let ys = constant(&shape, others, 255);
        for up in [true, false] {
            let mut xs = Columns::new(shape.integers, ROWS);
            let mut values = Vec::new();
            for digit in 0..digits {
                // The fraction of q / base^(k - j), in parts of 2^64.
                let divisor = rlwe::power(&limbs(base), digits - digit);
                let fraction = rlwe::divide(&ring.modulus(params.primes), 64, &divisor)[0];
                let beyond_half = |value: &u64| value.wrapping_mul(fraction).wrapping_sub(1 << 63);
                let value =
                    if up { (1..256).min_by_key(beyond_half) } else { (1..256).max_by_key(beyond_half) }.unwrap();
                xs.push(std::iter::repeat_n(value as i64, ROWS)).unwrap();
                values.push(i128::from(value) * 255 * ROWS as i128);
            }
            // What meets the first rows of all columns but one changes its sign, as X^N = -1.
            let sign = |coefficient: usize| if (coefficient > degree - others) == up { -1 } else { 1 };
            let errors = |coefficient| sign(coefficient) * ERROR_BOUND as i64;
            let blocks = encrypted((&params, &ring), &key, &xs, &Uniform::new([7; 16]), errors);
            let prepared = PreparedBlocks::new(&ys, (&ring, &layout), 0, 0..params.blocks());
            let mut sums = Sums::new(&ring, 1);
            sums.add((&ring, &layout), &blocks, 0, &[&prepared]);
            let error = error(&params, &ring, &key, &sums, &values);
            assert_eq!(error > 0, up);
            let error = error.unsigned_abs() as f64;
            assert!(error <= params.noise().bound().unwrap() as f64);
            // As large as all errors make it that meet a number of one of the columns, and nearly half a unit of each
            // digit that meets one of the first column.
            let meeting = |others: usize| (255 * ROWS * others) as f64;
            let least = 21.0 * meeting(others) + (0.48 * meeting(1) - 2.0) * digits as f64;
            assert!(error >= least, "{error} {least}");
            // It is beyond every bound that forgets something.
            let noise = params.noise();
            if others > 1 {
                assert!(error > Noise { others: 1, ..noise }.bound().unwrap() as f64);
            }
            if digits > 1 {
                assert!(error > Noise { digits: 0, ..noise }.bound().unwrap() as f64);
            }
        }
    }
}

#[test]
fn fresh_zeros_are_within_the_bound() {
    // e u + e' + e'' s, all as large as they can be: coefficient N - 1 has N terms of each product.
    let (degree, largest) = (4096, ERROR_BOUND as i64);
    let ring = Ring::new(degree, 50, 2);
    let key = RlweSecretKey::from_negative(&ring, &vec![-1; degree]);
    let (mut mask, mut first) = (ring.zero(), ring.zero());
    for (index, ntt) in ring.primes().iter().enumerate() {
        let part = index * degree..(index + 1) * degree;
        Uniform::new([6; 16]).fill(ntt, 50, index as u64, &mut mask[part.clone()]);
        ntt.prime().small(&vec![largest; degree], &mut first[part.clone()]);
        key.encrypt(&ring, index, &mask[part.clone()], &mut first[part]);
    }
    let mut zero = [ring.zero(), ring.zero()];
    let [first_half, second_half] = &mut zero;
    rlwe::RlwePublicKey { first, mask }.add_times(&ring, &vec![1; degree], [first_half, second_half]);
    let mut phase = Vec::new();
    for (index, ntt) in ring.primes().iter().enumerate() {
        let part = index * degree..(index + 1) * degree;
        for half in [&mut *first_half, second_half] {
            ntt.inverse(&mut half[part.clone()]);
            half[part.clone()].iter_mut().for_each(|value| *value = ntt.prime().add_small(*value, largest));
        }
        let product = key.negative_product(&ring, index, &mut second_half[part.clone()]);
        phase.push(ntt.prime().subtract(first_half[part.end - 1], product[degree - 1]));
    }
    let error = difference(&ring, &phase, &[0, 0]);
    assert_eq!(error, i128::from(largest) * (2 * degree as i128 + 1));
    // The error of writing the share is all that there is beside it.
    let noise = Noise { degree, rows: 0, others: 1, digits: 1, largest: 1, answers: 1 };
    assert_eq!(noise.bound(), Some(error as u128 + u128::from(noise::ROUNDING)));
}

/// Shapes, moduli and learners whose parameters are of every degree.
fn examples() -> Vec<Params> {
    let mut all = Vec::new();
    for (rows, first, second) in [(1, 1, 1), (1000, 3, 200), (1_000_000, 1, 1), (100_000, 100, 100), (1 << 32, 5, 5)] {
        for (bits, signed) in [(1, false), (12, true), (32, false)] {
            let shape = shape(rows.min(u32::MAX as usize), first, second, bits, signed);
            for learner in [None, Some(Side::First), Some(Side::Second)] {
                all.push(parameters(shape, learner));
            }
            for modulus in [2, 65537, 1 << 64, (1 << 127) - 1] {
                all.push(Params::new(shape, Modulus::new(modulus).unwrap(), None).unwrap());
            }
            all.push(Params::keeping(shape, shape.value_modulus().unwrap(), 1_000_000).unwrap());
        }
    }
    all
}

#[test]
fn parameters_are_secure_and_never_decode_wrongly() {
    let mut degrees = std::collections::HashSet::new();
    for params in examples() {
        let (bits, primes) = params.prime_bits();
        assert!(bits * primes as u32 <= rlwe::most_modulus_bits(params.degree()), "{params:?}");
        degrees.insert(params.degree());
        let (noise, ring) = (params.noise(), params.ring());
        let divisor: Vec<u64> =
            ring.primes()[params.kept..].iter().fold(vec![1], |p, ntt| rlwe::multiply(&p, &[ntt.prime().value()]));
        let modulus = ring.modulus(params.primes);
        // With the primes that there are: outputs are right with certainty, for every input and every error.
        assert!(decodes(&noise, &params.plaintext(), &modulus, &divisor), "{params:?}");
        // The flood has sigma + log2(N answers) bits more than the bound.
        let least = rlwe::multiply(
            &rlwe::multiply(&rlwe::power(&[2], 40), &[noise.degree as u64]),
            &rlwe::multiply(&[noise.answers as u64], &{
                let bound = noise.bound().unwrap();
                [bound as u64, (bound >> 64) as u64]
            }),
        );
        assert!(rlwe::at_least(&params.flood().unwrap().bound(), &least), "{params:?}");
        // One prime less would not do.
        let smaller = ring.modulus(params.primes - 1);
        assert!(!decodes(&noise, &params.plaintext(), &smaller, &[1]), "{params:?}");
    }
    assert_eq!(degrees.len(), 4, "{degrees:?}");
}

/// The errors that an encryptor sees in answers to columns of zeros, or of ones; flooded or not.
fn seen(ones: bool, flooded: bool) -> Vec<i128> {
    let shape = shape(4096, 1, 1, 1, false);
    let params = Params::keeping(shape, shape.value_modulus().unwrap(), 1000).unwrap();
    let ring = params.ring();
    let flood = params.flood().unwrap();
    let (layout, masks) = (params.layout(0), Uniform::new([5; 16]));
    let key = RlweSecretKey::new(&ring, &mut Prg::new(Block(3)));
    let blocks = encrypted((&params, &ring), &key, &constant(&shape, 1, 0), &masks, |index| (index % 22) as i64);
    let others = constant(&shape, 1, i64::from(ones));
    let prepared = PreparedBlocks::new(&others, (&ring, &layout), 0, 0..1);
    let mut sums = Sums::new(&ring, 1);
    sums.add((&ring, &layout), &blocks, 0, &[&prepared]);
    let unflooded = error(&params, &ring, &key, &sums, &[0]);
    let prg = &mut Prg::new(Block(if ones { 8 } else { 9 }));
    let one = |_| {
        let mut residues: Vec<_> =
            ring.primes().iter().map(|ntt| ntt.prime().reduce_signed(unflooded as i64)).collect();
        if flooded {
            flood.add(ring.primes(), &mut residues, prg);
        }
        difference(&ring, &residues, &vec![0; ring.primes().len()])
    };
    (0..400).map(one).collect()
}

#[test]
fn flooded_errors_tell_nothing_and_others_do() {
    // The encryptor knows its errors, so that the sum of those that met a one tells how many there are, and which.
    let expected: i128 = (0..4096).map(|index| index % 22).sum();
    assert!(seen(false, false).iter().all(|&error| error == 0));
    assert!(seen(true, false).iter().all(|&error| error == expected));
    // Flooded, both are uniform over one range: the Kolmogorov-Smirnov distance of the two samples is small, at a level
    // of 10^-6, and the flood is 2^52 times as large as what it hides.
    let (mut zeros, mut ones) = (seen(false, true), seen(true, true));
    zeros.sort();
    ones.sort();
    let below = |sample: &[i128], bound: i128| sample.partition_point(|&error| error <= bound) as f64 / 400.0;
    let distance = |one: &[i128], other: &[i128]| {
        one.iter().map(|&bound| (below(one, bound) - below(other, bound)).abs()).fold(0.0, f64::max)
    };
    assert!(distance(&zeros, &ones) < 0.19, "{}", distance(&zeros, &ones));
    assert!(distance(&seen(false, false), &seen(true, false)) > 0.9);
    let largest = ones.iter().map(|error| error.unsigned_abs()).max().unwrap();
    assert!(largest > (expected as u128) << 50);
}

/// Returns both parties after the encryptor's columns have come, the answers of the first group, and the products for
/// them.
fn multiplied(
    params: &Params,
    own: &Columns,
    others: &Columns,
) -> (Encryptor, Answerer, Vec<LatticeAnswer>, GroupProducts) {
    let (mut one, mut two) = Channel::pair("encryptor", "answerer");
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| {
            let mut encryptor = Encryptor::new(params, &session(), &mut rng(1));
            encryptor.send_keys(&mut one).unwrap();
            for group in 0..params.groups.len() {
                encryptor.send_columns(own, group, &mut one, &mut rng(2)).unwrap();
            }
            encryptor
        });
        let answerer = Answerer::receive_keys(params, &session(), &mut two).unwrap();
        let encrypted = answerer.receive_columns(&mut two).unwrap();
        let answers = params.answers(0);
        let products = answerer.multiply(&encrypted, &answerer.prepare(others, 0).unwrap(), &answers).unwrap();
        (sent.join().unwrap(), answerer, answers, products)
    })
}

/// An answer is exactly what the protocol's description says, with what a generator gives: u; e''; e'; then for each
/// output the flood and the share, before the switch.
#[test]
fn answers_are_made_step_by_step() {
    let (few, many) = (shape(2000, 4, 5, 1, false), shape(4000, 9, 9, 1, false));
    // With all primes kept as well, for what a switch rounds away: an error e'' is rarely seen after it.
    for (shape, learner, switched) in [(few, None, true), (few, None, false), (many, Some(Side::First), true)] {
        let mut params = parameters(shape, learner);
        assert_eq!((params.encryptor, params.values), (Side::First, learner.is_some()));
        assert!(params.kept < params.primes);
        if !switched {
            params.kept = params.primes;
        }
        let (a, b) = (constant(&shape, shape.first, 1), constant(&shape, shape.second, 1));
        let (encryptor, answerer, answers, products) = multiplied(&params, &a, &b);
        let (ring, degree, layout) = (&encryptor.ring, params.degree, params.layout(0));
        let (flood, switch) = (params.flood().unwrap(), rlwe::Switch::new(ring, params.kept));
        for (place, answer) in answers.iter().enumerate() {
            let seed = Block(1000 + place as u128);
            let mut prg = Prg::new(seed);
            let u = rlwe::ternary(degree, &mut prg);
            let errors = [degree, answer.wanted.len()].map(|count| rlwe::errors(count, &mut prg));
            let mut halves = products.sums.halves(ring, place);
            for (half, key) in halves.iter_mut().zip([&encryptor.public.first, &encryptor.public.mask]) {
                let keys = key.chunks_exact(degree).zip(ring.primes());
                for (half, (key, ntt)) in half.chunks_exact_mut(degree).zip(keys) {
                    let mut u: Vec<_> = u.iter().map(|&coefficient| ntt.prime().reduce_signed(coefficient)).collect();
                    ntt.forward(&mut u);
                    ntt.multiply_add(key, &u, half);
                    ntt.inverse(half);
                }
            }
            let number = |half: &[u64], coefficient: usize, error: i64| -> Vec<u64> {
                let values = half.iter().skip(coefficient).step_by(degree).zip(ring.primes());
                values.map(|(&value, ntt)| ntt.prime().add(value, ntt.prime().reduce_signed(error))).collect()
            };
            let mut numbers: Vec<_> = (0..degree).map(|index| number(&halves[1], index, errors[0][index])).collect();
            let mut shares = Vec::new();
            for (&(slot, other), &error) in answer.wanted.iter().zip(errors[1].iter()) {
                let mut output = number(&halves[0], layout.output(slot, other), error);
                flood.add(ring.primes(), &mut output, &mut prg);
                match learner {
                    None => shares.push(ShareEncoder::new(&params, ring).add(ring, &mut output, &mut prg)),
                    Some(_) => shares.extend(vec![0; params.digits]),
                }
                numbers.push(output);
            }
            numbers.iter_mut().for_each(|number| switch.apply(number));
            let messages: Vec<_> = (0..params.kept)
                .map(|index| {
                    let mut bytes = Vec::new();
                    let residues: Vec<_> = numbers.iter().map(|number| number[index]).collect();
                    pack(params.prime_bits, &residues, &mut bytes);
                    bytes
                })
                .collect();
            let (found, found_shares) = answerer.answer(answer, &products, &mut Prg::new(seed)).unwrap();
            assert!(found == messages && found_shares[..] == shares[..], "answer {place} of {params:?}");
        }
    }
}

/// Checks the values that the encryptor sees beside its share in real answers: errors that fill the flood's range
/// evenly, whatever the column.
#[test]
fn answers_are_flooded() {
    const ANSWERS: usize = 400;
    let shape = shape(300, 1, 1, 1, false);
    let params = Params::keeping(shape, shape.value_modulus().unwrap(), ANSWERS).unwrap();
    assert_eq!((params.kept, params.primes), (1, 2));
    for y in [0, 1] {
        let (a, b) = (constant(&shape, 1, 1), constant(&shape, 1, y));
        let (encryptor, answerer, answers, products) = multiplied(&params, &a, &b);
        let answer = &answers[0];
        let [kept, divisor] = [0, 1].map(|index| *encryptor.ring.primes()[index].prime());
        let mut prg = Prg::new(Block(4));
        let errors = (0..ANSWERS).map(|_| {
            let (payloads, shares) = answerer.answer(answer, &products, &mut prg).unwrap();
            let mut residues = vec![0; params.degree + 1];
            assert!(rlwe::unpack(params.prime_bits, kept.value(), &payloads[0], &mut residues));
            let (second, output) = residues.split_at_mut(params.degree);
            let product = encryptor.key.negative_product(&encryptor.ring, 0, second);
            let share = params.modulus.subtract(300 * y as u128, shares[0]);
            let exact = (share * u128::from(kept.value()) / params.modulus.value()) as u64;
            let error = kept.subtract(kept.subtract(output[0], product[0]), exact);
            if error > kept.value() / 2 { error as f64 - kept.value() as f64 } else { error as f64 }
        });
        let errors: Vec<f64> = errors.collect();
        let flood =
            params.flood().unwrap().bound().iter().rev().fold(0.0, |sum, &limb| sum * 2f64.powi(64) + limb as f64);
        let (range, slack) = (flood / divisor.value() as f64, params.degree as f64 + 2.0);
        assert!(range > 1e6 && errors.iter().all(|error| error.abs() <= range + slack));
        let mut counts = [0; 8];
        errors.iter().for_each(|error| counts[(((error / range + 1.0) * 4.0) as usize).min(7)] += 1);
        // 50 each are expected; without the flood all would be in the middle.
        assert!(counts.iter().all(|count| (20..=85).contains(count)), "{counts:?}");
    }
}

#[test]
fn columns_that_leave_a_hole_and_no_answers_are_refused() {
    let shape = shape(100, 2, 7, 1, false);
    let params = Params::keeping(shape, shape.value_modulus().unwrap(), 10).unwrap();
    let params =
        Params { encryptor: Side::First, others: 2, groups: vec![ColumnGroup { columns: 0..2, slots: 2 }], ..params };
    let (a, b) = (constant(&shape, 2, 1), constant(&shape, 7, 1));
    let (_, answerer, answers, products) = multiplied(&params, &a, &b);
    assert_eq!((answers.len(), products.sums.polynomials), (4, 4));
    let prepare = |count: usize, start: usize| answerer.prepare(&constant(&shape, count, 1), start);
    let refused = |result: Result<()>| assert!(matches!(result, Err(Error::Internal(_))));
    // The fourth column would never be there.
    refused(prepare(3, 0).map(drop));
    refused(prepare(2, 1).map(drop));
    refused(prepare(4, 4).map(drop));
    let mut prepared = prepare(2, 0).unwrap();
    refused(prepared.append(prepare(3, 4).unwrap()));
    prepared.append(prepare(2, 2).unwrap()).unwrap();
    prepared.append(prepare(3, 4).unwrap()).unwrap();
    let encrypted = EncryptedColumns { groups: Vec::new() };
    refused(answerer.multiply(&encrypted, &prepared, &[]).map(drop));
}

#[test]
fn keys_of_another_session_do_not_decrypt() {
    let shape = shape(50, 2, 2, 1, false);
    let params = parameters(shape, None);
    let (a, b) = (constant(&shape, 2, 1), constant(&shape, 2, 1));
    let opened = |other: Session| {
        let (mut one, mut two) = Channel::pair("first", "second");
        std::thread::scope(|scope| {
            let first = scope.spawn(|| run(Side::First, &a, &params, &session(), &mut one, &mut rng(1)).unwrap());
            let second = run(Side::Second, &b, &params, &other, &mut two, &mut rng(2)).unwrap();
            first.join().unwrap().open(&second)
        })
    };
    assert_eq!(opened(session()), [50; 4]);
    // The masks are those of the session: the answerer multiplies with others.
    assert_ne!(opened(Session::new(Transcript::new("another"))), [50; 4]);
}

/// Checks that neither party does more than agreed: no mask hides two plaintexts, and the flood is for as many answers
/// as were agreed on.
#[test]
fn what_was_agreed_on_once_is_refused_again() {
    let shape = shape(2000, 4, 5, 1, false);
    let params = parameters(shape, None);
    let (a, b) = (constant(&shape, 4, 1), constant(&shape, 5, 1));
    let (mut encryptor, mut answerer, answers, products) = multiplied(&params, &a, &b);
    let (mut one, mut two) = Channel::pair("encryptor", "answerer");
    let again = encryptor.send_columns(&a, 0, &mut two, &mut rng(3)).unwrap_err();
    assert!(matches!(&again, Error::Internal(text) if text.contains("once each")), "{again:?}");
    assert_eq!(two.traffic().sent, 0);

    let most = params.noise().answers;
    let (given, refused) = std::thread::scope(|scope| {
        scope.spawn(|| while one.receive_up_to(ANSWERS, crate::channel::MAX_PAYLOAD_BYTES).is_ok() {});
        let mut given = 0;
        let refused = loop {
            let ended = answerer.send_answers(&answers[..1], &products, &mut two, &mut rng(4), |_, _| given += 1);
            if let Err(error) = ended {
                break error;
            }
            assert!(given <= most);
        };
        drop(two);
        (given, refused)
    });
    assert_eq!(given, most);
    assert!(matches!(&refused, Error::Internal(text) if text.contains("more answers")), "{refused:?}");
}

/// Two keys of one session have other masks: what is encrypted under one says nothing of what is under the other.
#[test]
fn every_key_has_masks_of_its_own() {
    let params = parameters(shape(50, 2, 2, 1, false), None);
    let of = |seed, session: Session| Encryptor::new(&params, &session, &mut rng(seed)).public.mask;
    let all = [of(1, session()), of(2, session()), of(1, Session::new(Transcript::new("another")))];
    assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
}
