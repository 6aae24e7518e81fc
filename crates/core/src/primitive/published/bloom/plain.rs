//! A Bloom filter in memory, a bit for each slot.

use zeroize::Zeroizing;

use super::Hashes;
use crate::item::Item;

/// A Bloom filter in memory.
pub struct Plain {
    slots: usize,
    bytes: Zeroizing<Vec<u8>>,
}

impl Plain {
    /// A filter of so many slots, none of which is set.
    pub fn empty(slots: usize) -> Plain {
        Plain { slots, bytes: Zeroizing::new(vec![0; slots.div_ceil(8)]) }
    }

    /// The filter of `items`.
    pub fn new(items: &[Item], hashes: &Hashes) -> Plain {
        let mut filter = Plain::empty(hashes.slots());
        let places = hashes.places(items);
        for element in 0..places.len() {
            places.of(element).iter().for_each(|place| filter.set(*place as usize));
        }
        filter
    }

    /// Sets the bit of a slot.
    pub fn set(&mut self, slot: usize) {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        self.bytes[slot / 8] |= 1 << (slot % 8);
    }

    /// The bit of a slot: 1 if it is set, or else 0.
    pub fn bit(&self, slot: usize) -> u8 {
        self.bytes[slot / 8] >> (slot % 8) & 1
    }

    /// Returns the indices of the `items` whose slots are all set, ascending.
    pub fn matches(&self, items: &[Item], hashes: &Hashes) -> Vec<usize> {
        let places = hashes.places(items);
        let all_set = |element: &usize| places.of(*element).iter().all(|place| self.bit(*place as usize) == 1);
        (0..places.len()).filter(all_set).collect()
    }
}

/// Prints no slots: whoever guesses an item finds it in the filter, so it is never printed.
impl std::fmt::Debug for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plain({} slots)", self.slots)
    }
}
