//! Oblivious key-value stores: a vector P such that Decode(P, key) is the value of every key that was encoded, and says
//! nothing about which keys those are where values are random.
//!
//! The store is linear: Decode(P, k) = <row(k), P>. A row lies in one bin that the key selects. There it has three ones
//! among the sparse columns and the powers k', k'^2, ... of a coefficient k' in the few dense ones: the three-hash
//! garbled cuckoo table of Raghuraman & Rindal, "Blazing Fast PSI from Improved OKVS and Subfield VOLE" (CCS 2022),
//! figure 1, with field rows (section 2) and separate clusters (section 2.1). [`Params`] has its sizes.
//!
//! Keys are blocks that behave like random strings (hashes of items), and must be fixed before the seed is drawn.

mod element;
mod group;
mod params;
mod solve;

use std::fmt;
use std::ops::Range;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::primitive::kernel::memory::wipe;
use crate::primitive::kernel::{Aes128, Block};

pub(crate) use element::Element;
pub use params::Params;
pub(crate) use params::bin_capacity;

/// Keys that one step of hashing or decoding works on.
const BATCH: usize = 1 << 10;

/// Domains of the two functions that make a row.
const ROW_CONTEXT: &str = "tacita 1 okvs row";
const COEFFICIENT_CONTEXT: &str = "tacita 1 okvs coefficient";

/// Rows and columns of stores of one size under one seed.
pub struct Okvs {
    params: Params,
    row: Aes128,
    coefficient: Aes128,
}

/// Keys sorted by bin. Values that are encoded or decoded with them stand in the same order.
pub struct Grouped {
    /// Index, in the order in which they were given, of each key.
    order: Vec<u32>,
    keys: Zeroizing<Vec<Block>>,
    /// The first key of each bin, and the number of all.
    starts: Vec<usize>,
}

/// Reason why keys could not be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodeError {
    /// The keys with these indices, in the order in which they were given, are equal.
    Duplicate(usize, usize),
    /// The seed does not suit the keys: this happens with the probability that the store was sized for.
    Unlucky,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::Duplicate(one, other) => write!(f, "keys {one} and {other} are equal"),
            EncodeError::Unlucky => f.write_str("the keys do not fit the store under this seed; try again"),
        }
    }
}

impl Okvs {
    /// A store of these sizes. The seed is drawn after the keys are fixed, and public.
    pub fn new(params: Params, seed: &[u8; 32]) -> Okvs {
        let cipher = |context| {
            let key = blake3::derive_key(context, seed);
            Aes128::new(Block::from_bytes(key[..16].try_into().expect("16 of 32 bytes")))
        };
        Okvs { params, row: cipher(ROW_CONTEXT), coefficient: cipher(COEFFICIENT_CONTEXT) }
    }

    /// Returns the sizes of the store.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Sorts keys by bin, and what belongs to each of them along with it. The second result stands in the keys' new
    /// places.
    pub fn group<T: Copy + Default + Send + Sync>(&self, keys: &[Block], attached: &[T]) -> (Grouped, Vec<T>) {
        assert!(keys.len() <= u32::MAX as usize, "keys are numbered with 32 bits");
        assert_eq!(keys.len(), attached.len(), "one for each key");
        let bins = self.params.bins;
        if bins == 1 {
            let order = (0..keys.len() as u32).collect();
            return (
                Grouped { order, keys: Zeroizing::new(keys.to_vec()), starts: vec![0, keys.len()] },
                attached.to_vec(),
            );
        }
        let mut bin_of = vec![0u32; keys.len()];
        bin_of.par_chunks_mut(BATCH).zip(keys.par_chunks(BATCH)).for_each(|(bin_of, keys)| {
            let mut hashes = [Block::ZERO; BATCH];
            hash(&self.row, keys, &mut hashes);
            for (bin, hash) in bin_of.iter_mut().zip(&hashes) {
                *bin = scale_down((hash.0 >> 96) as u32, bins as u32);
            }
            wipe(&mut hashes);
        });
        let mut starts = vec![0usize; bins + 1];
        bin_of.iter().for_each(|&bin| starts[bin as usize + 1] += 1);
        (0..bins).for_each(|bin| starts[bin + 1] += starts[bin]);
        let mut next = starts.clone();
        let mut grouped =
            Grouped { order: vec![0; keys.len()], keys: Zeroizing::new(vec![Block::ZERO; keys.len()]), starts };
        let mut moved = vec![T::default(); keys.len()];
        // Each bin is written from its beginning to its end, so that memory is written in as many streams as there are
        // bins, and read in one.
        for (index, (&bin, (key, attached))) in bin_of.iter().zip(keys.iter().zip(attached)).enumerate() {
            let place = next[bin as usize];
            next[bin as usize] += 1;
            grouped.order[place] = index as u32;
            grouped.keys[place] = *key;
            moved[place] = *attached;
        }
        (grouped, moved)
    }

    /// The store in which each of the grouped keys has the value at its place. Columns that nothing determines are
    /// zero: for a store that is masked before anybody sees it.
    pub fn encode<E: Element>(&self, keys: &Grouped, values: &[E]) -> Result<Vec<E>, EncodeError> {
        self.encode_with(keys, values, |_| None)
    }

    /// Encodes as [`Okvs::encode`] does, with uniformly random columns where nothing determines them: for a store that
    /// others see.
    pub(crate) fn encode_random<E: Element>(
        &self,
        keys: &Grouped,
        values: &[E],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<E>, EncodeError> {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        self.encode_with(keys, values, |bin| {
            let mut rng = ChaCha20Rng::from_seed(*seed);
            rng.set_stream(bin as u64);
            Some(rng)
        })
    }

    fn encode_with<E: Element>(
        &self,
        keys: &Grouped,
        values: &[E],
        rng: impl Fn(usize) -> Option<ChaCha20Rng> + Sync,
    ) -> Result<Vec<E>, EncodeError> {
        assert_eq!(keys.keys.len(), values.len(), "every key has its value");
        assert_eq!(keys.starts.len(), self.params.bins + 1, "the keys are grouped for another store");
        let mut store: Vec<E> = Vec::new();
        store.resize_with(self.params.columns(), E::zero);
        store.par_chunks_mut(self.params.bin_columns()).enumerate().try_for_each(|(bin, columns)| {
            let range = keys.starts[bin]..keys.starts[bin + 1];
            if range.len() > self.params.bin_keys {
                return Err(duplicate_in(&keys.keys[range.clone()], &keys.order[range]).unwrap_or(EncodeError::Unlucky));
            }
            let mut rows = vec![[0; 3]; range.len()];
            let mut coefficients = vec![Block::ZERO; range.len()];
            self.rows(&keys.keys[range.clone()], &mut rows, &mut coefficients);
            let bin_rows = solve::Rows { sparse: &rows, coefficients: &coefficients, columns: self.params.sparse };
            solve::solve(bin_rows, &values[range.clone()], columns, rng(bin)).map_err(|solve::Singular| {
                duplicate_in(&keys.keys[range.clone()], &keys.order[range]).unwrap_or(EncodeError::Unlucky)
            })
        })?;
        Ok(store)
    }

    /// The values of the grouped keys, in their order. Keys that were not encoded get values too.
    pub fn decode<E: Element>(&self, keys: &Grouped, store: &[E]) -> Vec<E> {
        assert_eq!(store.len(), self.params.columns(), "the store has the agreed size");
        assert_eq!(keys.starts.len(), self.params.bins + 1, "the keys are grouped for another store");
        let mut values: Vec<E> = Vec::new();
        values.resize_with(keys.keys.len(), E::zero);
        let mut work = Vec::new();
        let mut rest = &mut values[..];
        for (bin, range) in keys.bins().enumerate() {
            let (own, after) = std::mem::take(&mut rest).split_at_mut(range.len());
            rest = after;
            work.extend(own.chunks_mut(BATCH).zip(keys.keys[range].chunks(BATCH)).map(|(v, k)| (bin, v, k)));
        }
        work.into_par_iter().with_min_len(4).for_each(|(bin, values, keys)| {
            let columns = &store[bin * self.params.bin_columns()..][..self.params.bin_columns()];
            let (sparse, dense) = columns.split_at(self.params.sparse);
            let mut rows = [[0; 3]; BATCH];
            let mut coefficients = [Block::ZERO; BATCH];
            self.rows(keys, &mut rows[..keys.len()], &mut coefficients[..keys.len()]);
            for (value, row) in values.iter_mut().zip(&rows) {
                row.iter().for_each(|&column| value.add(&sparse[column as usize]));
            }
            E::add_dense(values, &coefficients[..keys.len()], dense);
            wipe(&mut coefficients);
        });
        values
    }

    /// For each key the three sparse columns of its row, within its bin, and the coefficient of the dense ones.
    fn rows(&self, keys: &[Block], rows: &mut [[u32; 3]], coefficients: &mut [Block]) {
        let mut hashes = [Block::ZERO; BATCH];
        for (rows, keys) in rows.chunks_mut(BATCH).zip(keys.chunks(BATCH)) {
            hash(&self.row, keys, &mut hashes);
            for (row, hash) in rows.iter_mut().zip(&hashes) {
                *row = three_distinct(*hash, self.params.sparse as u32);
            }
        }
        wipe(&mut hashes);
        hash(&self.coefficient, keys, coefficients);
    }
}

impl Grouped {
    /// Index, in the order in which the keys were given, of the key at each place.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The keys at their places.
    pub(crate) fn keys(&self) -> &[Block] {
        &self.keys
    }

    fn bins(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.starts.windows(2).map(|ends| ends[0]..ends[1])
    }
}

/// A function that behaves like a random one on keys that do not depend on the cipher's: the cipher, fed forward.
fn hash(cipher: &Aes128, keys: &[Block], hashes: &mut [Block]) {
    let hashes = &mut hashes[..keys.len()];
    cipher.encrypt_to(keys, hashes);
    hashes.iter_mut().zip(keys).for_each(|(hash, key)| *hash ^= *key);
}

/// A number below `bound` from 32 random bits; no number is preferred by more than a factor of 1 + bound / 2^32.
fn scale_down(bits: u32, bound: u32) -> u32 {
    ((u64::from(bits) * u64::from(bound)) >> 32) as u32
}

/// Three distinct columns from the lower 96 bits of a hash.
fn three_distinct(hash: Block, columns: u32) -> [u32; 3] {
    let word = |index: u32| (hash.0 >> (32 * index)) as u32;
    let first = scale_down(word(0), columns);
    let mut second = scale_down(word(1), columns - 1);
    second += u32::from(second >= first);
    let (low, high) = (first.min(second), first.max(second));
    let mut third = scale_down(word(2), columns - 2);
    third += u32::from(third >= low);
    third += u32::from(third >= high);
    [first, second, third]
}

/// Two equal keys of a bin, if there are any.
fn duplicate_in(keys: &[Block], order: &[u32]) -> Option<EncodeError> {
    let mut sorted: Vec<(u128, u32)> = keys.iter().zip(order).map(|(key, &index)| (key.0, index)).collect();
    sorted.sort_unstable();
    let equal = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
    Some(EncodeError::Duplicate(equal[0].1 as usize, equal[1].1 as usize))
}

#[cfg(test)]
mod tests;
