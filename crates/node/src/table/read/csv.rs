//! CSV and its relatives: text with one record a line.

use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::builder::StringBuilder;
use arrow_schema::{DataType, Field, SchemaRef};
use csv::ByteRecord;
use tacita_core::{Error, Result};

use super::{ReadOptions, Source, TextForm, refuse_packed, unreadable};
use crate::table::budget::{MAX_RECORD_BYTES, too_many_columns};
use crate::table::{BATCH_ROWS, Lines, MAX_COLUMNS, MAX_ROWS, check_names, schema_of, too_many_rows};

/// What the ending says about the delimiter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    None,
    Tab,
}

/// The header is looked for in this many bytes to find the delimiter.
const HEADER_BYTES: usize = 1 << 20;

/// The longest header.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// What the reader reads ahead.
const AHEAD_BYTES: usize = 1 << 16;

const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A text file that is being read.
pub(super) struct Text<R> {
    name: String,
    reader: csv::Reader<Marked<io::Chain<io::Cursor<Vec<u8>>, R>>>,
    record: ByteRecord,
    /// The line of `record`.
    line: u64,
    form: TextForm,
    columns: Vec<String>,
    batch: Batch,
    /// A record that the last batch had no room for is in `record`.
    held: bool,
    /// The end has been read.
    ended: bool,
    lines: Lines,
    rows: usize,
    most_rows: usize,
    /// The line after the last record, in a table of one column.
    due: Option<u64>,
}

impl<R: Read> Text<R> {
    /// Reads the header. Values of one batch will take about `batch_bytes` at most.
    pub fn open(
        mut input: R,
        name: &str,
        hint: Hint,
        options: &ReadOptions,
        batch_bytes: usize,
    ) -> Result<(SchemaRef, Text<R>)> {
        let mut head = read_head(&mut input).map_err(|error| unreadable(name, error))?;
        check_encoding(&head, name)?;
        let marked = head.starts_with(b"\xEF\xBB\xBF");
        if marked {
            head.drain(..3);
        }
        let (header, crlf) = first_line(&head);
        let delimiter = options.delimiter.unwrap_or_else(|| detect(header, hint));
        let mark = if crlf { MARK } else { &MARK[1..] };
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(AHEAD_BYTES)
            .from_reader(Marked {
                input: io::Cursor::new(head).chain(input),
                mark,
                bytes: 0,
                limit: MAX_HEADER_BYTES + AHEAD_BYTES as u64,
            });
        let mut text = Text {
            name: name.to_owned(),
            reader,
            record: ByteRecord::new(),
            line: 0,
            form: TextForm { delimiter, crlf, marked },
            columns: Vec::new(),
            batch: Batch::new(&[], batch_bytes),
            held: false,
            ended: false,
            lines: Lines::default(),
            rows: 0,
            most_rows: options.budget.rows.min(MAX_ROWS),
            due: None,
        };
        if text.next()?.is_none() {
            return Err(Error::Input(format!("{name}: is empty; its first line must name the columns")));
        }
        text.columns = header_names(&text.record, name)?;
        text.batch = Batch::new(&text.columns, batch_bytes);
        Ok((text.batch.schema.clone(), text))
    }

    /// How it is written.
    pub fn form(&self) -> TextForm {
        self.form
    }

    /// The next record, or none at the end mark. If the last record has swallowed the mark, a quote was left open.
    fn next(&mut self) -> Result<Option<u64>> {
        let (reader, record, name) = (&mut self.reader, &mut self.record, &self.name);
        let before = reader.position().line();
        reader.read_byte_record(record).map_err(|error| csv_error(name, before, error))?;
        let end = reader.position().byte();
        reader.get_mut().limit = end + MAX_RECORD_BYTES + AHEAD_BYTES as u64;
        let last = reader.position().byte() == reader.get_ref().bytes && record.as_slice().ends_with(&MARK[2..]);
        // The reader counts the line feeds that it has consumed; it stops behind the carriage return of a CRLF.
        let inside = lines_inside(record);
        let line = reader.position().line().saturating_sub(inside + u64::from(!self.form.crlf));
        match last {
            false => Ok(Some(line)),
            true if record.as_slice() == &MARK[2..] && record.len() == 1 => Ok(None),
            true => Err(Error::Input(format!(
                "{name}, line {before}: a quote is opened here or below and never closed; close it, or double it if it \
                 belongs to the value"
            ))),
        }
    }

    /// Notes where the record stands, and checks that it fits the table.
    fn accept(&mut self, line: u64) -> Result<()> {
        let (name, record) = (&self.name, &self.record);
        if record.len() != self.columns.len() {
            return Err(ragged(name, line, record, self.columns.len()));
        }
        if self.rows == self.most_rows {
            return Err(too_many_rows(name));
        }
        self.lines.note(self.rows, line);
        if self.columns.len() == 1 && self.due.is_some_and(|due| line > due) {
            self.lines.blank = self.lines.blank.or(self.due);
        }
        self.due = Some(line + lines_inside(record) + 1);
        self.rows += 1;
        self.line = line;
        Ok(())
    }

    /// Why the record that stands there cannot be taken.
    fn not_utf8(&self, column: usize) -> Error {
        not_utf8(&self.name, self.line, column, &self.columns[column], &self.record[column])
    }
}

impl<R: Read> Source for Text<R> {
    fn next_batch(&mut self, _: u64) -> Result<Option<RecordBatch>> {
        while !self.ended {
            if !std::mem::take(&mut self.held) {
                match self.next()? {
                    Some(line) => self.accept(line)?,
                    None => {
                        self.ended = true;
                        break;
                    }
                }
            }
            if !self.batch.has_room_for(&self.record) {
                self.held = true;
                return Ok(self.batch.take());
            }
            self.batch.push(&self.record).map_err(|column| self.not_utf8(column))?;
        }
        Ok(self.batch.take())
    }

    fn lines(&mut self) -> Option<&mut Lines> {
        Some(&mut self.lines)
    }

    fn done(&self) -> u64 {
        self.reader.position().byte()
    }
}

/// Columns being filled.
struct Batch {
    schema: SchemaRef,
    columns: Vec<StringBuilder>,
    rows: usize,
    bytes: usize,
    most_bytes: usize,
}

impl Batch {
    fn new(names: &[String], most_bytes: usize) -> Batch {
        let fields = names.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
        let columns = names.iter().map(|_| StringBuilder::with_capacity(0, 0)).collect();
        Batch { schema: schema_of(fields), columns, rows: 0, bytes: 0, most_bytes }
    }

    fn has_room_for(&self, record: &ByteRecord) -> bool {
        self.rows == 0 || self.rows < BATCH_ROWS && self.bytes + record.as_slice().len() <= self.most_bytes
    }

    /// Appends a record of as many fields as there are columns, or says which field is not UTF-8.
    fn push(&mut self, record: &ByteRecord) -> std::result::Result<(), usize> {
        for (column, (builder, value)) in self.columns.iter_mut().zip(record).enumerate() {
            builder.append_value(std::str::from_utf8(value).map_err(|_| column)?);
        }
        self.rows += 1;
        self.bytes += record.as_slice().len();
        Ok(())
    }

    /// What has been filled in, if anything.
    fn take(&mut self) -> Option<RecordBatch> {
        if self.rows == 0 {
            return None;
        }
        let columns = self.columns.iter_mut().map(|column| Arc::new(column.finish()) as _).collect();
        (self.rows, self.bytes) = (0, 0);
        Some(RecordBatch::try_new(self.schema.clone(), columns).expect("columns are filled in step"))
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
    if record.len() > MAX_COLUMNS {
        return Err(too_many_columns(name));
    }
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
    refuse_packed(head, name)?;
    let what = match head {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => "is UTF-16 text; save it as UTF-8",
        [b'P', b'A', b'R', b'1', ..] => "is a Parquet file; name it .parquet",
        [b'P', b'K', 3, 4, ..] => "is a ZIP archive or a spreadsheet; export it as CSV in UTF-8",
        _ => return Ok(()),
    };
    Err(Error::Input(format!("{name}: {what}")))
}

fn csv_error(name: &str, line: u64, error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) if error.get_ref().is_some_and(|inner| inner.is::<TooLong>()) => {
            Error::Input(format!("{name}, line {line}: {}", TooLong))
        }
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
pub(super) struct Marked<R> {
    input: R,
    mark: &'static [u8],
    bytes: u64,
    /// So many bytes are given until the record that is being read has ended.
    limit: u64,
}

/// A record takes more than [`MAX_RECORD_BYTES`], or the header more than its own limit.
#[derive(Debug)]
struct TooLong;

impl std::error::Error for TooLong {}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "what begins here is longer than a record may be ({} MiB, the header {} MiB): is a quote left open, or is it no text?",
            MAX_RECORD_BYTES >> 20,
            MAX_HEADER_BYTES >> 20
        )
    }
}

impl<R: Read> Read for Marked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes >= self.limit {
            return Err(io::Error::other(TooLong));
        }
        let mut n = self.input.read(buffer)?;
        if n == 0 {
            n = self.mark.read(buffer)?;
        }
        self.bytes += n as u64;
        Ok(n)
    }
}
