//! JSON: one array of objects.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_json::writer::NullableEncoder;
use arrow_json::{ArrayWriter, Encoder, EncoderFactory, EncoderOptions, WriterBuilder};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use tacita_core::{Error, Result};

use super::{RowSource, written};
use crate::table::schema_of;
use crate::table::text::TextColumn;

/// Most readers of JSON keep numbers in 64 bits of floating point, where integers from here on are no longer told
/// apart.
const EXACT: u64 = 1 << 53;

/// Decimals of so many digits are told apart there.
const EXACT_DIGITS: usize = 15;

pub(super) fn write(rows: &dyn RowSource, out: &mut (dyn Write + Send), name: &str) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Error::Input(format!("{name}: cannot be written: {error}"));
    let builder = WriterBuilder::new().with_explicit_nulls(true).with_encoder_factory(Arc::new(LongNumbers));
    let mut writer: ArrayWriter<_> = builder.build(&mut *out);
    let places = written(rows.schema());
    for batch in rows.batches() {
        let batch = batch?.project(&places).map_err(|error| failed(&error))?;
        writer.write(&times_as_text(&batch)?).map_err(|error| failed(&error))?;
    }
    writer.finish().map_err(|error| failed(&error))?;
    out.write_all(b"\n").map_err(|error| failed(&error))
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

/// Writes numbers as text where a reader would not keep all their digits.
#[derive(Debug)]
struct LongNumbers;

impl EncoderFactory for LongNumbers {
    fn make_default_encoder<'a>(
        &self,
        _: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> std::result::Result<Option<NullableEncoder<'a>>, ArrowError> {
        let number: Box<dyn Fn(usize) -> (String, bool) + 'a> = match array.data_type() {
            DataType::Int64 => {
                let values = array.as_primitive::<Int64Type>();
                Box::new(|row| (values.value(row).to_string(), values.value(row).unsigned_abs() < EXACT))
            }
            DataType::UInt64 => {
                let values = array.as_primitive::<UInt64Type>();
                Box::new(|row| (values.value(row).to_string(), values.value(row) < EXACT))
            }
            DataType::Decimal128(..) => {
                let values = array.as_primitive::<Decimal128Type>();
                Box::new(|row| with_digits(values.value_as_string(row)))
            }
            DataType::Decimal256(..) => {
                let values = array.as_primitive::<Decimal256Type>();
                Box::new(|row| with_digits(values.value_as_string(row)))
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(Box::new(Numbers(number)), array.nulls().cloned())))
    }
}

/// A decimal, and whether a reader keeps its digits.
fn with_digits(text: String) -> (String, bool) {
    let digits = text.trim_start_matches(['-', '0', '.']).bytes().filter(u8::is_ascii_digit).count();
    (text, digits <= EXACT_DIGITS)
}

/// The text of a row's number, and whether it may stand as a number.
struct Numbers<'a>(Box<dyn Fn(usize) -> (String, bool) + 'a>);

impl Encoder for Numbers<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let (text, exact) = self.0(row);
        let quote = if exact { "" } else { "\"" };
        out.extend([quote, &text, quote].iter().flat_map(|part| part.bytes()));
    }
}
