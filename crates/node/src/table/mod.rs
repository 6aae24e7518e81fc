//! Tables: what a party brings and what it gets, as Arrow record batches whatever the file format.
//!
//! A table is read ([`mod@read`]), its key columns are brought into one form ([`normalize`]) and collected into
//! distinct keys ([`key`]); the protocols work on those. Afterwards own rows are selected by key, joined with the
//! columns that other parties gave ([`payload`], [`select`]), and written ([`output`]). The rules that users rely on
//! are in `docs/tables.md` and `docs/normalization.md`.

pub mod baskets;
mod budget;
pub mod columns;
mod combine;
mod header;
pub mod inspect;
pub mod key;
mod mark;
pub mod normalize;
pub mod numbers;
pub mod output;
pub mod payload;
pub mod read;
pub mod select;
pub(crate) mod text;
mod weight;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use tacita_core::{Error, Result};

use crate::base::text::{nearest, pasted};

pub use budget::{Budget, MAX_COLUMNS};
use header::advice_on_header;
pub(crate) use header::{header_is_data, looks_like_data};
pub use key::{Duplicates, KeyColumn, KeySpec, Mark, NullWords, Nulls, RowCounts, TableKeys};
pub use mark::DecimalMark;
pub use normalize::Profile;
pub use payload::{PayloadEncoder, PayloadSchema};
pub use read::{ReadOptions, read};
pub use select::{PeerRows, Selection};

/// Most rows in one batch.
pub const BATCH_ROWS: usize = 64 << 10;

/// Most rows in a table: row numbers are `u32`.
pub const MAX_ROWS: usize = u32::MAX as usize;

/// A party's table in memory.
#[derive(Clone)]
pub struct Table {
    source: String,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// Number of the first row of each batch, and at the end the number of rows.
    starts: Vec<usize>,
    lines: Option<Lines>,
    /// The labels that pandas has for its rows, where no column holds them.
    range: Option<columns::RangeIndex>,
    /// Bytes of memory that its keys may take.
    memory: u64,
}

impl Table {
    /// A table of batches that have `schema`. `source` is what messages call it: a file name, as a rule.
    ///
    /// A column without a name gets one, `column_N`. Errors: columns of the same name, no columns at all, more than
    /// [`MAX_ROWS`] rows, a batch of another schema.
    pub fn new(source: impl Into<String>, schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Table> {
        Table::with_lines(source.into(), schema, batches, None)
    }

    fn with_lines(source: String, schema: SchemaRef, batches: Vec<RecordBatch>, lines: Option<Lines>) -> Result<Table> {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let (own, range) = columns::take_range(columns::own_schema(&source, &schema)?, rows);
        let mut batches: Vec<_> = batches.into_iter().filter(|batch| batch.num_rows() > 0).collect();
        let mut starts = vec![0];
        for batch in &mut batches {
            let same = batch.schema_ref().fields().iter().map(|f| f.data_type());
            if !same.eq(schema.fields().iter().map(|f| f.data_type())) {
                return Err(Error::Input(format!(
                    "{source}: its batches have different columns; write it as one table"
                )));
            }
            *batch = columns::under(batch, &own)?;
            starts.push(starts[starts.len() - 1] + batch.num_rows());
        }
        if starts[batches.len()] > MAX_ROWS {
            return Err(too_many_rows(&source));
        }
        Ok(Table { source, schema: own, batches, starts, lines, range, memory: u64::MAX })
    }

    /// Returns the name of this table in messages.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows, in order. No batch is empty.
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.starts[self.batches.len()]
    }

    /// Returns the place where the user finds a row (counted from 0). Examples are `line 17` in a text file, `row 17`
    /// in a sheet, and `row 16` (counted from 1) elsewhere.
    pub fn place(&self, row: usize) -> String {
        let origin = self.origin();
        origin.place(origin.number(row))
    }

    /// Returns the context for messages about rows.
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin { source: &self.source, lines: self.lines.as_ref(), first: self.batches.first() }
    }

    /// The first blank line between rows of a text file with one column: it was skipped, and may stand for an absent
    /// value.
    pub fn blank_line(&self) -> Option<u64> {
        self.lines.as_ref().and_then(|lines| lines.blank)
    }

    /// The position of a column.
    ///
    /// Errors: there is none of that name; the message lists the columns and tells how to map. `wanted` is the logical
    /// name, which the message needs.
    pub fn column(&self, header: &str, wanted: &str) -> Result<usize> {
        find_column(&self.source, &self.schema, header, Wanted::Mapped(wanted))
    }

    /// Finds a column like [`Table::column`], for the one with baskets, which is named where baskets are asked for.
    pub(crate) fn basket_column(&self, header: &str, wanted: &str) -> Result<usize> {
        find_column(&self.source, &self.schema, header, Wanted::Baskets(wanted))
    }

    /// Batch and place in the batch of a row.
    fn locate(&self, row: usize) -> (usize, usize) {
        let batch = self.starts.partition_point(|&start| start <= row) - 1;
        (batch, row - self.starts[batch])
    }
}

/// Shape only: values are never printed.
impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<_> = self.schema.fields().iter().map(|field| field.name()).collect();
        f.debug_struct("Table")
            .field("source", &self.source)
            .field("columns", &columns)
            .field("rows", &self.rows())
            .finish_non_exhaustive()
    }
}

/// Something that this party's own user should know. It may show one of the user's own values, so it goes to the
/// user's terminal and nowhere else: not to peers, reports or logs that are sent elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Warning {
    text: String,
    without_values: String,
}

impl Warning {
    /// A message, and the same without any value.
    pub(crate) fn new(text: String, without_values: String) -> Warning {
        Warning { text, without_values }
    }

    /// The message, one line.
    pub fn text_for_own_user(&self) -> &str {
        &self.text
    }

    /// The message without any value of the table, for logs.
    pub fn text_without_values(&self) -> &str {
        &self.without_values
    }
}

impl fmt::Debug for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Warning(..)")
    }
}

/// Line numbers of a text file's rows: one entry wherever rows and lines stop running in step (values of several
/// lines, blank lines).
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines {
    /// The first blank line between rows, in a table of one column, where it may stand for an absent value.
    blank: Option<u64>,
    /// (row, its line), ascending.
    jumps: Vec<(usize, u64)>,
    /// Whether they are the numbers of rows of a sheet.
    in_sheet: bool,
}

impl Lines {
    /// Numbers of a sheet's rows.
    fn in_sheet() -> Lines {
        Lines { in_sheet: true, ..Lines::default() }
    }

    fn line(&self, row: usize) -> u64 {
        match self.jumps.partition_point(|&(at, _)| at <= row) {
            0 => row as u64 + 2,
            n => self.jumps[n - 1].1 + (row - self.jumps[n - 1].0) as u64,
        }
    }

    /// Bytes of memory that they take.
    fn bytes(&self) -> u64 {
        (self.jumps.capacity() * size_of::<(usize, u64)>()) as u64
    }

    /// Forgets where the rows before `row` stand.
    pub(crate) fn forget_before(&mut self, row: usize) {
        let known = self.jumps.partition_point(|&(at, _)| at <= row);
        self.jumps.drain(..known.saturating_sub(1));
    }

    /// Notes the line of a row; rows come in order.
    fn note(&mut self, row: usize, line: u64) {
        if self.line(row) != line {
            self.jumps.push((row, line));
        }
    }
}

/// Context for messages about a table's rows.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// Name of the table in messages.
    pub source: &'a str,
    /// Lines of its rows, in a text file.
    pub lines: Option<&'a Lines>,
    /// First batch of the table, if it has any rows.
    pub first: Option<&'a RecordBatch>,
}

impl Origin<'_> {
    /// The line of a row in a text file, or else its number counted from 1.
    pub fn number(&self, row: usize) -> u64 {
        self.lines.map_or(row as u64 + 1, |lines| lines.line(row))
    }

    /// Returns the place where the user finds the row of this [`Origin::number`].
    pub fn place(&self, number: u64) -> String {
        format!("{} {number}", if self.lines.is_some_and(|lines| !lines.in_sheet) { "line" } else { "row" })
    }
}

fn too_many_rows(source: &str) -> Error {
    Error::Input(format!("{source}: more than {MAX_ROWS} rows; split the job"))
}

/// Ways to name another header for the wanted column, which has this logical name.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// Name given in a mapping.
    Mapped(&'a str),
    /// Name given in a mapping, or in its place.
    Baskets(&'a str),
    /// Name given in its place.
    Named,
}

/// Finds a column like [`Table::column`]. An index of pandas is a column only for whoever names it in its place.
pub(crate) fn find_column(source: &str, schema: &Schema, header: &str, wanted: Wanted<'_>) -> Result<usize> {
    if columns::is_list(schema) {
        return Ok(0);
    }
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    let position = names().position(|name| name == header).ok_or_else(|| {
        let nearest = nearest(header, names());
        let example = nearest.unwrap_or("HEADER");
        let guess = nearest.map_or(String::new(), |name| format!(" (did you mean {name:?}?)"));
        // Of a blank nothing is certain: names have them.
        let mut split = String::new();
        if let [only] = &schema.fields()[..]
            && let Some(between) = delimiter_of(only.name(), header)
        {
            split = format!("if `{between}` separates the values, give --delimiter {}", pasted(between));
            if between != ' ' {
                return Error::Input(format!(
                    "{source}: no column {header:?}; its one column is {:?}: {split}",
                    only.name()
                ));
            }
            split.insert_str(0, "; ");
        }
        let in_job =
            |wanted| format!("`columns = {{ {} = {example:?} }}` in [parties.X] of the job file", toml_key(wanted));
        let advice = match wanted {
            Wanted::Mapped(wanted) => format!(
                "; if another one holds it, map it: {}, or `{}` on the command line",
                in_job(wanted),
                pasted(format_args!("{wanted}={example}"))
            ),
            Wanted::Baskets(wanted) => format!(
                "; if another one holds it, say so: {}, or `--basket {}` on the command line",
                in_job(wanted),
                pasted(example)
            ),
            Wanted::Named => String::new(),
        };
        Error::Input(format!(
            "{source}: no column {header:?}{guess}; its columns are {}{advice}{split}{}",
            listed(names()),
            advice_on_header(schema)
        ))
    })?;
    // Whoever looks at a table may look at its index, too.
    match wanted {
        Wanted::Mapped(_) | Wanted::Baskets(_) if columns::is_index(schema.field(position)) => {
            Err(Error::Input(format!(
                "{source}: column {header:?} is an index of pandas, which cannot be matched, given or counted: make it a column \
                 with reset_index() first"
            )))
        }
        _ => Ok(position),
    }
}

/// Returns the likely delimiter between columns one of which is `header`, if all of them were taken for one.
fn delimiter_of(all: &str, header: &str) -> Option<char> {
    let candidates = all.chars().filter(|c| (c.is_ascii_punctuation() || *c == ' ') && !"\"_".contains(*c));
    candidates.into_iter().find(|c| all != header && all.split(*c).any(|part| part.trim() == header))
}

/// A name as a key of a TOML file: in quotes unless it is plain.
fn toml_key(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(plain) { name.to_owned() } else { format!("{name:?}") }
}

/// Names of columns, each with one of its own: one without, as the index that pandas writes, is called `column_1` if it
/// is the first.
///
/// Errors: two have the same one; there are none.
pub(crate) fn named<'a>(source: &str, names: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
    let names: Vec<&str> = names.collect();
    let mut seen = HashSet::new();
    let mut twice = Vec::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        if !seen.insert(*name) && !twice.contains(name) {
            twice.push(*name);
        }
    }
    if names.is_empty() {
        return Err(Error::Input(format!("{source}: it has no columns")));
    }
    if !twice.is_empty() {
        let names = listed(twice.into_iter());
        return Err(Error::Input(format!("{source}: several columns are named {names}; rename all but one of each")));
    }
    let own = |(place, name): (usize, &&str)| {
        let mut made = name.to_string();
        if name.is_empty() {
            made = format!("column_{}", place + 1);
            while seen.contains(made.as_str()) {
                made.push('_');
            }
        }
        made
    };
    Ok(names.iter().enumerate().map(own).collect())
}

/// Names for a message: quoted, no more than 40 of them.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(|name| format!("{name:?}")).collect();
    match names.len() {
        0..=40 => names.join(", "),
        n => format!("{}, ... ({n} in all)", names[..40].join(", ")),
    }
}

/// A schema with these fields and no metadata.
pub(crate) fn schema_of(fields: Vec<arrow_schema::Field>) -> SchemaRef {
    Arc::new(Schema::new(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_a_name_get_one() {
        let found = |names: &[&str]| named("t", names.iter().copied());
        assert_eq!(found(&["", "a", "", "column_3"]).unwrap(), ["column_1", "a", "column_3_", "column_3"]);
        assert!(found(&["a", "", "a", ""]).is_err() && found(&[]).is_err());
    }

    #[test]
    fn lines_follow_jumps() {
        let mut lines = Lines::default();
        for (row, line) in [2, 3, 5, 6, 10].into_iter().enumerate() {
            lines.note(row, line);
        }
        assert_eq!(lines.jumps.len(), 2);
        assert_eq!((0..6).map(|row| lines.line(row)).collect::<Vec<_>>(), [2, 3, 5, 6, 10, 11]);
    }
}
