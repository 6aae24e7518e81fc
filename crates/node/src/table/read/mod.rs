//! Reading tables from files.

mod columnar;
mod csv;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use tacita_core::{Error, Result};

use super::Table;

/// How to read a file where its name and content do not say.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// What stands between the values of a text file; found from the header if absent.
    pub delimiter: Option<u8>,
}

/// Endings of the files that can be read, for messages.
const KNOWN: &str = ".csv, .tsv, .txt (each also .gz), .parquet, .arrow, .ipc, .feather, or - for CSV on standard input; for job \"rules\" also .dat";

/// Reads a table. The format is told by the ending: `.csv`, `.tsv`, `.txt` (also with `.gz`), `.parquet`, `.arrow`,
/// `.ipc`, `.feather`; `-` is CSV on standard input.
///
/// The file is read as a stream; memory is that of the table. Errors ([`Error::Input`]): the file is absent,
/// unreadable or corrupt, or is not a table (see `docs/tables.md`).
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    if path.as_os_str() == "-" {
        return csv::read(io::stdin().lock(), "standard input", csv::Hint::None, options);
    }
    let name = path.display().to_string();
    let ending = ending(path);
    let text = |hint| {
        let file = open(path, &name)?;
        match ending.ends_with(".gz") {
            true => csv::read(MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, file)), &name, hint, options),
            false => csv::read(file, &name, hint, options),
        }
    };
    match ending.trim_end_matches(".gz") {
        ".csv" | ".txt" => text(csv::Hint::None),
        ".tsv" => text(csv::Hint::Tab),
        ".parquet" if ending == ".parquet" => columnar::read_parquet(open(path, &name)?, &name),
        ".arrow" | ".ipc" | ".feather" if !ending.ends_with(".gz") => columnar::read_ipc(open(path, &name)?, &name),
        _ => Err(Error::Input(format!("{name}: not a known kind of table; known endings are {KNOWN}"))),
    }
}

/// Reads CSV from a stream that messages call `name`.
pub fn read_csv(input: impl Read, name: &str, options: &ReadOptions) -> Result<Table> {
    csv::read(input, name, csv::Hint::None, options)
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

fn open(path: &Path, name: &str) -> Result<File> {
    let file = File::open(path).map_err(|error| unreadable(name, error))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(Error::Input(format!("{name}: is a directory; name a file"))),
        _ => Ok(file),
    }
}

/// The message for a failed read; one line, whatever the library said.
fn unreadable(name: &str, error: impl std::fmt::Display) -> Error {
    let what = error.to_string();
    let what: Vec<_> = what.split_whitespace().collect();
    Error::Input(format!("{name}: cannot be read: {}", what.join(" ")))
}
