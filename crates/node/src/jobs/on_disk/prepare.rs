//! Conversion of a table of any length to a file of its keys and one of its rows, both in the order of the keys.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use rayon::prelude::*;
use tacita_core::{Error, Progress, Result};

use super::directory::{Directory, InputFile, Sorted};
use super::sort::{Chunk, RowSorter, to_bytes};
use super::{KEYS, ROWS, RUNS};
use crate::base::files::is_read_once;
use crate::base::hex::hex;
use crate::store::seal::{SealedReader, SealedWriter};
use crate::table::key::build::{Tally, find_columns, read_pieces, same_key};
use crate::table::key::encode_copy;
use crate::table::read::{self, Stream};
use crate::table::{Duplicates, KeySpec, Lines, Origin, ReadOptions, RowCounts};
use crate::watch::warn_own_user;

/// Divisor that gives a batch's part of the run's memory while it is read: some are on their way at once.
const BATCH_PART: usize = 32;

/// Factor by which a table of short rows grows on disk compared with its text, as measured; others grow less.
const TIMES_TEXT: u64 = 5;

/// A batch takes between this many bytes ...
const MIN_BATCH_BYTES: usize = 64 << 10;

/// ... and that many.
const MAX_BATCH_BYTES: usize = 8 << 20;

/// Table to be prepared, and options for it.
pub struct Preparation<'a> {
    /// Path of the table.
    pub path: &'a Path,
    /// Options with which it is read.
    pub options: ReadOptions,
    /// Specification of its key.
    pub spec: &'a KeySpec,
    /// Whether rows are kept: those of a party that learns.
    pub rows: bool,
    /// Whether rows are kept with their numbers.
    pub numbered: bool,
    /// Memory limit in bytes.
    pub memory: usize,
}

/// Estimates the bytes on disk that a run with this table needs while it is sorted.
pub fn room_for(path: &Path) -> Result<u64> {
    Ok(InputFile::of(path, String::new())?.bytes.saturating_mul(TIMES_TEXT))
}

/// Sorts a table into `directory`.
///
/// Errors: those of a table in memory; a file that was changed meanwhile; a disk that is full.
pub fn prepare(directory: &Directory, preparation: &Preparation<'_>, progress: &Progress) -> Result<Sorted> {
    let &Preparation { path, ref options, spec, memory, .. } = preparation;
    RUNS.remove_all(directory)?;
    let before = InputFile::of(path, String::new())?;
    directory.note_needed(room_for(path)?);
    let batch_bytes = (memory / BATCH_PART).clamp(MIN_BATCH_BYTES, MAX_BATCH_BYTES);
    let stream = read::open(path, options, batch_bytes)?;
    let source = stream.source().to_owned();
    let columns = find_columns(&source, stream.schema(), spec)?;
    let own = if preparation.rows { stream.schema().clone() } else { Arc::new(Schema::empty()) };
    let mut sorter = RowSorter::new(directory, &own, memory);
    let mut tally = Tally::new(spec);
    let (mut first, mut is_text) = (None, false);
    let stopped = AtomicBool::new(false);

    let file = std::thread::scope(|scope| {
        let hashing = scope.spawn(|| hash_file(path, &stopped));
        let (give, taken) = sync_channel(1);
        let reading = scope.spawn(move || read_all(stream, progress, |batch| give.send(batch).is_ok()));
        let added = taken.iter().try_for_each(|Batch { batch, row, lines }| {
            first.get_or_insert_with(|| batch.clone());
            is_text = lines.is_some();
            let origin = Origin { source: &source, lines: lines.as_ref(), first: None };
            let pieces = read_pieces(&batch, row, spec, &columns, origin);
            pieces.iter().for_each(|piece| tally.add(piece));
            sorter.add(batch, row, &pieces, |row| origin.number(row))
        });
        // Whoever reads waits for someone to take it.
        drop(taken);
        let read = added.and(join(reading.join()));
        stopped.store(read.is_err(), Ordering::Relaxed);
        let digest = join(hashing.join());
        read.and(digest)
    })?;

    let none = Lines::default();
    let origin = Origin { source: &source, lines: is_text.then_some(&none), first: first.as_ref() };
    for warning in tally.check(spec, origin)? {
        warn_own_user(&warning);
    }
    if InputFile::of(path, String::new())? != before {
        return Err(Error::Input(format!("{source}: the file changed while it was read: run again")));
    }
    directory.note_needed(sorter.written());

    progress.start("sorting", sorter.rows());
    let mut ordered = Ordered::new(directory, &own, preparation, sorter.chunk_bytes())?;
    let runs = sorter.merge(progress, |chunk| ordered.add(&chunk))?;
    let sorted = ordered.finish(tally.counts, file, runs, is_text)?;
    match sorted.1 {
        Some(twice) if spec.duplicates == Duplicates::Error => Err(same_key(origin, twice)),
        _ => Ok(sorted.0),
    }
}

fn join<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A batch on its way.
struct Batch {
    batch: RecordBatch,
    /// Number of its first row in the table.
    row: usize,
    /// Lines of its rows in a text file.
    lines: Option<Lines>,
}

/// Reads a table to its end, or until nobody wants more.
fn read_all(mut stream: Stream, progress: &Progress, mut give: impl FnMut(Batch) -> bool) -> Result<()> {
    progress.start("reading", stream.units().unwrap_or(0) as usize);
    let (mut row, mut done) = (0, 0);
    while let Some(batch) = stream.next_batch()? {
        let lines = stream.lines().map(|lines| {
            lines.forget_before(row);
            lines.clone()
        });
        let next = row + batch.num_rows();
        if !give(Batch { batch, row, lines }) {
            return Ok(());
        }
        row = next;
        let now = stream.done();
        progress.advance((now - done) as usize);
        done = now;
    }
    Ok(())
}

/// BLAKE3 of a file; none of standard input, which can be read only once, or if nobody wants it any more.
fn hash_file(path: &Path, stopped: &AtomicBool) -> Result<Option<[u8; 32]>> {
    if is_read_once(path) {
        return Ok(None);
    }
    let failed = |error: std::io::Error| Error::Input(format!("{}: cannot be read: {error}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    let mut hasher = blake3::Hasher::new();
    let mut part = vec![0; 1 << 18];
    while !stopped.load(Ordering::Relaxed) {
        match file.read(&mut part) {
            Ok(0) => return Ok(Some(hasher.finalize().into())),
            Ok(length) => drop(hasher.update(&part[..length])),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => (),
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(None)
}

/// Whether the file is the one that was sorted.
pub fn is_same(path: &Path, sorted: &Sorted) -> Result<bool> {
    Ok(hash_file(path, &AtomicBool::new(false))?.map(|digest| hex(&digest)) == sorted.file)
}

/// The files of keys and rows, as they are filled.
struct Ordered {
    duplicates: Duplicates,
    keys: SealedWriter,
    rows: Option<SealedWriter>,
    /// Schema of the file of rows: own columns, the number of the row if rows are numbered, and the number of the key.
    schema: SchemaRef,
    numbered: bool,
    /// Keys on their way: each as its length and its bytes.
    buffer: Vec<u8>,
    buffer_bytes: usize,
    hasher: blake3::Hasher,
    /// Key of the last row.
    key: Vec<u8>,
    /// Number of the last row among the rows of that key.
    copy: u32,
    items: usize,
    repeated: usize,
    /// Place of the first row of the last key, and whether there was a second one.
    last: (u64, bool),
    /// The two first rows of a key, of that whose second one comes first.
    twice: Option<[u64; 2]>,
}

impl Ordered {
    fn new(directory: &Directory, own: &Schema, preparation: &Preparation<'_>, buffer_bytes: usize) -> Result<Ordered> {
        let mut fields: Vec<_> = own.fields().iter().cloned().collect();
        if preparation.numbered {
            fields.push(Arc::new(Field::new("", DataType::UInt64, false)));
        }
        fields.push(Arc::new(Field::new("", DataType::UInt32, false)));
        let schema = Arc::new(Schema::new_with_metadata(fields, own.metadata().clone()));
        let mut rows = preparation.rows.then(|| directory.create_file(ROWS, ROWS)).transpose()?;
        if let Some(rows) = &mut rows {
            // A table without rows has columns, too.
            rows.write(to_bytes(&RecordBatch::new_empty(schema.clone()))?)?;
        }
        Ok(Ordered {
            duplicates: preparation.spec.duplicates,
            keys: directory.create_file(KEYS, KEYS)?,
            rows,
            schema,
            numbered: preparation.numbered,
            buffer: Vec::new(),
            buffer_bytes,
            hasher: blake3::Hasher::new_derive_key("tacita 1 work keys"),
            key: Vec::new(),
            copy: 0,
            items: 0,
            repeated: 0,
            last: (0, false),
            twice: None,
        })
    }

    fn add(&mut self, chunk: &Chunk) -> Result<()> {
        let (mut rows, mut numbers) = (Vec::with_capacity(chunk.rows()), Vec::with_capacity(chunk.rows()));
        for row in 0..chunk.rows() {
            let key = chunk.key(row);
            let first = self.items == 0 || self.key != key;
            if first {
                self.key.clear();
                self.key.extend_from_slice(key);
                self.copy = 0;
                self.last = (chunk.number(row), false);
            } else {
                self.copy += 1;
                let number = chunk.number(row);
                if !std::mem::replace(&mut self.last.1, true) && self.twice.is_none_or(|[_, second]| number < second) {
                    self.twice = Some([self.last.0, number]);
                }
            }
            match self.duplicates {
                Duplicates::Multiset => {
                    let mut own = key.to_vec();
                    encode_copy(self.copy, &mut own);
                    self.add_key(&own);
                }
                _ if first => self.add_key(key),
                _ => self.repeated += 1,
            }
            if first || self.duplicates != Duplicates::First {
                rows.push(row);
                numbers.push((self.items - 1) as u32);
            }
            if self.buffer.len() >= self.buffer_bytes {
                self.write_keys()?;
            }
        }
        match &mut self.rows {
            Some(file) if !rows.is_empty() => {
                let keys: ArrayRef = Arc::new(UInt32Array::from(numbers));
                let added = if self.numbered {
                    vec![Arc::new(UInt64Array::from_iter_values(rows.iter().map(|&row| chunk.number(row)))), keys]
                } else {
                    vec![keys]
                };
                let batch = chunk.select(&rows, added, &self.schema)?;
                file.write(to_bytes(&batch)?).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn add_key(&mut self, key: &[u8]) {
        self.items += 1;
        self.buffer.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(key);
    }

    fn write_keys(&mut self) -> Result<()> {
        self.hasher.update(&self.buffer);
        self.keys.write(std::mem::take(&mut self.buffer)).map(drop)
    }

    /// Returns the sorted data now on disk, and two rows of one key, if there are any.
    fn finish(
        mut self,
        counts: RowCounts,
        file: Option<[u8; 32]>,
        runs: usize,
        lines: bool,
    ) -> Result<(Sorted, Option<[u64; 2]>)> {
        if !self.buffer.is_empty() {
            self.write_keys()?;
        }
        let (keys, _) = self.keys.finish()?;
        let rows = self.rows.map(SealedWriter::finish).transpose()?;
        self.hasher.update(&file.unwrap_or_default());
        let sorted = Sorted {
            counts: RowCounts { items: self.items, duplicates: self.repeated, ..counts },
            keys: hex(&keys),
            rows: rows.map(|(id, _)| hex(&id)),
            digest: hex(self.hasher.finalize().as_bytes()),
            file: file.map(|digest| hex(&digest)),
            runs,
            lines,
        };
        Ok((sorted, self.twice))
    }
}

/// The keys of a sorted table, one after the other, a record at a time.
pub struct SortedKeys(SealedReader);

impl SortedKeys {
    /// Begins to read them.
    pub fn open(directory: &Directory) -> Result<SortedKeys> {
        directory.open_file(KEYS, KEYS).map(SortedKeys)
    }

    /// Makes something of each key of the next record; none at the end.
    pub fn next<T: Send>(&mut self, make: impl Fn(&[u8]) -> T + Sync) -> Result<Option<Vec<T>>> {
        let Some(record) = self.0.read_next()? else { return Ok(None) };
        let keys = keys_of(&record).ok_or_else(|| Error::Internal("keys that are no keys".into()))?;
        Ok(Some(keys.par_iter().with_min_len(256).map(|key| make(key)).collect()))
    }
}

/// The keys of a record of the file of keys.
fn keys_of(mut record: &[u8]) -> Option<Vec<&[u8]>> {
    let mut keys = Vec::new();
    while !record.is_empty() {
        let (length, rest) = record.split_first_chunk()?;
        let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        keys.push(key);
        record = rest;
    }
    Some(keys)
}
