//! Data that the peer gave: for each of its keys that this party lacked, its rows.

use std::collections::HashSet;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow_schema::{DataType, Field, SchemaRef};
use arrow_select::concat::concat;
use arrow_select::take::take_record_batch;
use tacita_core::{Error, Result};

use super::found::texts;
use super::load::{COUNT_BYTES, Loaded, counts_rows};
use super::sizes::{payload_bytes, peer_profiles, peer_schema};
use crate::agreement::{Duplicates, JobSpec, Nulls, Sizes};
use crate::table::output::RowSource;
use crate::table::payload::{PayloadSchema, received_name};
use crate::table::{BATCH_ROWS, KeyColumn, KeySpec, NullWords, Selection, Table, TableKeys, schema_of};

/// The form of what the peer gives for each key.
pub(super) struct Form {
    pub peer: String,
    pub schema: PayloadSchema,
    /// Bytes for each key.
    pub bytes: usize,
    /// Most rows of a key.
    most: usize,
    /// Whether it is said how many there are.
    counted: bool,
    /// Specification with which the peer reads its key.
    pub spec: KeySpec,
}

impl Form {
    /// Returns the form that follows from the terms and the peer's sizes.
    pub fn of(job: &JobSpec, me: &str, theirs: &Sizes) -> Result<Form> {
        let peer = job.peer_of(me);
        let schema = peer_schema(job, peer, theirs)?;
        let bytes = payload_bytes(job, theirs).ok_or_else(|| broken(peer, "its given rows do not fit a message"))?;
        let profiles =
            peer_profiles(job, theirs).ok_or_else(|| broken(peer, "it does not say how it reads its key columns"))?;
        let names = job.key.iter().flat_map(|key| &key.columns);
        let columns = names.zip(profiles).map(|(name, profile)| KeyColumn {
            name: name.clone(),
            header: received_name(peer, name),
            profile,
        });
        let spec = KeySpec {
            columns: columns.collect(),
            duplicates: Duplicates::All,
            nulls: Nulls::Skip,
            // Its giver has said which are none.
            words: NullWords::none(),
            allow_unreadable: true,
        };
        let most = theirs.each.as_ref().map_or(1, |each| each.rows) as usize;
        Ok(Form { peer: peer.to_owned(), schema, bytes, most, counted: counts_rows(job), spec })
    }

    /// The rows in what was given for a key, one after the other.
    pub fn rows<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8]> {
        let rows = given_rows(payload, self.counted, self.most, self.schema.row_bytes());
        rows.map_err(|wrong| broken(&self.peer, wrong))
    }

    /// Returns the error for rows of which some have no key.
    pub fn without_key(&self) -> Error {
        broken(&self.peer, "it gives rows without a key")
    }
}

/// The rows in what was given for a key, one after the other: `most` at most, of `row_bytes` each, zeros behind them,
/// and before them their number if it is said. Fails with what is wrong.
pub fn given_rows(
    payload: &[u8],
    is_counted: bool,
    most: usize,
    row_bytes: usize,
) -> std::result::Result<&[u8], &'static str> {
    let (count, payload) = if is_counted {
        let (count, rows) = payload.split_first_chunk::<COUNT_BYTES>().ok_or("the rows of a key have no number")?;
        (u32::from_le_bytes(*count) as usize, rows)
    } else {
        (1, payload)
    };
    if !(1..=most).contains(&count) {
        return Err("a key that it gives has no rows, or more than it said");
    }
    let own = count.checked_mul(row_bytes).and_then(|length| payload.split_at_checked(length));
    let (own, filling) = own.ok_or("a key that it gives has fewer rows than it said")?;
    if filling.iter().any(|&byte| byte != 0) {
        return Err("rows of a key that it gives are not filled up with zeros");
    }
    Ok(own)
}

fn broken(peer: &str, check: &str) -> Error {
    Error::Protocol { peer: peer.to_owned(), check: check.to_owned() }
}

/// The peer's rows in memory, in the order of their keys, as it reads them; rows of one key as they came.
pub(super) struct Received {
    batch: RecordBatch,
    schema: SchemaRef,
}

impl Received {
    /// Collects a row for each tried key that is in the union and not this party's own.
    pub fn of_candidates(job: &JobSpec, me: &str, loaded: &Loaded, found: &[usize]) -> Result<Received> {
        let failed = |_| Error::Internal("keys that were tried make no table".into());
        let (table, keys) = loaded.candidates().ok_or_else(|| Error::Internal("no keys were tried".into()))?;
        let own: HashSet<&[u8]> = loaded.keys().iter().collect();
        let others = found.iter().filter(|&&key| !own.contains(keys.key(key)));
        let rows: Vec<u32> = others.filter_map(|&key| keys.rows(key).first().copied()).collect();
        let rows = Selection::of_rows(table, rows)?.to_table()?;
        let names: Vec<_> = job.key.iter().flat_map(|key| &key.columns).collect();
        let mut columns = Vec::new();
        for name in &names {
            let place = table.column(job.header(me, name), name)?;
            let each: Vec<ArrayRef> = rows
                .batches()
                .iter()
                .map(|batch| texts(batch.column(place), &DataType::LargeUtf8))
                .collect::<Result<_>>()?;
            let each: Vec<&dyn Array> = each.iter().map(|array| array.as_ref()).collect();
            columns.push(if each.is_empty() {
                new_null_array(&DataType::LargeUtf8, 0)
            } else {
                concat(&each).map_err(failed)?
            });
        }
        let fields = names.iter().map(|name| Field::new(*name, DataType::LargeUtf8, true)).collect::<Vec<_>>();
        let batch = RecordBatch::try_new(schema_of(fields), columns).map_err(failed)?;
        Ok(Received { schema: batch.schema(), batch })
    }

    /// Decodes what was given for some keys, one after the other.
    pub fn of(job: &JobSpec, me: &str, payloads: &[u8], theirs: &Sizes) -> Result<Received> {
        let form = Form::of(job, me, theirs)?;
        let mut rows = Vec::new();
        for payload in payloads.chunks_exact(form.bytes) {
            rows.extend_from_slice(form.rows(payload)?);
        }
        let batch = form.schema.decode_rows(&rows, &form.peer)?;
        let table = Table::new(&form.peer, batch.schema(), vec![batch.clone()])?;
        let (keys, _) = TableKeys::build(&table, &form.spec)?;
        let order = keys.rows_of(&(0..keys.len()).collect::<Vec<_>>());
        if order.len() != batch.num_rows() {
            return Err(form.without_key());
        }
        let failed = |_| Error::Internal("rows that were given cannot be put in order".into());
        let batch = take_record_batch(&batch, &UInt32Array::from(order)).map_err(failed)?;
        Ok(Received { schema: batch.schema(), batch })
    }
}

impl RowSource for Received {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn batches(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + '_> {
        let rows = self.batch.num_rows();
        let batch = move |start| Ok(self.batch.slice(start, BATCH_ROWS.min(rows - start)));
        Box::new((0..rows).step_by(BATCH_ROWS).map(batch))
    }

    fn count(&self) -> Result<usize> {
        Ok(self.batch.num_rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_key_are_as_many_as_it_says_and_nothing_else() {
        let counted = |count: u32, rows: &[u8]| [&count.to_le_bytes()[..], rows].concat();
        assert_eq!(given_rows(&counted(2, b"aabb\0\0"), true, 3, 2), Ok(&b"aabb"[..]));
        assert_eq!(given_rows(b"aa\0\0", false, 3, 2), Ok(&b"aa"[..]));
        for wrong in [
            counted(0, b"\0\0"),
            counted(4, b"aabbccdd"),
            counted(u32::MAX, b"aa"),
            counted(3, b"aabb"),
            counted(1, b"aabb"),
            // No number, and what could be a row.
            b"aa".to_vec(),
            b"aa\0".to_vec(),
            Vec::new(),
        ] {
            assert!(given_rows(&wrong, true, 3, 2).is_err(), "{wrong:?}");
        }
    }
}
