//! Keys with which tags and seals are made.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key as SealKey, Nonce, Tag};
use zeroize::{Zeroize, Zeroizing};

use super::params::SEAL_BYTES;
use crate::primitive::oprf::OUTPUT_BYTES;
use crate::session::Session;

/// Keys that bind tags and seals to one session, or to one epoch of a prepared sender. They are as public as its id:
/// what keeps tags and seals apart from guesses is the pseudorandom function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagDomain {
    tag: [u8; 32],
    seal: [u8; 32],
}

/// BLAKE3 contexts of a prepared epoch's keys; a session's come from [`Session::derive`].
const EPOCH_TAG_CONTEXT: &str = "tacita 1 ecdh epoch tag";
const EPOCH_SEAL_CONTEXT: &str = "tacita 1 ecdh epoch seal";

impl TagDomain {
    /// The keys of `ecdh` in one session.
    pub fn of_session(session: &Session) -> TagDomain {
        TagDomain::of_protocol("ecdh", session)
    }

    /// The keys of a protocol in one session.
    pub(crate) fn of_protocol(protocol: &str, session: &Session) -> TagDomain {
        TagDomain { tag: session.derive(&format!("{protocol} tag")), seal: session.derive(&format!("{protocol} seal")) }
    }

    /// The keys of the epoch with this id, in which one prepared sender serves many sessions.
    pub fn of_epoch(epoch: &[u8; 32]) -> TagDomain {
        TagDomain {
            tag: blake3::derive_key(EPOCH_TAG_CONTEXT, epoch),
            seal: blake3::derive_key(EPOCH_SEAL_CONTEXT, epoch),
        }
    }

    /// The keys for entries by the function of one key, whose public part this is. Outputs by another key, or by two,
    /// so make other tags.
    pub(crate) fn of_key(&self, public: &[u8]) -> TagDomain {
        let [tag, seal] = [&self.tag, &self.seal].map(|key| *blake3::keyed_hash(key, public).as_bytes());
        TagDomain { tag, seal }
    }

    /// The tag of row `index` of the item that the pseudorandom function maps to `output`; its first bytes are sent.
    pub(crate) fn tag(&self, output: &[u8; OUTPUT_BYTES], index: u32) -> [u8; 32] {
        derive(&self.tag, output, index)
    }

    /// Seals row `index` of an item in place and returns the authenticator. The nonce is zero: each key seals one row
    /// once, because the session (or epoch), the item and the index determine it.
    pub(crate) fn seal(&self, output: &[u8; OUTPUT_BYTES], index: u32, row: &mut [u8]) -> [u8; SEAL_BYTES] {
        let tag = self.cipher(output, index).encrypt_inout_detached(&Nonce::default(), &[], row.into());
        tag.expect("rows are far below the cipher's limit of 256 GiB").into()
    }

    /// Opens a sealed row, authenticator at the end, in place and returns it; `None` if it is not authentic.
    pub(crate) fn open<'a>(
        &self,
        output: &[u8; OUTPUT_BYTES],
        index: u32,
        sealed: &'a mut [u8],
    ) -> Option<&'a mut [u8]> {
        let (row, tag) = sealed.split_at_mut_checked(sealed.len().checked_sub(SEAL_BYTES)?)?;
        let tag = Tag::try_from(&*tag).ok()?;
        self.cipher(output, index).decrypt_inout_detached(&Nonce::default(), &[], (&mut *row).into(), &tag).ok()?;
        Some(row)
    }

    fn cipher(&self, output: &[u8; OUTPUT_BYTES], index: u32) -> ChaCha20Poly1305 {
        let mut key = SealKey::from(derive(&self.seal, output, index));
        let cipher = ChaCha20Poly1305::new(&key);
        key.zeroize();
        cipher
    }
}

/// BLAKE3 with `key` over `output`, then `index` as four bytes, least significant first.
fn derive(key: &[u8; 32], output: &[u8; OUTPUT_BYTES], index: u32) -> [u8; 32] {
    let mut input = Zeroizing::new([0; OUTPUT_BYTES + 4]);
    input[..OUTPUT_BYTES].copy_from_slice(output);
    input[OUTPUT_BYTES..].copy_from_slice(&index.to_le_bytes());
    *blake3::keyed_hash(key, &*input).as_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::session::Transcript;

    /// The nonce is zero, so that no key may serve twice: every protocol, session, epoch, item and row has keys of its
    /// own.
    #[test]
    fn no_two_rows_are_sealed_alike() {
        let [one, other] = ["one", "other"].map(|domain| Session::new(Transcript::new(domain)));
        let domains = [
            TagDomain::of_session(&one),
            TagDomain::of_session(&other),
            TagDomain::of_protocol("vole", &one),
            TagDomain::of_epoch(&[1; 32]),
            TagDomain::of_epoch(&[2; 32]),
            TagDomain::of_epoch(&[2; 32]).of_key(&[1; 32]),
            TagDomain::of_epoch(&[2; 32]).of_key(&[2; 32]),
        ];
        let (mut seen, mut sealed) = (HashSet::new(), Vec::new());
        for domain in &domains {
            for (output, index) in [(1, 0), (1, 1), (1, 1 << 16), (2, 0)] {
                let output = [output; OUTPUT_BYTES];
                let mut row = [0; 32];
                let seal = domain.seal(&output, index, &mut row);
                assert!(seen.insert(row) && seen.insert(domain.tag(&output, index)), "{index}");
                sealed.push((domain, output, index, [&row[..], &seal].concat()));
            }
        }
        // Nor does any open another's.
        for (place, (_, _, _, row)) in sealed.iter().enumerate() {
            for (other, (domain, output, index, _)) in sealed.iter().enumerate() {
                assert_eq!(domain.open(output, *index, &mut row.clone()).is_some(), place == other);
            }
        }
    }
}
