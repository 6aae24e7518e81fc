//! Settings of a `crosstab` job, with defaults filled in.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use tacita_core::protocol::crosstab::MAX_CELLS;
use tacita_core::protocol::dot::Integers;
use tacita_core::{Error, Result};

use crate::agreement::words::{bad, check_distinct, maybe_from_word, unknown};
use crate::agreement::{JobWith, Names};
use crate::jobs::aligned::{self, RowAlignment};
use crate::table::numbers::MAX_DECIMALS;

/// The least count of an open cell where a job does not say.
pub const USUAL_MIN_CELL: u64 = 5;

/// Length of a measure's numbers in bits where a job does not say.
const USUAL_BITS: u32 = 32;

/// The most bins of a column, and the most categories that terms list for one.
const MAX_CATEGORIES: usize = 1000;

/// Columns of the result besides those of categories.
pub(super) const COUNT: &str = "count";
pub(super) const SUM: &str = "sum";
pub(super) const MEAN: &str = "mean";

/// Job that asks: how many rows are in each category here and there?
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Crosstab {
    /// Columns whose categories are the rows of the table.
    pub rows: Option<Names>,
    /// Columns whose categories are the columns of the table.
    pub columns: Option<Names>,
    /// Number that each cell has.
    #[serde(deserialize_with = "maybe_from_word")]
    pub measure: Option<CellMeasure>,
    /// The columns by which rows are aligned; absent: by position.
    pub row_id: Option<Names>,
    /// Bounds of bins into which the numbers of a column are put, by column.
    pub bins: BTreeMap<String, Vec<f64>>,
    /// The categories of a column, where they are agreed on, by column.
    pub categories: BTreeMap<String, Vec<String>>,
    /// Length of the measure's numbers; see [`CrosstabJob::integers`].
    pub bits: Option<u32>,
    /// Whether the measure has negative numbers; yes if nothing is said.
    pub signed: Option<bool>,
}

/// A `crosstab` job with its own keys.
pub type CrosstabJob<'a> = JobWith<'a, Crosstab>;

/// Number that each cell has. Written as in the job file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CellMeasure {
    /// The number of rows.
    #[default]
    Count,
    /// The number of rows, and the sum of a column over them.
    Sum(String),
    /// Both of these, and the mean.
    Mean(String),
}

impl CellMeasure {
    /// Returns the column of which numbers are made.
    pub fn column(&self) -> Option<&str> {
        match self {
            CellMeasure::Count => None,
            CellMeasure::Sum(column) | CellMeasure::Mean(column) => Some(column),
        }
    }
}

impl fmt::Display for CellMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellMeasure::Count => f.write_str(COUNT),
            CellMeasure::Sum(column) => write!(f, "{SUM}:{column}"),
            CellMeasure::Mean(column) => write!(f, "{MEAN}:{column}"),
        }
    }
}

impl FromStr for CellMeasure {
    type Err = Error;

    fn from_str(word: &str) -> Result<CellMeasure> {
        match word.split_once(':') {
            None if word == COUNT => Ok(CellMeasure::Count),
            Some((SUM, column)) if !column.is_empty() => Ok(CellMeasure::Sum(column.into())),
            Some((MEAN, column)) if !column.is_empty() => Ok(CellMeasure::Mean(column.into())),
            _ => unknown("measure", word, "\"count\", \"sum:COLUMN\" or \"mean:COLUMN\""),
        }
    }
}

impl CrosstabJob<'_> {
    /// Returns the number that each cell has.
    pub fn measure(&self) -> CellMeasure {
        self.own.measure.clone().unwrap_or_default()
    }

    /// Returns the columns of categories by logical name: those of the table's rows, then those of its columns.
    pub fn by(&self) -> Vec<String> {
        [&self.own.rows, &self.own.columns].into_iter().flatten().flat_map(|names| names.all().to_vec()).collect()
    }

    /// Returns how many of them are those of the table's rows.
    pub fn row_columns(&self) -> usize {
        self.own.rows.as_ref().map_or(0, |names| names.all().len())
    }

    /// Returns all columns that the job uses of the party that has them: of categories, then the measure's.
    pub fn used(&self) -> Vec<String> {
        self.by().into_iter().chain(self.measure().column().map(str::to_owned)).collect()
    }

    /// Returns the least count that a cell needs to be open.
    pub fn min_cell(&self) -> u64 {
        self.limits.min_cell.unwrap_or(USUAL_MIN_CELL)
    }

    /// Returns the kind of integers that the measure's numbers are.
    pub fn integers(&self) -> Result<Integers> {
        let (bits, signed) = (self.own.bits.unwrap_or(USUAL_BITS), self.own.signed.unwrap_or(true));
        if signed && bits == 1 {
            return bad("bits = 1: a number with a sign takes 2 or more; for zeros and ones, set signed = false");
        }
        Integers::new(bits, signed)
    }

    /// The way in which rows are aligned by `row_id`, if they are.
    pub fn alignment(&self) -> Option<RowAlignment> {
        aligned::spec::alignment(self, self.own.row_id.as_ref())
    }

    /// Place of a category of a column in the result: as the terms list it, or by its text.
    pub(super) fn order(&self, column: &str, label: &str) -> (usize, String) {
        let listed = self.own.categories.get(column).and_then(|all| all.iter().position(|one| one == label));
        let start = |bounds: &Vec<f64>| match label.strip_prefix('[').and_then(|rest| rest.split_once(',')) {
            Some((start, _)) => bounds.iter().position(|bound| bound.to_string() == start).map_or(0, |at| at + 1),
            None if label.starts_with(">=") => bounds.len(),
            None => 0,
        };
        (listed.or(self.own.bins.get(column).map(start)).unwrap_or(0), label.to_owned())
    }

    /// Checks the job's own keys.
    pub(super) fn check_own(&self) -> Result<()> {
        for (key, names) in [("rows", &self.own.rows), ("columns", &self.own.columns)] {
            match names {
                Some(names) if !names.all().is_empty() => (),
                _ => return bad(format!("{key}: name the columns whose categories are the {key} of the table")),
            }
        }
        let by = self.by();
        check_distinct("rows and columns", &by)?;
        let ids = self.own.row_id.as_ref().map_or(&[][..], |names| names.all());
        let measure = self.measure();
        if let Some(both) = by.iter().find(|name| ids.contains(name) || measure.column() == Some(name.as_str())) {
            return bad(format!("rows and columns: \"{}\" is in row_id or measure too", both.escape_debug()));
        }
        if measure.column().is_some_and(|column| ids.iter().any(|id| id == column)) {
            return bad("measure: it names a column of row_id");
        }
        if let Some(name) = by.iter().find(|name| [COUNT, SUM, MEAN].contains(&name.as_str())) {
            return bad(format!(
                "rows and columns: \"{name}\" is a column of the result: use another name, and map it in [parties.X] columns"
            ));
        }
        if measure.column().is_none() && (self.own.bits.is_some() || self.own.signed.is_some() || self.scale.is_some())
        {
            return bad("bits, signed and scale are of a measure, as \"sum:COLUMN\": leave them out");
        }
        if self.scale.is_some_and(|scale| scale > MAX_DECIMALS) {
            return bad(format!("scale: use 0 to {MAX_DECIMALS}"));
        }
        self.integers()?;
        self.check_bins(&by)?;
        self.check_categories(&by)
    }

    fn check_bins(&self, by: &[String]) -> Result<()> {
        for (column, bounds) in &self.own.bins {
            let ascending = bounds.windows(2).all(|pair| pair[0] < pair[1]);
            let good = (1..MAX_CATEGORIES).contains(&bounds.len()) && bounds.iter().all(|bound| bound.is_finite());
            if !ascending || !good {
                return bad(format!("bins.{}: use ascending bounds, as [18, 40, 65]", column.escape_debug()));
            }
            if !by.contains(column) {
                return bad(format!("bins.{}: it is not in rows or columns", column.escape_debug()));
            }
        }
        Ok(())
    }

    fn check_categories(&self, by: &[String]) -> Result<()> {
        let all = self.own.categories.values().try_fold(1usize, |all, labels| all.checked_mul(labels.len()));
        if all.is_none_or(|all| all > MAX_CELLS) {
            return bad(format!("categories: they make more than {MAX_CELLS} cells: list fewer"));
        }
        for (column, labels) in &self.own.categories {
            let (shown, key) = (column.escape_debug(), "categories");
            if !by.contains(column) {
                return bad(format!("{key}.{shown}: it is not in rows or columns"));
            }
            if self.own.bins.contains_key(column) {
                return bad(format!("{key}.{shown}: the column has bins: leave one of the two out"));
            }
            let mut sorted: Vec<&String> = labels.iter().collect();
            sorted.sort_unstable();
            let twice = sorted.windows(2).any(|pair| pair[0] == pair[1]);
            if labels.is_empty() || labels.len() > MAX_CATEGORIES || twice || labels.iter().any(|one| one != one.trim())
            {
                return bad(format!(
                    "{key}.{shown}: list 1 to {MAX_CATEGORIES} categories, each once, without blanks around"
                ));
            }
        }
        Ok(())
    }
}
