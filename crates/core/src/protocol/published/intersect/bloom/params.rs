//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use crate::channel::HEADER_BYTES;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::ot::softspoken::{self, MAX_K};
use crate::primitive::published::bloom::{PIECE, Strength};
use crate::protocol::intersect::tag_exchange::items::all_distinct;
use crate::role::Role;
use crate::security::Security;

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    bound: usize,
    strength: Strength,
    slots: usize,
    extension: softspoken::Params,
}

impl Params {
    /// For sets of at most `bound` items each, over SoftSpoken with `extension` as its k (1 to 8): 128 / k bits an OT,
    /// and the more computation the larger it is. 4 takes the least time, 8 suits slow lines.
    ///
    /// Errors ([`Error::Input`]): so many items that the filters would have more than 2^32 slots; an extension that is
    /// not possible.
    pub fn new(bound: usize, strength: Strength, extension: usize) -> Result<Params> {
        let extension = softspoken::Params::new(Security::SemiHonest, extension)
            .map_err(|_| Error::Input(format!("SoftSpoken with k = {extension}: k can be 1 to {MAX_K}")))?;
        Ok(Params { bound, strength, slots: strength.slots(bound)?, extension })
    }

    /// The most items of either set.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// Bits of a slot, and number of hash functions.
    pub fn strength(&self) -> Strength {
        self.strength
    }

    /// Slots of the filters, and OTs.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the OT extension.
    pub fn extension(&self) -> &softspoken::Params {
        &self.extension
    }

    /// Bytes that a party sends to set the OTs up, frames' headers included.
    pub(crate) fn setup_bytes_sent_by(&self, role: Role) -> u64 {
        self.extension.setup_bytes_sent_by(role)
    }

    /// Bytes that a party sends in one run, likewise.
    pub(crate) fn run_bytes_sent_by(&self, role: Role) -> u64 {
        let pieces = self.slots.div_ceil(PIECE);
        let slots = match role {
            Role::Receiver => 0,
            Role::Sender => self.slots as u64 * self.strength.slot_bytes() as u64 + (pieces * HEADER_BYTES) as u64,
        };
        slots + self.extension.bytes_sent_by(role, self.slots)
    }

    /// Bytes that a party sends in [`send`](super::send) or [`receive`](super::receive), likewise, the closing frame
    /// not: none without slots.
    pub fn bytes_sent_by(&self, role: Role) -> u64 {
        if self.slots == 0 { 0 } else { self.setup_bytes_sent_by(role) + self.run_bytes_sent_by(role) }
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them, set-up included.
    pub fn rounds(&self) -> u32 {
        // Points of the base OTs; their key, trees and corrections; slots.
        if self.slots == 0 { 0 } else { 3 }
    }

    /// Memory of a receiver with so many items besides these, in bytes, an estimate from above for two threads: their
    /// places, sorted, and what it works with.
    pub fn memory_of_receiver(&self, items: u64) -> u64 {
        let pieces = self.slots.div_ceil(PIECE) as u64;
        let places = items * (4 * self.strength.bits() as u64 + 32) + items.div_ceil(1 << 16) * pieces * 4;
        places + (96 << 20)
    }

    /// The same of the sender: two bits for each slot, and what it keeps of its items.
    pub fn memory_of_sender(&self, items: u64) -> u64 {
        self.slots as u64 / 4 + items * 72 + (64 << 20)
    }

    /// Refuses more items than were agreed on, and items that are not distinct.
    pub(super) fn check(&self, items: &[Item]) -> Result<()> {
        if items.len() > self.bound {
            return Err(Error::Input(format!(
                "bloom: {} items where {} were agreed on: a fuller filter would not protect the items",
                items.len(),
                self.bound
            )));
        }
        if all_distinct(items) { Ok(()) } else { Err(Error::Internal("bloom: the items are not distinct".into())) }
    }
}
