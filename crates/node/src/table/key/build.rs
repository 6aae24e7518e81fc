//! Extraction of a table's distinct keys.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use rayon::prelude::*;
use tacita_core::{Error, Result};

use super::nulls::{self, Mark, Met};
use super::unreadable::{Samples, report};
use super::{
    COPY_BYTES, Duplicates, KeyColumn, KeySpec, Nulls, RowCounts, Table, TableKeys, Warning, compare, encode_copy,
    encode_part, parts,
};
use crate::table::budget::too_large;
use crate::table::normalize::Reading;
use crate::table::text::{TextColumn, has_text};
use crate::table::weight::shared_bytes;
use crate::table::{Origin, Profile, Wanted, find_column, looks_like_data};

/// Rows that one task reads.
const TASK_ROWS: usize = 8 << 10;

pub(super) fn build(table: &Table, spec: &KeySpec) -> Result<(TableKeys, Vec<Warning>)> {
    let columns = find_columns(table.source(), &table.schema, spec)?;
    let origin = table.origin();
    // A dictionary's value takes its bytes once in the table, and in each key.
    let shared =
        columns.iter().flat_map(|&column| table.batches.iter().map(move |batch| shared_bytes(batch.column(column))));
    if shared.fold(0u64, u64::saturating_add) > table.memory {
        return Err(too_large(table.source(), table.memory));
    }
    let of_batch = |batch: usize| read_pieces(&table.batches[batch], table.starts[batch], spec, &columns, origin);
    let pieces: Vec<Piece> = (0..table.batches.len()).into_par_iter().flat_map(of_batch).collect();

    let mut tally = Tally::new(spec);
    pieces.iter().for_each(|piece| tally.add(piece));
    let warnings = tally.check(spec, origin)?;
    let keys = collect(pieces, tally.counts);
    let keys = match spec.duplicates {
        Duplicates::All => keys,
        Duplicates::First => first_rows(keys),
        Duplicates::Error => refuse_duplicates(table, keys)?,
        Duplicates::Multiset => each_row(keys),
    };
    Ok((keys, warnings))
}

/// The positions of the key's columns in a table of this schema.
pub(crate) fn find_columns(source: &str, schema: &Schema, spec: &KeySpec) -> Result<Vec<usize>> {
    let find = |column: &KeyColumn| {
        let position = find_column(source, schema, &column.header, Wanted::Mapped(&column.name))?;
        let data_type = schema.field(position).data_type();
        if has_text(data_type) {
            Ok(position)
        } else {
            Err(Error::Input(format!(
                "{source}: column {:?} is of type {data_type}, which cannot be a key; convert it to text, a number or a date",
                column.header
            )))
        }
    };
    spec.columns.iter().map(find).collect()
}

/// Some consecutive rows' keys.
pub(crate) struct Piece {
    bytes: Vec<u8>,
    /// End and row of each key.
    entries: Vec<(u32, u32)>,
    rows: usize,
    nulls: usize,
    unreadable: usize,
    /// Number of the row, and key column.
    first_null: Option<(u64, usize)>,
    samples: Vec<Samples>,
    /// Words that stand for no value, or may, by key column.
    met: Vec<Met>,
    /// The rows without a key, and whether something in them is unreadable.
    lacking: Vec<(u32, bool)>,
}

impl Piece {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The rows without a key, ascending, and whether something in them is unreadable: empty otherwise.
    pub fn lacking(&self) -> &[(u32, bool)] {
        &self.lacking
    }

    fn key(&self, entry: usize) -> &[u8] {
        let start = if entry == 0 { 0 } else { self.entries[entry - 1].0 };
        &self.bytes[start as usize..self.entries[entry].0 as usize]
    }

    /// The encoded keys, each with the number of its row.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = (&[u8], u32)> {
        (0..self.entries.len()).map(|entry| (self.key(entry), self.entries[entry].1))
    }
}

/// Counts of rows so far by outcome.
pub(crate) struct Tally {
    /// Rows read, empty and unreadable.
    pub counts: RowCounts,
    samples: Vec<Samples>,
    met: Vec<Met>,
    first_null: Option<(u64, usize)>,
}

impl Tally {
    /// Returns a tally of no rows.
    pub fn new(spec: &KeySpec) -> Tally {
        let samples = vec![Samples::default(); spec.columns.len()];
        Tally { counts: RowCounts::default(), samples, met: vec![Met::default(); spec.columns.len()], first_null: None }
    }

    /// Adds the rows that come next.
    pub fn add(&mut self, piece: &Piece) {
        self.counts.read += piece.rows;
        self.counts.nulls += piece.nulls;
        self.counts.unreadable += piece.unreadable;
        self.first_null = self.first_null.or(piece.first_null);
        self.samples.iter_mut().zip(&piece.samples).for_each(|(all, some)| all.append(some));
        self.met.iter_mut().zip(&piece.met).for_each(|(all, some)| all.append(some));
    }

    /// The first values that cannot be read, in the order of the table and at most so many: the number of the row, the
    /// key column, the value.
    pub fn unreadable(&self, most: usize) -> Vec<(u64, usize, &str)> {
        let columns = self.samples.iter().enumerate();
        let mut all: Vec<_> = columns
            .flat_map(|(column, samples)| samples.first().map(move |(number, value)| (number, column, value)))
            .collect();
        all.sort_by_key(|(number, column, _)| (*number, *column));
        all.truncate(most);
        all
    }

    /// Refuses a table with too much in it that is no key; returns what its user should know.
    pub fn check(&self, spec: &KeySpec, origin: Origin<'_>) -> Result<Vec<Warning>> {
        let mut warnings = report(origin, spec, self.counts, &self.samples)?;
        warnings.extend(nulls::report(origin, spec, &self.met));
        warnings.extend(self.mostly_null(spec, origin));
        warnings.extend(header_is_data(spec, origin));
        match (spec.nulls, self.first_null) {
            (Nulls::Error, Some((number, column))) => Err(Error::Input(format!(
                "{}, {}: no value in key column {:?}; fill it in, remove the row, or agree on nulls = \"skip\"",
                origin.source,
                origin.place(number),
                spec.columns[column].header
            ))),
            _ => Ok(warnings),
        }
    }

    /// A warning if more than half of the rows have no key.
    fn mostly_null(&self, spec: &KeySpec, origin: Origin<'_>) -> Option<Warning> {
        let (number, column) = self.first_null?;
        let RowCounts { read, nulls, .. } = self.counts;
        (nulls * 2 > read).then(|| {
            let text = format!(
                "{}: {nulls} of {read} rows have no value in the key, the first in {}, column {:?}: is it the right column?",
                origin.source,
                origin.place(number),
                spec.columns[column].header
            );
            Warning { without_values: text.clone(), text }
        })
    }
}

/// A warning if a key column of a text file is called by what looks like a value: its first row may have been taken for
/// a header.
fn header_is_data(spec: &KeySpec, origin: Origin<'_>) -> Option<Warning> {
    let column = spec.columns.iter().find(|column| origin.lines.is_some() && looks_like_data(&column.header))?;
    let text = format!(
        "{}: its header looks like data ({:?}); if its first line is a row, set header = false in [parties.X] of the job file, \
         or --no-header, and the columns are column_1 and so on",
        origin.source, column.header
    );
    let without_values = format!(
        "{}: its header looks like data; if its first line is a row, set header = false in [parties.X] of the job file, or --no-header",
        origin.source
    );
    Some(Warning { text, without_values })
}

/// Reads the keys of a batch on all threads. Its first row is number `first` of the table.
pub(crate) fn read_pieces(
    batch: &RecordBatch,
    first: usize,
    spec: &KeySpec,
    columns: &[usize],
    origin: Origin<'_>,
) -> Vec<Piece> {
    let starts: Vec<_> = (0..batch.num_rows()).step_by(TASK_ROWS).collect();
    let piece = |start: usize| {
        let slice = batch.slice(start, TASK_ROWS.min(batch.num_rows() - start));
        read_piece(&slice, first + start, spec, columns, origin)
    };
    starts.into_par_iter().map(piece).collect()
}

fn read_piece(slice: &RecordBatch, first: usize, spec: &KeySpec, columns: &[usize], origin: Origin<'_>) -> Piece {
    let rows = slice.num_rows();
    // Numbers that are no text have a point.
    let profile = |(&column, key): (&usize, &KeyColumn)| match key.profile {
        Profile::Integer(mark) | Profile::Decimal(mark) => {
            key.profile.with_mark(mark.of_column(slice.column(column).data_type()))
        }
        other => other,
    };
    let profiles: Vec<Profile> = columns.iter().zip(&spec.columns).map(profile).collect();
    let texts: Vec<_> = columns
        .iter()
        .map(|&column| TextColumn::new(slice.column(column)).expect("the type was checked to have text"))
        .collect();
    let mut piece = Piece {
        bytes: Vec::with_capacity(rows * columns.len() * 16),
        entries: Vec::with_capacity(rows),
        rows,
        nulls: 0,
        unreadable: 0,
        first_null: None,
        samples: vec![Samples::default(); columns.len()],
        met: vec![Met::default(); columns.len()],
        lacking: Vec::new(),
    };
    let mut part = String::new();
    for i in 0..rows {
        let (row, end) = (first + i, piece.bytes.len());
        let (mut null, mut unreadable) = (None, false);
        for (column, (text, profile)) in texts.iter().zip(&profiles).enumerate() {
            let value = text.get(i).unwrap_or("");
            part.clear();
            match profile.canonical(value, &mut part) {
                Reading::Value => match spec.words.mark(value, &part, *profile) {
                    Some((Mark::Null, word)) => {
                        piece.met[column].add(Mark::Null, word);
                        null = null.or(Some(column));
                    }
                    mark => {
                        mark.into_iter().for_each(|(mark, word)| piece.met[column].add(mark, word));
                        encode_part(&part, &mut piece.bytes);
                    }
                },
                Reading::Null => null = null.or(Some(column)),
                Reading::Unreadable => match spec.words.null(value) {
                    Some(word) => {
                        piece.met[column].add(Mark::Null, word);
                        null = null.or(Some(column));
                    }
                    None => {
                        unreadable = true;
                        piece.samples[column].add(origin.number(row), value);
                    }
                },
            }
        }
        match (unreadable, null) {
            (false, None) => piece.entries.push((piece.bytes.len() as u32, row as u32)),
            (true, _) => piece.unreadable += 1,
            (false, Some(column)) => {
                piece.nulls += 1;
                piece.first_null = piece.first_null.or_else(|| Some((origin.number(row), column)));
            }
        }
        if unreadable || null.is_some() {
            piece.lacking.push((row as u32, unreadable));
            piece.bytes.truncate(end);
        }
    }
    piece
}

/// A key to be sorted: the first bytes of its first part, and where it stands.
#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    piece: u32,
    entry: u32,
}

/// Sorts the pieces' keys and puts equal ones together.
fn collect(pieces: Vec<Piece>, mut counts: RowCounts) -> TableKeys {
    let mut entries: Vec<Entry> = pieces
        .par_iter()
        .enumerate()
        .flat_map_iter(|(number, piece)| {
            (0..piece.entries.len()).map(move |entry| Entry {
                prefix: prefix(piece.key(entry)),
                piece: number as u32,
                entry: entry as u32,
            })
        })
        .collect();
    let key = |entry: &Entry| pieces[entry.piece as usize].key(entry.entry as usize);
    entries.par_sort_unstable_by(|a, b| {
        let place = |entry: &Entry| (entry.piece, entry.entry);
        a.prefix.cmp(&b.prefix).then_with(|| compare(key(a), key(b))).then_with(|| place(a).cmp(&place(b)))
    });
    let total = pieces.iter().map(|piece| piece.bytes.len()).sum();
    let mut keys = TableKeys {
        bytes: Vec::with_capacity(total),
        ends: Vec::with_capacity(entries.len()),
        rows: Vec::with_capacity(entries.len()),
        row_ends: Vec::with_capacity(entries.len()),
        counts,
    };
    for same in entries.chunk_by(|a, b| a.prefix == b.prefix && key(a) == key(b)) {
        keys.bytes.extend_from_slice(key(&same[0]));
        keys.ends.push(keys.bytes.len() as u64);
        keys.rows.extend(same.iter().map(|entry| pieces[entry.piece as usize].entries[entry.entry as usize].1));
        keys.row_ends.push(keys.rows.len() as u32);
    }
    counts.items = keys.len();
    counts.duplicates = entries.len() - keys.len();
    TableKeys { counts, ..keys }
}

/// The first eight bytes of the first part, so that most comparisons need no look at the key: where two differ, the
/// keys are in the same order.
pub(crate) fn prefix(key: &[u8]) -> u64 {
    let part = parts(key).next().unwrap_or_default();
    let mut bytes = [0; 8];
    let n = part.len().min(8);
    bytes[..n].copy_from_slice(&part[..n]);
    u64::from_be_bytes(bytes)
}

/// The first two rows of one key, wherever in the table that comes first, are named; the key is not.
fn refuse_duplicates(table: &Table, keys: TableKeys) -> Result<TableKeys> {
    let several = (0..keys.len()).map(|key| keys.rows(key)).filter(|rows| rows.len() > 1);
    match several.min_by_key(|rows| rows[1]) {
        None => Ok(keys),
        Some(rows) => {
            let origin = table.origin();
            Err(same_key(origin, [rows[0], rows[1]].map(|row| origin.number(row as usize))))
        }
    }
}

/// Two rows of these numbers have the same key.
pub(crate) fn same_key(origin: Origin<'_>, [first, second]: [u64; 2]) -> Error {
    Error::Input(format!(
        "{}: {} and {} have the same key; remove one, or, in an intersection, a union or an aggregation, agree on duplicates = \"first\" or \"all\"",
        origin.source,
        origin.place(first),
        origin.place(second)
    ))
}

fn first_rows(keys: TableKeys) -> TableKeys {
    let rows = (0..keys.len()).map(|key| keys.rows(key)[0]).collect();
    let row_ends = (1..=keys.len() as u32).collect();
    TableKeys { rows, row_ends, ..keys }
}

/// Each row as a key of its own: its key, followed by its number among the rows of that.
fn each_row(keys: TableKeys) -> TableKeys {
    let rows = keys.rows.len();
    let of_key = |key: usize| (keys.key(key).len() + COPY_BYTES) * keys.rows(key).len();
    let mut bytes = Vec::with_capacity((0..keys.len()).map(of_key).sum());
    let mut ends = Vec::with_capacity(rows);
    for key in 0..keys.len() {
        for number in 0..keys.rows(key).len() as u32 {
            bytes.extend_from_slice(keys.key(key));
            encode_copy(number, &mut bytes);
            ends.push(bytes.len() as u64);
        }
    }
    let counts = RowCounts { items: rows, duplicates: 0, ..keys.counts };
    TableKeys { bytes, ends, row_ends: (1..=rows as u32).collect(), counts, rows: keys.rows }
}
