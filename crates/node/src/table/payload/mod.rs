//! Columns that a party gives to others: rows as byte strings of one length, and the schema that tells what they hold.
//!
//! A row is its columns one after the other. A column is one byte, 1 if there is a value and 0 if not, and then its
//! value in a fixed number of bytes, all 0 where there is none. Numbers are little-endian:
//!
//! | type | code | bytes | value |
//! |---|---|---|---|
//! | text | 1 | 4 + longest | length in bytes (u32), UTF-8 bytes, zeros |
//! | integer | 2 | 8 | i64 |
//! | unsigned | 3 | 8 | u64 |
//! | number | 4 | 8 | IEEE 754 binary64 |
//! | boolean | 5 | 1 | 0 or 1 |
//! | date | 6 | 4 | days since 1970-01-01 (i32), in the years 1 to 9999 |
//! | timestamp | 7 | 8 | units since 1970-01-01T00:00 (i64), in the years 1 to 9999; details: 0 s, 1 ms, 2 µs, 3 ns; 1 if UTC |
//! | decimal | 8 | 16 | unscaled value (i128); details: precision 1 to 38; scale (i8) |
//!
//! The longest text is that of the rows that are given, so each party learns this much of the others' tables.
//!
//! The schema's bytes: version (u8, 1), number of columns (u16), then for each column its type's code (u8), its two
//! bytes of details (0 where the table names none), the bytes of a value (u32), the length of its name in bytes (u16)
//! and the name in UTF-8.

mod decode;
mod encode;

use std::sync::Arc;

use arrow_schema::{DataType, Field, SchemaRef, TimeUnit};
use tacita_core::{Error, Result};

pub(crate) use encode::Layout;
pub use encode::PayloadEncoder;

use super::schema_of;

/// Most columns that can be given.
pub const MAX_COLUMNS: usize = 1024;

/// Longest name of a given column, in bytes.
pub const MAX_NAME_BYTES: usize = 255;

/// Longest row that can be given, in bytes.
pub const MAX_ROW_BYTES: usize = 1 << 20;

/// Bytes that hold the length of a text.
const LENGTH_BYTES: usize = 4;

/// The most bytes that a value has which is no text.
const MAX_NUMBER_BYTES: usize = 16;

const VERSION: u8 = 1;

/// Type of a given column; the wider type stands for all narrower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Text of up to this many bytes.
    Text {
        /// Bytes of the longest one.
        longest: usize,
    },
    /// Integers with a sign.
    Integer,
    /// Integers without a sign.
    Unsigned,
    /// Numbers in floating point.
    Number,
    /// Truth values: true or false.
    Boolean,
    /// Dates of the calendar.
    Date,
    /// Points in time, or local times if not `utc`.
    Timestamp {
        /// Unit of time that is counted.
        unit: TimeUnit,
        /// Whether the column has a time zone.
        utc: bool,
    },
    /// Decimal numbers of fixed precision.
    Decimal {
        /// Total number of digits.
        precision: u8,
        /// Digits behind the point.
        scale: i8,
    },
}

impl ColumnType {
    /// Bytes of a value.
    fn bytes(self) -> usize {
        match self {
            ColumnType::Text { longest } => LENGTH_BYTES + longest,
            ColumnType::Integer | ColumnType::Unsigned | ColumnType::Number | ColumnType::Timestamp { .. } => 8,
            ColumnType::Boolean => 1,
            ColumnType::Date => 4,
            ColumnType::Decimal { .. } => 16,
        }
    }

    fn arrow(self) -> DataType {
        match self {
            ColumnType::Text { .. } => DataType::LargeUtf8,
            ColumnType::Integer => DataType::Int64,
            ColumnType::Unsigned => DataType::UInt64,
            ColumnType::Number => DataType::Float64,
            ColumnType::Boolean => DataType::Boolean,
            ColumnType::Date => DataType::Date32,
            ColumnType::Timestamp { unit, utc } => DataType::Timestamp(unit, utc.then(|| Arc::from("UTC"))),
            ColumnType::Decimal { precision, scale } => DataType::Decimal128(precision, scale),
        }
    }

    /// Returns the code of the type and its details.
    fn code(self) -> [u8; 3] {
        match self {
            ColumnType::Text { .. } => [1, 0, 0],
            ColumnType::Integer => [2, 0, 0],
            ColumnType::Unsigned => [3, 0, 0],
            ColumnType::Number => [4, 0, 0],
            ColumnType::Boolean => [5, 0, 0],
            ColumnType::Date => [6, 0, 0],
            ColumnType::Timestamp { unit, utc } => [7, unit as u8, u8::from(utc)],
            ColumnType::Decimal { precision, scale } => [8, precision, scale as u8],
        }
    }

    fn of_code(code: [u8; 3], bytes: usize) -> Option<ColumnType> {
        const UNITS: [TimeUnit; 4] =
            [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
        let found = match code {
            [1, 0, 0] => ColumnType::Text { longest: bytes.checked_sub(LENGTH_BYTES)? },
            [2, 0, 0] => ColumnType::Integer,
            [3, 0, 0] => ColumnType::Unsigned,
            [4, 0, 0] => ColumnType::Number,
            [5, 0, 0] => ColumnType::Boolean,
            [6, 0, 0] => ColumnType::Date,
            [7, unit, utc @ (0 | 1)] => ColumnType::Timestamp { unit: *UNITS.get(unit as usize)?, utc: utc == 1 },
            [8, precision @ 1..=38, scale] if (scale as i8).unsigned_abs() <= precision => {
                ColumnType::Decimal { precision, scale: scale as i8 }
            }
            _ => return None,
        };
        (found.bytes() == bytes).then_some(found)
    }
}

/// Name and type of a given column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name of the column in the job.
    pub name: String,
    /// Type of the column's values.
    pub kind: ColumnType,
}

impl Column {
    /// Whether it holds text.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.kind, ColumnType::Text { .. })
    }
}

/// Schema of the rows that a party gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadSchema {
    columns: Vec<Column>,
}

impl PayloadSchema {
    /// Columns of text that are `bytes` long together: what is assumed of columns that are not known yet.
    ///
    /// Errors: more or longer columns than can be given.
    pub fn of_texts(names: &[String], bytes: u64) -> Result<PayloadSchema> {
        let longest = usize::try_from(bytes / names.len().max(1) as u64).unwrap_or(usize::MAX).min(MAX_ROW_BYTES);
        let column = |name: &String| Column { name: name.clone(), kind: ColumnType::Text { longest } };
        let schema = PayloadSchema { columns: names.iter().map(column).collect() };
        schema.check().map_err(|check| Error::Input(format!("gives: {check}")))?;
        Ok(schema)
    }

    /// The most bytes that a row of so many columns has, and the bytes that its schema has whatever their types are.
    /// Texts have up to `text_bytes`.
    ///
    /// Errors: as [`PayloadSchema::of_texts`].
    pub fn most_bytes(names: &[String], text_bytes: u64) -> Result<[usize; 2]> {
        let longest = text_bytes.max((MAX_NUMBER_BYTES - LENGTH_BYTES) as u64);
        let schema = PayloadSchema::of_texts(names, longest.saturating_mul(names.len() as u64))?;
        Ok([schema.row_bytes(), schema.encode().len()])
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Whether all texts are filled up to so many bytes.
    pub fn is_filled_up_to(&self, bytes: u64) -> bool {
        let filled = |column: &Column| match column.kind {
            ColumnType::Text { longest } => longest as u64 == bytes,
            _ => true,
        };
        self.columns.iter().all(filled)
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.columns.iter().map(|column| 1 + column.kind.bytes()).sum()
    }

    /// The schema as it is sent.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend((self.columns.len() as u16).to_le_bytes());
        for column in &self.columns {
            bytes.extend(column.kind.code());
            bytes.extend((column.kind.bytes() as u32).to_le_bytes());
            bytes.extend((column.name.len() as u16).to_le_bytes());
            bytes.extend(column.name.as_bytes());
        }
        bytes
    }

    /// Reads the schema that `peer` sent. `expected` are the columns that it gives by the terms.
    ///
    /// Errors: [`Error::Protocol`] unless it is well formed, within the limits, and has the columns expected.
    pub fn decode(bytes: &[u8], peer: &str, expected: &[String]) -> Result<PayloadSchema> {
        decode::schema(bytes, expected).map_err(|check| broken(peer, check))
    }

    /// Reads rows that `peer` sent, one after the other. The columns are named `PEER.COLUMN`.
    ///
    /// Errors: [`Error::Protocol`] unless every byte is as the schema says.
    pub fn decode_rows(&self, bytes: &[u8], peer: &str) -> Result<arrow_array::RecordBatch> {
        decode::rows(self, bytes, peer).map_err(|check| broken(peer, check))
    }

    /// The columns as `peer`'s: named `PEER.COLUMN`.
    pub fn arrow(&self, peer: &str) -> SchemaRef {
        let field = |column: &Column| Field::new(received_name(peer, &column.name), column.kind.arrow(), true);
        schema_of(self.columns.iter().map(field).collect())
    }

    /// Checks limits and names; what is wrong otherwise.
    fn check(&self) -> std::result::Result<(), &'static str> {
        let names: std::collections::HashSet<_> = self.columns.iter().map(|column| &column.name).collect();
        match () {
            _ if self.columns.is_empty() => Err("no column is given"),
            _ if self.columns.len() > MAX_COLUMNS => Err("too many columns are given"),
            _ if self.row_bytes() > MAX_ROW_BYTES => Err("the rows that are given are too long"),
            _ if names.len() < self.columns.len() => Err("two columns that are given have one name"),
            _ if !names.iter().all(|name| is_plain(name)) => Err("a given column has a name that cannot be shown"),
            _ => Ok(()),
        }
    }
}

/// Returns the name in the result of a column that `peer` gives.
pub(crate) fn received_name(peer: &str, column: &str) -> String {
    format!("{peer}.{column}")
}

/// Whether a name can be shown on a terminal and in a file without harm: it is not empty or too long, and has no
/// control characters, not even those that turn the direction of writing.
fn is_plain(name: &str) -> bool {
    let hidden = |c: char| {
        let turns =
            matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        c.is_control() || turns
    };
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(hidden)
}

/// Days since 1970-01-01 of the first and the last date that can be given: 0001-01-01 and 9999-12-31.
const DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;

/// Whether a timestamp is in the years 1 to 9999.
fn is_dated(value: i64, unit: TimeUnit) -> bool {
    let per_second = 1000i64.pow(unit as u32);
    DAYS.contains(&value.div_euclid(per_second).div_euclid(86_400))
}

fn broken(peer: &str, check: &str) -> Error {
    Error::Protocol { peer: peer.to_string(), check: check.to_string() }
}
