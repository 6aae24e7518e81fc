//! Everything that hashes and generators are keyed with: public, different for each purpose in each session.

use super::params::Params;
use crate::primitive::kernel::block::{BLOCK_BYTES, Block};
use crate::primitive::kernel::{Doubling, RekeyedHash};
use crate::session::Session;

pub(super) struct Keys {
    /// Grows trees.
    pub(super) doubling: Doubling,
    /// Makes random blocks of correlated ones.
    pub(super) hash: RekeyedHash,
    /// Of the hash that makes seeds and tags of leaves.
    pub(super) leaves: [u8; 32],
    /// Of the digest of all tags.
    pub(super) tags: [u8; 32],
    /// Of the chain of challenges.
    pub(super) chain: [u8; 32],
    /// Of the digest in the consistency check.
    pub(super) consistency: [u8; 32],
}

impl Keys {
    pub(super) fn new(params: &Params, session: &Session, purpose: &str) -> Keys {
        let derive = |part: &str| {
            let (security, k) = (params.security(), params.k());
            session.derive(&format!("OT extension {part} {security} {k} of {purpose}"))
        };
        let blocks = |key: [u8; 32]| [0, BLOCK_BYTES].map(|at| Block::from_le_slice(&key[at..]));
        Keys {
            doubling: Doubling::new(blocks(derive("trees"))),
            hash: RekeyedHash::new(blocks(derive("hash"))[0]),
            leaves: derive("leaves"),
            tags: derive("tags"),
            chain: derive("chain"),
            consistency: derive("consistency"),
        }
    }
}
