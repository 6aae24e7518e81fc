//! A job file as it grows, with a word beside each line.

use std::fmt::Write;

use toml::Value;

/// A line of the file, or one that is left to be filled in.
struct Line {
    /// The key, with the table that it is in before it.
    key: Vec<String>,
    value: LineValue,
    means: String,
}

/// Value of a line.
enum LineValue {
    /// Value that the file has.
    Set(Value),
    /// None yet, but one of this shape, without which no party can run.
    Missing(String),
    /// None, but one of this shape may be added.
    Optional(String),
}

/// A job file that is being written.
#[derive(Default)]
pub struct JobDraft {
    lines: Vec<Line>,
    /// Comments on the tables of the job file.
    tables: Vec<(Vec<String>, &'static str)>,
}

/// A key with dots.
pub fn key(dotted: &str) -> Vec<String> {
    dotted.split('.').map(str::to_owned).collect()
}

impl JobDraft {
    /// Sets a key, in place of what it was set to.
    pub fn set(&mut self, key: Vec<String>, value: impl Into<Value>, means: &str) {
        let value = LineValue::Set(value.into());
        match self.lines.iter_mut().find(|line| line.key == key) {
            Some(line) => line.value = value,
            None => self.lines.push(Line { key, value, means: means.to_owned() }),
        }
    }

    /// Whether a key is set that begins so.
    pub fn has(&self, dotted: &str) -> bool {
        self.lines.iter().any(|line| line.is_set() && line.key.join(".").starts_with(dotted))
    }

    /// Leaves a key to be filled in, by a value of this shape.
    pub fn leave(&mut self, key: Vec<String>, shape: &str, means: &str) {
        self.lines.push(Line { key, value: LineValue::Missing(shape.to_owned()), means: means.to_owned() });
    }

    /// Shows how a key would be set that not every job file needs, unless it is set.
    pub fn offer(&mut self, key: Vec<String>, shape: &str, means: &str) {
        if !self.lines.iter().any(|line| line.key.starts_with(&key)) {
            self.lines.push(Line { key, value: LineValue::Optional(shape.to_owned()), means: means.to_owned() });
        }
    }

    /// Returns the keys that were left to be filled in, with dots.
    pub fn missing(&self) -> Vec<String> {
        let left = self.lines.iter().filter(|line| matches!(line.value, LineValue::Missing(_)));
        left.map(|line| line.key.join(".")).collect()
    }

    /// Says something of a table, which is there even if it is empty.
    pub fn table(&mut self, name: Vec<String>, means: &'static str) {
        self.tables.push((name, means));
    }

    /// The text of the file: keys of no table first.
    pub fn text(&self) -> String {
        let mut text = String::from(
            "# Written by `tacita init`. It holds no secret, and is the same at all parties.\n\
             # `tacita plan` says what the job costs and who will learn what; try it with `tacita simulate`.\n",
        );
        let mut tables: Vec<(&[String], &str)> = vec![(&[], "")];
        let said = self.tables.iter().map(|(name, means)| (name.as_slice(), *means));
        for table in self.lines.iter().map(|line| (line.table(), "")).chain(said) {
            match tables.iter_mut().find(|(known, _)| *known == table.0) {
                Some(known) if known.1.is_empty() => known.1 = table.1,
                Some(_) => (),
                None => tables.push(table),
            }
        }
        // Parties come last: a reader looks for them there.
        tables.sort_by_key(|(name, _)| name.first().is_some_and(|first| first == "parties"));
        for (table, means) in tables {
            let header = if table.is_empty() {
                String::new()
            } else {
                format!("[{}]", table.iter().map(|part| bare(part)).collect::<Vec<_>>().join("."))
            };
            let beside = if means.is_empty() { String::new() } else { format!("  # {means}") };
            // Writing to a text does not fail.
            let _ = write!(text, "\n{}", if header.is_empty() { header } else { format!("{header}{beside}\n") });
            let lines: Vec<_> = self.lines.iter().filter(|line| line.table() == table).collect();
            let widest = |length: fn(&Line) -> usize| lines.iter().map(|line| length(line)).max().unwrap_or(0);
            let (keys, values) =
                (widest(|line| line.name().chars().count()), widest(|line| line.shown().chars().count()).min(40));
            for line in lines {
                let written = format!("{:keys$} = {:values$}  {}", line.name(), line.shown(), line.comment());
                let _ = writeln!(text, "{}", written.trim_end());
            }
        }
        text
    }
}

impl Line {
    fn table(&self) -> &[String] {
        self.key.split_last().map_or(&[], |(_, table)| table)
    }

    /// Returns its key, behind a number sign if it is left to be filled in.
    fn name(&self) -> String {
        let name = self.key.last().map_or(String::new(), |name| bare(name));
        if self.is_set() { name } else { format!("# {name}") }
    }

    fn comment(&self) -> String {
        if self.means.is_empty() { String::new() } else { format!("# {}", self.means) }
    }

    fn shown(&self) -> String {
        match &self.value {
            LineValue::Set(value) => value.to_string(),
            LineValue::Missing(shape) | LineValue::Optional(shape) => shape.clone(),
        }
    }

    fn is_set(&self) -> bool {
        matches!(self.value, LineValue::Set(_))
    }
}

/// A part of a key, in quotes if need be.
fn bare(part: &str) -> String {
    let plain = !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if plain { part.to_owned() } else { Value::from(part).to_string() }
}
