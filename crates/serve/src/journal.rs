//! A sealed file that holds a state, and behind it what has changed since: each change is on disk before whoever made
//! it goes on.
//!
//! Each record has its length before it and is sealed by ChaCha20-Poly1305 under the file's own key, with its number as
//! nonce. The file's key depends on a random name, and the file is written anew each time that it is opened: what a
//! crash left of a record at its end is never continued under the same nonce. A file that was cut off between two
//! records, or an older one put back, is not noticed.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::random::fill_random;
use zeroize::Zeroizing;

#[cfg(test)]
mod power;

const MAGIC: &[u8; 8] = b"taclive1";
const ID_BYTES: usize = 16;
const HEADER_BYTES: usize = MAGIC.len() + ID_BYTES;
const LENGTH_BYTES: usize = 4;
const TAG_BYTES: usize = 16;

/// Number of bytes at a journal's end that are searched for a record.
const MAX_SEARCHED_BYTES: usize = 1 << 20;

/// Maximum length of a state in bytes.
const MAX_FILE_BYTES: u64 = 1 << 34;

/// The key of a directory's journals.
#[derive(Clone)]
pub(crate) struct Key(Arc<Zeroizing<[u8; 32]>>);

impl Key {
    pub(crate) fn new(key: Zeroizing<[u8; 32]>) -> Key {
        Key(Arc::new(key))
    }

    fn cipher(&self, name: &str, id: &[u8]) -> ChaCha20Poly1305 {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 live journal");
        hasher.update(&self.0[..]).update(id).update(name.as_bytes());
        ChaCha20Poly1305::new((&*Zeroizing::new(*hasher.finalize().as_bytes())).into())
    }
}

/// A state, and what has changed since, in order.
pub(crate) struct Kept {
    pub(crate) state: Zeroizing<Vec<u8>>,
    pub(crate) changes: Vec<Zeroizing<Vec<u8>>>,
}

/// A journal that is open to be written.
pub(crate) struct Journal {
    folder: Arc<Folder>,
    name: &'static str,
    key: Key,
    cipher: ChaCha20Poly1305,
    file: File,
    records: u64,
    bytes: u64,
    /// The same when it began.
    first_bytes: u64,
    /// A record may stand at its end in part.
    broken: bool,
}

impl Journal {
    /// Reads the contents of a journal; nothing if there is none. A record at the end that is not whole is left out:
    /// nobody was told that it is on disk.
    ///
    /// Errors ([`Error::Input`]): it is damaged, or of another key.
    pub(crate) fn read(folder: &Folder, name: &str, key: &Key) -> Result<Option<Kept>> {
        if !folder.has(name) {
            return Ok(None);
        }
        let path = folder.at(name);
        let failed = |error: std::io::Error| Error::Input(format!("{}: cannot be read: {error}", path.display()));
        let damaged = || {
            Error::Input(format!(
                "{}: damaged, or of another identity: put back the directory as it was, or begin with a new one (with fresh quotas)",
                path.display()
            ))
        };
        let mut file = folder.read(name).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length > MAX_FILE_BYTES {
            return Err(damaged());
        }
        let mut bytes = Vec::with_capacity(length as usize);
        file.read_to_end(&mut bytes).map_err(failed)?;
        let (header, mut rest) = bytes.split_at_checked(HEADER_BYTES).ok_or_else(damaged)?;
        let id = header.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let cipher = key.cipher(name, id);
        let mut records = Vec::new();
        while !rest.is_empty() {
            let number = records.len() as u64;
            match first(&cipher, number, rest) {
                Some((record, after)) => {
                    records.push(record);
                    rest = after;
                }
                None if is_last(&cipher, number, rest) => break,
                None => return Err(damaged()),
            }
        }
        let mut records = records.into_iter();
        let state = records.next().ok_or_else(damaged)?;
        Ok(Some(Kept { state, changes: records.collect() }))
    }

    /// Begins a journal with a state, in place of one that is there. It is on disk before this returns.
    pub(crate) fn begin(folder: &Arc<Folder>, name: &'static str, key: &Key, state: &[u8]) -> Result<Journal> {
        let mut id = [0; ID_BYTES];
        fill_random(&mut id)?;
        let cipher = key.cipher(name, &id);
        let first = seal(&cipher, 0, state)?;
        let bytes = [&MAGIC[..], &id, &first].concat();
        folder.write(name, &bytes)?;
        let failed = |error: std::io::Error| cannot_write(folder.at(name), &error);
        let mut file = folder.change(name).map_err(failed)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).map_err(failed)?;
        let folder = folder.clone();
        Ok(Journal {
            folder,
            name,
            key: key.clone(),
            cipher,
            file,
            records: 1,
            bytes: bytes.len() as u64,
            first_bytes: bytes.len() as u64,
            broken: false,
        })
    }

    /// Begins it anew, with another state. After an error either may be there, and nothing can be written until it has
    /// begun again.
    pub(crate) fn begin_again(&mut self, state: &[u8]) -> Result<()> {
        self.broken = true;
        *self = Journal::begin(&self.folder, self.name, &self.key, state)?;
        Ok(())
    }

    /// Writes a change down; on disk before this returns. After an error it may be there, or not, and nothing can be
    /// written until the journal has begun again.
    pub(crate) fn append(&mut self, change: &[u8]) -> Result<()> {
        if self.broken {
            return Err(Error::Internal("a journal that ends in the middle of a record".into()));
        }
        let sealed = seal(&self.cipher, self.records, change)?;
        self.broken = true;
        let written = self.file.write_all(&sealed).and_then(|()| self.file.sync_data());
        written.map_err(|error| cannot_write(self.folder.at(self.name), &error))?;
        self.broken = false;
        self.records += 1;
        self.bytes += sealed.len() as u64;
        Ok(())
    }

    /// Whether the last change may have been written in part.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Makes the next change fail, as on a disk that is full.
    #[cfg(test)]
    pub(crate) fn fail(&mut self) {
        self.file = self.folder.read(self.name).unwrap();
    }

    /// Returns the length of the journal in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is longer than `long`, and than twice what it began with: then it is time to begin it again. So what
    /// is written again is never more than what changes have added.
    pub(crate) fn is_long(&self, long: u64) -> bool {
        self.bytes > long.max(2 * self.first_bytes)
    }
}

/// The record that a part of a journal begins with, and what is behind it.
fn first<'a>(cipher: &ChaCha20Poly1305, number: u64, rest: &'a [u8]) -> Option<(Zeroizing<Vec<u8>>, &'a [u8])> {
    let (length, after) = rest.split_first_chunk::<LENGTH_BYTES>()?;
    let (sealed, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize + TAG_BYTES)?;
    Some((open(cipher, number, sealed)?, after))
}

/// Whether what cannot be opened may be what a crash has left of the last change: any of its blocks, and zeros for the
/// others. What is on disk behind a change was written when that was on disk.
fn is_last(cipher: &ChaCha20Poly1305, number: u64, rest: &[u8]) -> bool {
    if rest.len() <= MAX_SEARCHED_BYTES {
        return (0..rest.len()).all(|from| first(cipher, number + 1, &rest[from..]).is_none());
    }
    // By its length alone.
    let length = rest.first_chunk::<LENGTH_BYTES>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    length + LENGTH_BYTES + TAG_BYTES >= rest.len()
}

fn nonce(record: u64) -> Nonce {
    let mut nonce = Nonce::default();
    nonce[..8].copy_from_slice(&record.to_le_bytes());
    nonce
}

fn seal(cipher: &ChaCha20Poly1305, record: u64, content: &[u8]) -> Result<Vec<u8>> {
    let length = u32::try_from(content.len()).map_err(|_| Error::Input("a list of more than 4 GiB".into()))?;
    let mut sealed = Vec::with_capacity(LENGTH_BYTES + content.len() + TAG_BYTES);
    sealed.extend(length.to_le_bytes());
    sealed.extend_from_slice(content);
    let tag = cipher.encrypt_inout_detached(&nonce(record), &[], (&mut sealed[LENGTH_BYTES..]).into());
    let tag = tag.map_err(|_| Error::Internal("a record cannot be sealed".into()))?;
    sealed.extend_from_slice(&tag);
    Ok(sealed)
}

fn open(cipher: &ChaCha20Poly1305, record: u64, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (content, tag) = sealed.split_at(sealed.len() - TAG_BYTES);
    let mut content = Zeroizing::new(content.to_vec());
    let tag = Tag::try_from(tag).ok()?;
    cipher.decrypt_inout_detached(&nonce(record), &[], content.as_mut_slice().into(), &tag).ok()?;
    Some(content)
}

fn cannot_write(path: PathBuf, error: &std::io::Error) -> Error {
    Error::Input(format!("{}: cannot be written: {error}: make room, or mend what is wrong there", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key::new(Zeroizing::new([byte; 32]))
    }

    fn read(folder: &Folder, key: &Key) -> Result<Vec<Vec<u8>>> {
        let kept = Journal::read(folder, "j", key)?.unwrap();
        Ok([kept.state].into_iter().chain(kept.changes).map(|record| record.to_vec()).collect())
    }

    #[test]
    fn what_is_written_comes_back_and_what_was_cut_off_is_left_out() {
        let home = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::open(home.path()).unwrap());
        assert!(Journal::read(&folder, "j", &key(1)).unwrap().is_none());
        let mut journal = Journal::begin(&folder, "j", &key(1), b"state").unwrap();
        journal.append(b"one").unwrap();
        let until_one = journal.bytes();
        journal.append(b"second").unwrap();
        assert_eq!(read(&folder, &key(1)).unwrap(), [&b"state"[..], b"one", b"second"]);
        let whole = std::fs::read(folder.at("j")).unwrap();
        assert_eq!(whole.len() as u64, journal.bytes());
        assert!(!whole.windows(6).any(|part| part == b"second"));
        for length in until_one as usize..whole.len() {
            std::fs::write(folder.at("j"), &whole[..length]).unwrap();
            assert_eq!(read(&folder, &key(1)).unwrap(), [&b"state"[..], b"one"], "{length}");
        }
        // Of the last record, all bytes are there, and are not what was written.
        let mut last = whole.clone();
        last[whole.len() - 1] ^= 1;
        std::fs::write(folder.at("j"), &last).unwrap();
        assert_eq!(read(&folder, &key(1)).unwrap().len(), 2);
        for position in 0..until_one as usize {
            let mut changed = whole.clone();
            changed[position] ^= 0x80;
            std::fs::write(folder.at("j"), &changed).unwrap();
            // What was written down behind it shows that this is not what a crash has left.
            assert!(read(&folder, &key(1)).unwrap_err().to_string().contains("damaged"), "{position}");
        }
        // What is behind a record that is not what was written is not left out without a word.
        for position in [HEADER_BYTES + LENGTH_BYTES, until_one as usize - 1] {
            let mut changed = whole.clone();
            changed[position] ^= 1;
            std::fs::write(folder.at("j"), &changed).unwrap();
            assert!(read(&folder, &key(1)).unwrap_err().to_string().contains("damaged"), "{position}");
        }
        // Nor is one record another one's, or this file's one of another name.
        let (first, one) = whole.split_at(until_one as usize);
        let state = HEADER_BYTES + LENGTH_BYTES + b"state".len() + TAG_BYTES;
        std::fs::write(folder.at("j"), [&first[..state], one, &first[state..]].concat()).unwrap();
        assert!(read(&folder, &key(1)).is_err());
        std::fs::write(folder.at("j"), &whole).unwrap();
        std::fs::write(folder.at("k"), &whole).unwrap();
        assert!(Journal::read(&folder, "k", &key(1)).is_err());
        assert!(read(&folder, &key(2)).unwrap_err().to_string().contains("damaged"));
        journal.begin_again(b"anew").unwrap();
        assert_eq!(read(&folder, &key(1)).unwrap(), [b"anew"]);
    }
}
