//! Resolution of `auto` in association rules.

use std::collections::BTreeMap;

use tacita_core::Result;
use tacita_core::protocol::dot::ot::Extension;

use crate::agreement::{Choice, Chosen, FAR_BANDWIDTH, NEAR_BANDWIDTH, Network, Sizes};
use crate::jobs::aligned;
use crate::jobs::dot::methods::ot::{self, EXTENSIONS, transfer_seconds};
use crate::jobs::dot::methods::{self, lattice};
use crate::jobs::rules::spec::RulesJob;

/// The bandwidth in bits a second that rules assume where a level can go by either protocol; both parties know how transfers
/// are made, and the network was looked at for that.
pub fn bandwidth_for(extension: Option<Extension>) -> f64 {
    match extension {
        Some(Extension::SoftSpoken(..8)) => NEAR_BANDWIDTH,
        _ => FAR_BANDWIDTH,
    }
}

/// Chooses the protocol that multiplies in rules. The number of products depends on what is frequent, so that each
/// level has its own choice. The extension for transfers depends on the network alone.
pub(crate) fn choose_rules(job: &RulesJob<'_>, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
    let alignment = aligned::choose(job.alignment().as_ref(), sizes, network)?;
    let settled = |protocol, extension, why: &str| {
        let chosen = Chosen { extension, alignment, ..Chosen::only(protocol) };
        Ok(Choice { chosen, why: why.into() })
    };
    if methods::named(job.protocol).is_some_and(|method| method.protocol() != ot::PROTOCOL) {
        return settled(job.protocol, None, "the job names it");
    }
    if let Some(extension) = job.own.extension {
        return settled(ot::PROTOCOL, Some(extension), "the job names how its oblivious transfers are made");
    }
    let seconds = |extension: Extension| match extension {
        // A transfer of SoftSpoken has 128 / k bits.
        Extension::SoftSpoken(k) => {
            Some((extension, transfer_seconds(extension) / 2.0 + 128.0 / k as f64 / network.bandwidth()))
        }
        Extension::Silent => None,
    };
    let cheapest = EXTENSIONS.into_iter().filter_map(seconds).min_by(|one, other| one.1.total_cmp(&other.1));
    let cheapest = cheapest.map_or(Extension::SoftSpoken(4), |(extension, _)| extension);
    match job.protocol {
        ot::PROTOCOL => settled(ot::PROTOCOL, Some(cheapest), "its transfers are the cheapest over this network"),
        _ => Ok(Choice {
            chosen: Chosen {
                or: Some(ot::PROTOCOL),
                extension: Some(cheapest),
                alignment,
                ..Chosen::only(lattice::PROTOCOL)
            },
            why: "each level by the faster of both over this network".into(),
        }),
    }
}
