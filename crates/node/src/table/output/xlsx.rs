//! Spreadsheets: Office Open XML (`.xlsx`), which every spreadsheet program opens, whatever its country's signs are.
//!
//! Text is text, also where it begins as a formula does. Numbers are numbers, but for integers and decimals of more
//! digits than such programs keep, which are text. Dates and times are in their canonical text.

use std::io::Write;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use rust_xlsxwriter::{Format as Style, Workbook, Worksheet, XlsxError};
use tacita_core::{Error, Result};

use super::csv::Cells;
use super::{RowSource, written};

/// Rows of a sheet, its header among them: what the format has room for. Further rows go to further sheets.
const SHEET_ROWS: u32 = 1 << 20;

/// Columns of a sheet.
const SHEET_COLUMNS: usize = 1 << 14;

/// Characters of a cell.
const CELL_CHARACTERS: usize = 32_767;

/// Spreadsheet programs keep numbers in 64 bits of floating point, and show so many digits of them.
const EXACT_DIGITS: usize = 15;

/// The name of the first sheet; the second is `rows 2`.
const SHEET: &str = "rows";

pub(super) fn write(rows: &dyn RowSource, out: &mut (dyn Write + Send), name: &str) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Error::Input(format!("{name}: cannot be written: {error}"));
    let places = written(rows.schema());
    if places.len() > SHEET_COLUMNS {
        return Err(Error::Input(format!(
            "{name}: a spreadsheet has {SHEET_COLUMNS} columns at most: write .csv or .parquet"
        )));
    }
    let header: Vec<&str> = places.iter().map(|&place| rows.schema().field(place).name().as_str()).collect();
    let mut workbook = Workbook::new();
    let mut sheet = sheet(1, &header).map_err(|error| failed(&error))?;
    let (mut number, mut next) = (1, 1);
    for batch in rows.batches() {
        let batch = batch?;
        let columns = places.iter().map(|&place| Column::new(batch.column(place))).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            if next == SHEET_ROWS {
                number += 1;
                let full = std::mem::replace(&mut sheet, self::sheet(number, &header).map_err(|error| failed(&error))?);
                workbook.push_worksheet(full);
                next = 1;
            }
            for (place, column) in columns.iter().enumerate() {
                column.put(row, &mut sheet, (next, place as u16)).map_err(|error| match error {
                    XlsxError::MaxStringLengthExceeded => failed(&format!(
                        "a value has more than {CELL_CHARACTERS} characters, and a cell holds no more: write .csv or .parquet"
                    )),
                    error => failed(&error),
                })?;
            }
            next += 1;
        }
    }
    workbook.push_worksheet(sheet);
    let file = workbook.save_to_buffer().map_err(|error| failed(&error))?;
    out.write_all(&file).map_err(|error| failed(&error))
}

/// A sheet that has its header, which stays in sight.
fn sheet(number: u32, header: &[&str]) -> std::result::Result<Worksheet, XlsxError> {
    let mut sheet = Worksheet::new();
    sheet.set_name(if number == 1 { SHEET.to_owned() } else { format!("{SHEET} {number}") })?;
    let bold = Style::new().set_bold();
    for (place, name) in header.iter().enumerate() {
        sheet.write_string_with_format(0, place as u16, *name, &bold)?;
    }
    sheet.set_freeze_panes(1, 0)?;
    Ok(sheet)
}

/// A column of a batch, as cells.
struct Column<'a> {
    cells: Cells<'a>,
    kind: Kind,
}

enum Kind {
    Flags,
    Numbers {
        /// Whether the values are floating point themselves.
        floats: bool,
    },
    Texts,
}

impl<'a> Column<'a> {
    fn new(array: &'a ArrayRef) -> Result<Column<'a>> {
        let kind = match array.data_type() {
            DataType::Boolean => Kind::Flags,
            kind if kind.is_numeric() => Kind::Numbers { floats: kind.is_floating() },
            _ => Kind::Texts,
        };
        Ok(Column { cells: Cells::new(array)?, kind })
    }

    fn put(&self, row: usize, sheet: &mut Worksheet, (line, place): (u32, u16)) -> std::result::Result<(), XlsxError> {
        let text = &*self.cells.text(row);
        match self.kind {
            _ if text.is_empty() => Ok(()),
            Kind::Flags => sheet.write_boolean(line, place, text == "true").map(drop),
            Kind::Numbers { floats } => {
                match text.parse::<f64>().ok().filter(|n| n.is_finite() && (floats || is_exact(text))) {
                    Some(number) => sheet.write_number(line, place, number).map(drop),
                    None => sheet.write_string(line, place, text).map(drop),
                }
            }
            Kind::Texts => sheet.write_string(line, place, text).map(drop),
        }
    }
}

/// Whether a number is shown with all of its digits.
fn is_exact(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_digit).count() <= EXACT_DIGITS
}
