//! What jobs over rows that both have tell of these rows, in plain sentences.

use tacita_core::protocol::rules::support::Fraction;

use crate::agreement::{Job, JobSpec, Known};
use crate::base::text::count;
use crate::jobs::intersect::learned::sizes;

/// What an agreed bound on the ones of a column tells.
pub(crate) fn density(job: &JobSpec, peer: &str, learned: &mut Vec<String>) {
    if let (Some(_), Ok(Some(density))) = (&job.density, job.density())
        && density != Fraction::ONE
    {
        let (whose, what) = match job.job {
            Job::Rules => ("no frequent item", "is in"),
            _ => ("no column", "has ones in"),
        };
        learned.push(format!(
            "That the run goes on says that {whose} of {peer}'s {what} more than {density} of the rows, rounded up: the agreed \
             density. How long {peer} takes may hint at its numbers of ones."
        ));
    }
}

/// What `party` learns of rows, in jobs over rows that both have.
pub(crate) fn alignment(job: &JobSpec, party: &str, peer: &str, known: Known, learned: &mut Vec<String>) {
    match job.alignment() {
        Some(alignment) => {
            let rows = known.common.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            learned.push(format!(
                "Rows are aligned by an intersection first: {party} learns which of its own rows have an id that {peer} has \
                 too{rows}."
            ));
            sizes(&alignment, party, peer, Known { common: None, ..known }, learned);
        }
        None => {
            let rows = known.items.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            learned.push(format!("{party} learns how many rows {peer} has{rows}: as many as itself."));
            learned.push(format!("{party} learns which version {peer} runs."));
        }
    }
}
