//! The rows of a sheet, as batches.

use std::borrow::Cow;
use std::io::{Read, Seek};
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, SchemaRef};
use calamine::{DataRef, XlsxCellReader};
use tacita_core::{Error, Result};

use super::cells::{self, cell_name};
use super::unreadable_sheet;
use crate::table::budget::too_large;
use crate::table::columns::own_schema;
use crate::table::read::ReadOptions;
use crate::table::{BATCH_ROWS, Lines, MAX_ROWS, schema_of, too_many_rows};

/// Rows and columns that a sheet has room for.
const MAX_SHEET_ROWS: u32 = 1 << 20;
const MAX_SHEET_COLUMNS: u32 = 1 << 14;

/// Bytes that a value takes beside its text.
const VALUE_BYTES: u64 = size_of::<i32>() as u64;

/// A sheet that is being read.
pub(super) struct Rows<'a> {
    name: &'a str,
    options: &'a ReadOptions,
    /// The memory that is left, and how much there was.
    left: u64,
    memory: u64,
    batch_bytes: usize,
    header: Option<Vec<String>>,
    columns: Vec<StringBuilder>,
    /// Rows and bytes of the texts in `columns`.
    pending: (usize, usize),
    batches: Vec<Vec<ArrayRef>>,
    rows: usize,
    lines: Lines,
    /// The row after the last one that was taken.
    next: u32,
}

/// The content of a sheet.
pub(super) struct Found {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
    pub lines: Lines,
    /// Cells that hold an error, and the first one.
    pub errors: u64,
    pub first_error: Option<(String, String)>,
    /// Some cell has a style or a formula, and no value.
    pub has_empty: bool,
}

/// A row, as far as it has cells.
#[derive(Default)]
struct Row {
    number: u32,
    cells: Vec<String>,
}

impl<'a> Rows<'a> {
    pub fn new(name: &'a str, options: &'a ReadOptions, memory: u64, batch_bytes: usize) -> Rows<'a> {
        Rows {
            name,
            options,
            left: memory,
            memory,
            batch_bytes,
            header: None,
            columns: Vec::new(),
            pending: (0, 0),
            batches: Vec::new(),
            rows: 0,
            lines: Lines::in_sheet(),
            next: 0,
        }
    }

    /// Reads all cells of the sheet.
    pub fn read<R: Read + Seek>(mut self, mut sheet: XlsxCellReader<'_, R>) -> Result<Found> {
        let (mut errors, mut first_error, mut has_empty) = (0, None, false);
        let mut row = Row::default();
        while let Some((cell, style)) =
            sheet.next_cell_with_style_id().map_err(|error| unreadable_sheet(self.name, error))?
        {
            let place = cell.get_position();
            if place.0 >= MAX_SHEET_ROWS || place.1 >= MAX_SHEET_COLUMNS {
                return Err(self.failed(place, "is outside the bounds of a sheet"));
            }
            if (place.0 as usize) < self.options.skip {
                continue;
            }
            let value = cell.get_value();
            has_empty |= *value == DataRef::Empty;
            let text = match (cells::text(value, sheet.styles().get(style)), value) {
                (Some(text), _) => text,
                (None, DataRef::Error(error)) => {
                    errors += 1;
                    first_error.get_or_insert_with(|| (cell_name(place), error.to_string()));
                    Cow::Borrowed("")
                }
                (None, _) => continue,
            };
            if place.0 != row.number {
                if place.0 < row.number {
                    return Err(self.failed(place, "stands below a later row; save the file again"));
                }
                self.take(&std::mem::replace(&mut row, Row { number: place.0, cells: Vec::new() }))?;
            }
            self.put(&mut row, place, text)?;
        }
        self.take(&row)?;
        self.finish(errors, first_error, has_empty)
    }

    fn put(&mut self, row: &mut Row, place: (u32, u32), text: Cow<'_, str>) -> Result<()> {
        let column = place.1 as usize;
        if row.cells.len() <= column {
            row.cells.resize(column + 1, String::new());
        }
        if !row.cells[column].is_empty() {
            return Err(self.failed(place, "is given twice; save the file again"));
        }
        row.cells[column] = text.into_owned();
        Ok(())
    }

    /// Takes a row, and the empty ones in front of it. One without cells is none.
    fn take(&mut self, row: &Row) -> Result<()> {
        if row.cells.is_empty() {
            return Ok(());
        }
        match (&self.header, self.options.no_header) {
            (None, false) => {
                self.widen(row.cells.len());
                self.header = Some(row.cells.clone());
            }
            (None, true) => {
                self.header = Some(Vec::new());
                self.append(row)?;
            }
            (Some(_), _) => {
                for number in self.next..row.number {
                    self.append(&Row { number, cells: Vec::new() })?;
                }
                self.append(row)?;
            }
        }
        self.next = row.number + 1;
        Ok(())
    }

    fn append(&mut self, row: &Row) -> Result<()> {
        if self.rows == self.options.budget.rows.min(MAX_ROWS) {
            return Err(too_many_rows(self.name));
        }
        let bytes = row.cells.iter().map(String::len).sum::<usize>();
        let width = self.columns.len().max(row.cells.len()) as u64;
        // A buffer has room for twice what is in it.
        let taken = 2 * (bytes as u64 + VALUE_BYTES * width);
        self.left = self.left.checked_sub(taken).ok_or_else(|| too_large(self.name, self.memory))?;
        if self.pending.0 == BATCH_ROWS || self.pending.0 > 0 && self.pending.1 + bytes > self.batch_bytes {
            self.flush();
        }
        self.widen(row.cells.len());
        for (place, column) in self.columns.iter_mut().enumerate() {
            column.append_value(row.cells.get(place).map_or("", String::as_str));
        }
        self.lines.note(self.rows, u64::from(row.number) + 1);
        self.rows += 1;
        self.pending = (self.pending.0 + 1, self.pending.1 + bytes);
        Ok(())
    }

    /// Makes room for so many columns, which are empty so far.
    fn widen(&mut self, width: usize) {
        while self.columns.len() < width {
            let mut column = StringBuilder::with_capacity(0, 0);
            (0..self.pending.0).for_each(|_| column.append_value(""));
            self.columns.push(column);
        }
    }

    fn flush(&mut self) {
        self.batches.push(self.columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef).collect());
        self.pending = (0, 0);
    }

    fn finish(mut self, errors: u64, first_error: Option<(String, String)>, has_empty: bool) -> Result<Found> {
        let Some(header) = &self.header else {
            let lacks = if self.options.no_header { "" } else { "; its first row must name the columns" };
            return Err(Error::Input(format!("{}: the sheet is empty{lacks}", self.name)));
        };
        let field = |place: usize| {
            let own = if self.options.no_header { format!("column_{}", place + 1) } else { String::new() };
            Field::new(header.get(place).cloned().unwrap_or(own), DataType::Utf8, true)
        };
        let schema = own_schema(self.name, &schema_of((0..self.columns.len()).map(field).collect()))?;
        if self.pending.0 > 0 {
            self.flush();
        }
        let batches = std::mem::take(&mut self.batches).into_iter().map(|mut columns| {
            let rows = columns.first().map_or(0, |column| column.len());
            let empty = || Arc::new(StringArray::from_iter_values(std::iter::repeat_n("", rows))) as ArrayRef;
            columns.resize_with(schema.fields().len(), empty);
            RecordBatch::try_new(schema.clone(), columns)
                .map_err(|error| Error::Internal(format!("rows of a sheet do not make a table: {error}")))
        });
        let batches = batches.collect::<Result<_>>()?;
        Ok(Found { schema, batches, lines: self.lines, errors, first_error, has_empty })
    }

    fn failed(&self, place: (u32, u32), what: &str) -> Error {
        Error::Input(format!("{}: cell {} {what}", self.name, cell_name(place)))
    }
}
