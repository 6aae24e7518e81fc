//! The public keys of an instance.

use crate::primitive::kernel::{Block, Doubling, RekeyedHash};
use crate::primitive::vole::params::VoleKind;
use crate::session::Session;

/// Everything public that both parties derive from the session.
pub(super) struct Keys {
    /// Key from which the trees' generators are keyed.
    trees: [u8; 32],
    /// Makes masks of correlated OTs.
    pub(super) hash: RekeyedHash,
    /// Seed from which codes are drawn: the same in all parts of a session and for all purposes. A session of many
    /// parts thus has no more codes that could be bad ones than another session. There is one code for each size that
    /// occurs.
    pub(super) code: Block,
    /// The key of the hash in the check.
    pub(super) answer: [u8; 32],
    /// Correlated OTs that have been hashed.
    pub(super) hashed: u64,
    /// Number of runs so far.
    pub(super) runs: u64,
}

impl Keys {
    /// The keys for `purpose` in the session, for this correlation: no other instance may have the same ones.
    pub(super) fn new(session: &Session, kind: VoleKind, purpose: &str) -> Keys {
        let word = match kind {
            VoleKind::Field => "VOLE",
            VoleKind::Binary => "COT",
        };
        let derive = |what: &str| session.derive(&format!("silent {word} for {purpose}: {what}"));
        let block = |what: &str| Block::from_le_slice(&derive(what));
        Keys {
            trees: derive("trees"),
            hash: RekeyedHash::new(block("masks")),
            code: Block::from_le_slice(&session.derive_shared(&format!("silent {word}: code"))),
            answer: derive("answer"),
            hashed: 0,
            runs: 0,
        }
    }

    /// The generator that makes the nodes of `level` of the current run's trees. A guess of a seed can be tested
    /// against all that one pair of AES keys has expanded, so no two levels and no two runs have the same
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
        let other = Session::new(Transcript::new("another"));
        let parts = [session.child("bucket", 0), session.child("bucket", 1), other.clone().within(&session)];
        let mut keys: Vec<_> = parts.iter().map(|part| Keys::new(part, VoleKind::Field, "a")).collect();
        keys.extend(["a", "b"].map(|purpose| Keys::new(&session, VoleKind::Field, purpose)));
        for (place, one) in keys.iter().enumerate() {
            assert_eq!(one.code, keys[0].code);
            let differ = |two: &Keys| one.trees != two.trees && one.answer != two.answer;
            assert!(keys[..place].iter().all(differ), "{place}");
        }
        for others in [Keys::new(&other, VoleKind::Field, "a"), Keys::new(&session, VoleKind::Binary, "a")] {
            assert!(others.code != keys[0].code && others.trees != keys[0].trees);
        }
    }

    #[test]
    fn every_level_of_every_run_has_a_generator_of_its_own() {
        let mut keys = Keys::new(&Session::new(Transcript::new("test")), VoleKind::Field, "a");
        let mut seen = std::collections::HashSet::new();
        for run in 0..5 {
            keys.runs = run;
            for level in 1..20 {
                let mut children = [Block::ZERO; 2];
                keys.doubling(level).expand(&[Block::ONE], &mut children);
                assert!(children.iter().all(|child| seen.insert(child.0)), "level {level} of run {run}");
            }
        }
    }
}
