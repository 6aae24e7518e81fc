//! Checks of a job file's keys that there are not among more than two parties.

use tacita_core::Result;

use crate::agreement::Reveal;
use crate::agreement::words::bad;
use crate::jobs::dot::mesh::check::check_products;
use crate::jobs::rules::spec::RulesJob;

/// Refuses what there is between two parties only.
pub(in crate::jobs::rules) fn check(job: &RulesJob<'_>) -> Result<()> {
    let some = job.reveal_to.len() < job.parties.0.len();
    if some && job.reveal == Reveal::Counts {
        return bad(
            "reveal_to: with reveal = \"counts\" the parties of each candidate learn its count: name all parties, or use reveal = \"frequent\"",
        );
    }
    if some && job.own.mixed_only == Some(true) {
        return bad(
            "reveal_to: with mixed_only each party tells which of its itemsets stand in rules, and has to know these: name all parties, or \
             leave out mixed_only",
        );
    }
    check_products(job, job.own.extension)
}
