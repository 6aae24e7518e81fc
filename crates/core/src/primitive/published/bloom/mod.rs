//! Bloom filters and garbled Bloom filters (Dong, Chen & Wen, "When private set intersection meets big data", CCS 2013).
//!
//! A Bloom filter of a set has a bit for each slot, which is set if it is a place of an element; an element has k
//! places, one by each of k hash functions. A garbled Bloom filter has a string of k bits in each slot instead: those
//! in an element's places add up (exclusive or) to the element's value, and all else about them is random.
//!
//! Neither filter ever stands in memory, where a set of 10^6 elements would take a gigabyte and a random access to it
//! for each place. Both are used slot by slot, from the first to the last, in pieces of [`PIECE`] slots: [`Garbled`]
//! computes the slots of a piece when they are due, and [`Filter`] has its places sorted by pieces.
//!
//! [`Plain`] is a Bloom filter that does stand in memory, for protocols that work on every slot for far longer;
//! [`Rate`] says how large it is.
//!
//! Which memory is touched depends on the elements, as in any hash table.

mod filter;
mod garbled;
mod hashes;
mod plain;
mod rate;
#[cfg(test)]
mod tests;

pub use filter::Filter;
pub use garbled::Garbled;
pub use hashes::Hashes;
pub(crate) use hashes::Places;
pub use plain::Plain;
pub(crate) use rate::FilterSizes;
pub use rate::Rate;

use crate::error::{Error, Result};
use crate::security::Level;

/// Slots that are worked on at once.
pub const PIECE: usize = 1 << 16;

/// The most slots of a filter.
pub(crate) const MAX_SLOTS: u64 = 1 << 32;

/// Elements, if any, for which a filter has slots at least.
pub(crate) const MIN_BOUND: usize = 16;

/// k: the number of hash functions, and the bits of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// 80, the published experiments' smallest.
    Bits80,
    /// Strength of 112 bits.
    Bits112,
    /// Strength of 128 bits.
    Bits128,
}

impl Strength {
    /// The strength of a security level; none above 128 bits.
    pub fn of(level: Level) -> Option<Strength> {
        match level {
            Level::Paper80 => Some(Strength::Bits80),
            Level::Bits112 => Some(Strength::Bits112),
            Level::Bits128 => Some(Strength::Bits128),
            Level::Bits192 | Level::Bits256 => None,
        }
    }

    /// Returns k, in bits.
    pub const fn bits(self) -> usize {
        match self {
            Strength::Bits80 => 80,
            Strength::Bits112 => 112,
            Strength::Bits128 => 128,
        }
    }

    /// Bytes of a slot.
    pub(crate) const fn slot_bytes(self) -> usize {
        self.bits() / 8
    }

    /// Slots of a filter for `bound` elements: ceil(k * bound * log2 e), which the places of so many elements leave
    /// half empty, and those for `MIN_BOUND` elements if there are fewer, but any.
    ///
    /// An element that is not in the set has all its places set with probability E[p^k], where p is the part of slots
    /// that are set. That is more than 2^-k, because p varies, and the more so the fewer slots there are: for one
    /// element in 116 slots 2^-70.4 where k is 80. With the slots of 16 elements or more it is below 2^-(k-2) for every
    /// k.
    ///
    /// Errors ([`Error::Input`]): more than `MAX_SLOTS`.
    pub fn slots(self, bound: usize) -> Result<usize> {
        let elements = if bound == 0 { 0 } else { bound.max(MIN_BOUND) };
        let places = (elements as u64).checked_mul(self.bits() as u64).filter(|places| *places < MAX_SLOTS);
        let slots = places.map(|places| (places as f64 * std::f64::consts::LOG2_E).ceil() as u64);
        match slots.filter(|slots| *slots <= MAX_SLOTS).and_then(|slots| usize::try_from(slots).ok()) {
            Some(slots) => Ok(slots),
            None => Err(Error::Input(format!(
                "sets of {bound} items are too large for Bloom filters of strength {}: {} are possible",
                self.bits(),
                (MAX_SLOTS as f64 / self.bits() as f64 / std::f64::consts::LOG2_E) as u64
            ))),
        }
    }
}
