//! A participant's table, or list, as the reports that it submits.

mod places;
mod resolve;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use tacita_core::{Error, Result};

use super::keys::{KeyPacking, Unpackable};
use super::spec::{AggregateJob, KEY_BYTES, MAX_KEY_BYTES};
use crate::table::key::build::{Piece, Tally, find_columns, read_pieces, same_key};
use crate::table::key::parts;
use crate::table::read::{FileKind, ListOptions, Listing, Stream, USUAL_EXPANSION, WantedColumn, lists};
use crate::table::text::TextColumn;
use crate::table::{Duplicates, KeySpec, Lines, Nulls, Origin, ReadOptions, RowCounts, Wanted, Warning, find_column};

use places::Places;
pub use resolve::Resolver;

/// Values of a batch take about this many bytes at most.
const BATCH_BYTES: usize = 4 << 20;

/// Source of a participant's reports.
#[derive(Debug, Clone)]
pub struct ReportsInput {
    /// A table or a list, or `-` for standard input.
    pub path: PathBuf,
    /// Options for reading it.
    pub options: ReadOptions,
    /// Kind of the input, in place of what the job file says.
    pub listing: Option<Listing>,
    /// Into how many addresses networks are expanded at most, likewise.
    pub expand: Option<u64>,
    /// Go on although more than half of the keys cannot be read.
    pub allow_unreadable: bool,
}

/// Report of a participant on one key.
#[derive(Clone, PartialEq, Eq)]
pub struct ParticipantReport {
    /// The key as it travels; see [`KeyPacking`].
    pub key: Vec<u8>,
    /// The place of its value in the domain; 0 where reports carry none.
    pub value: u32,
}

/// Neither key nor value is shown.
impl std::fmt::Debug for ParticipantReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Report(..)")
    }
}

/// The reports of a participant, read batch by batch, in the order of the input. Memory does not grow with it where
/// `duplicates = "all"`; to tell repeated keys, about 48 bytes are kept of each distinct one.
pub struct Reports {
    stream: Stream,
    source: String,
    spec: KeySpec,
    columns: Vec<usize>,
    /// Place and header of the column with values.
    value: Option<(usize, String)>,
    places: Places,
    packing: KeyPacking,
    tally: Tally,
    first: Option<RecordBatch>,
    row: usize,
    /// Digests of keys so far, each with the place of its first row.
    seen: Option<HashMap<[u8; KEY_BYTES], u64>>,
    counts: Counts,
    too_long: Option<TooLong>,
}

/// Keys that the round has no room for.
struct TooLong {
    /// The place of the first of them, and its length.
    first: (String, usize),
    /// Length of the longest of them.
    longest: usize,
}

/// Counts of rows besides those that [`Tally`] keeps.
#[derive(Default)]
struct Counts {
    /// Rows without a value, and with an address that is nobody's.
    nulls: usize,
    duplicates: usize,
    reports: usize,
}

impl Reports {
    /// Opens the input of `participant`, whose own mapping is looked for among the parties of the job.
    ///
    /// Errors ([`Error::Input`]): it cannot be read, or lacks a column.
    pub fn open(job: &AggregateJob<'_>, participant: &str, input: &ReportsInput) -> Result<Reports> {
        let spec = job.spec.key_spec(participant, input.allow_unreadable)?;
        let party = job.parties.get(participant);
        let wanted = |name: &str| WantedColumn {
            header: job.spec.header(participant, name).to_owned(),
            mapped: party.is_some_and(|party| party.columns.contains_key(name)),
        };
        let lists = ListOptions {
            listing: input.listing.or(party.and_then(|party| party.format).map(FileKind::listing)),
            expand: input.expand.or(party.and_then(|party| party.expand)).unwrap_or(USUAL_EXPANSION),
            columns: job.columns().into_iter().map(wanted).collect(),
        };
        let options = job.spec.reading(participant, input.options.clone());
        let stream = lists::open(&input.path, &lists, &options, BATCH_BYTES)?;
        let source = stream.source().to_owned();
        let columns = find_columns(&source, stream.schema(), &spec)?;
        let value = match &job.own.round.value {
            Some(name) => {
                let header = job.spec.header(participant, name);
                let column = find_column(&source, stream.schema(), header, Wanted::Mapped(name))?;
                Some((column, header.to_owned()))
            }
            None => None,
        };
        let seen = (spec.duplicates != Duplicates::All).then(HashMap::new);
        Ok(Reports {
            tally: Tally::new(&spec),
            places: Places::of(&job.own.round.values),
            packing: KeyPacking::of(job),
            stream,
            source,
            spec,
            columns,
            value,
            first: None,
            row: 0,
            seen,
            counts: Counts::default(),
            too_long: None,
        })
    }

    /// The next reports, never none; nothing at the end.
    ///
    /// Errors ([`Error::Input`]): the input is not as it should be; a value that the job does not allow, or a key that
    /// is too long, each with its line; a row without a key or a repeated key, where the job refuses them; more than
    /// half of the rows so far cannot be read.
    pub fn next_batch(&mut self) -> Result<Option<Vec<ParticipantReport>>> {
        loop {
            let mut reports = Vec::new();
            let more = self.next_rows(&mut |report, _| reports.push(report))?;
            if !more || !reports.is_empty() {
                return Ok((!reports.is_empty()).then_some(reports));
            }
        }
    }

    /// Reads like [`Reports::next_batch`], each with the canonical texts of its key's columns; returns false at the
    /// end.
    fn next_rows(&mut self, each: &mut dyn FnMut(ParticipantReport, &[&str])) -> Result<bool> {
        let Some(batch) = self.stream.next_batch()? else { return Ok(false) };
        self.first.get_or_insert_with(|| batch.clone());
        let row = self.row;
        let lines = self.stream.lines().map(|lines| {
            lines.forget_before(row);
            lines.clone()
        });
        // Before anything is reported that should not be.
        let pieces = self.read(&batch, lines.as_ref());
        self.check(lines.as_ref())?;
        let known = self.too_long.is_some();
        self.take(&batch, &pieces, lines.as_ref(), each)?;
        self.row += batch.num_rows();
        if self.too_long.is_some() && !known {
            // How long keys are in all decides what is to be agreed on.
            while self.next_rows(&mut |_, _| ())? {}
        }
        match self.too_long.take_if(|_| !known) {
            Some(keys) => Err(keys.error(self.packing.key_bytes())),
            None => Ok(true),
        }
    }

    fn read(&mut self, batch: &RecordBatch, lines: Option<&Lines>) -> Vec<Piece> {
        let origin = Origin { source: &self.source, lines, first: None };
        let pieces = read_pieces(batch, self.row, &self.spec, &self.columns, origin);
        pieces.iter().for_each(|piece| self.tally.add(piece));
        pieces
    }

    fn take(
        &mut self,
        batch: &RecordBatch,
        pieces: &[Piece],
        lines: Option<&Lines>,
        each: &mut dyn FnMut(ParticipantReport, &[&str]),
    ) -> Result<()> {
        let origin = Origin { source: &self.source, lines, first: None };
        let values = match &self.value {
            Some((column, header)) => Some(TextColumn::new(batch.column(*column)).ok_or_else(|| {
                Error::Input(format!("{}: column {header:?} has values that are no numbers and no text", self.source))
            })?),
            None => None,
        };
        for (encoded, row) in pieces.iter().flat_map(Piece::keys) {
            let number = origin.number(row as usize);
            let at = || format!("{}, {}", self.source, origin.place(number));
            let place = match (&values, &self.value) {
                (Some(values), Some((_, header))) => {
                    let text = values.get(row as usize - self.row).map(str::trim).filter(|text| !text.is_empty());
                    match text.map(|text| self.places.place(text)) {
                        Some(Some(place)) => place,
                        Some(None) => {
                            return Err(Error::Input(format!(
                                "{}, column {header:?}: its value is none of round.values: mend it or take the row out, or agree on \
                                 more values",
                                at()
                            )));
                        }
                        None if self.spec.nulls == Nulls::Error => {
                            return Err(Error::Input(format!(
                                "{}: no value in column {header:?}; fill it in, remove the row, or agree on nulls = \"skip\"",
                                at()
                            )));
                        }
                        None => {
                            self.counts.nulls += 1;
                            continue;
                        }
                    }
                }
                _ => 0,
            };
            // What profiles make is text.
            let texts: Vec<&str> = parts(encoded).filter_map(|part| std::str::from_utf8(part).ok()).collect();
            let key = match self.packing.pack(&texts) {
                Ok(key) => key,
                Err(Unpackable::Unspecified) => {
                    self.counts.nulls += 1;
                    continue;
                }
                Err(Unpackable::Zero) => {
                    return Err(Error::Input(format!("{}: its key has a zero byte in it: remove the row", at())));
                }
                Err(Unpackable::TooLong(length)) => {
                    let keys = self.too_long.get_or_insert_with(|| TooLong { first: (at(), length), longest: 0 });
                    keys.longest = keys.longest.max(length);
                    continue;
                }
            };
            if let Some(seen) = &mut self.seen {
                match seen.entry(digest(&key)) {
                    Entry::Vacant(free) => {
                        free.insert(number);
                    }
                    Entry::Occupied(first) if self.spec.duplicates == Duplicates::Error => {
                        return Err(same_key(origin, [*first.get(), number]));
                    }
                    Entry::Occupied(_) => {
                        self.counts.duplicates += 1;
                        continue;
                    }
                }
            }
            self.counts.reports += 1;
            each(ParticipantReport { key, value: place }, &texts);
        }
        Ok(())
    }

    fn check(&self, lines: Option<&Lines>) -> Result<Vec<Warning>> {
        let origin = Origin { source: &self.source, lines, first: self.first.as_ref() };
        self.tally.check(&self.spec, origin)
    }

    /// Returns the counts of the rows so far by outcome. If every row is a report, none is a duplicate.
    pub fn counts(&self) -> RowCounts {
        let Counts { nulls, duplicates, reports } = self.counts;
        let tally = self.tally.counts;
        RowCounts { nulls: tally.nulls + nulls, duplicates, items: reports, ..tally }
    }

    /// Returns warnings for the participant's user about the rows so far.
    pub fn warnings(&mut self) -> Result<Vec<Warning>> {
        let lines = self.stream.lines().cloned();
        self.check(lines.as_ref())
    }

    /// Returns the amount to read, as far as known, and the amount already read: bytes of a text file, rows of others.
    pub fn progress(&self) -> (Option<u64>, u64) {
        (self.stream.units(), self.stream.done())
    }
}

/// Reads all of an input before anything of it is submitted, and refuses it if its rows do not keep to the job's
/// limits. Where there are none, nothing is read.
///
/// Errors ([`Error::Rows`]): one of the limits. [`Error::Input`]: as of reading; standard input, which cannot be read
/// again.
pub fn check_quality(job: &AggregateJob<'_>, participant: &str, input: &ReportsInput) -> Result<()> {
    let limits = &job.spec.limits;
    if limits.max_null.is_none() && limits.max_unreadable.is_none() && job.spec.least_rows().is_none() {
        return Ok(());
    }
    if input.path.as_os_str() == "-" {
        return Err(Error::Input(
            "--input -: the limits on rows (limits.min_rows, max_null, max_unreadable) are looked at before anything is submitted, so the              input is read twice: give a file"
                .into(),
        ));
    }
    let mut reports = Reports::open(job, participant, input)?;
    while reports.next_batch()?.is_some() {}
    job.spec.check_quality(participant, &reports.counts())
}

/// Returns the digest by which repeated keys are recognised.
fn digest(key: &[u8]) -> [u8; KEY_BYTES] {
    let mut digest = [0; KEY_BYTES];
    digest.copy_from_slice(&blake3::hash(key).as_bytes()[..KEY_BYTES]);
    digest
}

impl TooLong {
    fn error(self, most: usize) -> Error {
        let TooLong { first: (at, length), longest } = self;
        let more = match longest {
            ..=MAX_KEY_BYTES => format!("agree on round.key_bytes = {longest} or more, or on round.keys = \"hashed\""),
            _ => "agree on round.keys = \"hashed\"".to_owned(),
        };
        let longer = if longest > length { format!("; the longest has {longest}") } else { String::new() };
        Error::Input(format!("{at}: its key has {length} bytes, and round.key_bytes = {most}{longer}: {more}"))
    }
}

#[cfg(test)]
mod tests;
