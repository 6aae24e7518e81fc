//! Parameters that all roles of a round agree on, and the lengths that follow from them.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::primitive::elgamal::{known, masks};
use crate::primitive::group::{Embedding, Group, Ristretto255};
use crate::session::{Session, Transcript};

use super::rows::doubled;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 1024;

/// The most values of a domain. (The database looks each up in a table of so many points.)
pub const MAX_VALUES: u32 = 1 << 16;

/// Parameters agreed on for one round.
pub struct Params<G: Group = Ristretto255> {
    /// Group of the round.
    pub(super) group: G,
    /// Session of the job's terms and the round.
    pub(crate) session: Session,
    key_bytes: usize,
    values: u32,
    distinct: bool,
    /// The place of each value, by the bytes that the database has of it.
    places: OnceLock<HashMap<Vec<u8>, u32>>,
}

impl Params {
    /// Parameters of a round of `dh`. `session` stands for the job's terms and the round. `key_bytes` is the largest
    /// length of a key. `values` is the number of values, 0 or 1 if reports carry none. `distinct` tells whether
    /// entries carry a tag of the participant that reported them.
    ///
    /// Fails with [`Error::Input`] if a length or a number is out of bounds.
    pub fn new(session: Session, key_bytes: usize, values: u32, distinct: bool) -> Result<Params> {
        Params::in_group(Ristretto255, session, key_bytes, values, distinct)
    }
}

impl<G: Embedding> Params<G> {
    /// The same in any group.
    pub fn in_group(group: G, session: Session, key_bytes: usize, values: u32, distinct: bool) -> Result<Params<G>> {
        if !(1..=MAX_KEY_BYTES).contains(&key_bytes) {
            return Err(Error::Input(format!("keys of {key_bytes} bytes: use 1 to {MAX_KEY_BYTES}")));
        }
        if values > MAX_VALUES {
            return Err(Error::Input(format!("{values} values are too many: use at most {MAX_VALUES}")));
        }
        Ok(Params { group, session, key_bytes, values, distinct, places: OnceLock::new() })
    }

    /// Number of points that a key takes.
    pub fn key_points(&self) -> usize {
        self.key_bytes.div_ceil(G::EMBEDDED_BYTES)
    }

    /// Length of a key as it is embedded: filled up with zero bytes.
    pub(super) fn padded_bytes(&self) -> usize {
        self.key_points() * G::EMBEDDED_BYTES
    }

    /// Length of a report.
    pub fn report_bytes(&self) -> usize {
        self.ciphertexts_bytes() + self.value_proof_bytes() + masks::proof_bytes(&self.group)
    }

    /// Length of a report's ciphertexts, which stand before its proofs.
    pub(super) fn ciphertexts_bytes(&self) -> usize {
        self.report_points() * self.group.point_bytes()
    }

    /// Length of the proof that a report's value is known.
    pub(super) fn value_proof_bytes(&self) -> usize {
        if self.has_values() { known::proof_bytes(&self.group) } else { 0 }
    }

    /// Points of a report before its proofs.
    pub(crate) fn report_points(&self) -> usize {
        2 * (1 + usize::from(self.has_values()) + self.key_points())
    }

    /// Length of an entry, which is what the proxy makes of a report.
    pub fn entry_bytes(&self) -> usize {
        self.entry_points() * self.group.point_bytes()
    }

    pub(super) fn entry_points(&self) -> usize {
        self.report_points() + 2 * usize::from(self.distinct)
    }

    /// Length of a key that is encrypted for the oracle alone.
    pub fn sealed_bytes(&self) -> usize {
        2 * self.key_points() * self.group.point_bytes()
    }

    /// The place of the value whose encoding the database has computed.
    pub(super) fn place(&self, encoded: &[u8]) -> Option<u32> {
        let table = || {
            let values: Vec<G::Scalar> = (0..self.values).map(|place| self.value(place)).collect();
            let points = doubled(&self.group, &self.group.multiply_generator(&values), 1);
            let encodings = self.group.double_encode(&points);
            encodings.chunks(self.group.point_bytes()).map(<[u8]>::to_vec).zip(0..).collect()
        };
        self.places.get_or_init(table).get(encoded).copied()
    }

    /// Scalar that is encrypted for the value at a place: one more than the place, so that it is not zero.
    pub(super) fn value(&self, place: u32) -> G::Scalar {
        self.group.scalar(u64::from(place) + 1)
    }
}

impl<G: Group> Params<G> {
    /// Returns the group of the round.
    pub fn group(&self) -> &G {
        &self.group
    }

    /// Returns the largest length of a key in bytes.
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// Returns the number of values.
    pub fn values(&self) -> u32 {
        self.values
    }

    /// Whether reports carry values. Those of a domain of one need not.
    pub fn has_values(&self) -> bool {
        self.values > 1
    }

    /// Whether entries carry a tag of who reported them.
    pub fn distinct(&self) -> bool {
        self.distinct
    }

    /// A transcript that is bound to the round, for a purpose.
    pub(super) fn transcript(&self, purpose: &str) -> Transcript {
        let mut transcript = Transcript::new("aggregate");
        transcript.append("round", self.session.id()).append("purpose", purpose.as_bytes());
        for number in [self.key_bytes as u64, u64::from(self.values), u64::from(self.distinct)] {
            transcript.append("agreed", &number.to_le_bytes());
        }
        transcript
    }
}

impl<G: Group> fmt::Debug for Params<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Params { key_bytes, values, distinct, .. } = self;
        write!(f, "Params(keys of {key_bytes} bytes, {values} values, distinct: {distinct})")
    }
}
