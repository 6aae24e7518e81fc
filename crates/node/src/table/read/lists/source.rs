//! Lines of a list as rows of a table.

use std::io::Read;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use tacita_core::{Error, Result};

use super::detect::names_columns;
use super::entry::{self, Entry};
use super::network::Network;
use super::zeek::Log;
use super::{ListOptions, Listing, WantedColumn};
use crate::base::text::count;
use crate::table::read::{CTRL_Z, CTRL_Z_LEFT_OUT, LineReader, LineTooLong, Source, unreadable};
use crate::table::{BATCH_ROWS, Lines, schema_of};

/// The longest line, in bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

/// A list that is being read.
pub(super) struct Lists {
    name: String,
    input: LineReader<Box<dyn Read + Send>>,
    /// The last line read.
    line: Vec<u8>,
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
    /// Number of lines to skip at the beginning.
    skip: usize,
    /// Line in which a comment stood behind a key for the first time.
    cut: Option<u64>,
    /// Bytes of the batch's values, and about how many they may be.
    bytes: usize,
    most_bytes: usize,
}

enum Form {
    Keys,
    Netset,
    Ipset,
    Hosts,
    Log(Log),
}

impl Lists {
    /// Creates a reader of a text that messages call `name`.
    pub fn new(
        input: Box<dyn Read + Send>,
        name: &str,
        listing: Listing,
        lists: &ListOptions,
        skip: usize,
        most_bytes: usize,
    ) -> Result<Lists> {
        let form = match listing {
            Listing::Zeek => Form::Log(Log::new(&lists.columns)),
            _ if lists.columns.len() > 1 => return Err(more_than_keys(name, listing, &lists.columns)),
            Listing::Ipset => Form::Ipset,
            Listing::Netset => Form::Netset,
            Listing::Hosts => Form::Hosts,
            Listing::List | Listing::Table => Form::Keys,
        };
        let fields = lists.columns.iter().map(|column| Field::new(&column.header, DataType::Utf8, true)).collect();
        Ok(Lists {
            name: name.to_owned(),
            input: LineReader::new(input, MAX_LINE_BYTES),
            line: Vec::new(),
            form,
            schema: schema_of(fields),
            columns: lists.columns.iter().map(|_| StringBuilder::new()).collect(),
            rows: 0,
            before: 0,
            lines: Lines::default(),
            pending: None,
            expanded: 0,
            expand: lists.expand,
            skip,
            cut: None,
            bytes: 0,
            most_bytes,
        })
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Reads the next line into `line`; false at the end of the text.
    fn advance(&mut self) -> Result<bool> {
        self.input.next(&mut self.line).or_else(|error| match error.get_ref() {
            Some(inner) if inner.is::<LineTooLong>() => {
                self.wrong("is longer than a line may be (1 MiB): is it a list?")
            }
            _ => Err(unreadable(&self.name, error)),
        })
    }

    fn wrong<T>(&self, what: impl std::fmt::Display) -> Result<T> {
        Err(Error::Input(format!("{}, line {}: {what}", self.name, self.input.number())))
    }

    /// Appends a row of these values.
    fn push(&mut self, values: &[Option<&str>]) {
        self.bytes += values.iter().flatten().map(|value| value.len()).sum::<usize>();
        self.columns.iter_mut().zip(values).for_each(|(column, value)| column.append_option(*value));
        self.lines.note(self.before + self.rows, self.input.number());
        self.rows += 1;
    }

    /// Takes the line: as one row, as none, or as a network with many.
    fn take_line(&mut self) -> Result<()> {
        let line = std::mem::take(&mut self.line);
        if line == CTRL_Z {
            tracing::warn!("{}, line {}: {CTRL_Z_LEFT_OUT}", self.name, self.input.number());
            return Ok(());
        }
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
                if let Some(key) = without_comment(text) {
                    self.push(&[Some(key)]);
                    if key.len() < text.trim().len() && self.cut.is_none() {
                        self.cut = Some(self.input.number());
                        tracing::warn!(
                            "{}, line {}: `#` begins a comment, which is no part of the key, here and below",
                            self.name,
                            self.input.number()
                        );
                    }
                }
                Ok(())
            }
            // Its own names of columns are no entry.
            Form::Netset if self.rows + self.before == 0 && names_columns(text) => Ok(()),
            Form::Netset => self.take_entry(entry::netset(text)),
            Form::Ipset => self.take_entry(entry::ipset(text)),
            Form::Hosts => match entry::hosts(text) {
                Ok(names) => {
                    names.for_each(|name| self.push(&[Some(name)]));
                    Ok(())
                }
                Err(what) => self.wrong(what),
            },
        };
        self.line = line;
        taken
    }

    /// Takes a single address, the beginning of a network, or a word that is neither, for the reader to count.
    fn take_entry(&mut self, entry: std::result::Result<Option<Entry<'_>>, String>) -> Result<()> {
        let mut network = match entry {
            Ok(None) => return Ok(()),
            Ok(Some(Entry::Word(word))) => {
                self.push(&[Some(word)]);
                return Ok(());
            }
            Ok(Some(Entry::Addresses(network))) => network,
            Err(what) => return self.wrong(what),
        };
        if network.len() == 1 {
            network.next().into_iter().for_each(|address| self.push(&[Some(&address.to_string())]));
            return Ok(());
        }
        self.expanded = self.expanded.saturating_add(network.len());
        if self.expanded > u128::from(self.expand) {
            return self.wrong(format!(
                "networks and ranges up to here have {} addresses, and {} are allowed: raise expand = N in [parties.X] of the \
                 job file (`tacita submit`: or --expand N)",
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
            if self.input.number() > self.skip as u64 {
                self.take_line()?;
            }
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
        self.input.bytes_read()
    }
}

/// The line up to a comment, which `#` begins at the beginning of a word, without blanks around it; none if nothing is
/// left.
fn without_comment(line: &str) -> Option<&str> {
    let begins = |(at, _): &(usize, &str)| line[..*at].chars().next_back().is_none_or(char::is_whitespace);
    let end = line.match_indices('#').find(begins).map_or(line.len(), |(at, _)| at);
    let text = line[..end].trim();
    (!text.is_empty()).then_some(text)
}

fn more_than_keys(name: &str, listing: Listing, columns: &[WantedColumn]) -> Error {
    let names: Vec<_> = columns.iter().map(|column| format!("{:?}", column.header)).collect();
    Error::Input(format!(
        "{name}: a {} has a key on each line and nothing else, and {} are wanted: bring a table",
        listing.shown(),
        names.join(", ")
    ))
}
