//! Shares of zero: for each item, what the seeds of a party make of it. Those of all parties sum to zero, because each
//! seed is in two of them.

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::{MeshLink, StarParty};
use crate::item::Item;
use crate::primitive::kernel::block::{self, BLOCK_BYTES};
use crate::primitive::kernel::{Aes128, Block};
use crate::primitive::oprf::{OUTPUT_BYTES, Outputs};

/// Items that one step works on.
const BATCH: usize = 1 << 10;

/// Purpose of a sharing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plane {
    /// Whether all have an item.
    Membership,
    /// The key of the rows that the party at this place gives.
    RowsOf(usize),
}

impl StarParty<'_> {
    /// Computes this party's shares for items, one for each.
    ///
    /// AES-128 as a pseudorandom permutation of the second half of an item, which is random in all runs but equal at
    /// whoever has the item: two of 2^32 items have equal halves with probability 2^-65.
    pub(super) fn shares(&self, plane: Plane, items: &[Item]) -> Zeroizing<Vec<Block>> {
        let ciphers: Vec<Aes128> = self.links.iter().map(|link| Aes128::new(self.pair_key(link, plane))).collect();
        let mut shares = Zeroizing::new(vec![Block::ZERO; items.len()]);
        shares.par_chunks_mut(BATCH).zip(items.par_chunks(BATCH)).for_each(|(shares, items)| {
            let inputs: Vec<Block> = items.iter().map(half).collect();
            let mut outputs = Zeroizing::new(vec![Block::ZERO; items.len()]);
            for cipher in &ciphers {
                cipher.encrypt_to(&inputs, &mut outputs);
                block::xor_into(&outputs, shares);
            }
        });
        shares
    }

    /// The key that this party and the one at the other end of a link have for a sharing: nothing in it tells the two
    /// apart, or their shares would not sum to zero.
    fn pair_key(&self, link: &MeshLink, plane: Plane) -> Block {
        let about = match plane {
            Plane::Membership => u64::MAX,
            Plane::RowsOf(party) => party as u64,
        };
        self.key_between(link, "star shares", about)
    }

    /// A key that this party and the one at the other end of a link have, for this run under this leader.
    pub(super) fn key_between(&self, link: &MeshLink, label: &str, about: u64) -> Block {
        let mut hasher = blake3::Hasher::new_derive_key(&format!("tacita 1 {label}"));
        hasher.update(&*link.seed).update(self.session.id());
        hasher.update(&(self.params.leader as u64).to_le_bytes()).update(&about.to_le_bytes());
        let mut key = Zeroizing::new([0; BLOCK_BYTES]);
        hasher.finalize_xof().fill(&mut *key);
        Block::from_bytes(*key)
    }

    /// Keys that seal the rows which `giver` gives for each of these items, made of the giver's shares of the sharing
    /// for them.
    pub(super) fn row_keys(&self, giver: usize, items: &[Item], shares: &[Block]) -> Outputs {
        let key = self.session.derive("star row key");
        let output = |(item, share): (&Item, &Block)| -> [u8; OUTPUT_BYTES] {
            let mut hasher = blake3::Hasher::new_keyed(&key);
            hasher.update(&(giver as u64).to_le_bytes()).update(&share.to_bytes()).update(&item.0);
            let mut output = [0; OUTPUT_BYTES];
            hasher.finalize_xof().fill(&mut output);
            output
        };
        Zeroizing::new(items.par_iter().zip(shares).with_min_len(256).map(output).collect())
    }
}

/// Half of an item by which the item is shared.
pub(super) fn half(item: &Item) -> Block {
    Block::from_le_slice(&item.0[BLOCK_BYTES..])
}
