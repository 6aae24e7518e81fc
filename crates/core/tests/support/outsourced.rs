//! Intersections through a helper: parties and helper as threads over a shelf, and what all should learn.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;

use rand_core::CryptoRng;
use tacita_core::depot::{Depot, DepotParty, DepotStep, Parcel, Post, Shelf, User};
use tacita_core::primitive::group::{Group, Point, Ristretto255};
use tacita_core::protocol::intersect::outsourced::meet::meet;
use tacita_core::protocol::intersect::outsourced::{
    ENTRIES, Met, OutsourcedGiven, OutsourcedGives, OutsourcedParty, OutsourcedResult, OutsourcedReveal,
    OutsourcedValues, Params, follow, helper, lead,
};
use tacita_core::protocol::intersect::tag_exchange::Payload;
use tacita_core::session::Transcript;
use tacita_core::{Item, Result};

use super::rng;

pub const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// Inputs of all parties: numbers, of which keys are made.
pub struct Outsourced {
    pub sets: Vec<Vec<usize>>,
    pub params: Params,
}

/// Output that a participant got out of a run.
pub type Ended = Result<Option<Learned>>;

/// Result of a run, with given rows opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Learned {
    Found(OutsourcedResult),
    Rows(Vec<usize>, Vec<OutsourcedGiven>),
}

/// The value and the category that a giver has for a number.
pub fn value(number: usize) -> u64 {
    (number as u64 * 37 + 5) % 1000
}

pub fn category(number: usize) -> String {
    ["", "burn", "fall", "cut"][number % 4].into()
}

/// The length of a row that is given, and of what is told of rows.
pub const ROW_BYTES: usize = 9;
pub const HEAD_BYTES: usize = 2;

/// The rows that a party gives for a number: two for every third one.
pub fn given_rows(party: usize, number: usize) -> (usize, Vec<u8>) {
    let count = 1 + usize::from(number.is_multiple_of(3));
    let row = |row: usize| [&[party as u8 + 1, row as u8][..], &(number as u64).to_le_bytes()[..7]].concat();
    (count, (0..count).flat_map(row).collect())
}

/// The rows that a party gives for numbers.
pub fn payload(party: usize, numbers: impl IntoIterator<Item = usize>) -> Payload {
    let mut rows = Payload::new(ROW_BYTES);
    for number in numbers {
        let (count, bytes) = given_rows(party, number);
        rows.push(count, &bytes).unwrap();
    }
    rows
}

pub fn name(party: usize) -> String {
    NAMES.get(party).map_or_else(|| format!("party {party}"), |name| (*name).into())
}

impl Outsourced {
    pub fn new(
        sets: &[Vec<usize>],
        bound: usize,
        leader: usize,
        learners: &[usize],
        reveal: OutsourcedReveal,
    ) -> Outsourced {
        let params = Params::new(sets.len(), bound, leader, learners.to_vec(), reveal).unwrap();
        Outsourced { sets: sets.to_vec(), params }
    }

    /// A run in which these parties give rows to the leader.
    pub fn giving(sets: &[Vec<usize>], bound: usize, leader: usize, givers: &[usize]) -> Outsourced {
        let gives = givers.iter().map(|&party| OutsourcedGives { party, head_bytes: HEAD_BYTES, row_bytes: ROW_BYTES });
        let params = Params::new(sets.len(), bound, leader, vec![leader], OutsourcedReveal::Payload).unwrap();
        Outsourced { sets: sets.to_vec(), params: params.giving(gives.collect()).unwrap() }
    }

    /// A party's part over a depot, with the program of each party.
    pub fn part(&self, me: usize, depot: &impl Depot) -> Ended {
        self.part_with(me, depot, &mut rng(me as u8 + 1))
    }

    /// Runs a party as [`Outsourced::part`] does, with the caller's random numbers.
    pub fn part_with(&self, me: usize, depot: &impl Depot, rng: &mut impl CryptoRng) -> Ended {
        self.part_then(me, depot, rng, |_, _| Ok(()))
    }

    /// Runs a party as [`Outsourced::part_with`] does; `after` gets what the party has of the others in the end.
    pub fn part_then<D: Depot>(
        &self,
        me: usize,
        depot: &D,
        rng: &mut impl CryptoRng,
        after: impl FnOnce(Met<Ristretto255>, &Post<'_, D>) -> Result<()>,
    ) -> Ended {
        let terms = Transcript::new("test");
        let (met, post) = meet(&Ristretto255, me, self.sets.len(), &terms, depot, rng)?;
        let key = met.session.derive("item");
        let items: Vec<Item> = self.sets[me].iter().map(|number| Item::new(&key, &number.to_le_bytes())).collect();
        let numbers: Vec<u64> = self.sets[me].iter().map(|&number| value(number)).collect();
        let mut names: Vec<String> = self.sets[me].iter().map(|&number| category(number)).collect();
        names.sort();
        names.dedup();
        let places: Vec<u32> = self.sets[me]
            .iter()
            .map(|&number| names.iter().position(|name| *name == category(number)).unwrap() as u32)
            .collect();
        let names: Vec<Vec<u8>> = names.into_iter().map(String::into_bytes).collect();
        let rows = payload(me, self.sets[me].iter().copied());
        let head = [me as u8; HEAD_BYTES];
        let values = match self.reveal() {
            OutsourcedReveal::Payload if self.params.gives().iter().any(|gives| gives.party == me) => {
                OutsourcedValues::Rows(&head, &rows)
            }
            OutsourcedReveal::Sum { giver, .. } if giver == me => OutsourcedValues::Numbers(&numbers),
            OutsourcedReveal::Counts { giver, .. } if giver == me => OutsourcedValues::Categories(&places, &names),
            _ => OutsourcedValues::Nothing,
        };
        let party = OutsourcedParty { me, params: &self.params, items: &items, values, met: &met, post: &post };
        let found = if me == self.params.leader() { Some(lead(&party, rng)?) } else { follow(&party, rng)? };
        after(met, &post)?;
        let learned = |found| match found {
            OutsourcedResult::Payload(sealed) => {
                sealed.open(&items).map(|(common, given)| Learned::Rows(common, given))
            }
            found => Ok(Learned::Found(found)),
        };
        found.map(learned).transpose()
    }

    /// Receives what a party is given in a step: ciphertexts, and the share of the key that its sender says to have
    /// taken off, in one part. Anything else that travels along comes last and is left out.
    pub fn given<D: Depot>(
        &self,
        me: usize,
        post: &Post<'_, D>,
        step: DepotStep,
        entries: usize,
        values: bool,
    ) -> Result<(Vec<[Point; 2]>, Vec<Point>)> {
        let (bytes, has_taken) = self.bytes_given(me, post, step, entries, values)?;
        let points = Ristretto255.decode(&bytes[..entries * 64]).unwrap();
        let pairs = points.chunks(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect();
        let taken = if has_taken {
            Ristretto255.decode(&bytes[entries * 64..entries * 96]).unwrap()
        } else {
            vec![Ristretto255.combine(&[], &[]); entries]
        };
        Ok((pairs, taken))
    }

    /// The values that travel along with the entries that a party is given.
    pub fn values_given<D: Depot>(&self, me: usize, post: &Post<'_, D>, entries: usize) -> Result<Vec<[Point; 2]>> {
        let (bytes, _) = self.bytes_given(me, post, ENTRIES, entries, true)?;
        let points = Ristretto255.decode(&bytes[bytes.len() - entries * 64..]).unwrap();
        Ok(points.chunks(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect())
    }

    /// A part as it is given to a party, and whether its sender has taken a share of the key off.
    fn bytes_given<D: Depot>(
        &self,
        me: usize,
        post: &Post<'_, D>,
        step: DepotStep,
        entries: usize,
        values: bool,
    ) -> Result<(Vec<u8>, bool)> {
        let ring: Vec<usize> = std::iter::once(self.params.leader()).chain(self.params.others()).collect();
        let at = ring.iter().position(|place| *place == me).unwrap();
        let before = ring[(at + ring.len() - 1) % ring.len()];
        let has_taken = before != self.params.leader();
        let length = entries * if values { 128 } else { 64 } + if has_taken { entries * 32 + 96 } else { 0 };
        Ok((post.receive(step, before, 0, length)?, has_taken))
    }

    pub fn reveal(&self) -> OutsourcedReveal {
        self.params.reveal()
    }

    /// Returns the result that a party should learn.
    pub fn expected(&self, me: usize) -> Option<Learned> {
        if !self.params.learners().contains(&me) {
            return None;
        }
        let sets: Vec<HashSet<usize>> = self.sets.iter().map(|set| set.iter().copied().collect()).collect();
        let own = &self.sets[me];
        let common: Vec<usize> =
            (0..own.len()).filter(|&index| sets.iter().all(|set| set.contains(&own[index]))).collect();
        let numbers = || common.iter().map(|&index| own[index]);
        Some(Learned::Found(match self.reveal() {
            OutsourcedReveal::Rows => OutsourcedResult::Rows(common),
            OutsourcedReveal::Payload => {
                let given = self.params.gives().iter().map(|gives| OutsourcedGiven {
                    party: gives.party,
                    head: vec![gives.party as u8; HEAD_BYTES],
                    rows: payload(gives.party, numbers()),
                });
                let given = given.collect();
                return Some(Learned::Rows(common, given));
            }
            OutsourcedReveal::Count => OutsourcedResult::Count(common.len() as u64),
            OutsourcedReveal::Sum { .. } => OutsourcedResult::Sum(common.len() as u64, numbers().map(value).sum()),
            OutsourcedReveal::Counts { .. } => {
                let mut counts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
                numbers().for_each(|number| *counts.entry(category(number).into_bytes()).or_default() += 1);
                OutsourcedResult::Counts(counts.into_iter().collect())
            }
        }))
    }

    /// Everybody's end, and the shelf.
    pub fn run(&self) -> (Vec<Ended>, Shelf) {
        self.run_with(|me, depot| self.part(me, depot))
    }

    /// Runs all parties as [`Outsourced::run`] does, with programs of the caller's for the parties.
    pub fn run_with(&self, part: impl Fn(usize, &User<'_>) -> Ended + Sync) -> (Vec<Ended>, Shelf) {
        self.run_beside(part, |depot| helper::run(&self.params, depot, &[7; 32]))
    }

    /// The same with the caller's helper.
    pub fn run_beside(
        &self,
        part: impl Fn(usize, &User<'_>) -> Ended + Sync,
        helper: impl Fn(&User<'_>) -> Result<()> + Sync,
    ) -> (Vec<Ended>, Shelf) {
        let names: Vec<String> = (0..self.sets.len()).map(name).collect();
        let shelf = Shelf::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let ends = std::thread::scope(|scope| {
            let (shelf, part, helper) = (&shelf, &part, &helper);
            let helping = scope.spawn(move || {
                let depot = shelf.user(DepotParty::Helper);
                helper(&depot).inspect_err(|error| depot.end(error))
            });
            let parties: Vec<_> = (0..self.sets.len())
                .map(|me| {
                    scope.spawn(move || {
                        let depot = shelf.user(DepotParty::Party(me as u8));
                        part(me, &depot).inspect_err(|error| depot.end(error))
                    })
                })
                .collect();
            let ends: Vec<_> = parties.into_iter().map(|party| party.join().unwrap()).collect();
            let helped = helping.join().unwrap();
            assert!(helped.is_ok() || ends.iter().any(|end| end.is_err()), "{helped:?}");
            ends
        });
        (ends, shelf)
    }
}

/// A depot that keeps a copy of all that its user collects, and hands it out again afterwards.
pub struct Recorder<'a> {
    depot: &'a User<'a>,
    announced: Mutex<Vec<u8>>,
    collected: Mutex<BTreeMap<(Parcel, u32), Vec<u8>>>,
}

impl<'a> Recorder<'a> {
    pub fn new(depot: &'a User<'a>) -> Recorder<'a> {
        Recorder { depot, announced: Mutex::default(), collected: Mutex::default() }
    }

    /// Returns the bytes that its user has announced to all.
    pub fn announced(&self) -> Vec<u8> {
        self.announced.lock().unwrap().clone()
    }

    /// Returns all parts that were collected.
    pub fn collected(self) -> BTreeMap<(Parcel, u32), Vec<u8>> {
        self.collected.into_inner().unwrap()
    }
}

impl Depot for Recorder<'_> {
    fn announce(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        self.announced.lock().unwrap().clone_from(&own);
        self.depot.announce(own)
    }

    fn leave(&self, parcel: Parcel, part: u32, bytes: Vec<u8>) -> Result<()> {
        self.depot.leave(parcel, part, bytes)
    }

    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>> {
        if let Some(bytes) = self.collected.lock().unwrap().get(&(parcel, part)) {
            return Ok(bytes.clone());
        }
        let bytes = self.depot.collect(parcel, part, length)?;
        self.collected.lock().unwrap().insert((parcel, part), bytes.clone());
        Ok(bytes)
    }

    fn name(&self, place: DepotParty) -> String {
        self.depot.name(place)
    }
}
