//! Noise on products: bounds of numbers, and the noise that they need.

use serde_json::Value;
use tacita_core::primitive::noise::{NoiseLaw, Sensitivity, decimal};
use tacita_core::protocol::dot::Columns;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::{Error, Result};

use super::methods::{self, ot};
use super::side;
use super::spec::DotJob;
use crate::agreement::words::bad;
use crate::agreement::{Chosen, NoiseBounds, Reveal, WrittenNumber};
use crate::jobs::noise::{self, DrawnNoise};
use crate::jobs::numbers::ShareNoise;
use crate::table::numbers::{decimal as number, to_json};

/// Refuses noise that would protect nothing, with what to do.
pub(crate) fn check(job: &DotJob<'_>) -> Result<()> {
    let Some(spec) = &job.noise else { return Ok(()) };
    if job.has_roles() || job.parties.0.len() != 2 {
        return bad("noise: only products of two parties can have it: leave it out");
    }
    noise::check(job, ot::PROTOCOL)?;
    if let Some(NoiseBounds::ByParty(parties)) = &spec.bounds {
        parties.keys().try_for_each(|name| job.known_party("noise.bounds", name))?;
    }
    for name in job.parties.names() {
        bounds(job, name)?;
    }
    // Products of no row need no less for their noise.
    job.range(1).map(drop)
}

/// The bounds of a party's numbers.
fn bounds(job: &DotJob<'_>, party: &str) -> Result<(i64, i64)> {
    let range = job.integers()?.range();
    let Some([low, high]) = job.noise.as_ref().and_then(|noise| noise.bounds_of(party)) else { return Ok(range) };
    let read = |WrittenNumber(text): &WrittenNumber| -> Option<i64> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text.as_str()), |digits| (-1, digits));
        let size = i64::try_from(decimal::read(digits, job.decimals())?).ok()?;
        Some(sign * size).filter(|bound| (range.0..=range.1).contains(bound))
    };
    match read(low).zip(read(high)).filter(|(low, high)| low <= high) {
        Some(bounds) => Ok(bounds),
        None => bad(format!(
            "noise.bounds: for {party} use two numbers that columns of bits, signed and scale can hold, as [0, 100]; the smaller first"
        )),
    }
}

/// The noise of a job. One row that is replaced changes a product by the difference, at most, of the largest and the
/// smallest product of two numbers within bounds, or of none.
fn law(job: &DotJob<'_>) -> Result<Option<NoiseLaw>> {
    let Some(spec) = &job.noise else { return Ok(None) };
    let [first, second] = job.sides().map(|(name, _)| bounds(job, name));
    let (first, second) = (first?, second?);
    let products = [first.0, first.1]
        .into_iter()
        .flat_map(|one| [second.0, second.1].map(|other| i128::from(one) * i128::from(other)));
    let (low, high) = products.fold((0, 0), |(low, high), product| (product.min(low), product.max(high)));
    let by = u64::try_from(high - low).map_err(|_| Error::Internal("numbers longer than 32 bits".into()))?;
    let products = job.dot_shape(0)?.products() as u64;
    NoiseLaw::new(spec.privacy()?, Sensitivity { changed: products, by }, products).map(Some)
}

/// A bound on noise that is kept but with negligible probability.
pub(crate) fn tail(job: &DotJob<'_>) -> Result<Option<u128>> {
    law(job)?.map(|law| law.tail(noise::adders(job).len() as u64)).transpose()
}

/// The error bar of each number, as it is written.
pub(crate) fn within(job: &DotJob<'_>) -> Result<Option<String>> {
    Ok(law(job)?.map(|law| number(law.within(noise::adders(job).len() as u64) as i128, job.product_decimals())))
}

/// The noise in shares, as their file states it.
pub(super) fn of_shares(job: &DotJob<'_>) -> Result<Option<ShareNoise>> {
    let Some(spec) = job.noise.as_ref().filter(|_| job.reveal == Reveal::Shares) else { return Ok(None) };
    Ok(Some(ShareNoise::new(&spec.privacy()?, within(job)?.unwrap_or_default())))
}

/// Draws the noise that this party adds.
pub(super) fn drawn(job: &DotJob<'_>, me: &str) -> Result<DrawnNoise> {
    noise::drawn(job, me, law(job)?)
}

/// The columns with numbers that are out of bounds replaced by the bounds.
pub(super) fn clipped(job: &DotJob<'_>, me: &str, columns: Columns) -> Result<Columns> {
    if job.noise.as_ref().and_then(|noise| noise.bounds_of(me)).is_none() {
        return Ok(columns);
    }
    Ok(columns.clipped(bounds(job, me)?))
}

/// Returns the entry of the report about noise.
pub(super) fn report(job: &DotJob<'_>) -> Result<Option<Value>> {
    noise::report(job, || Ok(within(job)?.map_or(Value::Null, |within| to_json(&within))))
}

/// Sentences on numbers with noise that `party` learns.
pub(super) fn sentences(job: &DotJob<'_>, party: &str) -> Vec<String> {
    // Job files with noise that cannot be are refused.
    let (Some(spec), Ok(Some(within)), Ok((low, high))) = (&job.noise, within(job), bounds(job, party)) else {
        return Vec::new();
    };
    let (peer, Ok(privacy), Ok(Some(loss))) = (job.peer_of(party), spec.privacy(), job.full_loss()) else {
        return Vec::new();
    };
    let bound = |bound| number(i128::from(bound), job.decimals());
    let protected = if job.hides_rows() {
        format!("whether {peer} has one row, and its numbers, under {loss}-differential privacy in all")
    } else {
        format!("the numbers of one row of {peer}'s under {privacy}-differential privacy")
    };
    let learns = if job.reveal == Reveal::Shares { "can learn" } else { "learns" };
    let mut learned = vec![
        noise::error_bar(job, &within),
        format!(
            "{party} {learns} {protected}. That holds as long as both follow the protocol, and {party}'s own numbers are from {} to {}.",
            bound(low),
            bound(high)
        ),
    ];
    if !holds_to_bounds(job, party) {
        learned
            .push(format!("{party} can learn more if it brings numbers beyond these bounds. {peer} would not notice."));
    }
    let shown = job.own.row_id.is_some() && !job.hides_rows();
    learned.extend(noise::limits(party, peer, "numbers", shown));
    learned
}

/// Whether the protocol leaves a party no numbers beyond its bounds: they are choices of oblivious transfers, bit by
/// bit.
fn holds_to_bounds(job: &DotJob<'_>, party: &str) -> bool {
    let extension = job.own.extension.or(Some(Extension::SoftSpoken(2)));
    let chosen = Chosen { extension, ..Chosen::only(ot::PROTOCOL) };
    let chooses = methods::product(job, &chosen, 1).is_ok_and(|product| product.ends() != side(job, party));
    chooses && bounds(job, party).ok() == job.integers().ok().map(|integers| integers.range())
}
