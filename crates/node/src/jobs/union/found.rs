//! The rows of a union: a party's own, and those that it lacked.

use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde_json::json;
use tacita_core::{Error, Result};

use super::load::Loaded;
use super::methods::Found;
use super::received::Received;
use super::sizes::given_columns;
use crate::agreement::{Answer, Deferred, JobSpec, Sizes};
use crate::table::output::RowSource;
use crate::table::payload::received_name;
use crate::table::text::TextColumn;
use crate::table::{Selection, named, schema_of};

impl Found {
    /// Converts the result to an answer, to be made when the connections have ended.
    pub(super) fn answer(self, job: &JobSpec, me: &str, theirs: &Sizes) -> Deferred<Answer> {
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
            Found::OnDisk(disk) => Box::new(move || Ok(Answer::Rows(Box::new(disk.all(&job, &me)?)))),
            Found::Candidates(loaded, found) => Box::new(move || {
                let received = Received::of_candidates(&job, &me, &loaded, &found)?;
                in_memory(&job, &me, &loaded, received)
            }),
            // When the connections have ended: how long this takes says how much there is.
            Found::Payloads(loaded, payloads) => {
                Box::new(move || in_memory(&job, &me, &loaded, Received::of(&job, &me, &payloads, &theirs)?))
            }
        }
    }
}

/// The union of what a party has in memory and what it has received.
fn in_memory(job: &JobSpec, me: &str, loaded: &Loaded, received: Received) -> Result<Answer> {
    let (table, keys) = (loaded.table(), loaded.keys());
    let own = Selection::of_rows(table, keys.rows_of(&(0..keys.len()).collect::<Vec<_>>()))?;
    let own = Own { columns: own.own_columns(), rows: Box::new(own), source: table.source() };
    Ok(Answer::Rows(Box::new(All::new(job, me, own, Box::new(received))?)))
}

/// A party's own rows, in the order of their keys.
pub(super) struct Own<'a> {
    pub rows: Box<dyn RowSource>,
    /// Number of columns that belong to the table.
    pub columns: usize,
    /// Name of the table in messages.
    pub source: &'a str,
}

/// Rows of a whole union: the own ones first, in the order of their keys, and then the peer's.
pub(super) struct All {
    own: Box<dyn RowSource>,
    theirs: Box<dyn RowSource>,
    schema: SchemaRef,
    /// For each column what there is of it.
    columns: Vec<Column>,
}

/// A column of a union.
#[derive(Clone, Copy)]
enum Column {
    /// Column of this party alone: its place in the own table.
    Own(usize),
    /// Column of the key: its place in the own table, and among what the peer gave.
    Key(usize, usize),
    /// Given: its place among what the peer gave.
    Given(usize),
}

impl All {
    /// Combines a party's own rows with those that its peer gave.
    pub fn new(job: &JobSpec, me: &str, own: Own<'_>, theirs: Box<dyn RowSource>) -> Result<All> {
        let peer = job.peer_of(me);
        let table = own.rows.schema().clone();
        let key: Vec<&str> = job.key.iter().flat_map(|key| &key.columns).map(|column| job.header(me, column)).collect();
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (place, field) in table.fields()[..own.columns].iter().enumerate() {
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
            let kind = theirs.schema().field(place).data_type().clone();
            fields.push(Field::new(received_name(peer, column), kind, true));
            columns.push(Column::Given(place));
        }
        named(own.source, fields.iter().map(|field| field.name().as_str()))?;
        let schema = Schema::new_with_metadata(schema_of(fields).fields().clone(), table.metadata().clone());
        Ok(All { own: own.rows, theirs, schema: schema.into(), columns })
    }

    /// Own rows, with nothing in the columns that are given.
    fn with_own(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.columns.iter().zip(self.schema.fields()).map(|(column, field)| match *column {
            Column::Own(place) => Ok(batch.column(place).clone()),
            Column::Key(place, _) => texts(batch.column(place), field.data_type()),
            Column::Given(_) => Ok(new_null_array(field.data_type(), batch.num_rows())),
        });
        RecordBatch::try_new(self.schema.clone(), columns.collect::<Result<_>>()?).map_err(failed)
    }

    /// The peer's rows, with nothing in columns that are this party's alone.
    fn with_theirs(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.columns.iter().zip(self.schema.fields()).map(|(column, field)| match *column {
            Column::Own(_) => Ok(new_null_array(field.data_type(), batch.num_rows())),
            Column::Key(_, place) => texts(batch.column(place), field.data_type()),
            Column::Given(place) => Ok(batch.column(place).clone()),
        });
        RecordBatch::try_new(self.schema.clone(), columns.collect::<Result<_>>()?).map_err(failed)
    }
}

impl RowSource for All {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn batches(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + '_> {
        let own = self.own.batches().map(|batch| self.with_own(&batch?));
        Box::new(own.chain(self.theirs.batches().map(|batch| self.with_theirs(&batch?))))
    }

    fn count(&self) -> Result<usize> {
        Ok(self.own.count()? + self.theirs.count()?)
    }

    /// Any column may hold something of the peer's, in its rows.
    fn own_columns(&self) -> usize {
        0
    }

    fn own_rows(&self) -> Result<usize> {
        self.own.count()
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
pub(super) fn texts(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
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
