//! A list as it is kept on disk: all of it, and what was done to it since. Whoever keeps it seals it; these bytes hold
//! the epoch's key.

use std::collections::HashMap;

use zeroize::Zeroizing;

use super::list::{List, ListStep};
use super::{CHAIN_BYTES, Chain, MAX_TAG_BYTES, MAX_TURNS, Params, Tag};
use crate::item::{ITEM_BYTES, Item};
use crate::primitive::oprf::{OprfKey, Suite};
use crate::protocol::intersect::tag_exchange::TagDomain;

/// First byte of a stored list.
const VERSION: u8 = 2;

/// Length of an item and how many of its tags are in the table.
const TURNS_BYTES: usize = ITEM_BYTES + 4;

const STEP_BYTES: usize = 1 + MAX_TAG_BYTES + ITEM_BYTES;

impl List {
    /// Encodes the whole list, the secret key too.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let suite = Suite::ALL.iter().position(|suite| *suite == self.params.suite).unwrap_or_default();
        let changes = self.state().version as u32;
        let mut out = Zeroizing::new(Vec::with_capacity(self.table.len() + self.turns.len() * TURNS_BYTES + 256));
        out.extend([VERSION, suite as u8, self.params.tag_bytes as u8]);
        out.extend((self.params.entries as u32).to_le_bytes());
        out.extend(self.epoch);
        out.extend_from_slice(&self.key.to_bytes());
        out.extend(self.first.0);
        out.extend(changes.to_le_bytes());
        out.extend_from_slice(&self.table);
        for (item, turns) in &self.turns {
            out.extend(item.0);
            out.extend(turns.to_le_bytes());
        }
        out
    }

    /// Decodes the bytes that [`List::to_bytes`] made; `None` for other bytes.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<List> {
        let bytes = &mut bytes;
        let [version, suite, tag_bytes] = take(bytes)?;
        let suite = *Suite::ALL.get(suite as usize)?;
        let entries = u32::from_le_bytes(take(bytes)?) as usize;
        let params = Params { entries, tag_bytes: tag_bytes as usize, suite };
        if version != VERSION || !(1..=MAX_TAG_BYTES).contains(&params.tag_bytes) {
            return None;
        }
        let epoch = take(bytes)?;
        let key = OprfKey::from_bytes(suite, slice(bytes, suite.key_bytes())?)?;
        let first = Chain(take::<CHAIN_BYTES>(bytes)?);
        let changes = u32::from_le_bytes(take(bytes)?) as usize;
        if changes > params.max_changes() {
            return None;
        }
        let table = slice(bytes, entries.checked_add(changes)?.checked_mul(params.tag_bytes)?)?.to_vec();
        let mut turns = HashMap::with_capacity(bytes.len() / TURNS_BYTES);
        while !bytes.is_empty() {
            let (item, count) = (Item(take(bytes)?), u32::from_le_bytes(take(bytes)?));
            if !(1..=MAX_TURNS).contains(&count) || turns.insert(item, count).is_some() {
                return None;
            }
        }
        let domain = TagDomain::of_epoch(&epoch);
        let list = List::of_parts((epoch, params, key, domain), (first, table), turns);
        (list.items() <= entries).then_some(list)
    }
}

impl ListStep {
    /// Steps, one after the other.
    pub fn encode_all(steps: &[ListStep]) -> Vec<u8> {
        let mut out = Vec::with_capacity(steps.len() * STEP_BYTES);
        for step in steps {
            out.push(u8::from(step.added));
            out.extend(step.tag.0);
            out.extend(step.item.0);
        }
        out
    }

    /// Decodes the bytes that [`ListStep::encode_all`] made; `None` for other bytes.
    pub fn decode_all(bytes: &[u8]) -> Option<Vec<ListStep>> {
        if !bytes.len().is_multiple_of(STEP_BYTES) {
            return None;
        }
        let step = |mut one: &[u8]| {
            let [added] = take(&mut one)?;
            let tag = Tag(take(&mut one)?);
            (added <= 1).then_some(ListStep { tag, item: Item(take(&mut one)?), added: added == 1 })
        };
        bytes.chunks_exact(STEP_BYTES).map(step).collect()
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

fn slice<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(first)
}
