//! Rows that are JSON objects: one on each line, or all in one array.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tacita_core::{Error, Result};

use super::{LineReader, LineTooLong, ReadOptions, Source, text_of, unreadable};
use crate::table::budget::{MAX_RECORD_BYTES, too_many_columns};
use crate::table::columns::own_schema;
use crate::table::{BATCH_ROWS, Lines, MAX_COLUMNS, schema_of};

/// The columns are those that rows up to here have.
const HEAD_ROWS: usize = 1000;

/// A file of JSON objects that is being read. All columns are text: numbers as they are written, lists and objects as
/// JSON.
pub(super) struct JsonRows {
    name: String,
    /// None of an array, all of whose rows are in `ahead`.
    input: Option<LineReader<Box<dyn Read + Send>>>,
    /// Rows that were read to find the columns, each with its line.
    ahead: VecDeque<(u64, Row)>,
    /// The keys, in the order in which they come up first.
    keys: Vec<String>,
    schema: SchemaRef,
    builders: Vec<StringBuilder>,
    lines: Option<Lines>,
    /// Rows of all batches.
    rows: usize,
    most_bytes: usize,
    read: u64,
}

/// An object: each key once, in its order.
struct Row(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Row, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Row;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Row, A::Error> {
                let mut fields: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if fields.iter().any(|(known, _)| *known == key) {
                        return Err(A::Error::custom("a key is given twice"));
                    }
                    fields.push((key, value));
                }
                Ok(Row(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

impl JsonRows {
    /// Reads so many rows that the columns are known.
    pub fn open(
        input: Box<dyn Read + Send>,
        name: &str,
        options: &ReadOptions,
        batch_bytes: usize,
    ) -> Result<(SchemaRef, JsonRows)> {
        let mut text: Box<dyn Read + Send> = Box::new(text_of(input, name, options)?.0);
        let mut first = Vec::new();
        while first.last().is_none_or(u8::is_ascii_whitespace) {
            let mut byte = [0];
            match text.read(&mut byte) {
                Ok(0) => return Err(Error::Input(format!("{name}: is empty; a row at least names its columns"))),
                Ok(_) => first.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(unreadable(name, error)),
            }
        }
        let is_array = first.ends_with(b"[");
        let text: Box<dyn Read + Send> = Box::new(io::Cursor::new(first).chain(text));
        let mut rows = JsonRows {
            name: name.to_owned(),
            input: None,
            ahead: VecDeque::new(),
            keys: Vec::new(),
            schema: schema_of(Vec::new()),
            builders: Vec::new(),
            lines: (!is_array).then(Lines::default),
            rows: 0,
            most_bytes: batch_bytes,
            read: 0,
        };
        if is_array {
            rows.ahead = array(text, name, options)?.into_iter().map(|row| (0, row)).collect();
        } else {
            rows.input = Some(LineReader::new(text, MAX_RECORD_BYTES as usize));
            while rows.ahead.len() < HEAD_ROWS
                && let Some(row) = rows.next_line()?
            {
                rows.ahead.push_back(row);
            }
        }
        let known = if is_array { rows.ahead.len() } else { HEAD_ROWS };
        for (_, Row(fields)) in rows.ahead.iter().take(known) {
            for (key, _) in fields {
                if !rows.keys.contains(key) {
                    rows.keys.push(key.clone());
                }
            }
            if rows.keys.len() > MAX_COLUMNS {
                return Err(too_many_columns(name));
            }
        }
        if rows.keys.is_empty() {
            return Err(Error::Input(format!("{name}: its rows have no columns")));
        }
        let fields = rows.keys.iter().map(|key| Field::new(key, DataType::Utf8, true)).collect();
        rows.schema = own_schema(name, &schema_of(fields))?;
        rows.builders = rows.keys.iter().map(|_| StringBuilder::new()).collect();
        Ok((rows.schema.clone(), rows))
    }

    /// The row of the next line that is not blank.
    fn next_line(&mut self) -> Result<Option<(u64, Row)>> {
        let Some(input) = &mut self.input else { return Ok(None) };
        let mut line = Vec::new();
        loop {
            let more = input.next(&mut line).map_err(|error| match error.get_ref() {
                Some(inner) if inner.is::<LineTooLong>() => Error::Input(format!(
                    "{}, line {}: is longer than a line may be (64 MiB)",
                    self.name,
                    input.number()
                )),
                _ => unreadable(&self.name, error),
            })?;
            self.read = input.bytes_read();
            if !more {
                return Ok(None);
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let row = serde_json::from_slice(&line).map_err(|error| {
                // Its message quotes what it has found; the place is enough.
                let place = format!("{}, line {}, column {}", self.name, input.number(), error.column());
                Error::Input(format!("{place}: this is no JSON object, as each line has to be one"))
            })?;
            return Ok(Some((input.number(), row)));
        }
    }

    fn push(&mut self, line: u64, Row(mut fields): Row) -> Result<usize> {
        let mut bytes = 0;
        for (key, builder) in self.keys.iter().zip(&mut self.builders) {
            let value = fields.iter().position(|(known, _)| known == key).map(|place| fields.swap_remove(place).1);
            let text = value.and_then(|value| text_of_value(value.get()));
            bytes += text.as_ref().map_or(0, String::len);
            builder.append_option(text);
        }
        if let Some((key, _)) = fields.first() {
            return Err(Error::Input(format!(
                "{}, line {line}: none of the first {HEAD_ROWS} rows has its key {key:?}: put it, as null, into the first one",
                self.name
            )));
        }
        if let Some(lines) = &mut self.lines {
            lines.note(self.rows, line);
        }
        self.rows += 1;
        Ok(bytes)
    }
}

/// Returns all rows of an array.
fn array(text: Box<dyn Read + Send>, name: &str, options: &ReadOptions) -> Result<Vec<Row>> {
    let most = options.budget.bytes();
    let mut whole = Vec::new();
    text.take(most.saturating_add(1)).read_to_end(&mut whole).map_err(|error| unreadable(name, error))?;
    if whole.len() as u64 > most {
        return Err(Error::Input(format!(
            "{name}: an array is read as a whole, and does not fit the memory: write a row on each line"
        )));
    }
    serde_json::from_slice(&whole).map_err(|error| {
        Error::Input(format!(
            "{name}, line {}, column {}: this is no array of JSON objects",
            error.line(),
            error.column()
        ))
    })
}

/// The text of a value: of a string its characters, of anything else what is written; none of null.
fn text_of_value(written: &str) -> Option<String> {
    match written.as_bytes().first() {
        Some(b'"') => serde_json::from_str(written).ok(),
        Some(b'n') | None => None,
        Some(_) => Some(written.to_owned()),
    }
}

impl Source for JsonRows {
    fn next_batch(&mut self, _: u64) -> Result<Option<RecordBatch>> {
        let (mut rows, mut bytes) = (0, 0);
        while rows < BATCH_ROWS && bytes <= self.most_bytes {
            let row = match self.ahead.pop_front() {
                Some(row) => Some(row),
                None => self.next_line()?,
            };
            let Some((line, row)) = row else { break };
            bytes += self.push(line, row)?;
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns = self.builders.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef).collect();
        RecordBatch::try_new(self.schema.clone(), columns)
            .map(Some)
            .map_err(|error| Error::Internal(format!("JSON rows do not make a table: {error}")))
    }

    fn lines(&mut self) -> Option<&mut Lines> {
        self.lines.as_mut()
    }

    fn done(&self) -> u64 {
        self.read
    }
}
