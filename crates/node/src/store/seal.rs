//! Sealed files: what a run or a prepared part keeps on disk, of no use to anybody without its key.
//!
//! A header, and records, each with its length before it. A record is sealed by ChaCha20-Poly1305 under the file's own
//! key with its place as nonce; the place of the last one, which is empty, is marked, so that a file that was cut off
//! does not pass for a whole one (the STREAM construction: Hoang, Reyhanitabar, Rogaway & Vizár, "Online
//! Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance", CRYPTO 2015). The file's key depends on its purpose
//! and on a random name, so that one file cannot stand in for another, and no nonce comes twice.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use crate::base::folder::Folder;
use crate::base::random::fill_random;

const MAGIC: &[u8; 8] = b"tacwork1";

/// Bytes of a file's random name.
pub const ID_BYTES: usize = 16;

const HEADER_BYTES: u64 = (MAGIC.len() + ID_BYTES) as u64;
const LENGTH_BYTES: usize = 4;
const TAG_BYTES: usize = 16;

const BUFFER_BYTES: usize = 1 << 16;

/// The key of a run's files, or of a prepared part's.
pub struct SealKey(Zeroizing<[u8; 32]>);

/// A file that is being written.
pub struct SealedWriter {
    path: PathBuf,
    file: BufWriter<File>,
    cipher: ChaCha20Poly1305,
    id: [u8; ID_BYTES],
    records: u64,
    /// Offset of the next record.
    end: u64,
    advice: String,
}

/// A file that is being read from its beginning.
pub struct SealedReader {
    path: PathBuf,
    file: BufReader<File>,
    cipher: ChaCha20Poly1305,
    id: [u8; ID_BYTES],
    records: u64,
    left: u64,
    /// The last record has been read.
    ended: bool,
}

/// A file that this process has written.
pub struct Readable {
    path: PathBuf,
    file: File,
    cipher: ChaCha20Poly1305,
}

/// Place of a record in its file.
#[derive(Clone, Copy)]
pub struct RecordOffset {
    record: u64,
    at: u64,
    length: u32,
}

impl RecordOffset {
    /// The place of record number `record`, which has `length` bytes, in a file whose records before it have `each`.
    pub fn of(record: u64, each: u32, length: u32) -> RecordOffset {
        let one = LENGTH_BYTES as u64 + u64::from(each) + TAG_BYTES as u64;
        RecordOffset { record, at: HEADER_BYTES + record * one, length }
    }
}

impl SealKey {
    /// A key that was derived from a secret.
    pub fn new(key: Zeroizing<[u8; 32]>) -> SealKey {
        SealKey(key)
    }

    fn cipher(&self, purpose: &str, id: &[u8; ID_BYTES]) -> ChaCha20Poly1305 {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 work file");
        hasher.update(&*self.0).update(id).update(purpose.as_bytes());
        ChaCha20Poly1305::new((&*Zeroizing::new(*hasher.finalize().as_bytes())).into())
    }
}

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

fn nonce(record: u64, last: bool) -> Nonce {
    let mut nonce = Nonce::default();
    nonce[..8].copy_from_slice(&record.to_le_bytes());
    nonce[8] = u8::from(last);
    nonce
}

impl SealedWriter {
    /// Begins a file of this name, in place of one that is there. `advice` says what to do if the disk is full.
    pub fn create(folder: &Folder, name: &str, key: &SealKey, purpose: &str, advice: String) -> Result<SealedWriter> {
        let path = folder.at(name);
        let file = folder.create(name).map_err(|error| cannot_write(&path, &error, &advice))?;
        SealedWriter::over(file, path, key, purpose, advice)
    }

    fn over(file: File, path: PathBuf, key: &SealKey, purpose: &str, advice: String) -> Result<SealedWriter> {
        let mut id = [0; ID_BYTES];
        fill_random(&mut id)?;
        let mut writer = SealedWriter {
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            cipher: key.cipher(purpose, &id),
            id,
            records: 0,
            end: 0,
            path,
            advice,
        };
        writer.put(MAGIC)?;
        writer.put(&id)?;
        Ok(writer)
    }

    /// Seals a record that comes next.
    pub fn write(&mut self, record: Vec<u8>) -> Result<RecordOffset> {
        self.seal(record, false)
    }

    /// Ends the file; on disk before this returns. Returns its name, and its length in bytes.
    pub fn finish(mut self) -> Result<([u8; ID_BYTES], u64)> {
        self.close()?;
        self.file.get_ref().sync_all().map_err(|error| cannot_write(&self.path, &error, &self.advice))?;
        Ok((self.id, self.end))
    }

    /// Finishes the file like [`SealedWriter::finish`], for a file that nobody misses after a crash.
    pub fn end(mut self) -> Result<u64> {
        self.close()?;
        Ok(self.end)
    }

    fn close(&mut self) -> Result<()> {
        self.seal(Vec::new(), true)?;
        self.file.flush().map_err(|error| cannot_write(&self.path, &error, &self.advice))
    }

    /// Ends the writing of a file whose records are read at their places, and that nobody misses after a crash.
    pub fn readable(mut self) -> Result<Readable> {
        self.close()?;
        let failed = |error: std::io::Error| cannot_write(&self.path, &error, &self.advice);
        let file = self.file.get_ref().try_clone().map_err(failed)?;
        Ok(Readable { path: self.path, file, cipher: self.cipher })
    }

    fn seal(&mut self, mut record: Vec<u8>, last: bool) -> Result<RecordOffset> {
        let length = u32::try_from(record.len())
            .map_err(|_| Error::Input(format!("{}: a row does not fit 4 GiB", self.path.display())))?;
        let place = RecordOffset { record: self.records, at: self.end, length };
        let tag = self.cipher.encrypt_inout_detached(&nonce(self.records, last), &[], record.as_mut_slice().into());
        let tag = tag.map_err(|_| Error::Internal("a record cannot be sealed".into()))?;
        self.put(&length.to_le_bytes())?;
        self.put(&record)?;
        self.put(&tag)?;
        self.records += 1;
        Ok(place)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.end += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|error| cannot_write(&self.path, &error, &self.advice))
    }
}

impl Readable {
    /// The record at a place.
    pub fn read(&self, place: RecordOffset) -> Result<Zeroizing<Vec<u8>>> {
        let mut record = Zeroizing::new(vec![0; place.length as usize + TAG_BYTES]);
        let read = self.file.read_exact_at(&mut record, place.at + LENGTH_BYTES as u64);
        read.map_err(|error| cannot_read(&self.path, &error))?;
        open(&self.cipher, nonce(place.record, false), &mut record).ok_or_else(|| damaged(&self.path))?;
        Ok(record)
    }
}

impl SealedReader {
    /// Opens a file of this name and purpose.
    pub fn open(folder: &Folder, name: &str, key: &SealKey, purpose: &str) -> Result<SealedReader> {
        let path = folder.at(name);
        let mut file = folder.read(name).map_err(|error| cannot_read(&path, &error))?;
        let length = file.seek(SeekFrom::End(0)).map_err(|error| cannot_read(&path, &error))?;
        file.rewind().map_err(|error| cannot_read(&path, &error))?;
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
        let (mut magic, mut id) = ([0; MAGIC.len()], [0; ID_BYTES]);
        file.read_exact(&mut magic).and_then(|()| file.read_exact(&mut id)).map_err(|_| damaged(&path))?;
        if magic != *MAGIC {
            return Err(damaged(&path));
        }
        let cipher = key.cipher(purpose, &id);
        Ok(SealedReader { file, cipher, id, records: 0, left: length - HEADER_BYTES, ended: false, path })
    }

    /// The file's random name.
    pub fn id(&self) -> [u8; ID_BYTES] {
        self.id
    }

    /// The next record; none at the end.
    pub fn read_next(&mut self) -> Result<Option<Zeroizing<Vec<u8>>>> {
        if self.ended {
            return Ok(None);
        }
        let mut length = [0; LENGTH_BYTES];
        self.take(&mut length)?;
        let length = u32::from_le_bytes(length) as u64 + TAG_BYTES as u64;
        // What a damaged length claims takes no memory.
        if length > self.left {
            return Err(damaged(&self.path));
        }
        let mut record = Zeroizing::new(vec![0; length as usize]);
        self.take(&mut record)?;
        let last = self.left == 0;
        self.ended = last;
        open(&self.cipher, nonce(self.records, last), &mut record).ok_or_else(|| damaged(&self.path))?;
        self.records += 1;
        Ok((!last).then_some(record))
    }

    /// The only record of a file.
    pub fn only(mut self) -> Result<Zeroizing<Vec<u8>>> {
        match (self.read_next()?, self.read_next()?) {
            (Some(record), None) => Ok(record),
            _ => Err(damaged(&self.path)),
        }
    }

    fn take(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| damaged(&self.path))?;
        self.file.read_exact(bytes).map_err(|error| cannot_read(&self.path, &error))
    }
}

/// Writes a file with one record, whole or not at all, and on disk before this returns. Returns the file's random name.
pub fn put(
    folder: &Folder,
    name: &str,
    key: &SealKey,
    purpose: &str,
    record: Vec<u8>,
    advice: String,
) -> Result<[u8; ID_BYTES]> {
    let part = part(name);
    let mut writer = SealedWriter::create(folder, &part, key, purpose, advice.clone())?;
    writer.write(record)?;
    let (id, _) = writer.finish()?;
    folder.rename(&part, name).map_err(|error| cannot_write(&folder.at(name), &error, &advice))?;
    Ok(id)
}

/// The name of a file that is not whole yet.
pub fn part(name: &str) -> String {
    format!("{name}.part")
}

/// Opens a record with its tag; what is left is the contents.
fn open(cipher: &ChaCha20Poly1305, nonce: Nonce, record: &mut Vec<u8>) -> Option<()> {
    let contents = record.len().checked_sub(TAG_BYTES)?;
    let tag = Tag::try_from(&record[contents..]).ok()?;
    record.truncate(contents);
    cipher.decrypt_inout_detached(&nonce, &[], record.as_mut_slice().into(), &tag).ok()
}

/// A file of a run that is not as it was written.
pub fn damaged(path: &Path) -> Error {
    let directory = path.parent().unwrap_or(path).display();
    Error::Input(format!("{}: damaged: remove {directory} and start the run anew", path.display()))
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Error {
    Error::Input(format!("{}: cannot be read: {error}", path.display()))
}

/// Returns the error that nothing more can be written; `advice` says how to go on.
pub fn cannot_write(path: &Path, error: &std::io::Error, advice: &str) -> Error {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => {
            Error::Input(format!("{}: the disk is full, or the file may not grow ({error}): {advice}", path.display()))
        }
        _ => Error::Input(format!("{}: cannot be written: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SealKey {
        SealKey::new(Zeroizing::new([byte; 32]))
    }

    fn write(folder: &Folder, records: &[&[u8]]) -> Vec<u8> {
        let mut writer = SealedWriter::create(folder, "file", &key(1), "test", String::new()).unwrap();
        let places: Vec<_> = records.iter().map(|record| writer.write(record.to_vec()).unwrap()).collect();
        let file = writer.readable().unwrap();
        for (place, record) in places.iter().zip(records) {
            assert_eq!(**file.read(*place).unwrap(), **record);
        }
        let each = records[0].len() as u32;
        for (number, record) in records
            .iter()
            .enumerate()
            .take_while(|(number, _)| records[..*number].iter().all(|one| one.len() == each as usize))
        {
            let place = RecordOffset::of(number as u64, each, record.len() as u32);
            assert_eq!(**file.read(place).unwrap(), **record);
        }
        std::fs::read(folder.at("file")).unwrap()
    }

    fn read(folder: &Folder, key: &SealKey, purpose: &str) -> Result<Vec<Vec<u8>>> {
        let mut reader = SealedReader::open(folder, "file", key, purpose)?;
        let mut records = Vec::new();
        while let Some(record) = reader.read_next()? {
            records.push(record.to_vec());
        }
        Ok(records)
    }

    #[test]
    fn records_come_back_and_nothing_else_passes() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path()).unwrap();
        let path = folder.at("file");
        let whole = write(&folder, &[b"one", b"", b"three"]);
        assert_eq!(read(&folder, &key(1), "test").unwrap(), [&b"one"[..], b"", b"three"]);
        assert!(!whole.windows(5).any(|part| part == b"three"));
        let refused = |result: Result<Vec<Vec<u8>>>| {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("damaged") && error.contains("start the run anew"), "{error}");
        };
        refused(read(&folder, &key(2), "test"));
        refused(read(&folder, &key(1), "other"));
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            refused(read(&folder, &key(1), "test"));
        }
        for position in 0..whole.len() {
            let mut changed = whole.clone();
            changed[position] ^= 0x80;
            std::fs::write(&path, changed).unwrap();
            refused(read(&folder, &key(1), "test"));
        }
        std::fs::write(&path, [&whole[..], b"more"].concat()).unwrap();
        refused(read(&folder, &key(1), "test"));
        // A record taken out.
        let first = HEADER_BYTES as usize + LENGTH_BYTES + TAG_BYTES + 3;
        std::fs::write(&path, [&whole[..HEADER_BYTES as usize], &whole[first..]].concat()).unwrap();
        refused(read(&folder, &key(1), "test"));
    }

    #[test]
    fn a_full_disk_is_told() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let writer = SealedWriter::over(full, "/dev/full".into(), &key(1), "test", "make room".into()).unwrap();
        let error = writer.finish().unwrap_err().to_string();
        assert!(error.starts_with("/dev/full: the disk is full") && error.ends_with("): make room"), "{error}");
    }
}
