//! Results that the learning parties get.

use std::fmt;
use std::str::FromStr;

use tacita_core::{Error, Result};

use super::Summed;
use super::words::unknown;

/// Result that is revealed to the parties in `reveal_to`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reveal {
    /// Their own rows with a key that all have.
    #[default]
    Rows,
    /// Number of keys that all have.
    Count,
    /// The same, and the sums of these columns, of the party that gives them, over the rows with those keys.
    Sum(Summed),
    /// Number of common keys in each category, by this column of the party that gives it.
    CountsBy(String),
    /// Same as `Rows`, with the columns that others give.
    Payload,
    /// A number, or a matrix of them.
    Value,
    /// Nothing yet: each party keeps a share.
    Shares,
    /// Frequent itemsets with their counts, and rules.
    Frequent,
    /// Same as `Frequent`, plus the counts of all candidates with items of both parties.
    Counts,
    /// Cells of a cross table that enough rows are in.
    Cells,
    /// Keys that enough have reported, with how many reports there are.
    Keys {
        /// And with what values.
        values: bool,
        /// And how many keys have which count.
        histogram: bool,
    },
}

impl Reveal {
    /// The columns of which numbers are made.
    pub fn columns(&self) -> &[String] {
        match self {
            Reveal::Sum(summed) => &summed.columns,
            Reveal::CountsBy(column) => std::slice::from_ref(column),
            _ => &[],
        }
    }

    /// The word for it in job files, where a column is called COLUMN.
    pub fn kind(&self) -> &'static str {
        match self {
            Reveal::Rows => "rows",
            Reveal::Count => "count",
            Reveal::Sum(Summed { mean: false, .. }) => "sum:COLUMN",
            Reveal::Sum(Summed { mean: true, .. }) => "mean:COLUMN",
            Reveal::CountsBy(_) => "counts:COLUMN",
            Reveal::Payload => "payload",
            Reveal::Value => "value",
            Reveal::Shares => "shares",
            Reveal::Frequent => "frequent",
            Reveal::Counts => "counts",
            Reveal::Cells => "cells",
            Reveal::Keys { values: false, histogram: false } => "keys",
            Reveal::Keys { values: true, histogram: false } => "keys+values",
            Reveal::Keys { values: false, histogram: true } => "keys+histogram",
            Reveal::Keys { values: true, histogram: true } => "keys+values+histogram",
        }
    }
}

/// Formats the value as in job files.
impl fmt::Display for Reveal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reveal::Sum(summed) => write!(f, "{}:{}", summed.word(), summed.columns.join(",")),
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
            Reveal::Cells,
            Reveal::Keys { values: false, histogram: false },
            Reveal::Keys { values: true, histogram: false },
            Reveal::Keys { values: false, histogram: true },
            Reveal::Keys { values: true, histogram: true },
        ];
        let instead = "\"rows\", \"count\", \"sum:COLUMN\", \"mean:COLUMN\", \"counts:COLUMN\" or \"payload\" (intersect), \"value\" or \"shares\" (dot), \
                       \"frequent\" or \"counts\" (rules), \"cells\" (crosstab), \"keys\" or \"keys+values\" (aggregate; each also +histogram)";
        let summed = |(word, columns): (&str, &str)| match word {
            "sum" | "mean" => Summed::parse(columns, word == "mean").map(Reveal::Sum),
            _ => None,
        };
        let known = all.into_iter().find(|reveal| reveal.kind() == word);
        match (known.or_else(|| word.split_once(':').and_then(summed)), word.split_once(':')) {
            (Some(reveal), _) => Ok(reveal),
            (None, Some(("counts", column))) if !column.is_empty() => Ok(Reveal::CountsBy(column.to_owned())),
            (None, _) => unknown("reveal", word, instead),
        }
    }
}
