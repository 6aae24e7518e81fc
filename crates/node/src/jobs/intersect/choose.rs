//! What `auto` stands for in an intersection.

use tacita_core::protocol::intersect::{ecdh, vole};
use tacita_core::{Result, Role, Security};

use crate::agreement::{Choice, Chosen, FAR_BANDWIDTH, JobSpec, Network, Protocol, Reveal, Sizes};
use crate::jobs::intersect;
use crate::jobs::intersect::disk;

/// What is assumed of machines where only an order of magnitude matters: CPU time that an item costs in one pass of `ecdh`, and
/// in all of `vole`, and what `vole` costs before the first item.
const ECDH_PASS: f64 = 35e-6;
const VOLE_ITEM: f64 = 0.8e-6;
const VOLE_START: f64 = 50e-3;

pub(crate) fn choose_intersection(job: &JobSpec, me: &str, own: &Sizes, theirs: &Sizes, network: Network) -> Choice {
    let settled = |protocol, why: &str| Choice { chosen: Chosen::only(protocol), why: why.into() };
    match job.protocol {
        Protocol::Auto => (),
        named => return settled(named, "the job names it"),
    }
    if let Some(protocol) = disk::resumed(own, theirs).and_then(|name| name.parse().ok()) {
        return settled(protocol, "the run began with it");
    }
    match job.reveal {
        Reveal::Count => return settled(Protocol::Ecdh, "a count needs a protocol whose sender shuffles its answers"),
        Reveal::Sum(_) => return settled(Protocol::Ecdh, "a sum needs a protocol whose sender shuffles its answers"),
        _ => (),
    }
    if job.security == Security::Malicious {
        return settled(Protocol::Vole, "it holds against parties that cheat");
    }
    if own.epoch.is_some() || theirs.epoch.is_some() {
        return settled(Protocol::Ecdh, "the sender's part was prepared");
    }
    // Of a line of which nothing is known the slower speed is taken: sets for which that makes a difference are small, and a
    // round trip that a busy machine lengthens does not change the protocol.
    let network = Network { bandwidth: Some(network.bandwidth.unwrap_or(FAR_BANDWIDTH as u64)), ..network };
    let params = intersect::params(job, me, own, theirs);
    let (asked, sent) = (params.receiver_items as f64, params.sender_entries as f64);
    let returned = ecdh::ReturnedRows::default();
    let by_ecdh = network.seconds(
        ECDH_PASS * (asked + asked.max(sent)),
        params.bytes_sent_by(Role::Receiver, returned) + params.bytes_sent_by(Role::Sender, returned),
        params.rounds(returned),
    );
    let by_vole = || -> Result<f64> {
        let params = vole::Params::new(params, job.security)?;
        let bytes = params.bytes_sent_by(Role::Receiver, returned)? + params.bytes_sent_by(Role::Sender, returned)?;
        Ok(network.seconds(VOLE_START + VOLE_ITEM * (asked + sent), bytes, params.rounds(returned)))
    };
    match by_vole() {
        Ok(by_vole) if by_vole < by_ecdh => {
            settled(Protocol::Vole, "the fastest for sets of this size; its start pays off")
        }
        _ => settled(Protocol::Ecdh, "fewest rounds and bytes for sets so small"),
    }
}
