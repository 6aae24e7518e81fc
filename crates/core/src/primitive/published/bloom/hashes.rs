//! The k hash functions of a filter.

use rayon::prelude::*;

use super::{FilterSizes, Strength};
use crate::item::Item;
use crate::primitive::kernel::Aes128;
use crate::primitive::kernel::block::{BLOCK_BYTES, Block};

/// Largest k that is supported.
const MAX: usize = 128;

/// Bits by which a place is looked for among an element's earlier ones.
const SEEN_BITS: usize = 4096;

/// Elements that one thread hashes at once.
const GRAIN: usize = 256;

/// Places of a filter's elements, and the values that their slots add up to.
///
/// The keyed hash BLAKE3 makes a seed and a value of an element; AES-128 under a public key of the run, as an ideal
/// permutation, makes of the seed + i (exclusive or) the 64-bit numbers 2i and 2i + 1, and a number r the place
/// floor(r * slots / 2^64).
#[derive(Debug)]
pub struct Hashes {
    k: usize,
    slots: usize,
    elements: [u8; 32],
    places: Aes128,
}

impl Hashes {
    /// The functions of a filter of `slots` slots (1 to `MAX_SLOTS`, under a public key that no
    /// other filter has.
    pub fn new(strength: Strength, slots: usize, key: &[u8; 32]) -> Hashes {
        Hashes::of(FilterSizes { k: strength.bits(), slots }, key)
    }

    /// The functions of a filter of these sizes, under a public key that no other filter has.
    pub(crate) fn of(sizes: FilterSizes, key: &[u8; 32]) -> Hashes {
        let FilterSizes { k, slots } = sizes;
        let elements = blake3::derive_key("tacita 1 bloom elements", key);
        let places = blake3::derive_key("tacita 1 bloom places", key);
        Hashes { k, slots, elements, places: Aes128::new(Block::from_le_slice(&places)) }
    }

    /// Bytes of a garbled filter's slot.
    pub(crate) fn slot_bytes(&self) -> usize {
        self.k.div_ceil(8)
    }

    /// Slots of the filter.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The places and the value of each item.
    pub fn places(&self, items: &[Item]) -> Places {
        let k = self.k;
        let mut places = Places {
            stride: k,
            places: vec![0; k * items.len()],
            counts: vec![0; items.len()],
            values: vec![Block::ZERO; items.len()],
        };
        let out = places.places.par_chunks_mut(GRAIN * k).zip(places.counts.par_chunks_mut(GRAIN));
        let out = out.zip(places.values.par_chunks_mut(GRAIN));
        items.par_chunks(GRAIN).zip(out).for_each(|(items, ((places, counts), values))| {
            for (((item, places), count), value) in items.iter().zip(places.chunks_mut(k)).zip(counts).zip(values) {
                *value = self.element(item, places, count);
            }
        });
        places
    }

    /// The value of an item; writes how many places it has, and which.
    fn element(&self, item: &Item, places: &mut [u32], count: &mut u8) -> Block {
        let hash = blake3::keyed_hash(&self.elements, item.as_ref());
        let [seed, value] = [0, BLOCK_BYTES].map(|at| Block::from_le_slice(&hash.as_bytes()[at..]));
        let mut room = [Block::ZERO; MAX / 2];
        let numbers = &mut room[..places.len().div_ceil(2)];
        numbers.iter_mut().enumerate().for_each(|(index, number)| *number = seed ^ Block(index as u128));
        self.places.encrypt_blocks(numbers);

        // An element's places are a set.
        let mut seen = [0u64; SEEN_BITS / 64];
        let mut distinct = 0;
        let halves = numbers.iter().flat_map(|number| [number.0 as u64, (number.0 >> 64) as u64]);
        for number in halves.take(places.len()) {
            let place = ((u128::from(number) * self.slots as u128) >> 64) as u32;
            let (word, bit) = (&mut seen[place as usize % SEEN_BITS / 64], 1 << (place % 64));
            if *word & bit != 0 && places[..distinct].contains(&place) {
                continue;
            }
            *word |= bit;
            places[distinct] = place;
            distinct += 1;
        }
        *count = distinct as u8;
        self.truncate(value)
    }

    /// The k lowest bits.
    pub fn truncate(&self, value: Block) -> Block {
        Block(value.0 & u128::MAX >> (128 - self.k))
    }
}

/// Result of [`Hashes::places`]: places and value of each element.
pub struct Places {
    stride: usize,
    places: Vec<u32>,
    counts: Vec<u8>,
    values: Vec<Block>,
}

impl Places {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The distinct places of an element.
    pub fn of(&self, element: usize) -> &[u32] {
        &self.places[element * self.stride..][..usize::from(self.counts[element])]
    }

    /// Returns the sum that the slots in an element's places must have.
    pub(crate) fn value(&self, element: usize) -> Block {
        self.values[element]
    }
}

/// Prints the number of elements only: places reveal an item to whoever guesses it, so they are never printed.
impl std::fmt::Debug for Places {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Places({} elements)", self.len())
    }
}
