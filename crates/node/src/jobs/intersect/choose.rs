//! Resolution of `auto` in an intersection.

use tacita_core::protocol::intersect::tag_exchange::ReturnedRows;
use tacita_core::{Level, Result, Security};

use super::methods::{self, IntersectPairMethod};
use super::sizes::params;
use super::{any, disk};
use crate::agreement::cost::Calibration;
use crate::agreement::{Choice, Chosen, FAR_BANDWIDTH, JobSpec, Network, Reveal, Sizes};
use crate::jobs::paillier::MEASURED_POWER;

/// Calibration assumed of machines if only an order of magnitude matters.
pub(super) const ASSUMED: Calibration = Calibration {
    ecdh_pass: 35e-6,
    single_pass: 35e-6,
    vole_start: 50e-3,
    vole_item: 2.5e-6,
    ot_start: 12e-3,
    ot_transfer: 35e-9,
    paillier_power: MEASURED_POWER,
    threads: 1,
};

/// Chooses the protocol that the job names, else the fastest of those that meet the job's requirements.
pub(crate) fn choose_intersection(
    job: &JobSpec,
    me: &str,
    own: &Sizes,
    theirs: &Sizes,
    network: Network,
) -> Result<Choice> {
    let settled = |method: &dyn IntersectPairMethod, why: &str| {
        Ok(Choice { chosen: Chosen::only(method.protocol()), why: why.into() })
    };
    if let Some(named) = methods::named(job.protocol) {
        let way = named.way(job, params(job, me, own, theirs))?.map_or(String::new(), |way| format!(": {way}"));
        return settled(named, &format!("the job names it{way}"));
    }
    let alternatives: Vec<_> = any::split(job, own, theirs).collect();
    let each = match &alternatives[..] {
        [] => vec![(job, own, theirs)],
        several => several.iter().map(|(job, own, theirs)| (job, *own, *theirs)).collect(),
    };
    if let Some(method) = each
        .iter()
        .find_map(|(_, own, theirs)| disk::resumed(own, [*theirs]).and_then(|kept| methods::called(&kept.protocol)))
    {
        return settled(method, "the run began with it");
    }
    let prepared = own.epoch.is_some() || theirs.epoch.is_some();
    let can = |method: &&dyn IntersectPairMethod| method.check(job).is_ok() && (method.uses_prepared() || !prepared);
    let candidates: Vec<_> =
        methods::of_two().filter(can).filter_map(|method| Some((method, method.advantage()?))).collect();
    if let [(only, _)] = candidates[..] {
        return settled(only, why_only_one(job));
    }
    // Of a line of which nothing is known the slower speed is taken: sets for which that makes a difference are small,
    // and a round trip that a busy machine lengthens does not change the protocol.
    let network = Network { bandwidth: Some(network.bandwidth.unwrap_or(FAR_BANDWIDTH as u64)), ..network };
    let seconds_of = |method: &dyn IntersectPairMethod, job: &JobSpec, own: &Sizes, theirs: &Sizes| -> Result<f64> {
        let cost = method.cost(job, params(job, me, own, theirs), ReturnedRows::default(), &ASSUMED)?;
        let (receiver, sender) = (cost.receiver, cost.sender);
        Ok(network.seconds(receiver.cpu.max(sender.cpu), receiver.bytes + sender.bytes, cost.rounds))
    };
    let seconds = |method: &dyn IntersectPairMethod| -> Result<f64> {
        each.iter().map(|(job, own, theirs)| seconds_of(method, job, own, theirs)).sum()
    };
    let (mut best, mut refused) = (None::<(f64, &dyn IntersectPairMethod, &str)>, None);
    for (method, advantage) in candidates {
        match seconds(method) {
            Ok(seconds) if best.is_none_or(|(least, ..)| seconds < least) => best = Some((seconds, method, advantage)),
            Ok(_) => (),
            // Another one may do.
            Err(error) => refused = Some(error),
        }
    }
    match (best, refused) {
        (Some((_, method, advantage)), _) => settled(method, advantage),
        (None, Some(error)) => Err(error),
        (None, None) => Err(tacita_core::Error::Internal("no protocol for an intersection".into())),
    }
}

/// Returns the reason that rules out all protocols but one.
fn why_only_one(job: &JobSpec) -> &'static str {
    match (&job.reveal, job.security) {
        _ if job.level != Level::Bits128 => "it has a group for this level",
        (Reveal::Count, _) => "a count needs a protocol whose sender shuffles its answers",
        (Reveal::Sum(_), _) => "a sum needs a protocol whose sender shuffles its answers",
        (_, Security::Malicious) => "it holds against parties that cheat",
        _ => "the sender's part was prepared",
    }
}
