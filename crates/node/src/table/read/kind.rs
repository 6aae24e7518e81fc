//! The kinds of files that tables are read from, and how they are packed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::str::FromStr;

use tacita_core::{Error, Result};

use super::gzip::{GZIP, Gunzip};
use super::zip::Member;
use super::{Listing, unreadable};

/// First bytes of a file that is packed by Zstandard.
const ZSTANDARD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Text, one record a line.
    Csv,
    /// The same; tab, if the header has one.
    Tsv,
    /// A JSON object on each line, or an array of them.
    Json,
    /// Format of Apache Parquet.
    Parquet,
    /// Format of Arrow IPC.
    Arrow,
    /// A sheet of an Office Open XML workbook.
    Sheet,
    /// Whichever of these the ending says.
    Table,
    /// A list of keys, which has one column and no header.
    Listed(Listing),
}

impl FileKind {
    const ALL: [(FileKind, &str, &[&str]); 12] = [
        (FileKind::Csv, "csv", &[".csv", ".txt", ".psv"]),
        (FileKind::Tsv, "tsv", &[".tsv", ".tab"]),
        (FileKind::Json, "json", &[".json", ".jsonl", ".ndjson"]),
        (FileKind::Parquet, "parquet", &[".parquet"]),
        (FileKind::Arrow, "arrow", &[".arrow", ".ipc", ".feather"]),
        (FileKind::Sheet, "xlsx", &[".xlsx", ".xlsm"]),
        (FileKind::Table, "table", &[]),
        (FileKind::Listed(Listing::List), "list", &[]),
        (FileKind::Listed(Listing::Netset), "netset", &[]),
        (FileKind::Listed(Listing::Ipset), "ipset", &[]),
        (FileKind::Listed(Listing::Hosts), "hosts", &[]),
        (FileKind::Listed(Listing::Zeek), "zeek", &[]),
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        FileKind::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// Returns the kind of input in an aggregation, where a file is a table or a list.
    pub fn listing(self) -> Listing {
        match self {
            FileKind::Listed(listing) => listing,
            _ => Listing::Table,
        }
    }

    /// The kind that an ending stands for, with the way in which the file is packed.
    pub(super) fn of(ending: &str) -> Option<(FileKind, Compression)> {
        let (inner, packing) = Compression::of(ending);
        let (kind, ..) = FileKind::ALL.into_iter().find(|(.., endings)| endings.contains(&inner))?;
        // Typed files are packed inside.
        (matches!(packing, Compression::None | Compression::Zip) || !kind.is_typed()).then_some((kind, packing))
    }

    /// Whether it is no text, and is read from places all over the file.
    pub(super) fn is_typed(self) -> bool {
        matches!(self, FileKind::Parquet | FileKind::Arrow | FileKind::Sheet)
    }
}

impl FromStr for FileKind {
    type Err = Error;

    fn from_str(word: &str) -> Result<FileKind> {
        let found = FileKind::ALL.into_iter().find(|(_, name, _)| *name == word);
        found.map(|(kind, ..)| kind).ok_or_else(|| {
            let names = FileKind::ALL.map(|(_, name, _)| name).join(", ");
            Error::Input(format!("format = {word:?}: use one of {names}"))
        })
    }
}

/// The way in which a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// File without any packing.
    None,
    /// File packed by gzip.
    Gzip,
    /// Compression in the format Zstandard.
    Zstandard,
    /// Sole member of a ZIP archive.
    Zip,
}

impl Compression {
    /// Splits a file ending into the ending without its compression suffix and the packing that the suffix names.
    pub(in crate::table) fn of(ending: &str) -> (&str, Compression) {
        for (suffix, packing) in
            [(".gz", Compression::Gzip), (".zst", Compression::Zstandard), (".zip", Compression::Zip)]
        {
            if let Some(inner) = ending.strip_suffix(suffix) {
                return (inner, packing);
            }
        }
        (ending, Compression::None)
    }

    /// Returns the name of the compression, if there is one.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Compression::None => None,
            Compression::Gzip => Some("gzip"),
            Compression::Zstandard => Some("zstd"),
            Compression::Zip => Some("zip"),
        }
    }

    /// Opens the uncompressed content of a file that is packed in this way.
    ///
    /// Errors: it is not.
    pub(in crate::table) fn unpack(self, file: File, name: &str) -> Result<Box<dyn Read + Send>> {
        if self == Compression::Zip {
            return Member::of(&file, name)?.unpack(file, name);
        }
        let mut packed = BufReader::with_capacity(1 << 16, file);
        let magic: &[u8] = match self {
            Compression::None | Compression::Zip => &[],
            Compression::Gzip => &GZIP,
            Compression::Zstandard => &ZSTANDARD,
        };
        let head = packed.fill_buf().map_err(|error| unreadable(name, error))?;
        match self {
            _ if head.is_empty() => Ok(Box::new(packed)),
            Compression::None | Compression::Zip => Ok(Box::new(packed)),
            _ if !head.starts_with(magic) => {
                let (word, suffix) = if self == Compression::Gzip { ("gzip", ".gz") } else { ("zstd", ".zst") };
                Err(Error::Input(format!(
                    "{name}: is not compressed with {word}, as {suffix} says: take {suffix} off its name"
                )))
            }
            Compression::Gzip => Ok(Box::new(Gunzip::new(packed))),
            Compression::Zstandard => {
                let unpacked = zstd::stream::read::Decoder::with_buffer(packed);
                Ok(Box::new(unpacked.map_err(|error| unreadable(name, error))?))
            }
        }
    }

    /// Detects packed text whose file name does not say so. Returns the word for the packing, and its file ending.
    pub(super) fn told_by(head: &[u8]) -> Option<(&'static str, &'static str)> {
        match head {
            _ if head.starts_with(&GZIP) => Some(("gzip", ".gz")),
            _ if head.starts_with(&ZSTANDARD) => Some(("zstd", ".zst")),
            _ => None,
        }
    }
}
