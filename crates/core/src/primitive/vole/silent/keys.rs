//! The public keys of an instance.

use crate::primitive::kernel::{Block, Doubling, RekeyedHash};
use crate::session::Session;

/// Everything public that both parties derive from the session.
pub(super) struct Keys {
    /// What the trees' generators are keyed from.
    trees: [u8; 32],
    /// Makes masks of correlated OTs.
    pub(super) hash: RekeyedHash,
    /// What the code is drawn from: the same in all parts of a session, so that a session in many buckets has no more codes
    /// that could be bad ones than another.
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
        Keys {
            trees: derive("trees"),
            hash: RekeyedHash::new(block("masks")),
            code: Block::from_le_slice(&session.derive_shared(&format!("silent {purpose}: code"))),
            answer: derive("answer"),
            hashed: 0,
            runs: 0,
        }
    }

    /// The generator that makes the nodes of `level` of the current run's trees. A guess of a seed can be tested against
    /// all that one pair of AES keys has expanded, so no two levels and no two runs have the same
    /// ([`Costs::trees`](crate::primitive::vole::estimator::Costs::trees)).
    pub(super) fn doubling(&self, level: usize) -> Doubling {
        let mut hasher = blake3::Hasher::new_keyed(&self.trees);
        let key = hasher.update(&self.runs.to_le_bytes()).update(&(level as u64).to_le_bytes()).finalize();
        Doubling::new([0, 16].map(|at| Block::from_le_slice(&key.as_bytes()[at..])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Transcript;

    #[test]
    fn parts_of_a_session_share_the_code_and_nothing_else() {
        let session = Session::new(Transcript::new("test"));
        let keys = [0, 1].map(|bucket| Keys::new(&session.child("bucket", bucket), "a"));
        assert_eq!(keys[0].code, keys[1].code);
        assert!(keys[0].trees != keys[1].trees && keys[0].answer != keys[1].answer);
        let other = Session::new(Transcript::new("another"));
        assert!([Keys::new(&other, "a"), Keys::new(&session, "b")].iter().all(|others| others.code != keys[0].code));
    }
}
