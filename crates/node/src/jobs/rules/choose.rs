//! What `auto` stands for in association rules.

use tacita_core::protocol::dot::ot::Extension;

use crate::agreement::{Choice, Chosen, FAR_BANDWIDTH, NEAR_BANDWIDTH, Network, Protocol, Sizes};
use crate::jobs::dot;
use crate::jobs::dot::choose::EXTENSIONS;
use crate::jobs::intersect::choose::choose_intersection;
use crate::jobs::rules::spec::Spec;

/// The bandwidth in bits a second that rules assume where a level can go by either protocol; both parties know how transfers
/// are made, and the network was looked at for that.
pub fn bandwidth_for(extension: Option<Extension>) -> f64 {
    match extension {
        Some(Extension::SoftSpoken(..8)) => NEAR_BANDWIDTH,
        _ => FAR_BANDWIDTH,
    }
}

/// What multiplies in rules. How many products there are depends on what is frequent, so that each level has its own
/// choice; how transfers are made depends on the network alone.
pub(crate) fn choose_rules(job: &Spec<'_>, me: &str, own: &Sizes, theirs: &Sizes, network: Network) -> Choice {
    let alignment = job.alignment().map(|job| choose_intersection(&job, me, own, theirs, network).chosen.protocol);
    let settled =
        |protocol, extension, why: &str| Choice { chosen: Chosen { protocol, extension, alignment }, why: why.into() };
    if job.protocol == Protocol::Lattice || job.protocol.is_published() {
        return settled(job.protocol, None, "the job names it");
    }
    if let Some(extension) = job.own.extension {
        return settled(Protocol::Ot, Some(extension), "the job names how its oblivious transfers are made");
    }
    let seconds = |extension: Extension| match extension {
        // A transfer of SoftSpoken has 128 / k bits.
        Extension::SoftSpoken(k) => {
            Some((extension, dot::transfer_seconds(extension) / 2.0 + 128.0 / k as f64 / network.bandwidth()))
        }
        Extension::Silent => None,
    };
    let cheapest = EXTENSIONS.into_iter().filter_map(seconds).min_by(|one, other| one.1.total_cmp(&other.1));
    let cheapest = cheapest.map_or(Extension::SoftSpoken(4), |(extension, _)| extension);
    match job.protocol {
        Protocol::Ot => settled(Protocol::Ot, Some(cheapest), "its transfers are the cheapest over this network"),
        _ => settled(Protocol::Lattice, Some(cheapest), "each level by the faster of both over this network"),
    }
}
