//! Common code of jobs with noise: who adds it, when it is drawn, and what is said of it. Each party whose rows are
//! protected adds its own to its shares, before these are compared or opened.

use serde_json::{Value, json};
use tacita_core::primitive::noise::{NoiseLaw, decimal};
use tacita_core::protocol::dot::Shares;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol, Quality};
use crate::base::random::fresh_rng;
use crate::base::text::names;

/// Runs in which an error bar holds.
pub(crate) const ERROR_BAR: &str = "95 of 100 runs";

/// Noise that a party has drawn: one integer for each number.
pub(crate) type DrawnNoise = Option<Zeroizing<Vec<i128>>>;

/// Refuses all protocols but the one that adds noise, and what would tell exact numbers beside it.
pub(crate) fn check(job: &JobSpec, protocol: Protocol) -> Result<()> {
    if !job.protocol.is_auto() && job.protocol != protocol {
        return bad(format!(
            "noise: protocol = \"{}\" does not add it: use \"{}\" or \"auto\"",
            job.protocol.name(),
            protocol.name()
        ));
    }
    let exact = [
        ("limits.min_rows", job.limits.min_rows.is_some(), "it compares an exact number"),
        ("limits.max_null", job.limits.max_null.is_some(), "it compares an exact number"),
        ("limits.max_unreadable", job.limits.max_unreadable.is_some(), "it compares an exact number"),
        ("quality", job.quality == Quality::Told, "it tells exact numbers"),
    ];
    match exact.into_iter().find(|(_, given, _)| *given) {
        Some((key, _, why)) => {
            bad(format!("{key} is not available with noise, because {why}: leave one of the two out"))
        }
        None => Ok(()),
    }
}

/// Returns the parties that add noise.
pub(crate) fn adders(job: &JobSpec) -> Vec<&str> {
    job.parties.names().into_iter().filter(|name| job.adds_noise(name)).collect()
}

/// Draws the noise that this party adds, when its table is read: how long that takes may hint at what is drawn.
pub(crate) fn drawn(job: &JobSpec, me: &str, law: Option<NoiseLaw>) -> Result<DrawnNoise> {
    law.filter(|_| job.adds_noise(me)).map(|law| Ok(law.draw(&mut fresh_rng()?))).transpose()
}

/// Adds the noise of this party to its shares.
///
/// Errors ([`Error::Internal`]): it was added to others before.
pub(crate) fn added(job: &JobSpec, me: &str, shares: Shares, drawn: DrawnNoise) -> Result<Shares> {
    match (job.adds_noise(me), drawn) {
        (false, _) => Ok(shares),
        _ if shares.is_empty() => Ok(shares),
        (true, Some(noise)) if noise.len() == shares.len() => Ok(shares.plus(&noise)),
        (true, _) => Err(Error::Internal("noise that is not for these shares".into())),
    }
}

/// Returns the entry of the report about noise, in a job with some.
pub(crate) fn report(job: &JobSpec, within: impl FnOnce() -> Result<Value>) -> Result<Option<Value>> {
    let Some(noise) = &job.noise else { return Ok(None) };
    let privacy = noise.privacy()?;
    let mut report = json!({
        "epsilon": decimal::write(privacy.epsilon(), decimal::EPSILON),
        "delta": decimal::write(privacy.delta(), decimal::DELTA),
        "added_by": adders(job),
        "within": within()?,
        "in": ERROR_BAR,
    });
    // With the number of common rows.
    if let Some(loss) = job.full_loss()?.filter(|_| job.hides_rows()) {
        report["in_all"] = json!({
            "epsilon": decimal::write(loss.epsilon, decimal::EPSILON),
            "delta": decimal::write(loss.delta, decimal::DELTA),
        });
    }
    Ok(Some(report))
}

/// Returns the sentence on noise and the error bar that it makes.
pub(crate) fn error_bar(job: &JobSpec, within: &str) -> String {
    format!(
        "Noise is added by {}. Each number is within {within} of the exact one, over numbers within bounds, in {ERROR_BAR}. It can be negative.",
        names(&adders(job))
    )
}

/// Returns sentences on the limits of noise for `party`.
pub(crate) fn limits(party: &str, peer: &str, what: &str, by_ids: bool) -> Vec<String> {
    let mut learned = vec![format!(
        "{party} can come closer to the exact numbers by repeated runs. Their noise averages out, and their privacy loss adds up."
    )];
    learned.push(format!("{party} can learn more if it breaks the protocol, or from how long {peer} takes."));
    if by_ids {
        learned.push(format!("Noise hides the {what} of {peer}'s rows. It does not hide which rows there are."));
    }
    learned
}
