//! CSV and its relatives: text with one record a line.

use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::builder::StringBuilder;
use arrow_schema::{DataType, Field, SchemaRef};
use csv::ByteRecord;
use tacita_core::{Error, Result};

use super::{ReadOptions, unreadable};
use crate::table::{BATCH_ROWS, Lines, MAX_ROWS, Table, check_names, schema_of};

/// What the ending says about the delimiter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    None,
    Tab,
}

/// Values of one batch take at most about this many bytes, far from the 2 GiB at which Arrow's offsets end.
const BATCH_BYTES: usize = 64 << 20;

/// The header is looked for in this many bytes to find the delimiter.
const HEADER_BYTES: usize = 1 << 20;

const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

pub(super) fn read(mut input: impl Read, name: &str, hint: Hint, options: &ReadOptions) -> Result<Table> {
    let head = read_head(&mut input).map_err(|error| unreadable(name, error))?;
    check_encoding(&head, name)?;
    let start = if head.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let (header, crlf) = first_line(&head[start..]);
    let delimiter = options.delimiter.unwrap_or_else(|| detect(header, hint));

    let mark = if crlf { MARK } else { &MARK[1..] };
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(1 << 16)
        .from_reader(Marked { input: io::Cursor::new(&head[start..]).chain(input), mark, bytes: 0 });
    let mut record = ByteRecord::new();
    // The next record, or none at the end mark. If the last record has swallowed the mark, a quote was left open.
    let mut next = |record: &mut ByteRecord| -> Result<Option<u64>> {
        let before = reader.position().line();
        reader.read_byte_record(record).map_err(|error| csv_error(name, error))?;
        let last = reader.position().byte() == reader.get_ref().bytes && record.as_slice().ends_with(&MARK[2..]);
        // The reader counts the line feeds that it has consumed; it stops behind the carriage return of a CRLF.
        let inside = lines_inside(record);
        let line = reader.position().line().saturating_sub(inside + u64::from(!crlf));
        match last {
            false => Ok(Some(line)),
            true if record.as_slice() == &MARK[2..] && record.len() == 1 => Ok(None),
            true => Err(Error::Input(format!(
                "{name}, line {before}: a quote is opened here or below and never closed; close it, or double it if it \
                 belongs to the value"
            ))),
        }
    };
    if next(&mut record)?.is_none() {
        return Err(Error::Input(format!("{name}: is empty; its first line must name the columns")));
    }
    let columns = header_names(&record, name)?;
    let mut batches = Batches::new(&columns);
    let mut lines = Lines::default();
    let (mut rows, mut due) = (0, None);
    while let Some(line) = next(&mut record)? {
        if record.len() != columns.len() {
            return Err(ragged(name, line, &record, columns.len()));
        }
        if rows == MAX_ROWS {
            return Err(Error::Input(format!("{name}: more than {MAX_ROWS} rows; split the job")));
        }
        lines.note(rows, line);
        if columns.len() == 1 && due.is_some_and(|due| line > due) {
            lines.blank = lines.blank.or(due);
        }
        due = Some(line + lines_inside(&record) + 1);
        batches.push(&record).map_err(|column| not_utf8(name, line, column, &columns[column], &record[column]))?;
        rows += 1;
    }
    let (schema, batches) = batches.finish()?;
    Table::with_lines(name.to_string(), schema, batches, Some(lines))
}

/// Columns being filled, and the batches done.
struct Batches {
    schema: SchemaRef,
    columns: Vec<StringBuilder>,
    rows: usize,
    bytes: usize,
    done: Vec<RecordBatch>,
}

impl Batches {
    fn new(names: &[String]) -> Batches {
        let fields = names.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
        let columns = names.iter().map(|_| StringBuilder::new()).collect();
        Batches { schema: schema_of(fields), columns, rows: 0, bytes: 0, done: Vec::new() }
    }

    /// Appends a record of as many fields as there are columns, or says which field is not UTF-8.
    fn push(&mut self, record: &ByteRecord) -> std::result::Result<(), usize> {
        if self.rows == BATCH_ROWS || self.bytes + record.as_slice().len() > BATCH_BYTES && self.rows > 0 {
            self.flush();
        }
        for (column, (builder, value)) in self.columns.iter_mut().zip(record).enumerate() {
            builder.append_value(std::str::from_utf8(value).map_err(|_| column)?);
        }
        self.rows += 1;
        self.bytes += record.as_slice().len();
        Ok(())
    }

    fn flush(&mut self) {
        let columns = self.columns.iter_mut().map(|column| Arc::new(column.finish()) as _).collect();
        self.done.push(RecordBatch::try_new(self.schema.clone(), columns).expect("columns are filled in step"));
        (self.rows, self.bytes) = (0, 0);
    }

    fn finish(mut self) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        if self.rows > 0 {
            self.flush();
        }
        Ok((self.schema, self.done))
    }
}

/// The beginning of the input: up to the end of the first line, or [`HEADER_BYTES`].
fn read_head(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut chunk = [0; 1 << 14];
    loop {
        let n = match input.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        head.extend_from_slice(&chunk[..n]);
        if n == 0 || head.len() >= HEADER_BYTES || first_line(&head).0.len() < head.len() {
            return Ok(head);
        }
    }
}

/// The first line that is not blank (quoted line ends are part of it), and whether it ends with CR LF.
fn first_line(text: &[u8]) -> (&[u8], bool) {
    let start = text.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(text.len());
    let mut quoted = false;
    for (i, byte) in text.iter().enumerate().skip(start) {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => return (&text[start..i], text[i - 1] == b'\r'),
            _ => {}
        }
    }
    (&text[start..], false)
}

/// The candidate that occurs most often in the header outside quotes.
fn detect(header: &[u8], hint: Hint) -> u8 {
    let mut counts = [0usize; DELIMITERS.len()];
    let mut quoted = false;
    for byte in header {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            _ => {
                if let Some(i) = DELIMITERS.iter().position(|delimiter| delimiter == byte) {
                    counts[i] += 1;
                }
            }
        }
    }
    // The first of several equal ones: max_by_key would take the last.
    let best = (0..counts.len()).rev().max_by_key(|&i| counts[i]).unwrap_or(0);
    match hint {
        Hint::Tab if counts[2] > 0 || counts[best] == 0 => b'\t',
        _ => DELIMITERS[best],
    }
}

fn header_names(record: &ByteRecord, name: &str) -> Result<Vec<String>> {
    let mut names = Vec::with_capacity(record.len());
    for (i, field) in record.iter().enumerate() {
        let field =
            std::str::from_utf8(field).map_err(|_| not_utf8(name, 1, i, &String::from_utf8_lossy(field), field))?;
        names.push(field.to_string());
    }
    check_names(name, names.iter().map(String::as_str))?;
    Ok(names)
}

fn check_encoding(head: &[u8], name: &str) -> Result<()> {
    let what = match head {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => "is UTF-16 text; save it as UTF-8",
        [0x1F, 0x8B, ..] => "is compressed with gzip; name it .csv.gz, or unpack it",
        [b'P', b'A', b'R', b'1', ..] => "is a Parquet file; name it .parquet",
        [b'P', b'K', 3, 4, ..] => "is a ZIP archive or a spreadsheet; export it as CSV in UTF-8",
        _ => return Ok(()),
    };
    Err(Error::Input(format!("{name}: {what}")))
}

fn csv_error(name: &str, error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => unreadable(name, error),
        _ => unreadable(name, "the text is not CSV"),
    }
}

fn lines_inside(record: &ByteRecord) -> u64 {
    record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64
}

fn ragged(name: &str, line: u64, record: &ByteRecord, expected: usize) -> Error {
    let fields = record.len();
    let hint = match (lines_inside(record), fields) {
        (1.., _) => "; the record spans several lines: is a quote left open?",
        (_, 1) => "; is it another delimiter than the header's?",
        _ => "; put quotes around values that contain the delimiter",
    };
    let s = if fields == 1 { "" } else { "s" };
    Error::Input(format!("{name}, line {line}: {fields} field{s} instead of {expected}{hint}"))
}

fn not_utf8(name: &str, line: u64, column: usize, header: &str, value: &[u8]) -> Error {
    let byte = match std::str::from_utf8(value) {
        Err(error) => value[error.valid_up_to()],
        Ok(_) => 0,
    };
    Error::Input(format!(
        "{name}, line {line}, column {} ({header:?}): byte 0x{byte:02X} is not UTF-8; save the file as UTF-8, \
         for instance with `iconv -f WINDOWS-1252 -t UTF-8`",
        column + 1
    ))
}

/// What is put at the end of the input, in a line of its own (without the carriage return if other lines have none).
/// It shows whether the end is inside quotes.
const MARK: &[u8] = b"\r\n\x1c\x1dend of input\x1d\x1c";

/// The input, then the mark; counts the bytes.
struct Marked<R> {
    input: R,
    mark: &'static [u8],
    bytes: u64,
}

impl<R: Read> Read for Marked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut n = self.input.read(buffer)?;
        if n == 0 {
            n = self.mark.read(buffer)?;
        }
        self.bytes += n as u64;
        Ok(n)
    }
}
