//! Segments: files of sealed encryptions of one kind.
//!
//! A header that tells the kind and the key, and records of equal length. Each record is sealed by ChaCha20-Poly1305
//! under the segment's own key with its place as nonce; a segment is written once, so that no nonce comes twice.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use rand_core::CryptoRng;
use rayon::prelude::*;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::fault;
use super::key::PoolKey;
use crate::base::folder::Folder;
use crate::base::hex::hex;
use crate::identity::FINGERPRINT_BYTES;

const MAGIC: &[u8; 8] = b"tacpool1";
const ID_BYTES: usize = 16;
const TAG_BYTES: usize = 16;

/// Length of the header's content: magic, kind, bits of N, the key's fingerprint, the segment's random name.
const NAMED_BYTES: usize = MAGIC.len() + 1 + 4 + FINGERPRINT_BYTES + ID_BYTES;
const HEADER_BYTES: usize = NAMED_BYTES + TAG_BYTES;

const ENDING: &str = "pool";

/// The place of the header among the records.
const HEADER_PLACE: u64 = u64::MAX;

/// Integer that the encryptions of a segment hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// Encryptions of the integer 0.
    Zero,
    /// Encryptions of the integer 1.
    One,
}

/// A segment as its file says, of which the header was read.
pub struct Segment {
    name: String,
    path: PathBuf,
    kind: SegmentKind,
    size: KeySize,
    header: [u8; HEADER_BYTES],
    records: u64,
}

/// A segment that is being written.
pub struct SegmentWriter {
    cipher: ChaCha20Poly1305,
    header: [u8; HEADER_BYTES],
    record: usize,
    written: u64,
}

impl SegmentKind {
    /// Returns the integer of this kind.
    pub fn integer(self) -> i64 {
        match self {
            SegmentKind::Zero => 0,
            SegmentKind::One => 1,
        }
    }

    /// The word for it in file names and messages.
    pub fn name(self) -> &'static str {
        match self {
            SegmentKind::Zero => "zeros",
            SegmentKind::One => "ones",
        }
    }
}

/// Whether a file of this name is a segment.
pub fn is_name(name: &str) -> bool {
    !name.starts_with('.') && name.rsplit_once('.').is_some_and(|(_, ending)| ending == ENDING)
}

fn nonce(place: u64) -> Nonce {
    let mut nonce = Nonce::default();
    nonce[..8].copy_from_slice(&place.to_le_bytes());
    nonce
}

fn id(header: &[u8; HEADER_BYTES]) -> &[u8] {
    &header[NAMED_BYTES - ID_BYTES..NAMED_BYTES]
}

/// The only name that the file of a segment with this header may have.
fn name_of(kind: SegmentKind, header: &[u8; HEADER_BYTES]) -> String {
    format!("{}-{}.{ENDING}", kind.name(), hex(id(header)))
}

fn cipher(key: &PoolKey, header: &[u8; HEADER_BYTES]) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new((&*key.of_segment(id(header))).into())
}

impl Segment {
    /// Reads what a file says of itself. It goes by one name alone: under two, each encryption would be used twice.
    pub fn read(folder: &Folder, name: String) -> Result<Segment> {
        let path = folder.at(&name);
        let damaged = || fault(&path, "damaged: remove this file; its contents are lost");
        let failed = |error: std::io::Error| fault(&path, &format!("cannot be read: {error}"));
        let mut file = folder.read(&name).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header).map_err(|_| damaged())?;
        let kind = match (&header[..8] == MAGIC, header[8]) {
            (true, 0) => SegmentKind::Zero,
            (true, 1) => SegmentKind::One,
            _ => return Err(damaged()),
        };
        let bits = header[9..13].iter().rev().fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        let size = KeySize::new(bits).map_err(|_| damaged())?;
        let record = (size.ciphertext_bytes() + TAG_BYTES) as u64;
        let records = length - HEADER_BYTES as u64;
        if !records.is_multiple_of(record) {
            return Err(damaged());
        }
        let own = name_of(kind, &header);
        if name != own {
            return Err(fault(&path, &format!("a copy of {own}, or its file renamed, or damaged: remove this file")));
        }
        Ok(Segment { kind, size, header, records: records / record, name, path })
    }

    /// Refuses a segment of another key, and one whose header was changed.
    pub fn check(&self, key: &PoolKey) -> Result<()> {
        if self.header[13..13 + FINGERPRINT_BYTES] != key.fingerprint().0 {
            return Err(self.fault("this was made for another key: remove it from this pool"));
        }
        let (named, tag) = self.header.split_at(NAMED_BYTES);
        let tag: Tag = Tag::try_from(tag).map_err(|_| self.damaged())?;
        let opened =
            cipher(key, &self.header).decrypt_inout_detached(&nonce(HEADER_PLACE), named, (&mut [][..]).into(), &tag);
        opened.map_err(|_| self.damaged())
    }

    /// Returns the kind of integer that its encryptions hold.
    pub fn kind(&self) -> SegmentKind {
        self.kind
    }

    /// Returns the random name of the segment, under which it is sealed.
    pub fn id(&self) -> &[u8] {
        id(&self.header)
    }

    /// Returns the number of encryptions in the segment.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the segment's file name in the pool's directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file's length with so many encryptions.
    pub fn length_of(&self, records: u64) -> u64 {
        HEADER_BYTES as u64 + records * self.record() as u64
    }

    /// The last `count` encryptions, opened, one after the other. They are still there.
    pub fn read_last(&self, file: &File, count: u64, key: &PoolKey) -> Result<Zeroizing<Vec<u8>>> {
        let (first, record) = (self.records - count, self.record());
        // What was made in advance is secret as long as nobody knows what became of it.
        let mut sealed = Zeroizing::new(vec![0; count as usize * record]);
        file.read_exact_at(&mut sealed, self.length_of(first))
            .map_err(|error| self.fault(&format!("cannot be read: {error}")))?;
        let cipher = cipher(key, &self.header);
        let named = &self.header[..NAMED_BYTES];
        let open = |(index, sealed): (usize, &mut [u8])| {
            let (contents, tag) = sealed.split_at_mut(record - TAG_BYTES);
            let tag = Tag::try_from(&*tag).ok()?;
            cipher.decrypt_inout_detached(&nonce(first + index as u64), named, (&mut *contents).into(), &tag).ok()
        };
        let opened: Option<()> = sealed.par_chunks_mut(record).enumerate().map(open).collect();
        opened.ok_or_else(|| self.damaged())?;
        let length = record - TAG_BYTES;
        let mut all = Zeroizing::new(vec![0; count as usize * length]);
        let pairs = all.par_chunks_mut(length).zip(sealed.par_chunks(record));
        pairs.for_each(|(room, record)| room.copy_from_slice(&record[..length]));
        Ok(all)
    }

    /// An error that blames the file.
    pub fn fault(&self, what: &str) -> Error {
        fault(&self.path, what)
    }

    fn damaged(&self) -> Error {
        self.fault("damaged: remove this file; its contents are lost")
    }

    fn record(&self) -> usize {
        self.size.ciphertext_bytes() + TAG_BYTES
    }
}

impl SegmentWriter {
    /// A new segment of this kind, and the name of its file.
    pub fn new(kind: SegmentKind, key: &PoolKey, rng: &mut impl CryptoRng) -> Result<(SegmentWriter, String)> {
        let size = key.secret().public().size();
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(MAGIC);
        header[8] = kind.integer() as u8;
        header[9..13].copy_from_slice(&(size.bits() as u32).to_le_bytes());
        header[13..13 + FINGERPRINT_BYTES].copy_from_slice(&key.fingerprint().0);
        rng.fill_bytes(&mut header[NAMED_BYTES - ID_BYTES..NAMED_BYTES]);
        let cipher = cipher(key, &header);
        let tag = cipher.encrypt_inout_detached(&nonce(HEADER_PLACE), &header[..NAMED_BYTES], (&mut [][..]).into());
        header[NAMED_BYTES..].copy_from_slice(&tag.map_err(|_| Error::Internal("a header cannot be sealed".into()))?);
        let name = name_of(kind, &header);
        Ok((SegmentWriter { cipher, header, record: size.ciphertext_bytes() + TAG_BYTES, written: 0 }, name))
    }

    /// The header, which comes first.
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// Seals encryptions that come next, and writes them.
    pub fn write(&mut self, ciphertexts: &[u8], file: &mut (impl Write + ?Sized)) -> std::io::Result<()> {
        let length = self.record - TAG_BYTES;
        let mut sealed = vec![0; ciphertexts.len() / length * self.record];
        let (first, named) = (self.written, &self.header[..NAMED_BYTES]);
        let seal = |(index, (room, contents)): (usize, (&mut [u8], &[u8]))| {
            let (body, tag) = room.split_at_mut(length);
            body.copy_from_slice(contents);
            let made = self.cipher.encrypt_inout_detached(&nonce(first + index as u64), named, body.into());
            made.map(|made| tag.copy_from_slice(&made))
        };
        let done: std::result::Result<(), _> =
            sealed.par_chunks_mut(self.record).zip(ciphertexts.par_chunks(length)).enumerate().map(seal).collect();
        done.map_err(|_| std::io::Error::other("a record cannot be sealed"))?;
        self.written += (ciphertexts.len() / length) as u64;
        file.write_all(&sealed)
    }
}
