//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use super::transfer;
use crate::channel::HEADER_BYTES;
use crate::error::{Error, Result};
use crate::primitive::oprf::Suite;
use crate::primitive::ot::chosen::MAX_OFFERED_BYTES;
use crate::protocol::intersect::tag_exchange::{self, CHUNK, Frames, framed_bytes};
use crate::role::Role;

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Items that the receiver sends, dummies included. Fewer own items are filled up, more are refused.
    pub receiver_items: usize,
    /// Items of the sender, all of them its own: bits and items that the receiver gets tell it how many there are.
    pub sender_items: usize,
    /// Length of what the sender gives for each item.
    pub payload_bytes: usize,
    /// Length of a tag.
    pub tag_bytes: usize,
    /// Elements in one message.
    pub chunk: usize,
}

impl Params {
    /// For sets of so many items. An item of the sender that the receiver lacks is taken for one that it has with
    /// probability 2^-43 at most, over all of them ([`Chance::Tag`](crate::Chance::Tag)).
    pub fn new(receiver_items: usize, sender_items: usize, payload_bytes: usize) -> Params {
        let tag_bytes = tag_exchange::tag_bytes(receiver_items, sender_items);
        Params { receiver_items, sender_items, payload_bytes, tag_bytes, chunk: CHUNK }
    }

    /// The same, as one of `runs` of which none may go wrong by chance, but with the probability that one alone may.
    pub fn one_of(self, runs: usize) -> Params {
        let rows = tag_exchange::Params::rows(self.receiver_items, self.sender_items);
        Params { tag_bytes: rows.one_of(runs).tag_bytes, ..self }
    }

    /// The group and the hash to it.
    pub(super) fn suite(&self) -> Suite {
        Suite::Ristretto255
    }

    /// Bytes that a party of `ecdh` sends in all, frame headers included and heartbeats not.
    pub fn bytes_sent_by(&self, role: Role) -> u64 {
        if self.sender_items == 0 {
            return HEADER_BYTES as u64;
        }
        let elements = |count| framed_bytes(count, self.suite().element_bytes(), self.chunk);
        let tested = match role {
            Role::Receiver => elements(self.receiver_items),
            Role::Sender => elements(self.sender_items) + framed_bytes(self.receiver_items, self.tag_bytes, self.chunk),
        };
        tested + transfer::bytes_sent_by(role, self.sender_items, self.payload_bytes) + HEADER_BYTES as u64
    }

    /// Message flights of `ecdh` in sequence, as [`crate::channel::Traffic`] counts them.
    pub fn rounds(&self) -> u32 {
        match self.sender_items {
            0 => 0,
            _ => 1 + transfer::ROUNDS,
        }
    }

    /// Refuses values that cannot work, and a number of items that was not agreed on.
    pub(super) fn check(&self, role: Role, items: usize) -> Result<()> {
        let (agreed, fits) = match role {
            Role::Receiver => (self.receiver_items, items <= self.receiver_items),
            Role::Sender => (self.sender_items, items == self.sender_items),
        };
        if self.receiver_items.max(self.sender_items) > u32::MAX as usize {
            return Err(Error::Input("a set has 2^32 items or more".into()));
        }
        check_payload(self.payload_bytes)?;
        let wrong = if self.chunk == 0 || !(1..=32).contains(&self.tag_bytes) {
            "these parameters cannot work".to_owned()
        } else if !fits {
            format!("{items} items where {agreed} were agreed on")
        } else {
            return Ok(());
        };
        Err(Error::Internal(format!("union: {wrong}")))
    }

    /// Elements or tags cut into messages.
    pub(super) fn frames(&self, count: usize, bytes: usize) -> Frames {
        Frames::new(count, bytes, self.chunk)
    }
}

/// Refuses what cannot be given for an item.
pub(crate) fn check_payload(bytes: usize) -> Result<()> {
    match bytes {
        0 => Err(Error::Internal("union: nothing is given for an item".into())),
        1..=MAX_OFFERED_BYTES => Ok(()),
        _ => Err(Error::Input("the rows of one key, each padded to one length, exceed 1 MiB".into())),
    }
}
