//! The items of a bucket's rows.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, UInt32Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use serde_json::json;
use tacita_core::protocol::rules::baskets::Baskets;
use tacita_core::{Error, Result, Session};

use super::super::{RulesInput, places};
use crate::agreement::{Answer, Source};
use crate::base::hex::hex;
use crate::jobs::aligned::AlignedRows;
use crate::jobs::rules::spec::RulesJob;
use crate::table::Table;

/// The items of rows that are aligned by their position.
pub fn by_position(job: &RulesJob<'_>, me: &str, source: &Source) -> Result<Answer> {
    let brought = RulesInput::load(job, me, source)?;
    answer(&brought, &AlignedRows::by_position(brought.items.rows()), "")
}

/// The items of rows that were aligned in this session.
pub(in crate::jobs::rules) fn aligned(brought: &RulesInput, rows: &AlignedRows, session: &Session) -> Result<Answer> {
    answer(brought, rows, &hex(&session.derive("run of a partition")))
}

/// A table of items with their rows; how many rows there are, and what stands for the run that aligned them.
fn answer(brought: &RulesInput, aligned: &AlignedRows, run: &str) -> Result<Answer> {
    let items = &brought.items;
    let mut rows = ListBuilder::new(UInt32Builder::new()).with_field(Field::new("item", DataType::UInt32, false));
    for item in 0..items.len() {
        let mut own: Vec<u32> = places(aligned, items.rows_of(item)).map(|row| row as u32).collect();
        own.sort_unstable();
        rows.append_value(own.into_iter().map(Some));
    }
    let rows: ArrayRef = Arc::new(rows.finish());
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..items.len()).map(|item| items.name(item))));
    let schema = Arc::new(Schema::new(vec![
        Field::new("item", DataType::Utf8, false),
        // Of an item that is in no row of a bucket there may be none.
        Field::new("rows", rows.data_type().clone(), true),
    ]));
    let batch = RecordBatch::try_new(schema.clone(), vec![names, rows])
        .map_err(|error| Error::Internal(format!("items do not make a table: {error}")))?;
    Ok(Answer::Numbers {
        json: json!({ "rows": aligned.rows(), "run": run }),
        line: format!("rows {}", aligned.rows()),
        table: Box::new(move || Table::new("partition", schema, vec![batch])),
    })
}

/// The columns of items, of which the bucket has so many rows: what a table has as lists of rows in its last column. An
/// item that is in no row may have none.
pub fn columns(table: &Table, rows: usize) -> Result<Baskets> {
    let bad = |what: &str| Error::Internal(format!("the items of a bucket: {what}"));
    let place = table.schema().fields().len().checked_sub(1).ok_or_else(|| bad("no column"))?;
    let mut baskets = Baskets::new(rows, 0, usize::MAX)?;
    for batch in table.batches() {
        let lists = batch.column(place).as_list_opt::<i32>().ok_or_else(|| bad("no lists"))?;
        for item in 0..lists.len() {
            let own = (!lists.is_null(item)).then(|| lists.value(item));
            let own = own
                .as_ref()
                .map(|own| own.as_primitive_opt::<UInt32Type>().ok_or_else(|| bad("no rows")))
                .transpose()?;
            let own = own.map_or(&[][..], |own| &own.values()[..]);
            baskets.push(own.iter().map(|row| *row as usize)).map_err(|_| bad("rows that are not there"))?;
        }
    }
    Ok(baskets)
}
