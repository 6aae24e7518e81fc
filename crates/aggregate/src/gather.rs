//! A result from its parts.

use tacita_core::Error;
use tacita_node::base::text::count;
use tacita_node::jobs::aggregate::AggregateJob;
use tacita_node::jobs::aggregate::results::ResultRow;

use crate::wire::rows::{RevealedKey, decode_rows};

/// Values that are listed, at most: each takes memory, and a database's numbers are not believed beyond it.
const MAX_LISTED: u64 = 1 << 26;

/// The rows of the parts that have come.
pub(crate) struct Gathering<'a> {
    own: AggregateJob<'a>,
    rows: Vec<ResultRow>,
    values: u64,
}

/// Reason why a part is not accepted.
pub(crate) enum Refused {
    /// Part in a form that no database gives.
    Wrong(&'static str),
    /// The result has so many values that no table holds them.
    TooMany(u64),
}

impl Refused {
    /// Converts the refusal: an error of its own if the result is too large, else the one that `wrong` makes.
    pub(crate) fn error(self, round: &str, wrong: impl FnOnce(&'static str) -> Error) -> Error {
        match self {
            Refused::Wrong(check) => wrong(check),
            Refused::TooMany(values) => Error::Input(format!(
                "the result of round {round} lists {} values, and a table holds {}: agree on reveal = \"keys\" for rounds of this size",
                count(values),
                count(MAX_LISTED)
            )),
        }
    }
}

impl<'a> Gathering<'a> {
    /// Creates an empty collection for a job.
    pub(crate) fn new(own: AggregateJob<'a>) -> Gathering<'a> {
        Gathering { own, rows: Vec::new(), values: 0 }
    }

    /// Takes the next part.
    pub(crate) fn add(&mut self, part: &[u8]) -> Result<(), Refused> {
        let round = &self.own.own.round;
        let found = decode_rows(part, round.key_bytes).ok_or(Refused::Wrong("a part of its result cannot be read"))?;
        let most = round.values.places();
        if found.iter().any(|row| row.values.iter().any(|(place, _)| *place >= most)) {
            return Err(Refused::Wrong("its result has a value that the job does not allow"));
        }
        let sums = self.own.reveals_sums();
        if found.iter().any(|row| row.noisy_sum.is_some() != sums) {
            return Err(Refused::Wrong("its result has other numbers than the job reveals"));
        }
        let listed = found.iter().try_fold(self.values, |sum, row| sum.checked_add(listed(row)?));
        self.values = listed.ok_or(Refused::Wrong("a row of its result has more values than reports"))?;
        if self.values > MAX_LISTED {
            return Err(Refused::TooMany(self.values));
        }
        self.rows.extend(found.into_iter().map(|row| ResultRow {
            values: row.values.iter().flat_map(|(place, count)| (0..*count).map(|_| *place)).collect(),
            key: row.key,
            count: row.count,
            noisy_sum: row.noisy_sum,
        }));
        Ok(())
    }

    /// Returns all rows that have come.
    pub(crate) fn rows(self) -> Vec<ResultRow> {
        self.rows
    }
}

/// Returns the number of values that a row lists: one for each report, or none. A row with any other claim is nothing
/// that a database has counted.
fn listed(row: &RevealedKey) -> Option<u64> {
    let all = row.values.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count))?;
    (all == row.count || row.values.is_empty()).then_some(all)
}
