//! Tags and where they are, in little memory.

use std::hash::{BuildHasher, RandomState};

/// Marks a slot that holds nothing.
const EMPTY: u32 = u32::MAX;

/// Finds the index of a tag among many of one length: open addressing with linear probing, at most two thirds full.
/// About 6 bytes a tag on top of the tag itself. The slots are chosen by a hash under a random key, because the peer
/// may have chosen the tags.
pub(super) struct TagTable {
    tag_bytes: usize,
    tags: Vec<u8>,
    slots: Vec<u32>,
    hasher: RandomState,
}

impl TagTable {
    /// An empty table for `capacity` tags.
    pub(super) fn new(capacity: usize, tag_bytes: usize) -> TagTable {
        TagTable {
            tag_bytes,
            tags: Vec::with_capacity(capacity * tag_bytes),
            slots: vec![EMPTY; capacity + capacity / 2 + 1],
            hasher: RandomState::new(),
        }
    }

    /// Gives the next index to a tag. Returns whether the tag is new; [`TagTable::find`] finds the first of equal ones.
    pub(super) fn insert(&mut self, tag: &[u8]) -> bool {
        let index = self.tags.len() / self.tag_bytes;
        assert!(3 * index < 2 * self.slots.len(), "a table holds no more than it was made for");
        let slot = self.slot(tag);
        self.tags.extend_from_slice(tag);
        let new = self.slots[slot] == EMPTY;
        if new {
            self.slots[slot] = index as u32;
        }
        new
    }

    /// The index of a tag.
    pub(super) fn find(&self, tag: &[u8]) -> Option<usize> {
        match self.slots[self.slot(tag)] {
            EMPTY => None,
            index => Some(index as usize),
        }
    }

    /// The slot that holds the tag, or else the one that is free for it.
    fn slot(&self, tag: &[u8]) -> usize {
        let hash = self.hasher.hash_one(tag);
        let mut slot = ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize;
        loop {
            match self.slots[slot] {
                EMPTY => return slot,
                index if self.tag(index as usize) == tag => return slot,
                _ => slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 },
            }
        }
    }

    fn tag(&self, index: usize) -> &[u8] {
        &self.tags[index * self.tag_bytes..(index + 1) * self.tag_bytes]
    }
}

/// One bit for each of `length` things.
pub(super) struct Bits {
    bytes: Vec<u8>,
    length: usize,
}

impl Bits {
    /// All zero.
    pub(super) fn new(length: usize) -> Bits {
        Bits { bytes: vec![0; length.div_ceil(8)], length }
    }

    /// Bit i is bit i mod 8, counted from the least significant, of byte i / 8. `None` if their number is wrong or a
    /// bit beyond the last is set.
    pub(super) fn from_bytes(bytes: Vec<u8>, length: usize) -> Option<Bits> {
        let beyond = (length..bytes.len() * 8).any(|index| bytes[index / 8] >> (index % 8) & 1 == 1);
        (bytes.len() == length.div_ceil(8) && !beyond).then_some(Bits { bytes, length })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Sets a bit and returns whether it was set already.
    pub(super) fn set(&mut self, index: usize) -> bool {
        let (byte, bit) = (&mut self.bytes[index / 8], 1 << (index % 8));
        let was = *byte & bit != 0;
        *byte |= bit;
        was
    }

    /// The indices of the bits that are set.
    pub(super) fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.length).filter(|index| self.bytes[index / 8] >> (index % 8) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found_and_nothing_else() {
        for count in [0usize, 1, 2, 1000] {
            let tag = |i: usize| blake3::hash(&i.to_le_bytes()).as_bytes()[..5].to_vec();
            let mut table = TagTable::new(count, 5);
            for i in 0..count {
                assert!(table.insert(&tag(i)));
            }
            assert!((0..count).all(|i| table.find(&tag(i)) == Some(i)));
            assert!((count..count + 1000).all(|i| table.find(&tag(i)).is_none()));
        }
    }

    #[test]
    fn the_first_of_equal_tags_is_found() {
        let mut table = TagTable::new(3, 2);
        assert_eq!([[1, 2], [1, 2], [3, 4]].map(|tag| table.insert(&tag)), [true, false, true]);
        assert_eq!((table.find(&[1, 2]), table.find(&[3, 4])), (Some(0), Some(2)));
    }

    #[test]
    fn bits_have_one_encoding() {
        let mut bits = Bits::new(11);
        assert!(!bits.set(0) && !bits.set(10) && bits.set(10));
        assert_eq!(bits.bytes(), [1, 4]);
        assert_eq!(Bits::from_bytes(vec![1, 4], 11).unwrap().ones().collect::<Vec<_>>(), [0, 10]);
        assert!(Bits::from_bytes(vec![1, 8], 11).is_none());
        assert!(Bits::from_bytes(vec![1], 11).is_none());
        assert!(Bits::from_bytes(vec![1, 0, 0], 11).is_none());
    }
}
