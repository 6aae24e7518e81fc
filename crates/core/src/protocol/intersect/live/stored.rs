//! A list as it is kept on disk: all of it, and what was done to it since. Whoever keeps it seals it; these bytes hold the epoch's key.

use std::collections::HashMap;

use zeroize::Zeroizing;

use super::list::{List, Step};
use super::{CHAIN_BYTES, Chain, Change, MAX_TAG_BYTES, Params, Tag};
use crate::item::{ITEM_BYTES, Item};
use crate::primitive::oprf::{Key, Suite};

/// First byte of a stored list.
const VERSION: u8 = 1;

const STEP_BYTES: usize = 1 + 4 + MAX_TAG_BYTES + ITEM_BYTES;

impl List {
    /// All of it, the secret key too.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let suite = Suite::ALL.iter().position(|suite| *suite == self.params.suite).unwrap_or_default();
        let length = self.table.len() + self.places.len() * (ITEM_BYTES + 4) + self.log.len() * (4 + MAX_TAG_BYTES);
        let mut out = Zeroizing::new(Vec::with_capacity(length + 256));
        out.extend([VERSION, suite as u8, self.params.tag_bytes as u8]);
        out.extend((self.params.entries as u32).to_le_bytes());
        out.extend(self.epoch);
        out.extend_from_slice(&self.key.to_bytes());
        out.extend(self.first.0);
        out.extend_from_slice(&self.table);
        out.extend((self.places.len() as u32).to_le_bytes());
        for (item, place) in &self.places {
            out.extend(item.0);
            out.extend(place.to_le_bytes());
        }
        out.extend((self.log.len() as u32).to_le_bytes());
        for (change, _) in &self.log {
            out.extend(change.place.to_le_bytes());
            out.extend(change.tag.0);
        }
        out
    }

    /// What [`List::to_bytes`] made; nothing of other bytes.
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
        let key = Key::from_bytes(suite, slice(bytes, suite.key_bytes())?)?;
        let first = Chain(take::<CHAIN_BYTES>(bytes)?);
        let table = slice(bytes, entries.checked_mul(params.tag_bytes)?)?.to_vec();
        let count = u32::from_le_bytes(take(bytes)?) as usize;
        let listed = slice(bytes, count.checked_mul(ITEM_BYTES + 4)?)?;
        let mut places = HashMap::with_capacity(count);
        for mut one in listed.chunks_exact(ITEM_BYTES + 4) {
            places.insert(Item(take(&mut one)?), u32::from_le_bytes(take(&mut one)?));
        }
        let count = u32::from_le_bytes(take(bytes)?) as usize;
        let changes = slice(bytes, count.checked_mul(4 + MAX_TAG_BYTES)?)?;
        let (mut log, mut chain) = (Vec::with_capacity(count), first);
        for mut one in changes.chunks_exact(4 + MAX_TAG_BYTES) {
            let place = u32::from_le_bytes(take(&mut one)?);
            let change = Change { place, tag: Tag(take(&mut one)?) };
            chain = chain.then(&change);
            log.push((change, chain));
        }
        if !bytes.is_empty() {
            return None;
        }
        List::of_parts((epoch, params, key), (first, table), places, log)
    }
}

impl Step {
    /// Steps, one after the other.
    pub fn encode_all(steps: &[Step]) -> Vec<u8> {
        let mut out = Vec::with_capacity(steps.len() * STEP_BYTES);
        for step in steps {
            out.push(u8::from(step.added));
            out.extend(step.change.place.to_le_bytes());
            out.extend(step.change.tag.0);
            out.extend(step.item.0);
        }
        out
    }

    /// What [`Step::encode_all`] made; nothing of other bytes.
    pub fn decode_all(bytes: &[u8]) -> Option<Vec<Step>> {
        if !bytes.len().is_multiple_of(STEP_BYTES) {
            return None;
        }
        let step = |mut one: &[u8]| {
            let [added] = take(&mut one)?;
            let place = u32::from_le_bytes(take(&mut one)?);
            let change = Change { place, tag: Tag(take(&mut one)?) };
            (added <= 1).then_some(Step { change, item: Item(take(&mut one)?), added: added == 1 })
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
