//! A desk's side: its copy of the table, and a question.

use std::collections::HashSet;
use std::fmt;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::messages::{Facts, ListState};
use super::{MAX_ELEMENTS, MAX_TURNS, Params, Tag};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::group::DecodeError;
use crate::primitive::oprf::Blinds;
use crate::protocol::intersect::tag_exchange::TagDomain;

/// A desk's copy of the table of an epoch.
pub struct Replica {
    params: Params,
    domain: TagDomain,
    entries: HashSet<Tag>,
    state: ListState,
}

impl Replica {
    /// A table as it was fetched. Fails with what is wrong if it is not as long as its state says.
    pub fn new(facts: &Facts, params: Params, table: &[u8]) -> std::result::Result<Replica, &'static str> {
        if table.len() != facts.table_bytes(&params) {
            return Err("has another length than was agreed on");
        }
        let entries = table.chunks_exact(params.tag_bytes).map(|entry| Tag::of(entry, params.tag_bytes)).collect();
        Ok(Replica { params, domain: TagDomain::of_epoch(&facts.state.epoch), entries, state: facts.state })
    }

    /// Returns the state of the copy.
    pub fn state(&self) -> &ListState {
        &self.state
    }

    /// Adds what has changed. Fails with what is wrong if that is more than an epoch has; it is as before then.
    pub fn apply(&mut self, changes: &[Tag]) -> std::result::Result<(), &'static str> {
        let version = self.state.version.saturating_add(changes.len() as u64);
        if version > self.params.max_changes() as u64 {
            return Err("has more changes than an epoch may have");
        }
        self.entries.extend(changes);
        let chain = changes.iter().fold(self.state.chain, |chain, change| chain.then(change));
        self.state = ListState { version, chain, ..self.state };
        Ok(())
    }

    /// Determines which of a question's items are on the list, in their order, from the values that the authority
    /// returned. The copy has to have the state that came with them.
    pub fn answers(&self, question: &ListQuestion, evaluated: &[u8]) -> std::result::Result<Vec<bool>, DecodeError> {
        let outputs = question.blinds.finalize(&question.items, evaluated)?;
        let is_there =
            |output, turn| self.entries.contains(&Tag::of(&self.domain.tag(output, turn), self.params.tag_bytes));
        let turns = |output| (0..MAX_TURNS).take_while(|&turn| is_there(output, turn)).count();
        Ok(outputs.iter().map(|output| turns(output) % 2 == 1).collect())
    }
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Replica({} entries, version {})", self.params.entries, self.state.version)
    }
}

/// Items that a desk asks for, each with a blind of its own. It is of one epoch: in another the items are others.
pub struct ListQuestion {
    items: Zeroizing<Vec<Item>>,
    blinds: Blinds,
    blinded: Vec<u8>,
}

impl ListQuestion {
    /// A question for up to [`MAX_ELEMENTS`] items, which may be equal.
    pub fn new(items: Vec<Item>, params: &Params, rng: &mut impl CryptoRng) -> Result<ListQuestion> {
        if items.is_empty() || items.len() > MAX_ELEMENTS {
            return Err(Error::Internal(format!("a question for {} items", items.len())));
        }
        let items = Zeroizing::new(items);
        let blinds = Blinds::random(params.suite, items.len(), rng);
        let blinded = blinds.blind(&items)?;
        Ok(ListQuestion { items, blinds, blinded })
    }

    /// Returns the elements that the authority sees: one for each item.
    pub fn blinded(&self) -> &[u8] {
        &self.blinded
    }

    /// Returns the number of items in the question.
    pub fn elements(&self) -> usize {
        self.items.len()
    }
}

impl fmt::Debug for ListQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Question({} items)", self.elements())
    }
}
