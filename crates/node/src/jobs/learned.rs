//! Sentences that several jobs say of who learns what.

use crate::agreement::JobSpec;

/// What `min_result` does to a value or count that `party` learns.
pub(crate) fn filtered(job: &JobSpec, party: &str, what: &str) -> Option<String> {
    job.limits.min_result.map(|limit| {
        format!(
            "If a {what} is below {limit}, only that is reported. That is a filter on the output: whoever runs {party}'s \
             program could look at the number, and who brings larger numbers or more keys gets above the limit."
        )
    })
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

/// What so many have, as a part of a sentence.
pub(crate) fn have(names: &[&str]) -> &'static str {
    match names.len() {
        1 => "has",
        2 => "both have",
        _ => "all have",
    }
}
