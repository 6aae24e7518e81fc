//! What those who learn get.

use std::fmt;
use std::str::FromStr;

use tacita_core::{Error, Result};

use super::JobSpec;
use super::words::unknown;
use crate::table::numbers::MAX_DECIMALS;

/// What is revealed to the parties in `reveal_to`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reveal {
    /// Their own rows with a key that all have.
    #[default]
    Rows,
    /// How many keys all have.
    Count,
    /// The same, and the sum of this column, of the party that gives it, over the rows with those keys.
    Sum(String),
    /// How many of them are of which category, by this column of the party that gives it.
    CountsBy(String),
    /// As `Rows`, with the columns that others give.
    Payload,
    /// A number, or a matrix of them.
    Value,
    /// Nothing yet: each party keeps a share.
    Shares,
    /// Frequent itemsets with their counts, and rules.
    Frequent,
    /// As `Frequent`, and the counts of all candidates with items of both parties.
    Counts,
    /// Keys that enough have reported, with how many reports there are.
    Keys {
        /// And with what values.
        values: bool,
        /// And how many keys have which count.
        histogram: bool,
    },
}

impl Reveal {
    /// The column of which numbers are made.
    pub fn column(&self) -> Option<&str> {
        match self {
            Reveal::Sum(column) | Reveal::CountsBy(column) => Some(column),
            _ => None,
        }
    }

    /// The word for it in job files, where a column is called COLUMN.
    pub fn kind(&self) -> &'static str {
        match self {
            Reveal::Rows => "rows",
            Reveal::Count => "count",
            Reveal::Sum(_) => "sum:COLUMN",
            Reveal::CountsBy(_) => "counts:COLUMN",
            Reveal::Payload => "payload",
            Reveal::Value => "value",
            Reveal::Shares => "shares",
            Reveal::Frequent => "frequent",
            Reveal::Counts => "counts",
            Reveal::Keys { values: false, histogram: false } => "keys",
            Reveal::Keys { values: true, histogram: false } => "keys+values",
            Reveal::Keys { values: false, histogram: true } => "keys+histogram",
            Reveal::Keys { values: true, histogram: true } => "keys+values+histogram",
        }
    }
}

/// As in job files.
impl fmt::Display for Reveal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reveal::Sum(column) => write!(f, "sum:{column}"),
            Reveal::CountsBy(column) => write!(f, "counts:{column}"),
            other => f.write_str(other.kind()),
        }
    }
}

impl FromStr for Reveal {
    type Err = Error;

    fn from_str(word: &str) -> Result<Reveal> {
        let all = [
            Reveal::Rows,
            Reveal::Count,
            Reveal::Payload,
            Reveal::Value,
            Reveal::Shares,
            Reveal::Frequent,
            Reveal::Counts,
            Reveal::Keys { values: false, histogram: false },
            Reveal::Keys { values: true, histogram: false },
            Reveal::Keys { values: false, histogram: true },
            Reveal::Keys { values: true, histogram: true },
        ];
        let instead = "\"rows\", \"count\", \"sum:COLUMN\", \"counts:COLUMN\" or \"payload\" (intersect), \"value\" or \"shares\" (dot), \
                       \"frequent\" or \"counts\" (rules), \"keys\" or \"keys+values\" (aggregate; each also +histogram)";
        match (all.into_iter().find(|reveal| reveal.kind() == word), word.split_once(':')) {
            (Some(reveal), _) => Ok(reveal),
            (None, Some(("sum", column))) if !column.is_empty() => Ok(Reveal::Sum(column.to_owned())),
            (None, Some(("counts", column))) if !column.is_empty() => Ok(Reveal::CountsBy(column.to_owned())),
            (None, _) => unknown("reveal", word, instead),
        }
    }
}

impl JobSpec {
    /// In a job that reveals a sum: who gives the column, and which it is.
    pub fn summed(&self) -> Option<(&str, &str)> {
        self.given_number().filter(|_| matches!(self.reveal, Reveal::Sum(_)))
    }

    /// In a job that reveals a sum, or counts by category: who gives the column, and which it is.
    pub fn given_number(&self) -> Option<(&str, &str)> {
        let column = self.reveal.column()?;
        let giver = self.gives.iter().find(|(_, columns)| columns.iter().any(|given| given == column))?.0;
        Some((giver, column))
    }

    /// How many decimals the numbers of a column that is added up have at most.
    pub fn summed_decimals(&self) -> u32 {
        self.scale.unwrap_or(if self.is_outsourced() { 0 } else { MAX_DECIMALS })
    }
}
