//! Limits on the size of a table while it is read. A file can claim in a few bytes that it holds more than any
//! machine has. Nothing is therefore made of it before its size has been estimated.

use std::collections::HashSet;

use arrow_array::{Array, RecordBatch};
use tacita_core::{Error, Result};

use super::{MAX_ROWS, too_many_rows};
use crate::base::memory::Limit;
use crate::base::text;

/// Most columns in a table.
pub const MAX_COLUMNS: usize = 100_000;

/// The longest record of a text file.
pub(super) const MAX_RECORD_BYTES: u64 = 64 << 20;

/// The most that a table may be, and hold while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of rows.
    pub rows: usize,
    /// Bytes of memory; if absent, what the machine has available when the reading begins.
    pub bytes: Option<u64>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { rows: MAX_ROWS, bytes: None }
    }
}

impl Budget {
    /// Bytes of memory, now.
    pub(super) fn bytes(&self) -> u64 {
        Limit::of(self.bytes).bytes()
    }
}

/// Remainder of a [`Budget`] while a table is read.
#[derive(Debug)]
pub(super) struct Meter {
    /// Rows that may still come.
    rows: usize,
    /// Bytes in all, and what is left of them.
    all: u64,
    left: u64,
    /// Buffers of the batch before: batches of one block of a file share its memory.
    seen: HashSet<usize>,
}

impl Meter {
    pub fn new(budget: &Budget) -> Meter {
        let all = budget.bytes();
        Meter { rows: budget.rows.min(MAX_ROWS), all, left: all, seen: HashSet::new() }
    }

    /// Takes a batch that is kept.
    pub fn keep(&mut self, name: &str, batch: &RecordBatch) -> Result<()> {
        self.rows = self.rows.checked_sub(batch.num_rows()).ok_or_else(|| too_many_rows(name))?;
        let mut seen = HashSet::new();
        // Values that take no memory, as those that are all absent, count as a bit each: nothing is for nothing.
        let mut bytes = (batch.num_rows().saturating_mul(batch.num_columns()) / 8) as u64;
        let mut left: Vec<_> = batch.columns().iter().map(|column| column.to_data()).collect();
        while let Some(data) = left.pop() {
            let nulls = data.nulls().map(|nulls| nulls.buffer());
            for buffer in data.buffers().iter().chain(nulls) {
                let place = buffer.data_ptr().as_ptr() as usize;
                if seen.insert(place) && !self.seen.contains(&place) {
                    bytes = bytes.saturating_add(buffer.capacity() as u64);
                }
            }
            left.extend(data.child_data().iter().cloned());
        }
        self.seen = seen;
        self.take(name, bytes)
    }

    /// Takes memory that is kept.
    pub fn take(&mut self, name: &str, bytes: u64) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| too_large(name, self.all))?;
        Ok(())
    }

    /// Bytes that may still be taken.
    pub fn left(&self) -> u64 {
        self.left
    }
}

/// The error about a table that takes more than `bytes` of memory.
pub(super) fn too_large(name: &str, bytes: u64) -> Error {
    Error::Input(format!(
        "{name}: takes more than the {} of memory allowed here: split it, or, in an intersection, sort it on disk with --work",
        text::bytes(bytes)
    ))
}

/// The error about a table with more than [`MAX_COLUMNS`].
pub(super) fn too_many_columns(name: &str) -> Error {
    Error::Input(format!("{name}: more than {MAX_COLUMNS} columns; leave some out"))
}
