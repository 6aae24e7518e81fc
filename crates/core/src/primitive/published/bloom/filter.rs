//! The Bloom filter, and queries of the garbled one with its elements.

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::{Hashes, PIECE};
use crate::item::Item;
use crate::primitive::kernel::block::Block;
use crate::primitive::kernel::memory::Secrets;
use crate::primitive::ot::Choices;

/// Elements that are sorted together: their numbers have 16 bits, and what is sorted fits the caches.
const RUN: usize = 1 << 16;

/// The Bloom filter of a set, piece by piece, which then adds up the slots of a garbled one in the elements' places.
pub struct Filter {
    slots: usize,
    runs: Vec<Run>,
    /// Expected sum of the slots in each element's places, plus the slots that have been added already.
    sums: Secrets,
    mask: Block,
}

/// Some of the elements.
struct Run {
    /// Starts of the pieces among all places, followed by the number of all places.
    starts: Vec<u32>,
    /// For each place the slot in its piece, and above it the element in the run. In the order of pieces and elements.
    places: Vec<u32>,
}

impl Filter {
    /// The filter of `items`.
    pub fn new(items: &[Item], hashes: &Hashes) -> Filter {
        let mut sums = Secrets::zeros(items.len());
        let parts = items.par_chunks(RUN).zip(sums.par_chunks_mut(RUN));
        let runs = parts.map(|(items, sums)| Run::new(items, hashes, sums)).collect();
        Filter { slots: hashes.slots(), runs, sums, mask: hashes.truncate(Block::ALL_ONES) }
    }

    /// The bits of piece number `piece`.
    pub fn bits(&self, piece: usize) -> Choices {
        let slots = PIECE.min(self.slots - piece * PIECE);
        let mut bytes = Zeroizing::new(vec![0; slots.div_ceil(8)]);
        for place in self.runs.iter().flat_map(|run| run.places_in(piece)) {
            let slot = *place as u16;
            bytes[usize::from(slot / 8)] |= 1 << (slot % 8);
        }
        Choices::from_bytes(&bytes, slots)
    }

    /// Adds the slots of piece number `piece`, of which only the k lowest bits matter, and only where [`Filter::bits`]
    /// are set. Each piece has to be added once, in any order.
    pub fn add(&mut self, piece: usize, slots: &[Block]) {
        assert_eq!(slots.len(), PIECE.min(self.slots - piece * PIECE), "all slots of piece {piece}");
        self.runs.par_iter().zip(self.sums.par_chunks_mut(RUN)).for_each(|(run, sums)| {
            for place in run.places_in(piece) {
                sums[(place >> 16) as usize] ^= slots[*place as usize % PIECE];
            }
        });
    }

    /// The elements whose slots add up to their values, ascending; call it when all pieces have been added.
    pub(crate) fn matches(&self) -> Vec<usize> {
        let sums = self.sums.iter().enumerate();
        sums.filter(|(_, sum)| **sum & self.mask == Block::ZERO).map(|(element, _)| element).collect()
    }
}

impl Run {
    /// The places of `items`, whose values are written to `sums`.
    fn new(items: &[Item], hashes: &Hashes, sums: &mut [Block]) -> Run {
        let found = hashes.places(items);
        let pieces = hashes.slots().div_ceil(PIECE);
        // Counts first, one place further than they belong; then where each piece begins; then where its next place
        // goes.
        let mut starts = vec![0; pieces + 2];
        for element in 0..found.len() {
            found.of(element).iter().for_each(|place| starts[*place as usize / PIECE + 2] += 1);
        }
        for piece in 2..starts.len() {
            starts[piece] += starts[piece - 1];
        }
        let mut places = vec![0; starts[pieces + 1] as usize];
        for element in 0..found.len() {
            for place in found.of(element) {
                let next = &mut starts[*place as usize / PIECE + 1];
                places[*next as usize] = ((element as u32) << 16) | (*place % PIECE as u32);
                *next += 1;
            }
        }
        starts.pop();
        sums.iter_mut().enumerate().for_each(|(element, sum)| *sum = found.value(element));
        Run { starts, places }
    }

    fn places_in(&self, piece: usize) -> &[u32] {
        &self.places[self.starts[piece] as usize..self.starts[piece + 1] as usize]
    }
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Filter({} slots)", self.slots)
    }
}
