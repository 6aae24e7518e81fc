//! Plain sentences on what jobs over common rows tell about these rows.

use tacita_core::Result;
use tacita_core::protocol::rules::support::Fraction;

use crate::agreement::{Disclosure, JobSpec, KnownSizes};
use crate::base::text::count;
use crate::jobs::intersect::learned::sizes;

/// Appends what an agreed bound on the ones of a column tells. The pair states whose columns they are, and what
/// they do.
pub(crate) fn density(
    density: Result<Option<Fraction>>,
    [whose, what]: [&str; 2],
    [party, peer]: [&str; 2],
    learned: &mut Vec<String>,
) {
    if let Ok(Some(density)) = density
        && density != Fraction::ONE
    {
        learned.push(format!(
            "{party} learns that {whose} of {peer}'s {what} more than {density} of the rows, rounded up (the agreed density), if the \
             run goes on."
        ));
        learned.push(format!("{party} can learn a hint of {peer}'s numbers of ones from how long {peer} takes."));
    }
}

/// Appends what `party` learns about rows, in jobs over rows that both have.
pub(crate) fn alignment(
    alignment: Option<&JobSpec>,
    party: &str,
    peer: &str,
    known: KnownSizes<'_>,
    learned: &mut Vec<String>,
) {
    match alignment {
        Some(alignment) => {
            let rows = known.common.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            learned.push(format!(
                "{party} learns which of its own rows have an id that {peer} has too{rows}: rows are aligned by an intersection first."
            ));
            sizes(alignment, party, peer, KnownSizes { common: None, ..known }, learned);
        }
        None => {
            let rows = known.items.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            learned.push(format!("{party} learns how many rows {peer} has{rows}: as many as itself."));
            learned.push(format!("{party} learns which version {peer} runs."));
        }
    }
}

/// Returns what both parties learn of rows, for the table of a plan.
pub(crate) fn rows_at_a_glance(job: &JobSpec, alignment: Option<&JobSpec>) -> Vec<Disclosure> {
    match alignment {
        Some(alignment) => vec![
            Disclosure::new(job, "which of its own rows both have", |_| true),
            Disclosure::new(job, "exactly how many row ids the other has", |_| alignment.limits.pad_to.is_none()),
        ],
        None => vec![Disclosure::new(job, "how many rows the other has", |_| true)],
    }
}
