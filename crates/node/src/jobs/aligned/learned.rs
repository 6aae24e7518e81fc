//! Plain sentences on what jobs over common rows tell about these rows.

use tacita_core::Result;
use tacita_core::protocol::rules::support::Fraction;

use super::{Blur, RowAlignment};
use crate::agreement::{AlignWay, Disclosure, JobSpec, KnownSizes};
use crate::base::text::count;
use crate::jobs::intersect::learned::sizes;

/// Appends what an agreed bound on the ones of a column tells. The pair states whose columns they are, and what
/// they do.
pub(crate) fn density(
    density: Result<Option<Fraction>>,
    [whose, what]: [&str; 2],
    [party, peer]: [&str; 2],
    hidden: bool,
    learned: &mut Vec<String>,
) {
    let rows = if hidden { "the rows of either party" } else { "the rows" };
    if let Ok(Some(density)) = density
        && density != Fraction::ONE
    {
        learned.push(format!(
            "{party} learns that {whose} of {peer}'s {what} more than {density} of {rows}, if the run goes on. That is \
             the agreed density, rounded up to whole rows."
        ));
        learned.push(format!("{party} can learn a hint of {peer}'s numbers of ones from how long {peer} takes."));
    }
}

/// Appends what `party` learns about rows, in jobs over rows that both have.
pub(crate) fn of_rows(
    alignment: Option<&RowAlignment>,
    party: &str,
    peer: &str,
    known: KnownSizes<'_>,
    learned: &mut Vec<String>,
) {
    match alignment {
        Some(alignment) => {
            let rows = known.common.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            match alignment.way {
                AlignWay::Hidden => learned.extend(hidden(party, peer, &rows, alignment.blur)),
                AlignWay::Rows => learned.push(format!(
                    "{party} learns which of its own rows have an id that {peer} has too{rows}: rows are aligned by an intersection first."
                )),
            }
            sizes(&alignment.ids, party, peer, KnownSizes { common: None, ..known }, learned);
        }
        None => {
            let rows = known.items.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            learned.push(format!("{party} learns how many rows {peer} has{rows}: as many as itself."));
            learned.push(format!("{party} learns which version {peer} runs."));
        }
    }
}

/// Sentences on what `party` learns of rows in a common order that hides which are common.
fn hidden(party: &str, peer: &str, rows: &str, blur: Option<Blur>) -> Vec<String> {
    let deviation = format!(
        "{party} can learn exactly which of its rows are common if it breaks the protocol and leaves its own rows out of the common order. \
         {peer} would not notice."
    );
    let unchecked = format!("{party} can choose which ids it brings: nothing checks them.");
    if let Some(blur) = blur {
        return vec![
            format!(
                "{party} learns about how many rows have an id that both have{rows}, and not which. Rows are in a hidden common order. Of \
                 {} dummies, {peer} brings each with probability 1/2.",
                count(blur.dummies())
            ),
            format!(
                "That number is {}-differentially private for one row of {peer}'s that is replaced, as long as both follow the protocol; a run \
                 that is repeated adds up. Nothing else is blurred by it.",
                blur.loss()
            ),
            deviation,
            unchecked,
        ];
    }
    vec![
        format!(
            "{party} learns how many rows have an id that both have{rows}, and not which: rows are in a hidden common order."
        ),
        format!("{party} learns which of its own rows are common if none or all of them are."),
        format!(
            "{party} learns the same of a part of its rows if a result counts the common ones among them. An open cell does, and a frequent \
             item."
        ),
        format!("{party} can learn whether a given row is common from two runs that differ only in that row."),
        deviation,
        unchecked,
    ]
}

/// Returns what both parties learn of rows, for the table of a plan.
pub(crate) fn rows_at_a_glance(job: &JobSpec, alignment: Option<&RowAlignment>) -> Vec<Disclosure> {
    match alignment {
        Some(RowAlignment { ids, way, blur }) => {
            let shown = *way == AlignWay::Rows;
            let mut all = vec![Disclosure::new(job, "which of its own rows both have", |_| shown)];
            if !shown {
                all.push(Disclosure::new(
                    job,
                    if blur.is_some() { "about how many rows both have" } else { "how many rows both have" },
                    |_| true,
                ));
            }
            all.push(Disclosure::new(job, "exactly how many row ids the other has", |_| ids.limits.pad_to.is_none()));
            all
        }
        None => vec![Disclosure::new(job, "how many rows the other has", |_| true)],
    }
}
