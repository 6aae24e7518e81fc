//! Blocks of ciphertexts, blocks of the answerer's columns, and the sums of their products.

use std::ops::Range;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::Params;
use super::layout::Layout;
use super::plaintext::other_block;
use crate::primitive::kernel::ntt::{LANES, LanePair};
use crate::primitive::rlwe::{Ring, Uniform, unpack};
use crate::protocol::dot::Columns;

/// Ciphertexts of some blocks of a group of columns, as multiplication reads them: for each prime and each [`LANES`]
/// values, those values of the first block, of the second one, and so on.
pub(super) struct EncryptedBlocks {
    blocks: usize,
    pairs: Vec<LanePair>,
}

impl EncryptedBlocks {
    /// Reads blocks from `payload`, which holds their first halves; `number` is that of the first block's masks.
    /// Returns `None` if any value is no residue.
    pub(super) fn read(
        (params, ring): (&Params, &Ring),
        masks: &Uniform,
        number: usize,
        payload: &[u8],
    ) -> Option<EncryptedBlocks> {
        let (degree, bits) = (ring.degree(), ring.bits());
        let units: Vec<_> = payload
            .par_chunks(params.unit_bytes())
            .enumerate()
            .map(|(unit, bytes)| {
                let ntt = &ring.primes()[unit % params.primes];
                let mut halves = [vec![0; degree], vec![0; degree]];
                let good = unpack(bits, ntt.prime().value(), bytes, &mut halves[0]);
                masks.fill(ntt, bits, (number * params.primes + unit) as u64, &mut halves[1]);
                good.then_some(halves)
            })
            .collect::<Option<_>>()?;
        let blocks = units.len() / params.primes;
        let mut pairs = vec![[[0; LANES]; 2]; units.len() * degree / LANES];
        pairs.par_chunks_mut(blocks).enumerate().with_min_len(16).for_each(|(index, pairs)| {
            let (prime, tile) = (index / (degree / LANES), index % (degree / LANES));
            for (block, pair) in pairs.iter_mut().enumerate() {
                for (half, values) in pair.iter_mut().zip(&units[block * params.primes + prime]) {
                    half.copy_from_slice(&values[tile * LANES..][..LANES]);
                }
            }
        });
        Some(EncryptedBlocks { blocks, pairs })
    }
}

/// Some blocks of one of the answerer's polynomials, transformed: for each prime and each [`LANES`] values of a
/// ciphertext, what those values of the first block are multiplied with, of the second one, and so on.
pub(super) struct PreparedBlocks {
    factors: Zeroizing<Vec<u64>>,
}

impl PreparedBlocks {
    pub(super) fn new(
        columns: &Columns,
        (ring, layout): (&Ring, &Layout),
        polynomial: usize,
        blocks: Range<usize>,
    ) -> PreparedBlocks {
        let (count, width, start) = (layout.degree / layout.slots, width(layout), blocks.start);
        let length = blocks.len();
        let mut factors = Zeroizing::new(vec![0; count * length * ring.primes().len()]);
        let mut values = Zeroizing::new(vec![0; count]);
        for block in blocks {
            let coefficients = other_block(columns, layout, (polynomial, block));
            for (ntt, factors) in ring.primes().iter().zip(factors.chunks_exact_mut(count * length)) {
                ntt.prime().small(&coefficients, &mut values);
                ntt.forward(&mut values);
                for (values, factors) in values.chunks_exact(width).zip(factors.chunks_exact_mut(width * length)) {
                    factors[(block - start) * width..][..width].copy_from_slice(values);
                }
            }
        }
        PreparedBlocks { factors }
    }
}

/// Values of the answerer's polynomial for [`LANES`] values of a ciphertext.
fn width(layout: &Layout) -> usize {
    (LANES / layout.slots).max(1)
}

/// Sums of products of a group's ciphertexts with several of the answerer's polynomials: for each prime and each
/// [`LANES`] values, those of the first polynomial, of the second one, and so on. Secret: they tell what was
/// multiplied.
pub(super) struct Sums {
    pub(super) polynomials: usize,
    pub(super) pairs: Zeroizing<Vec<LanePair>>,
}

impl Sums {
    pub(super) fn new(ring: &Ring, polynomials: usize) -> Sums {
        let tiles = ring.degree() / LANES * ring.primes().len();
        Sums { polynomials, pairs: Zeroizing::new(vec![[[0; LANES]; 2]; tiles * polynomials]) }
    }

    /// Adds the products of some blocks; `first` is the place of the first of these polynomials among those of the
    /// sums.
    pub(super) fn add(
        &mut self,
        (ring, layout): (&Ring, &Layout),
        encrypted: &EncryptedBlocks,
        first: usize,
        prepared: &[&PreparedBlocks],
    ) {
        let (tiles, blocks, width) = (ring.degree() / LANES, encrypted.blocks, width(layout));
        // Neighbouring tiles share factors where there are more slots than lanes.
        let shared = (layout.slots / LANES).max(1);
        let all = self.pairs.par_chunks_mut(self.polynomials).zip(encrypted.pairs.par_chunks(blocks));
        all.enumerate().with_min_len((64 / prepared.len().max(1)).max(1)).for_each(|(index, (sums, pairs))| {
            let (prime, tile) = (index / tiles, index % tiles);
            let start = (prime * (tiles / shared) + tile / shared) * blocks * width;
            for (sum, prepared) in sums[first..].iter_mut().zip(prepared) {
                ring.primes()[prime].accumulate(pairs, &prepared.factors[start..start + blocks * width], sum);
            }
        });
    }

    /// The two halves of the ciphertext for one polynomial.
    pub(super) fn halves(&self, ring: &Ring, polynomial: usize) -> [Zeroizing<Vec<u64>>; 2] {
        let mut halves = [Zeroizing::new(ring.zero()), Zeroizing::new(ring.zero())];
        for (index, pairs) in self.pairs.chunks_exact(self.polynomials).enumerate() {
            for (half, values) in halves.iter_mut().zip(&pairs[polynomial]) {
                half[index * LANES..][..LANES].copy_from_slice(values);
            }
        }
        halves
    }
}
