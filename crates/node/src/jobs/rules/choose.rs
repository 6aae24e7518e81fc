//! Resolution of `auto` in association rules.

use std::collections::BTreeMap;

use tacita_core::Result;

use crate::agreement::{Choice, Chosen, Network, Sizes};
use crate::jobs::aligned;
use crate::jobs::dot::methods::{self, lattice, ot};
use crate::jobs::rules::spec::RulesJob;

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
    let cheapest = ot::cheapest(network);
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
