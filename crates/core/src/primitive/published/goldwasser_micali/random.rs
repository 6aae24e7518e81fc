//! Random numbers below N, made by all threads.

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng};
use zeroize::Zeroizing;

/// A seed for each block of so many things, so that blocks are made by themselves, and the same by any number of
/// threads.
pub(super) fn seeds(blocks: usize, rng: &mut impl CryptoRng) -> Zeroizing<Vec<[u8; 32]>> {
    let mut seeds = Zeroizing::new(vec![[0; 32]; blocks]);
    seeds.iter_mut().for_each(|seed| rng.fill_bytes(seed));
    seeds
}

/// Uniformly random numbers below a public bound whose highest bit is set.
pub(super) struct Below<'a> {
    bound: &'a [u64],
    rng: ChaCha20Rng,
    bytes: Zeroizing<Vec<u8>>,
}

impl<'a> Below<'a> {
    pub(super) fn new(bound: &'a [u64], seed: &[u8; 32]) -> Below<'a> {
        Below { bound, rng: ChaCha20Rng::from_seed(*seed), bytes: Zeroizing::new(vec![0; 8 * bound.len()]) }
    }

    /// The next one. A number of as many bits that is not below the bound is thrown away, at most every second: how
    /// often says nothing about the one that is kept.
    pub(super) fn fill(&mut self, number: &mut [u64]) {
        loop {
            self.rng.fill_bytes(&mut self.bytes);
            for (word, bytes) in number.iter_mut().zip(self.bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            // The borrow of a difference, so that time does not tell in which word the number kept is the smaller one.
            let borrow = number.iter().zip(self.bound).fold(false, |borrow, (&word, &bound)| {
                let (difference, first) = word.overflowing_sub(bound);
                first | difference.overflowing_sub(u64::from(borrow)).1
            });
            if borrow {
                return;
            }
        }
    }
}
