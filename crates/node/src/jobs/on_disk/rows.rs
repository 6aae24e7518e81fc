//! The rows that are common, read from the file of rows.

use std::cell::Cell;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use tacita_core::{Error, Result};

use super::ROWS;
use super::directory::Directory;
use super::sort::from_bytes;
use crate::store::seal::{Reader, damaged};
use crate::table::BATCH_ROWS;
use crate::table::output::Rows;

/// What one batch takes at most, about, where its rows are long.
const BATCH_BYTES: usize = 64 << 20;

/// Rows of a sorted table whose keys have a bit set: read as they are asked for.
pub struct Common {
    directory: Arc<Directory>,
    schema: SchemaRef,
    /// A bit for each key.
    bits: Vec<u64>,
    /// How many there are, once all have been read.
    rows: Cell<Option<usize>>,
}

impl Common {
    /// The rows in `directory` whose keys have these bits set.
    pub fn new(directory: Arc<Directory>, bits: Vec<u64>) -> Result<Common> {
        Ok(Common { schema: schema_of(&directory)?, directory, bits, rows: Cell::new(None) })
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

impl Rows for Common {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn batches(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + '_> {
        Box::new(Batches { of: self, reader: None, waiting: Vec::new(), rows: 0, bytes: 0, handed_out: 0 })
    }

    fn count(&self) -> Result<usize> {
        match self.rows.get() {
            Some(rows) => Ok(rows),
            None => self.batches().try_fold(0, |rows, batch| Ok(rows + batch?.num_rows())),
        }
    }
}

/// Batches of as many rows as those of a table in memory.
struct Batches<'a> {
    of: &'a Common,
    reader: Option<Reader>,
    waiting: Vec<RecordBatch>,
    /// Of those that wait.
    rows: usize,
    bytes: usize,
    /// Rows up to now.
    handed_out: usize,
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
            self.of.rows.set(Some(self.handed_out));
            return Ok(None);
        }
        let all = concat_batches(&self.of.schema, &self.waiting).map_err(failed)?;
        self.waiting.clear();
        let rows = self.rows.min(BATCH_ROWS);
        self.rows -= rows;
        self.handed_out += rows;
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
