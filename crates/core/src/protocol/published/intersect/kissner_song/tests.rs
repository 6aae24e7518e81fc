//! Tests of the values that those who learn see, with all that others tell them. The group is one in which all of it
//! can be counted.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::{KissnerSongParty, POLYNOMIAL, Params, SUM, WHOLE, keys, open};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::elgamal::Ciphertext;
use crate::primitive::group::{Group, ModP, Ristretto255, ScalarField};
use crate::primitive::published::polynomial::EncryptedModule;
use crate::primitive::published::polynomial::{
    Module, MultiplyStrategy, Scalars, divide, evaluate_one, expand, multiply,
};
use crate::protocol::published::intersect::polynomial::{CHUNK, messages};
use crate::session::{Session, Transcript};

type Scalar = <ModP as ScalarField>::Scalar;

const STRATEGY: MultiplyStrategy = MultiplyStrategy::Schoolbook;
const ORDER: usize = 1019;
/// Runs in which deviations are clear: about seven numbers in each part.
const RUNS: usize = 120;

/// The one who learns, and the one who pools nothing with it; all others do.
const LEARNER: usize = 0;
const HONEST: usize = 1;

/// Method by which the parties draw the polynomials that they multiply by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Sound method: one polynomial for each party.
    Sound,
    /// Polynomials of degree 0.
    Constant,
    /// One for the own polynomial, and none for those of others.
    OwnAlone,
}

/// Parties with these roots.
struct World {
    group: ModP,
    roots: Vec<Vec<Scalar>>,
    params: Params,
    form: Form,
}

impl World {
    fn new(roots: &[Range<u64>], form: Form) -> World {
        let group = ModP::toy();
        let scalars = |range: &Range<u64>| range.clone().map(|root| group.scalar(root + 5)).collect();
        let bound = roots[0].clone().count();
        let params = Params::new(roots.len(), bound, vec![LEARNER]).unwrap();
        World { roots: roots.iter().map(scalars).collect(), params, form, group }
    }

    /// The polynomials that the party at `me` multiplies by.
    fn factors(&self, me: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<Scalar>> {
        let zeros = |count| vec![self.group.scalar(0); count];
        let factor = |place| match self.form {
            Form::OwnAlone if place != me => zeros(self.params.bound + 1),
            Form::Constant => [self.group.random_scalars(1, rng), zeros(self.params.bound)].concat(),
            _ => self.group.random_scalars(self.params.bound + 1, rng),
        };
        (0..self.params.parties).map(factor).collect()
    }

    /// p of a run of the protocol, without what all but the honest party have added. None, if somebody refuses the
    /// identity, which in so small a group comes by chance.
    fn left(&self, logarithms: &HashMap<Vec<u8>, u64>, rng: &mut ChaCha20Rng) -> Option<Vec<Scalar>> {
        let group = &self.group;
        let factors: Vec<_> = (0..self.params.parties).map(|me| self.factors(me, rng)).collect();
        let opened = run(group, &self.params, &self.roots, &factors, rng)?;
        let number = |point| group.scalar(logarithms[&group.encode(std::slice::from_ref(point))]);
        let mut left: Vec<Scalar> = opened.iter().map(number).collect();
        for factors in factors.iter().enumerate().filter(|(me, _)| *me != HONEST).map(|(_, factors)| factors) {
            for (factor, roots) in factors.iter().zip(&self.roots) {
                let product = multiply(&Scalars(group), STRATEGY, factor, &expand(group, STRATEGY, roots));
                left = Scalars(group).subtract(&left, &product);
            }
        }
        Some(left)
    }

    /// The largest chi-square, in standard deviations from its mean, of the coefficients of what is left in many runs
    /// when `common` is divided out, and of its values at all roots. None, if it is no multiple of that.
    fn deviation(&self, common: Range<u64>, seed: u8, runs: usize) -> Option<f64> {
        let (group, mut rng) = (&self.group, ChaCha20Rng::from_seed([seed; 32]));
        let points = group.multiply_generator(&(0..ORDER as u64).map(|log| group.scalar(log)).collect::<Vec<_>>());
        let logarithms: HashMap<Vec<u8>, u64> =
            group.encode(&points).chunks(group.point_bytes()).map(<[u8]>::to_vec).zip(0..).collect();
        let common: Vec<Scalar> = common.map(|root| group.scalar(root + 5)).collect();
        let divisor = expand(group, STRATEGY, &common);
        let mut counts = BTreeMap::<(&str, usize), [f64; PARTS]>::new();
        let all: Vec<_> = (0..runs).filter_map(|_| self.left(&logarithms, &mut rng)).collect();
        assert!(all.len() > runs / 2, "few runs meet the identity");
        for polynomial in all {
            let (left, rest) = divide(&Scalars(group), STRATEGY, &polynomial, &divisor);
            if !rest.iter().all(|coefficient| group.is_zero(coefficient)) {
                return None;
            }
            let values: Vec<_> =
                self.roots.concat().iter().map(|root| evaluate_one(&Scalars(group), &left, root)).collect();
            for (what, scalars) in [("coefficient", &left), ("value", &values)] {
                for (place, scalar) in scalars.iter().enumerate() {
                    let bytes = group.encode_scalar(scalar);
                    let number = bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
                    counts.entry((what, place)).or_insert([0.0; PARTS])[number * PARTS / ORDER] += 1.0;
                }
            }
        }
        Some(counts.values().map(far).fold(0.0, f64::max))
    }
}

/// Runs the protocol with these roots and factors of the parties. Returns the values that the learner opens; `None` if
/// any party ends.
fn run<G: Group + Sync>(
    group: &G,
    params: &Params,
    roots: &[Vec<G::Scalar>],
    factors: &[Vec<Vec<G::Scalar>>],
    rng: &mut ChaCha20Rng,
) -> Option<Vec<G::Point>> {
    let parties = params.parties;
    let mut channels: Vec<Vec<Channel>> = (0..parties).map(|_| Vec::new()).collect();
    for one in 0..parties {
        for other in one + 1..parties {
            let (first, second) = Channel::pair(&one.to_string(), &other.to_string());
            channels[one].push(first);
            channels[other].push(second);
        }
    }
    let session = Session::new(Transcript::new("test"));
    let part = |me: usize, mut channels: Vec<Channel>, mut rng: ChaCha20Rng| -> Result<_> {
        let party = KissnerSongParty { me, items: &[], params, session: &session };
        let opened = open(group, &party, &roots[me], &factors[me], &mut channels, &mut rng)?;
        channels.into_iter().try_for_each(|channel| channel.finish().map(drop))?;
        Ok(opened)
    };
    std::thread::scope(|scope| {
        let start = |(me, channels)| {
            let (part, rng) = (&part, ChaCha20Rng::from_rng(rng));
            scope.spawn(move || part(me, channels, rng))
        };
        let threads: Vec<_> = (0..).zip(channels).map(start).collect();
        let ended: Vec<Result<_>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        ended.into_iter().collect::<Result<Vec<_>>>().ok()?.swap_remove(LEARNER)
    })
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
fn a_random_multiple_of_what_all_have_is_opened() {
    random_multiples_are_opened(RUNS);
}

#[test]
#[ignore = "slow: more runs"]
fn a_random_multiple_of_what_all_have_is_opened_in_more_runs() {
    random_multiples_are_opened(400);
}

/// Kissner & Song, lemma 2: what all but one party have left is a uniformly random multiple of the polynomial of what
/// all have, also where some have more in common.
fn random_multiples_are_opened(runs: usize) {
    let cases: [(&[Range<u64>], Range<u64>); 4] =
        [(&[0..2, 1..3], 1..2), (&[0..2, 1..3, 1..3], 1..2), (&[0..2, 2..4, 2..4], 0..0), (&[0..1, 0..1, 0..1], 0..1)];
    for (number, (roots, common)) in cases.into_iter().enumerate() {
        let far = World::new(roots, Form::Sound).deviation(common.clone(), number as u8, runs);
        assert!(far.is_some_and(|far| far < 6.0), "{far:?} in case {number}");
    }
}

/// Factors of too low a degree show; and where each party has one for its own polynomial alone, all others take away
/// their own and have the honest one's set.
#[test]
fn weaker_factors_show() {
    for (form, seed) in [(Form::Constant, 10), (Form::OwnAlone, 11)] {
        let far = World::new(&[0..2, 1..3, 1..3], form).deviation(1..2, seed, RUNS);
        assert!(far.is_some_and(|far| far > 6.0), "{far:?}");
    }
}

/// Checks that a party adds fresh randomness for another's polynomial. With the other's own randomness times its
/// factor, the other could divide by that.
#[test]
fn what_a_party_adds_is_fresh() {
    let group = Ristretto255;
    let params = Params::new(2, 3, vec![0]).unwrap();
    let session = Session::new(Transcript::new("test"));
    let party = |me| KissnerSongParty { me, items: &[], params: &params, session: &session };
    let mut rng = ChaCha20Rng::from_seed([20; 32]);
    let roots = group.random_scalars(3, &mut rng);
    let factors = [group.random_scalars(4, &mut rng), group.random_scalars(4, &mut rng)];
    let (mut first, mut second) = Channel::pair("first", "second");
    let (channels, mut others) = (std::slice::from_mut(&mut second), ChaCha20Rng::from_seed([21; 32]));
    let (bare, added) = std::thread::scope(|scope| {
        scope.spawn(|| open(&group, &party(1), &roots, &factors, channels, &mut others).map(drop));
        // The first party's part by hand.
        let keys = keys::agree(&group, &party(0), std::slice::from_mut(&mut first), &mut rng).unwrap();
        let form = party(0).form(&group);
        let own = keys.joint.encrypt(&group, &form.of_roots(&group, &roots), &mut rng);
        let sum = keys.joint.encrypt(&group, &group.random_scalars(params.opened(), &mut rng), &mut rng);
        let (outgoing, incoming) = first.halves();
        messages::send(&group, POLYNOMIAL, &own, outgoing).unwrap();
        messages::receive(&group, POLYNOMIAL, params.told(), incoming).unwrap();
        messages::send(&group, SUM, &sum, outgoing).unwrap();
        let whole = messages::receive(&group, WHOLE, params.opened(), incoming).unwrap();
        drop(first);
        let bare = form.multiply(&group, &own, &factors[..1]);
        (bare, EncryptedModule(&group).subtract(&whole, &sum))
    });
    let known = group.multiply_generator(&group.random_scalars(params.opened(), &mut rng));
    let zero = group.combine(&[], &[]);
    let known: Vec<_> = known.into_iter().map(|point| [zero.clone(), point]).collect();
    let without = EncryptedModule(&group).add(&bare, &known);
    let alike = |added: &[Ciphertext<Ristretto255>]| {
        let firsts =
            |all: &[Ciphertext<Ristretto255>]| -> Vec<_> { all.iter().map(|[first, _]| first.clone()).collect() };
        let points = group.subtract(&firsts(added), &firsts(&bare));
        points.iter().filter(|point| group.any_identity(std::slice::from_ref(point))).count()
    };
    assert_eq!((alike(&added), alike(&without)), (0, params.opened()), "the own product as fresh ciphertexts, or not");
}

#[test]
fn all_products_are_added_up() {
    products_are_added_up(3, 20, false);
    products_are_added_up(2, 2050, true);
}

#[test]
#[ignore = "slow: large sets of three parties"]
fn all_products_of_three_parties_are_added_up() {
    products_are_added_up(3, 2050, true);
}

/// Checks that the opened value is the sum of all products, also if messages travel in parts.
fn products_are_added_up(parties: usize, bound: usize, in_parts: bool) {
    let group = Ristretto255;
    let mut rng = ChaCha20Rng::from_seed([22; 32]);
    let params = Params { strategy: super::Strategy::Points, ..Params::new(parties, bound, vec![LEARNER]).unwrap() };
    assert_eq!(params.opened() > CHUNK, in_parts);
    let mut draw = |count| group.random_scalars(count, &mut rng);
    let roots: Vec<_> = (0..parties).map(|_| draw(bound)).collect();
    let factors: Vec<Vec<_>> = (0..parties).map(|_| (0..parties).map(|_| draw(bound + 1)).collect()).collect();
    let opened = run(&group, &params, &roots, &factors, &mut rng).unwrap();
    assert_eq!(opened.len(), params.opened());
    for place in [0, 1, CHUNK - 1, CHUNK, opened.len() - 1].into_iter().filter(|place| *place < opened.len()) {
        let at = group.scalar(place as u64);
        let value = |of: usize| {
            let differences = roots[of].iter().map(|root| group.minus(&at, root));
            let own = differences.fold(group.scalar(1), |product, difference| group.times(&product, &difference));
            let all = factors.iter().map(|factors| evaluate_one(&Scalars(&group), &factors[of], &at));
            let factor = all.fold(group.scalar(0), |sum, factor| group.plus(&sum, &factor));
            group.times(&own, &factor)
        };
        let sum = (0..parties).fold(group.scalar(0), |sum, of| group.plus(&sum, &value(of)));
        let expected = group.multiply_generator(&[sum]);
        assert_eq!(group.encode(&opened[place..=place]), group.encode(&expected), "at {place}");
    }
}
