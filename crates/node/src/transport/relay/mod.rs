//! A relay: parties that can only dial out meet there. Each party's connection to it is TLS of its own, in which the
//! party says whom it wants to meet in which job; when both of a pair have come, the bytes below that TLS are carried
//! from one to the other, and the two run theirs, end to end. The wire format is in `docs/wire.md`.

mod guest;
mod reception;

use std::io;
use std::time::Duration;

use crate::identity::{FINGERPRINT_BYTES, Fingerprint};

pub use guest::{ConnectionEnd, RelayAddress, look, meet};
pub use reception::{Reception, prepare};

/// Interval at which a relay shows a waiting party that it is alive.
pub const WAIT_SIGN: Duration = Duration::from_secs(2);

/// Length of an agreement in bytes.
pub const AGREEMENT_BYTES: usize = 32;

/// Length of a lane in bytes.
const LANE_BYTES: usize = 8;

/// Length of a [`RelayRequest`] in bytes.
pub const REQUEST_BYTES: usize = 1 + AGREEMENT_BYTES + FINGERPRINT_BYTES + LANE_BYTES;

/// Length of the header of a TLS record.
pub const HEADER_BYTES: usize = 5;

/// The longest payload of a TLS record (RFC 8446 section 5.2).
const MAX_RECORD_BYTES: usize = (1 << 14) + 256;

/// Request of a party to a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelayRequest {
    /// The agreement of the job that it is about: SHA-256 of the terms.
    pub agreement: [u8; AGREEMENT_BYTES],
    /// Service that the party requests.
    pub wish: RelayWish,
}

/// Service that a party requests of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayWish {
    /// Meeting with the owner of this key.
    Meet {
        /// Fingerprint of the peer's key.
        peer: Fingerprint,
        /// Index of the connection among several between the two; 0 where there is one.
        lane: u64,
    },
    /// Query whether the relay knows the job.
    Look,
}

impl RelayRequest {
    /// The bytes that stand for it.
    pub fn write(&self) -> [u8; REQUEST_BYTES] {
        let (kind, peer, lane) = match self.wish {
            RelayWish::Meet { peer, lane } => (1, peer.0, lane),
            RelayWish::Look => (2, [0; FINGERPRINT_BYTES], 0),
        };
        let mut bytes = [kind; REQUEST_BYTES];
        bytes[1..1 + AGREEMENT_BYTES].copy_from_slice(&self.agreement);
        bytes[1 + AGREEMENT_BYTES..][..FINGERPRINT_BYTES].copy_from_slice(&peer);
        bytes[1 + AGREEMENT_BYTES + FINGERPRINT_BYTES..].copy_from_slice(&lane.to_le_bytes());
        bytes
    }

    /// Parses a request; nothing but the output of [`RelayRequest::write`] is accepted.
    pub fn read(bytes: &[u8; REQUEST_BYTES]) -> Option<RelayRequest> {
        let (kind, rest) = bytes.split_first()?;
        let (agreement, rest) = rest.split_at_checked(AGREEMENT_BYTES)?;
        let (peer, lane) = rest.split_first_chunk::<FINGERPRINT_BYTES>()?;
        let lane = u64::from_le_bytes(lane.try_into().ok()?);
        let wish = match kind {
            1 => RelayWish::Meet { peer: Fingerprint(*peer), lane },
            2 if *peer == [0; FINGERPRINT_BYTES] && lane == 0 => RelayWish::Look,
            _ => return None,
        };
        Some(RelayRequest { agreement: agreement.try_into().ok()?, wish })
    }
}

/// Word of a relay to a party, encoded in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RelayMessage {
    /// The peer is not there yet.
    Wait = 0,
    /// The peer is there: what follows is between the two.
    Joined = 1,
    /// Confirmation that the relay knows the job.
    Known = 2,
    /// Refusal: the relay has no job with this agreement.
    UnknownJob = 16,
    /// The job has no connection between these two.
    NoSuchPair = 17,
    /// The two are connected already.
    Busy = 18,
    /// The same party has come again for the same peer.
    Replaced = 19,
    /// The peer did not come for too long.
    Late = 20,
    /// Notice that the relay ends.
    Ending = 21,
}

impl RelayMessage {
    /// The word that a byte stands for, if it stands for one.
    pub fn read(byte: u8) -> Option<RelayMessage> {
        use RelayMessage::*;
        [Wait, Joined, Known, UnknownJob, NoSuchPair, Busy, Replaced, Late, Ending]
            .into_iter()
            .find(|word| *word as u8 == byte)
    }
}

/// Returns the length of the TLS record with this header, without the header. Records are read one by one, so that
/// nothing after the last one is read with it.
///
/// Errors: it is no header of TLS 1.3.
pub fn record_bytes(header: [u8; HEADER_BYTES]) -> io::Result<usize> {
    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
    match header[..2] {
        // From change_cipher_spec to application_data, whatever the minor version.
        [20..=23, 3] if length <= MAX_RECORD_BYTES => Ok(length),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it does not speak TLS")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_what_was_written_and_nothing_else() {
        for wish in [(7, 0), (0, 0), (7, u64::MAX)]
            .map(|(byte, lane)| RelayWish::Meet { peer: Fingerprint([byte; 32]), lane })
            .into_iter()
            .chain([RelayWish::Look])
        {
            let request = RelayRequest { agreement: [3; 32], wish };
            assert_eq!(RelayRequest::read(&request.write()), Some(request));
        }
        let mut looks = RelayRequest { agreement: [3; 32], wish: RelayWish::Look }.write();
        looks[REQUEST_BYTES - 1] = 1;
        assert_eq!(RelayRequest::read(&looks), None);
        let good =
            RelayRequest { agreement: [3; 32], wish: RelayWish::Meet { peer: Fingerprint([7; 32]), lane: 0 } }.write();
        for kind in (0..=255).filter(|kind| *kind != 1) {
            let mut bytes = good;
            bytes[0] = kind;
            assert_eq!(RelayRequest::read(&bytes), None, "{kind}");
        }
    }

    #[test]
    fn every_word_has_a_byte_of_its_own() {
        let words: Vec<_> = (0..=255).filter_map(|byte| Some((byte, RelayMessage::read(byte)?))).collect();
        assert!(words.iter().all(|(byte, word)| *word as u8 == *byte) && words.len() == 9);
    }

    #[test]
    fn only_records_of_tls_are_taken() {
        assert_eq!(record_bytes([22, 3, 1, 2, 0]).unwrap(), 512);
        assert_eq!(record_bytes([23, 3, 3, 0x41, 0]).unwrap(), MAX_RECORD_BYTES);
        for bad in [[23, 3, 3, 0x41, 1], [24, 3, 3, 0, 1], [22, 2, 0, 0, 1], *b"GET /", *b"SSH-2"] {
            assert!(record_bytes(bad).is_err(), "{bad:?}");
        }
    }
}
