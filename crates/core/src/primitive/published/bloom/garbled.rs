//! The garbled Bloom filter.

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::{Hashes, PIECE, Places};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::kernel::block::{self, BLOCK_BYTES, Block};
use crate::primitive::kernel::memory::Secrets;
use crate::primitive::kernel::{Aes128, Prg};

/// Elements whose places are computed while those of as many others are filled in.
const BATCH: usize = 1 << 13;

/// Slots that have two bits each in a byte.
const SLOTS_PER_BYTE: usize = 4;

/// A garbled Bloom filter, slot by slot.
///
/// The published algorithm inserts one element after the other: the element's first free place is left for last, its
/// other free ones are filled at random, and the one that was left takes what makes the sum the element's value. In the
/// end all free slots are filled at random. Here slot s is the encryption of s under a random key from the beginning,
/// plus (exclusive or) a difference in the slots that were left for last, one for each element. The difference of an
/// element is its value plus the random slots in its places plus the differences that earlier elements have in its
/// places.
pub struct Garbled {
    key: Zeroizing<Block>,
    slots: usize,
    /// The slots with a difference, ascending.
    left: Vec<u32>,
    /// Differences of these slots, in the same order.
    differences: Zeroizing<Vec<Block>>,
    /// The first of them in each piece, and their number.
    starts: Vec<usize>,
}

impl Garbled {
    /// The filter of distinct items, with randomness of `rng`.
    ///
    /// Errors ([`Error::NotReady`]): some element has no free place. Of w items in the slots for w, the probability is
    /// about w / (k ln 2) * 2^-k. [`Error::Input`]: there is no memory for two bits a slot.
    pub fn new(items: &[Item], hashes: &Hashes, rng: &mut impl CryptoRng) -> Result<Garbled> {
        let key = Zeroizing::new(Block::random(rng));
        let cipher = Aes128::new(*key);
        let mut filling = Filling::new(hashes.slots(), items.len())?;
        let mut batches = items.chunks(BATCH);
        let prepare = |items: Option<&[Item]>| items.map(|items| Batch::new(items, hashes, &cipher));
        let mut batch = prepare(batches.next());
        while let Some(current) = batch {
            let (filled, next) = rayon::join(|| filling.insert(&current), || prepare(batches.next()));
            filled?;
            batch = next;
        }
        Ok(filling.finish(key))
    }

    /// Writes the slots from `start` on. Only the k lowest bits of each belong to the filter; the others are random.
    pub fn slots(&self, start: usize, out: &mut [Block]) {
        let end = start + out.len();
        assert!(end <= self.slots, "slots up to {end} of {}", self.slots);
        let mut random = Prg::new(*self.key);
        random.seek(start as u64);
        random.fill(out);
        let piece = self.starts[start / PIECE]..self.starts[end.div_ceil(PIECE)];
        let first = piece.start + self.left[piece.clone()].partition_point(|&slot| (slot as usize) < start);
        for (slot, difference) in self.left[first..piece.end].iter().zip(&self.differences[first..piece.end]) {
            match out.get_mut(*slot as usize - start) {
                Some(out) => *out ^= *difference,
                None => break,
            }
        }
    }
}

impl std::fmt::Debug for Garbled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Garbled({} slots)", self.slots)
    }
}

/// Some elements, with what can be computed for each alone.
struct Batch {
    places: Places,
    /// The value plus all random slots of each element.
    sums: Zeroizing<Vec<Block>>,
}

impl Batch {
    fn new(items: &[Item], hashes: &Hashes, cipher: &Aes128) -> Batch {
        let places = hashes.places(items);
        let sum = |room: &mut Zeroizing<[Block; 128]>, element: usize| {
            let of_element = places.of(element);
            let slots = &mut room[..of_element.len()];
            slots.iter_mut().zip(of_element).for_each(|(slot, place)| *slot = Block(u128::from(*place)));
            cipher.encrypt_blocks(slots);
            places.value(element) ^ block::xor_all(slots)
        };
        let room = || Zeroizing::new([Block::ZERO; 128]);
        let sums = (0..items.len()).into_par_iter().with_min_len(64).map_init(room, sum).collect();
        Batch { places, sums: Zeroizing::new(sums) }
    }
}

/// A filter that elements are inserted into.
struct Filling {
    slots: usize,
    /// Two bits a slot: whether it is filled, and whether it was left for an element's last.
    states: Secrets,
    /// The slot that was left for each element.
    left: Vec<u32>,
    /// The value plus all random slots in the places of each element.
    sums: Zeroizing<Vec<Block>>,
    /// Elements with a place that was left for an earlier one, and that place, in the order of the elements.
    dependencies: Vec<(u32, u32)>,
}

const FILLED: u8 = 1;
const LEFT: u8 = 2;

impl Filling {
    fn new(slots: usize, elements: usize) -> Result<Filling> {
        // The larger set decides how many there are, which may be the peer's.
        let states = Secrets::try_zeros(slots.div_ceil(SLOTS_PER_BYTE * BLOCK_BYTES)).ok_or_else(|| {
            Error::Input(format!("this machine has no memory for a Bloom filter of {slots} slots: bring fewer items"))
        })?;
        Ok(Filling {
            slots,
            states,
            left: Vec::with_capacity(elements),
            sums: Zeroizing::new(Vec::with_capacity(elements)),
            dependencies: Vec::with_capacity(elements / 2),
        })
    }

    fn insert(&mut self, batch: &Batch) -> Result<()> {
        let states = block::as_bytes_mut(&mut self.states);
        for element in 0..batch.places.len() {
            let mut first_free = None;
            for &place in batch.places.of(element) {
                let (byte, shift) = (place as usize / SLOTS_PER_BYTE, 2 * (place as usize % SLOTS_PER_BYTE));
                let state = states[byte] >> shift;
                states[byte] |= FILLED << shift;
                if state & LEFT != 0 {
                    self.dependencies.push((self.left.len() as u32, place));
                }
                first_free = first_free.or((state & FILLED == 0).then_some(place));
            }
            let Some(place) = first_free else {
                return Err(Error::NotReady(
                    "no slot of the garbled Bloom filter was free for an item, which happens by chance alone: run the job \
                     again"
                        .into(),
                ));
            };
            states[place as usize / SLOTS_PER_BYTE] |= LEFT << (2 * (place as usize % SLOTS_PER_BYTE));
            self.left.push(place);
        }
        self.sums.extend_from_slice(&batch.sums);
        Ok(())
    }

    /// The filter: puts the slots in order, and the differences of earlier elements into those of later ones.
    fn finish(mut self, key: Zeroizing<Block>) -> Garbled {
        self.states = Secrets::default();
        let order = (0u64..).zip(&self.left).map(|(element, slot)| u64::from(*slot) << 32 | element);
        let mut order: Zeroizing<Vec<u64>> = Zeroizing::new(order.collect());
        order.par_sort_unstable();
        let slot_of = |entry: &u64| (entry >> 32) as u32;
        let pieces = self.slots.div_ceil(PIECE);
        let mut starts = Vec::with_capacity(pieces + 1);
        for piece in 0..=pieces {
            let from = starts.last().copied().unwrap_or(0);
            let before = |entry: &&u64| ((slot_of(entry)) as usize) < piece * PIECE;
            starts.push(from + order[from..].iter().take_while(before).count());
        }
        for (element, place) in std::mem::take(&mut self.dependencies) {
            let piece = &order[starts[place as usize / PIECE]..starts[place as usize / PIECE + 1]];
            let at = piece.binary_search_by_key(&place, slot_of).expect("a slot that was left has an element");
            let difference = self.sums[piece[at] as u32 as usize];
            self.sums[element as usize] ^= difference;
        }
        let left = order.iter().map(slot_of).collect();
        let differences = Zeroizing::new(order.iter().map(|entry| self.sums[*entry as u32 as usize]).collect());
        Garbled { key, slots: self.slots, left, differences, starts }
    }
}
