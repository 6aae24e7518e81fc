//! CSV and its relatives: text with one record a line.

use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::builder::StringBuilder;
use arrow_schema::{DataType, Field, SchemaRef};
use csv::ByteRecord;
use memchr::memchr2;
use tacita_core::{Error, Result};

use super::delimiter::{Hint, announced, detect};
use super::encoding::{Decoded, Malformed, SNIFFED};
use super::head::{Headed, end_of_lines, first_line, read_until};
use super::line_ends::LineEnds;
use super::quotes::{Junk, Quotes};
use super::{
    CTRL_Z, CTRL_Z_LEFT_OUT, Encoding, ReadOptions, Source, TextForm, encoding, refuse_packed, unreadable, xlsx,
};
use crate::table::budget::{MAX_RECORD_BYTES, too_many_columns};
use crate::table::columns::own_schema;
use crate::table::{BATCH_ROWS, Lines, MAX_COLUMNS, MAX_ROWS, schema_of, too_many_rows};

/// The header is looked for in this many bytes to find the delimiter.
const HEADER_BYTES: usize = 1 << 20;

/// Number of bytes examined for the delimiter if the header is shorter.
const LOOKED_AT: usize = 1 << 16;

/// Maximum length of the header in bytes.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// Number of bytes that the reader reads ahead.
const AHEAD_BYTES: usize = 1 << 16;

/// A text file that is being read.
pub(super) struct Text<R> {
    name: String,
    reader: csv::Reader<Marked<Headed<Decoded<Headed<R>>>>>,
    record: ByteRecord,
    /// The line of `record`.
    line: u64,
    /// Number of lines in front of what `reader` reads.
    skipped: u64,
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
        input: R,
        name: &str,
        hint: Hint,
        options: &ReadOptions,
        batch_bytes: usize,
    ) -> Result<(SchemaRef, Text<R>)> {
        let (mut input, encoding, marked) = text_of(input, name, options)?;
        let enough = |head: &[u8]| {
            let below = || {
                end_of_lines(head, options.skip).is_some_and(|end| first_line(&head[end..]).0.len() < head.len() - end)
            };
            head.len() >= HEADER_BYTES || head.len() >= LOOKED_AT && below()
        };
        let (mut head, ended) = read_until(&mut input, enough).map_err(|error| csv_error(name, 0, error.into()))?;
        let end = end_of_lines(&head, options.skip).ok_or_else(|| {
            Error::Input(format!(
                "{name}: skip = {} skips more lines than there are, or more than 1 MiB: use a smaller number",
                options.skip
            ))
        })?;
        head.drain(..end);
        let told = announced(&head);
        head.drain(..told.map_or(0, |(_, length)| length));
        let skipped = options.skip as u64 + u64::from(told.is_some());
        let crlf = first_line(&head).1;
        let found = || told.map_or_else(|| detect(&head, ended, hint), |(delimiter, _)| delimiter);
        let delimiter = options.delimiter.unwrap_or_else(found);
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(AHEAD_BYTES)
            .from_reader(Marked {
                input: io::Cursor::new(head).chain(input),
                quotes: Quotes::new(delimiter, 1 + skipped),
                mark: if crlf { MARK } else { &MARK[1..] },
                ends: LineEnds::default(),
                bytes: 0,
                limit: MAX_HEADER_BYTES + AHEAD_BYTES as u64,
            });
        let mut text = Text {
            name: name.to_owned(),
            reader,
            record: ByteRecord::new(),
            line: 0,
            skipped,
            form: TextForm { delimiter, crlf, encoding, marked },
            columns: Vec::new(),
            batch: Batch::new(schema_of(Vec::new()), batch_bytes),
            held: false,
            ended: false,
            lines: Lines::default(),
            rows: 0,
            most_rows: options.budget.rows.min(MAX_ROWS),
            due: None,
        };
        let Some(line) = text.next()? else {
            let lacks = if options.no_header { "" } else { "; its first line must name the columns" };
            return Err(Error::Input(format!("{name}: is empty{lacks}")));
        };
        let schema = if options.no_header {
            let numbered =
                ByteRecord::from((1..=text.record.len()).map(|column| format!("column_{column}")).collect::<Vec<_>>());
            header_schema(&numbered, name, line)?
        } else {
            header_schema(&text.record, name, line)?
        };
        text.columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        if options.no_header {
            text.held = true;
            text.accept(line)?;
        } else {
            text.due = Some(line + lines_inside(&text.record) + 1);
        }
        text.batch = Batch::new(schema, batch_bytes);
        Ok((text.batch.schema.clone(), text))
    }

    /// Returns the form of the text file.
    pub fn form(&self) -> TextForm {
        self.form
    }

    /// The next record, or none at the end mark. If the last record has swallowed the mark, a quote was left open.
    fn next(&mut self) -> Result<Option<u64>> {
        let (reader, record, name) = (&mut self.reader, &mut self.record, &self.name);
        let before = self.skipped + reader.get_ref().ends.passed() + 1;
        reader.read_byte_record(record).map_err(|error| csv_error(name, before, error))?;
        let end = reader.position().byte();
        reader.get_mut().limit = end + MAX_RECORD_BYTES + AHEAD_BYTES as u64;
        // The table may end with the same text, in a line that is read before the mark is.
        let last = end == reader.get_ref().bytes && reader.get_ref().mark.is_empty();
        if !last {
            let line = reader.get_mut().ends.before(end).saturating_sub(lines_inside(record));
            Ok(Some(self.skipped + line))
        } else if record.as_slice() == &MARK[2..] && record.len() == 1 {
            Ok(None)
        } else {
            Err(Error::Input(format!(
                "{name}, line {before}: a quote is opened here or below and never closed; close it, or double it if it \
                 belongs to the value"
            )))
        }
    }

    /// Reads like [`Text::next`], except for a last line that ends a file of old systems.
    fn next_row(&mut self) -> Result<Option<u64>> {
        let line = self.next()?;
        let (Some(number), CTRL_Z) = (line, self.record.as_slice()) else { return Ok(line) };
        if self.next()?.is_some() {
            return Err(Error::Input(format!(
                "{}, line {number}: holds Ctrl-Z alone, which ends a file in old systems, but more lines follow: remove the line",
                self.name
            )));
        }
        tracing::warn!("{}, line {number}: {CTRL_Z_LEFT_OUT}", self.name);
        Ok(None)
    }

    /// Notes where the record stands, and checks that it fits the table.
    fn accept(&mut self, line: u64) -> Result<()> {
        let (name, record) = (&self.name, &self.record);
        if record.len() != self.columns.len() {
            return Err(ragged(name, (line, self.rows == 0), record, &self.columns));
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

    /// Returns the error for the current record, which cannot be taken.
    fn not_utf8(&self, column: usize) -> Error {
        not_utf8(&self.name, self.line, column, &self.columns[column], &self.record[column])
    }
}

impl<R: Read> Source for Text<R> {
    fn next_batch(&mut self, _: u64) -> Result<Option<RecordBatch>> {
        while !self.ended {
            if !std::mem::take(&mut self.held) {
                match self.next_row()? {
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
        self.reader.get_ref().input.get_ref().1.taken()
    }
}

/// Batch whose columns are being filled.
struct Batch {
    schema: SchemaRef,
    columns: Vec<StringBuilder>,
    rows: usize,
    bytes: usize,
    most_bytes: usize,
}

impl Batch {
    fn new(schema: SchemaRef, most_bytes: usize) -> Batch {
        let columns = schema.fields().iter().map(|_| StringBuilder::with_capacity(0, 0)).collect();
        Batch { schema, columns, rows: 0, bytes: 0, most_bytes }
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

    /// Returns the batch filled so far, if it has any rows.
    fn take(&mut self) -> Option<RecordBatch> {
        if self.rows == 0 {
            return None;
        }
        let columns = self.columns.iter_mut().map(|column| Arc::new(column.finish()) as _).collect();
        (self.rows, self.bytes) = (0, 0);
        Some(RecordBatch::try_new(self.schema.clone(), columns).expect("columns are filled in step"))
    }
}

/// The text of an input in UTF-8, without its mark; its encoding, and whether there was a mark.
///
/// Errors: it is no text, or none in this encoding.
pub(in crate::table) fn text_of<R: Read>(
    mut input: R,
    name: &str,
    options: &ReadOptions,
) -> Result<(Decoded<Headed<R>>, Encoding, bool)> {
    let (mut raw, _) = read_until(&mut input, |raw| raw.len() >= SNIFFED).map_err(|error| unreadable(name, error))?;
    refuse_others(&raw, name)?;
    let (encoding, mark) = encoding::of(&raw, options.encoding, name)?;
    raw.drain(..mark);
    Ok((Decoded::new(io::Cursor::new(raw).chain(input), encoding), encoding, mark > 0))
}

fn header_schema(record: &ByteRecord, name: &str, line: u64) -> Result<SchemaRef> {
    if record.len() > MAX_COLUMNS {
        return Err(too_many_columns(name));
    }
    let text = |(place, field)| {
        std::str::from_utf8(field).map_err(|_| not_utf8(name, line, place, &String::from_utf8_lossy(field), field))
    };
    let field = |name: &str| Field::new(name, DataType::Utf8, true);
    let fields = record.iter().enumerate().map(|cell| text(cell).map(field)).collect::<Result<_>>()?;
    own_schema(name, &schema_of(fields))
}

/// Refuses what is no text, by what it begins with.
fn refuse_others(head: &[u8], name: &str) -> Result<()> {
    refuse_packed(head, name)?;
    let what = match head {
        [b'P', b'A', b'R', b'1', ..] => "is a Parquet file; name it .parquet",
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => "is an Arrow file; name it .arrow",
        [b'P', b'K', 3, 4, ..] => xlsx::advice_on_archive(head),
        [0xD0, 0xCF, 0x11, 0xE0, ..] => xlsx::OLD_OR_LOCKED,
        [0x28, 0xB5, 0x2F, 0xFD, ..] => "is compressed with zstd: unpack it, as with `zstd -d`",
        _ => return Ok(()),
    };
    Err(Error::Input(format!("{name}: {what}")))
}

fn csv_error(name: &str, line: u64, error: csv::Error) -> Error {
    let csv::ErrorKind::Io(error) = error.into_kind() else {
        return unreadable(name, "the text is not CSV");
    };
    let (line, what): (u64, &dyn std::fmt::Display) =
        match (inner::<TooLong>(&error), inner::<Junk>(&error), inner::<Malformed>(&error)) {
            (Some(what), _, _) => (line, what),
            (_, Some(what), _) => (what.line, what),
            (_, _, Some(what)) => (what.line, what),
            _ => return unreadable(name, error),
        };
    Error::Input(format!("{name}, line {line}: {what}"))
}

fn inner<T: std::error::Error + 'static>(error: &io::Error) -> Option<&T> {
    error.get_ref().and_then(|inner| inner.downcast_ref())
}

/// Returns the number of lines that end within the values.
fn lines_inside(record: &ByteRecord) -> u64 {
    match memchr2(b'\r', b'\n', record.as_slice()) {
        Some(_) => record.iter().map(LineEnds::count).sum(),
        None => 0,
    }
}

fn ragged(name: &str, (line, first): (u64, bool), record: &ByteRecord, columns: &[String]) -> Error {
    let (fields, expected) = (record.len(), columns.len());
    let blank_before_quote = |field: &[u8]| field.starts_with(b" ") && field.trim_ascii_start().starts_with(b"\"");
    let hint = match (lines_inside(record), fields) {
        (1.., _) => "the record spans several lines: is a quote left open?",
        (_, 1) => "is it another delimiter than the header's? Name it with --delimiter",
        _ if record.iter().any(blank_before_quote) => {
            "remove the blank before the quote, which makes it a part of the value"
        }
        _ if fields == expected + 1 && record[expected].is_empty() => {
            "it ends with a delimiter: remove that, or add one to the header"
        }
        _ if first && columns[0].starts_with('#') => {
            "if the header is a comment, skip such lines with skip = N in [parties.X] of the job file, or --skip N"
        }
        _ if expected == 1 && first => {
            "if the first line is a title or a comment, skip such lines with skip = N in [parties.X] of the job file, or --skip \
             N; if it is the header, add the missing names"
        }
        _ if fields == expected + 1 && first => {
            "if all lines have one more than the header, add a name for that column (R's write.table does with col.names = NA); \
             else put quotes around values that contain the delimiter"
        }
        _ => "put quotes around values that contain the delimiter",
    };
    let s = if fields == 1 { "" } else { "s" };
    Error::Input(format!("{name}, line {line}: {fields} field{s} instead of {expected}; {hint}"))
}

fn not_utf8(name: &str, line: u64, column: usize, header: &str, value: &[u8]) -> Error {
    let byte = match std::str::from_utf8(value) {
        Err(error) => value[error.valid_up_to()],
        Ok(_) => 0,
    };
    Error::Input(format!(
        "{name}, line {line}, column {} ({header:?}): byte 0x{byte:02X} is not UTF-8; if the file is in another \
         encoding, name it, as with --encoding windows-1252",
        column + 1
    ))
}

/// Mark that is put at the end of the input, in a line of its own (without the carriage return if other lines have
/// none). It shows whether the end is inside quotes. Nothing in it is ever a delimiter.
const MARK: &[u8] = b"\r\nEndOfInput";

/// The input, then the mark; counts the bytes and the lines, and looks over the quotes.
pub(super) struct Marked<R> {
    input: R,
    quotes: Quotes,
    ends: LineEnds,
    mark: &'static [u8],
    bytes: u64,
    /// Maximum number of bytes given until the record that is being read has ended.
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
        self.quotes.look(&buffer[..n]).map_err(io::Error::other)?;
        if n == 0 {
            n = self.mark.read(buffer)?;
        }
        self.ends.look(&buffer[..n], self.bytes);
        self.bytes += n as u64;
        Ok(n)
    }
}
