//! Plain sentences on who learns what when shares are opened or compared.

use crate::agreement::{Disclosure, KnownSizes};
use crate::base::text::{counted, names};
use crate::jobs::learned::filtered;
use crate::jobs::shares::spec::SharesJob;
use crate::jobs::shares::{Operation, Threshold};

/// Returns what `party` learns when shares are opened or compared.
pub(crate) fn shares(job: &SharesJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String> {
    let others = job.others(party);
    let (peer, several) = (&names(&others), others.len() > 1);
    let (both, brings) = if several { ("all", "bring") } else { ("both", "brings") };
    let numbers = known.items.map_or("the numbers".into(), |items| counted(items, "number"));
    let what = match job.own.operation {
        Some(Operation::Sum) if known.items == Some(1) => "the one number in the shares".into(),
        Some(Operation::Sum) => format!("the sum of {numbers} in the shares, and is shown none of them alone"),
        _ => format!("{numbers} in the shares"),
    };
    let mut learned = match (job.own.threshold(), job.learns(party)) {
        (Some(threshold), _) => {
            let mut compared = compared(party, (peer, several), &threshold, known);
            // What follows from answers about exact numbers does not from those about numbers with noise.
            compared.truncate(if job.noise.is_some() { 1 } else { compared.len() });
            compared
        }
        (None, true) => vec![format!("{party} learns {what}.")],
        (None, false) => vec![format!("{party} learns no number.")],
    };
    learned.extend(noise(job, party, peer));
    if job.own.operation == Some(Operation::Sum) && job.learns(party) && known.items != Some(1) && job.noise.is_none() {
        learned.push(format!("{party} can subtract from the sum what it knows of the numbers."));
        learned.push(format!(
            "{party} can learn one number from the sum if all others come from columns of its own. These have to be filled with zeros, or \
             so that it knows the products. Nothing checks what numbers a party brought."
        ));
    }
    if job.learns(party) && job.own.threshold().is_none() {
        learned.extend(filtered(job, party, "value"));
    }
    let version = if several { "which versions they run" } else { "which version it runs" };
    learned.push(format!("{party} learns which runs' shares {peer} {brings}, and {version}."));
    learned.push(match job.own.threshold() {
        Some(_) => {
            format!(
                "Each share answers once: {both} parties' share files are marked as opened. Copies elsewhere are not."
            )
        }
        None => {
            format!(
                "Each share opens once: {both} parties' share files are marked as opened. Copies elsewhere are not."
            )
        }
    });
    if several {
        learned.push(format!(
            "{party} and some of the others, not all, can learn about the numbers of the rest, if they pool what they see. They learn what \
             follows from what the learners among them learn and from the numbers that they brought, and nothing else."
        ));
        learned
            .push(format!("{party} learns nothing else about the data of {peer}, as long as all follow the protocol."));
    } else {
        learned.push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol."));
    }
    learned
}

/// Sentences on noise that is in the numbers.
fn noise(job: &SharesJob<'_>, party: &str, peer: &str) -> Vec<String> {
    let Some(privacy) = job.noise.as_ref().and_then(|noise| noise.privacy().ok()) else { return Vec::new() };
    vec![
        "Noise of both parties is in each number since the shares were made. Numbers with it are compared and opened, none without it.".into(),
        format!(
            "{party} learns the numbers of one row of {peer}'s under {privacy}-differential privacy, for each run whose shares these are. That \
             holds as long as both follow the protocol, and {party}'s own numbers were within their bounds."
        ),
        "This loss was charged when the shares were made, and is charged once, whether they are compared or opened.".into(),
    ]
}

/// Returns what `party` learns when the numbers in shares are compared with a threshold.
fn compared(party: &str, (peer, several): (&str, bool), threshold: &Threshold, known: KnownSizes<'_>) -> Vec<String> {
    let answers = known.items.zip(known.runs).filter(|(_, runs)| *runs > 0).map(|(items, runs)| (items / runs, runs));
    let what = match answers {
        Some((1, 1)) => format!("whether the number in the shares is at least {threshold}"),
        Some((1, runs)) => {
            format!("whether the sum of the {} in the shares is at least {threshold}", counted(runs, "number"))
        }
        Some((places, 1)) => {
            format!("of each of the {} in the shares whether it is at least {threshold}", counted(places, "number"))
        }
        Some((places, runs)) => format!(
            "of each of {}, each of {}, whether it is at least {threshold}",
            counted(places, "sum"),
            counted(runs, "number")
        ),
        None => {
            format!("of each number in the shares, or sum of those in one place, whether it is at least {threshold}")
        }
    };
    vec![
        format!("{party} learns {what}."),
        format!(
            "{party} learns the number itself if only one number gives that answer. That is yes if the threshold is the greatest \
             possible number, and no if it is one above the least."
        ),
        format!("{party} learns the number from either answer if it comes from a single row of zeros and ones."),
        format!(
            "{party} can learn what {peer} {} in one row from an answer if it knows the number but for that row. Nothing checks what numbers a \
             party brought.",
            if several { "have together" } else { "has" }
        ),
        format!("{party} can learn that from answers to several thresholds, too, over shares of several runs."),
    ]
}

/// Returns the summary of who learns what, one entry for each result.
pub(crate) fn at_a_glance(job: &SharesJob<'_>) -> Vec<Disclosure> {
    let learns = |name: &str| job.learns(name);
    match (job.own.threshold(), job.own.operation) {
        (Some(threshold), _) => {
            vec![Disclosure::new(job, format!("whether the numbers in the shares are at least {threshold}"), |_| true)]
        }
        (None, Some(Operation::Sum)) => vec![Disclosure::new(job, "the sum of the numbers in the shares", learns)],
        (None, _) => vec![Disclosure::new(job, "the numbers in the shares", learns)],
    }
}
