//! Values of command-line options: durations, sizes, rates, named files, and how files are read.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::help;
use clap::Args;
use tacita_core::Error;
use tacita_node::agreement::JobSpec;
use tacita_node::table::ReadOptions;
use tacita_node::table::read::{Encoding, FileKind};

/// Options for reading a table that does not itself say how to read it.
#[derive(Args, Clone)]
#[command(next_help_heading = help::INPUT)]
pub struct ReadArguments {
    /// Table format: csv, tsv, json (one object per line), parquet, arrow or xlsx [default: by file name; CSV for
    /// pipes].
    #[arg(long, value_name = "KIND")]
    format: Option<FileKind>,
    #[command(flatten)]
    text: Text,
}

/// Options for reading a file of any kind that does not itself say how to read it.
#[derive(Args, Clone)]
#[command(next_help_heading = help::INPUT)]
pub struct Text {
    /// Field separator of a CSV file [default: detected from the first lines].
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Character encoding of a text file, as windows-1252 [default: UTF-8, or UTF-16 if detected].
    #[arg(long, value_name = "ENCODING")]
    encoding: Option<Encoding>,
    /// Lines to skip above the header of a text file.
    #[arg(long, value_name = "LINES", default_value_t = 0, hide_default_value = true)]
    skip: usize,
    /// Treat the first line of a text file as a row; columns are named column_1, column_2 and so on.
    #[arg(long)]
    no_header: bool,
    /// Sheet of a spreadsheet (.xlsx) [default: the first visible one].
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
}

impl ReadArguments {
    /// Returns the options with which tables are read.
    pub fn options(&self) -> ReadOptions {
        ReadOptions { kind: self.format, ..self.text.options() }
    }
}

impl Text {
    /// Returns the options with which files are read.
    pub fn options(&self) -> ReadOptions {
        let Text { delimiter, encoding, skip, no_header, ref sheet } = *self;
        let sheet = sheet.as_deref().map(Arc::from);
        ReadOptions { delimiter, encoding, skip, no_header, sheet, ..ReadOptions::default() }
    }
}

/// The words of a list that may be empty.
pub fn words(list: &[String]) -> Vec<String> {
    if list.iter().all(String::is_empty) { Vec::new() } else { list.to_vec() }
}

/// Options like those of [`ReadArguments`], for the files of several parties.
#[derive(Args)]
#[command(next_help_heading = help::INPUT)]
pub struct ReadingOf {
    /// Format of a party's table: csv, tsv, json, parquet, arrow or xlsx [default: by file name].
    #[arg(long, value_name = "NAME=KIND", value_parser = named(kind))]
    input_format: Vec<(String, FileKind)>,
    /// Field separator of a party's CSV file [default: detected from the first lines].
    #[arg(long, value_name = "NAME=CHAR", value_parser = named(delimiter))]
    delimiter: Vec<(String, u8)>,
    /// Character encoding of a party's text file, as hospital=windows-1252 [default: UTF-8, or UTF-16 if detected].
    #[arg(long, value_name = "NAME=ENCODING", value_parser = named(encoding))]
    encoding: Vec<(String, Encoding)>,
    /// Lines to skip above the header of a party's text file.
    #[arg(long, value_name = "NAME=LINES", value_parser = named(lines))]
    skip: Vec<(String, usize)>,
    /// Party whose text file has no header; columns are named column_1, column_2 and so on.
    #[arg(long, value_name = "NAME")]
    no_header: Vec<String>,
    /// Sheet of a party's spreadsheet (.xlsx) [default: the first visible one].
    #[arg(long, value_name = "NAME=SHEET", value_parser = named(sheet))]
    sheet: Vec<(String, Arc<str>)>,
}

impl ReadingOf {
    /// Returns the options with which the tables of `party` are read.
    pub fn options(&self, party: &str) -> ReadOptions {
        let delimiter = self.delimiter.iter().find(|(name, _)| name == party).map(|(_, delimiter)| *delimiter);
        let encoding = self.encoding.iter().find(|(name, _)| name == party).map(|(_, encoding)| *encoding);
        let skip = self.skip.iter().find(|(name, _)| name == party).map_or(0, |(_, lines)| *lines);
        let no_header = self.no_header.iter().any(|name| name == party);
        let kind = self.input_format.iter().find(|(name, _)| name == party).map(|(_, kind)| *kind);
        let sheet = self.sheet.iter().find(|(name, _)| name == party).map(|(_, sheet)| sheet.clone());
        ReadOptions { kind, delimiter, encoding, skip, no_header, sheet, ..ReadOptions::default() }
    }

    /// Checks that those named are parties of the job, each once.
    pub fn check(&self, job: &JobSpec) -> Result<(), Error> {
        let delimiters: Vec<_> = self.delimiter.iter().map(|(name, _)| name).collect();
        let encodings: Vec<_> = self.encoding.iter().map(|(name, _)| name).collect();
        let skips: Vec<_> = self.skip.iter().map(|(name, _)| name).collect();
        let headless: Vec<_> = self.no_header.iter().collect();
        let kinds: Vec<_> = self.input_format.iter().map(|(name, _)| name).collect();
        let sheets: Vec<_> = self.sheet.iter().map(|(name, _)| name).collect();
        let all = [
            ("input-format", kinds),
            ("delimiter", delimiters),
            ("encoding", encodings),
            ("skip", skips),
            ("no-header", headless),
            ("sheet", sheets),
        ];
        for (option, names) in all {
            for (place, name) in names.iter().enumerate() {
                job.party(name)?;
                if names[..place].contains(name) {
                    return Err(Error::Input(format!("--{option}: {name} is there twice")));
                }
            }
        }
        Ok(())
    }
}

fn lines(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "use a number of lines".into())
}

fn sheet(text: &str) -> Result<Arc<str>, String> {
    Ok(text.into())
}

fn kind(text: &str) -> Result<FileKind, String> {
    text.parse().map_err(|error: Error| error.to_string())
}

fn encoding(text: &str) -> Result<Encoding, String> {
    text.parse().map_err(|error: Error| error.to_string())
}

/// `NAME=VALUE`
fn named<T>(value: fn(&str) -> Result<T, String>) -> impl Fn(&str) -> Result<(String, T), String> + Clone {
    move |text| match text.split_once('=') {
        Some((name, text)) if !name.is_empty() => Ok((name.to_owned(), value(text)?)),
        _ => Err("use NAME=VALUE, with the party's name in front".into()),
    }
}

/// `60s`, `500ms`, `2min`, or seconds as a bare number.
pub fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("\"{unit}\" is no unit of time: use ms, s, min or h")),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && (0.0..1e9).contains(&(number * scale)) => {
            Ok(Duration::from_secs_f64(number * scale))
        }
        _ => Err("use a number and a unit, as in 60s, 500ms or 2min".into()),
    }
}

/// Parses a latency like [`duration`], and refuses a bare number, which could be meant as milliseconds.
pub fn latency(text: &str) -> Result<Duration, String> {
    if text.trim().ends_with(|c: char| c.is_ascii_alphabetic()) {
        duration(text)
    } else {
        Err(format!("a unit is missing: write {0}ms or {0}s", text.trim()))
    }
}

/// `4GiB`, `500MB`, or bytes as a bare number.
pub fn memory(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1u64,
        "kb" => 1000,
        "mb" => 1000_u64.pow(2),
        "gb" => 1000_u64.pow(3),
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(format!("\"{unit}\" is no unit of memory: use MiB, GiB, MB or GB")),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 && number * (scale as f64) < 1e18 => {
            Ok((number * scale as f64) as u64)
        }
        _ => Err("use a number and a unit, as in 4GiB".into()),
    }
}

/// `100Mbit`, `1Gbit`, in bits a second.
pub fn bandwidth(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit.trim_end_matches("/s").to_ascii_lowercase().as_str() {
        "kbit" => 1e3,
        "mbit" => 1e6,
        "gbit" => 1e9,
        _ => return Err("use a rate such as 100Mbit or 1Gbit".into()),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && (1e3..1e13).contains(&(number * scale)) => Ok((number * scale) as u64),
        _ => Err("use a rate such as 100Mbit or 1Gbit".into()),
    }
}

/// `500/s`, `2e6/h`, `10000000/day`: so many in a second.
pub fn rate(text: &str) -> Result<f64, String> {
    let usage = "use a number and a time, as in 500/s, 2000000/h or 10000000/day";
    let (number, unit) = text.split_once('/').ok_or(usage)?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "day" | "d" => 86_400.0,
        _ => return Err(usage.into()),
    };
    match number.trim().replace([',', '_'], "").parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 && number / seconds < 1e12 => Ok(number / seconds),
        _ => Err(usage.into()),
    }
}

/// `NAME=FILE`
pub fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.into(), file.into())),
        _ => Err("use NAME=FILE, as in hospital=patients.csv".into()),
    }
}

/// `NAME=N`
pub fn named_count(text: &str) -> Result<(String, u64), String> {
    let (name, number) = text.split_once('=').ok_or("use NAME=N, as in hospital=1000000")?;
    let number = number.replace(['_', ','], "");
    match number.parse() {
        Ok(number) if !name.is_empty() => Ok((name.into(), number)),
        _ => Err("use NAME=N, as in hospital=1000000".into()),
    }
}

/// One character, or `\t` or `tab`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\n' | b'\r') => {
                Ok(*byte)
            }
            _ => Err("use one character that is no letter, digit or quote, or tab".into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("60"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("2min"), Ok(Duration::from_secs(120)));
        assert!(duration("-1s").is_err() && duration("1 fortnight").is_err() && duration("s").is_err());
        assert_eq!(latency("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(latency("20"), Err("a unit is missing: write 20ms or 20s".into()));
        assert_eq!(memory("4GiB"), Ok(4 << 30));
        assert_eq!(memory("1.5MB"), Ok(1_500_000));
        assert!(memory("0GiB").is_err() && memory("4TiBs").is_err());
        assert_eq!(bandwidth("100Mbit"), Ok(100_000_000));
        assert!(bandwidth("100").is_err());
        assert_eq!(named_count("a=1_000"), Ok(("a".into(), 1000)));
        assert!(named_file("a=").is_err() && named_file("=b").is_err());
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert!(delimiter("ab").is_err());
    }
}
