//! Checks of a job file's keys that there are not among more than two parties.

use tacita_core::Result;

use crate::agreement::words::bad;
use crate::jobs::dot::mesh::check::check_products;
use crate::jobs::rules::spec::RulesJob;

/// Refuses what there is between two parties only.
pub(in crate::jobs::rules) fn check(job: &RulesJob<'_>) -> Result<()> {
    if job.reveal_to.len() < job.parties.0.len() {
        return bad(
            "reveal_to: all parties learn the rules, because all need each level's itemsets for the next: name all of them",
        );
    }
    check_products(job, job.own.extension)
}
