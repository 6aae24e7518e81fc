//! Columns of which numbers are made, and who gives them.

use tacita_core::Result;

use super::words::{bad, check_distinct};
use super::{JobSpec, Reveal, Topology};
use crate::base::text::shown;
use crate::table::numbers::MAX_DECIMALS;

/// Numbers of a key in one run, at most. They have to fit the shortest key of Paillier's that there is for a job.
pub const MAX_SUMS: usize = 16;

/// Columns of numbers that are added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summed {
    /// Their logical names, in the order of the result.
    pub columns: Vec<String>,
    /// Whether their means are revealed, too: with how many values each sum is of.
    pub mean: bool,
}

impl Summed {
    /// Columns as a job file names them: separated by commas.
    pub(super) fn parse(text: &str, mean: bool) -> Option<Summed> {
        // Of one the name stays as it is, blanks and all.
        let columns: Vec<String> = if text.contains(',') {
            text.split(',').map(|column| column.trim().to_owned()).collect()
        } else {
            vec![text.to_owned()]
        };
        columns.iter().all(|column| !column.is_empty()).then_some(Summed { columns, mean })
    }

    /// Returns the number of values per key and column: the sum, and for a mean also the number of values in it.
    pub fn numbers_each(&self) -> usize {
        1 + usize::from(self.mean)
    }

    /// Returns the number of values that a key has.
    pub fn numbers(&self) -> usize {
        self.columns.len() * self.numbers_each()
    }

    /// The word in front of the columns.
    pub(super) fn word(&self) -> &'static str {
        if self.mean { "mean" } else { "sum" }
    }
}

impl JobSpec {
    /// Returns the party that gives the columns and the columns themselves, in a job that reveals sums.
    pub fn summed(&self) -> Option<(&str, &Summed)> {
        match &self.reveal {
            Reveal::Sum(summed) => Some((self.number_giver()?, summed)),
            _ => None,
        }
    }

    /// Returns the party that gives the columns, in a job that reveals sums or counts by category.
    pub fn number_giver(&self) -> Option<&str> {
        let columns = self.reveal.columns();
        let gives_all = |given: &[String]| !columns.is_empty() && columns.iter().all(|column| given.contains(column));
        self.gives.iter().find(|(_, given)| gives_all(given)).map(|(giver, _)| giver.as_str())
    }

    /// Whether numbers are added up for the party that does not give them: through a helper, anybody may learn sums.
    pub(super) fn sums_for_the_other(&self) -> bool {
        self.topology() != Topology::Helper
    }

    /// Returns the maximum number of decimals in a column that is added up.
    pub fn summed_decimals(&self) -> u32 {
        self.scale.unwrap_or(if self.sums_for_the_other() { MAX_DECIMALS } else { 0 })
    }

    /// Sums, and counts by category, are of columns of one party, and between two for the other.
    pub(super) fn check_summed(&self) -> Result<()> {
        let columns = self.reveal.columns();
        let reveal = format!("reveal = \"{}\"", shown(&self.reveal.to_string()));
        let givers = columns.iter().map(|column| self.giver_of(column)).collect::<Result<Vec<_>>>()?;
        let Some(&giver) = givers.first() else { return Ok(()) };
        check_distinct("reveal", columns)?;
        if let Some((other, column)) = givers.iter().zip(columns).find(|(other, _)| **other != giver) {
            return bad(format!(
                "{reveal}: {other} gives \"{}\", and {giver} \"{}\": one run sums columns of one party only, so run a job for \
                 each party",
                shown(column),
                shown(&columns[0])
            ));
        }
        if let Reveal::Sum(summed) = &self.reveal
            && summed.numbers() > MAX_SUMS
        {
            let most = MAX_SUMS / summed.numbers_each();
            return bad(format!(
                "{reveal}: at most {most} columns are added up in one run: run another job for the others"
            ));
        }
        if !self.sums_for_the_other() || self.learns(self.peer_of(giver)) {
            return Ok(());
        }
        let gives = if columns.len() == 1 { "that column" } else { "those columns" };
        bad(format!("{reveal}: {giver} gives {gives}, so that {} has to be in reveal_to", self.peer_of(giver)))
    }

    /// The one party that gives a column of which numbers are made.
    fn giver_of(&self, column: &String) -> Result<&str> {
        let columns = self.reveal.columns();
        let reveal = format!("reveal = \"{}\"", shown(&self.reveal.to_string()));
        let mut givers = self.gives.iter().filter(|(_, given)| given.contains(column)).map(|(giver, _)| giver.as_str());
        match (givers.next(), givers.next()) {
            (Some(giver), None) => Ok(giver),
            (Some(_), Some(_)) if columns.len() == 1 => {
                bad(format!("{reveal}: two parties give a column of that name; one may"))
            }
            (Some(_), Some(_)) => {
                bad(format!("{reveal}: two parties give a column called \"{}\"; one may", shown(column)))
            }
            (None, _) if matches!(self.reveal, Reveal::CountsBy(_)) && column.contains(',') => {
                bad(format!("{reveal}: counts by category are of one column at a time: run a job for each"))
            }
            (None, _) => {
                let names: Vec<_> = columns.iter().map(|column| format!("\"{}\"", shown(column))).collect();
                let names = names.join(", ");
                let needs = match columns.len() {
                    1 => "the party whose column it is",
                    _ => "one party that gives all columns",
                };
                bad(format!("{reveal} needs {needs}: gives = {{ NAME = [{names}] }}"))
            }
        }
    }
}
