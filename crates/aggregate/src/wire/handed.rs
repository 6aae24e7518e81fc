//! Reports that one proxy hands over to another.

use tacita_node::identity::Fingerprint;

/// Bytes of the fingerprint of what a participant sent.
pub(crate) const DIGEST_BYTES: usize = 32;

/// A batch on its way from one proxy to another.
pub struct Handed<'a> {
    /// Participant that sent the batch.
    pub participant: Fingerprint,
    /// The fingerprint of what the participant sent.
    pub digest: [u8; DIGEST_BYTES],
    /// The records that were made of it, at least one byte of them.
    pub records: &'a [u8],
}

impl Handed<'_> {
    /// The fingerprint of the participant's identity, that of what the participant sent, and the records that were made
    /// of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.participant.0[..], &self.digest, self.records].concat()
    }

    /// Parses the output of [`Handed::to_bytes`], if it holds a record.
    pub fn from_bytes(bytes: &[u8]) -> Option<Handed<'_>> {
        let (participant, rest) = bytes.split_first_chunk()?;
        let (digest, records) = rest.split_first_chunk()?;
        (!records.is_empty()).then_some(Handed { participant: Fingerprint(*participant), digest: *digest, records })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_come_back_and_what_is_cut_off_is_none() {
        let handed = Handed { participant: Fingerprint([9; 32]), digest: [7; 32], records: &[1, 2, 3] };
        let bytes = handed.to_bytes();
        let back = Handed::from_bytes(&bytes).unwrap();
        assert_eq!((back.participant, back.digest, back.records), (handed.participant, handed.digest, handed.records));
        for length in 0..bytes.len() - 2 {
            assert!(Handed::from_bytes(&bytes[..length]).is_none(), "{length}");
        }
    }
}
