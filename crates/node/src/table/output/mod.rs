//! Writing tables: whole files or none.

mod csv;
mod json;
mod write;
mod xlsx;

use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use flate2::Compression;
use flate2::write::GzEncoder;
use tacita_core::{Error, Result};

use super::columns::{RangeIndex, is_unnamed_index};
use super::numbers::to_column;
use super::read::ending;
use super::{Selection, Table, schema_of};
use crate::base::files::{self, Existing};

/// A file format for output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values as RFC 4180 has them, lines ended by LF.
    Csv,
    /// Format of Apache Parquet.
    Parquet,
    /// The Arrow IPC file format.
    Arrow,
    /// One array of objects.
    Json,
    /// Office Open XML, for spreadsheets.
    Xlsx,
}

impl Format {
    /// The ending of its files, without the dot.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Json => "json",
            Format::Xlsx => "xlsx",
        }
    }

    /// The format that a file's ending stands for; `-`, devices and pipes are CSV.
    ///
    /// Errors: the ending is not known.
    pub fn of(path: &Path) -> Result<Format> {
        if path.as_os_str() == "-" {
            return Ok(Format::Csv);
        }
        match ending(path).as_str() {
            ".csv" | ".csv.gz" => Ok(Format::Csv),
            ".parquet" => Ok(Format::Parquet),
            ".arrow" | ".ipc" | ".feather" => Ok(Format::Arrow),
            ".json" | ".json.gz" => Ok(Format::Json),
            ".xlsx" => Ok(Format::Xlsx),
            // Devices and pipes have no endings.
            _ if files::is_device(path) => Ok(Format::Csv),
            _ => Err(Error::Input(format!(
                "{}: not a known kind of output; known endings are .csv and .json (each also .gz), .parquet, .arrow, \
                 .ipc, .feather, .xlsx, or - for CSV on standard output",
                path.display()
            ))),
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Format> {
        let formats = [Format::Csv, Format::Parquet, Format::Arrow, Format::Json, Format::Xlsx];
        formats
            .into_iter()
            .find(|format| format.ending() == text)
            .ok_or_else(|| Error::Input(format!("format: {text:?} is none of csv, parquet, arrow, json, xlsx")))
    }
}

/// Rows that can be written, made or read batch by batch, by several threads at once.
pub trait RowSource: Send + Sync {
    /// Names and types of the columns.
    fn schema(&self) -> &SchemaRef;

    /// The rows, in order.
    fn batches(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + '_>;

    /// Returns the number of rows, which may take reading them.
    fn count(&self) -> Result<usize>;

    /// Returns the number of leading columns that hold nothing of other parties.
    fn own_columns(&self) -> usize {
        self.schema().fields().len()
    }

    /// Returns the number of leading rows that hold nothing of other parties, whatever their columns.
    fn own_rows(&self) -> Result<usize> {
        Ok(0)
    }

    /// Returns the row of the own table from which each row was made, if each was made of one.
    fn positions(&self) -> Option<Positions> {
        None
    }
}

/// Positions of the table rows from which the rows of a result were made.
pub struct Positions {
    /// Position for each row of the result, counted from 0.
    pub rows: Vec<u32>,
    /// Number of rows in the table.
    pub of: usize,
    /// The labels of its rows, where no column holds them.
    pub labels: Option<RangeIndex>,
}

impl RowSource for Selection {
    fn schema(&self) -> &SchemaRef {
        self.schema()
    }

    fn batches(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + '_> {
        Box::new(self.batches())
    }

    fn count(&self) -> Result<usize> {
        Ok(self.rows())
    }

    fn own_columns(&self) -> usize {
        self.own_columns()
    }

    fn positions(&self) -> Option<Positions> {
        self.positions()
    }
}

/// Checks before any work that a file of this name can be written, and tells its format (`format`, or else by the
/// ending). Nothing is left behind.
///
/// Errors: unknown ending, missing directory, no permission, a directory of that name.
pub fn check_writable(path: &Path, format: Option<Format>) -> Result<Format> {
    check_output(path, format, Existing::Replaced)
}

/// Checks like [`check_writable`], with the option to keep an existing file.
pub fn check_output(path: &Path, format: Option<Format>, existing: Existing) -> Result<Format> {
    if path.as_os_str() != "-" {
        files::check_output(path, existing)?;
    }
    format.map_or_else(|| Format::of(path), Ok)
}

/// Writes rows to a file, by the ending unless `format` is given; `-` is standard output. The file appears whole, on
/// disk, or not at all; one of that name is replaced. Where a party learns no rows, this is not called.
pub fn write(rows: &dyn RowSource, path: &Path, format: Option<Format>) -> Result<()> {
    write_over(rows, path, format, Existing::Replaced)
}

/// Writes like [`write()`], with the option to keep an existing file.
pub fn write_over(rows: &dyn RowSource, path: &Path, format: Option<Format>, existing: Existing) -> Result<()> {
    let format = match format {
        Some(format) => format,
        None => Format::of(path)?,
    };
    if path.as_os_str() == "-" {
        let mut out = std::io::BufWriter::new(std::io::stdout());
        write::write(rows, format, &mut out, "standard output")?;
        out.flush().map_err(|error| Error::Input(format!("standard output: cannot be written: {error}")))
    } else {
        stage(rows, path, Some(format))?.place_over(existing)
    }
}

/// Writes like [`write()`], to a file that waits to be put in its place; packed by gzip if its name ends so.
pub fn stage<'a>(rows: &dyn RowSource, path: &'a Path, format: Option<Format>) -> Result<files::Staged<'a>> {
    let format = match format {
        Some(format) => format,
        None => Format::of(path)?,
    };
    let name = path.display().to_string();
    files::stage(path, |file| {
        if ending(path).ends_with(".gz") {
            let mut packed = GzEncoder::new(file, Compression::default());
            write::write(rows, format, &mut packed, &name)?;
            packed.finish().map(drop).map_err(|error| Error::Input(format!("{name}: cannot be written: {error}")))
        } else {
            write::write(rows, format, file, &name)
        }
    })
}

/// The columns that files of text have: all but an index of pandas without a name, for which there is no header.
fn written(schema: &Schema) -> Vec<usize> {
    let places = 0..schema.fields().len();
    places.filter(|&place| !is_unnamed_index(schema.field(place))).collect()
}

/// A table of how many are of which category, for results by `column`.
pub fn counts(column: &str, of_names: &[(String, u64)]) -> Result<Table> {
    let names: Vec<&str> = of_names.iter().map(|(name, _)| name.as_str()).collect();
    let counts: Vec<String> = of_names.iter().map(|(_, count)| count.to_string()).collect();
    let (field, counts) = to_column("count", &counts);
    let schema = schema_of(vec![Field::new(column, DataType::Utf8, false), field]);
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(StringArray::from(names)), counts])
        .map_err(|error| Error::Internal(format!("counts do not make a table: {error}")))?;
    Table::new("result", schema, vec![batch])
}

/// A table of one row, for results that are numbers: `count`, `sum`, `value`, each as decimal text. Integers that fit
/// 64 bits are integers in typed formats, other numbers are text.
pub fn numbers<N: AsRef<str>>(values: &[(N, String)]) -> Result<Table> {
    let column = |(name, text): &(N, String)| to_column(name.as_ref(), std::slice::from_ref(text));
    let (fields, columns): (Vec<_>, Vec<_>) = values.iter().map(column).unzip();
    let schema = schema_of(fields);
    let batch = RecordBatch::try_new(schema.clone(), columns)
        .map_err(|error| Error::Internal(format!("numbers do not make a table: {error}")))?;
    Table::new("result", schema, vec![batch])
}
