//! Rows that belong to items: several where a key occurs several times.

use crate::error::{Error, Result};

/// Bytes of a number of rows on the wire: 32 bits, least significant byte first.
pub(crate) const COUNT_BYTES: usize = 4;

/// Rows of one length for each of a list of items: at least one row an item.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    row_bytes: usize,
    /// Row `offsets[i]` is the first of item i; one offset more than items.
    offsets: Vec<u32>,
    bytes: Vec<u8>,
}

impl Payload {
    /// Creates an empty payload, for rows of `row_bytes` each.
    pub fn new(row_bytes: usize) -> Payload {
        Payload { row_bytes, offsets: vec![0], bytes: Vec::new() }
    }

    /// Appends an item with its rows: `rows` holds one or more, one after the other.
    pub fn push(&mut self, count: usize, rows: &[u8]) -> Result<()> {
        let total = self.rows() as u64 + count as u64;
        let wrong = if count == 0 {
            "an item has no row".into()
        } else if count.checked_mul(self.row_bytes) != Some(rows.len()) {
            format!("{count} rows of {} bytes are {} bytes", self.row_bytes, rows.len())
        } else if total > u64::from(u32::MAX) {
            "a payload has 2^32 rows or more".into()
        } else {
            self.bytes.extend_from_slice(rows);
            self.offsets.push(total as u32);
            return Ok(());
        };
        Err(Error::Internal(wrong))
    }

    /// Length of a row.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Returns the number of items.
    pub fn items(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of rows of all items.
    pub fn rows(&self) -> usize {
        *self.offsets.last().expect("there is always a first offset") as usize
    }

    /// Number of rows of an item.
    pub fn rows_of(&self, item: usize) -> usize {
        (self.offsets[item + 1] - self.offsets[item]) as usize
    }

    /// Rows of an item, one after the other.
    pub fn item(&self, item: usize) -> &[u8] {
        let row = |index: usize| self.offsets[index] as usize * self.row_bytes;
        &self.bytes[row(item)..row(item + 1)]
    }

    /// The number of the first row of each item, and the number of all rows.
    pub(crate) fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Row `row` of all.
    pub(crate) fn row(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.row_bytes..(row + 1) * self.row_bytes]
    }
}

/// Rows are data: they are never printed.
impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Payload({} items, {} rows of {} bytes)", self.items(), self.rows(), self.row_bytes)
    }
}
