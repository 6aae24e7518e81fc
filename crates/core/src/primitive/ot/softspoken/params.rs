//! Parameters that both parties agree on, and the lengths that follow from them.

use std::ops::Range;

use crate::channel::HEADER_BYTES;
use crate::error::{Error, Result};
use crate::primitive::kernel::block::{BLOCK_BITS, BLOCK_BYTES};
use crate::primitive::ot::base;
use crate::role::Role;
use crate::security::Security;

/// The largest k: a tree then has 256 leaves.
pub const MAX_K: usize = 8;

/// Columns of a chunk, in blocks of 128: what travels in one message, and is checked at once. The receiver holds the
/// rows of a chunk, 512 KiB, which fit the second-level cache.
pub(super) const CHUNK_BLOCKS: usize = 256;

/// Columns that are worked on at once, in blocks of 128. They are also the order of bits in a message of corrections.
pub(super) const TILE_BLOCKS: usize = 32;

/// Bytes by which the leaves of a tree are told from other ones: twice the security level, against collisions.
pub(super) const LEAF_TAG_BYTES: usize = 32;

/// Bytes of a digest.
pub(super) const DIGEST_BYTES: usize = 32;

/// Form of SoftSpoken that both parties run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    security: Security,
    k: usize,
}

impl Params {
    /// The form for fields of 2^k elements, k from 1 to [`MAX_K`]: 128 / k bits an OT travel (rounded up to whole
    /// bits), and 128 / k * 2^k bits are generated.
    pub fn new(security: Security, k: usize) -> Result<Params> {
        if (1..=MAX_K).contains(&k) {
            Ok(Params { security, k })
        } else {
            Err(Error::Internal(format!("SoftSpoken with k = {k}: 1 to {MAX_K} are possible")))
        }
    }

    /// Against which parties it is secure.
    pub fn security(&self) -> Security {
        self.security
    }

    /// Returns k: fields have 2^k elements.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Returns the number of trees. Tree i stands for bits k * i to k * (i + 1) - 1 of delta. The last tree stands for
    /// the bits that are left, so that delta has exactly 128 bits.
    pub fn trees(&self) -> usize {
        BLOCK_BITS.div_ceil(self.k)
    }

    /// The bits of delta that `tree` stands for; as many as it has levels.
    pub(super) fn bits(&self, tree: usize) -> Range<usize> {
        tree * self.k..BLOCK_BITS.min((tree + 1) * self.k)
    }

    pub(super) fn malicious(&self) -> bool {
        self.security == Security::Malicious
    }

    /// Blocks of columns that are added to each chunk to hide the choices in its check.
    pub(super) fn mask_blocks(&self) -> usize {
        usize::from(self.malicious())
    }

    /// The most OTs of one chunk.
    pub fn chunk(&self) -> usize {
        (CHUNK_BLOCKS - self.mask_blocks()) * BLOCK_BITS
    }

    /// Blocks of columns of a chunk of `count` OTs.
    pub(super) fn width(&self, count: usize) -> usize {
        count.div_ceil(BLOCK_BITS) + self.mask_blocks()
    }

    /// Soundness error of one check: choices that differ between trees, other than by a guess of delta, pass with
    /// probability at most 2^-`soundness_bits`. That is the probability that two of the trees' rows of choices differ
    /// and have the same hash of 128 bits, for any two.
    #[cfg(test)]
    pub(crate) fn soundness_bits(&self) -> f64 {
        let pairs = self.trees() * (self.trees() - 1) / 2;
        BLOCK_BITS as f64 - (pairs as f64).log2()
    }

    /// Bytes of [`TREES`](super::super::TREES): two masked sums for each of 128 levels; in the malicious form a tag for
    /// each tree and a digest of all tags.
    pub fn trees_bytes(&self) -> usize {
        let check = self.trees() * LEAF_TAG_BYTES + DIGEST_BYTES;
        2 * BLOCK_BITS * BLOCK_BYTES + if self.malicious() { check } else { 0 }
    }

    /// Bytes of [`CORRECTIONS`](super::super::CORRECTIONS) for a chunk of `count` OTs.
    pub fn corrections_bytes(&self, count: usize) -> usize {
        self.width(count) * self.trees() * BLOCK_BYTES
    }

    /// Bytes that a party sends in setting up, frames' headers included, base OTs too.
    pub(crate) fn setup_bytes_sent_by(&self, role: Role) -> u64 {
        let (points, key) = base::message_bytes(BLOCK_BITS);
        let frame = |payload: usize| (HEADER_BYTES + payload) as u64;
        match role {
            Role::Receiver => frame(key) + frame(self.trees_bytes()),
            Role::Sender => frame(points),
        }
    }

    /// Bytes that a party sends for one call of `count` OTs, frames' headers included: the sender none.
    pub(crate) fn bytes_sent_by(&self, role: Role, count: usize) -> u64 {
        if role == Role::Sender {
            return 0;
        }
        let check = if self.malicious() { HEADER_BYTES + Params::consistency_bytes() } else { 0 };
        let chunk = |count| (HEADER_BYTES + self.corrections_bytes(count) + check) as u64;
        let whole = (count / self.chunk()) as u64 * chunk(self.chunk());
        whole + if count.is_multiple_of(self.chunk()) { 0 } else { chunk(count % self.chunk()) }
    }

    /// Bytes of [`CONSISTENCY`](super::super::CONSISTENCY), which follows each chunk of the malicious form.
    pub const fn consistency_bytes() -> usize {
        BLOCK_BYTES + DIGEST_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::MAX_PAYLOAD_BYTES;

    #[test]
    fn trees_share_all_bits_of_delta_and_messages_fit_frames() {
        for security in [Security::SemiHonest, Security::Malicious] {
            for k in 1..=MAX_K {
                let params = Params::new(security, k).unwrap();
                let bits: Vec<usize> = (0..params.trees()).flat_map(|tree| params.bits(tree)).collect();
                assert_eq!(bits, (0..128).collect::<Vec<_>>());
                assert!((0..params.trees()).all(|tree| (1..=k).contains(&params.bits(tree).len())));
                assert!(params.trees_bytes() <= MAX_PAYLOAD_BYTES);
                assert!(params.corrections_bytes(params.chunk()) <= MAX_PAYLOAD_BYTES);
                assert_eq!(params.width(params.chunk()), CHUNK_BLOCKS);
            }
            let bits = |k| Params::new(security, k).unwrap().soundness_bits();
            let stated = [115.0, 117.0, 118.2, 119.0, 119.7, 120.1, 120.6, 121.1];
            assert!((1..=MAX_K).zip(stated).all(|(k, stated)| (bits(k) - stated).abs() <= 0.05));
            assert!(Params::new(security, 0).is_err() && Params::new(security, MAX_K + 1).is_err());
        }
    }
}
