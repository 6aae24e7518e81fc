//! Words that a party announces to all others through a helper, signed with the key of its identity. A helper that
//! alters a word, or passes one off as another party's, is detected.
//!
//! A signature holds for one agreement and one place in it. It does not tell runs of a job apart: a word of an earlier
//! run that a helper brings again is of no use to it, as the keys in it were that run's, and the others' run with it
//! fails.

use tacita_core::{Error, Result};

use crate::identity::{ED25519_KEY_BYTES, Fingerprint, Identity, SIGNATURE_BYTES, ed25519_fingerprint, verify};
use crate::transport::Peer;

/// Bytes of an agreement's fingerprint.
pub const AGREEMENT_BYTES: usize = 32;

/// Bytes by which a word grows when it is signed: the signature and the key that it is under.
pub const SIGNED_BYTES: usize = SIGNATURE_BYTES + ED25519_KEY_BYTES;

/// Prefix of the signed message. Nothing else that an identity's key signs begins with it.
const DOMAIN: &[u8] = b"tacita 1 depot word\0";

/// The word of the party at `place`, followed by its key and its signature.
pub fn sign(identity: &Identity, agreement: &[u8; AGREEMENT_BYTES], place: u8, word: &[u8]) -> Result<Vec<u8>> {
    let (key, signature) = identity.sign(&message(agreement, place, word))?;
    Ok([word, &key, &signature].concat())
}

/// Verifies the word of `party`, at `place`, as `helper` has passed it on, and returns it.
///
/// Errors: [`Error::Authentication`] that names both if it is not by that party, for this job and place.
pub fn open<'a>(
    signed: &'a [u8],
    agreement: &[u8; AGREEMENT_BYTES],
    place: u8,
    party: &Peer,
    helper: &str,
) -> Result<&'a [u8]> {
    checked(signed, agreement, place, party.pin).ok_or_else(|| Error::Authentication {
        peer: format!("{helper}, or {},", party.name),
        what: format!("a message that it passes on from {} is not signed by that party for this job", party.name),
    })
}

fn checked<'a>(signed: &'a [u8], agreement: &[u8; AGREEMENT_BYTES], place: u8, pin: Fingerprint) -> Option<&'a [u8]> {
    let (rest, signature) = signed.split_last_chunk::<SIGNATURE_BYTES>()?;
    let (word, key) = rest.split_last_chunk::<ED25519_KEY_BYTES>()?;
    let valid = ed25519_fingerprint(key) == pin && verify(key, &message(agreement, place, word), signature);
    valid.then_some(word)
}

/// Returns the message that is signed. All before the word is of fixed length.
fn message(agreement: &[u8; AGREEMENT_BYTES], place: u8, word: &[u8]) -> Vec<u8> {
    [DOMAIN, agreement, &[place], word].concat()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::identity::VALIDITY;

    const AGREEMENT: [u8; AGREEMENT_BYTES] = [7; AGREEMENT_BYTES];

    fn party(name: &str) -> (Identity, Peer) {
        let now = SystemTime::now();
        let identity = Identity::generate(name, now, now + VALIDITY).expect("an identity");
        let peer = Peer { name: name.into(), pin: identity.fingerprint() };
        (identity, peer)
    }

    #[test]
    fn a_word_comes_through_as_it_was_told() {
        let (identity, peer) = party("bank");
        for word in [&b""[..], b"keys"] {
            let signed = sign(&identity, &AGREEMENT, 1, word).expect("signed");
            assert_eq!(signed.len(), word.len() + SIGNED_BYTES);
            assert_eq!(open(&signed, &AGREEMENT, 1, &peer, "the helper"), Ok(word));
        }
    }

    #[test]
    fn no_changed_bit_and_no_shorter_or_longer_word_passes() {
        let (identity, peer) = party("bank");
        let signed = sign(&identity, &AGREEMENT, 1, b"keys").expect("signed");
        for bit in 0..8 * signed.len() {
            let mut changed = signed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&changed, &AGREEMENT, 1, &peer, "the helper").is_err(), "bit {bit}");
        }
        for length in 0..signed.len() {
            assert!(open(&signed[..length], &AGREEMENT, 1, &peer, "the helper").is_err(), "{length} bytes");
        }
        assert!(open(&[&signed[..], &[0]].concat(), &AGREEMENT, 1, &peer, "the helper").is_err());
    }

    #[test]
    fn a_helper_that_swaps_a_word_is_named_with_the_party() {
        let ((bank, pinned), (stranger, _)) = (party("bank"), party("stranger"));
        let own = sign(&bank, &AGREEMENT, 1, b"keys").expect("signed");
        let swapped = sign(&stranger, &AGREEMENT, 1, b"keys").expect("signed");
        let elsewhere = [
            open(&swapped, &AGREEMENT, 1, &pinned, "the helper"),
            open(&own, &AGREEMENT, 2, &pinned, "the helper"),
            open(&own, &[8; AGREEMENT_BYTES], 1, &pinned, "the helper"),
        ];
        for opened in elsewhere {
            let error = opened.expect_err("it is not the party's word here");
            assert!(matches!(&error, Error::Authentication { peer, .. } if peer == "the helper, or bank,"), "{error}");
        }
    }
}
