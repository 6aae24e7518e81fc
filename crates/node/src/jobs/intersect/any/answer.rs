//! The union of what was found by several keys.
//!
//! By the first key first: rows that are common by it, in its order, then those that are so by the second alone, and so
//! on. Files of two parties match line by line if no row matches two.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use tacita_core::protocol::intersect::tag_exchange::Payload;
use tacita_core::{Error, Result};

use crate::agreement::{Answer, Deferred};
use crate::jobs::intersect::load::NUMBER_BYTES;
use crate::jobs::intersect::{IntersectResult, Loaded};
use crate::jobs::on_disk::rows::SortedRows;
use crate::table::output::RowSource;
use crate::table::payload::PayloadSchema;
use crate::table::select::check_joined;
use crate::table::{Selection, Table};

/// The answer, of a party that found this by each key. `peer` is the other one.
pub fn of(peer: &str, found: Vec<IntersectResult>) -> Result<Deferred<Answer>> {
    let (mut in_memory, mut on_disk) = (Vec::new(), Vec::new());
    let mut table = None;
    for found in found {
        match found {
            IntersectResult::Nothing => return Ok(Box::new(|| Ok(Answer::Nothing))),
            IntersectResult::Rows(loaded, common) => {
                table = Some(loaded.table().clone());
                in_memory.push(Matches { loaded, common, given: None });
            }
            IntersectResult::Payload(loaded, common, given) => {
                table = Some(loaded.table().clone());
                in_memory.push(Matches { loaded, common, given });
            }
            IntersectResult::OnDisk(disk) => on_disk.push(disk),
            IntersectResult::Count(_) | IntersectResult::Sum(_) => {
                return Err(Error::Internal("several keys have found something else than rows".into()));
            }
        }
    }
    let peer = peer.to_owned();
    Ok(match table {
        Some(table) => Box::new(move || Ok(Answer::rows(join(&table, &in_memory, &peer)?))),
        None => Box::new(move || {
            let parts = on_disk.iter().map(|disk| disk.common()).collect::<Result<Vec<_>>>()?;
            Ok(Answer::Rows(Box::new(Union::new(parts)?)))
        }),
    })
}

/// Matches by one key in a table in memory.
struct Matches {
    loaded: Arc<Loaded>,
    /// Numbers of the common keys, ascending.
    common: Vec<usize>,
    /// The peer's rows for them, where it gave columns.
    given: Option<(PayloadSchema, Payload)>,
}

/// Own rows that match by any key, each once; where the peer gave columns, each pair of an own row and one of the
/// peer's, once.
fn join(table: &Table, all: &[Matches], peer: &str) -> Result<Selection> {
    if all.iter().any(|matches| matches.given.is_some()) {
        return join_given(table, all, peer);
    }
    let mut seen = Seen::default();
    let rows = all.iter().flat_map(|matches| matches.loaded.keys().rows_of(&matches.common));
    Selection::of_rows(table, rows.filter(|&row| seen.is_new(row.into())).collect())
}

fn join_given(table: &Table, all: &[Matches], peer: &str) -> Result<Selection> {
    // The pairs up to now, as own row and number of the peer's row, and where they stand.
    let mut seen = HashSet::new();
    let (mut rows, mut places) = (Vec::new(), Vec::new());
    let mut batches = Vec::new();
    let mut given_rows = 0;
    for Matches { loaded, common, given } in all {
        let Some((schema, given)) = given else { continue };
        let row_bytes = NUMBER_BYTES + schema.row_bytes();
        let mut bytes = Vec::new();
        for (place, &key) in common.iter().enumerate() {
            let theirs: Vec<_> =
                given.item(place).chunks_exact(row_bytes).map(|row| row.split_at(NUMBER_BYTES)).collect();
            for &row in loaded.keys().rows(key) {
                for (offset, (number, _)) in theirs.iter().enumerate() {
                    if seen.insert((row, <[u8; NUMBER_BYTES]>::try_from(*number).unwrap_or_default())) {
                        rows.push(row);
                        places.push((given_rows + offset) as u32);
                        check_joined(table, rows.len())?;
                    }
                }
            }
            theirs.iter().for_each(|(_, row)| bytes.extend_from_slice(row));
            given_rows += theirs.len();
        }
        batches.push(schema.decode_rows(&bytes, peer)?);
    }
    let schema = batches.first().map(RecordBatch::schema).ok_or_else(|| Error::Internal("nothing was given".into()))?;
    let given = concat_batches(&schema, &batches).map_err(failed)?;
    Selection::beside(table, rows, vec![(given, places)])
}

/// Numbers that have occurred.
#[derive(Default)]
struct Seen(Vec<u64>);

impl Seen {
    /// Whether this one has not, up to now.
    fn is_new(&mut self, number: u64) -> bool {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }
}

/// The rows that are common by several keys, on disk: those of each, without those that were there before.
struct Union {
    /// Rows by each key, with the number of each row in its last column.
    parts: Vec<SortedRows>,
    schema: SchemaRef,
    /// Number of rows, once all have been read.
    rows: OnceLock<usize>,
}

impl Union {
    fn new(parts: Vec<SortedRows>) -> Result<Union> {
        let numbered = parts.first().map(|part| part.schema()).ok_or_else(|| Error::Internal("no key".into()))?;
        let own = numbered.fields()[..numbered.fields().len() - 1].to_vec();
        let schema = Schema::new_with_metadata(own, numbered.metadata().clone()).into();
        Ok(Union { parts, schema, rows: OnceLock::new() })
    }

    /// The rows of a batch that have not occurred.
    fn select(&self, seen: &mut Seen, batch: &RecordBatch) -> Result<RecordBatch> {
        let last = batch.num_columns() - 1;
        let numbers = batch.column(last).as_primitive::<UInt64Type>();
        let new: BooleanArray = numbers.values().iter().map(|&number| Some(seen.is_new(number))).collect();
        let own = RecordBatch::try_new(self.schema.clone(), batch.columns()[..last].to_vec()).map_err(failed)?;
        filter_record_batch(&own, &new).map_err(failed)
    }
}

impl RowSource for Union {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn batches(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + '_> {
        let mut seen = Seen::default();
        let mut batches = self.parts.iter().flat_map(|part| part.batches());
        let mut rows = 0;
        Box::new(std::iter::from_fn(move || {
            let Some(batch) = batches.next() else {
                let _ = self.rows.set(rows);
                return None;
            };
            let batch = batch.and_then(|batch| self.select(&mut seen, &batch));
            rows += batch.as_ref().map_or(0, RecordBatch::num_rows);
            Some(batch)
        }))
    }

    fn count(&self) -> Result<usize> {
        match self.rows.get() {
            Some(rows) => Ok(*rows),
            None => self.batches().try_fold(0, |rows, batch| Ok(rows + batch?.num_rows())),
        }
    }
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::Internal(format!("rows cannot be joined: {error}"))
}
