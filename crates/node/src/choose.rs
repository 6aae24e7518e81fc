//! Which protocol `auto` stands for.

use std::time::Duration;

use tacita_core::protocol::intersect::{ecdh, vole};
use tacita_core::{Result, Security};

use crate::agree::Sizes;
use crate::intersect;
use crate::job::{JobSpec, Protocol, Reveal};

/// A protocol, and why.
pub struct Choice {
    /// Never [`Protocol::Auto`].
    pub protocol: Protocol,
    /// For the plan.
    pub why: String,
}

/// What is assumed of machines and networks where only an order of magnitude matters: CPU time that an item costs in one
/// pass of `ecdh`, and in all of `vole`, and what `vole` costs before the first item; bits a second.
const ECDH_PASS: f64 = 35e-6;
const VOLE_ITEM: f64 = 0.8e-6;
const VOLE_START: f64 = 50e-3;
const BANDWIDTH: f64 = 100e6;

/// Whether the terms allow the peer to choose `protocol`: one that reveals what they say, with the security that they ask.
pub fn allowed(job: &JobSpec, protocol: Protocol) -> bool {
    let named = job.protocol == Protocol::Auto || job.protocol == protocol;
    named
        && match protocol {
            Protocol::Auto => false,
            Protocol::Ecdh => job.security == Security::SemiHonest,
            Protocol::Vole => job.reveal != Reveal::Count,
        }
}

/// The protocol for a job between `me` and its peer, over a network with this round trip. Both parties get the same one
/// for the same sizes and round trip; in a run the first party's choice holds.
pub fn choose(job: &JobSpec, me: &str, own: &Sizes, theirs: &Sizes, round_trip: Duration) -> Choice {
    let settled = |protocol, why: &str| Choice { protocol, why: why.into() };
    match job.protocol {
        Protocol::Auto => (),
        named => return settled(named, "the job names it"),
    }
    if job.reveal == Reveal::Count {
        return settled(Protocol::Ecdh, "a count needs a protocol whose sender shuffles its answers");
    }
    if job.security == Security::Malicious {
        return settled(Protocol::Vole, "it holds against parties that cheat");
    }
    if own.epoch.is_some() || theirs.epoch.is_some() {
        return settled(Protocol::Ecdh, "the sender's part was prepared");
    }
    let params = intersect::params(job, me, own, theirs);
    let (asked, sent) = (params.receiver_items as f64, params.sender_entries as f64);
    let seconds = |cpu: f64, bytes: u64, rounds: u32| {
        cpu + bytes as f64 * 8.0 / BANDWIDTH + f64::from(rounds) / 2.0 * round_trip.as_secs_f64()
    };
    let returned = ecdh::ReturnedRows::default();
    let by_ecdh = seconds(
        ECDH_PASS * (asked + asked.max(sent)),
        params.bytes_sent_by_receiver(returned) + params.bytes_sent_by_sender(),
        params.rounds(returned),
    );
    let by_vole = || -> Result<f64> {
        let params = vole::Params::new(params, job.security)?;
        let bytes = params.bytes_sent_by_receiver(returned)? + params.bytes_sent_by_sender()?;
        Ok(seconds(VOLE_START + VOLE_ITEM * (asked + sent), bytes, params.rounds(returned)))
    };
    match by_vole() {
        Ok(by_vole) if by_vole < by_ecdh => {
            settled(Protocol::Vole, "the fastest for sets of this size; its start pays off")
        }
        _ => settled(Protocol::Ecdh, "fewest rounds and bytes for sets so small"),
    }
}
