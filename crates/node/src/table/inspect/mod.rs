//! Facts about a table before a job: its form, what its columns hold, and what of it would be matched. The file is
//! read as a stream. Memory is thus that of a batch, and of a few bytes for each key.

mod column;
mod findings;
mod frequent;
mod report;
mod text;

use std::collections::HashSet;
use std::path::Path;

use arrow_array::RecordBatch;
use rayon::prelude::*;
use tacita_core::Result;

use super::key::build::{Tally, find_columns, read_pieces};
use super::key::parts;
use super::read::{FileForm, ReadOptions, Stream, open};
use super::{Duplicates, KeySpec, Nulls, Origin, RowCounts, Table, Wanted, Warning, find_column, header_is_data};
use column::Column;
use frequent::Counter;

pub use column::{ColumnFacts, MAX_DISTINCT};
pub use findings::{TableFindings, key_of};
pub use frequent::FrequentValues;
pub use text::Advice;

/// Maximum number of columns examined, unless they are named.
pub const MAX_COLUMNS: usize = 100;

/// Values of a batch take about this many bytes at most.
const BATCH_BYTES: usize = 16 << 20;

/// Number of keys kept to be shown, and of values that cannot be read.
const SHOWN: usize = 5;

/// Options that select the facts to collect.
#[derive(Default)]
pub struct InspectOptions {
    /// Headers of the columns; all, up to [`MAX_COLUMNS`], if there are none.
    pub columns: Vec<String>,
    /// Key by which rows would be matched.
    pub key: Option<KeySpec>,
}

/// Facts about a table.
pub struct Looked {
    /// Name of the table in messages.
    pub source: String,
    /// The form of the file.
    pub form: FileForm,
    /// Number of rows in the table.
    pub rows: usize,
    /// Facts about the columns that were examined.
    pub columns: Vec<ColumnFacts>,
    /// Number of columns left out, unless some were named.
    pub left_out: usize,
    /// Total number of columns.
    pub width: usize,
    /// Whether its headers look like data.
    pub header_is_data: bool,
    /// Facts about the keys that would be matched.
    pub key: Option<KeyFacts>,
}

/// Facts about the part of a table that would be matched. Holds values of the table: for its own user only.
pub struct KeyFacts {
    /// Counts of the rows by the outcome that they would have.
    pub counts: RowCounts,
    /// The first keys, part by part, with the places of their rows.
    pub first: Vec<(String, Vec<String>)>,
    /// The first values that cannot be read: place, header, value.
    pub unreadable: Vec<(String, String, String)>,
    /// The most frequent values of each column.
    pub frequent: Vec<FrequentValues>,
    /// Place of the first row whose key an earlier one has.
    pub repeated: Option<String>,
    /// Warnings that a run would give.
    pub warnings: Vec<Warning>,
}

/// Looks at a table in a file.
///
/// Errors ([`Error::Input`](tacita_core::Error)): as of reading it; a column is not there, or can be no key.
pub fn look(path: &Path, options: &ReadOptions, look: &InspectOptions) -> Result<Looked> {
    look_at(open(path, options, BATCH_BYTES)?, look)
}

/// Looks at a table in memory, otherwise as [`look`] does.
pub fn look_at_table(table: &Table, look: &InspectOptions) -> Result<Looked> {
    look_at(Stream::in_memory(table), look)
}

fn look_at(mut stream: Stream, look: &InspectOptions) -> Result<Looked> {
    let (source, schema, form) = (stream.source().to_owned(), stream.schema().clone(), stream.form().clone());
    let places: Vec<usize> = if look.columns.is_empty() {
        (0..schema.fields().len().min(MAX_COLUMNS)).collect()
    } else {
        look.columns.iter().map(|name| find_column(&source, &schema, name, Wanted::Named)).collect::<Result<_>>()?
    };
    let is_text = form.text.is_some() || form.sheet.is_some();
    let column = |&place: &usize| Column::new(schema.field(place), is_text);
    let mut columns: Vec<Column> = places.iter().map(column).collect();
    // A look ends for nothing that is in the rows: it counts, and says what a run would.
    let spec = look.key.clone().map(|key| KeySpec {
        duplicates: Duplicates::All,
        nulls: Nulls::Skip,
        allow_unreadable: true,
        ..key
    });
    let mut keys = spec.as_ref().map(|spec| Keyed::new(&source, &schema, spec)).transpose()?;
    let (mut rows, mut first) = (0, None);
    while let Some(batch) = stream.next_batch()? {
        first.get_or_insert_with(|| batch.clone());
        columns.par_iter_mut().zip(&places).for_each(|(column, &place)| column.add(batch.column(place)));
        if let Some(keys) = &mut keys {
            let lines = stream.lines().map(|lines| {
                lines.forget_before(rows);
                &*lines
            });
            let pieces =
                read_pieces(&batch, rows, keys.spec, &keys.columns, Origin { source: &source, lines, first: None });
            keys.add(&pieces, Origin { source: &source, lines, first: None });
            keys.count_values(&batch);
        }
        rows += batch.num_rows();
    }
    let origin = Origin { source: &source, lines: stream.lines().map(|lines| &*lines), first: first.as_ref() };
    let key = keys.map(|keys| keys.facts(origin)).transpose()?;
    Ok(Looked {
        form,
        rows,
        width: schema.fields().len(),
        left_out: if look.columns.is_empty() { schema.fields().len() - places.len() } else { 0 },
        columns: columns.into_iter().map(Column::facts).collect(),
        header_is_data: is_text && header_is_data(&schema),
        key,
        source,
    })
}

/// Keys as they are counted.
struct Keyed<'a> {
    spec: &'a KeySpec,
    columns: Vec<usize>,
    tally: Tally,
    /// Hashes of keys, as long as it takes for none to be another's.
    seen: HashSet<[u8; 16]>,
    first: Vec<(String, Vec<String>)>,
    frequent: Vec<Counter>,
    repeated: Option<String>,
}

impl<'a> Keyed<'a> {
    fn new(source: &str, schema: &arrow_schema::Schema, spec: &'a KeySpec) -> Result<Keyed<'a>> {
        let columns = find_columns(source, schema, spec)?;
        let (tally, seen) = (Tally::new(spec), HashSet::new());
        let frequent = columns.iter().map(|_| Counter::default()).collect();
        Ok(Keyed { spec, columns, tally, seen, first: Vec::new(), frequent, repeated: None })
    }

    fn add(&mut self, pieces: &[super::key::build::Piece], origin: Origin<'_>) {
        for piece in pieces {
            self.tally.add(piece);
            for (key, row) in piece.keys() {
                let mut short = [0; 16];
                short.copy_from_slice(&blake3::hash(key).as_bytes()[..16]);
                let place = || origin.place(origin.number(row as usize));
                if !self.seen.insert(short) {
                    self.tally.counts.duplicates += 1;
                    self.repeated.get_or_insert_with(place);
                } else if self.first.len() < SHOWN {
                    let parts = parts(key).map(|part| String::from_utf8_lossy(part).into_owned());
                    self.first.push((place(), parts.collect()));
                }
            }
        }
    }

    fn count_values(&mut self, batch: &RecordBatch) {
        self.frequent.par_iter_mut().zip(&self.columns).for_each(|(counter, &place)| counter.add(batch.column(place)));
    }

    fn facts(self, origin: Origin<'_>) -> Result<KeyFacts> {
        let warnings = self.tally.check(self.spec, origin)?;
        let unreadable = self.tally.unreadable(SHOWN).into_iter().map(|(number, column, value)| {
            (origin.place(number), self.spec.columns[column].header.clone(), value.to_owned())
        });
        let columns = self.frequent.into_iter().zip(&self.spec.columns);
        let frequent = columns.map(|(counter, column)| counter.facts(column, &self.spec.words));
        Ok(KeyFacts {
            unreadable: unreadable.collect(),
            counts: RowCounts { items: self.seen.len(), ..self.tally.counts },
            first: self.first,
            frequent: frequent.collect(),
            repeated: self.repeated,
            warnings,
        })
    }
}
