//! The giving side.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use tacita_core::{Error, Result};

use super::{Column, ColumnType, DAYS, MAX_COLUMNS, MAX_ROW_BYTES, PayloadSchema, is_dated};
use crate::base::text::{self, counted};
use crate::table::text::{TextColumn, has_text};
use crate::table::{Keys, Table};

/// Makes the rows that a party gives, key by key.
pub struct PayloadEncoder<'a> {
    table: &'a Table,
    keys: &'a Keys,
    schema: PayloadSchema,
    /// The given columns of each batch.
    batches: Vec<Vec<Values>>,
    /// The texts of each column.
    texts: Vec<Texts>,
}

/// The texts of a column that is given.
#[derive(Clone, Default)]
struct Texts {
    /// Bytes of all of them.
    all: u64,
    /// How many rows there are.
    rows: u64,
    /// The row with the longest one.
    longest_in: u64,
}

/// Rows are filled up to one length; more bytes than this for nothing but filling are worth a word.
const FILLING: u64 = 64 << 20;

/// A column's values, in the type that is given.
enum Values {
    Text(TextColumn),
    Typed(ColumnType, ArrayRef),
}

impl<'a> PayloadEncoder<'a> {
    /// Prepares the columns `columns` (name in the job, header in the table) of the rows that have keys.
    ///
    /// Errors: those of [`PayloadEncoder::with_texts`].
    pub fn new(
        table: &'a Table,
        keys: &'a Keys,
        columns: &[(String, String)],
        max_text: Option<usize>,
    ) -> Result<PayloadEncoder<'a>> {
        PayloadEncoder::with_texts(table, keys, columns, 0, max_text)
    }

    /// As [`PayloadEncoder::new`], with the first `texts` columns as text, whatever they are.
    ///
    /// Errors ([`Error::Input`]): a column is missing, of a type that cannot be given, or holds a date outside the years
    /// 1 to 9999; the rows are longer than [`MAX_ROW_BYTES`]; a text is longer than `max_text`, to which all are filled up.
    pub fn with_texts(
        table: &'a Table,
        keys: &'a Keys,
        columns: &[(String, String)],
        texts: usize,
        max_text: Option<usize>,
    ) -> Result<PayloadEncoder<'a>> {
        if columns.is_empty() || columns.len() > MAX_COLUMNS {
            return Err(Error::Input(format!(
                "gives: a party gives 1 to {MAX_COLUMNS} columns, not {}",
                columns.len()
            )));
        }
        let mut given = Vec::new();
        let mut positions = Vec::new();
        for (place, (name, header)) in columns.iter().enumerate() {
            let position = table.column(header, name)?;
            let data_type = table.schema().field(position).data_type();
            let kind = match place < texts {
                true => has_text(data_type).then_some(ColumnType::Text { longest: 0 }),
                false => column_type(data_type),
            };
            let kind = kind.ok_or_else(|| {
                Error::Input(format!(
                    "{}: column {header:?} is of type {data_type}, which cannot be given; convert it to text, a number or \
                     a date",
                    table.source()
                ))
            })?;
            if place >= texts && matches!(value_type(data_type), DataType::Date64) {
                check_days(table, position)?;
            }
            given.push(Column { name: name.clone(), kind });
            positions.push(position);
        }
        let convert = |batch: &arrow_array::RecordBatch| {
            positions.iter().zip(&given).map(|(&at, column)| Values::new(batch.column(at), column.kind)).collect()
        };
        let batches = table.batches().iter().map(convert).collect::<Result<_>>()?;
        let schema = PayloadSchema { columns: given };
        let texts = vec![Texts::default(); schema.columns.len()];
        let mut encoder = PayloadEncoder { table, keys, schema, batches, texts };
        encoder.measure(max_text)?;
        Ok(encoder)
    }

    /// The same, with every text filled up to a power of two, at least `least`: so much less does the longest one tell.
    ///
    /// Errors: the rows become too long.
    pub fn rounded(mut self, least: usize) -> Result<PayloadEncoder<'a>> {
        for column in &mut self.schema.columns {
            if let ColumnType::Text { longest } = &mut column.kind {
                *longest = longest.next_power_of_two().max(least);
            }
        }
        self.schema.check().map_err(|what| Error::Input(format!("{}: {what}", self.table.source())))?;
        Ok(self)
    }

    /// What the rows hold.
    pub fn schema(&self) -> &PayloadSchema {
        &self.schema
    }

    /// What the user should know of a column in which one long text makes all rows long.
    pub fn filling(&self) -> Option<String> {
        let columns = self.schema.columns.iter().zip(&self.texts);
        let filling = columns.filter_map(|(column, texts)| match column.kind {
            ColumnType::Text { longest } => Some((texts.rows * longest as u64 - texts.all, column, longest, texts)),
            _ => None,
        });
        let (bytes, column, longest, texts) = filling.max_by_key(|(bytes, ..)| *bytes)?;
        (bytes > FILLING && bytes > 3 * texts.all).then(|| {
            format!(
                "{}, {}: column {:?} has {} here, and every row is given as long as the longest, so that nobody sees which is \
                 which: that alone sends {} more than the texts are. Shorten it, give another column, or \
                 agree on a bound (limits.max_text)",
                self.table.source(),
                self.table.place(texts.longest_in as usize),
                column.name,
                counted(longest as u64, "byte"),
                text::bytes(bytes)
            )
        })
    }

    /// Appends a row that has a key: [`PayloadSchema::row_bytes`].
    pub fn encode_row(&self, row: u32, out: &mut Vec<u8>) {
        let (batch, row) = self.table.locate(row as usize);
        for (values, column) in self.batches[batch].iter().zip(&self.schema.columns) {
            let end = out.len() + 1 + column.kind.bytes();
            out.push(u8::from(values.is_valid(row)));
            if values.is_valid(row) {
                values.append(row, out);
            }
            out.resize(end, 0);
        }
    }

    /// Finds the longest texts, and values that cannot be given.
    fn measure(&mut self, max_text: Option<usize>) -> Result<()> {
        for key in 0..self.keys.len() {
            for &number in self.keys.rows(key) {
                let (batch, row) = self.table.locate(number as usize);
                let columns = self.schema.columns.iter_mut().zip(&mut self.texts);
                for (values, (column, texts)) in self.batches[batch].iter().zip(columns) {
                    match (values, &mut column.kind) {
                        (Values::Text(value), ColumnType::Text { longest }) => {
                            let length = value.get(row).map_or(0, str::len);
                            texts.rows += 1;
                            texts.all += length as u64;
                            if let Some(limit) = max_text.filter(|limit| length > *limit) {
                                return Err(Error::Input(format!(
                                    "{}, {}: column {:?} has {}, and limits.max_text is {}: shorten it, or agree on more",
                                    self.table.source(),
                                    self.table.place(number as usize),
                                    column.name,
                                    counted(length as u64, "byte"),
                                    text::count(limit as u64)
                                )));
                            }
                            if length > *longest {
                                (*longest, texts.longest_in) = (length, number.into());
                            }
                        }
                        _ if !values.is_valid(row) || values.is_in_range(row) => {}
                        _ => {
                            return Err(Error::Input(format!(
                                "{}, {}: the date in column {:?} is outside the years 1 to 9999 and cannot be given; mend or \
                                 remove it",
                                self.table.source(),
                                self.table.place(number as usize),
                                column.name
                            )));
                        }
                    }
                }
            }
        }
        for column in &mut self.schema.columns {
            if let (ColumnType::Text { longest }, Some(limit)) = (&mut column.kind, max_text) {
                *longest = limit;
            }
        }
        let wide = self.schema.columns.iter().max_by_key(|column| column.kind.bytes());
        match (self.schema.check(), wide) {
            (Err(_), Some(column)) if self.schema.row_bytes() > MAX_ROW_BYTES => Err(Error::Input(format!(
                "{}: rows to be given take {} bytes, more than {MAX_ROW_BYTES}; the longest column is {:?}",
                self.table.source(),
                self.schema.row_bytes(),
                column.name
            ))),
            (Err(what), _) => Err(Error::Input(format!("gives: {what}"))),
            _ => Ok(()),
        }
    }
}

/// Counts only: values are never printed.
impl std::fmt::Debug for PayloadEncoder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PayloadEncoder").field("schema", &self.schema).finish_non_exhaustive()
    }
}

const DAY_MILLISECONDS: i64 = 24 * 60 * 60 * 1000;

/// The type that a column is given in.
fn column_type(data_type: &DataType) -> Option<ColumnType> {
    use DataType::*;
    Some(match data_type {
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => ColumnType::Integer,
        UInt64 => ColumnType::Unsigned,
        Float16 | Float32 | Float64 => ColumnType::Number,
        Boolean => ColumnType::Boolean,
        Date32 | Date64 => ColumnType::Date,
        Timestamp(unit, zone) => ColumnType::Timestamp { unit: *unit, utc: zone.is_some() },
        Decimal32(precision, scale) | Decimal64(precision, scale) | Decimal128(precision, scale)
            if scale.unsigned_abs() <= *precision =>
        {
            ColumnType::Decimal { precision: *precision, scale: *scale }
        }
        Dictionary(..) | RunEndEncoded(..) => return column_type(value_type(data_type)),
        other => return has_text(other).then_some(ColumnType::Text { longest: 0 }),
    })
}

/// The type of the values, however they are stored.
fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => value_type(values),
        DataType::RunEndEncoded(_, values) => value_type(values.data_type()),
        other => other,
    }
}

/// Refuses a column of dates in milliseconds that have a time of day, which a date would lose.
fn check_days(table: &Table, position: usize) -> Result<()> {
    let mut first = 0;
    for batch in table.batches() {
        let dates = convert(batch.column(position), &DataType::Date64)?;
        let dates = dates.as_primitive::<Date64Type>();
        let timed = |row: &usize| dates.is_valid(*row) && dates.value(*row).rem_euclid(DAY_MILLISECONDS) != 0;
        if let Some(row) = (0..dates.len()).find(timed) {
            return Err(Error::Input(format!(
                "{}, {}, column {:?}: a date with a time of day, which would be lost: convert the column to timestamps",
                table.source(),
                table.place(first + row),
                table.schema().field(position).name()
            )));
        }
        first += batch.num_rows();
    }
    Ok(())
}

fn convert(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let failed = |_| Error::Internal("a column cannot be converted to the type that it is given in".into());
    arrow_cast::cast(array, to).map_err(failed)
}

/// Numbers of 16 or 32 bits as the numbers of 64 bits that are written with the same digits.
fn with_same_digits(array: &ArrayRef) -> Result<ArrayRef> {
    let array = convert(array, &DataType::Float32)?;
    let digits = |value: f32| value.to_string().parse().unwrap_or(f64::from(value));
    Ok(Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float64Type>(digits)))
}

impl Values {
    fn new(array: &ArrayRef, kind: ColumnType) -> Result<Values> {
        match (kind, value_type(array.data_type())) {
            (ColumnType::Text { .. }, _) => TextColumn::new(array)
                .map(Values::Text)
                .ok_or_else(|| Error::Internal("a column that is given as text has none".into())),
            (_, DataType::Float16 | DataType::Float32) => Ok(Values::Typed(kind, with_same_digits(array)?)),
            _ => Ok(Values::Typed(kind, convert(array, &kind.arrow())?)),
        }
    }

    fn is_valid(&self, row: usize) -> bool {
        match self {
            Values::Text(text) => text.get(row).is_some(),
            Values::Typed(_, array) => array.is_valid(row),
        }
    }

    fn is_in_range(&self, row: usize) -> bool {
        match self {
            Values::Typed(ColumnType::Date, array) => {
                DAYS.contains(&array.as_primitive::<Date32Type>().value(row).into())
            }
            Values::Typed(ColumnType::Timestamp { unit, .. }, array) => is_dated(timestamp(array, *unit, row), *unit),
            _ => true,
        }
    }

    /// Appends the value of a row that has one, without what it is padded with.
    fn append(&self, row: usize, out: &mut Vec<u8>) {
        let (kind, array) = match self {
            Values::Text(text) => {
                let text = text.get(row).unwrap_or_default();
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
                return;
            }
            Values::Typed(kind, array) => (kind, array),
        };
        match kind {
            ColumnType::Text { .. } => {}
            ColumnType::Integer => out.extend(array.as_primitive::<Int64Type>().value(row).to_le_bytes()),
            ColumnType::Unsigned => out.extend(array.as_primitive::<UInt64Type>().value(row).to_le_bytes()),
            ColumnType::Number => out.extend(array.as_primitive::<Float64Type>().value(row).to_le_bytes()),
            ColumnType::Boolean => out.push(u8::from(array.as_boolean().value(row))),
            ColumnType::Date => out.extend(array.as_primitive::<Date32Type>().value(row).to_le_bytes()),
            ColumnType::Timestamp { unit, .. } => out.extend(timestamp(array, *unit, row).to_le_bytes()),
            ColumnType::Decimal { .. } => out.extend(array.as_primitive::<Decimal128Type>().value(row).to_le_bytes()),
        }
    }
}

fn timestamp(array: &ArrayRef, unit: TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row),
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
    }
}
