//! Results of a cross table of three: those who learn the same have the same.

use tacita_core::Result;
use tacita_core::channel::Channel;
use tacita_core::protocol::mesh::{Heard, MeshStatement};

use super::{MEASURE, PARTIES, Roles, WITH_CATEGORIES};
use crate::jobs::crosstab::categories::Labels;
use crate::jobs::crosstab::spec::CrosstabJob;

/// Results that parties who learn have alike: names of each, counts, and sums of those who learn them.
pub(super) struct Results {
    names: Vec<String>,
    counts: Vec<u8>,
    sums: Vec<u8>,
}

/// Returns the results that a party has.
pub(super) fn results_of(
    names: &[Vec<Labels>],
    counts: Option<&[Option<u128>]>,
    sums: Option<&[Option<i128>]>,
) -> Results {
    let bytes = |numbers: Vec<i128>| numbers.into_iter().flat_map(i128::to_le_bytes).collect();
    Results {
        names: names.iter().map(|names| serde_json::json!(names).to_string()).collect(),
        counts: bytes(counts.unwrap_or_default().iter().flatten().map(|count| *count as i128).collect()),
        sums: bytes(sums.unwrap_or_default().iter().flatten().copied().collect()),
    }
}

/// Checks that a party and each other that learns what it does have the same results.
pub(super) fn same_results(
    results: &Results,
    job: &CrosstabJob<'_>,
    me: usize,
    roles: Roles,
    heard: &mut Heard,
    channels: &mut [Channel],
) -> Result<()> {
    let all = job.parties.names();
    let learns = |party: usize| job.learns(all[party]);
    let has_sums = |party: usize| learns(party) && party != roles.0[MEASURE];
    let shared = |peer: usize| {
        let mut statements = Vec::new();
        if learns(me) && learns(peer) {
            let names = results.names.iter().enumerate();
            statements.extend(names.map(|(party, names)| MeshStatement::new([party], [names])));
            statements.push(MeshStatement::new(WITH_CATEGORIES.map(|role| roles.0[role]), [&results.counts]));
        }
        if has_sums(me) && has_sums(peer) {
            statements.push(MeshStatement::new(0..PARTIES, [&results.sums]));
        }
        statements
    };
    heard.check("names, counts or sums", shared, channels)
}
