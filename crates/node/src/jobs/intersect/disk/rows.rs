//! The rows that are common, read from the file of rows.

use std::cell::Cell;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use tacita_core::{Error, Result};

use super::ROWS;
use super::directory::Directory;
use super::seal::{Reader, damaged};
use super::sort::from_bytes;
use crate::table::BATCH_ROWS;
use crate::table::output::Rows;

/// What one batch takes at most, about, where its rows are long.
const BATCH_BYTES: usize = 64 << 20;

/// Rows of a sorted table whose keys have a bit set: read as they are asked for.
pub struct Common<'a> {
    directory: &'a Directory,
    schema: SchemaRef,
    /// A bit for each key.
    bits: Vec<u64>,
    /// Rows handed out so far.
    rows: Cell<usize>,
}

impl<'a> Common<'a> {
    /// The rows in `directory` whose keys have these bits set.
    pub fn new(directory: &'a Directory, bits: Vec<u64>) -> Result<Common<'a>> {
        Ok(Common { directory, schema: schema_of(directory)?, bits, rows: Cell::new(0) })
    }

    /// How many rows have been handed out.
    pub fn rows(&self) -> usize {
        self.rows.get()
    }

    /// Rows of a batch as it is on disk, without the key's number.
    fn select(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let last = batch.num_columns() - 1;
        let numbers = batch.column(last).as_primitive::<UInt32Type>();
        let is_common = |number: &u32| self.bits[*number as usize / 64] >> (number % 64) & 1 == 1;
        let wanted: BooleanArray = numbers.values().iter().map(|number| Some(is_common(number))).collect();
        let own = batch.columns()[..last].to_vec();
        let own = RecordBatch::try_new(self.schema.clone(), own).map_err(failed)?;
        filter_record_batch(&own, &wanted).map_err(failed)
    }
}

impl Rows for Common<'_> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn batches(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + '_> {
        let batches = Batches { of: self, reader: None, waiting: Vec::new(), rows: 0, bytes: 0 };
        Box::new(batches.inspect(|batch| {
            let rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
            self.rows.set(self.rows.get() + rows);
        }))
    }
}

/// Batches of as many rows as those of a table in memory.
struct Batches<'a> {
    of: &'a Common<'a>,
    reader: Option<Reader>,
    waiting: Vec<RecordBatch>,
    /// Of those that wait.
    rows: usize,
    bytes: usize,
}

impl Batches<'_> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => self.reader.insert(self.of.directory.open_file(ROWS, ROWS)?),
        };
        while self.rows < BATCH_ROWS && self.bytes < BATCH_BYTES {
            let Some(record) = reader.next()? else { break };
            let batch = self.of.select(&from_bytes(&record)?)?;
            if batch.num_rows() > 0 {
                self.rows += batch.num_rows();
                self.bytes += batch.get_array_memory_size();
                self.waiting.push(batch);
            }
        }
        if self.rows == 0 {
            return Ok(None);
        }
        let all = concat_batches(&self.of.schema, &self.waiting).map_err(failed)?;
        self.waiting.clear();
        let rows = self.rows.min(BATCH_ROWS);
        self.rows -= rows;
        self.bytes = 0;
        if self.rows > 0 {
            self.waiting.push(all.slice(rows, self.rows));
        }
        Ok(Some(all.slice(0, rows)))
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}

/// The schema of the table whose rows are in the file of rows, which its first batch, an empty one, has.
fn schema_of(directory: &Directory) -> Result<SchemaRef> {
    let mut file = directory.open_file(ROWS, ROWS)?;
    let record = file.next()?.ok_or_else(|| damaged(&directory.path(ROWS)))?;
    let schema = from_bytes(&record)?.schema();
    let own = schema.fields()[..schema.fields().len() - 1].to_vec();
    Ok(Schema::new_with_metadata(own, schema.metadata().clone()).into())
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::Internal(format!("rows cannot be selected: {error}"))
}
