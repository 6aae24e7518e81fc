//! Lists of keys that are no tables: addresses line by line, sets of a firewall, logs of Zeek.
//!
//! A list is read as a table whose columns are those that its reader wants. `docs/guides/aggregate.md` has the rules.

mod detect;
mod entry;
mod network;
mod source;
mod zeek;

use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use tacita_core::{Error, Result};

use super::{
    Compression, FileForm, FileKind, Hint, ReadOptions, STANDARD_INPUT, Stream, encoding, open_file, refuse_sheet,
    told_ending,
};
use source::Lists;

/// Into how many addresses the networks of an input are expanded at most, if nothing else is said.
pub const USUAL_EXPANSION: u64 = 1 << 16;

/// Number of bytes at the beginning of a file that are examined to determine its kind.
const HEAD_BYTES: usize = 1 << 16;

/// Kind of a file of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// A table with a header.
    Table,
    /// A key on each line, as it is; `#` at the beginning of a word begins a comment.
    List,
    /// Addresses, and networks of them, one on each line; `#` or `;` begins a comment.
    Netset,
    /// Output of `ipset save`.
    Ipset,
    /// A hosts file: on each line an address, and names, which are the keys.
    Hosts,
    /// A log of Zeek, as `conn.log`: tab-separated or JSON.
    Zeek,
}

/// A column that a list is read for.
#[derive(Debug, Clone)]
pub struct WantedColumn {
    /// Name of the column in the table that is read, and in a log.
    pub header: String,
    /// The reader has said so, and not only taken the job's name for it.
    pub mapped: bool,
}

/// Options for reading a list.
#[derive(Debug, Clone)]
pub struct ListOptions {
    /// Kind of the file; determined by its content if absent.
    pub listing: Option<Listing>,
    /// Into how many addresses networks are expanded at most, all together.
    pub expand: u64,
    /// The columns that are wanted: of a list of keys, the key.
    pub columns: Vec<WantedColumn>,
}

impl Listing {
    const ALL: [Listing; 6] =
        [Listing::Table, Listing::List, Listing::Netset, Listing::Ipset, Listing::Hosts, Listing::Zeek];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Listing::Table => "table",
            Listing::List => "list",
            Listing::Netset => "netset",
            Listing::Ipset => "ipset",
            Listing::Hosts => "hosts",
            Listing::Zeek => "zeek",
        }
    }
}

impl FromStr for Listing {
    type Err = Error;

    fn from_str(word: &str) -> Result<Listing> {
        Listing::ALL.into_iter().find(|listing| listing.name() == word).ok_or_else(|| {
            let names = Listing::ALL.map(|listing| format!("\"{}\"", listing.name())).join(", ");
            Error::Input(format!("format = {word:?}: use one of {names}"))
        })
    }
}

/// Opens a table or a list of keys, as [`open`](super::open) does. The content determines the kind where that cannot be
/// wrong. Addresses have no header that is one; sets and logs begin as nothing else does.
///
/// Errors: as there; the file is neither, and nothing says what it is; more than the key is wanted of a list of keys.
pub fn open(path: &Path, lists: &ListOptions, options: &ReadOptions, batch_bytes: usize) -> Result<Stream> {
    let ending = told_ending(path)?;
    let told = FileKind::of(&ending).map(|(kind, _)| kind);
    if told.is_some_and(FileKind::is_typed) {
        return match lists.listing {
            None | Some(Listing::Table) => super::open(path, options, batch_bytes),
            Some(other) => Err(Error::Input(format!(
                "{}: is a table, and format = \"{}\" says otherwise: leave that out",
                path.display(),
                other.name()
            ))),
        };
    }
    let is_stdin = path.as_os_str() == "-";
    let name = if is_stdin { STANDARD_INPUT.to_owned() } else { path.display().to_string() };
    refuse_sheet(&name, told.unwrap_or(FileKind::Table), options)?;
    let (inner, packed) = Compression::of(&ending);
    let (input, units): (Box<dyn Read + Send>, Option<u64>) = if is_stdin {
        (Box::new(io::stdin()), None)
    } else {
        let file = open_file(path, &name)?;
        let units = file.metadata().ok().filter(|_| packed == Compression::None).map(|facts| facts.len());
        (packed.unpack(file, &name)?, units)
    };
    let mut stream = of_text(input, &name, inner, lists, options, batch_bytes)?;
    stream.form.packed = packed;
    // A list is not followed byte by byte.
    stream.units = units.filter(|_| stream.form.text.is_some());
    Ok(stream)
}

/// Opens a text, as [`open`] does. Messages call it `name`; it comes from a file with this ending.
fn of_text(
    mut input: Box<dyn Read + Send>,
    name: &str,
    ending: &str,
    lists: &ListOptions,
    options: &ReadOptions,
    batch_bytes: usize,
) -> Result<Stream> {
    let mut head = Vec::new();
    let unreadable = |error: io::Error| super::unreadable(name, error);
    (&mut input).take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(unreadable)?;
    let is_table = matches!(ending, ".csv" | ".txt" | ".tsv" | ".psv") || name == STANDARD_INPUT;
    let listing = match lists.listing {
        Some(listing) => listing,
        None => {
            let (encoding, mark) = encoding::of(&head, options.encoding, name)?;
            let text = encoding.decode(&head[mark..]);
            match detect::listing(&text, head.len() < HEAD_BYTES, &lists.columns) {
                // Nothing at all is an empty table where it may be one.
                Some(Listing::List) if is_table && text.trim().is_empty() => Listing::Table,
                told => told.unwrap_or(Listing::Table),
            }
        }
    };
    let input = io::Cursor::new(head).chain(input);
    if listing == Listing::Table {
        if !is_table && lists.listing.is_none() {
            return Err(Error::Input(format!(
                "{name}: its kind cannot be told from its content: set format = \"list\" (a key on each line), \"netset\", \
                 \"ipset\", \"hosts\", \"zeek\" or \"table\" in [parties.X] of the job file"
            )));
        }
        let hint = if ending.starts_with(".tsv") { Hint::Tab } else { Hint::None };
        return Stream::text(input, name, hint, options, batch_bytes);
    }
    let (input, ..) = super::text_of(input, name, options)?;
    let lists = Lists::new(Box::new(input), name, listing, lists, options.skip, batch_bytes)?;
    let schema = lists.schema();
    let form = FileForm { name: listing.shown(), packed: Compression::None, text: None, sheet: None };
    Ok(Stream::of(name, form, schema, Box::new(lists), None, options))
}

impl Listing {
    /// Returns the term that messages use for a file of this kind.
    fn shown(self) -> &'static str {
        match self {
            Listing::Table => "CSV",
            Listing::List => "list",
            Listing::Netset => "list of addresses",
            Listing::Ipset => "ipset",
            Listing::Hosts => "hosts file",
            Listing::Zeek => "Zeek log",
        }
    }
}

#[cfg(test)]
mod tests;
