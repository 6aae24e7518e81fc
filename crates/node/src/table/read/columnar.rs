//! Common code for Parquet and Arrow files: batches of a library, whose size is estimated and which are cut.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::{RecordBatch, new_empty_array};
use arrow_schema::{Schema, SchemaRef};
use tacita_core::Result;

use super::{Source, unreadable};
use crate::table::columns::under;
use crate::table::weight::rows_within;
use crate::table::{BATCH_ROWS, Lines};

/// Source of a file's batches.
pub(super) trait Batches: Send {
    /// The next batch, which may take so much memory; none at the end.
    fn next(&mut self, name: &str, memory: u64) -> Result<Option<RecordBatch>>;
}

/// A file has at most so many rows for each of its bytes: even rows that are all alike take a little.
const ROWS_PER_BYTE: u64 = 1 << 16;

/// A typed file that is being read.
pub(super) struct Columnar {
    name: String,
    batches: Box<dyn Batches>,
    /// Remainder of a batch of the file that is larger than ours.
    rest: Option<RecordBatch>,
    /// Schema that names the columns, if the file itself does not.
    schema: Option<SchemaRef>,
    /// Bytes of the file, and rows in all, where it says.
    file_bytes: u64,
    rows: Option<u64>,
    done: u64,
    /// Approximate size in bytes of the texts in one of our batches.
    batch_bytes: usize,
    /// Number of rows that are examined to make the next batch.
    look: usize,
}

impl Columnar {
    /// Batches of a file of so many bytes, with so many rows if that is known.
    pub fn new(
        name: &str,
        batches: Box<dyn Batches>,
        (file_bytes, rows): (u64, Option<u64>),
        batch_bytes: usize,
    ) -> Columnar {
        let name = name.to_owned();
        Columnar { name, batches, rest: None, schema: None, file_bytes, rows, done: 0, batch_bytes, look: BATCH_ROWS }
    }

    /// The same under the names of another schema, which is else the file's own.
    pub fn under(self, schema: SchemaRef) -> Columnar {
        Columnar { schema: Some(schema), ..self }
    }

    /// Rows in all, where the file says.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }
}

impl Source for Columnar {
    /// The batches, cut to at most [`BATCH_ROWS`] rows, and to texts of `batch_bytes` wherever they are kept.
    fn next_batch(&mut self, memory: u64) -> Result<Option<RecordBatch>> {
        let Columnar { name, batches, rest, schema, file_bytes, done, batch_bytes, look, .. } = self;
        let batch = match rest.take() {
            Some(batch) => batch,
            None => match guarded(name, || batches.next(name, memory))? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        if *done + batch.num_rows() as u64 > file_bytes.saturating_mul(ROWS_PER_BYTE) {
            return Err(unreadable(name, "it claims more rows than a file of its length can have"));
        }
        let looked_at = batch.num_rows().min(*look);
        let rows = rows_within(&batch.slice(0, looked_at), *batch_bytes);
        // Of rows that are long, the next few are looked at and not always all that are left.
        *look = if rows < looked_at { 4 * rows } else { look.saturating_mul(4).clamp(1, BATCH_ROWS) };
        *done += rows as u64;
        if rows < batch.num_rows() {
            *rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        let batch = batch.slice(0, rows);
        Ok(Some(schema.as_ref().map_or(Ok(batch.clone()), |schema| under(&batch, schema))?))
    }

    fn lines(&mut self) -> Option<&mut Lines> {
        None
    }

    fn done(&self) -> u64 {
        self.done
    }
}

/// Ends in a panic if a column has a type that cannot be, as bytes of a negative length: for [`guarded`].
pub(super) fn check_types(schema: &Schema) {
    schema.fields().iter().for_each(|field| drop(new_empty_array(field.data_type())));
}

/// Runs a decoder of a library that panics on some corrupt files, and makes that the same error as any other. Only
/// panics end here: what would overflow the stack, or take more memory than there is, is refused before it gets to the
/// decoder.
pub(super) fn guarded<T>(name: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(unreadable(name, "the file is corrupt; write it again")))
}
