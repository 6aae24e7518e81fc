//! Differences between the rows of runs: whether a number is about nearly the same rows as an earlier one.
//!
//! Two exact numbers about rows of which one is missing tell that row. So the rows of each run are compared with those
//! of earlier runs that told somebody something exact, by a [`Sketch`] of each under a key of the ledger, which is kept
//! sealed in its entry: whoever has two of them, and the key, knows how many rows differ, and can try which.

mod field;
mod polynomial;
mod rows;
mod sketch;

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::base::text::{counted, names};
use crate::govern::policy::Answers;
use crate::govern::time::UtcTime;
use crate::identity::Fingerprint;

pub use rows::{ComparableRows, RowKey, RowSketches, sketch};
pub use sketch::{Difference, Sketch};

/// Word for the identity of a peer that the job leaves open, which could be anybody's.
pub const UNKNOWN: &str = "unknown";

/// Returns the capacity of sketches by which fewer than so many changed rows are told from more: each is a row less and
/// a row more.
pub fn capacity(min_difference: u64) -> usize {
    2 * usize::try_from(min_difference).unwrap_or_default()
}

/// Comparison of a run's rows with those of earlier ones, as its entry in the ledger shows it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RowComparison {
    /// Identities of the peers that the run tells something exact about the rows; `unknown` if the job leaves it open.
    pub told: Vec<String>,
    /// Earlier runs that did so, about rows that differ by few.
    pub near: Vec<NearRun>,
    /// Reason why the rows were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// Earlier run whose rows differ by few.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NearRun {
    /// Number of its entry.
    pub entry: u64,
    /// Number of rows that differ.
    pub rows: u64,
}

/// Earlier run that told somebody something exact about its rows.
pub struct EarlierAnswer<'a> {
    /// Number of its entry.
    pub entry: u64,
    /// Time at which it began.
    pub time: UtcTime,
    /// Identities of those who were told.
    pub told: &'a [String],
    /// Sketches of its rows.
    pub rows: &'a RowSketches,
}

/// Earlier answers about rows that differ by few from those of a run.
pub struct NearAnswers {
    near: Vec<NearAnswer>,
    unknown: Option<&'static str>,
}

/// Differences from the rows of earlier answers that were computed already, by the number of the entry.
#[derive(Default)]
pub struct KnownDifferences(BTreeMap<u64, Option<Difference>>);

impl KnownDifferences {
    /// Compares rows with those of earlier answers, on all threads.
    pub fn find<'a>(rows: &ComparableRows, earlier: impl Iterator<Item = EarlierAnswer<'a>>) -> KnownDifferences {
        let ComparableRows::Sketched(own) = rows else { return KnownDifferences::default() };
        let earlier: Vec<_> = earlier.map(|answer| (answer.entry, answer.rows)).collect();
        KnownDifferences(earlier.into_par_iter().map(|(entry, rows)| (entry, own.since(rows))).collect())
    }
}

struct NearAnswer {
    entry: u64,
    time: UtcTime,
    told: Vec<String>,
    difference: Difference,
}

impl NearAnswers {
    /// Compares rows with those of earlier answers, as far as the differences are not known.
    pub fn find<'a>(
        rows: &ComparableRows,
        earlier: impl Iterator<Item = EarlierAnswer<'a>>,
        known: &KnownDifferences,
    ) -> NearAnswers {
        let near = |own: &RowSketches| {
            let compared = earlier.filter_map(|EarlierAnswer { entry, time, told, rows }| {
                let difference = known.0.get(&entry).copied().unwrap_or_else(|| own.since(rows))?;
                Some(NearAnswer { entry, time, told: told.to_vec(), difference })
            });
            compared.collect()
        };
        match rows {
            ComparableRows::Sketched(own) => NearAnswers { near: near(own), unknown: None },
            ComparableRows::None => NearAnswers { near: Vec::new(), unknown: None },
            ComparableRows::Unknown(why) => NearAnswers { near: Vec::new(), unknown: Some(why) },
        }
    }

    /// Returns the comparison for the entry of the run.
    pub fn comparison(&self, told: Vec<String>) -> RowComparison {
        let near = |near: &NearAnswer| NearRun { entry: near.entry, rows: near.difference.rows() };
        let near = self.near.iter().map(near).collect();
        RowComparison { told, near, unknown: self.unknown.map(str::to_owned) }
    }

    /// Returns the sentence that warns the user, if `peers` learn one more exact number about nearly the same rows. The
    /// case of the same rows, as in a daily repetition, is told from that of a few that differ.
    pub fn warning(&self, peers: &[&str], min_difference: u64) -> Option<String> {
        let near: Vec<_> = self.near.iter().filter(|near| near.difference.rows() < min_difference).collect();
        let closest = near.iter().min_by_key(|near| (near.difference.rows(), std::cmp::Reverse(near.entry)))?;
        let (peers, run) = (names(peers), format!("run {} of {}", closest.entry, closest.time));
        let before = counted(near.len() as u64, "exact answer");
        Some(
            match closest.difference {
                Difference { added: 0, removed: 0 } => format!(
                    "the same rows as in {run}, with {before} so far about these or nearly the same: if {peers} changed rows since, \
                 two answers tell about those"
                ),
                Difference { added, removed } => format!(
                    "nearly the same rows as in {run} ({added} more, {removed} fewer), with {before} so far about these: with one more \
                 {peers} can learn about the {} that differ",
                    counted(closest.difference.rows(), "row")
                ),
            } + "; see exact_answers in `tacita policy new`",
        )
    }
}

impl Answers for NearAnswers {
    fn about_these_rows(&self, to: Option<&[Fingerprint]>, min_difference: u64) -> Result<u64, &str> {
        if let Some(why) = self.unknown {
            return Err(why);
        }
        let to: Option<Vec<_>> = to.map(|pins| pins.iter().map(ToString::to_string).collect());
        let told = |near: &&NearAnswer| {
            to.as_ref().is_none_or(|pins| near.told.iter().any(|pin| pin == UNKNOWN || pins.contains(pin)))
        };
        let near = self.near.iter().filter(|near| near.difference.rows() < min_difference);
        Ok(near.filter(told).count() as u64)
    }
}

#[cfg(test)]
pub(in crate::govern) mod tests;
