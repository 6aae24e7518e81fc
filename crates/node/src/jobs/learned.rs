//! Sentences that several jobs say of who learns what.

use crate::agreement::JobSpec;

/// Sentences on what `min_result` does to a value or count that `party` learns.
pub(crate) fn filtered(job: &JobSpec, party: &str, what: &str) -> Vec<String> {
    let Some(limit) = job.limits.min_result else { return Vec::new() };
    vec![
        format!("{party} is told only that a {what} is below {limit}, if it is."),
        format!(
            "{party} can learn that number, too, if it inspects or changes its own program: limits.min_result is a filter on the output."
        ),
        "A party can get above the limit by bringing larger numbers or more keys.".into(),
    ]
}

/// Sentences on the keys that a number of common keys gives away.
pub(crate) fn which_keys(party: &str) -> [String; 2] {
    [
        format!("{party} learns which keys are common if none or all of its own are."),
        format!("{party} can learn whether a given key is common from two runs that differ only in that key."),
    ]
}

/// Sentences on a party that does not learn which keys are common; `besides` ends the first of them.
pub(crate) fn no_common_keys(party: &str, whose: &str, besides: &str) -> [String; 2] {
    [
        format!("{party} does not learn which keys {whose} in common, nor how many{besides}."),
        format!("{party} learns that no keys are common if it has none itself, or learns that another party has none."),
    ]
}

/// Sentence on the keys that go into a sum or a count.
pub(crate) fn unchecked_keys(party: &str) -> String {
    format!("{party} can choose which keys it brings: nothing checks them.")
}

/// Sentence on a learner that gets the result from the party that computes it.
pub(crate) fn result_from(party: &str, leader: &str) -> String {
    format!("{party} learns the result from {leader}, which computes it, and takes its word for it.")
}

/// Columns in a sentence.
pub(crate) fn list(columns: &[String]) -> String {
    match columns {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [firsts @ .., last] => {
            let firsts: Vec<_> = firsts.iter().map(|column| format!("`{column}`")).collect();
            format!("{} and `{last}`", firsts.join(", "))
        }
    }
}

/// Returns the verb phrase for so many owners, as a part of a sentence.
pub(crate) fn have(names: &[&str]) -> &'static str {
    match names.len() {
        1 => "has",
        2 => "both have",
        _ => "all have",
    }
}
