//! Outcome of a run, for one party.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use tacita_core::{Error, Result};
use tacita_node::agreement::{Answer, JobSpec};
use tacita_node::base::files::write_whole_private;
use tacita_node::base::text::json;
use tacita_node::jobs::aggregate::results::{ResultFormat, RoundResults};
use tacita_node::jobs::numbers::check_replaceable;
use tacita_node::run::report::RunReport;
use tacita_node::run::write::beside;
use tacita_node::table::columns::unmarked;
use tacita_node::table::output::{self, RowSource};
use tacita_node::table::{Selection, Table};
use zeroize::Zeroizing;

use crate::arrow::ArrowTable;
use crate::errors::raise;

/// Name of the main table of a result.
pub const MAIN: &str = "result";

/// Name of a round's histogram, which stands beside it.
pub const HISTOGRAM: &str = "histogram";

/// The first label, the step and the name.
type Labels = Option<(i64, i64, Option<String>)>;

/// A party's result, and its report.
#[pyclass(frozen, module = "tacita._tacita")]
pub struct Outcome {
    job: JobSpec,
    line: Option<String>,
    report: Value,
    /// Without a lock: writing them may warn, and whoever hears of that, in Python, may ask for them.
    tables: Vec<(&'static str, Box<dyn RowSource>)>,
    share: Option<Zeroizing<String>>,
    /// A round's result, which can be written as a list, too.
    round: Option<RoundResults>,
}

impl Outcome {
    /// Creates the outcome from an answer and its report.
    pub fn new(job: &JobSpec, report: &RunReport, answer: Answer) -> Result<Outcome> {
        let report = json(serde_json::to_value(report))?;
        Outcome::with(job, report, answer)
    }

    /// Creates the outcome from an answer, with a report that is to have its result.
    pub fn with(job: &JobSpec, mut report: Value, answer: Answer) -> Result<Outcome> {
        let whole = |table: Table| -> Box<dyn RowSource> { Box::new(Selection::all(&table).of_others()) };
        let mut share = None;
        let (json, line, tables) = match answer {
            Answer::Nothing => (Value::Null, None, Vec::new()),
            Answer::Rows(rows) => {
                let count = rows.count()?;
                (json!({ "rows": count }), Some(format!("rows {count}")), vec![(MAIN, rows)])
            }
            Answer::Numbers { json, line, table } => (json, Some(line), vec![(MAIN, whole(table()?))]),
            Answer::Share { numbers, file } => {
                share = Some(file);
                (json!({ "shares": numbers }), Some(format!("shares {numbers}")), Vec::new())
            }
            Answer::Tables { json, line, main, beside } => {
                let mut tables = vec![(MAIN, whole(main()?))];
                for (name, table) in beside {
                    tables.push((name, whole(table()?)));
                }
                (json, Some(line), tables)
            }
        };
        report["result"] = json;
        Ok(Outcome { job: job.clone(), line, report, tables, share, round: None })
    }

    /// Creates the outcome from tables that were written by another process, by name, and the line that it printed.
    pub fn read(job: &JobSpec, report: Value, line: Option<String>, tables: Vec<(&'static str, Table)>) -> Outcome {
        let whole = |table: Table| -> Box<dyn RowSource> { Box::new(Selection::all(&table).of_others()) };
        let tables = tables.into_iter().map(|(name, table)| (name, whole(table))).collect();
        Outcome { job: job.clone(), line, report, tables, share: None, round: None }
    }

    /// Creates the outcome of a round.
    pub fn of_round(job: &JobSpec, report: Value, results: RoundResults) -> Result<Outcome> {
        let mut tables = vec![(MAIN, results.table()?)];
        tables.extend(results.histogram_table()?.map(|table| (HISTOGRAM, table)));
        let outcome = Outcome::read(job, report, Some(results.line()), tables);
        Ok(Outcome { round: Some(results), ..outcome })
    }

    /// The same, whose report says what the party was warned of.
    pub fn warned(mut self, warnings: Vec<String>) -> Outcome {
        self.report["warnings"] = warnings.into();
        self
    }

    /// Report on the run.
    pub fn json(&self) -> Value {
        self.report.clone()
    }

    fn make(&self, name: &str) -> Result<Option<ArrowTable>> {
        let Some((_, rows)) = self.tables.iter().find(|(own, _)| *own == name) else { return Ok(None) };
        Ok(Some(ArrowTable::new(unmarked(rows.schema()), rows.batches().collect::<Result<_>>()?)))
    }

    fn write(&self, path: &Path) -> Result<()> {
        if let Some(share) = &self.share {
            check_replaceable(path)?;
            return write_whole_private(path, share.as_bytes());
        }
        if let Some(results) = &self.round
            && !matches!(ResultFormat::of(path)?, ResultFormat::Table(_))
        {
            return results.write(path, None);
        }
        let Some(((_, main), others)) = self.tables.split_first() else {
            return Err(Error::Input(format!(
                "{}: there is nothing to write: this party learns nothing",
                path.display()
            )));
        };
        let places = others.iter().map(|(what, _)| match *what {
            // Whatever the result is written as, the command writes its histogram as CSV.
            HISTOGRAM => Ok(path
                .file_stem()
                .map(|stem| path.with_file_name(format!("{}.{HISTOGRAM}.csv", stem.to_string_lossy())))),
            what => beside(self.job.job.name(), path, what),
        });
        let places: Vec<_> = places.collect::<Result<_>>()?;
        let mut staged = Vec::new();
        for ((_, rows), path) in others.iter().zip(&places) {
            // Beside standard output there is no place.
            staged.extend(path.as_ref().map(|path| output::stage(&**rows, path, None)).transpose()?);
        }
        staged.push(output::stage(&**main, path, None)?);
        staged.into_iter().try_for_each(|file| file.place())
    }
}

#[pymethods]
impl Outcome {
    #[getter]
    fn line(&self) -> Option<&str> {
        self.line.as_deref()
    }

    #[getter]
    fn report(&self) -> String {
        self.report.to_string()
    }

    #[getter]
    fn table_names(&self) -> Vec<&'static str> {
        self.tables.iter().map(|(name, _)| *name).collect()
    }

    /// Returns the own row from which each row of the result was made, as numbers of 4 bytes. Also returns the number
    /// of own rows and, for labels that no column holds, the first, the step and the name.
    fn positions<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyBytes>, usize, Labels)> {
        let positions = py.detach(|| self.tables.first().and_then(|(_, rows)| rows.positions()))?;
        let bytes: Vec<u8> = positions.rows.iter().flat_map(|row| row.to_ne_bytes()).collect();
        let labels = positions.labels.map(|labels| (labels.start, labels.step, labels.name));
        Some((PyBytes::new(py, &bytes), positions.of, labels))
    }

    /// Number of leading columns of the result that hold nothing of other parties.
    #[getter]
    fn own_columns(&self) -> usize {
        self.tables.first().map_or(0, |(_, rows)| rows.own_columns())
    }

    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Option<ArrowTable>> {
        py.detach(|| self.make(name)).map_err(|error| raise(py, error))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.write(&path)).map_err(|error| raise(py, error))
    }
}
