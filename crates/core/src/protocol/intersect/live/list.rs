//! The authority's side: the table, which tags of each item are in it, and what has changed.

use std::collections::{HashMap, HashSet};
use std::fmt;

use rand_core::CryptoRng;

use super::messages::ListState;
use super::{Chain, ListDraft, MAX_CHANGES, MAX_TURNS, Params, Tag};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::group::DecodeError;
use crate::primitive::oprf::OprfKey;
use crate::protocol::intersect::tag_exchange::TagDomain;

/// A list in one epoch.
pub struct List {
    pub(super) epoch: [u8; 32],
    pub(super) params: Params,
    pub(super) key: OprfKey,
    domain: TagDomain,
    /// The table as it began.
    pub(super) first: Chain,
    /// The entries that it began with, and behind them one for each change.
    pub(super) table: Vec<u8>,
    /// The chain after each change.
    chains: Vec<Chain>,
    /// Number of tags of each item in the table. An item is on the list if that number is odd.
    pub(super) turns: HashMap<Item, u32>,
    /// Number of items on the list.
    items: usize,
}

/// One item more or less: what [`List::plan`] decides and [`List::apply`] does, so that it can be written down in
/// between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListStep {
    /// Tag that desks see of the step: the entry that the table has from now on behind all others.
    pub tag: Tag,
    /// Item that is added or removed.
    pub item: Item,
    /// Whether it is on the list from now on, or no more.
    pub added: bool,
}

impl List {
    /// A list with these items under a fresh key: see [`ListDraft::new`].
    pub fn new(items: &[Item], epoch: [u8; 32], params: Params, rng: &mut impl CryptoRng) -> Result<List> {
        Ok(ListDraft::new(items, epoch, params, rng)?.begin(rng))
    }

    /// A list whose table is whole: it begins with `params.entries` entries, and what is behind them has changed since.
    pub(super) fn of_parts(
        (epoch, params, key, domain): ([u8; 32], Params, OprfKey, TagDomain),
        (first, table): (Chain, Vec<u8>),
        turns: HashMap<Item, u32>,
    ) -> List {
        let mut chain = first;
        let changes = table[params.table_bytes()..].chunks_exact(params.tag_bytes);
        let chains = changes.map(|entry| {
            chain = chain.then(&Tag::of(entry, params.tag_bytes));
            chain
        });
        let (chains, items) = (chains.collect(), turns.values().filter(|turns| *turns % 2 == 1).count());
        List { epoch, params, key, domain, first, table, chains, turns, items }
    }

    /// Returns the parameters that are the same in all epochs.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the number of items on the list. Desks are not told.
    pub fn items(&self) -> usize {
        self.items
    }

    /// Whether an item is on it.
    pub fn has(&self, item: &Item) -> bool {
        self.turns(item) % 2 == 1
    }

    fn turns(&self, item: &Item) -> u32 {
        self.turns.get(item).copied().unwrap_or_default()
    }

    /// The table as it is now.
    pub fn table(&self) -> &[u8] {
        &self.table
    }

    /// Returns the state of the table.
    pub fn state(&self) -> ListState {
        ListState { epoch: self.epoch, version: self.chains.len() as u64, chain: self.chain(self.chains.len()) }
    }

    fn chain(&self, version: usize) -> Chain {
        version.checked_sub(1).map_or(self.first, |last| self.chains[last])
    }

    /// Returns the changes that a desk in this state has missed: the first [`MAX_CHANGES`] of them. Returns `None` if
    /// there is no such state. Then the epoch is over, or the desk was served by another list of the same name, and the
    /// desk has to fetch the table.
    pub fn since(&self, state: &ListState) -> Option<impl ExactSizeIterator<Item = Tag> + '_> {
        let version = usize::try_from(state.version).ok().filter(|&version| version <= self.chains.len())?;
        let same = state.epoch == self.epoch && state.chain == self.chain(version);
        let length = self.params.tag_bytes;
        let missed = &self.table[(self.params.entries + version) * length..];
        same.then(|| missed.chunks_exact(length).take(MAX_CHANGES).map(move |entry| Tag::of(entry, length)))
    }

    /// The function at each blinded element, in order.
    pub fn evaluate(&self, blinded: &[u8]) -> std::result::Result<Vec<u8>, DecodeError> {
        self.key.blind_evaluate(blinded)
    }

    /// Decides what taking items off the list, and putting others on it, changes. What is not there, or is there
    /// already, is left out. Removals come first. `None` if the epoch has no room for so many changes, or one of the
    /// items has come and gone too often: there has to be another key first.
    ///
    /// Errors: [`Error::Input`] for more items than the table may have.
    pub fn plan(&self, removed: &[Item], added: &[Item]) -> Result<Option<Vec<ListStep>>> {
        let (mut going, mut coming) = (HashSet::new(), HashSet::new());
        let removed = removed.iter().filter(|item| self.has(item) && going.insert(**item)).map(|item| (*item, false));
        let mut changed: Vec<(Item, bool)> = removed.collect();
        let added = added.iter().filter(|item| (!self.has(item) || going.contains(*item)) && coming.insert(**item));
        changed.extend(added.map(|item| (*item, true)));
        let after = self.items - going.len() + coming.len();
        if after > self.params.entries {
            return Err(full(after, &self.params));
        }
        let turns = |item: &Item, added: bool| self.turns(item) + u32::from(added && going.contains(item));
        let is_worn = changed.iter().any(|(item, added)| turns(item, *added) >= MAX_TURNS);
        if is_worn || self.chains.len() + changed.len() > self.params.max_changes() {
            return Ok(None);
        }
        let items: Vec<Item> = changed.iter().map(|(item, _)| *item).collect();
        let outputs = self.key.evaluate(&items)?;
        let steps = changed.into_iter().zip(outputs.iter()).map(|((item, added), output)| {
            let tag = Tag::of(&self.domain.tag(output, turns(&item, added)), self.params.tag_bytes);
            ListStep { tag, item, added }
        });
        Ok(Some(steps.collect()))
    }

    /// Does what was planned.
    ///
    /// Errors: [`Error::Internal`] for steps that are not of this list as it is; it is as before then, up to that step.
    pub fn apply(&mut self, steps: &[ListStep]) -> Result<()> {
        for step in steps {
            if self.has(&step.item) == step.added || self.chains.len() >= self.params.max_changes() {
                return Err(Error::Internal("a change of another list".into()));
            }
            *self.turns.entry(step.item).or_default() += 1;
            if step.added {
                self.items += 1;
            } else {
                self.items -= 1;
            }
            self.chains.push(self.chain(self.chains.len()).then(&step.tag));
            self.table.extend_from_slice(step.tag.bytes(&self.params));
        }
        Ok(())
    }
}

pub(super) fn full(items: usize, params: &Params) -> Error {
    Error::Input(format!("the list would have {items} keys, and there is room for {}", params.entries))
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List({} items of {})", self.items(), self.params.entries)
    }
}
