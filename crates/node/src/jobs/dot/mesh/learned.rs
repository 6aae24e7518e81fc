//! Plain sentences on who learns what in a product among more than two.

use crate::agreement::{Disclosure, JobSpec, KnownSizes, Reveal};
use crate::base::text::{count, names};
use crate::jobs::aligned::RowAlignment;
use crate::jobs::dot::learned::ZEROS;
use crate::jobs::dot::spec::DotJob;
use crate::jobs::intersect;
use crate::jobs::learned::{filtered, have};

/// Returns what `party` learns, given what is known.
pub(super) fn learned(job: &DotJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String> {
    let others = job.others(party);
    let all = names(&others);
    let columns: Vec<usize> = job.factors().iter().map(|(_, columns)| columns.len()).collect();
    let products = match columns.iter().map(|count| *count as u64).product() {
        1 => "the sum over all rows of the product of all parties' numbers".to_owned(),
        choices => format!(
            "for each of the {} choices of one column of each party, the sum over all rows of the product of their numbers",
            count(choices)
        ),
    };
    let mut learned = Vec::new();
    match job.reveal {
        Reveal::Shares => {
            learned.push(format!("{party} learns no product{ZEROS}."));
            learned.push(format!("{party} gets a share of each product: a uniformly random number."));
            learned.push(
                "Whoever has the shares of all parties learns the product. Who may is agreed upon in the job that opens them.".into(),
            );
        }
        _ if job.learns(party) => {
            learned.push(format!("{party} learns {products}."));
            learned.push(format!(
                "{party} can learn the product of the others' numbers in single rows by the choice of its own. An example is one row, if its \
                 own number there is the only one that is not 0. Nothing checks what numbers a party brings."
            ));
            learned.extend(filtered(job, party, "value"));
        }
        _ => learned.push(format!("{party} learns no product{ZEROS}.")),
    }
    learned.push(format!(
        "{party} and some of the others, not all, can learn about the numbers of the rest, if they pool what they see. They learn what \
         follows from the products that they learn and the numbers that they bring, and nothing else."
    ));
    rows(job, job.alignment().as_ref(), party, known, &mut learned);
    learned.push(format!("{party} learns nothing else about the data of {all}, as long as all follow the protocol."));
    learned
}

/// Appends what `party` learns about rows.
pub(in crate::jobs) fn rows(
    job: &JobSpec,
    alignment: Option<&RowAlignment>,
    party: &str,
    known: KnownSizes<'_>,
    learned: &mut Vec<String>,
) {
    let others = job.others(party);
    let all = names(&others);
    match alignment {
        Some(RowAlignment { ids, .. }) => {
            let rows = known.common.map_or(String::new(), |rows| format!(" ({})", count(rows)));
            learned.push(format!(
                "{party} learns which of its own rows have an id that {all} {} too{rows}. Rows are aligned by an intersection first.",
                have(&others)
            ));
            learned.push(format!("{party} does not learn who has an id of its own that not all have."));
            let leader = ids.receiver();
            if party == leader {
                learned.push(format!(
                    "{party} and some of the others, not all, can learn which of {party}'s ids all the rest have, if they pool what they see."
                ));
            } else {
                learned.push(format!(
                    "{party} and others with {leader} can learn which of {leader}'s ids all the rest have, if they pool what they see."
                ));
            }
            intersect::star::learned_sizes(ids, party, KnownSizes { common: None, ..known }, learned);
        }
        None => {
            let rows = known.all.and_then(|all| all.get(party)).map(|sizes| format!(" ({})", count(sizes.items)));
            let rows = rows.unwrap_or_default();
            learned.push(format!("{party} learns how many rows {all} {}{rows}: as many as itself.", have(&others)));
            learned.push(format!("{party} learns which versions {all} run."));
        }
    }
}

/// Returns the summary of who learns what, one entry for each result.
pub(super) fn at_a_glance(job: &DotJob<'_>) -> Vec<Disclosure> {
    let in_shares = job.reveal == Reveal::Shares;
    let mut all =
        vec![Disclosure::new(job, "the products of all parties' columns", |name| job.learns(name) && !in_shares)];
    all.extend(rows_at_a_glance(job, job.alignment().as_ref()));
    all
}

/// Returns the entries about rows.
pub(in crate::jobs) fn rows_at_a_glance(job: &JobSpec, alignment: Option<&RowAlignment>) -> Vec<Disclosure> {
    match alignment {
        Some(RowAlignment { ids, .. }) => vec![
            Disclosure::new(job, "which of its own rows all have", |_| true),
            Disclosure::new(job, "exactly how many row ids each of the others has", |_| ids.limits.pad_to.is_none()),
        ],
        None => vec![Disclosure::new(job, "how many rows the others have", |_| true)],
    }
}
