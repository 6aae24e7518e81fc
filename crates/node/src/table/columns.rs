//! The columns of a table that comes from elsewhere: their names, the index of pandas among them, and types that are
//! more than Arrow's own.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use serde_json::Value;
use tacita_core::{Error, Result};

use super::{Table, listed, named};

/// Metadata key under which pandas describes the frame of a table, as JSON.
const PANDAS: &str = "pandas";

/// Metadata key that marks a field as no ordinary column, while the table is in memory: [`INDEX`] or [`NAMELESS`].
const MARK: &str = "tacita:mark";

/// The column is an index of pandas.
const INDEX: &str = "index";

/// Key in the metadata of a schema for an index of pandas that is a range of numbers, which no column holds.
const RANGE: &str = "tacita:range";

/// The column had no name.
const NAMELESS: &str = "nameless";

/// The column is a list of keys, which has no name of its own.
const LIST: &str = "list";

/// Bytes of a UUID.
const UUID_BYTES: i32 = 16;

/// Extension types whose stored values are all that they are. Every other one is refused: pandas' periods are stored as
/// numbers that mean nothing without their frequency, and Python objects as addresses in memory.
const AS_STORED: [&str; 8] = [
    "arrow.json",
    "arrow.fixed_shape_tensor",
    "arrow.variable_shape_tensor",
    "arrow.timestamp_with_offset",
    "ogc.wkb",
    "ray.data.arrow_tensor",
    "ray.data.arrow_tensor_v2",
    "ray.data.arrow_variable_shaped_tensor",
];

/// Extension types of this vendor are stored as coordinates, well-known text or well-known binary.
const GEOARROW: &str = "geoarrow.";

impl Table {
    /// The names of its columns, for a message.
    pub fn column_names(&self) -> String {
        listed(self.schema.fields().iter().map(|field| field.name().as_str()))
    }

    /// The line of a row in a text file, or else its number counted from 1.
    pub fn line(&self, row: usize) -> u64 {
        self.origin().number(row)
    }
}

/// The column of a list of keys.
pub(super) fn of_list(name: &str) -> Field {
    let mark = std::collections::HashMap::from([(MARK.to_owned(), LIST.to_owned())]);
    Field::new(name, DataType::Utf8, true).with_metadata(mark)
}

/// Whether a table is a list of keys: whatever its column is called, it is that.
pub(super) fn is_list(schema: &Schema) -> bool {
    matches!(&schema.fields()[..], [only] if only.metadata().get(MARK).is_some_and(|mark| mark == LIST))
}

/// The schema under which a table with this one is read: each column has a name of its own (see [`named`]), columns
/// that are an index of pandas are marked, and [`converted`] types are in place of those that they are read as.
///
/// Errors ([`Error::Input`]): two columns have the same name; there are none; a column has an extension type that is
/// not read.
pub(super) fn own_schema(source: &str, schema: &Schema) -> Result<SchemaRef> {
    let names = named(source, schema.fields().iter().map(|field| field.name().as_str()))?;
    let nameless = schema.fields().iter().zip(&names).find(|(field, _)| field.name().is_empty());
    let mut metadata = schema.metadata().clone();
    let pandas = metadata.remove(PANDAS).and_then(|text| Pandas::read(&text, nameless.map(|(_, name)| name.as_str())));
    let index = pandas.as_ref().map(|pandas| &pandas.index);
    let own = |(field, name): (&FieldRef, String)| {
        let mut own = converted(source, &name, field)?;
        let mut metadata = own.metadata().clone();
        if is_level(&name) || index.is_some_and(|index| index.contains(&name)) {
            metadata.insert(MARK.to_owned(), INDEX.to_owned());
        } else if field.name().is_empty() {
            metadata.insert(MARK.to_owned(), NAMELESS.to_owned());
        }
        own.set_metadata(metadata);
        Ok(own.with_name(name))
    };
    let fields: Vec<Field> = schema.fields().iter().zip(names).map(own).collect::<Result<_>>()?;
    if let Some(pandas) = pandas {
        metadata.extend(pandas.range.map(|range| (RANGE.to_owned(), range)));
        metadata.insert(PANDAS.to_owned(), pandas.text);
    }
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

/// A batch under the schema that [`own_schema`] has made of its own.
pub(super) fn under(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.schema_ref() == schema {
        return Ok(batch.clone());
    }
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| convert(column, field.data_type())).collect();
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &rows)
        .map_err(|error| Error::Internal(format!("columns cannot be named: {error}")))
}

/// Whether a column of a table is an index of pandas: it is neither matched, nor given, nor an item.
pub fn is_index(field: &Field) -> bool {
    field.metadata().get(MARK).is_some_and(|mark| mark == INDEX)
}

/// Whether `*` stands for a column, too: it has a name, and is no index of pandas.
pub(super) fn is_plain(field: &Field) -> bool {
    !field.metadata().contains_key(MARK)
}

/// Whether a column is an index of pandas to which nobody gave a name: files of text do without.
pub(super) fn is_unnamed_index(field: &Field) -> bool {
    is_index(field) && is_level(field.name())
}

/// The labels of a frame's rows, where they are a range of numbers that no column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeIndex {
    /// The label of the first row.
    pub start: i64,
    /// Step from one row to the next.
    pub step: i64,
    /// Name that pandas gives to the labels, if it has one.
    pub name: Option<String>,
}

impl RangeIndex {
    /// Parses the description of pandas, if it labels so many rows.
    fn read(text: &str, rows: usize) -> Option<RangeIndex> {
        let range: Value = serde_json::from_str(text).ok()?;
        let number = |key| range.get(key).and_then(Value::as_i64);
        let (start, stop, step) = (number("start")?, number("stop")?, number("step")?);
        let distance = (i128::from(stop) - i128::from(start)) * i128::from(step.signum());
        let labels = distance.max(0).unsigned_abs().div_ceil(step.unsigned_abs().max(1).into());
        let name = range.get("name").and_then(Value::as_str).map(str::to_owned);
        // Of a table that was cut elsewhere, the labels are those of before.
        (labels == rows as u128).then_some(RangeIndex { start, step, name })
    }
}

/// Takes the labels of so many rows out of a schema that [`own_schema`] has made.
pub(super) fn take_range(schema: SchemaRef, rows: usize) -> (SchemaRef, Option<RangeIndex>) {
    let Some(range) = schema.metadata().get(RANGE) else { return (schema, None) };
    let range = RangeIndex::read(range, rows);
    (without_range(&schema), range)
}

fn without_range(schema: &SchemaRef) -> SchemaRef {
    if !schema.metadata().contains_key(RANGE) {
        return schema.clone();
    }
    let mut metadata = schema.metadata().clone();
    metadata.remove(RANGE);
    Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata))
}

/// A schema without marks, for whoever is not this program.
pub fn unmarked(schema: &SchemaRef) -> SchemaRef {
    let schema = &without_range(schema);
    if schema.fields().iter().all(|field| is_plain(field)) {
        return schema.clone();
    }
    let unmarked = |field: &FieldRef| {
        let mut metadata = field.metadata().clone();
        metadata.remove(MARK);
        field.as_ref().clone().with_metadata(metadata)
    };
    let fields: Vec<Field> = schema.fields().iter().map(unmarked).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Whether a name is one that pandas makes up for an index without any, whatever has been between pandas and this
/// table.
fn is_level(name: &str) -> bool {
    let number = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Description by pandas of its frame.
struct Pandas {
    /// Names of the columns that are its index.
    index: BTreeSet<String>,
    /// The range of numbers that is its index, as pandas says it; of rows in another order, only their positions tell
    /// what it says.
    range: Option<String>,
    /// The same as text, in which only columns are an index: a range of numbers says nothing of rows in another order.
    text: String,
}

impl Pandas {
    /// Parses a text in which the column without a name, if there is one, is to be called `nameless`. `None` if pandas
    /// has not written it.
    fn read(text: &str, nameless: Option<&str>) -> Option<Pandas> {
        let mut frame: Value = serde_json::from_str(text).ok()?;
        let index = frame.get_mut("index_columns")?.as_array_mut()?;
        let range = index.iter().find(|one| one.get("kind").is_some_and(|kind| kind == "range")).map(Value::to_string);
        index.retain(Value::is_string);
        index.iter_mut().for_each(|name| rename(name, nameless));
        let names = index.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        let columns = frame.get_mut("columns").and_then(Value::as_array_mut);
        let fields = columns.into_iter().flatten().filter_map(|column| column.get_mut("field_name"));
        fields.for_each(|name| rename(name, nameless));
        Some(Pandas { index: names, range, text: frame.to_string() })
    }
}

fn rename(name: &mut Value, nameless: Option<&str>) {
    if let (Some(""), Some(nameless)) = (name.as_str(), nameless) {
        *name = nameless.into();
    }
}

/// A field with the type that it is read as: UUIDs are text, and booleans of eight bits booleans.
///
/// Errors: it has an extension type that is not read, or something within it has.
fn converted(source: &str, name: &str, field: &Field) -> Result<Field> {
    let read_as = match (extension(field), field.data_type()) {
        (Some("arrow.uuid"), DataType::FixedSizeBinary(UUID_BYTES)) => Some(DataType::LargeUtf8),
        (Some("arrow.bool8"), DataType::Int8) => Some(DataType::Boolean),
        _ => None,
    };
    if let Some(read_as) = read_as {
        let mut metadata = field.metadata().clone();
        metadata.remove(EXTENSION_TYPE_NAME_KEY);
        metadata.remove(EXTENSION_TYPE_METADATA_KEY);
        return Ok(field.clone().with_data_type(read_as).with_metadata(metadata));
    }
    let mut left = vec![field];
    while let Some(field) = left.pop() {
        extension(field).map_or(Ok(()), |extension| check_extension(source, name, extension))?;
        left.extend(parts(field.data_type()));
    }
    Ok(field.clone())
}

/// Refuses a column with an extension type, at some depth, whose stored values are not what they stand for.
pub fn check_extension(source: &str, column: &str, extension: &str) -> Result<()> {
    if AS_STORED.contains(&extension) || extension.starts_with(GEOARROW) {
        return Ok(());
    }
    let example = if extension.starts_with("pandas.") { ", as with astype(str)" } else { "" };
    Err(Error::Input(format!(
        "{source}: column {column:?} has the extension type {extension:?}, whose values are not stored as \
         such; convert it to text, a number or a date{example}, or leave it out"
    )))
}

fn extension(field: &Field) -> Option<&str> {
    field.metadata().get(EXTENSION_TYPE_NAME_KEY).map(String::as_str)
}

/// The fields within a type.
fn parts(data_type: &DataType) -> Vec<&Field> {
    match data_type {
        DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::ListView(inner)
        | DataType::LargeListView(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::Map(inner, _) => vec![inner],
        DataType::RunEndEncoded(ends, values) => vec![ends, values],
        DataType::Struct(fields) => fields.iter().map(AsRef::as_ref).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.as_ref()).collect(),
        DataType::Dictionary(_, values) => parts(values),
        _ => Vec::new(),
    }
}

/// A column as the type that [`converted`] has for it, if it has another one.
fn convert(column: &ArrayRef, to: &DataType) -> ArrayRef {
    match (column.data_type(), to) {
        (DataType::FixedSizeBinary(UUID_BYTES), DataType::LargeUtf8) => uuid_texts(column),
        (DataType::Int8, DataType::Boolean) => {
            let values = column.as_primitive::<Int8Type>();
            let truths = values.iter().map(|value| value.map(|value| value != 0));
            Arc::new(truths.collect::<BooleanArray>())
        }
        _ => column.clone(),
    }
}

/// UUIDs in the canonical text of RFC 9562: hexadecimal digits in groups of 8, 4, 4, 4 and 12.
fn uuid_texts(column: &ArrayRef) -> ArrayRef {
    const TEXT_BYTES: usize = 36;
    let mut texts = LargeStringBuilder::with_capacity(column.len(), column.len() * TEXT_BYTES);
    let mut text = String::with_capacity(TEXT_BYTES);
    for value in column.as_fixed_size_binary().iter() {
        text.clear();
        for (place, byte) in value.into_iter().flatten().enumerate() {
            let dash = if matches!(place, 4 | 6 | 8 | 10) { "-" } else { "" };
            let written = write!(text, "{dash}{byte:02x}");
            debug_assert!(written.is_ok());
        }
        texts.append_option(value.map(|_| &text));
    }
    Arc::new(texts.finish())
}
