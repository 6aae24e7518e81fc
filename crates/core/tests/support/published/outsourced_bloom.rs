//! Intersections through a helper that adds Bloom filters: parties and helper as threads over a shelf.

use std::collections::HashSet;

use tacita_core::depot::{Depot, DepotParty, Shelf, User};
use tacita_core::primitive::elgamal::threshold::PartyOrder;
use tacita_core::primitive::group::Group;
use tacita_core::primitive::published::bloom::Rate;
use tacita_core::protocol::intersect::outsourced::meet::meet;
use tacita_core::protocol::published::intersect::outsourced_bloom::{OutsourcedBloomParty, Params, helper, run};
use tacita_core::session::Transcript;
use tacita_core::{Item, Result};

use crate::support::outsourced::name;
use crate::support::rng;

/// The seed of the helper's randomness.
pub const HELPER: u8 = 99;

/// Inputs of all parties: numbers, of which keys are made.
pub struct Blooms<'a, G> {
    pub group: &'a G,
    pub sets: Vec<Vec<usize>>,
    pub params: Params,
}

/// Output that a participant got out of a run.
pub type Ended = Result<Option<Vec<usize>>>;

impl<'a, G: Group + Sync> Blooms<'a, G> {
    pub fn new(
        group: &'a G,
        sets: &[Vec<usize>],
        bound: usize,
        rate: Rate,
        order: PartyOrder,
        learners: &[usize],
    ) -> Blooms<'a, G> {
        let params = Params::new(sets.len(), bound, rate, order, learners.to_vec()).unwrap();
        Blooms { group, sets: sets.to_vec(), params }
    }

    /// A party, and what it does.
    pub fn with_party<D: Depot, T>(
        &self,
        me: usize,
        depot: &D,
        act: impl FnOnce(&OutsourcedBloomParty<'_, G, D>, &[u8; 32]) -> Result<T>,
    ) -> Result<T> {
        let terms = Transcript::new("test");
        let (met, post) = meet(self.group, me, self.sets.len(), &terms, depot, &mut rng(me as u8 + 1))?;
        let key = met.session.derive("item");
        let items: Vec<Item> = self.sets[me].iter().map(|&number| item(&key, number)).collect();
        let Blooms { group, params, .. } = self;
        act(&OutsourcedBloomParty { me, group: *group, params, items: &items, met: &met, post: &post }, &key)
    }

    /// An honest party's part.
    pub fn part(&self, me: usize, depot: &impl Depot) -> Ended {
        self.with_party(me, depot, |party, _| run(party, &mut rng(me as u8 + 50)))
    }

    /// Returns the result that a party should learn.
    pub fn expected(&self, me: usize) -> Option<Vec<usize>> {
        let sets: Vec<HashSet<usize>> = self.sets.iter().map(|set| set.iter().copied().collect()).collect();
        let common = |index: &usize| sets.iter().all(|set| set.contains(&self.sets[me][*index]));
        self.params.learners().contains(&me).then(|| (0..self.sets[me].len()).filter(common).collect())
    }

    /// Everybody's end, and the shelf.
    pub fn run(&self) -> (Vec<Ended>, Shelf) {
        self.run_with(|me, depot| self.part(me, depot))
    }

    /// Runs all parties as [`Blooms::run`] does, with programs of the caller's for the parties.
    pub fn run_with<T: Send>(&self, part: impl Fn(usize, &User<'_>) -> Result<T> + Sync) -> (Vec<Result<T>>, Shelf) {
        let names: Vec<String> = (0..self.sets.len()).map(name).collect();
        let shelf = Shelf::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let ends = std::thread::scope(|scope| {
            let (shelf, part) = (&shelf, &part);
            scope.spawn(|| {
                let depot = shelf.user(DepotParty::Helper);
                let helped = helper::run(&self.params, self.group, &depot, &mut rng(HELPER));
                let _ = helped.inspect_err(|error| depot.end(error));
            });
            let start = |me| {
                scope.spawn(move || {
                    let depot = shelf.user(DepotParty::Party(me as u8));
                    part(me, &depot).inspect_err(|error| depot.end(error))
                })
            };
            let parties: Vec<_> = (0..self.sets.len()).map(start).collect();
            parties.into_iter().map(|party| party.join().unwrap()).collect()
        });
        (ends, shelf)
    }
}

pub fn item(key: &[u8; 32], number: usize) -> Item {
    Item::new(key, &number.to_le_bytes())
}
