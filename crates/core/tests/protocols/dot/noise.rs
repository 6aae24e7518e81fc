//! An attack that reads one person's value out of two products, without noise and under it.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::primitive::noise::{NoiseLaw, Privacy, Sensitivity};
use tacita_core::protocol::dot::ot::{self, Extension, Params};
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares, reveal};
use tacita_core::protocol::shares::at_least;
use tacita_core::session::Transcript;
use tacita_core::{Channel, Session, Side};

const PERSONS: usize = 300;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// The value of a person: pseudorandom, a third of them ones.
fn bit(person: usize) -> i64 {
    i64::from((person * person * 7919 + 13 * person) % 9 < 3)
}

/// Shares, of both parties, of the products of all persons' values with the attacker's columns: of all persons, and of
/// all but each.
fn products() -> [Shares; 2] {
    let (rows, integers) = (PERSONS, Integers::BINARY);
    let shape = Shape { rows, first: PERSONS + 1, second: 1, integers };
    let params =
        Params::new(shape, Modulus::power_of_two(32).unwrap(), Extension::SoftSpoken(4), Some(Side::First)).unwrap();
    let (mut attacker, mut victim) = (Columns::new(integers, rows), Columns::new(integers, rows));
    attacker.push(vec![1; rows]).unwrap();
    for person in 0..PERSONS {
        attacker.push((0..rows).map(|row| i64::from(row != person))).unwrap();
    }
    victim.push((0..rows).map(bit)).unwrap();
    let session = Session::new(Transcript::new("noise"));
    let (mut to_victim, mut to_attacker) = Channel::pair("attacker", "victim");
    std::thread::scope(|scope| {
        let victim = scope.spawn(|| ot::run(Side::Second, &victim, &params, &session, &mut to_attacker, &mut rng(1)));
        let attacker = ot::run(Side::First, &attacker, &params, &session, &mut to_victim, &mut rng(2)).unwrap();
        [attacker, victim.join().unwrap().unwrap()]
    })
}

/// Returns the numbers that the attacker reads when the victim opens its shares of products with this noise.
fn opened(shares: &[Shares; 2], noise: impl FnMut() -> i128) -> Vec<i128> {
    let noise: Vec<i128> = std::iter::repeat_with(noise).take(shares[1].len()).collect();
    let noised = shares[1].plus(&noise);
    let (mut to_victim, mut to_attacker) = Channel::pair("attacker", "victim");
    let numbers = std::thread::scope(|scope| {
        scope.spawn(|| reveal(&noised, false, true, &mut to_attacker).unwrap());
        reveal(&shares[0], true, false, &mut to_victim).unwrap().unwrap()
    });
    numbers.into_iter().map(|number| noised.modulus().integer(number, true)).collect()
}

/// Returns whether numbers are at least 1, as a comparison of the shares tells, with this noise in the victim's. Of
/// each product the attacker takes off what it knows: `known`.
fn compared(shares: &[Shares; 2], known: &[i128], tail: i128, noise: impl FnMut() -> i128, seed: u8) -> Vec<bool> {
    let noise: Vec<i128> = std::iter::repeat_with(noise).take(known.len()).collect();
    let above_least: Vec<i128> = known.iter().map(|known| tail - known).collect();
    let [attacker, victim] = [shares[0].plus(&above_least), shares[1].plus(&noise)];
    let (bound, threshold) = (2 * tail as u128 + 1, tail as u128 + 1);
    let session = Session::new(Transcript::new("noise"));
    let (mut to_victim, mut to_attacker) = Channel::pair("attacker", "victim");
    let run = |side, shares: &Shares, channel: &mut Channel, seed| {
        at_least::run(side, shares, bound, threshold, &session, channel, &mut rng(seed)).unwrap()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| run(Side::Second, &victim, &mut to_attacker, seed));
        run(Side::First, &attacker, &mut to_victim, seed + 100)
    })
}

/// The same attack by comparisons with a threshold: what is compared has its noise before, so that an answer tells no
/// more than the number with noise. Without noise, each tells a value.
#[test]
fn answers_to_comparisons_tell_no_more_than_epsilon_allows() {
    let shares = products();
    let exact = opened(&shares, || 0);
    // The product over all persons, once for each person, and what the attacker knows of it.
    let of_all = |shares: &Shares| Shares::new(shares.modulus(), vec![shares.residues()[0]; PERSONS]).unwrap();
    let shares = shares.each_ref().map(of_all);
    let known: Vec<i128> = (0..PERSONS).map(|person| exact[0] - i128::from(bit(person))).collect();
    let told = compared(&shares, &known, 8, || 0, 1);
    assert!((0..PERSONS).all(|person| told[person] == (bit(person) == 1)));

    for (seed, epsilon) in [(3u8, 0.5f64), (4, 1.0), (5, 2.0)] {
        let privacy = Privacy::new(&epsilon.to_string(), None).unwrap();
        // Each comparison is a release of its own.
        let law = NoiseLaw::new(privacy, Sensitivity { changed: 1, by: 1 }, PERSONS as u64).unwrap();
        let (mut rng, times) = (rng(seed), 20);
        let tail = law.tail(1).unwrap() as i128;
        let mut right = 0;
        for time in 0..times {
            let mut noise = law.draw(&mut rng).to_vec().into_iter();
            let told = compared(&shares, &known, tail, || noise.next().unwrap(), 10 + time);
            right += (0..PERSONS).filter(|&person| told[person] == (bit(person) == 1)).count();
        }
        let guesses = usize::from(times) * PERSONS;
        let (right, bound) = (right as f64 / guesses as f64, epsilon.exp() / (1.0 + epsilon.exp()));
        let deviation = 0.5 / (guesses as f64).sqrt();
        assert!((right - bound).abs() < 4.0 * deviation, "epsilon {epsilon}: {right} of {bound}");
    }
}

/// Without noise the attack reads every value. Under it, guesses are right as often as epsilon allows, and no more: for
/// the best guess from one product e^epsilon / (1 + e^epsilon), and for two products less than with twice epsilon.
#[test]
fn guesses_are_right_as_often_as_epsilon_allows() {
    let shares = products();
    let exact = opened(&shares, || 0);
    assert!((0..PERSONS).all(|person| exact[0] - exact[person + 1] == i128::from(bit(person))));

    for (seed, epsilon) in [(3, 0.5f64), (4, 1.0), (5, 2.0)] {
        // Each product is a release of its own.
        let privacy = Privacy::new(&epsilon.to_string(), None).unwrap();
        let law = NoiseLaw::new(privacy, Sensitivity { changed: 1, by: 1 }, 1).unwrap();
        let (mut rng, times) = (rng(seed), 40);
        let (mut of_one, mut of_two) = (0, 0);
        for _ in 0..times {
            let all = opened(&shares, || law.draw(&mut rng)[0]);
            let without = opened(&shares, || law.draw(&mut rng)[0]);
            for person in 0..PERSONS {
                // The attacker knows all others.
                let of_others = exact[0] - i128::from(bit(person));
                let released = exact[0] + (all[person] - exact[person]);
                of_one += usize::from((released > of_others) == (bit(person) == 1));
                of_two += usize::from((released > without[person + 1]) == (bit(person) == 1));
            }
        }
        let guesses = (times * PERSONS) as f64;
        let right = |count: usize| count as f64 / guesses;
        let bound = |epsilon: f64| epsilon.exp() / (1.0 + epsilon.exp());
        let deviation = 0.5 / guesses.sqrt();
        let (one, two) = (right(of_one), right(of_two));
        assert!((one - bound(epsilon)).abs() < 4.0 * deviation, "epsilon {epsilon}: {one} of {}", bound(epsilon));
        assert!(two < bound(2.0 * epsilon) && two > 0.5, "epsilon {epsilon}: {two}");
    }
}

/// Noise goes into a share as an integer does, and comes out with its sign.
#[test]
fn noise_is_read_with_its_sign() {
    for modulus in [Modulus::power_of_two(40).unwrap(), Modulus::new(10u128.pow(30)).unwrap()] {
        let (one, two) = (Shares::random(modulus, 3, &mut rng(6)), Shares::random(modulus, 3, &mut rng(7)));
        let exact = one.open(&two);
        let noised = one.plus(&[-3, 0, 1_000_000]).open(&two.plus(&[-4, 5, 0]));
        let differences: Vec<i128> = noised
            .iter()
            .zip(&exact)
            .map(|(&noised, &exact)| modulus.integer(modulus.subtract(noised, exact), true))
            .collect();
        assert_eq!(differences, [-7, 5, 1_000_000]);
    }
}
