//! The protocol, in the role that the job gives to a party.

use std::sync::Arc;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use super::found::IntersectResult;
use super::methods::{self, MethodContext};
use super::sizes::{epoch, item_key_of_epoch, params};
use super::{IntersectInput, Loaded, disk, pooled, prepared};
use crate::agreement::handshake::HandshakeResult;
use crate::agreement::{JobSpec, Protocol, Reveal};

/// Runs the protocol in the role that the job gives to `me`.
pub fn run(
    job: &JobSpec,
    me: &str,
    brought: &IntersectInput,
    agreed: &HandshakeResult,
    channel: &mut Channel,
    rng: &mut ChaCha20Rng,
) -> Result<IntersectResult> {
    let bucketed = disk::is_bucketed(&agreed.own_sizes, &agreed.peer_sizes);
    match brought {
        IntersectInput::Disk(disk) => disk::run(job, me, disk::TablePlace::Disk(disk), agreed, channel, rng),
        IntersectInput::Table(loaded) if bucketed => {
            disk::run(job, me, disk::TablePlace::Memory(loaded), agreed, channel, rng)
        }
        IntersectInput::Table(loaded) if job.bucket().is_some() && job.reveal == Reveal::Count => {
            pooled::run(&setting(job, me, loaded, agreed), channel, rng)
        }
        IntersectInput::Table(loaded) => {
            methods::chosen(agreed.chosen.protocol)?.run(setting(job, me, loaded, agreed), channel, rng)
        }
        IntersectInput::Prepared(_) if bucketed => Err(Error::Terms(format!(
            "{} has its table on disk (--work), and a prepared part answers from memory: run it here with --input \
             instead, or there without --work",
            channel.peer()
        ))),
        IntersectInput::Prepared(prepared) => {
            prepared.send(job, me, params(job, me, &agreed.own_sizes, &agreed.peer_sizes), channel)
        }
    }
}

/// Runs a protocol among malicious parties by each of several keys: what both bring by all of them is fixed before
/// anything is learned by one.
pub fn run_each(
    each: &[(JobSpec, IntersectInput)],
    me: &str,
    agreed: &[HandshakeResult],
    protocol: Protocol,
    channel: &mut Channel,
    rng: &mut ChaCha20Rng,
) -> Result<Vec<IntersectResult>> {
    let mut runs = Vec::new();
    for ((job, brought), agreed) in each.iter().zip(agreed) {
        let IntersectInput::Table(loaded) = brought else {
            return Err(Error::Internal("malicious parties, and a table that is not in memory".into()));
        };
        runs.push(setting(job, me, loaded, agreed));
    }
    methods::chosen(protocol)?.run_each(&runs, channel, rng)
}

/// Returns the context of a protocol in memory.
fn setting<'a>(
    job: &'a JobSpec,
    me: &'a str,
    loaded: &'a Arc<Loaded>,
    agreed: &'a HandshakeResult,
) -> MethodContext<'a> {
    let params = params(job, me, &agreed.own_sizes, &agreed.peer_sizes);
    let epoch = epoch(&agreed.peer_sizes).map(|epoch| prepared::bound_epoch(job, job.peer_of(me), &epoch));
    let item_key = epoch.as_ref().map_or_else(|| agreed.session.derive("item"), item_key_of_epoch);
    MethodContext { job, me, loaded, items: loaded.items(&item_key), epoch, params, agreed }
}
