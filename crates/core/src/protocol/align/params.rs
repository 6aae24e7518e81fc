//! Sizes that both parties agree on before the first message, and what a run costs.

use super::ID_BYTES;
use super::order::ROWS_BYTES;
use crate::channel::HEADER_BYTES;
use crate::error::{Error, Result};
use crate::protocol::intersect::tag_exchange::{self, CHUNK, Frames, framed_bytes};
use crate::protocol::intersect::vole;
use crate::protocol::union;
use crate::role::{Role, Side};
use crate::security::Security;

/// Memory of a party for each of its own items, in bytes, an estimate from above: the store and the correlation of its
/// function, or, later, outputs, ids and items of the union.
const OWN_BYTES: u64 = 192;

/// Memory for each of the peer's items: the key of the peer's function, or, later, tags.
const PEER_BYTES: u64 = 48;

/// Memory for each row of the union: ids as they come, and in order.
const ROW_BYTES: u64 = 2 * ID_BYTES as u64;

/// Memory that does not depend on sizes: trees of the correlation, chunks of OTs, messages.
const FIXED_BYTES: u64 = 32 << 20;

/// Agreed public values of one run. Both parties must use equal ones.
///
/// There is one security: parties follow the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Items of the first party, those that fill up included.
    pub first_items: usize,
    /// Items of the second party, likewise.
    pub second_items: usize,
    /// Runs among which what may go wrong by chance is divided, this one included.
    pub runs: usize,
    /// Elements or ids in one message.
    pub chunk: usize,
}

impl Params {
    /// For so many items. A party's items do not fit a store of the two with probability 2^-42 at most
    /// ([`Chance::Store`](crate::Chance::Store)); an item of the second party is taken for one that the first has with
    /// 2^-43 at most, over all of them ([`Chance::Tag`](crate::Chance::Tag)): the second party then ends with an error,
    /// because its id is missing.
    pub fn new(first_items: usize, second_items: usize) -> Params {
        Params { first_items, second_items, runs: 1, chunk: CHUNK }
    }

    /// The same, as one of `runs` of which none may go wrong by chance, but with the probability that one alone may.
    pub fn one_of(self, runs: usize) -> Params {
        Params { runs, ..self }
    }

    /// Items of a party.
    pub fn items(&self, side: Side) -> usize {
        match side {
            Side::First => self.first_items,
            Side::Second => self.second_items,
        }
    }

    /// The function that `receiver` gets at its items, under the other party's key. Two stores share what may go wrong.
    pub(super) fn function(&self, receiver: Side) -> Result<vole::Params> {
        let entries = tag_exchange::Params::rows(self.items(receiver), self.items(receiver.other()));
        vole::Params::new(entries.one_of(2 * self.runs), Security::SemiHonest)
    }

    /// The union of ids, in which the first party is the receiver.
    pub(super) fn union(&self) -> union::Params {
        let union = union::Params::new(self.first_items, self.second_items, ID_BYTES).one_of(self.runs);
        union::Params { chunk: self.chunk, ..union }
    }

    /// The fewest rows of a union, and the most.
    pub(super) fn possible_rows(&self) -> (usize, usize) {
        (self.first_items.max(self.second_items), self.first_items + self.second_items)
    }

    /// Ids of the union cut into messages.
    pub(super) fn frames(&self, rows: usize) -> Frames {
        Frames::new(rows, ID_BYTES, self.chunk)
    }

    /// Refuses values that cannot work, and a number of items that was not agreed on.
    pub(super) fn check(&self, side: Side, items: usize) -> Result<()> {
        let most = u32::MAX as usize;
        if self.first_items.checked_add(self.second_items).is_none_or(|rows| rows > most) {
            return Err(Error::Input("the tables have 2^32 rows or more together: split the input".into()));
        }
        let agreed = self.items(side);
        match (items == agreed, self.runs > 0 && self.chunk > 0) {
            (true, true) => Ok(()),
            (false, _) => Err(Error::Internal(format!("align: {items} items where {agreed} were agreed on"))),
            _ => Err(Error::Internal("align: these parameters cannot work".into())),
        }
    }

    /// Bytes that a party sends in all, frame headers included and heartbeats not, if `common` items are common. The
    /// fewest common ones, 0, cost most.
    pub fn bytes_sent_by(&self, side: Side, common: usize) -> Result<u64> {
        let role = match side {
            Side::First => Role::Receiver,
            Side::Second => Role::Sender,
        };
        let functions = self.function(side)?.function_bytes_sent_by(Role::Receiver)?
            + self.function(side.other())?.function_bytes_sent_by(Role::Sender)?;
        let rows = (self.first_items + self.second_items).saturating_sub(common);
        let order = match side {
            Side::First => (HEADER_BYTES + ROWS_BYTES) as u64 + framed_bytes(rows, ID_BYTES, self.chunk),
            Side::Second => 0,
        };
        Ok(functions + self.union().bytes_sent_by(role) + order)
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them.
    pub fn rounds(&self) -> Result<u32> {
        let functions = self.function(Side::First)?.function_rounds() + self.function(Side::Second)?.function_rounds();
        Ok(functions + self.union().rounds() + 1)
    }

    /// Memory that a party takes besides its items, in bytes, an estimate from above.
    pub fn memory(&self, side: Side) -> u64 {
        let (own, peers) = (self.items(side) as u64, self.items(side.other()) as u64);
        let items = own.saturating_mul(OWN_BYTES).saturating_add(peers.saturating_mul(PEER_BYTES));
        items.saturating_add((own + peers).saturating_mul(ROW_BYTES)).saturating_add(FIXED_BYTES)
    }
}
