//! Tests of what parties and helper can do with all that they see together: no more than with their inputs and their
//! output.
//!
//! A coalition pools every part that its members collect, opened with their keys, and takes all their shares off every
//! ciphertext. What is left of each is the identity or not, and equal to another or not: nothing else can be asked of
//! elements of a group in which discrete logarithms are hard. That is compared with what the inputs and the output of
//! the coalition say.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;

use tacita_core::Result;
use tacita_core::depot::User;
use tacita_core::primitive::elgamal::threshold::KeyShare;
use tacita_core::primitive::group::{Group, Point, Ristretto255};
use tacita_core::protocol::intersect::outsourced::{ENTRIES, OutsourcedReveal, helper};

use crate::support::outsourced::{Ended, Learned, Outsourced, Recorder};
use crate::support::rng;

/// Data that the members of a coalition have after a run.
#[derive(Default)]
struct View {
    /// Elements under keys of which the coalition lacks a share: all ciphertexts, its own shares taken off.
    closed: Vec<Point>,
    /// Whether each entry is 0, where the coalition can tell.
    opened: Vec<Vec<bool>>,
    /// Results that it learns by the protocol.
    found: BTreeMap<usize, Learned>,
}

/// Data that a member brings into the coalition.
struct Member {
    share: KeyShare<Ristretto255>,
    /// Entries that it was given, with the share of the key that its sender says to have taken off already.
    entries: (Vec<[Point; 2]>, Vec<Point>),
    /// The values that came along.
    values: Vec<[Point; 2]>,
}

impl View {
    /// Returns all that can be told of the view: coincidences among all elements that are closed, and what is open.
    fn pattern(&self) -> (usize, Vec<Vec<bool>>, BTreeMap<usize, String>) {
        let encodings = Ristretto255.encode(&self.closed);
        let distinct: HashSet<&[u8]> = encodings.chunks(32).collect();
        let found = self.found.iter().map(|(place, found)| (*place, format!("{found:?}"))).collect();
        (self.closed.len() - distinct.len(), self.opened.clone(), found)
    }
}

/// A run of which these parties, and the helper if it is with them, keep all they see.
fn watched(job: &Outsourced, coalition: &[usize], with_helper: bool) -> View {
    let (members, view) = (Mutex::new(BTreeMap::new()), Mutex::new(View::default()));
    let part = |me: usize, depot: &User<'_>| -> Ended {
        if !coalition.contains(&me) {
            return job.part(me, depot);
        }
        let found = job.part_then(me, &Recorder::new(depot), &mut rng(me as u8 + 1), |met, post| {
            let (bound, has_values) =
                (job.params.bound(), !matches!(job.reveal(), OutsourcedReveal::Rows | OutsourcedReveal::Count));
            let entries = job.given(me, post, ENTRIES, bound, has_values)?;
            let values = if has_values { job.values_given(me, post, bound)? } else { Vec::new() };
            members.lock().unwrap().insert(me, Member { share: met.share, entries, values });
            Ok(())
        })?;
        if let Some(found) = &found {
            view.lock().unwrap().found.insert(me, found.clone());
        }
        Ok(found)
    };
    let stores = Mutex::new(Vec::new());
    let helping = |depot: &User<'_>| -> Result<()> {
        let recorder = Recorder::new(depot);
        helper::run(&job.params, &recorder, &[7; 32])?;
        stores
            .lock()
            .unwrap()
            .extend(recorder.collected().into_values().flat_map(|bytes| Ristretto255.decode(&bytes).unwrap()));
        Ok(())
    };
    job.run_beside(part, helping).0.into_iter().for_each(|end| drop(end.unwrap()));

    let (members, mut view) = (members.into_inner().unwrap(), view.into_inner().unwrap());
    let stripped = |pairs: &[[Point; 2]]| -> Vec<Point> {
        let mut left: Vec<[Point; 2]> = pairs.to_vec();
        for member in members.values() {
            let hidden = member.share.strip(&Ristretto255, &left);
            left.iter_mut().zip(hidden).for_each(|(pair, hidden)| pair[1] = hidden);
        }
        left.into_iter().map(|[_, hidden]| hidden).collect()
    };
    // Who still has to take its share off when a party is given entries: it, those after it, and the leader.
    let order: Vec<usize> = job.params.others().chain([job.params.leader()]).collect();
    for (me, member) in &members {
        let (pairs, taken) = &member.entries;
        let at = order.iter().position(|place| place == me).unwrap();
        let rest = &order[at..];
        let mut left = pairs.clone();
        left.iter_mut().zip(taken).for_each(|(pair, taken)| {
            pair[1] = Ristretto255.subtract(&[pair[1].clone()], std::slice::from_ref(taken)).remove(0);
        });
        if rest.iter().all(|place| coalition.contains(place)) {
            for member in rest.iter().map(|place| &members[place]) {
                let hidden = member.share.strip(&Ristretto255, &left);
                left.iter_mut().zip(hidden).for_each(|(pair, hidden)| pair[1] = hidden);
            }
            let zero = |pair: &[Point; 2]| Ristretto255.any_identity(&pair[1..]);
            let mut zeros: Vec<bool> = left.iter().map(zero).collect();
            if job.reveal() != OutsourcedReveal::Rows {
                // In an order that an honest party has drawn.
                zeros.sort_unstable();
            }
            view.opened.push(zeros);
        } else {
            view.closed.extend(stripped(&left));
            view.closed.extend(left.into_iter().map(|[mask, _]| mask));
        }
        view.closed.extend(stripped(&member.values));
        view.closed.extend(member.values.iter().map(|[mask, _]| mask.clone()));
    }
    if with_helper {
        let stores = stores.into_inner().unwrap();
        let pairs: Vec<[Point; 2]> = stores.chunks(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect();
        view.closed.extend(stripped(&pairs));
        view.closed.extend(pairs.into_iter().map(|[mask, _]| mask));
    }
    view
}

#[test]
fn a_view_says_no_more_than_inputs_and_output() {
    says_no_more(OutsourcedReveal::Rows);
}

#[test]
fn a_view_of_a_count_says_no_more_than_inputs_and_output() {
    says_no_more(OutsourcedReveal::Count);
}

#[test]
fn a_view_of_sums_and_counts_says_no_more_than_inputs_and_output() {
    for reveal in [OutsourcedReveal::Sum { giver: 1, bits: 10 }, OutsourcedReveal::Counts { giver: 2, categories: 4 }] {
        says_no_more(reveal);
    }
}

/// Every coalition, and two worlds that differ in the sets of those outside it and have the same output.
fn says_no_more(reveal: OutsourcedReveal) {
    // The items 0 to 4 are everybody's; what else the honest have is in the others' sets in one world, and not in the
    // other.
    let everybodys = 0..5;
    let alone: [&[usize]; 4] = [&[], &[0], &[1], &[2]];
    let but_one: [&[usize]; 3] = [&[0, 1], &[0, 2], &[1, 2]];
    let with_helper = alone.into_iter().chain(but_one).map(|coalition| (coalition, true));
    let coalitions = with_helper.chain(but_one.map(|coalition| (coalition, false)));
    for (coalition, with_helper) in coalitions {
        let honest: Vec<usize> = (0..3).filter(|place| !coalition.contains(place)).collect();
        let world = |other: bool| {
            let sets: Vec<Vec<usize>> = (0..3)
                .map(|place| match honest.iter().position(|at| *at == place) {
                    None => (0..15).collect(),
                    // With two outside, no further item is both's; with one, none is the coalition's.
                    Some(at) if honest.len() > 1 => {
                        let further = if other { 5 + 4 * at..8 + 4 * at } else { 100 * (at + 1)..100 * (at + 1) + 2 };
                        everybodys.clone().chain(further).collect()
                    }
                    Some(_) => everybodys.clone().chain(if other { 200..208 } else { 300..301 }).collect(),
                })
                .collect();
            Outsourced::new(&sets, 16, 0, &[0], reveal)
        };
        let patterns = [false, true].map(|other| watched(&world(other), coalition, with_helper).pattern());
        assert_eq!(patterns[0], patterns[1], "{coalition:?}, helper: {with_helper}, {reveal:?}");
        let (coincidences, opened, found) = &patterns[0];
        assert_eq!(*coincidences, 0, "{coalition:?}, helper: {with_helper}, {reveal:?}");
        // What is opened is opened at the leader, and says what the leader learns.
        assert_eq!(!opened.is_empty(), coalition.contains(&0));
        assert!(opened.iter().all(|zeros| zeros.iter().filter(|zero| **zero).count() == 5));
        assert_eq!(found.len(), usize::from(coalition.contains(&0)));
    }
}
