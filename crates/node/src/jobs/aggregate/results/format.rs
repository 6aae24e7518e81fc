//! Formats in which results are written.

use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use tacita_core::{Error, Result};

use super::{RoundResults, lists, misp, stix};
use crate::base::files::{self, Existing};
use crate::table::output::Format;

/// A form of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormat {
    /// Table in one of the table formats.
    Table(Format),
    /// List for another program.
    List(ListFormat),
}

/// Format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListFormat {
    /// A key on each line.
    Keys,
    /// An address on each line, as feeds of addresses are written.
    Netset,
    /// Input for `ipset restore`.
    Ipset,
    /// A warning list of MISP.
    Misp,
    /// A bundle of STIX 2.1 indicators.
    Stix,
}

impl ResultFormat {
    /// The lists, with the word for each and the ending of its files.
    const LISTS: [(ListFormat, &'static str, &'static str); 5] = [
        (ListFormat::Keys, "list", ".txt"),
        (ListFormat::Netset, "netset", ".netset"),
        (ListFormat::Ipset, "ipset", ".ipset"),
        (ListFormat::Misp, "misp", ".misp.json"),
        (ListFormat::Stix, "stix", ".stix.json"),
    ];

    /// The form that a file's ending stands for; `-` is CSV, and `.json` a table.
    ///
    /// Errors: the ending is not known.
    pub fn of(path: &Path) -> Result<ResultFormat> {
        let name = path.file_name().map_or(String::new(), |name| name.to_string_lossy().to_lowercase());
        match ResultFormat::LISTS.iter().find(|(.., ending)| name.ends_with(ending)) {
            Some((list, ..)) => Ok(ResultFormat::List(*list)),
            None => Format::of(path).map(ResultFormat::Table).map_err(|error| match error {
                Error::Input(text) => {
                    let lists = ResultFormat::LISTS.map(|(.., ending)| ending);
                    Error::Input(format!("{text}; for lists {}", lists.join(", ")))
                }
                other => other,
            }),
        }
    }

    /// Checks before any work that a file of this name can be written in this form, and tells it: `format`, or else by
    /// the ending.
    pub fn check(path: &Path, format: Option<ResultFormat>, existing: Existing) -> Result<ResultFormat> {
        if path.as_os_str() != "-" {
            files::check_output(path, existing)?;
        }
        format.map_or_else(|| ResultFormat::of(path), Ok)
    }
}

impl FromStr for ResultFormat {
    type Err = Error;

    fn from_str(word: &str) -> Result<ResultFormat> {
        if let Some((list, ..)) = ResultFormat::LISTS.iter().find(|(_, name, _)| *name == word) {
            return Ok(ResultFormat::List(*list));
        }
        Format::from_str(word).map(ResultFormat::Table).map_err(|_| {
            let lists = ResultFormat::LISTS.map(|(_, name, _)| name);
            Error::Input(format!("format: {word:?} is none of csv, parquet, arrow, json, xlsx, {}", lists.join(", ")))
        })
    }
}

/// Writes a list to a file, or to standard output.
pub(super) fn write(results: &RoundResults, list: ListFormat, path: &Path, existing: Existing) -> Result<()> {
    let is_output = path.as_os_str() == "-";
    let name = if is_output { "standard output".to_owned() } else { path.display().to_string() };
    let text = match list {
        ListFormat::Keys => lists::keys(results),
        ListFormat::Netset => lists::netset(results),
        ListFormat::Ipset => lists::ipset(results),
        ListFormat::Misp => misp::list(results),
        ListFormat::Stix => stix::bundle(results),
    };
    let text = text.map_err(|error| match error {
        Error::Input(text) => Error::Input(format!("{name}: {text}")),
        other => other,
    })?;
    if is_output {
        std::io::stdout()
            .write_all(text.as_bytes())
            .map_err(|error| Error::Input(format!("{name}: cannot be written: {error}")))
    } else {
        files::write_over(path, text.as_bytes(), existing)
    }
}
