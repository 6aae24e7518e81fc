//! Who learns what, in plain sentences: the plan prints them before a job, the report after it.

use crate::agreement::{Job, JobSpec, Known};
use crate::jobs::dot::clients;
use crate::jobs::dot::learned::dot;
use crate::jobs::intersect::learned::intersect;
use crate::jobs::rules::learned::rules;
use crate::jobs::shares::learned::shares;

/// What `party` learns, given what is known.
pub fn sentences(job: &JobSpec, party: &str, known: Known) -> Vec<String> {
    match job.job {
        Job::Intersect => intersect(job, party, known),
        Job::Dot => match job.clients() {
            Some(roles) => clients::learned(job, &roles, party, None),
            None => dot(job, party, known),
        },
        Job::Shares => shares(job, party, known),
        Job::Rules => rules(job, party, known),
    }
}

/// What `min_result` does to a value or count that `party` learns.
pub(crate) fn filtered(job: &JobSpec, party: &str, what: &str) -> Option<String> {
    job.limits.min_result.map(|limit| {
        format!(
            "If a {what} is below {limit}, only that is reported. That is a filter on the output: whoever runs {party}'s \
             program could look at the number, and who brings larger numbers or more keys gets above the limit."
        )
    })
}

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
