//! A table that was uploaded: how its sender says it is written, and its rows. What is wrong is said in the words of
//! the page.

use std::collections::BTreeMap;
use std::io::Cursor;

use tacita_core::{Error, Result};
use tacita_node::base::text::count;
use tacita_node::jobs::intersect::live::{KeyReader, Live, QueryRow};
use tacita_node::table::read::read_csv;
use tacita_node::table::{ReadOptions, Table};

/// Rows of a table, at most.
const MAX_ROWS: usize = 200_000;

/// Name of a table in messages.
const NAME: &str = "the uploaded table";

/// The column of references where none is named.
pub(crate) const USUAL_REFERENCE: &str = "reference";

/// The encodings that the page offers, with what they are called there.
pub(crate) const ENCODINGS: [(&str, &str); 13] = [
    ("", "as the file says, else UTF-8"),
    ("utf-8", "UTF-8"),
    ("windows-1252", "Western Europe (windows-1252, latin1)"),
    ("windows-1250", "Central Europe (windows-1250)"),
    ("windows-1251", "Cyrillic (windows-1251)"),
    ("windows-1253", "Greek (windows-1253)"),
    ("windows-1254", "Turkish (windows-1254)"),
    ("macintosh", "old Macintosh"),
    ("utf-16le", "UTF-16"),
    ("shift_jis", "Japanese (shift_jis)"),
    ("gb18030", "Chinese (gb18030)"),
    ("big5", "Chinese (big5)"),
    ("euc-kr", "Korean (euc-kr)"),
];

/// The delimiters that the page offers.
pub(crate) const DELIMITERS: [(&str, &str); 6] = [
    ("", "as the file has it"),
    (",", "comma ,"),
    (";", "semicolon ;"),
    ("tab", "tab"),
    ("|", "bar |"),
    (":", "colon :"),
];

/// Format of a table, as its sender describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Choices {
    pub(crate) encoding: String,
    pub(crate) delimiter: String,
    /// The column of references; empty if it is the usual one, or none.
    pub(crate) reference: String,
    /// Columns of the keys that have another header in this table, by their usual one.
    pub(crate) columns: BTreeMap<String, String>,
}

impl Choices {
    fn options(&self) -> Result<ReadOptions> {
        let encoding = match self.encoding.as_str() {
            "" => None,
            word => Some(word.parse()?),
        };
        let delimiter = match self.delimiter.as_bytes() {
            [] => None,
            b"tab" => Some(b'\t'),
            [one] if one.is_ascii_punctuation() && *one != b'"' => Some(*one),
            _ => return Err(Error::Input("Delimiter: choose one of those that are offered".into())),
        };
        Ok(ReadOptions { encoding, delimiter, ..ReadOptions::default() })
    }
}

/// A row of a table.
pub(crate) struct Row {
    /// Line of the row in the file.
    pub(crate) line: u64,
    pub(crate) asked: QueryRow,
    pub(crate) reference: String,
}

/// Reads a table from CSV.
///
/// Errors ([`Error::Input`]): it is no CSV, lacks a column, or has too many rows.
pub(crate) fn read(content: Vec<u8>, choices: &Choices, live: &Live, reader: &KeyReader) -> Result<Vec<Row>> {
    refuse_other_forms(&content)?;
    let options = live.job.reading(&live.desk, choices.options()?);
    let table = read_csv(Cursor::new(content), NAME, &options).map_err(|error| in_words_of_the_page(error, live))?;
    for field in reader.fields() {
        let own = choices.columns.get(&field.header).unwrap_or(&field.header);
        if table.schema().index_of(own).is_err() {
            return Err(Error::Input(format!(
                "{NAME}: no column {own:?}; its columns are {}: enter one of them as \"Column with {}\"",
                table.column_names(),
                field.header
            )));
        }
    }
    rows(&table, choices, reader)
}

/// The rows of a table.
///
/// Errors ([`Error::Input`]): it lacks a column, or has too many rows.
pub(crate) fn rows(table: &Table, choices: &Choices, reader: &KeyReader) -> Result<Vec<Row>> {
    if table.rows() > MAX_ROWS {
        return Err(Error::Input(format!(
            "{} has {} rows, and {} are the most",
            table.source(),
            count(table.rows() as u64),
            count(MAX_ROWS as u64)
        )));
    }
    let has = |name: &str| table.schema().index_of(name).is_ok();
    let reference = match choices.reference.as_str() {
        "" => Some(USUAL_REFERENCE).filter(|name| has(name)),
        name => Some(name),
    };
    let rows = reader.read_table(table, &choices.columns, reference)?;
    let row = |(number, (asked, reference))| Row { line: table.line(number), asked, reference };
    Ok(rows.into_iter().enumerate().map(row).collect())
}

/// Files that are no text, by how they begin.
const OTHER_FORMS: [(&[u8], &str); 5] = [
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"PK\x03\x04", "a spreadsheet (.xlsx, .ods) or another zip archive"),
    (b"\xD0\xCF\x11\xE0", "an old spreadsheet (.xls)"),
    (b"\x1F\x8B", "compressed with gzip"),
];

fn refuse_other_forms(content: &[u8]) -> Result<()> {
    match OTHER_FORMS.iter().find(|(begin, _)| content.starts_with(begin)) {
        Some((_, what)) => Err(Error::Input(format!("the uploaded file is {what}: save it as CSV, and upload that"))),
        None => Ok(()),
    }
}

/// Advice for a command line, and what it is on the page.
const WORDS: [(&str, &str); 7] = [
    ("name it, as with --encoding windows-1252", "choose it as \"Encoding\""),
    ("name its encoding with --encoding, or save it as UTF-8", "choose another \"Encoding\", or save it as UTF-8"),
    ("--encoding says", "the chosen encoding is"),
    ("leave --encoding out", "choose \"as the file says\""),
    ("Name it with --delimiter", "Choose it as \"Delimiter\""),
    (", or --no-header", ""),
    (", or --skip N", ""),
];

fn in_words_of_the_page(error: Error, live: &Live) -> Error {
    let Error::Input(text) = error else { return error };
    let text = WORDS.iter().fold(text, |text, (from, to)| text.replace(from, to));
    Error::Input(text.replace("[parties.X]", &format!("[parties.{}]", live.desk)))
}
