//! The protocol, in the role that the job gives to a party.

use rand_core::CryptoRng;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::ecdh::{self, Domain};
use tacita_core::protocol::intersect::{bloom, vole};
use tacita_core::{Error, Item, Result};

use crate::agreement::handshake::Agreed;
use crate::agreement::{JobSpec, Protocol, Reveal};
use crate::jobs::intersect::found::{Found, found_payload};
use crate::jobs::intersect::load::Loaded;
use crate::jobs::intersect::sizes::{bloom_params, epoch, item_key_of_epoch, params};
use crate::jobs::intersect::{Brought, disk, prepared};

/// Runs the protocol in the role that the job gives to `me`.
pub fn run(
    job: &JobSpec,
    me: &str,
    brought: &Brought,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Found> {
    if disk::is_bucketed(&agreed.own_sizes, &agreed.peer_sizes) {
        return run_buckets(job, me, brought, agreed, channel, rng);
    }
    let params = params(job, me, &agreed.own_sizes, &agreed.peer_sizes);
    let loaded = match brought {
        Brought::Prepared(prepared) => return prepared.send(job, me, &params, channel),
        Brought::Table(loaded) => loaded,
        Brought::Disk(_) => return Err(Error::Internal("a table on disk in a run in memory".into())),
    };
    let (item_key, domain) = match epoch(&agreed.peer_sizes) {
        Some(epoch) => {
            let epoch = prepared::bound_epoch(job, job.peer_of(me), &epoch);
            (item_key_of_epoch(&epoch), Domain::of_epoch(&epoch))
        }
        None => (agreed.session.derive("item"), Domain::of_session(&agreed.session)),
    };
    let items = loaded.items(&item_key);
    let receives = me == job.receiver();
    if agreed.chosen.protocol == Protocol::Vole {
        let params = vole::Params::new(params, job.security)?;
        return run_vole(job, me, loaded, &items, &params, agreed, channel, rng);
    }
    if agreed.chosen.protocol == Protocol::Bloom {
        let params = bloom_params(job, &params)?;
        return match receives {
            true => Ok(Found::Rows(bloom::receive(&items, &params, &agreed.session, channel, rng)?)),
            false => bloom::send(&items, &params, &agreed.session, channel, rng).map(|()| Found::Nothing),
        };
    }
    match (&job.reveal, receives) {
        (Reveal::Rows, true) => Ok(Found::Rows(ecdh::rows::receive(&items, &domain, &params, channel, rng)?)),
        (Reveal::Rows, false) => {
            let common = ecdh::rows::send(&items, &domain, &params, channel, rng)?;
            Ok(common.map_or(Found::Nothing, Found::Rows))
        }
        (Reveal::Count, true) => {
            let count = ecdh::count::receive(&items, &agreed.session, &params, channel, rng)?;
            Ok(Found::Count(count as u64))
        }
        (Reveal::Count, false) => {
            let count = ecdh::count::send(&items, &agreed.session, &params, channel, rng)?;
            Ok(count.map_or(Found::Nothing, |count| Found::Count(count as u64)))
        }
        (Reveal::Sum(_), true) => Ok(Found::Sum(ecdh::sum::receive(&items, &agreed.session, &params, channel, rng)?)),
        (Reveal::Sum(_), false) => {
            let total = ecdh::sum::send(&items, loaded.numbers_to_send()?, &agreed.session, &params, channel, rng)?;
            Ok(total.map_or(Found::Nothing, Found::Sum))
        }
        (Reveal::Payload, true) => {
            let common = ecdh::payload::receive(&items, loaded.given_rows(), &domain, &params, channel, rng)?;
            found_payload(job, me, common, &agreed.peer_sizes)
        }
        (Reveal::Payload, false) => {
            let rows = loaded.rows_to_send(items.len())?;
            let common = ecdh::payload::send(&items, &rows, &domain, &params, channel, rng)?;
            common.map_or(Ok(Found::Nothing), |common| found_payload(job, me, common, &agreed.peer_sizes))
        }
        (reveal, _) => Err(Error::Internal(format!("an intersection reveals no {reveal}"))),
    }
}

/// A run in which one of the parties has its table on disk.
fn run_buckets(
    job: &JobSpec,
    me: &str,
    brought: &Brought,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Found> {
    let party = match brought {
        Brought::Disk(disk) => disk::Party::Disk(disk),
        Brought::Table(loaded) => disk::Party::Memory(&loaded.keys),
        Brought::Prepared(_) => {
            return Err(Error::Terms(format!(
                "{} has its table on disk (--work), and a prepared part answers from memory: run it here with --input \
                 instead, or there without --work",
                channel.peer()
            )));
        }
    };
    let common = disk::run(job, me, party, agreed, channel, rng)?;
    match (job.learns(me), common) {
        (false, _) => Ok(Found::Nothing),
        (true, Some(common)) => Ok(Found::Rows(common)),
        (true, None) => Ok(Found::OnDisk),
    }
}

#[expect(clippy::too_many_arguments, reason = "everything that a run has; both callers are in this file")]
fn run_vole(
    job: &JobSpec,
    me: &str,
    loaded: &Loaded,
    items: &[Item],
    params: &vole::Params,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Found> {
    let session = &agreed.session;
    match (&job.reveal, me == job.receiver()) {
        (Reveal::Rows, true) => Ok(Found::Rows(vole::rows::receive(items, session, params, channel, rng)?)),
        (Reveal::Rows, false) => {
            let common = vole::rows::send(items, session, params, channel, rng)?;
            Ok(common.map_or(Found::Nothing, Found::Rows))
        }
        (Reveal::Payload, true) => {
            let common = vole::payload::receive(items, loaded.given_rows(), session, params, channel, rng)?;
            found_payload(job, me, common, &agreed.peer_sizes)
        }
        (Reveal::Payload, false) => {
            let rows = loaded.rows_to_send(items.len())?;
            let common = vole::payload::send(items, &rows, session, params, channel, rng)?;
            common.map_or(Ok(Found::Nothing), |common| found_payload(job, me, common, &agreed.peer_sizes))
        }
        (reveal, _) => Err(Error::Internal(format!("vole reveals no {reveal}"))),
    }
}
