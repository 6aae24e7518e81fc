//! Sorting rows by key in bounded memory: sorted runs on disk, then merged.
//!
//! Rows with equal keys stay in the order in which they came.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::io::Cursor;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, BinaryArray, RecordBatch, UInt64Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::interleave::interleave;
use rayon::prelude::*;
use tacita_core::{Error, Progress, Result};

use super::RUNS;
use super::directory::Directory;
use super::heap::{self, Heap};
use crate::store::seal::{SealedReader, SealedWriter};
use crate::table::BATCH_ROWS;
use crate::table::key::build::{Piece, prefix};
use crate::table::key::compare;

/// Runs that are merged at a time. Each has a chunk in memory.
const FAN_IN: usize = 64;

/// Chunks that a merge may hold at once, with those that wait to be written.
const MERGED_CHUNKS: usize = 4 * FAN_IN;

/// A chunk takes between this many bytes ...
const MIN_CHUNK_BYTES: usize = 8 << 10;

/// ... and that many, where rows are not longer than that.
const MAX_CHUNK_BYTES: usize = 4 << 20;

/// Label under which the files of runs are sealed.
const RUN: &str = "run";

/// Columns that are added to a row's own: its key, and where its user finds it.
const ADDED: usize = 2;

/// Rows on their way into order.
pub struct RowSorter<'a> {
    directory: &'a Directory,
    schema: SchemaRef,
    /// Bytes of a run, before it is written.
    run_bytes: usize,
    chunk_bytes: usize,
    runs: Vec<String>,
    made: usize,
    /// Bytes of the runs, and their rows.
    written: u64,
    rows: usize,
    filling: Filling,
}

/// The run that is being filled.
#[derive(Default)]
struct Filling {
    batches: Vec<RecordBatch>,
    keys: Vec<u8>,
    entries: Vec<Entry>,
    /// Size of the batches in bytes.
    bytes: usize,
}

/// A row to be sorted.
#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    /// Start of its key in the buffer.
    start: u64,
    length: u32,
    batch: u32,
    row: u32,
    /// Number by which its user finds it: that of its line, as a rule.
    number: u64,
}

/// Rows in order, a part of them.
pub struct Chunk {
    /// Batches that hold the rows, of each chunk of a run that takes part: own columns, the key, the row's number.
    batches: Vec<RecordBatch>,
    /// Batch and row of each entry.
    places: Vec<(usize, usize)>,
}

impl<'a> RowSorter<'a> {
    /// Sorts rows with these columns in about `memory` bytes.
    pub fn new(directory: &'a Directory, columns: &Schema, memory: usize) -> RowSorter<'a> {
        // What is sorted is in memory once, and beside it what allocators and builders leave unused, and the batches
        // that are being read.
        let run_bytes = memory / 5 * 2;
        let chunk_bytes = (memory / MERGED_CHUNKS).clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES);
        let mut fields: Vec<_> = columns.fields().iter().cloned().collect();
        // No column of a table is without a name.
        fields.push(Arc::new(Field::new("", DataType::Binary, false)));
        fields.push(Arc::new(Field::new("", DataType::UInt64, false)));
        let schema = Arc::new(Schema::new_with_metadata(fields, columns.metadata().clone()));
        RowSorter {
            directory,
            schema,
            run_bytes,
            chunk_bytes,
            runs: Vec::new(),
            made: 0,
            written: 0,
            rows: 0,
            filling: Filling::default(),
        }
    }

    /// Takes rows that come next, those of a batch that have keys. `first` is the number of its first row in the
    /// table, `number` tells where the user finds a row.
    pub fn add(
        &mut self,
        batch: RecordBatch,
        first: usize,
        pieces: &[Piece],
        number: impl Fn(usize) -> u64,
    ) -> Result<()> {
        let filling = &mut self.filling;
        let position = filling.batches.len() as u32;
        self.rows += pieces.iter().map(|piece| piece.keys().len()).sum::<usize>();
        for (key, row) in pieces.iter().flat_map(Piece::keys) {
            filling.entries.push(Entry {
                prefix: prefix(key),
                start: filling.keys.len() as u64,
                length: key.len() as u32,
                batch: position,
                row: row - first as u32,
                number: number(row as usize),
            });
            filling.keys.extend_from_slice(key);
        }
        if self.schema.fields().len() > ADDED {
            filling.bytes += batch_bytes(&batch);
            filling.batches.push(batch);
        }
        if filling.bytes + filling.keys.len() + filling.entries.len() * size_of::<Entry>() >= self.run_bytes {
            self.write_run()?;
        }
        Ok(())
    }

    fn write_run(&mut self) -> Result<()> {
        let Filling { batches, keys, mut entries, bytes } = std::mem::take(&mut self.filling);
        if entries.is_empty() {
            return Ok(());
        }
        let key = |entry: &Entry| &keys[entry.start as usize..][..entry.length as usize];
        entries.par_sort_unstable_by(|a, b| {
            let place = |entry: &Entry| (entry.batch, entry.row);
            a.prefix.cmp(&b.prefix).then_with(|| compare(key(a), key(b))).then_with(|| place(a).cmp(&place(b)))
        });
        let row_bytes = (bytes + keys.len()) / entries.len() + 1;
        let rows = (self.chunk_bytes / row_bytes).clamp(1, BATCH_ROWS);
        let encode = |entries: &[Entry]| -> Result<Vec<u8>> {
            let places: Vec<_> = entries.iter().map(|entry| (entry.batch as usize, entry.row as usize)).collect();
            let mut columns = gather(&batches, &places, self.schema.fields().len() - ADDED)?;
            columns.push(Arc::new(BinaryArray::from_iter_values(entries.iter().map(key))));
            columns.push(Arc::new(UInt64Array::from_iter_values(entries.iter().map(|entry| entry.number))));
            to_bytes(&RecordBatch::try_new(self.schema.clone(), columns).map_err(failed)?)
        };
        let mut writer = self.directory.create_file(&self.run_name(), RUN)?;
        let chunks: Vec<_> = entries.chunks(rows).collect();
        for some in chunks.chunks(rayon::current_num_threads()) {
            for chunk in some.par_iter().map(|entries| encode(entries)).collect::<Result<Vec<_>>>()? {
                writer.write(chunk)?;
            }
        }
        self.end_run(writer)
    }

    fn run_name(&self) -> String {
        RUNS.name(self.made)
    }

    fn end_run(&mut self, writer: SealedWriter) -> Result<()> {
        self.written += writer.end()?;
        self.runs.push(self.run_name());
        self.made += 1;
        Ok(())
    }

    /// Merges all runs, and hands the rows to `take` in order. Returns the number of runs that were written first.
    pub fn merge(mut self, progress: &Progress, take: impl FnMut(Chunk) -> Result<()> + Send) -> Result<usize> {
        self.write_run()?;
        let runs = self.runs.len();
        while self.runs.len() > FAN_IN {
            // Neighbours are merged, and put where they were: equal keys stay in order.
            let some: Vec<_> = self.runs.drain(..).collect();
            for group in some.chunks(FAN_IN) {
                let mut writer = self.directory.create_file(&self.run_name(), RUN)?;
                let write = |chunk: Chunk| writer.write(to_bytes(&chunk.to_batch()?)?).map(drop);
                merge(self.directory, group, self.chunk_bytes, &Progress::default(), write)?;
                self.end_run(writer)?;
                group.iter().try_for_each(|name| self.directory.remove(name))?;
            }
        }
        merge(self.directory, &self.runs, self.chunk_bytes, progress, take)?;
        self.runs.iter().try_for_each(|name| self.directory.remove(name))?;
        Ok(runs)
    }

    /// Rows with a key, so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Bytes of a chunk of rows.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }
}

impl Chunk {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.places.len()
    }

    /// The key of a row.
    pub fn key(&self, row: usize) -> &[u8] {
        let (batch, row) = self.places[row];
        key_column(&self.batches[batch]).value(row)
    }

    /// Returns the number by which the user finds a row.
    pub fn number(&self, row: usize) -> u64 {
        let (batch, row) = self.places[row];
        let batch = &self.batches[batch];
        batch.column(batch.num_columns() - 1).as_primitive::<UInt64Type>().value(row)
    }

    /// Some of the rows, with their own columns alone, and `added` at the end.
    pub fn select(&self, rows: &[usize], added: Vec<ArrayRef>, schema: &SchemaRef) -> Result<RecordBatch> {
        let places: Vec<_> = rows.iter().map(|&row| self.places[row]).collect();
        let mut columns = gather(&self.batches, &places, schema.fields().len() - added.len())?;
        columns.extend(added);
        RecordBatch::try_new(schema.clone(), columns).map_err(failed)
    }

    fn to_batch(&self) -> Result<RecordBatch> {
        let schema = self.batches[0].schema();
        let columns = gather(&self.batches, &self.places, schema.fields().len())?;
        RecordBatch::try_new(schema, columns).map_err(failed)
    }
}

/// The first `columns` columns of these rows of these batches.
fn gather(batches: &[RecordBatch], places: &[(usize, usize)], columns: usize) -> Result<Vec<ArrayRef>> {
    let column = |column: usize| {
        let arrays: Vec<_> = batches.iter().map(|batch| batch.column(column).as_ref()).collect();
        interleave(&arrays, places).map_err(failed)
    };
    (0..columns).map(column).collect()
}

/// A run that is being read.
struct Source {
    reader: SealedReader,
    batch: RecordBatch,
    keys: BinaryArray,
    row: usize,
    /// Prefix of the row's key.
    prefix: u64,
    /// About as many bytes has a row of the batch.
    row_bytes: usize,
    /// Index of the batch among those of the chunk being made, once the chunk includes one of its rows.
    position: Option<usize>,
}

impl Source {
    /// None at its end.
    fn open(directory: &Directory, name: &str) -> Result<Option<Source>> {
        let mut reader = directory.open_file(name, RUN)?;
        let Some(batch) = next_batch(&mut reader)? else { return Ok(None) };
        let keys = key_column(&batch).clone();
        let mut source = Source { keys, reader, batch, row: 0, prefix: 0, row_bytes: 0, position: None };
        source.note();
        Ok(Some(source))
    }

    /// Records the properties of a batch and its first row.
    fn note(&mut self) {
        self.row_bytes = batch_bytes(&self.batch) / self.batch.num_rows() + 1;
        self.prefix = prefix(self.key());
    }

    fn key(&self) -> &[u8] {
        self.keys.value(self.row)
    }

    fn advance(&mut self) -> Result<bool> {
        self.row += 1;
        if self.row == self.batch.num_rows() {
            let Some(batch) = next_batch(&mut self.reader)? else { return Ok(false) };
            (self.keys, self.batch, self.row, self.position) = (key_column(&batch).clone(), batch, 0, None);
            self.note();
            return Ok(true);
        }
        self.prefix = prefix(self.key());
        Ok(true)
    }
}

impl heap::OrderedSource for Source {
    fn order(&self, other: &Source) -> Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| compare(self.key(), other.key()))
    }
}

/// Merges runs, of which earlier ones have the earlier rows. What is read goes on while `take` has the last chunk.
fn merge(
    directory: &Directory,
    runs: &[String],
    chunk_bytes: usize,
    progress: &Progress,
    mut take: impl FnMut(Chunk) -> Result<()> + Send,
) -> Result<()> {
    let (give, taken) = sync_channel(1);
    std::thread::scope(|scope| {
        let taking = scope.spawn(move || {
            let taken: Receiver<Chunk> = taken;
            taken.iter().try_for_each(|chunk| {
                progress.advance(chunk.rows());
                take(chunk)
            })
        });
        let mut sources = Vec::new();
        for name in runs {
            sources.extend(Source::open(directory, name)?);
        }
        let merged = merge_into(&mut sources, chunk_bytes, |chunk| give.send(chunk).is_ok());
        drop(give);
        let taken = taking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        taken.and(merged)
    })
}

/// Hands chunks to `give` until it wants no more.
fn merge_into(sources: &mut [Source], chunk_bytes: usize, mut give: impl FnMut(Chunk) -> bool) -> Result<()> {
    let mut heap = Heap::new(sources);
    let mut chunk = Chunk { batches: Vec::new(), places: Vec::new() };
    let mut bytes = 0;
    while let Some(top) = heap.top() {
        let source = &mut sources[top];
        let position = *source.position.get_or_insert_with(|| {
            chunk.batches.push(source.batch.clone());
            chunk.batches.len() - 1
        });
        chunk.places.push((position, source.row));
        bytes += source.row_bytes;
        let ended = !source.advance()?;
        heap.settle(sources, ended);
        if bytes >= chunk_bytes || chunk.places.len() == BATCH_ROWS {
            sources.iter_mut().for_each(|source| source.position = None);
            bytes = 0;
            if !give(std::mem::replace(&mut chunk, Chunk { batches: Vec::new(), places: Vec::new() })) {
                return Ok(());
            }
        }
    }
    if !chunk.places.is_empty() {
        give(chunk);
    }
    Ok(())
}

fn next_batch(reader: &mut SealedReader) -> Result<Option<RecordBatch>> {
    reader.read_next()?.map(|record| from_bytes(&record)).transpose()
}

fn key_column(batch: &RecordBatch) -> &BinaryArray {
    batch.column(batch.num_columns() - 2).as_binary()
}

/// Bytes of a batch's own part of its buffers.
fn batch_bytes(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter();
    columns.map(|column| column.to_data().get_slice_memory_size().unwrap_or(column.get_array_memory_size())).sum()
}

/// One batch as bytes: an Arrow IPC stream of its own, whatever dictionaries it has.
pub fn to_bytes(batch: &RecordBatch) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, batch.schema_ref()).map_err(failed)?;
    writer.write(batch).and_then(|()| writer.finish()).map_err(failed)?;
    drop(writer);
    Ok(bytes)
}

/// Reads what [`to_bytes`] has written.
pub fn from_bytes(bytes: &[u8]) -> Result<RecordBatch> {
    let mut reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(failed)?;
    let batch = reader.next().ok_or_else(|| Error::Internal("a chunk without rows".into()))?;
    batch.map_err(failed)
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::Internal(format!("rows cannot be sorted: {error}"))
}
