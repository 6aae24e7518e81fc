//! A desk's side: its copy of the table, and a question.

use std::collections::HashMap;
use std::fmt;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::messages::{Facts, State};
use super::{Change, MAX_ELEMENTS, Params, Tag};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::group::DecodeError;
use crate::primitive::oprf::Blinds;
use crate::protocol::intersect::entries::Domain;

/// A desk's copy of the table of an epoch.
pub struct Replica {
    params: Params,
    domain: Domain,
    table: Vec<u8>,
    /// How often each entry is there: more than once only by chance, or by the doing of an authority that does not follow the protocol.
    entries: HashMap<Tag, u32>,
    state: State,
}

impl Replica {
    /// A table as it was fetched. Fails with what is wrong if it is not as long as was agreed on.
    pub fn new(facts: &Facts, params: Params, table: Vec<u8>) -> std::result::Result<Replica, &'static str> {
        if table.len() != params.table_bytes() {
            return Err("has another length than was agreed on");
        }
        let mut entries = HashMap::with_capacity(params.entries);
        for tag in table.chunks_exact(params.tag_bytes) {
            *entries.entry(Tag::of(tag, params.tag_bytes)).or_insert(0) += 1;
        }
        Ok(Replica { params, domain: Domain::of_epoch(&facts.state.epoch), table, entries, state: facts.state })
    }

    /// What it has been through.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Does what has changed. Fails with what is wrong if a change is of no place of the table; it is as before then, up to that change.
    pub fn apply(&mut self, changes: &[Change]) -> std::result::Result<(), &'static str> {
        for change in changes {
            let length = self.params.tag_bytes;
            let start = change.place as usize * length;
            let Some(entry) = self.table.get_mut(start..start + length) else {
                return Err("changes a place that the table does not have");
            };
            let before = Tag::of(entry, length);
            entry.copy_from_slice(change.tag.bytes(&self.params));
            match self.entries.get_mut(&before) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.entries.remove(&before)),
            }
            *self.entries.entry(change.tag).or_insert(0) += 1;
            self.state = State { version: self.state.version + 1, chain: self.state.chain.then(change), ..self.state };
        }
        Ok(())
    }

    /// Which of a question's items are on the list, in their order, from what the authority returned. The copy has to have the state that came
    /// with it.
    pub fn answers(&self, question: &Question, evaluated: &[u8]) -> std::result::Result<Vec<bool>, DecodeError> {
        let outputs = question.blinds.finalize(&question.items, evaluated)?;
        let tag = |output| Tag::of(&self.domain.tag(output, 0), self.params.tag_bytes);
        Ok(outputs.iter().map(|output| self.entries.contains_key(&tag(output))).collect())
    }
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Replica({} entries, version {})", self.params.entries, self.state.version)
    }
}

/// Items that a desk asks for, each with a blind of its own. It is of one epoch: in another the items are others.
pub struct Question {
    items: Zeroizing<Vec<Item>>,
    blinds: Blinds,
    blinded: Vec<u8>,
}

impl Question {
    /// A question for up to [`MAX_ELEMENTS`] items, which may be equal.
    pub fn new(items: Vec<Item>, params: &Params, rng: &mut impl CryptoRng) -> Result<Question> {
        if items.is_empty() || items.len() > MAX_ELEMENTS {
            return Err(Error::Internal(format!("a question for {} items", items.len())));
        }
        let items = Zeroizing::new(items);
        let blinds = Blinds::random(params.suite, items.len(), rng);
        let blinded = blinds.blind(&items)?;
        Ok(Question { items, blinds, blinded })
    }

    /// What the authority sees: an element for each item.
    pub fn blinded(&self) -> &[u8] {
        &self.blinded
    }

    /// How many items there are.
    pub fn elements(&self) -> usize {
        self.items.len()
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Question({} items)", self.elements())
    }
}
