//! Rows on disk, read as they are asked for.

use std::sync::{Arc, OnceLock};

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
use crate::store::seal::{SealedReader, damaged};
use crate::table::BATCH_ROWS;
use crate::table::output::RowSource;

/// Approximate maximum size of one batch in bytes, if its rows are long.
const BATCH_BYTES: usize = 64 << 20;

/// Rows of a file in which they are in order: read as they are asked for.
pub struct SortedRows {
    directory: Arc<Directory>,
    name: &'static str,
    schema: SchemaRef,
    which: Which,
    /// Number of rows, once all have been read.
    rows: OnceLock<usize>,
}

/// Selection of rows of a file.
enum Which {
    /// Rows of a sorted table whose keys have a bit set: a bit for each key.
    Common(Vec<u64>),
    /// Every row of a sorted table.
    Sorted,
    /// Every row of a file that has no numbers of keys.
    Plain,
}

impl SortedRows {
    /// The rows of the sorted table in `directory` whose keys have these bits set.
    pub fn common(directory: Arc<Directory>, bits: Vec<u64>) -> Result<SortedRows> {
        SortedRows::new(directory, ROWS, Which::Common(bits))
    }

    /// Returns all rows of the sorted table in `directory`.
    pub fn sorted(directory: Arc<Directory>) -> Result<SortedRows> {
        SortedRows::new(directory, ROWS, Which::Sorted)
    }

    /// Returns all rows of another file in `directory`.
    pub fn plain(directory: Arc<Directory>, name: &'static str) -> Result<SortedRows> {
        SortedRows::new(directory, name, Which::Plain)
    }

    fn new(directory: Arc<Directory>, name: &'static str, which: Which) -> Result<SortedRows> {
        let all = Batches::open(&directory, name)?.schema;
        let schema = match which {
            Which::Plain => all,
            // Without the key's number.
            Which::Common(_) | Which::Sorted => {
                let own = all.fields()[..all.fields().len() - 1].to_vec();
                Schema::new_with_metadata(own, all.metadata().clone()).into()
            }
        };
        Ok(SortedRows { directory, name, schema, which, rows: OnceLock::new() })
    }

    /// Rows of a batch as it is on disk, those that are wanted.
    fn select(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let bits = match &self.which {
            Which::Plain => return Ok(batch),
            Which::Sorted => None,
            Which::Common(bits) => Some(bits),
        };
        let last = batch.num_columns() - 1;
        let own = RecordBatch::try_new(self.schema.clone(), batch.columns()[..last].to_vec()).map_err(failed)?;
        let Some(bits) = bits else { return Ok(own) };
        let is_common = |number: &u32| bits[*number as usize / 64] >> (number % 64) & 1 == 1;
        let wanted: BooleanArray = key_numbers(&batch).iter().map(|number| Some(is_common(number))).collect();
        filter_record_batch(&own, &wanted).map_err(failed)
    }
}

/// The numbers of the keys of a batch of a sorted table.
pub fn key_numbers(batch: &RecordBatch) -> &[u32] {
    batch.column(batch.num_columns() - 1).as_primitive::<UInt32Type>().values()
}

/// The batches of a file of rows, as they are on disk.
pub struct Batches {
    reader: SealedReader,
    /// Their columns, which the first batch tells: an empty one.
    pub schema: SchemaRef,
}

impl Batches {
    /// Begins to read a file.
    pub fn open(directory: &Directory, name: &str) -> Result<Batches> {
        let mut reader = directory.open_file(name, name)?;
        let record = reader.read_next()?.ok_or_else(|| damaged(&directory.path(name)))?;
        Ok(Batches { reader, schema: from_bytes(&record)?.schema() })
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.reader.read_next().transpose().map(|record| from_bytes(&record?))
    }
}

impl RowSource for SortedRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn batches(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + '_> {
        Box::new(Rebatched { of: self, reader: None, waiting: Vec::new(), rows: 0, bytes: 0, handed_out: 0 })
    }

    fn count(&self) -> Result<usize> {
        match self.rows.get() {
            Some(rows) => Ok(*rows),
            None => self.batches().try_fold(0, |rows, batch| Ok(rows + batch?.num_rows())),
        }
    }
}

/// Batches of as many rows as those of a table in memory.
struct Rebatched<'a> {
    of: &'a SortedRows,
    reader: Option<Batches>,
    waiting: Vec<RecordBatch>,
    /// Number of rows in the waiting batches.
    rows: usize,
    bytes: usize,
    /// Rows up to now.
    handed_out: usize,
}

impl Rebatched<'_> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => self.reader.insert(Batches::open(&self.of.directory, self.of.name)?),
        };
        while self.rows < BATCH_ROWS && self.bytes < BATCH_BYTES {
            let Some(batch) = reader.next().transpose()? else { break };
            let batch = self.of.select(batch)?;
            if batch.num_rows() > 0 {
                self.rows += batch.num_rows();
                self.bytes += batch.get_array_memory_size();
                self.waiting.push(batch);
            }
        }
        if self.rows == 0 {
            let _ = self.of.rows.set(self.handed_out);
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

impl Iterator for Rebatched<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::Internal(format!("rows cannot be selected: {error}"))
}
