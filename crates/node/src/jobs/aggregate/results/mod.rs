//! Results: the keys that passed, with how many reports they have, as tables and as lists.

mod format;
mod lists;
mod misp;
mod stix;

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use tacita_core::{Error, Result};

use super::keys::KeyPacking;
use super::reports::Resolver;
use super::spec::{AggregateJob, Revealed};
use super::{Domain, Histogram, Measure, Moment};
use crate::agreement::Terms;
use crate::agreement::{Answer, Deferred};
use crate::base::files::Existing;
use crate::base::text::counted;
use crate::table::numbers::to_column;
use crate::table::{Profile, Selection, Table, Warning, output, schema_of};
use crate::watch::warn_own_user;

pub use format::{ListFormat, ResultFormat};

/// Separator between the values of a key.
const BETWEEN: &str = "|";

/// The column of hashes, where keys are hashed.
const HASH: &str = "hash";

/// A key that passed, as the database gives it.
#[derive(Clone, PartialEq, Eq)]
pub struct ResultRow {
    /// The key as it travels; see [`KeyPacking`].
    pub key: Vec<u8>,
    /// Number of reports with this key.
    pub count: u64,
    /// The places of their values; empty where they are not revealed.
    pub values: Vec<u32>,
    /// Sum of the values with noise, in a job that reveals it instead of values.
    pub noisy_sum: Option<i128>,
}

/// Keys are not shown.
impl std::fmt::Debug for ResultRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultRow").field("count", &self.count).finish_non_exhaustive()
    }
}

/// Results that a round has revealed.
pub struct RoundResults {
    /// The job's id, and the round's.
    job: String,
    round: String,
    /// Fingerprint of the terms.
    agreement: String,
    /// Moment when the round was closed.
    closed: Moment,
    /// Names of the key's columns, and how they were read.
    columns: Vec<String>,
    profiles: Vec<Profile>,
    revealed: Revealed,
    domain: Domain,
    /// Measure of a row that its number is; with noise, the one that the condition compares.
    measure: Measure,
    noise: bool,
    rows: Vec<Read>,
    unreadable: u64,
    histogram: Option<Histogram>,
}

/// A row whose key was read.
struct Read {
    texts: Vec<String>,
    count: u64,
    values: Vec<u32>,
    noisy_sum: Option<i128>,
}

impl RoundResults {
    /// The results of a round that was `closed` then, sorted by key. Hashed keys that `resolver` knows get their texts
    /// beside the hash.
    ///
    /// Keys that are none of the job's are left out, and counted: whoever reports may report any bytes.
    pub fn new(
        job: &AggregateJob<'_>,
        round: &str,
        closed: Moment,
        rows: Vec<ResultRow>,
        histogram: Option<Histogram>,
        resolver: Option<&Resolver>,
    ) -> RoundResults {
        let packing = KeyPacking::of(job);
        let key = job.key.as_ref();
        let mut columns: Vec<String> = key.map_or(Vec::new(), |key| key.columns.clone());
        let mut profiles = key.map_or(Vec::new(), |key| key.profiles());
        if packing.is_hashed() {
            profiles.insert(0, Profile::None);
            match resolver {
                Some(_) => columns.insert(0, HASH.into()),
                None => (columns, profiles) = (vec![HASH.into()], vec![Profile::None]),
            }
        }
        let given = rows.len() as u64;
        let read = |row: ResultRow| {
            let mut texts = packing.unpack(&row.key)?;
            if packing.is_hashed() && resolver.is_some() {
                match resolver.and_then(|known| known.texts(&row.key)) {
                    Some(known) => texts.extend(known.iter().cloned()),
                    None => texts.resize(columns.len(), String::new()),
                }
            }
            let mut values = row.values;
            values.sort_unstable();
            Some(Read { texts, count: row.count, values, noisy_sum: row.noisy_sum })
        };
        let mut rows: Vec<Read> = rows.into_iter().filter_map(read).collect();
        rows.sort_by(|one, other| one.texts.cmp(&other.texts));
        RoundResults {
            job: job.id.clone(),
            round: round.to_owned(),
            agreement: Terms::of(job.spec).agreement(),
            closed,
            unreadable: given - rows.len() as u64,
            columns,
            profiles,
            revealed: job.revealed(),
            domain: job.own.round.values.clone(),
            measure: job.round_noise().ok().flatten().map_or(Measure::Count, |noise| noise.measure),
            noise: job.noise.is_some(),
            rows,
            histogram,
        }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of keys left out because they are none of the job's keys.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Returns the results as they stand in a report.
    pub fn json(&self) -> Value {
        json!({ "keys": self.len() })
    }

    /// Returns the results as they are printed.
    pub fn line(&self) -> String {
        format!("keys {}", self.len())
    }

    /// The keys as a table: the key's columns, `count` (with noise it may be `distinct`), then `values` and `sum` where
    /// they are revealed.
    pub fn table(&self) -> Result<Table> {
        let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for (place, name) in self.columns.iter().enumerate() {
            let texts = self.rows.iter().map(|row| row.texts.get(place).map_or("", String::as_str));
            fields.push(Field::new(name, DataType::Utf8, false));
            columns.push(Arc::new(texts.map(Some).collect::<StringArray>()));
        }
        let numbers = |name: &str, of: &dyn Fn(&Read) -> String| {
            to_column(&free(name, &self.columns), &self.rows.iter().map(of).collect::<Vec<_>>())
        };
        let (field, column) = numbers(&self.measure.to_string(), &|row| row.count.to_string());
        fields.push(field);
        columns.push(column);
        if self.revealed.values && self.domain.has_values() {
            if !self.noise {
                let joined = self.rows.iter().map(|row| Some(self.values(row).join(BETWEEN)));
                fields.push(Field::new(free("values", &self.columns), DataType::Utf8, false));
                columns.push(Arc::new(joined.collect::<StringArray>()));
            }
            if self.domain.is_numeric() {
                let (field, column) = numbers("sum", &|row| self.sum(row).to_string());
                fields.push(field);
                columns.push(column);
            }
        }
        let schema = schema_of(fields);
        let batch = RecordBatch::try_new(schema.clone(), columns)
            .map_err(|error| Error::Internal(format!("results do not make a table: {error}")))?;
        Table::new("result", schema, vec![batch])
    }

    /// Returns the histogram of the round's rows by number of reports and of reporters, if it is revealed: `measure`,
    /// `size`, `rows`.
    pub fn histogram_table(&self) -> Result<Option<Table>> {
        let Some(histogram) = &self.histogram else { return Ok(None) };
        let measure = self.measure.to_string();
        let mut lines: Vec<(&str, String, String)> = Vec::new();
        for (of, sizes) in [("count", &histogram.count), ("distinct", &histogram.distinct)] {
            lines.extend(sizes.iter().map(|(size, rows)| (of, size.to_string(), rows.to_string())));
        }
        lines.extend(
            (1_u64..).zip(&histogram.noisy).map(|(size, rows)| (&measure[..], size.to_string(), rows.to_string())),
        );
        let measures: StringArray = lines.iter().map(|(measure, ..)| Some(*measure)).collect();
        let (size, sizes) = to_column("size", &lines.iter().map(|(_, size, _)| size.clone()).collect::<Vec<_>>());
        let (rows, counts) = to_column("rows", &lines.iter().map(|(.., rows)| rows.clone()).collect::<Vec<_>>());
        let schema = schema_of(vec![Field::new("measure", DataType::Utf8, false), size, rows]);
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(measures), sizes, counts])
            .map_err(|error| Error::Internal(format!("a histogram does not make a table: {error}")))?;
        Table::new("result", schema, vec![batch]).map(Some)
    }

    /// Converts the results to an answer. Its table is written by the ending of the file's name, with the histogram
    /// beside it.
    pub fn answer(self) -> Result<Answer> {
        let (json, line) = (self.json(), self.line());
        let table = self.table()?;
        let beside: Vec<(&'static str, Deferred<Table>)> = match self.histogram_table()? {
            Some(histogram) => vec![("histogram", Box::new(move || Ok(histogram)))],
            None => Vec::new(),
        };
        Ok(Answer::Tables { json, line, main: Box::new(move || Ok(table)), beside })
    }

    /// Writes the keys to a file, by its ending unless `format` is given; `-` is standard output. The file appears
    /// whole or not at all.
    ///
    /// Of keys that are left out, this party's user is warned. Errors ([`Error::Input`]): it cannot be written; the
    /// format is a list of something that the keys are not.
    pub fn write(&self, path: &Path, format: Option<ResultFormat>) -> Result<()> {
        self.write_over(path, format, Existing::Replaced)
    }

    /// Writes like [`RoundResults::write`], with the option to keep an existing file.
    pub fn write_over(&self, path: &Path, format: Option<ResultFormat>, existing: Existing) -> Result<()> {
        match format.map_or_else(|| ResultFormat::of(path), Ok)? {
            ResultFormat::Table(format) => {
                output::write_over(&Selection::all(&self.table()?).of_others(), path, Some(format), existing)
            }
            ResultFormat::List(list) => {
                format::write(self, list, path, existing)?;
                self.left_out(path, Some(ResultFormat::List(list)))?.iter().for_each(warn_own_user);
                Ok(())
            }
        }
    }

    /// Says which keys [`RoundResults::write`] leaves out of a file of this form, if any are.
    pub fn left_out(&self, path: &Path, format: Option<ResultFormat>) -> Result<Option<Warning>> {
        match format.map_or_else(|| ResultFormat::of(path), Ok)? {
            ResultFormat::List(ListFormat::Stix) => stix::left_out(self),
            _ => Ok(None),
        }
    }

    fn values(&self, row: &Read) -> Vec<String> {
        row.values.iter().filter_map(|place| self.domain.value(*place)).collect()
    }

    fn sum(&self, row: &Read) -> i128 {
        if let Some(sum) = row.noisy_sum {
            return sum;
        }
        row.values.iter().filter_map(|place| self.domain.number(*place)).map(i128::from).sum()
    }

    /// The keys as single texts, for a list of `what`.
    ///
    /// Errors: the key has several columns.
    fn single(&self, what: &str) -> Result<impl Iterator<Item = (&str, u64)> + Clone> {
        if self.columns.len() > 1 {
            return Err(Error::Input(format!(
                "a {what} holds one column, and these keys have {} columns ({}): write CSV, Parquet, Arrow or JSON",
                self.columns.len(),
                self.columns.join(", ")
            )));
        }
        Ok(self.rows.iter().map(|row| (row.texts.first().map_or("", String::as_str), row.count)))
    }

    /// The number of a row with its noun.
    fn counted(&self, number: u64) -> String {
        let noun = if self.measure == Measure::Distinct { "reporter" } else { "report" };
        let counted = counted(number, noun);
        if self.noise { format!("{counted}, with noise,") } else { counted }
    }

    /// Whether keys were read as addresses.
    fn are_addresses(&self) -> bool {
        self.profiles == [Profile::Ip]
    }
}

/// Numbers only: keys are not shown.
impl std::fmt::Debug for RoundResults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Results").field("round", &self.round).field("keys", &self.len()).finish_non_exhaustive()
    }
}

/// A name that no column of the key has.
fn free(name: &str, columns: &[String]) -> String {
    let mut name = name.to_owned();
    while columns.contains(&name) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests;
