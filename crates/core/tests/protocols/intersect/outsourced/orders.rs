//! Tests of what each party of the chain does alone: a party that passes entries on hides which is which, whatever all
//! others do. A test that knows all shares of the key opens what every party was given, and compares that with what it
//! has passed on. Other tests check that values which a party draws for itself are fresh.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;

use tacita_core::Result;
use tacita_core::depot::{Depot, Post, User};
use tacita_core::primitive::elgamal;
use tacita_core::primitive::elgamal::threshold::KeyShare;
use tacita_core::primitive::group::{Group, Point, Ristretto255, ScalarField};
use tacita_core::protocol::intersect::outsourced::meet::{announcement_bytes, meet};
use tacita_core::protocol::intersect::outsourced::{ENTRIES, OPENED, OutsourcedReveal, TOLD};
use tacita_core::session::Transcript;

use crate::support::outsourced::{Outsourced, Recorder, value};
use crate::support::rng;
use crate::support::views::{PLACES, hides_order};

const GROUP: &Ristretto255 = &Ristretto255;
const PARTIES: usize = 4;
const LEADER: usize = 0;
const COMMON: usize = PLACES / 2;
/// Runs in which it is seen where each entry goes, and runs in which it is seen whether any has moved.
const RUNS: usize = 16;
const FEW_RUNS: usize = 6;

type Pairs = Vec<[Point; 2]>;

/// Ciphertexts that a party was given, and its share of the key.
struct Given {
    share: KeyShare<Ristretto255>,
    /// Entries, with the shares off that those before it have taken.
    entries: Pairs,
    values: Pairs,
    /// Ciphertexts that all open together, as the leader has made them, if this party comes next.
    opened: Pairs,
}

/// The first six of the leader's items are everybody's.
fn job(reveal: OutsourcedReveal) -> Outsourced {
    let sets: Vec<Vec<usize>> = (0..PARTIES)
        .map(|party| (0..COMMON).chain((COMMON..PLACES).map(|number| number + 100 * party)).collect())
        .collect();
    Outsourced::new(&sets, PLACES, LEADER, &[LEADER], reveal)
}

/// Returns what every party is given in a run with this number.
fn run(job: &Outsourced, run: usize) -> BTreeMap<usize, Given> {
    let given = Mutex::new(BTreeMap::new());
    let part = |me: usize, depot: &User<'_>| {
        job.part_then(me, &Recorder::new(depot), &mut rng((PARTIES * run + me) as u8), |met, post| {
            let seen = seen(job, me, post, met.share)?;
            given.lock().unwrap().insert(me, seen);
            Ok(())
        })
    };
    for (me, end) in job.run_with(part).0.into_iter().enumerate() {
        assert_eq!(end.unwrap(), job.expected(me));
    }
    given.into_inner().unwrap()
}

/// Entries as a party is given them, with the shares off that those before it have taken.
fn entries_given<D: Depot>(job: &Outsourced, me: usize, post: &Post<'_, D>, values: bool) -> Result<Pairs> {
    let (mut entries, taken) = job.given(me, post, ENTRIES, PLACES, values)?;
    entries.iter_mut().zip(taken).for_each(|(pair, taken)| pair[1] = GROUP.subtract(&pair[1..], &[taken]).remove(0));
    Ok(entries)
}

fn seen(job: &Outsourced, me: usize, post: &Post<'_, Recorder<'_>>, share: KeyShare<Ristretto255>) -> Result<Given> {
    let has_values = !matches!(job.reveal(), OutsourcedReveal::Rows | OutsourcedReveal::Count);
    let entries = entries_given(job, me, post, has_values)?;
    let values = if has_values { job.values_given(me, post, PLACES)? } else { Vec::new() };
    let opened = match job.reveal() {
        OutsourcedReveal::Sum { .. } if me == 1 => job.given(me, post, OPENED, 1, false)?.0,
        OutsourcedReveal::Counts { .. } if me == 1 => job.given(me, post, OPENED, PLACES, false)?.0,
        _ => Vec::new(),
    };
    Ok(Given { share, entries, values, opened })
}

/// Returns the contents of ciphertexts once these shares have been taken off.
fn opened<'a>(pairs: &Pairs, shares: impl IntoIterator<Item = &'a KeyShare<Ristretto255>>) -> Vec<Point> {
    let mut left = pairs.clone();
    for share in shares {
        let hidden = share.strip(GROUP, &left);
        left.iter_mut().zip(hidden).for_each(|(pair, hidden)| pair[1] = hidden);
    }
    left.into_iter().map(|[_, hidden]| hidden).collect()
}

fn encodings<'a>(points: impl IntoIterator<Item = &'a Point>) -> Vec<Vec<u8>> {
    points.into_iter().map(|point| GROUP.encode(std::slice::from_ref(point))).collect()
}

/// Determines which of the entries that a party was given are 0.
fn zeros(given: &BTreeMap<usize, Given>, place: usize) -> Vec<bool> {
    // It, those after it and the leader have their shares still on.
    let rest = given.iter().filter(|(other, _)| **other == LEADER || place != LEADER && **other >= place);
    let points = opened(&given[&place].entries, rest.map(|(_, given)| &given.share));
    points.iter().map(|point| GROUP.any_identity(std::slice::from_ref(point))).collect()
}

/// The place at which each of the leader's items stands among what a party was given, by its value.
fn places(given: &BTreeMap<usize, Given>, place: usize) -> Vec<usize> {
    let values = encodings(&opened(&given[&place].values, given.values().map(|given| &given.share)));
    let of_item = |item: usize| encodings(&GROUP.multiply_generator(&[GROUP.scalar(value(item))])).remove(0);
    (0..COMMON).map(|item| values.iter().position(|value| *value == of_item(item)).unwrap()).collect()
}

/// Pairs of each party and the one to which it passes entries.
fn passes() -> impl Iterator<Item = (usize, usize)> {
    (1..PARTIES).map(|place| (place, (place + 1) % PARTIES))
}

/// Checks that each party alone puts entries and values in an order of its own, if nothing but their number is
/// revealed. The other parties see what it was given and what it has passed on. From that they cannot tell which is
/// which.
#[test]
fn each_party_alone_hides_which_entry_is_which() {
    let reveals = [
        OutsourcedReveal::Count,
        OutsourcedReveal::Sum { giver: 2, bits: 10 },
        OutsourcedReveal::Counts { giver: 1, categories: 4 },
    ];
    for reveal in reveals {
        let job = job(reveal);
        let mut observed = BTreeMap::new();
        let mut unmoved = BTreeMap::new();
        let runs = if matches!(reveal, OutsourcedReveal::Sum { .. }) { RUNS } else { FEW_RUNS };
        for number in 0..runs {
            let given = run(&job, number);
            for (place, next) in passes() {
                let (before, after) = (zeros(&given, place), zeros(&given, next));
                assert!([&before, &after].map(|zeros| zeros.iter().filter(|zero| **zero).count()) == [COMMON; 2]);
                *unmoved.entry(place).or_insert(0) += usize::from(before == after);
                if let OutsourcedReveal::Sum { .. } = reveal {
                    let moved = places(&given, place).into_iter().zip(places(&given, next));
                    observed.entry(place).or_insert_with(Vec::new).extend(moved);
                }
            }
        }
        // Each of 924 patterns is as likely as any other.
        assert!(unmoved.values().all(|times| *times <= 2), "{unmoved:?} of {runs} runs, {reveal:?}");
        assert!(observed.iter().all(|(_, moved)| hides_order(moved).is_ok()), "{observed:?}");
    }
}

/// Checks that no element of the entries and values that a party was given comes out again: each passes fresh
/// ciphertexts on.
#[test]
fn each_party_alone_passes_fresh_ciphertexts_on() {
    for reveal in [
        OutsourcedReveal::Rows,
        OutsourcedReveal::Count,
        OutsourcedReveal::Sum { giver: 0, bits: 10 },
        OutsourcedReveal::Counts { giver: 3, categories: 4 },
    ] {
        let given = run(&job(reveal), 1);
        let all = |place: usize| {
            let pairs = given[&place].entries.iter().chain(&given[&place].values);
            encodings(pairs.flatten()).into_iter().collect::<HashSet<_>>()
        };
        for (place, next) in passes() {
            assert!(all(place).is_disjoint(&all(next)), "{place} to {next}, {reveal:?}");
        }
    }
}

/// A leader sends the same entry again and again, and gets different ones back: each is blinded by a factor of its own.
#[test]
fn equal_entries_come_back_as_different_ones() {
    for reveal in [OutsourcedReveal::Rows, OutsourcedReveal::Count] {
        let (job, distinct) = (job(reveal), Mutex::new(0));
        let part = |me: usize, depot: &User<'_>| {
            if me != LEADER {
                return job.part(me, depot);
            }
            let mut rng = rng(1);
            let (met, post) = meet(GROUP, me, PARTIES, &Transcript::new("test"), depot, &mut rng)?;
            let ones = met.joint.encrypt(GROUP, &vec![GROUP.scalar(1); PLACES], &mut rng);
            post.send(ENTRIES, 1, 0, elgamal::encode(GROUP, &ones))?;
            let back = entries_given(&job, me, &post, false)?;
            let back: HashSet<_> = encodings(&met.share.strip(GROUP, &back)).into_iter().collect();
            *distinct.lock().unwrap() = back.len();
            Ok(None)
        };
        assert!(job.run_with(part).0.iter().all(Result::is_ok));
        assert_eq!(distinct.into_inner().unwrap(), PLACES, "{reveal:?}");
    }
}

/// Checks that what the leader has all open is none of the values that the leader has, nor their sum: the opened value
/// does not show which entries are common.
#[test]
fn what_is_opened_does_not_show_what_it_was_made_of() {
    for reveal in [OutsourcedReveal::Sum { giver: 2, bits: 10 }, OutsourcedReveal::Counts { giver: 2, categories: 4 }] {
        let given = run(&job(reveal), 2);
        let back = &given[&LEADER];
        let common = zeros(&given, LEADER);
        let common: Pairs =
            back.values.iter().zip(common).filter(|(_, zero)| *zero).map(|(pair, _)| pair.clone()).collect();
        let column = |half: usize| common.iter().map(|pair| pair[half].clone()).collect::<Vec<_>>();
        let sum = [0, 1].map(|half| GROUP.combine(&column(half), &vec![GROUP.scalar(1); common.len()]));
        let known: HashSet<_> = encodings(back.values.iter().flatten().chain(&sum)).into_iter().collect();
        let opened = encodings(given[&1].opened.iter().flatten());
        assert!(!opened.is_empty() && opened.iter().all(|point| !known.contains(point)), "{reveal:?}");
    }
}

/// A further learner of rows gets as many tags as there may be entries, sorted, each another: nothing in them tells
/// which of the leader's items they are of, nor which are of none.
#[test]
fn what_a_learner_is_told_has_no_order_and_no_gaps() {
    let (told, learner) = (Mutex::new(Vec::new()), 2);
    let sets: Vec<Vec<usize>> = (0..PARTIES).map(|party| (0..COMMON).chain([100 + party]).collect()).collect();
    let job = Outsourced::new(&sets, PLACES, LEADER, &[LEADER, learner], OutsourcedReveal::Rows);
    let part = |me: usize, depot: &User<'_>| {
        job.part_then(me, &Recorder::new(depot), &mut rng(me as u8), |_, post| {
            if me == learner {
                *told.lock().unwrap() = post.receive(TOLD, LEADER, 0, PLACES * 16)?;
            }
            Ok(())
        })
    };
    assert!(job.run_with(part).0.iter().all(Result::is_ok));
    let told = told.into_inner().unwrap();
    let tags: Vec<&[u8]> = told.chunks(16).collect();
    assert!(tags.len() == PLACES && tags.windows(2).all(|pair| pair[0] < pair[1]), "{tags:?}");
}

/// Returns the second party's announcement to all, and a key between it and the third, with these terms and random
/// numbers.
fn met(terms: &str, seed: u8) -> (Vec<u8>, [u8; 32]) {
    let (job, found) = (job(OutsourcedReveal::Rows), Mutex::new(None));
    let part = |me: usize, depot: &User<'_>| {
        let depot = Recorder::new(depot);
        let (_, post) = meet(GROUP, me, PARTIES, &Transcript::new(terms), &depot, &mut rng(seed + me as u8))?;
        if me == 1 {
            *found.lock().unwrap() = Some((depot.announced(), *post.derive("test", 2)));
        }
        Ok(None)
    };
    assert!(job.run_beside(part, |_| Ok(())).0.iter().all(Result::is_ok));
    found.into_inner().unwrap().unwrap()
}

/// The key of its share, the proof, the key for parcels and the nonce: all are others in another run.
#[test]
fn what_a_party_tells_is_fresh() {
    let [one, other] = [10, 20].map(|seed| met("test", seed).0);
    assert_eq!(one.len(), announcement_bytes(GROUP));
    let mut at = 0;
    for length in [32, announcement_bytes(GROUP) - 96, 32, 32] {
        assert!(one[at..at + length] != other[at..at + length], "from byte {at} on");
        at += length;
    }
}

/// Checks that, with the same random numbers and under other terms, parcels have another key.
#[test]
fn keys_between_two_are_bound_to_the_run() {
    assert!(met("test", 10).1 != met("another", 10).1 && met("test", 10).1 != met("test", 20).1);
    assert_eq!(met("test", 10).1, met("test", 10).1);
}
