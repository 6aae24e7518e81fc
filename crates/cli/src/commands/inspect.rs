//! `tacita inspect`

use std::path::PathBuf;

use clap::{ArgAction, Args};
use serde_json::{Value, json};
use tacita_core::{Error, Result};

use super::pair::named_columns;
use super::{arguments, help};
use crate::console::{Log, LogOptions, print};
use tacita_node::base::files::{check_distinct, check_writable, write_whole};
use tacita_node::base::text::json;
use tacita_node::base::text::{acts_on_terminal, count, counted};
use tacita_node::table::baskets::{Between, is_dat, read_lines};
use tacita_node::table::inspect::{ColumnFacts, FrequentValues, InspectOptions, KeyFacts, Looked, MAX_DISTINCT, look};
use tacita_node::table::read::{Compression, FileForm};
use tacita_node::table::{DecimalMark, Duplicates, KeyColumn, KeySpec, Mark, NullWords, Nulls, Profile};

/// Examine a table: columns, types and fitting key profiles.
///
/// With --key, also counts distinct keys, duplicates, empty and unreadable values. No data leaves this machine.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita inspect examples/patients/hospital.csv
  tacita inspect examples/patients/hospital.csv \
    --key name,dob --normalize name,date
  tacita inspect examples/office/members.csv --skip 2 --encoding windows-1252")]
pub struct Inspect {
    /// Table: CSV, Parquet, Arrow or .xlsx, FIMI .dat for baskets, or - for CSV on standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Columns to match rows by. NAME=HEADER if the header differs from the agreed name.
    #[arg(long, value_name = "A,B", value_delimiter = ',', action = ArgAction::Set, help_heading = help::MATCHING)]
    key: Vec<String>,
    /// Normalisation profiles, one a key column [default: none, which keeps each value].
    #[arg(long, value_name = "PROFILE,...", value_delimiter = ',', requires = "key", help_heading = help::MATCHING)]
    normalize: Vec<Profile>,
    /// Columns to examine [default: the first 100].
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::INPUT)]
    columns: Vec<String>,
    /// Null words in key columns, in place of the usual ones.
    #[arg(
        long,
        value_name = "WORD,...",
        value_delimiter = ',', action = ArgAction::Set,
        requires = "key",
        help_heading = help::MATCHING
    )]
    nulls: Option<Vec<String>>,
    #[command(flatten)]
    reading: arguments::ReadArguments,
    /// Decimal mark of numbers: , or . [default: a point].
    #[arg(long, value_name = "MARK", help_heading = help::INPUT)]
    decimal: Option<DecimalMark>,
    /// JSON file for the findings, without any value of the table.
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    report: Option<PathBuf>,
}

/// No value is shown longer, in characters.
const WIDEST: usize = 60;

impl Inspect {
    /// Carries the command out.
    pub fn execute(self, voice: LogOptions) -> Result<()> {
        if let Some(report) = &self.report {
            check_writable(report)?;
            check_distinct(&[("the table", &self.file), ("the report", report)])?;
        }
        let found = if is_dat(&self.file) {
            self.baskets()?
        } else {
            let options = self.reading.options();
            let key = self.spec()?;
            let looked =
                look(&self.file, &options, &InspectOptions { columns: self.columns.clone(), key: key.clone() })?;
            // What is collected by machines may go elsewhere.
            show(&looked, key.as_ref(), voice.log == Log::Text)?;
            report(&looked, key.as_ref())
        };
        self.report.as_deref().map_or(Ok(()), |path| {
            let text = json(serde_json::to_string_pretty(&found))?;
            write_whole(path, (text + "\n").as_bytes())
        })
    }

    /// Key by which rows would be matched.
    fn spec(&self) -> Result<Option<KeySpec>> {
        if self.key.is_empty() {
            return Ok(None);
        }
        let (names, headers) = named_columns("key", &self.key)?;
        if !self.normalize.is_empty() && self.normalize.len() != names.len() {
            return Err(Error::Input(format!(
                "--normalize: {} for {}; give one for each column",
                counted(self.normalize.len() as u64, "profile"),
                counted(names.len() as u64, "key column")
            )));
        }
        let columns = names.into_iter().enumerate().map(|(place, name)| KeyColumn {
            header: headers.get(&name).unwrap_or(&name).clone(),
            profile: self
                .normalize
                .get(place)
                .copied()
                .unwrap_or(Profile::None)
                .with_mark(self.decimal.unwrap_or_default()),
            name,
        });
        let (duplicates, nulls) = (Duplicates::All, Nulls::Skip);
        let words = self.nulls.as_deref().map(arguments::words);
        let words = words.as_deref().map_or_else(NullWords::default, NullWords::of);
        Ok(Some(KeySpec { columns: columns.collect(), duplicates, nulls, words, allow_unreadable: true }))
    }

    /// Baskets have no columns.
    fn baskets(&self) -> Result<Value> {
        if !self.key.is_empty() || !self.columns.is_empty() {
            return Err(Error::Input(format!(
                "{}: baskets have no columns; omit --key and --columns",
                self.file.display()
            )));
        }
        let items = read_lines(&self.file, Between::Blanks, &self.reading.options())?;
        let held: usize = (0..items.len()).map(|item| items.rows_of(item).len()).sum();
        print(format_args!("{}: FIMI .dat, items with blanks between them", self.file.display()))?;
        print(format_args!(
            "{} (a blank line is an empty one), {}, {} in all",
            counted(items.rows() as u64, "basket"),
            counted(items.len() as u64, "distinct item"),
            count(held as u64)
        ))?;
        Ok(json!({
            "file": self.file.display().to_string(),
            "form": { "name": "FIMI .dat" },
            "rows": items.rows(),
            "items": items.len(),
        }))
    }
}

fn show(looked: &Looked, key: Option<&KeySpec>, with_values: bool) -> Result<()> {
    print(format_args!("{}: {}", looked.source, form(&looked.form)))?;
    let all = looked.columns.len() + looked.left_out;
    let part = if all < looked.width { " looked at" } else { "" };
    print(format_args!("{}, {}{part}", counted(looked.rows as u64, "row"), counted(all as u64, "column")))?;
    if looked.header_is_data {
        print("The header looks like data. If the first line is a row, add --no-header.")?;
    }
    if looked.rows == 0 {
        print("The table has a header, but no rows.")?;
    }
    print("")?;
    let header = ["column", "type", "empty", "distinct", "length", "mostly like", "read by"].map(str::to_owned);
    let lines: Vec<_> = std::iter::once(header).chain(looked.columns.iter().map(line)).collect();
    let width = |place: usize| lines.iter().map(|line| line[place].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    for line in &lines {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        print(cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    if looked.left_out > 0 {
        print(format_args!(
            "... and {}: --columns A,B looks at those",
            counted(looked.left_out as u64, "more column")
        ))?;
    }
    match (&looked.key, key) {
        (Some(facts), Some(spec)) => show_key(facts, spec, with_values),
        _ => print("\nAdd --key A,B to see the keys of the rows, and what a peer would learn."),
    }
}

fn show_key(facts: &KeyFacts, spec: &KeySpec, with_values: bool) -> Result<()> {
    let columns = spec.columns.iter().map(|column| {
        if column.name == column.header {
            format!("{} ({})", column.name, column.profile)
        } else {
            format!("{} = {} ({})", column.name, column.header, column.profile)
        }
    });
    print(format_args!("\nKey: {}", columns.collect::<Vec<_>>().join(", ")))?;
    let counts = facts.counts;
    print(format_args!(
        "{} = {} without a key + {} unreadable + {} with a key seen before + {}",
        counted(counts.read as u64, "row"),
        count(counts.nulls as u64),
        count(counts.unreadable as u64),
        count(counts.duplicates as u64),
        counted(counts.items as u64, "distinct key")
    ))?;
    if let Some(place) = &facts.repeated {
        print(format_args!("The first repeated key is in {place}."))?;
    }
    if with_values && !facts.first.is_empty() {
        print("The first keys, as compared (shown only here):")?;
        for (place, parts) in &facts.first {
            let parts: Vec<_> = parts.iter().map(|part| printable(part)).collect();
            print(format_args!("  {place}: {}", parts.join(" | ")))?;
        }
    }
    if with_values && !facts.unreadable.is_empty() {
        print("The first unreadable values:")?;
        for (place, header, value) in &facts.unreadable {
            print(format_args!("  {place}, {header}: \"{}\"", printable(value)))?;
        }
    }
    if with_values {
        facts.frequent.iter().try_for_each(show_frequent)?;
    }
    for warning in &facts.warnings {
        let text = if with_values { warning.text_for_own_user() } else { warning.text_without_values() };
        tracing::warn!("{text}");
    }
    print(format_args!("\n{}", seen(facts)))
}

/// The most frequent values of a key column, with what they may stand for.
fn show_frequent(frequent: &FrequentValues) -> Result<()> {
    if frequent.values.is_empty() {
        return Ok(());
    }
    let least = if frequent.exact { "" } else { "at least " };
    print(format_args!("The most frequent values of `{}`:", printable(&frequent.header)))?;
    for (value, rows, mark) in &frequent.values {
        let mark = match mark {
            Some(Mark::Null) => ", a null word (nulls)",
            Some(Mark::Doubtful) => ", a placeholder? If it stands for no value, list it in nulls",
            None => "",
        };
        print(format_args!("  \"{}\" in {least}{}{mark}", printable(value), counted(*rows as u64, "row")))?;
    }
    Ok(())
}

/// Describes what a peer would learn of the file, whatever the job.
fn seen(facts: &KeyFacts) -> String {
    format!(
        "A peer learns that this file has {}, and nothing else unless the job says so. Parties that learn rows \
         can learn the common ones, and the columns that you give. (limits.pad_to hides the number; with \
         duplicates = \"multiset\" it is {}.)",
        counted(facts.counts.items as u64, "distinct key"),
        counted((facts.counts.items + facts.counts.duplicates) as u64, "row")
    )
}

/// A value on a terminal: letters of all scripts, and nothing that the terminal would act upon.
fn printable(text: &str) -> String {
    let escape = |c: char| if acts_on_terminal(c) { c.escape_default().to_string() } else { c.to_string() };
    let more = if text.chars().nth(WIDEST).is_some() { "..." } else { "" };
    text.chars().take(WIDEST).map(escape).collect::<String>() + more
}

fn form(form: &FileForm) -> String {
    let packed = form.packed.name().map_or(String::new(), |name| format!(", compressed with {name}"));
    let Some(text) = form.text else {
        let sheet = form.sheet.as_ref().map_or(String::new(), |sheet| format!(", sheet \"{}\"", printable(sheet)));
        return format!("{}{sheet}{packed}", form.name);
    };
    let delimiter = match text.delimiter {
        b',' => "commas".to_owned(),
        b';' => "semicolons".to_owned(),
        b'\t' => "tabs".to_owned(),
        other => format!("`{}`", char::from(other)),
    };
    format!(
        "{} with {delimiter} between values, in {}{}, lines end with {}{packed}",
        form.name,
        text.encoding,
        if text.marked { " with a byte order mark" } else { "" },
        if text.crlf { "CR LF" } else { "LF" }
    )
}

/// A column's line of the table.
fn line(column: &ColumnFacts) -> [String; 7] {
    let lengths = column.lengths.map_or(String::new(), |(shortest, longest)| {
        if shortest == longest { shortest.to_string() } else { format!("{shortest} to {longest}") }
    });
    let distinct = match (column.distinct, column.has_text) {
        (Some(distinct), _) => count(distinct as u64),
        (None, true) => format!("> {}", count(MAX_DISTINCT as u64)),
        (None, false) => "?".into(),
    };
    let shape = column.shape.as_ref().map_or(String::new(), |(shape, rows)| {
        format!("{} ({})", printable(&format!("{shape:?}")), percent(*rows, column.values))
    });
    [
        printable(&column.name),
        column.kind.clone(),
        count(column.empty as u64),
        distinct,
        lengths,
        shape,
        match (column.is_index, column.has_text) {
            (true, _) => "index of pandas: no column".into(),
            (false, true) if column.has_commas => "decimal, with decimal = \",\"".into(),
            (false, true) => read_by(column),
            (false, false) => "no profile: no key".into(),
        },
    ]
}

/// The profiles that fit, and how much the best ones read; and of dates, what those would that do not read all.
fn read_by(column: &ColumnFacts) -> String {
    let share = |profile: &Profile| {
        let read = column.read_by.iter().find(|(known, _)| known == profile).map(|(_, read)| *read);
        read.filter(|read| *read < column.values).map(|read| format!(" ({})", percent(read, column.values)))
    };
    let names = column.fitting.iter().map(|profile| format!("{profile}{}", share(profile).unwrap_or_default()));
    let names: Vec<_> = names.collect();
    names.join(" or ")
}

fn percent(part: usize, all: usize) -> String {
    // Rounded down: what is not all is not 100 %.
    let tenths = part * 1000 / all.max(1);
    if tenths.is_multiple_of(10) { format!("{} %", tenths / 10) } else { format!("{}.{} %", tenths / 10, tenths % 10) }
}

/// Returns the findings in a form for programs. The report holds no value of the table.
fn report(looked: &Looked, key: Option<&KeySpec>) -> Value {
    let text = looked.form.text;
    let columns = looked.columns.iter().map(|column| {
        let (shortest, longest) = column.lengths.unzip();
        let share = |read: usize| read as f64 / column.values as f64;
        json!({
            "name": column.name,
            "type": column.kind,
            "index": column.is_index,
            "empty": column.empty,
            "distinct": column.distinct,
            "shortest": shortest,
            "longest": longest,
            "shape": column.shape.as_ref().map(|(shape, _)| shape),
            "shape_share": column.shape.as_ref().map(|(_, rows)| share(*rows)),
            "profiles": column.fitting.iter().map(Profile::to_string).collect::<Vec<_>>(),
            "read": column.read_by.iter()
                .map(|(profile, read)| (profile.to_string(), share(*read).into()))
                .collect::<serde_json::Map<_, _>>(),
        })
    });
    let mut found = json!({
        "file": looked.source,
        "version": env!("CARGO_PKG_VERSION"),
        "form": {
            "name": looked.form.name,
            "gzip": looked.form.packed == Compression::Gzip,
            "packed": looked.form.packed.name(),
            "sheet": looked.form.sheet.as_deref(),
            "delimiter": text.map(|text| char::from(text.delimiter).to_string()),
            "encoding": text.map(|text| text.encoding.name()),
            "line_end": text.map(|text| if text.crlf { "CR LF" } else { "LF" }),
            "byte_order_mark": text.map(|text| text.marked),
        },
        "rows": looked.rows,
        "columns": columns.collect::<Vec<_>>(),
        "columns_left_out": looked.left_out,
    });
    if let (Some(facts), Some(spec)) = (&looked.key, key) {
        let columns = spec.columns.iter().map(|column| {
            json!({
                "name": column.name, "header": column.header, "profile": column.profile.to_string(),
            })
        });
        found["key"] = json!({ "columns": columns.collect::<Vec<_>>(), "rows": facts.counts, "seen": seen(facts) });
    }
    found
}
