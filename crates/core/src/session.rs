//! The session that every hash of a protocol is bound to, and the transcript that makes it.

/// Length of a [`Session`] id in bytes.
pub(crate) const SESSION_ID_BYTES: usize = 32;

/// One run of one job between its parties. Its id is public, fresh in every run, and known to all parties.
///
/// Everything that a protocol hashes, seeds or derives goes through [`Session::derive`], so that no value of one run,
/// job, role or purpose can stand in for another's.
///
/// ```
/// use tacita_core::session::Transcript;
/// use tacita_core::{Item, Session};
///
/// // Parties put everything in that they have agreed on, and a nonce of each, so that no two runs have one session.
/// let mut transcript = Transcript::new("example");
/// transcript.append("terms", b"job 7").append("nonce", &[1; 32]).append("nonce", &[2; 32]);
/// let session = Session::new(transcript);
/// // The key of a hash names its purpose; it is another one in each part of the session.
/// let item = Item::new(&session.derive("item"), b"ann|1980-05-04");
/// assert_ne!(session.derive("item"), session.child("bucket", 0).derive("item"));
/// assert_eq!(format!("{item:?}"), "Item(..)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    id: [u8; SESSION_ID_BYTES],
    /// The id of the session that this one is a part of, or its own.
    whole: [u8; SESSION_ID_BYTES],
}

impl Session {
    /// The session that a finished transcript stands for.
    pub fn new(transcript: Transcript) -> Session {
        let id = transcript.challenge("session");
        Session { id, whole: id }
    }

    /// The session of part `index` of this one, for the purpose `label`: as fresh, and unrelated to that of any other
    /// part, but for [`Session::derive_shared`].
    pub fn child(&self, label: &str, index: u64) -> Session {
        let mut transcript = Transcript::new(label);
        transcript.append("session", &self.id).append("index", &index.to_le_bytes());
        Session { whole: self.whole, ..Session::new(transcript) }
    }

    /// The part of this session, for the purpose `label`, of parties that have the session `own` among themselves:
    /// bound to both, and otherwise as [`Session::child`].
    pub fn part_of(&self, label: &str, own: &Session) -> Session {
        let mut transcript = Transcript::new(label);
        transcript.append("session", &self.id).append("own", &own.id);
        Session { whole: self.whole, ..Session::new(transcript) }
    }

    /// Makes this session a part of `whole`, although it was agreed on by itself. The session stays as fresh as it was,
    /// and takes the [`Session::derive_shared`] values of `whole`.
    pub fn within(self, whole: &Session) -> Session {
        Session { whole: whole.whole, ..self }
    }

    /// The session's id, 32 bytes.
    pub fn id(&self) -> &[u8; SESSION_ID_BYTES] {
        &self.id
    }

    /// A 32-byte key for the purpose `label` in this session: BLAKE3 in `derive_key` mode with the label as context
    /// (the labels are constants of this program, as BLAKE3 asks of contexts) over the session's id.
    pub fn derive(&self, label: &str) -> [u8; 32] {
        blake3::derive_key(&format!("tacita 1 {label}"), &self.id)
    }

    /// Derives a key as [`Session::derive`] does, from the session that this one is a part of: all parts have the same
    /// key. For public constants that are bad ones by chance: a session of many parts then draws one such constant and
    /// not many.
    pub fn derive_shared(&self, label: &str) -> [u8; 32] {
        blake3::derive_key(&format!("tacita 1 {label}"), &self.whole)
    }
}

/// A running hash over labelled parts, without ambiguity: each part is written as its label's length, label, length,
/// bytes (lengths as 64-bit little-endian numbers). It takes public values only.
#[derive(Clone)]
pub struct Transcript {
    hasher: blake3::Hasher,
}

impl Transcript {
    /// An empty transcript for the purpose `domain`.
    pub fn new(domain: &str) -> Transcript {
        Transcript { hasher: blake3::Hasher::new_derive_key(&format!("tacita 1 transcript {domain}")) }
    }

    /// Appends `bytes` under `label`.
    pub fn append(&mut self, label: &str, bytes: &[u8]) -> &mut Self {
        for part in [label.as_bytes(), bytes] {
            self.hasher.update(&(part.len() as u64).to_le_bytes());
            self.hasher.update(part);
        }
        self
    }

    /// 32 bytes that depend on everything appended and on `label`. The transcript can go on afterwards.
    pub fn challenge(&self, label: &str) -> [u8; 32] {
        let mut ended = self.clone();
        ended.append("challenge", label.as_bytes());
        *ended.hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cannot_be_shifted() {
        let challenge = |parts: &[(&str, &[u8])]| {
            let mut transcript = Transcript::new("test");
            for (label, bytes) in parts {
                transcript.append(label, bytes);
            }
            transcript.challenge("end")
        };
        let all = [
            challenge(&[("a", b"bc")]),
            challenge(&[("ab", b"c")]),
            challenge(&[("a", b"b"), ("", b"c")]),
            challenge(&[("a", b"b"), ("c", b"")]),
            challenge(&[]),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|other| other != one));
        }
    }

    #[test]
    fn labels_separate_keys() {
        let session = Session::new(Transcript::new("test"));
        assert_ne!(session.derive("a"), session.derive("b"));
    }

    #[test]
    fn parts_have_sessions_of_their_own() {
        let session = Session::new(Transcript::new("test"));
        let all = [session.clone(), session.child("a", 0), session.child("a", 1), session.child("b", 0)];
        let all: Vec<_> = all.iter().flat_map(|session| [session.clone(), session.child("a", 0)]).collect();
        assert!(all.iter().all(|part| part.derive_shared("x") == session.derive("x")));
        assert_ne!(session.derive_shared("x"), session.derive_shared("y"));
        let other = Session::new(Transcript::new("other"));
        let within = other.clone().within(&session.child("a", 0));
        assert!(within.id() == other.id() && within.derive_shared("x") == session.derive("x"));
        // One is there twice: the first's own child.
        assert_eq!(all.iter().map(|session| *session.id()).collect::<std::collections::HashSet<_>>().len(), 7);
    }

    #[test]
    fn a_part_is_bound_to_the_whole_and_to_its_own() {
        let [session, other] = ["test", "other"].map(|domain| Session::new(Transcript::new(domain)));
        let [own, another] = ["own", "another"].map(|domain| Session::new(Transcript::new(domain)));
        let all = [
            session.part_of("a", &own),
            session.part_of("a", &another),
            session.part_of("b", &own),
            other.part_of("a", &own),
            session.child("a", 0),
            other.child("a", 0),
        ];
        assert_eq!(all.iter().map(|part| *part.id()).collect::<std::collections::HashSet<_>>().len(), all.len());
    }

    #[test]
    fn domains_and_challenges_are_told_apart() {
        let challenge = |domain: &str, label: &str| Transcript::new(domain).challenge(label);
        let all = [("a", "x"), ("a", "y"), ("b", "x"), ("ax", "")].map(|(domain, label)| challenge(domain, label));
        assert_eq!(std::collections::HashSet::from(all).len(), all.len());
    }
}
