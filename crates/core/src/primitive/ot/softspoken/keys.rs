//! Everything that hashes and generators are keyed with: public, different for each purpose in each session.

use super::params::Params;
use crate::primitive::kernel::block::{BLOCK_BYTES, Block};
use crate::primitive::kernel::{Doubling, RekeyedHash};
use crate::session::Session;

pub(super) struct Keys {
    /// Key from which the trees' generators are keyed.
    trees: [u8; 32],
    /// Makes random blocks of correlated ones.
    pub(super) hash: RekeyedHash,
    /// Key of the hash that makes seeds and tags of leaves.
    pub(super) leaves: [u8; 32],
    /// Key of the digest of all tags.
    pub(super) tags: [u8; 32],
    /// Key of the chain of challenges.
    pub(super) chain: [u8; 32],
    /// Key of the digest in the consistency check.
    pub(super) consistency: [u8; 32],
}

impl Keys {
    pub(super) fn new(params: &Params, session: &Session, purpose: &str) -> Keys {
        let derive = |part: &str| {
            let (security, k) = (params.security(), params.k());
            session.derive(&format!("OT extension {part} {security} {k} of {purpose}"))
        };
        Keys {
            trees: derive("trees"),
            hash: RekeyedHash::new(Block::from_le_slice(&derive("hash"))),
            leaves: derive("leaves"),
            tags: derive("tags"),
            chain: derive("chain"),
            consistency: derive("consistency"),
        }
    }

    /// The generator of one tree. A guess of a seed can be tested against all that one pair of AES keys has expanded:
    /// here one missing node for each of the tree's levels, at most [`MAX_K`](super::params::MAX_K).
    pub(super) fn doubling(&self, tree: usize) -> Doubling {
        let key = blake3::keyed_hash(&self.trees, &(tree as u64).to_le_bytes());
        Doubling::new(blocks(key.as_bytes()))
    }
}

/// Two blocks of 32 bytes.
fn blocks(key: &[u8; 32]) -> [Block; 2] {
    [0, BLOCK_BYTES].map(|at| Block::from_le_slice(&key[at..]))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::security::Security;
    use crate::session::Transcript;

    #[test]
    fn every_purpose_form_and_session_has_keys_of_its_own() {
        let [one, other] = ["one", "other"].map(|domain| Session::new(Transcript::new(domain)));
        let params = |security, k| Params::new(security, k).unwrap();
        let (honest, malicious) = (params(Security::SemiHonest, 2), params(Security::Malicious, 2));
        let all = [
            Keys::new(&honest, &one, "a"),
            Keys::new(&honest, &one, "b"),
            Keys::new(&honest, &other, "a"),
            Keys::new(&malicious, &one, "a"),
            Keys::new(&params(Security::SemiHonest, 3), &one, "a"),
        ];
        let parts = |keys: &Keys| [keys.trees, keys.leaves, keys.tags, keys.chain, keys.consistency];
        assert_eq!(all.iter().flat_map(parts).collect::<HashSet<_>>().len(), 5 * all.len());
        let hashed = |keys: &Keys| {
            let mut outputs = [Block::ZERO];
            keys.hash.hash(0, &[Block::ONE], &mut outputs, false);
            outputs[0].0
        };
        assert_eq!(all.iter().map(hashed).collect::<HashSet<_>>().len(), all.len());
    }

    #[test]
    fn every_tree_has_a_generator_of_its_own() {
        let session = Session::new(Transcript::new("test"));
        let keys = Keys::new(&Params::new(Security::SemiHonest, 1).unwrap(), &session, "test");
        let children = |tree: usize| {
            let mut children = [Block::ZERO; 2];
            keys.doubling(tree).expand(&[Block::ONE], &mut children);
            children.map(|block| block.0)
        };
        assert_eq!((0..128).flat_map(children).collect::<HashSet<_>>().len(), 256);
    }
}
