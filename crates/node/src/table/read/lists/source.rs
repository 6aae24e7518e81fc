//! Lines of a list as rows of a table.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use tacita_core::{Error, Result};

use super::network::Network;
use super::zeek::Log;
use super::{ListOptions, Listing, WantedColumn};
use crate::base::text::count;
use crate::table::read::{Source, unreadable};
use crate::table::{BATCH_ROWS, Lines, schema_of};

/// The longest line, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// A list that is being read.
pub(super) struct Lists {
    name: String,
    input: BufReader<Box<dyn Read + Send>>,
    /// The last line read, and its number.
    line: Vec<u8>,
    number: u64,
    form: Form,
    schema: SchemaRef,
    columns: Vec<StringBuilder>,
    /// Rows of the batch, and of all before.
    rows: usize,
    before: usize,
    lines: Lines,
    /// A network that is not yet expanded to its end.
    pending: Option<Network>,
    expanded: u128,
    expand: u64,
    read: u64,
    /// Bytes of the batch's values, and about how many they may be.
    bytes: usize,
    most_bytes: usize,
}

enum Form {
    Keys,
    Netset,
    Ipset,
    Log(Log),
}

impl Lists {
    /// Of text that messages call `name`.
    pub fn new(
        input: Box<dyn Read + Send>,
        name: &str,
        listing: Listing,
        lists: &ListOptions,
        most_bytes: usize,
    ) -> Result<Lists> {
        let form = match listing {
            Listing::Zeek => Form::Log(Log::new(&lists.columns)),
            _ if lists.columns.len() > 1 => return Err(more_than_keys(name, listing, &lists.columns)),
            Listing::Ipset => Form::Ipset,
            Listing::Netset => Form::Netset,
            Listing::List | Listing::Table => Form::Keys,
        };
        let fields = lists.columns.iter().map(|column| Field::new(&column.header, DataType::Utf8, true)).collect();
        Ok(Lists {
            name: name.to_owned(),
            input: BufReader::with_capacity(1 << 16, input),
            line: Vec::new(),
            number: 0,
            form,
            schema: schema_of(fields),
            columns: lists.columns.iter().map(|_| StringBuilder::new()).collect(),
            rows: 0,
            before: 0,
            lines: Lines::default(),
            pending: None,
            expanded: 0,
            expand: lists.expand,
            read: 0,
            bytes: 0,
            most_bytes,
        })
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Reads the next line into `line`, without its end; false at the end of the text.
    fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        let mut limited = (&mut self.input).take(MAX_LINE_BYTES);
        let length = limited.read_until(b'\n', &mut self.line).map_err(|error| unreadable(&self.name, error))?;
        self.read += length as u64;
        self.number += 1;
        if length as u64 == MAX_LINE_BYTES && !self.line.ends_with(b"\n") {
            return self.wrong("is longer than a line may be (1 MiB): is it a list?");
        }
        while self.line.ends_with(b"\n") || self.line.ends_with(b"\r") {
            self.line.pop();
        }
        Ok(length > 0)
    }

    fn wrong<T>(&self, what: impl std::fmt::Display) -> Result<T> {
        Err(Error::Input(format!("{}, line {}: {what}", self.name, self.number)))
    }

    /// Appends a row of these values.
    fn push(&mut self, values: &[Option<&str>]) {
        self.bytes += values.iter().flatten().map(|value| value.len()).sum::<usize>();
        self.columns.iter_mut().zip(values).for_each(|(column, value)| column.append_option(*value));
        self.lines.note(self.before + self.rows, self.number);
        self.rows += 1;
    }

    /// Takes the line: as one row, as none, or as a network with many.
    fn take_line(&mut self) -> Result<()> {
        let line = std::mem::take(&mut self.line);
        let text =
            std::str::from_utf8(&line).or_else(|_| self.wrong("is not UTF-8; name its encoding with --encoding"))?;
        let taken = match &mut self.form {
            Form::Log(log) => match log.line(text) {
                Ok(Some(values)) => {
                    let values: Vec<Option<&str>> = values.iter().map(Option::as_deref).collect();
                    self.push(&values);
                    Ok(())
                }
                Ok(None) => Ok(()),
                Err(what) => self.wrong(what),
            },
            Form::Keys => {
                if let Some(key) = without_comment(text, &['#']) {
                    self.push(&[Some(key)]);
                }
                Ok(())
            }
            Form::Netset => match without_comment(text, &['#', ';']).and_then(|text| text.split_whitespace().next()) {
                Some(word) => self.take_network(word.trim_end_matches(';')),
                None => Ok(()),
            },
            Form::Ipset => match entry(text) {
                Ok(Some(word)) => self.take_network(word),
                Ok(None) => Ok(()),
                Err(what) => self.wrong(what),
            },
        };
        self.line = line;
        taken
    }

    /// Takes an address, or a network; other words stand as they are, for the reader to count.
    fn take_network(&mut self, word: &str) -> Result<()> {
        let Some(network) = Network::parse(word).filter(|network| network.len() > 1) else {
            // The length behind a slash says that it is one address.
            let address = word.split_once('/').filter(|_| Network::parse(word).is_some());
            self.push(&[Some(address.map_or(word, |(address, _)| address))]);
            return Ok(());
        };
        self.expanded = self.expanded.saturating_add(network.len());
        if self.expanded > u128::from(self.expand) {
            return self.wrong(format!(
                "networks up to here have {} addresses, and {} may be: allow more with expand = N in [parties.X] of the job file, or \
                 --expand N",
                u64::try_from(self.expanded).map_or("more than 2^64".into(), count),
                count(self.expand)
            ));
        }
        self.pending = Some(network);
        Ok(())
    }
}

impl Source for Lists {
    fn next_batch(&mut self, _: u64) -> Result<Option<RecordBatch>> {
        while self.rows < BATCH_ROWS && self.bytes <= self.most_bytes {
            if let Some(address) = self.pending.as_mut().and_then(Iterator::next) {
                self.push(&[Some(&address.to_string())]);
                continue;
            }
            self.pending = None;
            if !self.advance()? {
                break;
            }
            self.take_line()?;
        }
        if self.rows == 0 {
            return Ok(None);
        }
        self.before += std::mem::take(&mut self.rows);
        self.bytes = 0;
        let columns: Vec<ArrayRef> =
            self.columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef).collect();
        RecordBatch::try_new(self.schema.clone(), columns)
            .map(Some)
            .map_err(|error| Error::Internal(format!("a list does not make a table: {error}")))
    }

    fn lines(&mut self) -> Option<&mut Lines> {
        Some(&mut self.lines)
    }

    fn done(&self) -> u64 {
        self.read
    }
}

/// The line up to a comment, which one of these letters begins at the beginning of a word, without blanks around it; none if nothing
/// is left.
fn without_comment<'a>(line: &'a str, letters: &[char]) -> Option<&'a str> {
    let begins = |(at, letter): (usize, char)| {
        letters.contains(&letter) && line[..at].chars().next_back().is_none_or(char::is_whitespace)
    };
    let end = line.char_indices().find(|found| begins(*found)).map_or(line.len(), |(at, _)| at);
    let text = line[..end].trim().trim_start_matches('\u{FEFF}');
    (!text.is_empty()).then_some(text)
}

/// The address or network of an entry of `ipset save`, without its port.
fn entry(line: &str) -> std::result::Result<Option<&str>, &'static str> {
    let mut words = line.split_whitespace();
    match words.next() {
        None => Ok(None),
        Some(word) if word.starts_with('#') => Ok(None),
        Some("create" | "flush" | "COMMIT" | "commit") => Ok(None),
        Some("add") => {
            let (Some(_), Some(entry)) = (words.next(), words.next()) else {
                return Err("an entry is `add SET ADDRESS`, as `ipset save` writes it");
            };
            match words.any(|word| word == "nomatch") {
                true => Err("is an exception (nomatch), which a list of keys has not: take it out of the set"),
                false => Ok(entry.split(',').next()),
            }
        }
        Some(_) => Err("is no line of `ipset save`, which begin with create or add"),
    }
}

fn more_than_keys(name: &str, listing: Listing, columns: &[WantedColumn]) -> Error {
    let names: Vec<_> = columns.iter().map(|column| format!("{:?}", column.header)).collect();
    Error::Input(format!(
        "{name}: a {} has a key on each line and nothing else, and {} are wanted: bring a table",
        listing.shown(),
        names.join(", ")
    ))
}
