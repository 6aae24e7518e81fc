//! Findings on a table as text: what `tacita inspect` prints.

use super::{ColumnFacts, FrequentValues, KeyFacts, Looked, MAX_DISTINCT};
use crate::base::text::{acts_on_terminal, count, counted};
use crate::table::read::FileForm;
use crate::table::{KeySpec, Mark, Profile};

/// Advice within the text. How it is put depends on what the user calls: a command or a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// The first line may be a row.
    HeaderIsData,
    /// Other columns than the first ones can be examined.
    NameColumns,
    /// Keys can be examined.
    NameKey,
}

/// No value is shown longer, in characters.
const WIDEST: usize = 60;

/// Returns the findings as lines, values of the table only `with_values`. `advise` puts advice into words.
pub(super) fn lines(
    looked: &Looked,
    key: Option<&KeySpec>,
    with_values: bool,
    advise: impl Fn(Advice) -> &'static str,
) -> Vec<String> {
    let mut text = vec![format!("{}: {}", looked.source, form(&looked.form))];
    let all = looked.columns.len() + looked.left_out;
    let part = if all < looked.width { " looked at" } else { "" };
    text.push(format!("{}, {}{part}", counted(looked.rows as u64, "row"), counted(all as u64, "column")));
    if looked.header_is_data {
        text.push(format!("The header looks like data. {}", advise(Advice::HeaderIsData)));
    }
    if looked.rows == 0 {
        text.push("The table has a header, but no rows.".into());
    }
    text.push(String::new());
    let header = ["column", "type", "empty", "distinct", "length", "mostly like", "read by"].map(str::to_owned);
    let lines: Vec<_> = std::iter::once(header).chain(looked.columns.iter().map(line)).collect();
    let width = |place: usize| lines.iter().map(|line| line[place].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    for line in &lines {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push(cells.collect::<Vec<_>>().join("  ").trim_end().to_owned());
    }
    if looked.left_out > 0 {
        let more = counted(looked.left_out as u64, "more column");
        text.push(format!("... and {more}: {}", advise(Advice::NameColumns)));
    }
    match (&looked.key, key) {
        (Some(facts), Some(spec)) => add_key(facts, spec, with_values, &mut text),
        _ => text
            .push(format!("\n{} to see the keys of the rows, and what a peer would learn.", advise(Advice::NameKey))),
    }
    text
}

fn add_key(facts: &KeyFacts, spec: &KeySpec, with_values: bool, text: &mut Vec<String>) {
    let columns = spec.columns.iter().map(|column| {
        if column.name == column.header {
            format!("{} ({})", column.name, column.profile)
        } else {
            format!("{} = {} ({})", column.name, column.header, column.profile)
        }
    });
    text.push(format!("\nKey: {}", columns.collect::<Vec<_>>().join(", ")));
    let counts = facts.counts;
    text.push(format!(
        "{} = {} without a key + {} unreadable + {} with a key seen before + {}",
        counted(counts.read as u64, "row"),
        count(counts.nulls as u64),
        count(counts.unreadable as u64),
        count(counts.duplicates as u64),
        counted(counts.items as u64, "distinct key")
    ));
    text.extend(facts.repeated.as_ref().map(|place| format!("The first repeated key is in {place}.")));
    if !with_values {
        return;
    }
    if !facts.first.is_empty() {
        text.push("The first keys, as compared (shown only here):".into());
        text.extend(facts.first.iter().map(|(place, parts)| {
            let parts: Vec<_> = parts.iter().map(|part| printable(part)).collect();
            format!("  {place}: {}", parts.join(" | "))
        }));
    }
    if !facts.unreadable.is_empty() {
        text.push("The first unreadable values:".into());
        let line = |(place, header, value): &(String, String, String)| {
            format!("  {place}, {header}: \"{}\"", printable(value))
        };
        text.extend(facts.unreadable.iter().map(line));
    }
    facts.frequent.iter().for_each(|frequent| add_frequent(frequent, text));
}

/// Adds the most frequent values of a key column, with what they may stand for.
fn add_frequent(frequent: &FrequentValues, text: &mut Vec<String>) {
    if frequent.values.is_empty() {
        return;
    }
    let least = if frequent.exact { "" } else { "at least " };
    text.push(format!("The most frequent values of `{}`:", printable(&frequent.header)));
    for (value, rows, mark) in &frequent.values {
        let mark = match mark {
            Some(Mark::Null) => ", a null word (nulls)",
            Some(Mark::Doubtful) => ", a placeholder? If it stands for no value, list it in nulls",
            None => "",
        };
        text.push(format!("  \"{}\" in {least}{}{mark}", printable(value), counted(*rows as u64, "row")));
    }
}

/// Describes what a peer would learn of the file, whatever the job.
pub(super) fn seen(facts: &KeyFacts) -> String {
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
