//! Plain sentences on who learns what in a cross table of three: `docs/protocols/crosstab.md` says why.

use crate::agreement::{Disclosure, KnownSizes};
use crate::base::text::{counted, names};
use crate::jobs::crosstab::spec::CrosstabJob;
use crate::jobs::dot::mesh::{rows_at_a_glance, rows_learned};

/// Returns what `party` learns in a cross table of three. Who has which column shows in the run.
pub(in crate::jobs::crosstab) fn learned(job: &CrosstabJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String> {
    let (others, least) = (names(&job.others(party)), job.min_cell());
    let enough = counted(least, "row");
    let column = job.measure().column().unwrap_or_default().escape_debug().to_string();
    let mut learned = Vec::new();
    if job.learns(party) {
        learned.push(format!("{party} learns in how many rows each open cell is."));
        learned.push(format!("{party} learns the names of those of {others}'s categories that have an open cell."));
        learned.push(format!(
            "{party} learns the sum of `{column}` over the rows of each open cell, if it is not {party} who has `{column}`."
        ));
    } else {
        learned.push(format!("{party} learns no name of a category of {others}, and no sum."));
        learned.push(match least {
            0 => format!("{party} learns no count."),
            _ => format!(
                "{party} learns no count, unless it follows from its own numbers of rows, because each open cell is in at least {enough}."
            ),
        });
    }
    match least {
        0 => learned.push(format!(
            "All cells are open: limits.min_cell is 0. {party} can learn about few rows, or a single one."
        )),
        _ => {
            learned.push(format!(
                "{party} learns which cells are closed: all in fewer than {enough}, empty ones too, and others. The others are chosen by \
                 random numbers of categories, never by size."
            ));
            learned.push(format!(
                "{party} does not learn the count of a closed cell from this table, but for the following cases."
            ));
            learned.push(format!(
                "{party} can compute it if its own categories or margins alone tell it, or if a whole row or column of the table is empty."
            ));
            learned.push(format!(
                "{party} can compute it from which cells are closed if the closed cells of a row or column have little more than {enough} together."
            ));
            learned.push(format!(
                "{party} can learn counts of closed cells from other tables of the same rows. These have another limits.min_cell or other \
                 categories, or come after another party has changed its identity or some rows."
            ));
            learned.push(format!(
                "{party} can learn what another party has in one row, whatever limits.min_cell is. For that, it brings a category of that \
                 row and of rows of which it knows what the other has. Nothing checks what categories a party brings."
            ));
            learned.push(format!(
                "{party} can learn what others have in one row, numbers included, from two tables that differ in that row only, whatever \
                 limits.min_cell is."
            ));
        }
    }
    learned.push(format!(
        "If a party with categories that learns and the party with `{column}` pool what they see, they can learn which rows are in a cell. \
         A few of the numbers that add up to its sum name them."
    ));
    if least == 1 {
        learned.push(format!("{party} can learn about a single row: limits.min_cell is 1."));
    }
    learned.push(format!(
        "{party} learns how many categories each of {others} has. They are numbered at random, and in all runs of a party alike."
    ));
    learned.push(format!("{party} learns which of the job's columns each of {others} has."));
    rows_learned(job, job.alignment().as_ref(), party, known, &mut learned);
    learned
        .push(format!("{party} learns nothing else about the data of {others}, as long as all follow the protocol."));
    learned
}

/// Returns the summary of who learns what, one entry for each result.
pub(in crate::jobs::crosstab) fn at_a_glance(job: &CrosstabJob<'_>) -> Vec<Disclosure> {
    let open = match job.min_cell() {
        0 => "the count of each cell".into(),
        least => format!("counts of open cells, of at least {least}"),
    };
    let mut all = vec![Disclosure::new(job, open, |name| job.learns(name))];
    if job.min_cell() > 0 {
        all.push(Disclosure::new(job, "counts of closed cells", |_| false));
    }
    all.push(Disclosure::new(job, "sums of open cells, but for the party with the measure", |name| job.learns(name)));
    all.push(Disclosure::new(job, "names of the others' categories with an open cell", |name| job.learns(name)));
    all.push(Disclosure::new(job, "how many categories the others have", |_| true));
    all.extend(rows_at_a_glance(job, job.alignment().as_ref()));
    all
}
