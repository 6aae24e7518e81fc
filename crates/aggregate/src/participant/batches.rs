//! Names of batches of reports.
//!
//! A batch's name is a keyed hash of its reports, under a key that only the participant has. The same reports have the
//! same name each time that they are submitted, and a proxy takes a name once. Other reports have another name.
//!
//! Nothing else depends on that key. Reports are encrypted with fresh randomness at each attempt, so that whoever gets
//! hold of the identity's key later decrypts none that were recorded. With the names, which proxies see, such a person
//! can test a guess of all reports of a batch at once.

use tacita_core::protocol::aggregate::Entry;
use tacita_node::identity::Identity;
use zeroize::Zeroizing;

use crate::wire::batch::BatchId;

/// Names the batches of a participant in a round.
pub(super) struct Batches {
    key: Zeroizing<[u8; 32]>,
}

impl Batches {
    /// The names of a participant with this identity, under this name, for a job and a round.
    pub(super) fn new(identity: &Identity, participant: &str, agreement: &[u8; 32], round: &str) -> Batches {
        let length = (participant.len() as u64).to_le_bytes();
        let salt = [agreement, &length[..], participant.as_bytes(), round.as_bytes()].concat();
        Batches { key: identity.derive("aggregate submit", &salt) }
    }

    /// The name of the batch with this number in the input.
    pub(super) fn name(&self, number: u64, entries: &[Entry]) -> BatchId {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"name").update(&number.to_le_bytes());
        for entry in entries {
            hasher
                .update(&(entry.key.len() as u64).to_le_bytes())
                .update(&entry.key)
                .update(&entry.value.to_le_bytes());
        }
        let mut name = BatchId::default();
        name.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        name
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use tacita_node::identity::VALIDITY;

    use super::*;

    #[test]
    fn names_follow_from_what_is_reported_and_by_whom() {
        let now = SystemTime::now();
        let [one, other] = ["one", "other"].map(|name| Identity::generate(name, now, now + VALIDITY).unwrap());
        let entry = |key: &[u8], value| Entry { key: key.to_vec(), value };
        let entries = [entry(b"a", 1), entry(b"bc", 0)];
        let batches = Batches::new(&one, "p", &[1; 32], "r");
        let name = batches.name(0, &entries);
        assert_eq!(Batches::new(&one, "p", &[1; 32], "r").name(0, &entries), name);
        for others in [
            batches.name(1, &entries),
            batches.name(0, &entries[..1]),
            batches.name(0, &[entry(b"ab", 1), entry(b"c", 0)]),
            batches.name(0, &[entry(b"a", 1), entry(b"bc", 1)]),
            Batches::new(&other, "p", &[1; 32], "r").name(0, &entries),
            Batches::new(&one, "q", &[1; 32], "r").name(0, &entries),
            Batches::new(&one, "p", &[2; 32], "r").name(0, &entries),
            Batches::new(&one, "p", &[1; 32], "s").name(0, &entries),
        ] {
            assert_ne!(others, name);
        }
    }
}
