//! Reading tables from files.

mod codec;
mod columnar;
mod csv;
mod delimiter;
mod encoding;
mod gzip;
mod head;
mod in_memory;
mod ipc;
mod json_rows;
mod kind;
mod line_ends;
mod lines;
pub mod lists;
mod parquet;
mod quotes;
mod xlsx;
mod zip;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tacita_core::{Error, Result};

use super::budget::{Meter, too_many_columns};
use super::columns::{of_list, own_schema};
use super::{Budget, Lines, MAX_COLUMNS, Table, schema_of, too_many_rows};
use crate::base::files::is_device;
use crate::base::text::pasted;
pub(super) use csv::text_of;
use delimiter::Hint;
pub(super) use delimiter::announced_line;
pub use encoding::Encoding;
pub use kind::{Compression, FileKind};
pub(super) use lines::{LineReader, LineTooLong};
pub use lists::{ListOptions, Listing, USUAL_EXPANSION, WantedColumn};

/// Options for reading a file, where its name and content do not decide.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Delimiter between the values of a text file; detected from its first lines if absent.
    pub delimiter: Option<u8>,
    /// Character encoding of a text file. If absent, it is detected from the first bytes, and is UTF-8 if they do not
    /// say.
    pub encoding: Option<Encoding>,
    /// Number of lines to skip at the beginning of a text file.
    pub skip: usize,
    /// The kind of the file; told by its ending if absent, and CSV on a pipe.
    pub kind: Option<FileKind>,
    /// Into how many addresses the networks of a list are expanded at most.
    pub expand: Option<u64>,
    /// The first line of a text file is a row, and no header: its columns are `column_1` and so on.
    pub no_header: bool,
    /// The name of the sheet, in a workbook; the first one that is not hidden if absent.
    pub sheet: Option<Arc<str>>,
    /// Limits on the size of the table, and on the memory that it takes.
    pub budget: Budget,
}

/// Endings of the files that can be read, for messages.
const KNOWN: &str = ".csv, .tsv, .txt, .psv, .json, .jsonl (each also .gz and .zst), .parquet, .arrow, .ipc, .feather, .xlsx, \
                     .zip with one of them in it, or - for CSV on standard input; for job \"rules\" also .dat; for another \
                     ending give the format, as --format csv";

/// The column of a list of keys.
const LISTED: &str = "key";

/// A line that ends files of old systems.
const CTRL_Z: &[u8] = b"\x1a";

/// Warning about a Ctrl-Z that was left out.
const CTRL_Z_LEFT_OUT: &str = "Ctrl-Z, which ends a file in old systems, is no row: it is left out";

/// Name of standard input in messages.
const STANDARD_INPUT: &str = "standard input";

/// Magic bytes at the start of files of the typed forms.
const MAGIC: [&[u8]; 2] = [b"PAR1", b"ARROW1"];

/// Number of leading bytes that distinguish a text from other files.
const TOLD_BYTES: usize = 64;

/// Values of one batch of a table in memory take at most about this many bytes, far from the 2 GiB at which Arrow's
/// offsets end.
const BATCH_BYTES: usize = 64 << 20;

/// The form of a file, as far as it matters to who has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileForm {
    /// Name of the form, such as `CSV`.
    pub name: &'static str,
    /// Compression of the file.
    pub packed: Compression,
    /// Details of a text file: delimiter, line ends and encoding.
    pub text: Option<TextForm>,
    /// Sheet that is read, if the file is a workbook.
    pub sheet: Option<Arc<str>>,
}

/// Details of how a text file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextForm {
    /// Delimiter between values of a line.
    pub delimiter: u8,
    /// Whether lines end with CR LF.
    pub crlf: bool,
    /// Character encoding of the text.
    pub encoding: Encoding,
    /// Whether it begins with a byte order mark.
    pub marked: bool,
}

/// A table that is read batch by batch.
pub struct Stream {
    form: FileForm,
    name: String,
    schema: SchemaRef,
    source: Box<dyn Source + Send>,
    rows: usize,
    units: Option<u64>,
    budget: Budget,
    /// Memory that one batch may take, in bytes.
    memory: u64,
}

/// Source of the batches of a table.
trait Source {
    /// The next batch, in order, which may take so much memory; none at the end.
    fn next_batch(&mut self, memory: u64) -> Result<Option<RecordBatch>>;

    /// Line numbers of the rows so far, in a text file.
    fn lines(&mut self) -> Option<&mut Lines>;

    /// Returns the amount that has been read, in the units of [`Stream::units`].
    fn done(&self) -> u64;
}

/// Reads a table. Its kind is told by the ending, unless the options say it: `.csv`, `.tsv`, `.txt`, `.psv`, `.json`,
/// `.jsonl` (also with `.gz` and `.zst`), `.parquet`, `.arrow`, `.ipc`, `.feather`, `.xlsx`, `.zip` with one of these
/// in it; `-` is CSV on standard input.
///
/// The file is read as a stream; memory is that of the table. Errors ([`Error::Input`]): the file is absent,
/// unreadable or corrupt, is not a table (see `docs/tables.md`), or takes more than its [`Budget`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    let Stream { name, schema, source, .. } = open(path, options, BATCH_BYTES)?;
    collect(name, schema, source, &options.budget)
}

/// Returns the name of the table at `path` in messages.
pub fn source_name(path: &Path) -> String {
    if path.as_os_str() == "-" { STANDARD_INPUT.to_owned() } else { path.display().to_string() }
}

/// Reads CSV from a stream that messages call `name`.
pub fn read_csv(input: impl Read, name: &str, options: &ReadOptions) -> Result<Table> {
    let (schema, text) = csv::Text::open(input, name, Hint::None, options, BATCH_BYTES)?;
    collect(name.to_owned(), schema, Box::new(text), &options.budget)
}

fn collect<'a>(name: String, schema: SchemaRef, mut source: Box<dyn Source + 'a>, budget: &Budget) -> Result<Table> {
    let mut meter = Meter::new(budget);
    let mut batches = Vec::new();
    while let Some(batch) = source.next_batch(meter.left())? {
        meter.keep(&name, &batch)?;
        batches.push(batch);
    }
    let lines = source.lines().map(std::mem::take);
    meter.take(&name, lines.as_ref().map_or(0, Lines::bytes))?;
    Ok(Table { memory: meter.left(), ..Table::with_lines(name, schema, batches, lines)? })
}

/// A list of keys as a table of one column, which any name stands for.
fn open_list(path: &Path, listing: Listing, options: &ReadOptions, batch_bytes: usize) -> Result<Stream> {
    if listing == Listing::Zeek {
        return Err(Error::Input(format!(
            "{}: format = \"zeek\" is for job = \"aggregate\": a log has many columns, and is no list of keys",
            source_name(path)
        )));
    }
    let lists = ListOptions {
        listing: Some(listing),
        expand: options.expand.unwrap_or(USUAL_EXPANSION),
        columns: vec![WantedColumn { header: LISTED.into(), mapped: false }],
    };
    let stream = lists::open(path, &lists, &ReadOptions { kind: None, ..options.clone() }, batch_bytes)?;
    Ok(Stream { schema: schema_of(vec![of_list(LISTED)]), ..stream })
}

/// Opens a table to be read batch by batch, otherwise as [`read`] does. Batches take about `batch_bytes` at most, as
/// far as the file's own blocks allow.
pub fn open(path: &Path, options: &ReadOptions, batch_bytes: usize) -> Result<Stream> {
    let name = source_name(path);
    let is_stdin = path.as_os_str() == "-";
    let ending = told_ending(path)?;
    let kind = match (options.kind.filter(|kind| *kind != FileKind::Table), FileKind::of(&ending)) {
        (Some(FileKind::Listed(listing)), _) => return open_list(path, listing, options, batch_bytes),
        (Some(kind), _) | (None, Some((kind, _))) => kind,
        (None, None) if is_stdin || is_device(path) => FileKind::Csv,
        (None, None) => {
            open_file(path, &name)?;
            let advice = xlsx::advice_on(&ending)
                .map_or_else(|| format!("not a known kind of table; known endings are {KNOWN}"), str::to_owned);
            return Err(Error::Input(format!("{name}: {advice}")));
        }
    };
    let packing = if is_stdin { Compression::None } else { Compression::of(&ending).1 };
    let budget = &options.budget;
    refuse_sheet(&name, kind, options)?;
    match kind {
        FileKind::Parquet | FileKind::Arrow | FileKind::Sheet if is_stdin => {
            Err(Error::Input(format!("{name}: {} is read from a file, and not from a pipe", kind.name())))
        }
        FileKind::Parquet | FileKind::Arrow if options.skip > 0 || options.no_header => Err(Error::Input(format!(
            "{name}: its format has no header and no lines to skip: leave out skip and header in [parties.X] of the job file, \
             --skip and --no-header"
        ))),
        FileKind::Parquet => {
            let opened = parquet::open(open_typed(path, &name, packing, budget)?, &name, batch_bytes, budget)?;
            Stream::typed(&name, ("Parquet", packing), opened, options)
        }
        FileKind::Arrow => {
            let opened = ipc::open(open_typed(path, &name, packing, budget)?, &name, batch_bytes, budget)?;
            Stream::typed(&name, ("Arrow IPC", packing), opened, options)
        }
        FileKind::Sheet => {
            let file = open_typed(path, &name, packing, budget)?;
            let (schema, sheet) = xlsx::open(file, &name, options, batch_bytes)?;
            let form = FileForm { name: "spreadsheet", packed: packing, text: None, sheet: Some(sheet.name()) };
            let units = Some(sheet.rows() as u64);
            Ok(Stream::of(&name, form, schema, Box::new(sheet), units, options))
        }
        FileKind::Csv | FileKind::Tsv | FileKind::Json | FileKind::Table | FileKind::Listed(_) => {
            let (input, units): (Box<dyn Read + Send>, _) = if is_stdin {
                (Box::new(io::stdin()), None)
            } else {
                let file = open_file(path, &name)?;
                let units = file.metadata().ok().filter(|facts| facts.is_file() && packing == Compression::None);
                (packing.unpack(file, &name)?, units.map(|facts| facts.len()))
            };
            let mut stream = match kind {
                FileKind::Json => Stream::json(input, &name, options, batch_bytes)?,
                FileKind::Tsv => Stream::text(input, &name, Hint::Tab, options, batch_bytes)?,
                _ => Stream::text(input, &name, Hint::None, options, batch_bytes)?,
            };
            stream.form.packed = packing;
            Ok(Stream { units, ..stream })
        }
    }
}

impl Stream {
    fn text(
        input: impl Read + Send + 'static,
        name: &str,
        hint: Hint,
        options: &ReadOptions,
        batch_bytes: usize,
    ) -> Result<Stream> {
        let (schema, text) = csv::Text::open(input, name, hint, options, batch_bytes)?;
        let form = FileForm { name: "CSV", packed: Compression::None, text: Some(text.form()), sheet: None };
        Ok(Stream::of(name, form, schema, Box::new(text), None, options))
    }

    fn json(input: Box<dyn Read + Send>, name: &str, options: &ReadOptions, batch_bytes: usize) -> Result<Stream> {
        let (schema, rows) = json_rows::JsonRows::open(input, name, options, batch_bytes)?;
        let form = FileForm { name: "JSON", packed: Compression::None, text: None, sheet: None };
        Ok(Stream::of(name, form, schema, Box::new(rows), None, options))
    }

    fn typed(
        name: &str,
        (form, packed): (&'static str, Compression),
        (schema, source): (SchemaRef, columnar::Columnar),
        options: &ReadOptions,
    ) -> Result<Stream> {
        if schema.fields().len() > MAX_COLUMNS {
            return Err(too_many_columns(name));
        }
        let schema = own_schema(name, &schema)?;
        let source = source.under(schema.clone());
        let units = source.rows();
        let form = FileForm { name: form, packed, text: None, sheet: None };
        Ok(Stream::of(name, form, schema, Box::new(source), units, options))
    }

    fn of(
        name: &str,
        form: FileForm,
        schema: SchemaRef,
        source: Box<dyn Source + Send>,
        units: Option<u64>,
        options: &ReadOptions,
    ) -> Stream {
        let budget = options.budget;
        Stream { name: name.to_owned(), form, schema, source, rows: 0, units, budget, memory: budget.bytes() }
    }

    /// Returns the name of this table in messages.
    pub fn source(&self) -> &str {
        &self.name
    }

    /// The form of the file.
    pub fn form(&self) -> &FileForm {
        &self.form
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch, of at most [`BATCH_ROWS`](super::BATCH_ROWS) rows and never empty; none at the end.
    ///
    /// Errors: the file is not as it should be; more rows than its [`Budget`], or a batch that takes more memory.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let batch = self.source.next_batch(self.memory)?;
            self.rows += batch.as_ref().map_or(0, RecordBatch::num_rows);
            if self.rows > self.budget.rows {
                return Err(too_many_rows(&self.name));
            }
            if batch.as_ref().is_none_or(|batch| batch.num_rows() > 0) {
                return Ok(batch);
            }
        }
    }

    /// Returns the total amount to read, for progress displays: bytes of a text file, rows of other files. It is none
    /// if that is not known.
    pub fn units(&self) -> Option<u64> {
        self.units
    }

    /// Returns the part of [`Stream::units`] that has been read.
    pub fn done(&self) -> u64 {
        self.source.done()
    }

    /// Line numbers of the rows read so far, in a text file.
    pub(crate) fn lines(&mut self) -> Option<&mut Lines> {
        self.source.lines()
    }
}

/// Returns the ending of a file, as [`ending`] does. For a ZIP archive it is the ending of its one member, followed by
/// `.zip`.
///
/// Errors: of an archive, that it cannot be read, or has not one member.
pub(super) fn told_ending(path: &Path) -> Result<String> {
    let ending = ending(path);
    if ending != ".zip" {
        return Ok(ending);
    }
    let name = source_name(path);
    let member = zip::Member::of(&open_file(path, &name)?, &name)?;
    Ok(self::ending(Path::new(member.name())) + ".zip")
}

/// The ending that tells the format, in lower case, with `.gz` or `.zst` if that follows another one.
pub(super) fn ending(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let last = |name: &str| name.rfind('.').map_or(name.len(), |at| at);
    let at = last(&name);
    match &name[at..] {
        ".gz" | ".zst" => name[last(&name[..at])..].to_string(),
        _ => name[at..].to_string(),
    }
}

fn open_file(path: &Path, name: &str) -> Result<File> {
    let file = File::open(path).map_err(|error| unreadable(name, error))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(Error::Input(format!("{name}: is a directory; name a file"))),
        _ => Ok(file),
    }
}

/// Opens a file of a typed form, whose only packed form is a ZIP archive.
fn open_typed(path: &Path, name: &str, packing: Compression, budget: &Budget) -> Result<File> {
    let file = open_file(path, name)?;
    let file = match packing {
        Compression::Zip => zip::Member::of(&file, name)?.unpack_beside(file, path, name, budget)?,
        _ => file,
    };
    let mut head = [0; TOLD_BYTES];
    // Neither form is read from a pipe.
    let length = file.read_at(&mut head, 0).map_err(|error| unreadable(name, error))?;
    let head = &head[..length];
    let is_text = |byte: &u8| matches!(byte, b' '..|b'\t'| b'\r' | b'\n') && *byte != 0xFF;
    if let Some((word, _)) = Compression::told_by(head) {
        return Err(Error::Input(format!("{name}: is compressed with {word}: unpack it, as with `{word} -d`")));
    }
    if !head.is_empty() && !MAGIC.iter().any(|magic| head.starts_with(magic)) && head.iter().all(is_text) {
        return Err(Error::Input(format!("{name}: is text, despite its name; if it is CSV, name it .csv")));
    }
    Ok(file)
}

/// Refuses the name of a sheet for what has none.
fn refuse_sheet(name: &str, kind: FileKind, options: &ReadOptions) -> Result<()> {
    match &options.sheet {
        Some(sheet) if kind != FileKind::Sheet => Err(Error::Input(format!(
            "{name}: has no sheets, and sheet = {sheet:?} names one: leave that out, or bring an .xlsx file"
        ))),
        _ => Ok(()),
    }
}

/// Refuses what is packed, and does not say so in its name. `head` is what it begins with.
fn refuse_packed(head: &[u8], name: &str) -> Result<()> {
    let Some((word, suffix)) = Compression::told_by(head) else { return Ok(()) };
    let advice = match (name, name.to_lowercase().ends_with(suffix)) {
        (STANDARD_INPUT, _) => format!("unpack it on its way, as with `{word} -dc`"),
        (_, true) => "and its content is compressed again: unpack it once".to_owned(),
        (_, false) => format!("add {suffix} to its name, as in {}", pasted(format_args!("{name}{suffix}"))),
    };
    Err(Error::Input(format!("{name}: is compressed with {word}: {advice}")))
}

/// The message for a failed read; one line, whatever the library said.
fn unreadable(name: &str, error: impl std::fmt::Display) -> Error {
    let what = error.to_string();
    let what: Vec<_> = what.split_whitespace().collect();
    Error::Input(format!("{name}: cannot be read: {}", what.join(" ")))
}
