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
pub enum Kind {
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

impl Kind {
    const ALL: [(Kind, &str, &[&str]); 12] = [
        (Kind::Csv, "csv", &[".csv", ".txt", ".psv"]),
        (Kind::Tsv, "tsv", &[".tsv", ".tab"]),
        (Kind::Json, "json", &[".json", ".jsonl", ".ndjson"]),
        (Kind::Parquet, "parquet", &[".parquet"]),
        (Kind::Arrow, "arrow", &[".arrow", ".ipc", ".feather"]),
        (Kind::Sheet, "xlsx", &[".xlsx", ".xlsm"]),
        (Kind::Table, "table", &[]),
        (Kind::Listed(Listing::List), "list", &[]),
        (Kind::Listed(Listing::Netset), "netset", &[]),
        (Kind::Listed(Listing::Ipset), "ipset", &[]),
        (Kind::Listed(Listing::Hosts), "hosts", &[]),
        (Kind::Listed(Listing::Zeek), "zeek", &[]),
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        Kind::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// Returns the kind of input in an aggregation, where a file is a table or a list.
    pub fn listing(self) -> Listing {
        match self {
            Kind::Listed(listing) => listing,
            _ => Listing::Table,
        }
    }

    /// The kind that an ending stands for, with the way in which the file is packed.
    pub(super) fn of(ending: &str) -> Option<(Kind, Packing)> {
        let (inner, packing) = Packing::of(ending);
        let (kind, ..) = Kind::ALL.into_iter().find(|(.., endings)| endings.contains(&inner))?;
        // Typed files are packed inside.
        (matches!(packing, Packing::None | Packing::Zip) || !kind.is_typed()).then_some((kind, packing))
    }

    /// Whether it is no text, and is read from places all over the file.
    pub(super) fn is_typed(self) -> bool {
        matches!(self, Kind::Parquet | Kind::Arrow | Kind::Sheet)
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(word: &str) -> Result<Kind> {
        let found = Kind::ALL.into_iter().find(|(_, name, _)| *name == word);
        found.map(|(kind, ..)| kind).ok_or_else(|| {
            let names = Kind::ALL.map(|(_, name, _)| name).join(", ");
            Error::Input(format!("format = {word:?}: use one of {names}"))
        })
    }
}

/// The way in which a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// File without any packing.
    None,
    /// File packed by gzip.
    Gzip,
    /// Compression with Zstandard.
    Zstandard,
    /// Sole member of a ZIP archive.
    Zip,
}

impl Packing {
    /// Splits a file ending into the ending without its compression suffix and the packing that the suffix names.
    pub(in crate::table) fn of(ending: &str) -> (&str, Packing) {
        for (suffix, packing) in [(".gz", Packing::Gzip), (".zst", Packing::Zstandard), (".zip", Packing::Zip)] {
            if let Some(inner) = ending.strip_suffix(suffix) {
                return (inner, packing);
            }
        }
        (ending, Packing::None)
    }

    /// Returns the name of the compression, if there is one.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Packing::None => None,
            Packing::Gzip => Some("gzip"),
            Packing::Zstandard => Some("zstd"),
            Packing::Zip => Some("zip"),
        }
    }

    /// Opens the uncompressed content of a file that is packed in this way.
    ///
    /// Errors: it is not.
    pub(in crate::table) fn unpack(self, file: File, name: &str) -> Result<Box<dyn Read + Send>> {
        if self == Packing::Zip {
            return Member::of(&file, name)?.unpack(file, name);
        }
        let mut packed = BufReader::with_capacity(1 << 16, file);
        let magic: &[u8] = match self {
            Packing::None | Packing::Zip => &[],
            Packing::Gzip => &GZIP,
            Packing::Zstandard => &ZSTANDARD,
        };
        let head = packed.fill_buf().map_err(|error| unreadable(name, error))?;
        match self {
            _ if head.is_empty() => Ok(Box::new(packed)),
            Packing::None | Packing::Zip => Ok(Box::new(packed)),
            _ if !head.starts_with(magic) => {
                let (word, suffix) = if self == Packing::Gzip { ("gzip", ".gz") } else { ("zstd", ".zst") };
                Err(Error::Input(format!(
                    "{name}: is not compressed with {word}, as {suffix} says: take {suffix} off its name"
                )))
            }
            Packing::Gzip => Ok(Box::new(Gunzip::new(packed))),
            Packing::Zstandard => {
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
