//! The next epoch of a list, while it is being prepared: all that takes long is done before it begins.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use rand_core::CryptoRng;

use super::list::full;
use super::{Chain, List, Params, Tag};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::oprf::OprfKey;
use crate::primitive::shuffle::random_order;
use crate::protocol::intersect::tag_exchange::TagDomain;

/// Items that are evaluated at a time.
const CHUNK: usize = 1 << 12;

/// A fresh key, and the tags under it of the items that the list will begin with.
pub struct ListDraft {
    epoch: [u8; 32],
    params: Params,
    key: OprfKey,
    domain: TagDomain,
    /// Tags by item. Items are hashes, so places are random all the same.
    tags: BTreeMap<Item, Tag>,
}

impl ListDraft {
    /// A draft with a fresh key and these items. `epoch` is a fresh random id, bound to the terms and to the authority.
    ///
    /// Errors: as [`ListDraft::update`].
    pub fn new(items: &[Item], epoch: [u8; 32], params: Params, rng: &mut impl CryptoRng) -> Result<ListDraft> {
        let (key, domain) = (OprfKey::random(params.suite, rng), TagDomain::of_epoch(&epoch));
        let mut draft = ListDraft { epoch, params, key, domain, tags: BTreeMap::new() };
        draft.update(items)?;
        Ok(draft)
    }

    /// Replaces the items by these, which are distinct and made with a key of the epoch. An item that goes costs as
    /// much as one that comes: the time that this takes depends on how many change.
    ///
    /// Errors: [`Error::Input`] for more items than the table has entries, [`Error::Internal`] for an item that is
    /// there twice.
    pub fn update(&mut self, items: &[Item]) -> Result<()> {
        if items.len() > self.params.entries {
            return Err(full(items.len(), &self.params));
        }
        let wanted: HashSet<&Item> = items.iter().collect();
        if wanted.len() != items.len() {
            return Err(Error::Internal("an item is on a list twice".into()));
        }
        let gone: Vec<Item> = self.tags.keys().filter(|item| !wanted.contains(item)).copied().collect();
        let come: Vec<Item> = items.iter().filter(|item| !self.tags.contains_key(item)).copied().collect();
        self.tags.retain(|item, _| wanted.contains(item));
        for chunk in gone.chunks(CHUNK) {
            self.key.evaluate(chunk)?;
        }
        for chunk in come.chunks(CHUNK) {
            let outputs = self.key.evaluate(chunk)?;
            let tags = outputs.iter().map(|output| Tag::of(&self.domain.tag(output, 0), self.params.tag_bytes));
            self.tags.extend(chunk.iter().copied().zip(tags));
        }
        Ok(())
    }

    /// Begins the epoch: each item's tag in a uniformly random place of the table, random bytes in all others.
    pub fn begin(self, rng: &mut impl CryptoRng) -> List {
        let ListDraft { epoch, params, key, domain, tags } = self;
        let mut table = vec![0; params.table_bytes()];
        rng.fill_bytes(&mut table);
        for (tag, place) in tags.values().zip(random_order(params.entries, rng)) {
            table[place as usize * params.tag_bytes..][..params.tag_bytes].copy_from_slice(tag.bytes(&params));
        }
        let first = Chain::begin(&epoch, &table);
        let turns = tags.into_keys().map(|item| (item, 1)).collect();
        List::of_parts((epoch, params, key, domain), (first, table), turns)
    }
}

impl fmt::Debug for ListDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Draft({} items of {})", self.tags.len(), self.params.entries)
    }
}
