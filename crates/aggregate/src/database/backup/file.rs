//! The file: sealed records, each with a byte before it that says what it is.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::text::json;
use tacita_node::identity::Identity;
use tacita_node::store::seal::{self, SealKey, SealedReader, SealedWriter};
use zeroize::Zeroizing;

use crate::store::{OpenedReport, RowId, Stored};

/// The version of what is in it.
pub(super) const VERSION: u32 = 2;

/// Bytes of rows that are sealed, or put back, together: no more of a round is in memory.
pub(super) const BATCH_BYTES: usize = 1 << 20;

const PURPOSE: &str = "round backup";

const ID_BYTES: usize = 32;
const TAG_BYTES: usize = 32;
const VALUE_BYTES: usize = 4;
const LENGTH_BYTES: usize = 4;

const HEADER: u8 = 1;
const KEY: u8 = 2;
const RECORD: u8 = 3;
const RESULT: u8 = 4;
const ROWS: u8 = 5;
const END: u8 = 6;

/// Header of a backup: the round and the terms that it belongs to.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) version: u32,
    pub(super) round: String,
    /// The fingerprint of the terms, in hexadecimal.
    pub(super) agreement: String,
}

/// A record of a file.
pub(super) enum Part {
    Header(Header),
    /// The database's secret key of the round.
    Key(Zeroizing<Vec<u8>>),
    /// Record of the round.
    Record(Zeroizing<Vec<u8>>),
    /// The next part of its result.
    Result(Zeroizing<Vec<u8>>),
    Rows(Vec<OpenedReport>),
    /// Number of rows in the backup.
    End(u64),
}

/// A file that is being written: it has its name when it is whole.
pub(super) struct Saving {
    folder: Folder,
    name: String,
    writer: SealedWriter,
    rows: Vec<u8>,
    count: u64,
}

/// A file that is being read.
pub(super) struct Saved {
    path: PathBuf,
    reader: SealedReader,
}

/// Returns the length of a row in bytes.
pub(super) fn row_bytes(row: &OpenedReport) -> usize {
    ID_BYTES + TAG_BYTES + VALUE_BYTES + LENGTH_BYTES + row.stored.sealed.len()
}

impl Saving {
    pub(super) fn create(path: &Path, identity: &Identity) -> Result<Saving> {
        let (folder, name) = place(path)?;
        if folder.has(&name) {
            return Err(Error::Input(format!(
                "{}: already exists, and is not overwritten: name another file",
                path.display()
            )));
        }
        let advice = "make room, or name a file elsewhere".to_owned();
        let writer = SealedWriter::create(&folder, &seal::part(&name), &key(identity), PURPOSE, advice)?;
        Ok(Saving { folder, name, writer, rows: vec![ROWS], count: 0 })
    }

    pub(super) fn header(&mut self, header: &Header) -> Result<()> {
        let header = json(serde_json::to_vec(header))?;
        self.put(HEADER, &header)
    }

    pub(super) fn key(&mut self, key: &[u8]) -> Result<()> {
        self.put(KEY, key)
    }

    pub(super) fn record(&mut self, record: &[u8]) -> Result<()> {
        self.put(RECORD, record)
    }

    pub(super) fn result(&mut self, part: &[u8]) -> Result<()> {
        self.put(RESULT, part)
    }

    pub(super) fn row(&mut self, row: &OpenedReport) -> Result<()> {
        let OpenedReport { id, stored: Stored { tag, value, sealed } } = row;
        let length = u32::try_from(sealed.len()).map_err(|_| Error::Internal("a row of 4 GiB".into()))?;
        self.rows.extend_from_slice(id);
        self.rows.extend_from_slice(tag);
        self.rows.extend_from_slice(&value.to_le_bytes());
        self.rows.extend_from_slice(&length.to_le_bytes());
        self.rows.extend_from_slice(sealed);
        self.count += 1;
        if self.rows.len() > BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Gives the file its name; on disk before this returns. Returns the number of rows.
    pub(super) fn finish(mut self) -> Result<u64> {
        self.flush()?;
        self.put(END, &self.count.to_le_bytes())?;
        let Saving { folder, name, writer, count, .. } = self;
        writer.finish()?;
        let failed = |error: std::io::Error| Error::Input(format!("{}: {error}", folder.at(&name).display()));
        folder.rename(&seal::part(&name), &name).map_err(failed)?;
        Ok(count)
    }

    /// Removes what has been written.
    pub(super) fn abandon(self) {
        let _ = self.folder.remove(&seal::part(&self.name));
    }

    fn flush(&mut self) -> Result<()> {
        let rows = std::mem::replace(&mut self.rows, vec![ROWS]);
        match rows.len() {
            1 => Ok(()),
            _ => self.writer.write(rows).map(drop),
        }
    }

    fn put(&mut self, kind: u8, bytes: &[u8]) -> Result<()> {
        // What is sealed in place is not left in memory in the clear.
        self.writer.write([&[kind], bytes].concat()).map(drop)
    }
}

impl Saved {
    pub(super) fn open(path: &Path, identity: &Identity) -> Result<Saved> {
        let (folder, name) = place(path)?;
        if !folder.has(&name) {
            return Err(Error::Input(format!("{}: no such file", path.display())));
        }
        let reader = SealedReader::open(&folder, &name, &key(identity), PURPOSE);
        Ok(Saved { path: path.to_owned(), reader: reader.map_err(|_| damaged(path))? })
    }

    /// The file's random name.
    pub(super) fn id(&self) -> [u8; seal::ID_BYTES] {
        self.reader.id()
    }

    /// The next record; none at the end of the whole file.
    pub(super) fn read_next(&mut self) -> Result<Option<Part>> {
        let Some(record) = self.reader.read_next().map_err(|_| self.damaged())? else { return Ok(None) };
        let (kind, bytes) = record.split_first().ok_or_else(|| self.damaged())?;
        let own = || Zeroizing::new(bytes.to_vec());
        let part = match *kind {
            HEADER => serde_json::from_slice(bytes).ok().map(Part::Header),
            KEY => Some(Part::Key(own())),
            RECORD => Some(Part::Record(own())),
            RESULT => Some(Part::Result(own())),
            ROWS => rows(bytes).map(Part::Rows),
            END => bytes.try_into().ok().map(|count| Part::End(u64::from_le_bytes(count))),
            _ => None,
        };
        part.map(Some).ok_or_else(|| self.damaged())
    }

    pub(super) fn damaged(&self) -> Error {
        damaged(&self.path)
    }
}

fn damaged(path: &Path) -> Error {
    Error::Input(format!(
        "{}: not a complete backup of a round under this identity: it is damaged, cut off, or another database's",
        path.display()
    ))
}

fn rows(mut bytes: &[u8]) -> Option<Vec<OpenedReport>> {
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        let (id, rest) = bytes.split_first_chunk::<ID_BYTES>()?;
        let (tag, rest) = rest.split_first_chunk::<TAG_BYTES>()?;
        let (value, rest) = rest.split_first_chunk::<VALUE_BYTES>()?;
        let (length, rest) = rest.split_first_chunk::<LENGTH_BYTES>()?;
        let (sealed, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let stored = Stored { tag: *tag, value: u32::from_le_bytes(*value), sealed: sealed.to_vec() };
        rows.push(OpenedReport { id: RowId::from(*id), stored });
        bytes = rest;
    }
    Some(rows)
}

fn key(identity: &Identity) -> SealKey {
    SealKey::new(identity.derive("round backup", b""))
}

/// The directory of a file, which others may not write to, and its name there.
fn place(path: &Path) -> Result<(Folder, String)> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Error::Input(format!("{}: names no file", path.display())))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((Folder::open(parent)?, name.to_owned()))
}
