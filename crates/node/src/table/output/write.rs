//! Writers of the output formats.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast::{CastOptions, cast_with_options};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{
    ArrowError, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, FieldRef, Fields, Schema, SchemaRef,
    TimeUnit,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use tacita_core::{Error, Result};

use super::{Format, RowSource, csv, json, xlsx};
use crate::table::columns::unmarked;
use crate::table::weight::rows_within;

/// Rows that are packed and not yet written take about this many bytes at most.
const GROUP_BYTES: usize = 256 << 20;

pub(super) fn write(rows: &dyn RowSource, format: Format, out: &mut (dyn Write + Send), name: &str) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Error::Input(format!("{name}: cannot be written: {error}"));
    match format {
        Format::Csv => csv::write(rows, out, name),
        Format::Parquet => {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let schema = Arc::new(storable_schema(&unmarked(rows.schema())));
            let mut writer =
                ArrowWriter::try_new(&mut *out, schema.clone(), Some(properties)).map_err(|error| failed(&error))?;
            for batch in rows.batches() {
                let mut rest = stored_as(&batch?, &schema).map_err(|error| failed(&error))?;
                // What a dictionary holds once may be written for each row.
                while rest.num_rows() > 0 {
                    let rows = rows_within(&rest, GROUP_BYTES);
                    writer.write(&rest.slice(0, rows)).map_err(|error| failed(&error))?;
                    if writer.in_progress_size() > GROUP_BYTES {
                        writer.flush().map_err(|error| failed(&error))?;
                    }
                    rest = rest.slice(rows, rest.num_rows() - rows);
                }
            }
            writer.close().map(drop).map_err(|error| failed(&error))
        }
        Format::Arrow => {
            let mut writer = FileWriter::try_new(out, &unmarked(rows.schema())).map_err(|error| failed(&error))?;
            for batch in rows.batches() {
                writer.write(&batch?).map_err(|error| failed(&error))?;
            }
            writer.finish().map_err(|error| failed(&error))
        }
        Format::Json => json::write(rows, out, name),
        Format::Xlsx => xlsx::write(rows, out, name),
    }
}

/// A schema that Parquet has types for. Of those that it lacks, its writer would store the bare numbers, and every
/// reader but one that knows Arrow's own schema would take them for such.
fn storable_schema(schema: &Schema) -> Schema {
    let fields: Fields = schema.fields().iter().map(storable_field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn storable_field(field: &FieldRef) -> FieldRef {
    match storable(field.data_type()) {
        same if same == *field.data_type() => field.clone(),
        other => Arc::new(field.as_ref().clone().with_data_type(other)),
    }
}

/// Seconds become milliseconds, dates in milliseconds dates in days, decimals of tens and hundreds decimals of ones, at
/// every depth.
fn storable(kind: &DataType) -> DataType {
    let boxed = |kind: &DataType| Box::new(storable(kind));
    match kind {
        DataType::Timestamp(TimeUnit::Second, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Date64 => DataType::Date32,
        DataType::Decimal32(precision, scale @ ..0)
        | DataType::Decimal64(precision, scale @ ..0)
        | DataType::Decimal128(precision, scale @ ..0)
        | DataType::Decimal256(precision, scale @ ..0) => match precision.saturating_add(scale.unsigned_abs()) {
            digits @ ..=DECIMAL128_MAX_PRECISION => DataType::Decimal128(digits, 0),
            digits => DataType::Decimal256(digits.min(DECIMAL256_MAX_PRECISION), 0),
        },
        DataType::List(values) => DataType::List(storable_field(values)),
        DataType::LargeList(values) => DataType::LargeList(storable_field(values)),
        DataType::FixedSizeList(values, length) => DataType::FixedSizeList(storable_field(values), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(storable_field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(storable_field(entries), *sorted),
        DataType::Dictionary(keys, values) => DataType::Dictionary(keys.clone(), boxed(values)),
        DataType::RunEndEncoded(ends, values) => DataType::RunEndEncoded(ends.clone(), storable_field(values)),
        other => other.clone(),
    }
}

/// The batch in these types, in which every value is the same or an error.
fn stored_as(batch: &RecordBatch, schema: &SchemaRef) -> std::result::Result<RecordBatch, ArrowError> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let stored = |(column, field): (&ArrayRef, &FieldRef)| {
        if column.data_type() == field.data_type() {
            Ok(column.clone())
        } else {
            cast_with_options(column, field.data_type(), &options)
        }
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(stored).collect::<std::result::Result<_, _>>()?;
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &rows)
}
