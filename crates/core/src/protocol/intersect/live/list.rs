//! The authority's side: the table, what is where, and what has changed.

use std::collections::HashMap;
use std::fmt;

use rand_core::CryptoRng;

use super::messages::State;
use super::{Chain, Change, MAX_CHANGES, Params, Tag};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::group::DecodeError;
use crate::primitive::oprf::Key;
use crate::primitive::shuffle::{below, random_order};
use crate::protocol::intersect::entries::Domain;

/// Items that are evaluated at a time.
const CHUNK: usize = 1 << 12;

/// A list in one epoch.
pub struct List {
    pub(super) epoch: [u8; 32],
    pub(super) params: Params,
    pub(super) key: Key,
    domain: Domain,
    /// The table as it began.
    pub(super) first: Chain,
    pub(super) table: Vec<u8>,
    /// Where the tag of each item is.
    pub(super) places: HashMap<Item, u32>,
    /// The places that hold none.
    free: Free,
    /// All changes of the epoch, each with the chain after it.
    pub(super) log: Vec<(Change, Chain)>,
}

/// One item more or less: what [`List::plan`] decides and [`List::apply`] does, so that it can be written down in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// What desks see of it.
    pub change: Change,
    /// The item.
    pub item: Item,
    /// Whether it is on the list from now on, or no more.
    pub added: bool,
}

impl List {
    /// A list with these items, which are distinct and made with a key of the epoch, under a fresh key. `epoch` is a fresh random id, bound to the
    /// terms and to the authority.
    pub fn new(items: &[Item], epoch: [u8; 32], params: Params, rng: &mut impl CryptoRng) -> Result<List> {
        if items.len() > params.entries {
            return Err(full(items.len(), &params));
        }
        let key = Key::random(params.suite, rng);
        let domain = Domain::of_epoch(&epoch);
        let mut table = vec![0; params.table_bytes()];
        rng.fill_bytes(&mut table);
        let order = random_order(params.entries, rng);
        let (taken, dummies) = order.split_at(items.len());
        let mut places = HashMap::with_capacity(items.len());
        for (items, taken) in items.chunks(CHUNK).zip(taken.chunks(CHUNK)) {
            let tags = tags(&key, &domain, items, &params)?;
            for ((item, &place), tag) in items.iter().zip(taken).zip(tags) {
                places.insert(*item, place);
                table[place as usize * params.tag_bytes..][..params.tag_bytes].copy_from_slice(tag.bytes(&params));
            }
        }
        if places.len() != items.len() {
            return Err(Error::Internal("an item is on a list twice".into()));
        }
        let first = Chain::begin(&epoch, &table);
        let free = Free::new(params.entries, dummies.to_vec());
        Ok(List { epoch, params, key, domain, first, table, places, free, log: Vec::new() })
    }

    /// A list as it was stored.
    pub(super) fn of_parts(
        (epoch, params, key): ([u8; 32], Params, Key),
        (first, table): (Chain, Vec<u8>),
        places: HashMap<Item, u32>,
        log: Vec<(Change, Chain)>,
    ) -> Option<List> {
        let mut is_free = vec![true; params.entries];
        for &place in places.values() {
            let is_free = is_free.get_mut(place as usize)?;
            if !std::mem::replace(is_free, false) {
                return None;
            }
        }
        let dummies = (0..params.entries as u32).filter(|&place| is_free[place as usize]).collect();
        let (domain, free) = (Domain::of_epoch(&epoch), Free::new(params.entries, dummies));
        Some(List { epoch, params, key, domain, first, table, places, free, log })
    }

    /// The epoch's id.
    pub fn epoch(&self) -> &[u8; 32] {
        &self.epoch
    }

    /// What is the same in all epochs.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// How many items are on it. Desks are not told.
    pub fn items(&self) -> usize {
        self.places.len()
    }

    /// Whether an item is on it.
    pub fn has(&self, item: &Item) -> bool {
        self.places.contains_key(item)
    }

    /// The table as it is now.
    pub fn table(&self) -> &[u8] {
        &self.table
    }

    /// What the table has been through.
    pub fn state(&self) -> State {
        State { epoch: self.epoch, version: self.log.len() as u64, chain: self.chain(self.log.len()) }
    }

    fn chain(&self, version: usize) -> Chain {
        version.checked_sub(1).map_or(self.first, |last| self.log[last].1)
    }

    /// What a desk has missed that is in this state: the first [`MAX_CHANGES`] of it. Nothing if there is no such state: the
    /// epoch is over, or the desk was served by another list that was called the same; it has to fetch the table.
    pub fn since(&self, state: &State) -> Option<impl ExactSizeIterator<Item = Change> + '_> {
        let version = usize::try_from(state.version).ok().filter(|&version| version <= self.log.len())?;
        let same = state.epoch == self.epoch && state.chain == self.chain(version);
        same.then(|| self.log[version..].iter().take(MAX_CHANGES).map(|(change, _)| *change))
    }

    /// Forgets what has changed, of a list whose table nobody has fetched yet: it begins as it is.
    pub fn settle(&mut self) {
        self.log.clear();
        self.first = Chain::begin(&self.epoch, &self.table);
    }

    /// Whether so much has changed that a new epoch costs desks less than the changes of this one.
    pub fn is_worn(&self) -> bool {
        self.log.len() >= self.params.entries.max(MAX_CHANGES)
    }

    /// The function at each blinded element, in order.
    pub fn evaluate(&self, blinded: &[u8]) -> std::result::Result<Vec<u8>, DecodeError> {
        self.key.blind_evaluate(blinded)
    }

    /// Decides what taking items off the list, and putting others on it, changes: removals get fresh random bytes, additions random places that
    /// were free before. What is not there, or is there already, is left out. Removals come first.
    pub fn plan(&self, removed: &[Item], added: &[Item], rng: &mut impl CryptoRng) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        let mut going = std::collections::HashSet::new();
        for item in removed {
            if let Some(&place) = self.places.get(item)
                && going.insert(*item)
            {
                let mut dummy = [0; super::MAX_TAG_BYTES];
                rng.fill_bytes(&mut dummy);
                let tag = Tag::of(&dummy, self.params.tag_bytes);
                steps.push(Step { change: Change { place, tag }, item: *item, added: false });
            }
        }
        let mut coming = std::collections::HashSet::new();
        let mut added: Vec<Item> = added.to_vec();
        added.retain(|item| (!self.has(item) || going.contains(item)) && coming.insert(*item));
        if added.len() > self.free.places.len() {
            return Err(full(self.items() + added.len(), &self.params));
        }
        let mut free = self.free.places.clone();
        let tags = tags(&self.key, &self.domain, &added, &self.params)?;
        for (item, tag) in added.into_iter().zip(tags) {
            let place = free.swap_remove(below(free.len() as u32, rng) as usize);
            steps.push(Step { change: Change { place, tag }, item, added: true });
        }
        Ok(steps)
    }

    /// Does what was planned.
    ///
    /// Errors: [`Error::Internal`] for steps that are not of this list as it is; it is as before then, up to that step.
    pub fn apply(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps {
            let place = step.change.place;
            let fits = match step.added {
                true => !self.has(&step.item) && self.free.has(place),
                false => self.places.get(&step.item) == Some(&place),
            };
            if !fits {
                return Err(Error::Internal("a change of another list".into()));
            }
            match step.added {
                true => {
                    self.free.take(place);
                    self.places.insert(step.item, place);
                }
                false => {
                    self.places.remove(&step.item);
                    self.free.put(place);
                }
            }
            let length = self.params.tag_bytes;
            self.table[place as usize * length..][..length].copy_from_slice(step.change.tag.bytes(&self.params));
            let chain = self.chain(self.log.len()).then(&step.change);
            self.log.push((step.change, chain));
        }
        Ok(())
    }
}

/// The places of a table that hold no tag, in no order.
struct Free {
    places: Vec<u32>,
    /// Where each place of the table stands among them.
    of: Vec<u32>,
}

/// Of a place that holds a tag.
const TAKEN: u32 = u32::MAX;

impl Free {
    fn new(entries: usize, places: Vec<u32>) -> Free {
        let mut of = vec![TAKEN; entries];
        places.iter().enumerate().for_each(|(index, &place)| of[place as usize] = index as u32);
        Free { places, of }
    }

    fn has(&self, place: u32) -> bool {
        self.of.get(place as usize).is_some_and(|&index| index != TAKEN)
    }

    fn take(&mut self, place: u32) {
        let index = std::mem::replace(&mut self.of[place as usize], TAKEN) as usize;
        self.places.swap_remove(index);
        if let Some(&moved) = self.places.get(index) {
            self.of[moved as usize] = index as u32;
        }
    }

    fn put(&mut self, place: u32) {
        self.of[place as usize] = self.places.len() as u32;
        self.places.push(place);
    }
}

/// The tags of items.
fn tags(key: &Key, domain: &Domain, items: &[Item], params: &Params) -> Result<Vec<Tag>> {
    let outputs = key.evaluate(items)?;
    Ok(outputs.iter().map(|output| Tag::of(&domain.tag(output, 0), params.tag_bytes)).collect())
}

fn full(items: usize, params: &Params) -> Error {
    Error::Input(format!(
        "the list would have {items} keys, and there is room for {}: agree on a larger limits.pad_to",
        params.entries
    ))
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List({} items of {})", self.items(), self.params.entries)
    }
}
