//! The files of a ledger: sealed records, each of which is bound to all before it, in whichever file that is.
//!
//! A record is its length (4 bytes), a random nonce (24), and its contents sealed by XChaCha20-Poly1305; the number of
//! the record and the head of the chain before it are sealed with it. The head is a BLAKE3 hash over the head before,
//! the number and the sealed record. So a record that was changed, taken out or moved does not open, nor does any
//! behind it. Nonces are random, and not counted, because a record that a crash has cut off is written again with other
//! contents.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use crate::base::random::fill_random;

pub(super) const MAGIC: &[u8; 8] = b"tacledg1";

const LENGTH_BYTES: usize = 4;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// Maximum length of a record's contents in bytes.
const MAX_RECORD_BYTES: usize = 1 << 24;

/// Maximum length of a sealed record, with what begins the file.
pub(super) const MAX_SEALED_BYTES: u64 =
    (MAGIC.len() + LENGTH_BYTES + NONCE_BYTES + MAX_RECORD_BYTES + TAG_BYTES) as u64;

/// Hash over everything up to a record.
pub(super) type Head = [u8; 32];

/// Place in a chain at which the next record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    /// Number of records before it.
    pub(super) records: u64,
    pub(super) head: Head,
}

/// A chain as far as it can be read.
pub(super) struct Chain {
    pub(super) records: Vec<Zeroizing<Vec<u8>>>,
    /// Heads, from that of the empty chain on.
    pub(super) heads: Vec<Head>,
    /// Bytes of the last file up to the last record that can be read.
    pub(super) whole: usize,
    /// Whether a file before the last one has more than records that can be read.
    pub(super) is_broken: bool,
}

impl End {
    pub(super) const FIRST: End = End { records: 0, head: [0; 32] };

    /// Seals the record that stands here, and moves behind it.
    pub(super) fn seal(&mut self, cipher: &XChaCha20Poly1305, contents: &[u8]) -> Result<Vec<u8>> {
        if contents.len() > MAX_RECORD_BYTES {
            return Err(Error::Input("the terms and the result of this run do not fit an entry of the ledger".into()));
        }
        let mut nonce = [0; NONCE_BYTES];
        fill_random(&mut nonce)?;
        let mut record = (contents.len() as u32).to_le_bytes().to_vec();
        record.extend(nonce);
        record.extend(contents);
        let inner = &mut record[LENGTH_BYTES + NONCE_BYTES..];
        let tag = cipher.encrypt_inout_detached(&XNonce::from(nonce), &self.bound(), inner.into());
        let tag = tag.map_err(|_| Error::Internal("a record cannot be sealed".into()))?;
        record.extend(tag);
        *self = self.behind(&record);
        Ok(record)
    }

    /// Opens the record that stands here at the beginning of `rest`, and moves behind it. Returns its contents and
    /// length.
    fn open(&mut self, cipher: &XChaCha20Poly1305, rest: &[u8]) -> Option<(Zeroizing<Vec<u8>>, usize)> {
        let length = u32::from_le_bytes(*rest.first_chunk::<LENGTH_BYTES>()?) as usize;
        let all = LENGTH_BYTES + NONCE_BYTES + length + TAG_BYTES;
        let record = rest.get(..all).filter(|_| length <= MAX_RECORD_BYTES)?;
        let (nonce, sealed) = record[LENGTH_BYTES..].split_first_chunk::<NONCE_BYTES>()?;
        let (inner, tag) = sealed.split_at(length);
        let mut contents = Zeroizing::new(inner.to_vec());
        let tag = Tag::try_from(tag).ok()?;
        let opened =
            cipher.decrypt_inout_detached(&XNonce::from(*nonce), &self.bound(), contents.as_mut_slice().into(), &tag);
        opened.ok()?;
        *self = self.behind(record);
        Some((contents, all))
    }

    /// Everything that a record here is bound to.
    fn bound(&self) -> [u8; 40] {
        let mut bound = [0; 40];
        bound[..8].copy_from_slice(&self.records.to_le_bytes());
        bound[8..].copy_from_slice(&self.head);
        bound
    }

    fn behind(&self, record: &[u8]) -> End {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 ledger chain");
        hasher.update(&self.bound()).update(record);
        End { records: self.records + 1, head: *hasher.finalize().as_bytes() }
    }
}

impl Chain {
    /// Reads the contents of files, each of which goes on where the one before it ends, as far as they can be read.
    pub(super) fn read(cipher: &XChaCha20Poly1305, files: &[Vec<u8>]) -> Chain {
        let mut chain = Chain { records: Vec::new(), heads: vec![End::FIRST.head], whole: 0, is_broken: false };
        let mut end = End::FIRST;
        for (place, bytes) in files.iter().enumerate() {
            chain.whole = 0;
            if bytes.starts_with(MAGIC) {
                chain.whole = MAGIC.len();
                while let Some((contents, length)) = end.open(cipher, &bytes[chain.whole..]) {
                    chain.records.push(contents);
                    chain.heads.push(end.head);
                    chain.whole += length;
                }
            }
            if chain.whole < bytes.len() && place + 1 < files.len() {
                chain.is_broken = true;
                break;
            }
        }
        chain
    }

    pub(super) fn end(&self) -> End {
        let records = self.records.len() as u64;
        End { records, head: self.heads.last().copied().unwrap_or(End::FIRST.head) }
    }
}

/// Returns the cipher of a ledger.
pub(super) fn cipher(key: &[u8; 32]) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.into())
}
