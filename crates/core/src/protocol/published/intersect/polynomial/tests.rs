//! Tests of the opened values, in a group in which all of it can be counted. Also tests the bins' bound, with a
//! probability of overflow high enough to be seen.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::bins::root;
use super::{ANSWERS, POLYNOMIALS, PUBLIC_KEY, Params, PolynomialRequest, PolynomialReveal, Strategy, rows, values};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::elgamal::{self, ElGamalSecretKey};
use crate::primitive::group::{Group, ModP, ScalarField};
use crate::primitive::okvs;
use crate::primitive::published::polynomial::{self, Module, Scalars, divide, evaluate_one, expand, multiply};
use crate::protocol::intersect::buckets::bucket_of;
use crate::security::Level;

type Scalar = <ModP as ScalarField>::Scalar;

const STRATEGY: polynomial::MultiplyStrategy = polynomial::MultiplyStrategy::Schoolbook;
const ORDER: usize = 1019;

fn polynomial_of(group: &ModP, items: &[Item]) -> Vec<Scalar> {
    expand(group, STRATEGY, &items.iter().map(|item| root(group, item)).collect::<Vec<_>>())
}

fn params(reveal: PolynomialReveal, mine: &[Item], theirs: &[Item]) -> Params {
    let (strategy, bins) = (Some(Strategy::Schoolbook), Some(1));
    Params::new(PolynomialRequest { level: Level::Bits128, reveal, strategy, bins, runs: 1 }, mine.len(), theirs.len())
        .unwrap()
}

/// h, as the receiver opens it in a run with the real sender. None, if somebody refuses the identity, which in so small
/// a group comes by chance.
fn opened(group: &ModP, mine: &[Item], theirs: &[Item], rng: &mut ChaCha20Rng) -> Option<Vec<Scalar>> {
    let params = params(PolynomialReveal::Rows, mine, theirs);
    let senders = ChaCha20Rng::from_rng(rng);
    let send = |channel: &mut Channel| rows::send_in(group, theirs, &params, channel, senders);
    let logarithms = answered(group, mine, params.answers_of_bin(), rng, send)?;
    Some(logarithms.into_iter().map(|value| group.scalar(value)).collect())
}

/// Decrypts so many answers of a sender as the receiver.
fn answered(
    group: &ModP,
    mine: &[Item],
    answers: usize,
    rng: &mut ChaCha20Rng,
    sender: impl FnOnce(&mut Channel) -> Result<()> + Send,
) -> Option<Vec<u64>> {
    let secret = ElGamalSecretKey::generate(group, rng);
    let encrypted = secret.encrypt(group, &polynomial_of(group, mine)[..mine.len()], rng);
    let (mut channel, mut other) = Channel::pair("sender", "receiver");
    let receive = |channel: &mut Channel| -> Result<Vec<u8>> {
        channel.send(PUBLIC_KEY, secret.public(group).to_bytes(group))?;
        channel.send(POLYNOMIALS, elgamal::encode(group, &encrypted))?;
        channel.receive(ANSWERS, answers * 2 * group.point_bytes())
    };
    let answers = std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            // The answers are read before the channel ends.
            sender(&mut other).map(|()| other)
        });
        let answers = receive(&mut channel);
        drop(sending.join());
        answers.ok()
    })?;
    let answers = elgamal::decode(group, &answers).ok()?;
    let logarithms = secret.decrypt_small(group, &answers, ORDER as u64);
    Some(logarithms.into_iter().map(|value| value.expect("a multiple of the generator")).collect())
}

/// γ1 φ + γ2 ψ for constant γ1 and γ2.
fn too_little(group: &ModP, mine: &[Item], theirs: &[Item], rng: &mut ChaCha20Rng) -> Vec<Scalar> {
    let mut sum = vec![group.scalar(0); mine.len() + theirs.len() + 1];
    for set in [mine, theirs] {
        let mut product =
            multiply(&Scalars(group), STRATEGY, &group.random_scalars(1, rng), &polynomial_of(group, set));
        product.resize(sum.len(), group.scalar(0));
        sum = Scalars(group).add(&sum, &product);
    }
    sum
}

/// The largest chi-square of the coefficients and of the values at `points`, in standard deviations from its mean, of
/// what is left of polynomials when `divisor` is divided out.
fn deviation(group: &ModP, polynomials: &[Vec<Scalar>], divisor: &[Scalar], points: &[Scalar]) -> f64 {
    let mut counts = BTreeMap::<(&str, usize), [f64; PARTS]>::new();
    for polynomial in polynomials {
        let (left, rest) = divide(&Scalars(group), STRATEGY, polynomial, divisor);
        assert!(rest.iter().all(|coefficient| group.is_zero(coefficient)), "a multiple of what is common");
        let values: Vec<_> = points.iter().map(|point| evaluate_one(&Scalars(group), &left, point)).collect();
        for (what, scalars) in [("coefficient", &left), ("value", &values)] {
            for (place, scalar) in scalars.iter().enumerate() {
                let number =
                    group.encode_scalar(scalar).iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
                counts.entry((what, place)).or_insert([0.0; PARTS])[number * PARTS / ORDER] += 1.0;
            }
        }
    }
    counts.values().map(far).fold(0.0, f64::max)
}

/// Number of parts in which the numbers below the group's order are counted.
const PARTS: usize = 17;

/// The chi-square of how many numbers were in each part, in standard deviations from its mean.
fn far(counts: &[f64; PARTS]) -> f64 {
    // The parts are of 59 or 60 numbers.
    let sizes = (0..ORDER).fold([0.0; PARTS], |mut sizes, number| {
        sizes[number * PARTS / ORDER] += 1.0 / ORDER as f64;
        sizes
    });
    let all: f64 = counts.iter().sum();
    let terms = counts.iter().zip(sizes).map(|(count, size)| (count - all * size).powi(2) / (all * size));
    (terms.sum::<f64>() - 16.0) / 32f64.sqrt()
}

#[test]
fn a_random_multiple_of_what_is_common_is_opened() {
    random_multiples_are_opened(300);
}

#[test]
#[ignore = "slow: more runs"]
fn a_random_multiple_of_what_is_common_is_opened_in_more_runs() {
    random_multiples_are_opened(1200);
}

/// Kissner & Song, lemma 2: what the receiver opens is a uniformly random multiple of the polynomial of what is common,
/// also where sets have different sizes. Its values at the sender's items are no others than elsewhere.
fn random_multiples_are_opened(runs: usize) {
    let group = ModP::toy();
    let items: Vec<Item> = (0..5).map(|number: u8| Item([number; 32])).collect();
    let points: Vec<_> = items.iter().map(|item| root(&group, item)).collect();
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    for (mine, theirs) in [(0..1, 1..2), (0..1, 0..1), (0..2, 1..4), (0..3, 2..3)] {
        let common =
            polynomial_of(&group, &items[mine.start.max(theirs.start)..mine.end.min(theirs.end).max(theirs.start)]);
        let (mine, theirs) = (&items[mine], &items[theirs]);
        let honest: Vec<_> = (0..runs).filter_map(|_| opened(&group, mine, theirs, &mut rng)).collect();
        assert!(honest.len() > runs * 5 / 6, "few runs meet the identity");
        let far = deviation(&group, &honest, &common, &points);
        assert!(far < 6.0, "{far} with {} and {}", mine.len(), theirs.len());
        let weak: Vec<_> = (0..runs).map(|_| too_little(&group, mine, theirs, &mut rng)).collect();
        assert!(deviation(&group, &weak, &common, &points) > 6.0, "factors of too low a degree show");
    }
}

/// The values of φ at the sender's items tell whether they are zero, and nothing else: others are uniformly random in
/// every run, also one beside the other. Values that are not blinded are the same again and again, and those blinded by
/// one number have one quotient.
#[test]
fn values_tell_only_whether_they_are_zero() {
    let group = ModP::toy();
    let items: Vec<Item> = (0..5).map(|number: u8| Item([number; 32])).collect();
    let (mine, theirs) = (&items[..3], &items[2..]);
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    let params = params(PolynomialReveal::Count, mine, theirs);
    let as_given: values::Order<'_> = &|bins, _| bins.places();
    let run = |_| {
        let senders = ChaCha20Rng::from_rng(&mut rng);
        let send = |channel: &mut Channel| values::send_in(&group, theirs, &params, channel, senders, as_given);
        answered(&group, mine, theirs.len(), &mut rng, send)
    };
    const RUNS: usize = 500;
    let honest: Vec<Vec<u64>> = (0..RUNS).filter_map(run).collect();
    assert!(honest.len() > RUNS * 2 / 3, "few runs meet the identity");
    assert!(honest.iter().all(|values| values[0] == 0), "the common item");
    let phi = polynomial_of(&group, mine);
    let number =
        |scalar: &Scalar| group.encode_scalar(scalar).iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let bare = |blind: &Scalar| -> Vec<u64> {
        let value = |item| number(&group.times(blind, &evaluate_one(&Scalars(&group), &phi, &root(&group, item))));
        theirs.iter().map(value).collect()
    };
    // How far from uniform each value is by itself, and the quotient of both.
    let measured = |runs: &[Vec<u64>]| -> [f64; 3] {
        let mut counts = [[0.0; PARTS]; 3];
        for values in runs.iter().filter(|values| values[1] != 0 && values[2] != 0) {
            let [first, second] = [values[1], values[2]].map(|value| group.scalar(value));
            let quotient = group.times(&first, &group.invert(&[second])[0]);
            for (counts, value) in counts.iter_mut().zip([values[1], values[2], number(&quotient)]) {
                counts[value as usize * PARTS / ORDER] += 1.0;
            }
        }
        counts.map(|counts| far(&counts))
    };
    assert!(measured(&honest).into_iter().all(|far| far < 6.0), "{:?}", measured(&honest));
    let unblinded = vec![bare(&group.scalar(1)); RUNS];
    assert!(measured(&unblinded).into_iter().all(|far| far > 6.0));
    let by_one: Vec<_> = group.random_scalars(RUNS, &mut rng).iter().map(bare).collect();
    let [first, second, quotient] = measured(&by_one);
    assert!(first < 6.0 && second < 6.0 && quotient > 6.0, "{first} {second} {quotient}");
}

/// Checks that bins which may overflow with probability 2^-4 do so no more often, and that this is not for want of
/// items.
#[test]
fn bins_overflow_no_more_often_than_computed() {
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    for (count, bins) in [(400, 50), (2000, 1000), (3000, 30)] {
        let bound = okvs::bin_capacity(count, bins, 4.0 + (bins as f64).log2());
        let mut fullest = || {
            let mut loads = vec![0; bins];
            for _ in 0..count {
                let mut item = Item([0; 32]);
                rng.fill_bytes(&mut item.0);
                loads[bucket_of(&item, bins)] += 1;
            }
            loads.into_iter().max().unwrap()
        };
        let fullest: Vec<usize> = (0..1000).map(|_| fullest()).collect();
        let overflows = fullest.iter().filter(|load| **load > bound).count();
        assert!(overflows < 1000 / 16 + 30, "{overflows} of 1000 runs with {count} items in {bins} bins");
        assert!(fullest.iter().any(|load| *load + 4 > bound), "the bound is no higher than it has to be");
    }
}
