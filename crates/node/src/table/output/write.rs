//! The formats.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast::{CastOptions, cast_with_options};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ipc::writer::FileWriter;
use arrow_json::{ArrayWriter, WriterBuilder};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use tacita_core::{Error, Result};

use super::{Format, Rows};
use crate::table::schema_of;
use crate::table::text::TextColumn;
use crate::table::weight::rows_within;

/// Rows that are packed and not yet written take about this many bytes at most.
const GROUP_BYTES: usize = 256 << 20;

pub(super) fn write(rows: &dyn Rows, format: Format, out: &mut (dyn Write + Send), name: &str) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Error::Input(format!("{name}: cannot be written: {error}"));
    match format {
        Format::Csv => csv(rows, out, name),
        Format::Parquet => {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let schema = Arc::new(storable_schema(rows.schema()));
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
            let mut writer = FileWriter::try_new(out, rows.schema()).map_err(|error| failed(&error))?;
            for batch in rows.batches() {
                writer.write(&batch?).map_err(|error| failed(&error))?;
            }
            writer.finish().map_err(|error| failed(&error))
        }
        Format::Json => {
            let mut writer: ArrayWriter<_> = WriterBuilder::new().with_explicit_nulls(true).build(&mut *out);
            for batch in rows.batches() {
                writer.write(&times_as_text(&batch?)?).map_err(|error| failed(&error))?;
            }
            writer.finish().map_err(|error| failed(&error))?;
            out.write_all(b"\n").map_err(|error| failed(&error))
        }
    }
}

/// A schema that Parquet has types for. Of those that it lacks, its writer would store the bare numbers, and every reader but one
/// that knows Arrow's own schema would take them for such.
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

/// Seconds become milliseconds, dates in milliseconds dates in days, at every depth.
fn storable(kind: &DataType) -> DataType {
    let boxed = |kind: &DataType| Box::new(storable(kind));
    match kind {
        DataType::Timestamp(TimeUnit::Second, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Date64 => DataType::Date32,
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
    let stored = |(column, field): (&ArrayRef, &FieldRef)| match column.data_type() == field.data_type() {
        true => Ok(column.clone()),
        false => cast_with_options(column, field.data_type(), &options),
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(stored).collect::<std::result::Result<_, _>>()?;
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &rows)
}

/// The batch with its dates and times in their canonical text, which is the same in all text formats.
fn times_as_text(batch: &RecordBatch) -> Result<RecordBatch> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let text = if field.data_type().is_temporal() { TextColumn::new(column) } else { None };
        let column = text.map_or_else(|| column.clone(), TextColumn::into_array);
        fields.push(Field::new(field.name(), column.data_type().clone(), true));
        columns.push(column);
    }
    RecordBatch::try_new(schema_of(fields), columns)
        .map_err(|error| Error::Internal(format!("rows cannot be written as JSON: {error}")))
}

fn csv(rows: &dyn Rows, out: &mut dyn Write, name: &str) -> Result<()> {
    let failed = |error: csv::Error| Error::Input(format!("{name}: cannot be written: {error}"));
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(out);
    writer.write_record(rows.schema().fields().iter().map(|field| field.name())).map_err(failed)?;
    for batch in rows.batches() {
        let batch = batch?;
        let columns: Vec<_> = batch.columns().iter().map(Cells::new).collect::<Result<_>>()?;
        for row in 0..batch.num_rows() {
            for column in &columns {
                match column {
                    Cells::Text(text) => writer.write_field(text.get(row).unwrap_or("")),
                    Cells::Nested(formatter) => writer.write_field(formatter.value(row).to_string()),
                }
                .map_err(failed)?;
            }
            writer.write_record(None::<&[u8]>).map_err(failed)?;
        }
    }
    writer.flush().map_err(|error| failed(error.into()))
}

/// How a column is written as text: canonically where its type has a canonical text, else as Arrow shows it.
enum Cells<'a> {
    Text(TextColumn),
    Nested(ArrayFormatter<'a>),
}

impl<'a> Cells<'a> {
    fn new(array: &'a ArrayRef) -> Result<Cells<'a>> {
        const OPTIONS: FormatOptions<'static> = FormatOptions::new();
        match TextColumn::new(array) {
            Some(text) => Ok(Cells::Text(text)),
            None => ArrayFormatter::try_new(array.as_ref() as &dyn Array, &OPTIONS)
                .map(Cells::Nested)
                .map_err(|error| Error::Input(format!("a column cannot be written as text: {error}"))),
        }
    }
}
