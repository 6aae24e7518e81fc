//! Plain sentences on who learns what in a union.

use super::methods;
use super::sizes::hands_over;
use crate::agreement::{Disclosure, Duplicates, JobSpec, KnownSizes, Reveal};
use crate::base::text::count;
use crate::jobs::intersect::learned::hint_of_size;
use crate::jobs::learned::{filtered, list, which_keys};
use crate::jobs::polynomials::POLYNOMIAL;

/// Returns what `party` learns in a union, given what is known.
pub(super) fn union(job: &JobSpec, party: &str, known: KnownSizes) -> Vec<String> {
    let peer = job.peer_of(party);
    let mut learned = Vec::new();
    match (&job.reveal, job.learns(party)) {
        (Reveal::Count, true) => {
            learned.push(format!(
                "{party} learns how many distinct keys the two have together, and so how many they have in common, not which."
            ));
            learned.extend(which_keys(party));
            learned.extend(filtered(job, party, "count"));
        }
        (_, true) if job.protocol == POLYNOMIAL => candidates(job, party, peer, &mut learned),
        (_, true) => rows(job, party, peer, &mut learned),
        (_, false) => {
            learned.push(format!("{party} does not learn which of its keys {peer} has, nor how many."));
            learned.push(format!(
                "{party} learns that {peer} has none of them if it has no key itself, or learns that {peer} has none."
            ));
        }
    }
    sizes(job, party, peer, known, &mut learned);
    if hands_over(job, party) {
        learned.push(format!(
            "{peer} can learn all that {party} has if {peer} brings nothing, or does not follow the protocol: {party} cannot see what it \
             brings."
        ));
    }
    if let Some(named) = methods::named(job.protocol) {
        named.learned(job, party, &mut learned);
    }
    learned.push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol."));
    learned
}

/// Returns the summary of who learns what, one entry for each result.
pub(super) fn at_a_glance(job: &JobSpec) -> Vec<Disclosure> {
    let result = match job.reveal {
        Reveal::Count => "how many keys the two have together",
        _ if job.protocol == POLYNOMIAL => "which of the keys to be tried are in the union",
        _ => "the other's keys that it lacks",
    };
    let own = if job.protocol == POLYNOMIAL {
        "which of its own keys the other has"
    } else {
        "which of its own keys the other has, beyond what numbers and lengths tell"
    };
    vec![
        Disclosure::new(job, result, |name| job.learns(name)),
        Disclosure::new(job, own, |name| job.learns(name) && job.protocol == POLYNOMIAL),
        Disclosure::new(job, "exactly how many keys the other has", |name| {
            job.limits.pad_to.is_none() || !job.learns(job.peer_of(name))
        }),
    ]
}

/// Appends what the published polynomials tell a party that learns.
fn candidates(job: &JobSpec, party: &str, peer: &str, learned: &mut Vec<String>) {
    learned.push(format!("{party} learns which of the keys that it brings to be tried one of the two has, or both."));
    if let Some(limit) = job.limits.min_result {
        learned.push(format!(
            "{party} learns what {peer} has however little it is: limits.min_result = {limit} holds back small numbers only."
        ));
    }
}

/// Appends what the rows of a union tell a party that gets them.
fn rows(job: &JobSpec, party: &str, peer: &str, learned: &mut Vec<String>) {
    let key = list(job.key.as_ref().map_or(&[], |key| &key.columns[..]));
    let given = match job.given_by(peer) {
        [] => String::new(),
        columns => format!(", with {}", list(columns)),
    };
    let each = match job.key.as_ref().map(|key| key.duplicates) {
        Some(Duplicates::All) => ", for all of its rows",
        _ => "",
    };
    learned.push(format!(
        "{party} learns the keys of {peer} that it has not itself, as {peer} writes them ({key}){given}{each}."
    ));
    learned.push(format!("{party} learns how many keys the two have in common, not which of its own."));
    learned.extend(which_keys(party));
    if job.reveal_to.len() > 1 {
        learned.push(format!(
            "{party} learns from the second of two runs no more than {peer} from the first. Each gets what it lacks, in a run with \
             keys of its own."
        ));
    }
    if let Some(limit) = job.limits.min_result {
        learned.push(format!(
            "{party} learns rows however few they are: limits.min_result = {limit} holds back small numbers only."
        ));
    }
}

/// Appends what a party learns about the sizes of its peer's input.
fn sizes(job: &JobSpec, party: &str, peer: &str, known: KnownSizes, learned: &mut Vec<String>) {
    match job.limits.pad_to.filter(|_| job.learns(peer)) {
        Some(bound) => {
            learned.push(format!(
                "{party} does not learn how many keys {peer} has, beyond that they are no more than {}: its set is padded to that.",
                count(bound)
            ));
            learned.push(hint_of_size(party, peer));
        }
        None => {
            let number = known.items.map_or(String::new(), |items| format!(" ({})", count(items)));
            learned.push(format!("{party} learns how many distinct keys {peer} has{number}."));
        }
    }
    if let Some(bound) = job.limits.pad_to.filter(|_| job.learns(party)) {
        learned.push(format!(
            "{party} learns that number from what it gets: limits.pad_to = {} hides how many keys {party} has, and not {peer}'s.",
            count(bound)
        ));
    }
    learned.push(format!(
        "{party} learns which version {peer} runs, and by which kinds of profiles it normalises its key."
    ));
    if !hands_over(job, peer) {
        return;
    }
    let longest = match job.limits.max_text {
        Some(_) => "",
        None => {
            " It learns the length of each column's longest text, common keys included, rounded up to a power of two."
        }
    };
    learned.push(format!("{party} learns how {peer} reads its key's columns."));
    learned.push(format!("{party} learns the types of all that {peer} gives, common keys included.{longest}"));
    if job.limits.max_text.is_none() {
        learned.push(format!(
            "{party} learns that a text of a common key has that length if no text that it gets has. If it has only one such key, it \
             learns that this key is common. limits.max_text hides that."
        ));
    }
    if job.key.as_ref().is_some_and(|key| key.duplicates == Duplicates::All) {
        learned.push(format!(
            "{party} learns how many rows {peer} has of the key of which it has most, rounded up to a power of two."
        ));
        learned.push(format!("{party} learns that a common key has that many rows if no key that it gets has."));
    }
}
