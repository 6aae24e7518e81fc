//! Tags and where they are, in little memory.

use std::hash::{BuildHasher, RandomState};

/// The index that marks a slot that holds nothing.
const EMPTY: u32 = u32::MAX;

/// Tags that are looked for together: their slots are fetched from memory at the same time.
const BATCH: usize = 32;

/// The longest tag in words of 64 bits.
const TAG_WORDS: usize = 4;

/// Bytes of a tag that its slot holds.
const SLOT_TAG_BYTES: usize = 12;

/// Finds the index of a tag among many of one length: open addressing with linear probing, at most two thirds full, 24
/// bytes a tag. A slot holds the index and the first 12 bytes of the tag; what goes beyond is kept aside, and read only
/// where those are equal.
///
/// The place of a tag is a universal hash (a chain of folded multiplications) under random keys, because the peer may
/// have chosen the tags: it cannot aim at slots that it does not know.
pub(crate) struct TagTable {
    tag_bytes: usize,
    slots: Vec<Slot>,
    /// The tags, if they are longer than what a slot holds.
    long_tags: Vec<u8>,
    length: usize,
    keys: [u64; TAG_WORDS],
}

/// The first bytes of a tag in the upper 96 bits, its index in the lower 32.
type Slot = u128;

impl TagTable {
    /// An empty table for `capacity` tags of 1 to 32 bytes.
    pub(crate) fn new(capacity: usize, tag_bytes: usize) -> TagTable {
        assert!((1..=8 * TAG_WORDS).contains(&tag_bytes), "a tag has 1 to 32 bytes");
        let random = RandomState::new();
        TagTable {
            tag_bytes,
            slots: vec![Slot::from(EMPTY); capacity + capacity / 2 + 1],
            long_tags: Vec::new(),
            length: 0,
            keys: std::array::from_fn(|index| random.hash_one(index) | 1),
        }
    }

    /// Returns the number of tags.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Gives the next index to a tag. Returns whether the tag is new; [`TagTable::find`] finds the first of equal ones.
    pub(crate) fn insert(&mut self, tag: &[u8]) -> bool {
        assert!(3 * self.length < 2 * self.slots.len(), "a table holds no more than it was made for");
        let (hash, start) = self.hash(tag);
        let slot = self.probe(hash, start, tag);
        if self.tag_bytes > SLOT_TAG_BYTES {
            self.long_tags.extend_from_slice(tag);
        }
        let new = self.slots[slot] as u32 == EMPTY;
        if new {
            self.slots[slot] = start | self.length as Slot;
        }
        self.length += 1;
        new
    }

    /// Gives the next indices to tags that follow each other in `tags`. Of equal ones the first is found.
    pub(crate) fn insert_each(&mut self, tags: &[u8]) {
        for tags in tags.chunks(BATCH * self.tag_bytes) {
            let tags = tags.chunks_exact(self.tag_bytes);
            // The slots of all of them are fetched together before the first is looked at.
            let touched = tags.clone().map(|tag| self.slots[self.first(self.hash(tag).0)] as u32);
            std::hint::black_box(touched.fold(0, |all, index| all ^ index));
            tags.for_each(|tag| {
                self.insert(tag);
            });
        }
    }

    /// The index of a tag.
    pub(crate) fn find(&self, tag: &[u8]) -> Option<usize> {
        let (hash, start) = self.hash(tag);
        self.index_in(self.slots[self.probe(hash, start, tag)])
    }

    /// Looks for tags that follow each other in `tags`: the places of those that are there, with their indices.
    pub(crate) fn find_each(&self, tags: &[u8]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut hashes = [(0, 0); BATCH];
        let mut slots = [0; BATCH];
        for (batch, tags) in tags.chunks(BATCH * self.tag_bytes).enumerate() {
            let tags = tags.chunks_exact(self.tag_bytes);
            let count = tags.len();
            hashes.iter_mut().zip(tags.clone()).for_each(|(hash, tag)| *hash = self.hash(tag));
            slots.iter_mut().zip(&hashes[..count]).for_each(|(slot, hash)| *slot = self.slots[self.first(hash.0)]);
            for (index, tag) in tags.enumerate() {
                if slots[index] as u32 == EMPTY {
                    continue;
                }
                let (hash, start) = hashes[index];
                if let Some(item) = self.index_in(self.slots[self.probe(hash, start, tag)]) {
                    found.push((batch * BATCH + index, item));
                }
            }
        }
        found
    }

    fn index_in(&self, slot: Slot) -> Option<usize> {
        Some(slot as u32).filter(|&index| index != EMPTY).map(|index| index as usize)
    }

    /// The slot that holds the tag, or else the one that is free for it.
    fn probe(&self, hash: u64, start: Slot, tag: &[u8]) -> usize {
        let mut place = self.first(hash);
        loop {
            let slot = self.slots[place];
            if slot as u32 == EMPTY || (slot ^ start) >> 32 == 0 && self.agrees(slot as u32 as usize, tag) {
                return place;
            }
            place = if place + 1 == self.slots.len() { 0 } else { place + 1 };
        }
    }

    /// Whether the tag with this index, which begins like `tag`, is equal to it.
    fn agrees(&self, index: usize, tag: &[u8]) -> bool {
        self.tag_bytes <= SLOT_TAG_BYTES || &self.long_tags[index * self.tag_bytes..][..self.tag_bytes] == tag
    }

    /// The place at which the search for a hash begins.
    fn first(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize
    }

    /// A tag's hash, and its first bytes as they stand in a slot.
    fn hash(&self, tag: &[u8]) -> (u64, Slot) {
        let mut words = [0u8; 8 * TAG_WORDS];
        words[..tag.len()].copy_from_slice(tag);
        let word = |index: usize| u64::from_le_bytes(std::array::from_fn(|byte| words[8 * index + byte]));
        let mut hash = self.keys[TAG_WORDS - 1];
        for index in 0..tag.len().div_ceil(8) {
            let product = u128::from(hash ^ word(index)) * u128::from(self.keys[index]);
            hash = (product >> 64) as u64 ^ product as u64;
        }
        (hash, u128::from(word(0)) << 64 | u128::from(word(1) as u32) << 32)
    }
}

/// One bit for each of `length` things.
pub(crate) struct Bits {
    bytes: Vec<u8>,
    length: usize,
}

impl Bits {
    /// Creates bits that are all zero.
    pub(crate) fn new(length: usize) -> Bits {
        Bits { bytes: vec![0; length.div_ceil(8)], length }
    }

    /// Bit i is bit i mod 8, counted from the least significant, of byte i / 8. `None` if their number is wrong or a
    /// bit beyond the last is set.
    pub(crate) fn from_bytes(bytes: Vec<u8>, length: usize) -> Option<Bits> {
        let beyond = (length..bytes.len() * 8).any(|index| bytes[index / 8] >> (index % 8) & 1 == 1);
        (bytes.len() == length.div_ceil(8) && !beyond).then_some(Bits { bytes, length })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Sets a bit and returns whether it was set already.
    pub(crate) fn set(&mut self, index: usize) -> bool {
        let (byte, bit) = (&mut self.bytes[index / 8], 1 << (index % 8));
        let was = *byte & bit != 0;
        *byte |= bit;
        was
    }

    /// The indices of the bits that are set.
    pub(crate) fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.length).filter(|index| self.bytes[index / 8] >> (index % 8) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found_and_nothing_else() {
        for (count, length) in [(0usize, 5), (1, 32), (2, 16), (1000, 5), (1000, 12), (1000, 13), (1000, 24)] {
            let tag = |i: usize| blake3::hash(&i.to_le_bytes()).as_bytes()[..length].to_vec();
            let mut table = TagTable::new(count, length);
            for i in 0..count {
                assert!(table.insert(&tag(i)));
            }
            assert!((0..count).all(|i| table.find(&tag(i)) == Some(i)));
            let mut together = TagTable::new(count, length);
            together.insert_each(&(0..count).flat_map(tag).collect::<Vec<_>>());
            assert!((0..count).all(|i| together.find(&tag(i)) == Some(i)));
            assert!((count..count + 1000).all(|i| table.find(&tag(i)).is_none()));
            let tags: Vec<u8> = (0..2 * count).rev().flat_map(tag).collect();
            let found: Vec<_> = (0..count).rev().map(|i| (2 * count - 1 - i, i)).collect();
            assert_eq!(table.find_each(&tags), found);
        }
    }

    /// Tags that the peer has made alike in all but a few bits are as quickly found as others.
    #[test]
    fn regular_tags_do_not_pile_up() {
        for stride in [1u64, 1 << 20, 1 << 32, 1 << 52] {
            let mut table = TagTable::new(1000, 10);
            for i in 0..1000u64 {
                let mut tag = [0; 10];
                tag[..8].copy_from_slice(&i.wrapping_mul(stride).to_le_bytes());
                tag[9] = (i % 7) as u8;
                table.insert(&tag);
            }
            let filled: Vec<bool> = table.slots.iter().map(|&slot| slot as u32 != EMPTY).collect();
            let longest = filled.split(|filled| !filled).map(<[bool]>::len).max().unwrap();
            assert!(longest < 200, "a run of {longest} at stride {stride}");
        }
    }

    #[test]
    fn the_first_of_equal_tags_is_found() {
        // Tags that differ beyond what a slot holds.
        let mut table = TagTable::new(2, 14);
        let tag = |last: u8| [[7; 13].as_slice(), &[last]].concat();
        assert_eq!([1, 2].map(|last| table.insert(&tag(last))), [true, true]);
        assert_eq!([1, 2, 3].map(|last| table.find(&tag(last))), [Some(0), Some(1), None]);
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
