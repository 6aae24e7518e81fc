//! The rows of a union: a party's own, and those that it lacked.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat;
use arrow_select::take::take_record_batch;
use serde_json::json;
use tacita_core::{Error, Result};

use super::load::{COUNT_BYTES, Loaded};
use super::methods::Found;
use super::sizes::{given_columns, payload_bytes, peer_profiles, peer_schema};
use crate::agreement::{Answer, Deferred, Duplicates, JobSpec, Nulls, Sizes};
use crate::table::output::Rows;
use crate::table::payload::received_name;
use crate::table::text::TextColumn;
use crate::table::{BATCH_ROWS, KeyColumn, KeySpec, Keys, Selection, Table, named, schema_of};

impl Found {
    /// What becomes of it when the connections have ended.
    pub(super) fn answer(self, job: &JobSpec, me: &str, loaded: Arc<Loaded>, theirs: &Sizes) -> Deferred<Answer> {
        let (job, me, theirs) = (job.clone(), me.to_owned(), theirs.clone());
        match self {
            Found::Nothing => Box::new(|| Ok(Answer::Nothing)),
            Found::Count(count) => Box::new(move || {
                Ok(match job.limits.min_result.filter(|limit| count < *limit) {
                    Some(limit) => Answer::below("count", limit),
                    None => Answer::numbers(
                        json!({ "count": count }),
                        format!("count {count}"),
                        vec![("count", count.to_string())],
                    ),
                })
            }),
            Found::Candidates(found) => Box::new(move || {
                let received = Received::of_candidates(&job, &me, &loaded, &found)?;
                Ok(Answer::Rows(Box::new(All::new(&job, &me, &loaded, received)?)))
            }),
            // When the connections have ended: how long this takes says how much there is.
            Found::Payloads(payloads) => Box::new(move || {
                let received = Received::of(&job, &me, &payloads, &theirs)?;
                Ok(Answer::Rows(Box::new(All::new(&job, &me, &loaded, received)?)))
            }),
        }
    }
}

/// What the peer gave: its rows, in the order of their keys.
struct Received {
    batch: RecordBatch,
}

impl Received {
    /// Of the keys that were tried those that are in the union, and not this party's own: a row of each.
    fn of_candidates(job: &JobSpec, me: &str, loaded: &Loaded, found: &[usize]) -> Result<Received> {
        let (table, keys) = loaded.candidates().ok_or_else(|| Error::Internal("no keys were tried".into()))?;
        let own: HashSet<&[u8]> = loaded.keys().iter().collect();
        let others = found.iter().filter(|&&key| !own.contains(keys.key(key)));
        let rows: Vec<u32> = others.filter_map(|&key| keys.rows(key).first().copied()).collect();
        let rows = Selection::of_rows(table, rows)?.to_table()?;
        let (names, _) = given_columns(job, job.peer_of(me));
        let mut columns = Vec::new();
        for name in &names {
            let place = table.column(job.header(me, name), name)?;
            let each: Result<Vec<_>> =
                rows.batches().iter().map(|batch| texts(batch.column(place), &DataType::LargeUtf8)).collect();
            let each = each?;
            let each: Vec<&dyn Array> = each.iter().map(|array| array.as_ref()).collect();
            columns.push(match each.is_empty() {
                true => new_null_array(&DataType::LargeUtf8, 0),
                false => concat(&each).map_err(failed)?,
            });
        }
        let fields = names.iter().map(|name| Field::new(name, DataType::LargeUtf8, true)).collect::<Vec<_>>();
        RecordBatch::try_new(schema_of(fields), columns).map(|batch| Received { batch }).map_err(failed)
    }

    fn of(job: &JobSpec, me: &str, payloads: &[u8], theirs: &Sizes) -> Result<Received> {
        let peer = job.peer_of(me);
        let broken = |check: &str| Error::Protocol { peer: peer.to_owned(), check: check.to_owned() };
        let schema = peer_schema(job, peer, theirs)?;
        let bytes = payload_bytes(job, theirs).ok_or_else(|| broken("what it gives does not fit a message"))?;
        let most = theirs.each.as_ref().map_or(1, |each| each.rows) as usize;
        let counted = job.key.as_ref().is_some_and(|key| key.duplicates == Duplicates::All);
        let mut rows = Vec::new();
        for payload in payloads.chunks_exact(bytes) {
            let (count, payload) = match counted.then(|| payload.split_first_chunk::<COUNT_BYTES>()).flatten() {
                Some((count, payload)) => (u32::from_le_bytes(*count) as usize, payload),
                None => (1, payload),
            };
            if !(1..=most).contains(&count) {
                return Err(broken("a key that it gives has no rows, or more than it said"));
            }
            let (own, filling) = payload.split_at(count * schema.row_bytes());
            if filling.iter().any(|&byte| byte != 0) {
                return Err(broken("rows of a key that it gives are not filled up with zeros"));
            }
            rows.extend_from_slice(own);
        }
        let batch = schema.decode_rows(&rows, peer)?;
        in_order(job, peer, batch, theirs).map(|batch| Received { batch })
    }
}

/// The peer's rows in the order of their keys, as it reads them; rows of one key as they came.
fn in_order(job: &JobSpec, peer: &str, batch: RecordBatch, theirs: &Sizes) -> Result<RecordBatch> {
    let broken = |check: &str| Error::Protocol { peer: peer.to_owned(), check: check.to_owned() };
    let profiles = peer_profiles(job, theirs).ok_or_else(|| broken("it does not say how it reads its key columns"))?;
    let names = job.key.iter().flat_map(|key| &key.columns);
    let columns = names.zip(profiles).map(|(name, profile)| KeyColumn {
        name: name.clone(),
        header: received_name(peer, name),
        profile,
    });
    let spec =
        KeySpec { columns: columns.collect(), duplicates: Duplicates::All, nulls: Nulls::Skip, allow_unreadable: true };
    let table = Table::new(peer, batch.schema(), vec![batch.clone()])?;
    let (keys, _) = Keys::build(&table, &spec)?;
    let order = keys.rows_of(&(0..keys.len()).collect::<Vec<_>>());
    if order.len() != batch.num_rows() {
        return Err(broken("it gives rows without a key"));
    }
    take_record_batch(&batch, &UInt32Array::from(order)).map_err(failed)
}

/// All rows of a union: the own ones first, in the order of their keys, and then the peer's.
struct All {
    own: Selection,
    theirs: RecordBatch,
    schema: SchemaRef,
    /// For each column what there is of it.
    columns: Vec<Column>,
}

/// A column of a union.
#[derive(Clone, Copy)]
enum Column {
    /// Of this party alone: its place in the own table.
    Own(usize),
    /// Of the key: its place in the own table, and among what the peer gave.
    Key(usize, usize),
    /// Given: its place among what the peer gave.
    Given(usize),
}

impl All {
    fn new(job: &JobSpec, me: &str, loaded: &Loaded, received: Received) -> Result<All> {
        let peer = job.peer_of(me);
        let table = loaded.table();
        let all: Vec<usize> = (0..loaded.keys().len()).collect();
        let own = Selection::of_rows(table, loaded.keys().rows_of(&all))?;
        let key: Vec<&str> = job.key.iter().flat_map(|key| &key.columns).map(|column| job.header(me, column)).collect();
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (place, field) in table.schema().fields().iter().enumerate() {
            let field = field.as_ref().clone().with_nullable(true);
            match key.iter().position(|header| header == field.name()) {
                Some(part) => {
                    let kind = as_text(field.data_type());
                    fields.push(field.with_data_type(kind));
                    columns.push(Column::Key(place, part));
                }
                None => {
                    fields.push(field);
                    columns.push(Column::Own(place));
                }
            }
        }
        let given = given_columns(job, peer).0;
        for column in job.given_by(peer) {
            let place = given.iter().position(|name| name == column);
            let place = place.ok_or_else(|| Error::Internal("a column that is given is not there".into()))?;
            let kind = received.batch.schema_ref().field(place).data_type().clone();
            fields.push(Field::new(received_name(peer, column), kind, true));
            columns.push(Column::Given(place));
        }
        named(table.source(), fields.iter().map(|field| field.name().as_str()))?;
        let schema = Schema::new_with_metadata(schema_of(fields).fields().clone(), table.schema().metadata().clone());
        Ok(All { own, theirs: received.batch, schema: schema.into(), columns })
    }

    /// Own rows, with nothing in the columns that are given.
    fn own(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.columns.iter().zip(self.schema.fields()).map(|(column, field)| match *column {
            Column::Own(place) => Ok(batch.column(place).clone()),
            Column::Key(place, _) => texts(batch.column(place), field.data_type()),
            Column::Given(_) => Ok(new_null_array(field.data_type(), batch.num_rows())),
        });
        RecordBatch::try_new(self.schema.clone(), columns.collect::<Result<_>>()?).map_err(failed)
    }

    /// The peer's rows, with nothing in columns that are this party's alone.
    fn theirs(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.columns.iter().zip(self.schema.fields()).map(|(column, field)| match *column {
            Column::Own(_) => Ok(new_null_array(field.data_type(), batch.num_rows())),
            Column::Key(_, place) => texts(batch.column(place), field.data_type()),
            Column::Given(place) => Ok(batch.column(place).clone()),
        });
        RecordBatch::try_new(self.schema.clone(), columns.collect::<Result<_>>()?).map_err(failed)
    }
}

impl Rows for All {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn batches(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + '_> {
        let rows = self.theirs.num_rows();
        let theirs = (0..rows)
            .step_by(BATCH_ROWS)
            .map(move |start| self.theirs(&self.theirs.slice(start, BATCH_ROWS.min(rows - start))));
        Box::new(self.own.batches().map(|batch| self.own(&batch?)).chain(theirs))
    }

    fn count(&self) -> Result<usize> {
        Ok(self.own.rows() + self.theirs.num_rows())
    }

    /// Any column may hold something of the peer's, in its rows.
    fn own_columns(&self) -> usize {
        0
    }

    fn own_rows(&self) -> usize {
        self.own.rows()
    }
}

/// The type of a key's column in a union, in which the peer's keys stand as it has written them: text.
fn as_text(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 => kind.clone(),
        _ => DataType::LargeUtf8,
    }
}

/// A column as text of this type.
fn texts(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    if array.data_type() == kind {
        return Ok(array.clone());
    }
    let text = TextColumn::new(array).ok_or_else(|| Error::Internal("a key without text".into()))?;
    if *kind == DataType::Utf8 {
        return Ok(Arc::new((0..array.len()).map(|row| text.get(row)).collect::<StringArray>()));
    }
    let mut builder = LargeStringBuilder::new();
    (0..array.len()).for_each(|row| builder.append_option(text.get(row)));
    Ok(Arc::new(builder.finish()))
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::Internal(format!("the rows of a union do not fit each other: {error}"))
}
