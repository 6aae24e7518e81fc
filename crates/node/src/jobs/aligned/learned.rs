//! What jobs over rows that both have tell of these rows, in plain sentences.

use tacita_core::Result;
use tacita_core::protocol::rules::support::Fraction;

use crate::agreement::{JobSpec, Known};
use crate::base::text::count;
use crate::jobs::intersect::learned::sizes;

/// What an agreed bound on the ones of a column tells: of whose columns, and what they do.
pub(crate) fn density(
    density: Result<Option<Fraction>>,
    [whose, what]: [&str; 2],
    peer: &str,
    learned: &mut Vec<String>,
) {
    if let Ok(Some(density)) = density
        && density != Fraction::ONE
    {
        learned.push(format!(
            "That the run goes on says that {whose} of {peer}'s {what} more than {density} of the rows, rounded up: the agreed \
             density. How long {peer} takes may hint at its numbers of ones."
        ));
    }
}

/// What `party` learns of rows, in jobs over rows that both have.
pub(crate) fn alignment(
    alignment: Option<&JobSpec>,
    party: &str,
    peer: &str,
    known: Known<'_>,
    learned: &mut Vec<String>,
) {
    match alignment {
        Some(alignment) => {
            let rows = known.common.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            learned.push(format!(
                "Rows are aligned by an intersection first: {party} learns which of its own rows have an id that {peer} has \
                 too{rows}."
            ));
            sizes(alignment, party, peer, Known { common: None, ..known }, learned);
        }
        None => {
            let rows = known.items.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            learned.push(format!("{party} learns how many rows {peer} has{rows}: as many as itself."));
            learned.push(format!("{party} learns which version {peer} runs."));
        }
    }
}
