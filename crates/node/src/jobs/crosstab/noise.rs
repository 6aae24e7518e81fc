//! Noise on the counts of a table. Both parties hear which cells close, so both protect their rows, whoever learns.

use serde_json::Value;
use tacita_core::Result;
use tacita_core::primitive::noise::{NoiseLaw, Sensitivity};

use super::spec::CrosstabJob;
use crate::agreement::words::bad;
use crate::base::text::count;
use crate::jobs::dot::methods::ot;
use crate::jobs::noise::{self, DrawnNoise};

/// Sensitivity of a table: a row that is replaced leaves one cell and comes into another.
const MOVED: Sensitivity = Sensitivity { changed: 2, by: 1 };

/// Refuses noise that would protect nothing, with what to do.
pub(super) fn check(job: &CrosstabJob<'_>) -> Result<()> {
    let Some(spec) = &job.noise else { return Ok(()) };
    noise::check(job, ot::PROTOCOL)?;
    if job.measure().column().is_some() {
        return bad("noise: only counts can have it: use measure = \"count\", or leave it out");
    }
    if spec.bounds.is_some() {
        return bad("noise.bounds: counts have none: leave it out");
    }
    if let Some(column) = job.by().iter().find(|column| !job.own.categories.contains_key(*column)) {
        return bad(format!(
            "noise: which categories there are would tell of single rows: list all of \"{0}\" in categories.{0}",
            column.escape_debug()
        ));
    }
    law(job).map(drop)
}

/// The noise of a job: that of all its cells, whose number follows from the agreed categories.
fn law(job: &CrosstabJob<'_>) -> Result<Option<NoiseLaw>> {
    let Some(spec) = &job.noise else { return Ok(None) };
    let cells = job.own.categories.values().try_fold(1u64, |cells, list| cells.checked_mul(list.len() as u64));
    NoiseLaw::new(spec.privacy()?, MOVED, cells.unwrap_or(u64::MAX)).map(Some)
}

/// A bound on noise that is kept but with negligible probability; 0 without noise.
pub(super) fn tail(job: &CrosstabJob<'_>) -> Result<u64> {
    let tail = law(job)?.map_or(Ok(0), |law| law.tail(noise::adders(job).len() as u64))?;
    // Below 2^20 whatever the epsilon.
    Ok(u64::try_from(tail).unwrap_or(u64::MAX))
}

/// The error bar of each count.
pub(super) fn within(job: &CrosstabJob<'_>) -> Result<Option<u64>> {
    Ok(law(job)?.map(|law| law.within(noise::adders(job).len() as u64) as u64))
}

/// Draws the noise that this party adds.
pub(super) fn drawn(job: &CrosstabJob<'_>, me: &str) -> Result<DrawnNoise> {
    noise::drawn(job, me, law(job)?)
}

/// Returns the entry of the report about noise.
pub(super) fn report(job: &CrosstabJob<'_>) -> Result<Option<Value>> {
    noise::report(job, || Ok(within(job)?.map_or(Value::Null, Value::from)))
}

/// Sentences on counts with noise for `party`.
pub(super) fn sentences(job: &CrosstabJob<'_>, party: &str) -> Vec<String> {
    // Job files with noise that cannot be are refused.
    let (Some(spec), Ok(Some(within))) = (&job.noise, within(job)) else { return Vec::new() };
    let (peer, Ok(privacy)) = (job.peer_of(party), spec.privacy()) else { return Vec::new() };
    let mut learned = vec![noise::error_bar(job, &count(within))];
    if job.min_cell() > 0 {
        learned
            .push("Of cells with few rows, only those open whose noise is large: their numbers are too high.".into());
    }
    if job.adds_noise(peer) {
        learned.push(format!(
            "{party} learns the categories of one row of {peer}'s under {privacy}-differential privacy. That holds as long as both follow the protocol."
        ));
        learned
            .push(format!("{party} can learn more if it counts a row in several categories. {peer} would not notice."));
        learned.extend(noise::limits(party, peer, "categories", job.own.row_id.is_some()));
    }
    learned
}
