//! The public keys of an instance.

use crate::primitive::kernel::{Block, Doubling, RekeyedHash};
use crate::session::Session;

/// Everything public that both parties derive from the session.
pub(super) struct Keys {
    /// Grows the trees.
    pub(super) doubling: Doubling,
    /// Makes masks of correlated OTs.
    pub(super) hash: RekeyedHash,
    /// What the code is drawn from.
    pub(super) code: Block,
    /// The key of the hash in the check.
    pub(super) answer: [u8; 32],
    /// Correlated OTs that have been hashed.
    pub(super) hashed: u64,
    /// Runs so far.
    pub(super) runs: u64,
}

impl Keys {
    /// The keys for `purpose` in the session: no other instance may have the same one.
    pub(super) fn new(session: &Session, purpose: &str) -> Keys {
        let derive = |what: &str| session.derive(&format!("silent {purpose}: {what}"));
        let block = |what: &str| Block::from_le_slice(&derive(what));
        let (trees, mut keys) = (derive("trees"), [Block::ZERO; 2]);
        for (key, bytes) in keys.iter_mut().zip(trees.as_chunks().0) {
            *key = Block::from_bytes(*bytes);
        }
        Keys {
            doubling: Doubling::new(keys),
            hash: RekeyedHash::new(block("masks")),
            code: block("code"),
            answer: derive("answer"),
            hashed: 0,
            runs: 0,
        }
    }
}
