//! Tables in memory, read batch by batch like files.

use arrow_array::RecordBatch;
use tacita_core::Result;

use super::{Compression, FileForm, ReadOptions, Source, Stream};
use crate::table::{BATCH_ROWS, Lines, Table};

/// Source of the batches of a table in memory.
struct InMemory {
    batches: Vec<RecordBatch>,
    /// The batch that comes next, and its first row that was not handed out.
    batch: usize,
    row: usize,
    done: u64,
}

impl Stream {
    /// Returns the rows of a table in memory batch by batch. Buffers are shared and never copied.
    pub fn in_memory(table: &Table) -> Stream {
        let form = FileForm { name: "table in memory", packed: Compression::None, text: None, sheet: None };
        let source = InMemory { batches: table.batches().to_vec(), batch: 0, row: 0, done: 0 };
        let (schema, rows) = (table.schema().clone(), Some(table.rows() as u64));
        Stream::of(table.source(), form, schema, Box::new(source), rows, &ReadOptions::default())
    }
}

impl Source for InMemory {
    fn next_batch(&mut self, _memory: u64) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.batches.get(self.batch) else { return Ok(None) };
        let part = batch.slice(self.row, BATCH_ROWS.min(batch.num_rows() - self.row));
        self.row += part.num_rows();
        self.done += part.num_rows() as u64;
        if self.row == batch.num_rows() {
            (self.batch, self.row) = (self.batch + 1, 0);
        }
        Ok(Some(part))
    }

    fn lines(&mut self) -> Option<&mut Lines> {
        None
    }

    fn done(&self) -> u64 {
        self.done
    }
}
