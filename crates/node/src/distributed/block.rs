//! A part of a party's table, with the keys of its rows: what one machine reads, and spreads over the buckets.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use rayon::prelude::*;
use tacita_core::protocol::intersect::buckets::bucket_of;
use tacita_core::{Error, Item, Result};

use crate::agreement::JobSpec;
use crate::table::key::build::{Tally, find_columns, read_pieces};
use crate::table::{RowCounts, Table};
use crate::watch::warn_own_user;

/// Name of the key column while a table is on its way to the buckets.
const KEY: &str = "tacita: key";

/// A part of a party's table, of rows that have a key; with the keys as a last column, where rows are matched by any.
pub struct TableBlock {
    /// Schema of the block's columns.
    pub schema: SchemaRef,
    /// Batches that hold the rows.
    pub batches: Vec<RecordBatch>,
    /// Counts by outcome of the rows that were read. `items` are those that are left.
    pub counts: RowCounts,
    /// Stands for the rows, all columns of them, and their keys in their order.
    pub digest: [u8; 32],
}

/// Commitment of a party: the digests of all its blocks, in their order.
#[derive(Clone, Default)]
pub struct BlockCommitment(blake3::Hasher);

impl BlockCommitment {
    /// Takes the next block's digest.
    pub fn add(&mut self, digest: &[u8]) {
        self.0.update(&(digest.len() as u64).to_le_bytes()).update(digest);
    }

    /// Returns the digest of all blocks.
    pub fn digest(&self) -> [u8; 32] {
        blake3::derive_key("tacita 1 spread table", self.0.finalize().as_bytes())
    }
}

/// The job whose key spreads rows, if any does: the job itself, or what aligns its rows.
fn keyed(job: &JobSpec) -> Option<JobSpec> {
    if let Some(alignment) = job.job.alignment(job) {
        return Some(alignment);
    }
    job.key.is_some().then(|| job.clone())
}

impl TableBlock {
    /// Reads the keys of a part of `me`'s table.
    ///
    /// Errors ([`Error::Input`]): those of a table in memory, but for rows with equal keys, of which one part does not
    /// know all.
    pub fn read(job: &JobSpec, me: &str, table: &Table, allow_unreadable: bool) -> Result<TableBlock> {
        match keyed(job) {
            Some(job) => TableBlock::with_keys(&job, me, table, allow_unreadable),
            None => TableBlock::by_position(table),
        }
    }

    fn by_position(table: &Table) -> Result<TableBlock> {
        let digest = digest(table.schema(), table.batches())?;
        let counts = RowCounts { read: table.rows(), items: table.rows(), ..RowCounts::default() };
        Ok(TableBlock { schema: table.schema().clone(), batches: table.batches().to_vec(), counts, digest })
    }

    fn with_keys(job: &JobSpec, me: &str, table: &Table, allow_unreadable: bool) -> Result<TableBlock> {
        let spec = job.key_spec(me, allow_unreadable)?;
        if table.schema().index_of(KEY).is_ok() {
            return Err(Error::Input(format!(
                "{}: a column is called {KEY:?}, as only keys on their way are: rename it",
                table.source()
            )));
        }
        let columns = find_columns(table.source(), table.schema(), &spec)?;
        let origin = table.origin();
        let mut fields: Vec<_> = table.schema().fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(KEY, DataType::LargeBinary, false)));
        let schema: SchemaRef = Arc::new(Schema::new_with_metadata(fields, table.schema().metadata().clone()));
        let mut tally = Tally::new(&spec);
        let (mut batches, mut first, mut items) = (Vec::with_capacity(table.batches().len()), 0, 0);
        for batch in table.batches() {
            let pieces = read_pieces(batch, first, &spec, &columns, origin);
            pieces.iter().for_each(|piece| tally.add(piece));
            let with_key: usize = pieces.iter().map(|piece| piece.keys().len()).sum();
            let bytes = pieces.iter().flat_map(|piece| piece.keys().map(|(key, _)| key.len())).sum();
            let mut keys = LargeBinaryBuilder::with_capacity(with_key, bytes);
            for (key, _) in pieces.iter().flat_map(|piece| piece.keys()) {
                keys.append_value(key);
            }
            // Rows without a key are in nobody's answer.
            let kept = if with_key == batch.num_rows() {
                batch.clone()
            } else {
                let rows = pieces.iter().flat_map(|piece| piece.keys().map(|(_, row)| u64::from(row) - first as u64));
                take_record_batch(batch, &UInt64Array::from_iter_values(rows)).map_err(failed)?
            };
            let mut columns = kept.columns().to_vec();
            columns.push(Arc::new(keys.finish()));
            batches.push(RecordBatch::try_new(schema.clone(), columns).map_err(failed)?);
            first += batch.num_rows();
            items += with_key;
        }
        for warning in tally.check(&spec, origin)? {
            warn_own_user(&warning);
        }
        let counts = RowCounts { items, ..tally.counts };
        // What goes with a key is in the answer, too: buckets that are left have to be of the rows of those that are
        // done.
        let digest = digest(&schema, &batches)?;
        Ok(TableBlock { schema, batches, counts, digest })
    }

    /// Sorts rows by the bucket of their key: rows of one bucket stand together, in the order in which they were.
    /// Returns them, without keys, and where each bucket begins; the last one ends with the rows. `batches` are those
    /// of a [`TableBlock`].
    pub fn scatter(
        schema: &SchemaRef,
        batches: &[RecordBatch],
        item_key: &[u8; 32],
        buckets: usize,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        let internal = || Error::Internal("rows are to be spread that have no keys".into());
        let last = schema
            .fields()
            .len()
            .checked_sub(1)
            .filter(|last| schema.field(*last).name() == KEY)
            .ok_or_else(internal)?;
        let whole = concat_batches(schema, batches).map_err(failed)?;
        let keys = whole.column(last).as_binary_opt::<i64>().ok_or_else(internal)?;
        let buckets_of: Vec<u32> = (0..keys.len())
            .into_par_iter()
            .map(|row| bucket_of(&Item::new(item_key, keys.value(row)), buckets) as u32)
            .collect();
        let mut starts = vec![0; buckets + 1];
        buckets_of.iter().for_each(|bucket| starts[*bucket as usize + 1] += 1);
        (0..buckets).for_each(|bucket| starts[bucket + 1] += starts[bucket]);
        let (mut next, mut order) = (starts.clone(), vec![0u64; buckets_of.len()]);
        for (row, bucket) in buckets_of.iter().enumerate() {
            let next = &mut next[*bucket as usize];
            order[*next] = row as u64;
            *next += 1;
        }
        let order = UInt64Array::from(order);
        let own: SchemaRef =
            Arc::new(Schema::new_with_metadata(schema.fields()[..last].to_vec(), schema.metadata().clone()));
        let taken: Vec<ArrayRef> = whole.columns()[..last]
            .par_iter()
            .map(|column| arrow_select::take::take(column, &order, None))
            .collect::<std::result::Result<_, _>>()
            .map_err(failed)?;
        starts.truncate(buckets);
        Ok((RecordBatch::try_new(own, taken).map_err(failed)?, starts))
    }

    /// Returns the range of a bucket among all `rows` rows, in their order, where rows go by their position.
    pub fn range(bucket: usize, buckets: usize, rows: u64) -> Range<u64> {
        let at = |bucket: usize| (u128::from(rows) * bucket as u128 / buckets as u128) as u64;
        at(bucket)..at(bucket + 1)
    }
}

/// Returns a digest of rows that are read in the same batches each time.
fn digest(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<[u8; 32]> {
    let hasher = blake3::Hasher::new_derive_key("tacita 1 spread rows");
    let mut writer = StreamWriter::try_new(hasher, schema).map_err(failed)?;
    batches.iter().try_for_each(|batch| writer.write(batch)).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(writer.get_ref().finalize().into())
}

fn failed(error: ArrowError) -> Error {
    Error::Input(format!("a table that cannot be spread: {error}"))
}
