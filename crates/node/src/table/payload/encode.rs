//! Encoding of rows by the giving side.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, TimeUnit};
use tacita_core::{Error, Result};

use super::{Column, ColumnType, DAYS, MAX_COLUMNS, MAX_ROW_BYTES, PayloadSchema, is_dated};
use crate::base::text::{self, counted};
use crate::table::text::{TextColumn, has_text};
use crate::table::{Table, TableKeys, Wanted, find_column};

/// Makes the rows that a party gives, key by key.
pub struct PayloadEncoder<'a> {
    table: &'a Table,
    /// The given columns of each batch.
    batches: Vec<Given>,
    layout: Layout,
}

/// Layout of given rows, whose batches come one after the other.
pub(crate) struct Layout {
    source: String,
    schema: PayloadSchema,
    /// Positions of the columns in the table.
    positions: Vec<usize>,
    /// The texts of each column.
    texts: Vec<Texts>,
    /// Number of leading columns that are given as text, whatever they are.
    as_texts: usize,
    /// Length to which texts are padded, if not to the longest.
    max_text: Option<usize>,
}

/// The columns of a batch that are given.
pub(crate) struct Given(Vec<Values>);

/// The texts of a column that is given.
#[derive(Clone, Default)]
struct Texts {
    /// Bytes of all of them.
    all: u64,
    /// Number of rows in all.
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
        keys: &TableKeys,
        columns: &[(String, String)],
        max_text: Option<usize>,
    ) -> Result<PayloadEncoder<'a>> {
        PayloadEncoder::with_texts(table, keys, columns, 0, max_text)
    }

    /// Creates an encoder like [`PayloadEncoder::new`], with the first `texts` columns as text, whatever they are.
    ///
    /// Errors ([`Error::Input`]): a column is missing, of a type that cannot be given, or holds a date outside the
    /// years 1 to 9999; the rows are longer than [`MAX_ROW_BYTES`]; a text is longer than `max_text`, to which all are
    /// filled up.
    pub fn with_texts(
        table: &'a Table,
        keys: &TableKeys,
        columns: &[(String, String)],
        texts: usize,
        max_text: Option<usize>,
    ) -> Result<PayloadEncoder<'a>> {
        let mut layout = Layout::new(table.source(), table.schema(), columns, texts, max_text)?;
        let mut first = 0;
        for batch in table.batches() {
            layout.check_days(batch, |row| table.place(first + row))?;
            first += batch.num_rows();
        }
        let batches = table.batches().iter().map(|batch| layout.of_batch(batch)).collect::<Result<Vec<_>>>()?;
        for &number in (0..keys.len()).flat_map(|key| keys.rows(key)) {
            let (batch, row) = table.locate(number as usize);
            layout.measure(&batches[batch], row, number.into(), |row| table.place(row as usize))?;
        }
        layout.settle()?;
        Ok(PayloadEncoder { table, batches, layout })
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> &PayloadSchema {
        &self.layout.schema
    }

    /// Returns a warning for the user about a column in which one long text makes all rows long.
    pub fn filling(&self) -> Option<String> {
        self.layout.filling(|row| self.table.place(row as usize))
    }

    /// Fills every text up to a power of two, at least `least`: so much less does the longest one tell.
    ///
    /// Errors: the rows become too long.
    pub fn round(&mut self, least: usize) -> Result<()> {
        self.layout.round(least)
    }

    /// Appends a row that has a key: [`PayloadSchema::row_bytes`].
    pub fn encode_row(&self, row: u32, out: &mut Vec<u8>) {
        let (batch, row) = self.table.locate(row as usize);
        self.layout.encode_row(&self.batches[batch], row, out);
    }
}

impl Layout {
    /// The columns `columns` (name in the job, header in the table) of a table of this schema, the first `texts` of
    /// them as text.
    pub fn new(
        source: &str,
        schema: &Schema,
        columns: &[(String, String)],
        texts: usize,
        max_text: Option<usize>,
    ) -> Result<Layout> {
        if columns.is_empty() || columns.len() > MAX_COLUMNS {
            return Err(Error::Input(format!(
                "gives: a party gives 1 to {MAX_COLUMNS} columns, not {}",
                columns.len()
            )));
        }
        let mut given = Vec::new();
        let mut positions = Vec::new();
        for (place, (name, header)) in columns.iter().enumerate() {
            let position = find_column(source, schema, header, Wanted::Mapped(name))?;
            let data_type = schema.field(position).data_type();
            let kind = if place < texts {
                has_text(data_type).then_some(ColumnType::Text { longest: 0 })
            } else {
                column_type(data_type)
            };
            let kind = kind.ok_or_else(|| {
                Error::Input(format!(
                    "{source}: column {header:?} is of type {data_type}, which cannot be given; convert it to text, a number or a date"
                ))
            })?;
            given.push(Column { name: name.clone(), kind });
            positions.push(position);
        }
        let measured = vec![Texts::default(); given.len()];
        let schema = PayloadSchema { columns: given };
        Ok(Layout { source: source.to_owned(), schema, positions, texts: measured, as_texts: texts, max_text })
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> &PayloadSchema {
        &self.schema
    }

    /// Rounds lengths like [`PayloadEncoder::round`], in what has been settled.
    pub fn round(&mut self, least: usize) -> Result<()> {
        for column in &mut self.schema.columns {
            if let ColumnType::Text { longest } = &mut column.kind {
                *longest = longest.next_power_of_two().max(least);
            }
        }
        self.schema.check().map_err(|what| Error::Input(format!("{}: {what}", self.source)))
    }

    /// Returns the given columns of a batch.
    pub fn of_batch(&self, batch: &RecordBatch) -> Result<Given> {
        let columns = self.positions.iter().zip(&self.schema.columns);
        columns.map(|(&at, column)| Values::new(batch.column(at), column.kind)).collect::<Result<_>>().map(Given)
    }

    /// Refuses a column of dates in milliseconds that have a time of day, which a date would lose.
    pub fn check_days(&self, batch: &RecordBatch, place: impl Fn(usize) -> String) -> Result<()> {
        for &position in &self.positions[self.as_texts..] {
            if !matches!(value_type(batch.schema_ref().field(position).data_type()), DataType::Date64) {
                continue;
            }
            let dates = convert(batch.column(position), &DataType::Date64)?;
            let dates = dates.as_primitive::<Date64Type>();
            let timed = |row: &usize| dates.is_valid(*row) && dates.value(*row).rem_euclid(DAY_MILLISECONDS) != 0;
            if let Some(row) = (0..dates.len()).find(timed) {
                return Err(Error::Input(format!(
                    "{}, {}, column {:?}: a date with a time of day, which would be lost: convert the column to timestamps",
                    self.source,
                    place(row),
                    batch.schema_ref().field(position).name()
                )));
            }
        }
        Ok(())
    }

    /// Returns a warning for the user about a column in which one long text makes all rows long. `place` says where a
    /// row of a given number is.
    pub fn filling(&self, place: impl Fn(u64) -> String) -> Option<String> {
        let columns = self.schema.columns.iter().zip(&self.texts);
        let filling = columns.filter_map(|(column, texts)| match column.kind {
            ColumnType::Text { longest } => Some((texts.rows * longest as u64 - texts.all, column, longest, texts)),
            _ => None,
        });
        let (bytes, column, longest, texts) = filling.max_by_key(|(bytes, ..)| *bytes)?;
        (bytes > FILLING && bytes > 3 * texts.all).then(|| {
            format!(
                "{}, {}: column {:?} has {} here, and every row is padded to the longest, which sends {} more than the texts \
                 are. Shorten it, give another column, or agree on a bound (limits.max_text)",
                self.source,
                place(texts.longest_in),
                column.name,
                counted(longest as u64, "byte"),
                text::bytes(bytes)
            )
        })
    }

    /// Appends a row: [`PayloadSchema::row_bytes`].
    pub fn encode_row(&self, given: &Given, row: usize, out: &mut Vec<u8>) {
        for (values, column) in given.0.iter().zip(&self.schema.columns) {
            let end = out.len() + 1 + column.kind.bytes();
            out.push(u8::from(values.is_valid(row)));
            if values.is_valid(row) {
                values.append(row, out);
            }
            out.resize(end, 0);
        }
    }

    /// Measures the texts of a row, and refuses values that cannot be given. `place` says where the row of that number
    /// is.
    pub fn measure(&mut self, given: &Given, row: usize, number: u64, place: impl Fn(u64) -> String) -> Result<()> {
        let columns = self.schema.columns.iter_mut().zip(&mut self.texts);
        for (values, (column, texts)) in given.0.iter().zip(columns) {
            match (values, &mut column.kind) {
                (Values::Text(value), ColumnType::Text { longest }) => {
                    let length = value.get(row).map_or(0, str::len);
                    texts.rows += 1;
                    texts.all += length as u64;
                    if let Some(limit) = self.max_text.filter(|limit| length > *limit) {
                        return Err(Error::Input(format!(
                            "{}, {}: column {:?} has {}, and limits.max_text is {}: shorten it, or agree on more",
                            self.source,
                            place(number),
                            column.name,
                            counted(length as u64, "byte"),
                            text::count(limit as u64)
                        )));
                    }
                    if length > *longest {
                        (*longest, texts.longest_in) = (length, number);
                    }
                }
                _ if !values.is_valid(row) || values.is_in_range(row) => {}
                _ => {
                    return Err(Error::Input(format!(
                        "{}, {}: the date in column {:?} is outside the years 1 to 9999 and cannot be given; mend or remove it",
                        self.source,
                        place(number),
                        column.name
                    )));
                }
            }
        }
        Ok(())
    }

    /// Fixes the lengths, when all rows have been measured.
    pub fn settle(&mut self) -> Result<()> {
        for column in &mut self.schema.columns {
            if let (ColumnType::Text { longest }, Some(limit)) = (&mut column.kind, self.max_text) {
                *longest = limit;
            }
        }
        let wide = self.schema.columns.iter().max_by_key(|column| column.kind.bytes());
        match (self.schema.check(), wide) {
            (Err(_), Some(column)) if self.schema.row_bytes() > MAX_ROW_BYTES => Err(Error::Input(format!(
                "{}: rows to be given take {} bytes, more than {MAX_ROW_BYTES}; the longest column is {:?}",
                self.source,
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
        f.debug_struct("PayloadEncoder").field("schema", self.schema()).finish_non_exhaustive()
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
