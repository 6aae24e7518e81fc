//! Plain sentences on who learns what in a cross table: `docs/protocols/crosstab.md` says why.

use super::spec::CrosstabJob;
use super::{mesh, noise};
use crate::agreement::{Disclosure, KnownSizes};
use crate::base::text::counted;
use crate::jobs::aligned::learned::{of_rows, rows_at_a_glance};

/// Returns what `party` learns in a cross table.
pub(super) fn crosstab(job: &CrosstabJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String> {
    if mesh::is_of(job) {
        return mesh::learned(job, party, known);
    }
    let (peer, least) = (job.peer_of(party), job.min_cell());
    let enough = counted(least, "row");
    let mut learned = Vec::new();
    if job.learns(party) {
        let noise = if job.noise.is_some() { ", plus noise" } else { "" };
        learned.push(format!("{party} learns in how many rows each open cell is{noise}."));
        learned.push(format!("{party} learns the names of those of {peer}'s categories that have an open cell."));
        if let Some(column) = job.measure().column() {
            let column = column.escape_debug();
            learned.push(format!("{party} learns the sum of `{column}` over the rows of each open cell, if it is {peer} who has `{column}`."));
        }
    } else {
        learned.push(format!("{party} learns no name of {peer}'s categories."));
        learned.push(match least {
            // With noise, the count of an open cell can be smaller.
            least if least == 0 || job.noise.is_some() => format!("{party} learns no count."),
            _ => format!(
                "{party} learns no count, unless it follows from its own numbers of rows, because each open cell is in at least {enough}."
            ),
        });
    }
    learned.extend(noise::sentences(job, party));
    match least {
        0 if job.noise.is_some() => learned.push("All cells are open: limits.min_cell is 0.".into()),
        _ if job.noise.is_some() => learned.push(format!(
            "{party} learns which cells are closed: those whose number with noise is below {least}, and others that are chosen by random \
             numbers of categories."
        )),
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
                 categories, or come after {peer} has changed its identity or some rows."
            ));
            learned.push(format!(
                "{party} can guess that a cell is in fewer than {enough} from where cells are closed. The numbers of categories say \
                 which others close besides it."
            ));
            learned.push(format!(
                "{party} can learn what {peer} has in one row, whatever limits.min_cell is. For that, it brings a category of that row and of rows of which \
                 it knows what {peer} has. Nothing checks what categories a party brings."
            ));
            learned.push(format!(
                "{party} can learn what {peer} has in one row, its number included, from two tables that differ in that row only, whatever \
                 limits.min_cell is."
            ));
        }
    }
    if least == 1 && job.noise.is_none() {
        learned.push(format!("{party} can learn about a single row: limits.min_cell is 1."));
    }
    learned.push(format!(
        "{party} learns how many categories {peer} has. They are numbered at random, and in all runs of {peer} alike."
    ));
    learned.push(format!("{party} learns which of the job's columns {peer} has."));
    of_rows(job.alignment().as_ref(), party, peer, known, &mut learned);
    learned.push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol."));
    learned
}

/// Returns the summary of who learns what, one entry for each result.
pub(super) fn at_a_glance(job: &CrosstabJob<'_>) -> Vec<Disclosure> {
    if mesh::is_of(job) {
        return mesh::at_a_glance(job);
    }
    let noise = if job.noise.is_some() { ", with noise" } else { "" };
    let open = match job.min_cell() {
        0 => format!("the count of each cell{noise}"),
        least => format!("counts of open cells, of at least {least}{noise}"),
    };
    let mut all = vec![Disclosure::new(job, open, |name| job.learns(name))];
    if job.min_cell() > 0 {
        all.push(Disclosure::new(job, "counts of closed cells", |_| false));
    }
    all.push(Disclosure::new(job, "names of the other's categories with an open cell", |name| job.learns(name)));
    all.push(Disclosure::new(job, "how many categories the other has", |_| true));
    all.extend(rows_at_a_glance(job, job.alignment().as_ref()));
    all
}
