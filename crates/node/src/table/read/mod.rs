//! Reading tables from files.

mod codec;
mod columnar;
mod csv;
mod delimiter;
mod encoding;
mod gzip;
mod head;
mod ipc;
mod line_ends;
mod lines;
pub mod lists;
mod parquet;
mod quotes;

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tacita_core::{Error, Result};

use super::budget::{Meter, too_many_columns};
use super::columns::own_schema;
use super::{Budget, Lines, MAX_COLUMNS, Table, too_many_rows};
use crate::base::text::pasted;
pub(super) use csv::text_of;
use delimiter::Hint;
pub(super) use delimiter::announced_line;
pub use encoding::Encoding;
use gzip::{GZIP, Gunzip};
pub(super) use lines::{LineReader, LineTooLong};
pub use lists::{ListOptions, Listing, USUAL_EXPANSION, WantedColumn};

/// How to read a file where its name and content do not say.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// What stands between the values of a text file; found from its first lines if absent.
    pub delimiter: Option<u8>,
    /// How the characters of a text file are written; found from its first bytes if absent, and UTF-8 if they do not say.
    pub encoding: Option<Encoding>,
    /// So many lines at the beginning of a text file are left out.
    pub skip: usize,
    /// The first line of a text file is a row, and no header: its columns are `column_1` and so on.
    pub no_header: bool,
    /// What the table may be, and take.
    pub budget: Budget,
}

/// Endings of the files that can be read, for messages.
const KNOWN: &str = ".csv, .tsv, .txt (each also .gz), .parquet, .arrow, .ipc, .feather, or - for CSV on standard input; for job \"rules\" also .dat";

/// A line that ends files of old systems.
const CTRL_Z: &[u8] = b"\x1a";

/// What is said of it.
const CTRL_Z_LEFT_OUT: &str = "Ctrl-Z, which ends a file in old systems, is no row: it is left out";

/// What messages call standard input.
const STANDARD_INPUT: &str = "standard input";

/// How files of the typed forms begin.
const MAGIC: [&[u8]; 2] = [b"PAR1", b"ARROW1"];

/// So many bytes tell a text from other files.
const TOLD_BYTES: usize = 64;

/// Values of one batch of a table in memory take at most about this many bytes, far from the 2 GiB at which Arrow's
/// offsets end.
const BATCH_BYTES: usize = 64 << 20;

/// The form of a file, as far as it matters to who has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Its name, as `CSV`.
    pub name: &'static str,
    /// Whether it is packed by gzip.
    pub packed: bool,
    /// Of a text file, how it is written.
    pub text: Option<TextForm>,
}

/// How a text file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextForm {
    /// What stands between values.
    pub delimiter: u8,
    /// Whether lines end with CR LF.
    pub crlf: bool,
    /// How its characters are written.
    pub encoding: Encoding,
    /// Whether it begins with a byte order mark.
    pub marked: bool,
}

/// A table that is read batch by batch.
pub struct Stream {
    form: Form,
    name: String,
    schema: SchemaRef,
    source: Box<dyn Source + Send>,
    rows: usize,
    units: Option<u64>,
    budget: Budget,
    /// What one batch may take.
    memory: u64,
}

/// What batches come from.
trait Source {
    /// The next batch, in order, which may take so much memory; none at the end.
    fn next_batch(&mut self, memory: u64) -> Result<Option<RecordBatch>>;

    /// Line numbers of the rows so far, in a text file.
    fn lines(&mut self) -> Option<&mut Lines>;

    /// How much has been read, in the units of [`Stream::units`].
    fn done(&self) -> u64;
}

/// Reads a table. The format is told by the ending: `.csv`, `.tsv`, `.txt` (also with `.gz`), `.parquet`, `.arrow`,
/// `.ipc`, `.feather`; `-` is CSV on standard input.
///
/// The file is read as a stream; memory is that of the table. Errors ([`Error::Input`]): the file is absent,
/// unreadable or corrupt, is not a table (see `docs/tables.md`), or takes more than its [`Budget`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    let Stream { name, schema, source, .. } = open(path, options, BATCH_BYTES)?;
    collect(name, schema, source, &options.budget)
}

/// What messages call the table at `path`.
pub fn source_name(path: &Path) -> String {
    match path.as_os_str() == "-" {
        true => STANDARD_INPUT.to_owned(),
        false => path.display().to_string(),
    }
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

/// As [`read`], batch by batch. Batches take about `batch_bytes` at most, as far as the file's own blocks allow.
pub fn open(path: &Path, options: &ReadOptions, batch_bytes: usize) -> Result<Stream> {
    if path.as_os_str() == "-" {
        return Stream::text(io::stdin(), STANDARD_INPUT, Hint::None, options, batch_bytes);
    }
    let name = path.display().to_string();
    let ending = ending(path);
    let text = |hint| {
        let file = open_file(path, &name)?;
        match ending.ends_with(".gz") {
            true => {
                let mut stream = Stream::text(unpack(file, &name)?, &name, hint, options, batch_bytes)?;
                stream.form.packed = true;
                Ok(stream)
            }
            false => {
                let units = file.metadata().ok().map(|facts| facts.len());
                Ok(Stream { units, ..Stream::text(file, &name, hint, options, batch_bytes)? })
            }
        }
    };
    match ending.trim_end_matches(".gz") {
        ".csv" | ".txt" => text(Hint::None),
        ".tsv" => text(Hint::Tab),
        ".parquet" | ".arrow" | ".ipc" | ".feather" if options.skip > 0 || options.no_header => {
            Err(Error::Input(format!(
                "{name}: has neither lines to leave out nor a line of headers: leave out skip and header in [parties.X] of the job file, --skip and \
             --no-header"
            )))
        }
        ".parquet" if ending == ".parquet" => Stream::typed(
            &name,
            "Parquet",
            parquet::open(open_typed(path, &name)?, &name, batch_bytes, &options.budget)?,
            options,
        ),
        ".arrow" | ".ipc" | ".feather" if !ending.ends_with(".gz") => Stream::typed(
            &name,
            "Arrow IPC",
            ipc::open(open_typed(path, &name)?, &name, batch_bytes, &options.budget)?,
            options,
        ),
        _ => {
            open_file(path, &name)?;
            Err(Error::Input(format!("{name}: not a known kind of table; known endings are {KNOWN}")))
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
        let form = Form { name: "CSV", packed: false, text: Some(text.form()) };
        Ok(Stream::of(name, form, schema, Box::new(text), None, options))
    }

    fn typed(
        name: &str,
        form: &'static str,
        (schema, source): (SchemaRef, columnar::Columnar),
        options: &ReadOptions,
    ) -> Result<Stream> {
        if schema.fields().len() > MAX_COLUMNS {
            return Err(too_many_columns(name));
        }
        let schema = own_schema(name, &schema)?;
        let source = source.under(schema.clone());
        let units = source.rows();
        let form = Form { name: form, packed: false, text: None };
        Ok(Stream::of(name, form, schema, Box::new(source), units, options))
    }

    fn of(
        name: &str,
        form: Form,
        schema: SchemaRef,
        source: Box<dyn Source + Send>,
        units: Option<u64>,
        options: &ReadOptions,
    ) -> Stream {
        let budget = options.budget;
        Stream { name: name.to_owned(), form, schema, source, rows: 0, units, budget, memory: budget.bytes() }
    }

    /// What messages call this table.
    pub fn source(&self) -> &str {
        &self.name
    }

    /// The form of the file.
    pub fn form(&self) -> Form {
        self.form
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

    /// How much there is to read, for whoever waits: bytes of a text file, rows of others; none if that is not known.
    pub fn units(&self) -> Option<u64> {
        self.units
    }

    /// How much of [`Stream::units`] has been read.
    pub fn done(&self) -> u64 {
        self.source.done()
    }

    /// Line numbers of the rows read so far, in a text file.
    pub(crate) fn lines(&mut self) -> Option<&mut Lines> {
        self.source.lines()
    }
}

/// The ending that tells the format, in lower case, with `.gz` if that follows another one.
pub(super) fn ending(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let last = |name: &str| name.rfind('.').map_or(name.len(), |at| at);
    let at = last(&name);
    match &name[at..] {
        ".gz" => name[last(&name[..at])..].to_string(),
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

/// Opens a file of a typed form, which has no packed one.
fn open_typed(path: &Path, name: &str) -> Result<File> {
    let file = open_file(path, name)?;
    let mut head = [0; TOLD_BYTES];
    // Neither form is read from a pipe.
    let length = file.read_at(&mut head, 0).map_err(|error| unreadable(name, error))?;
    let head = &head[..length];
    let is_text = |byte: &u8| matches!(byte, b' '..|b'\t'| b'\r' | b'\n') && *byte != 0xFF;
    if head.starts_with(&GZIP) {
        return Err(Error::Input(format!("{name}: is compressed with gzip: unpack it, as with `gzip -d`")));
    }
    if !head.is_empty() && !MAGIC.iter().any(|magic| head.starts_with(magic)) && head.iter().all(is_text) {
        return Err(Error::Input(format!("{name}: is text, whatever its name says; if it is CSV, name it .csv")));
    }
    Ok(file)
}

/// What is in a file whose name says that it is packed.
///
/// Errors: it is not.
pub(super) fn unpack(file: File, name: &str) -> Result<Box<dyn Read + Send>> {
    let mut packed = io::BufReader::with_capacity(1 << 16, file);
    let head = packed.fill_buf().map_err(|error| unreadable(name, error))?;
    match (head.is_empty(), head.starts_with(&GZIP)) {
        (true, _) => Ok(Box::new(packed)),
        (_, true) => Ok(Box::new(Gunzip::new(packed))),
        (_, false) => {
            Err(Error::Input(format!("{name}: is not compressed with gzip, as .gz says: take .gz off its name")))
        }
    }
}

/// Refuses what is packed, and does not say so in its name. `head` is what it begins with.
fn refuse_packed(head: &[u8], name: &str) -> Result<()> {
    if !head.starts_with(&GZIP) {
        return Ok(());
    }
    let advice = match (name, name.to_lowercase().ends_with(".gz")) {
        (STANDARD_INPUT, _) => "unpack it on its way, as with `gzip -dc`".to_owned(),
        (_, true) => "and what is in it is so once more: unpack it once".to_owned(),
        (_, false) => format!("add .gz to its name, as in {}", pasted(format_args!("{name}.gz"))),
    };
    Err(Error::Input(format!("{name}: is compressed with gzip: {advice}")))
}

/// The message for a failed read; one line, whatever the library said.
fn unreadable(name: &str, error: impl std::fmt::Display) -> Error {
    let what = error.to_string();
    let what: Vec<_> = what.split_whitespace().collect();
    Error::Input(format!("{name}: cannot be read: {}", what.join(" ")))
}
