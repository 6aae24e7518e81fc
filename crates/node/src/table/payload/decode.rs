//! The receiving side: bytes of a peer that may be hostile. Nothing is allocated for what a length merely claims.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, LargeStringBuilder};
use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow_schema::TimeUnit;

use super::{Column, ColumnType, DAYS, LENGTH_BYTES, MAX_COLUMNS, MAX_NAME_BYTES, PayloadSchema, VERSION, is_dated};
use crate::table::MAX_ROWS;

/// The check that failed.
type Check<T> = Result<T, &'static str>;

pub(super) fn schema(bytes: &[u8], expected: &[String]) -> Check<PayloadSchema> {
    let mut rest = bytes;
    let [version] = take(&mut rest)?;
    if version != VERSION {
        return Err("the schema of given columns is of an unknown version");
    }
    let count = u16::from_le_bytes(take(&mut rest)?) as usize;
    if count > MAX_COLUMNS {
        return Err("too many columns are given");
    }
    let mut columns = Vec::new();
    for _ in 0..count {
        let code = take(&mut rest)?;
        let bytes = u32::from_le_bytes(take(&mut rest)?) as usize;
        let kind = ColumnType::of_code(code, bytes).ok_or("a given column has an unknown type")?;
        let length = u16::from_le_bytes(take(&mut rest)?) as usize;
        if length > MAX_NAME_BYTES {
            return Err("a given column has a name that is too long");
        }
        let (name, tail) = rest.split_at_checked(length).ok_or(SHORT)?;
        rest = tail;
        let name = std::str::from_utf8(name).map_err(|_| "a given column has a name that is not UTF-8")?;
        columns.push(Column { name: name.to_string(), kind });
    }
    if !rest.is_empty() {
        return Err("the schema of given columns has bytes at its end that mean nothing");
    }
    let schema = PayloadSchema { columns };
    schema.check()?;
    if schema.columns.iter().map(|column| &column.name).eq(expected) {
        Ok(schema)
    } else {
        Err("the columns that are given are not those of the terms")
    }
}

const SHORT: &str = "the schema of given columns ends too early";

fn take<const N: usize>(rest: &mut &[u8]) -> Check<[u8; N]> {
    let (taken, tail) = rest.split_first_chunk().ok_or(SHORT)?;
    *rest = tail;
    Ok(*taken)
}

pub(super) fn rows(schema: &PayloadSchema, bytes: &[u8], peer: &str) -> Check<RecordBatch> {
    let row_bytes = schema.row_bytes();
    if !bytes.len().is_multiple_of(row_bytes) || bytes.len() / row_bytes > MAX_ROWS {
        return Err("the rows that are given have a length that their schema does not allow");
    }
    let mut columns = Vec::new();
    let mut offset = 0;
    for column in &schema.columns {
        let width = 1 + column.kind.bytes();
        let values = bytes.chunks_exact(row_bytes).map(|row| &row[offset..offset + width]);
        columns.push(column_of(column.kind, values)?);
        offset += width;
    }
    RecordBatch::try_new(schema.arrow(peer), columns).map_err(|_| "the columns that are given do not make a table")
}

fn column_of<'a>(kind: ColumnType, cells: impl Iterator<Item = &'a [u8]> + Clone) -> Check<ArrayRef> {
    let cells = cells.map(present);
    Ok(match kind {
        ColumnType::Text { .. } => {
            let mut builder = LargeStringBuilder::new();
            for cell in cells {
                builder.append_option(cell?.map(text).transpose()?);
            }
            Arc::new(builder.finish())
        }
        ColumnType::Boolean => {
            let mut builder = BooleanBuilder::new();
            for cell in cells {
                builder.append_option(match cell? {
                    None => None,
                    Some([value @ (0 | 1)]) => Some(*value == 1),
                    Some(_) => return Err("a given truth value is neither true nor false"),
                });
            }
            Arc::new(builder.finish())
        }
        ColumnType::Integer => Arc::new(Int64Array::from(numbers(cells, i64::from_le_bytes, |_| true)?)),
        ColumnType::Unsigned => Arc::new(UInt64Array::from(numbers(cells, u64::from_le_bytes, |_| true)?)),
        ColumnType::Number => Arc::new(Float64Array::from(numbers(cells, f64::from_le_bytes, |_| true)?)),
        ColumnType::Date => {
            Arc::new(Date32Array::from(numbers(cells, i32::from_le_bytes, |days| DAYS.contains(&days.into()))?))
        }
        ColumnType::Decimal { precision, scale } => {
            let limit = 10u128.pow(precision.into());
            let values = numbers(cells, i128::from_le_bytes, |value| value.unsigned_abs() < limit)?;
            let values = Decimal128Array::from(values).with_precision_and_scale(precision, scale);
            Arc::new(values.map_err(|_| "a given decimal number does not fit its type")?)
        }
        ColumnType::Timestamp { unit, utc } => {
            let values = numbers(cells, i64::from_le_bytes, |value| is_dated(value, unit))?;
            let zone = utc.then_some("UTC");
            match unit {
                TimeUnit::Second => Arc::new(TimestampSecondArray::from(values).with_timezone_opt(zone)),
                TimeUnit::Millisecond => Arc::new(TimestampMillisecondArray::from(values).with_timezone_opt(zone)),
                TimeUnit::Microsecond => Arc::new(TimestampMicrosecondArray::from(values).with_timezone_opt(zone)),
                TimeUnit::Nanosecond => Arc::new(TimestampNanosecondArray::from(values).with_timezone_opt(zone)),
            }
        }
    })
}

/// A column's value without the byte that tells whether there is one.
fn present(cell: &[u8]) -> Check<Option<&[u8]>> {
    match cell {
        [1, value @ ..] => Ok(Some(value)),
        [0, value @ ..] if value.iter().all(|&byte| byte == 0) => Ok(None),
        _ => Err("a given value is neither present nor absent"),
    }
}

fn text(cell: &[u8]) -> Check<&str> {
    let (length, rest) = cell.split_first_chunk::<LENGTH_BYTES>().ok_or("a given text has no length")?;
    let length = u32::from_le_bytes(*length) as usize;
    let (text, padding) = rest.split_at_checked(length).ok_or("a given text is longer than its column")?;
    if padding.iter().any(|&byte| byte != 0) {
        return Err("a given text is padded with other bytes than zeros");
    }
    std::str::from_utf8(text).map_err(|_| "a given text is not UTF-8")
}

fn numbers<'a, const N: usize, T: Copy>(
    cells: impl Iterator<Item = Check<Option<&'a [u8]>>>,
    read: fn([u8; N]) -> T,
    accept: impl Fn(T) -> bool,
) -> Check<Vec<Option<T>>> {
    let number = |cell: Check<Option<&[u8]>>| {
        let Some(bytes) = cell? else { return Ok(None) };
        let value = read(bytes.try_into().map_err(|_| "a given number has another length than its type")?);
        accept(value).then_some(Some(value)).ok_or("a given number is outside the range of its type")
    };
    cells.map(number).collect()
}
