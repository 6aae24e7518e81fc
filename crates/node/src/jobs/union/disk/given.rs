//! Data that a sender gives, on disk in a random order.

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_schema::Schema;
use rand_core::Rng;
use tacita_core::protocol::union::{ItemSource, SenderItems, Sorter};
use tacita_core::{Error, ITEM_BYTES, Item, Progress, Result};
use zeroize::Zeroizing;

use super::{Agreed, Disk};
use crate::agreement::JobSpec;
use crate::jobs::on_disk::prepare::SortedKeys;
use crate::jobs::on_disk::records::{ByPlace, FileWriter};
use crate::jobs::on_disk::rows::{Batches, key_numbers};
use crate::jobs::on_disk::table::SortedTable;
use crate::jobs::on_disk::{GIVEN, ITEMS, ROWS};
use crate::jobs::union::load::{COUNT_BYTES, MIN_TEXT_BYTES, counts_rows, given_headers};
use crate::store::seal::damaged;
use crate::table::payload::{Layout, PayloadSchema};

/// Bytes of the random number that an item goes by: so many that no two are the same, but with probability 2^-64.
const NUMBER_BYTES: usize = 16;

/// Measurements of the given data, as far as the rows tell.
pub(super) struct Measured {
    layout: Layout,
    /// Most rows that one key has, and the number of the first of them.
    most: (usize, u64),
    /// Whether rows are numbered by the lines of a text file.
    lines: bool,
    /// Whether it is said for each key how many rows it has.
    counted: bool,
}

impl Measured {
    /// Reads all rows of a sorted table, which are there with their numbers.
    pub fn of(job: &JobSpec, me: &str, table: &SortedTable<Agreed>, source: &str) -> Result<Measured> {
        let (columns, texts) = given_headers(job, me);
        let batches = Batches::open(table.directory(), ROWS)?;
        // Without the numbers of rows and keys.
        let fields = batches.schema.fields();
        let own = Schema::new(fields[..fields.len().saturating_sub(2)].to_vec());
        let longest = job.limits.max_text.map(|bytes| bytes as usize);
        let layout = Layout::new(source, &own, &columns, texts, longest)?;
        let (lines, counted) = (table.sorted().lines, counts_rows(job));
        let mut measured = Measured { layout, most: (0, 0), lines, counted };
        let (mut key, mut rows, mut first) = (None, 0, 0);
        for batch in batches {
            let batch = batch?;
            let numbers = row_numbers(&batch);
            measured.layout.check_days(&batch, |row| place(lines, numbers[row]))?;
            let given = measured.layout.of_batch(&batch)?;
            for (row, (of_key, &number)) in key_numbers(&batch).iter().zip(numbers).enumerate() {
                measured.layout.measure(&given, row, number, |number| place(lines, number))?;
                if key != Some(*of_key) {
                    (key, rows, first) = (Some(*of_key), 0, number);
                }
                rows += 1;
                if rows >= measured.most.0 {
                    measured.most = (rows, first);
                }
            }
        }
        measured.layout.settle()?;
        if longest.is_none() {
            measured.layout.round(MIN_TEXT_BYTES)?;
        }
        if let Some(filling) = measured.layout.filling(|number| place(lines, number)) {
            tracing::warn!("{filling}");
        }
        Ok(measured)
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> &PayloadSchema {
        self.layout.schema()
    }

    /// Most rows that one key has.
    pub fn most_rows(&self) -> usize {
        self.most.0
    }

    /// Returns the place of that key.
    pub fn fullest(&self) -> String {
        place(self.lines, self.most.1)
    }
}

/// Returns the place where the user finds the row of this number.
fn place(lines: bool, number: u64) -> String {
    format!("{} {number}", if lines { "line" } else { "row" })
}

/// The numbers of the rows of a batch, which stand before those of their keys.
fn row_numbers(batch: &RecordBatch) -> &[u64] {
    batch.column(batch.num_columns() - 2).as_primitive::<UInt64Type>().values()
}

/// Data that a sender gives, in a random order.
pub(crate) struct OnDisk {
    items: ByPlace,
    payloads: ByPlace,
}

impl ItemSource for OnDisk {
    fn count(&self) -> usize {
        self.items.count()
    }

    fn items(&self, range: Range<usize>) -> Result<Cow<'_, [Item]>> {
        let bytes = Zeroizing::new(self.items.read(range)?);
        Ok(bytes.as_chunks().0.iter().map(|item| Item(*item)).collect())
    }
}

impl SenderItems for OnDisk {
    fn payloads(&self, range: Range<usize>) -> Result<Vec<u8>> {
        self.payloads.read(range)
    }
}

impl Disk {
    /// Puts the items and what is given for each into an order that nobody else knows: by a random number for each.
    pub fn given(
        &self,
        item_key: &[u8; 32],
        payload_bytes: usize,
        progress: &Progress,
        rng: &mut impl Rng,
    ) -> Result<OnDisk> {
        let directory = self.table.directory();
        let count = self.table.sorted().counts.items;
        let record_bytes = NUMBER_BYTES + ITEM_BYTES + payload_bytes;
        directory.note_needed(3 * (count * record_bytes) as u64);
        progress.start("putting in a random order", count);
        let room = self.room(0);
        let mut records = Box::new(room.records(record_bytes, count));
        let added = self.each_given(item_key, payload_bytes, &mut |item, payload| {
            let mut number = [0; NUMBER_BYTES];
            rng.fill_bytes(&mut number);
            progress.advance(1);
            [&number[..], &item.0, payload].into_iter().try_for_each(|part| records.add(part))
        })?;
        if added != count {
            return Err(damaged(&directory.path(ROWS)));
        }
        let mut items = FileWriter::create(directory, ITEMS, ITEM_BYTES, room.memory)?;
        let mut payloads = FileWriter::create(directory, GIVEN, payload_bytes, room.memory)?;
        records.finish(&mut |some| {
            some.chunks_exact(record_bytes).try_for_each(|record| {
                let (item, payload) = record[NUMBER_BYTES..].split_at(ITEM_BYTES);
                items.add(&[item])?;
                payloads.add(&[payload])
            })
        })?;
        Ok(OnDisk { items: items.readable()?, payloads: payloads.readable()? })
    }

    /// Hands on each item with what is given for it, in the order of the keys. Returns how many there are.
    fn each_given(
        &self,
        item_key: &[u8; 32],
        payload_bytes: usize,
        take: &mut dyn FnMut(&Item, &[u8]) -> Result<()>,
    ) -> Result<usize> {
        let measured = self.measured.as_ref().ok_or_else(|| Error::Internal("nothing is given".into()))?;
        let directory = self.table.directory();
        let mut keys = SortedKeys::open(directory)?;
        let mut items = Vec::new().into_iter();
        let mut payload = Zeroizing::new(Vec::with_capacity(payload_bytes));
        let (mut key, mut rows, mut handed) = (None, 0u32, 0);
        let mut hand = |payload: &mut Vec<u8>, rows: u32| -> Result<()> {
            if items.len() == 0 {
                items = keys.next(|key| Item::new(item_key, key))?.unwrap_or_default().into_iter();
            }
            let item = items.next().ok_or_else(|| damaged(&directory.path(ROWS)))?;
            if measured.counted {
                payload[..COUNT_BYTES].copy_from_slice(&rows.to_le_bytes());
            }
            payload.resize(payload_bytes, 0);
            handed += 1;
            take(&item, payload)
        };
        for batch in Batches::open(directory, ROWS)? {
            let batch = batch?;
            let given = measured.layout.of_batch(&batch)?;
            for (row, of_key) in key_numbers(&batch).iter().enumerate() {
                if key != Some(*of_key) {
                    if key.is_some() {
                        hand(&mut payload, rows)?;
                    }
                    (key, rows) = (Some(*of_key), 0);
                    payload.clear();
                    payload.resize(if measured.counted { COUNT_BYTES } else { 0 }, 0);
                }
                rows += 1;
                measured.layout.encode_row(&given, row, &mut payload);
            }
        }
        if key.is_some() {
            hand(&mut payload, rows)?;
        }
        // That the file of keys ends here, too, is a part of its being whole.
        match keys.next(|_| ())? {
            None => Ok(handed),
            Some(_) => Err(damaged(&directory.path(ROWS))),
        }
    }
}
