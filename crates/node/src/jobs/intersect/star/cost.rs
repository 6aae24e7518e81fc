//! Cost and memory of the protocol.

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::Result;
use tacita_core::protocol::intersect::buckets::AttemptKind;
use tacita_core::protocol::intersect::star::{Gives, Params};

use super::{disk, params};
use crate::agreement::cost::{Calibration, Cost, RoleCost};
use crate::agreement::{JobSpec, Sizes};
use crate::jobs::intersect::choose::ASSUMED;
use crate::jobs::intersect::memory::{BUCKET_ITEM_BYTES, ITEM_IN_MEMORY_BYTES};
use crate::jobs::on_disk::memory::FIXED_BYTES;
use crate::jobs::on_disk::{SORTED_ROW, sorted_bytes};

/// Shares of [`Calibration::vole_item`], measured with a profiler. The leader's is for each of its items and each
/// link. The others' are for an item of the leader and for one of their own.
const LEADER: f64 = 0.6;
const OTHER: f64 = 0.25;
const OWN: f64 = 0.35;

/// The same for each further value that is programmed where rows are given.
const PLANE: f64 = 0.15;

/// Memory of the leader for each of its items, and for each link besides; of another for each of the leader's items and each of its
/// own, measured and rounded up.
const LEADER_BYTES: u64 = 200;
const LINK_BYTES: u64 = 160;
const OTHER_BYTES: u64 = 130;
const OWN_BYTES: u64 = 220;

/// Memory of the leader for each tag that another who learns is told, while they are put in order.
const TAG_BYTES: u64 = 128;

/// Computes the cost of the protocol for all.
pub fn cost(job: &JobSpec, sizes: &BTreeMap<String, Sizes>, machine: &Calibration) -> Result<Cost> {
    if disk::is_bucketed(sizes) {
        return cost_of_buckets(job, sizes, machine);
    }
    let params = params(job, sizes)?;
    let mut roles = BTreeMap::new();
    for (place, name) in job.parties.names().into_iter().enumerate() {
        let bytes = sent(&params.items, place, |other| params.bytes_sent_by(place, other))?;
        roles.insert(name.to_owned(), RoleCost { cpu: cpu(&params, place, machine), bytes, ..RoleCost::default() });
    }
    Ok(Cost { roles, rounds: params.rounds(), ..Cost::default() })
}

/// Computes the cost of a run on disk, including sorting and hashing.
fn cost_of_buckets(job: &JobSpec, sizes: &BTreeMap<String, Sizes>, machine: &Calibration) -> Result<Cost> {
    let params = disk::params(job, sizes)?;
    let mut roles = BTreeMap::new();
    for (place, name) in job.parties.names().into_iter().enumerate() {
        let (sizes, on_disk) = (&sizes[name], sizes[name].work.is_some());
        let bytes =
            sent(&params.bucket().items, place, |other| params.bytes_sent_by(place, other, AttemptKind::Fresh))?;
        let sorted = if on_disk { SORTED_ROW * sizes.items as f64 } else { 0.0 };
        let cpu = sorted + params.buckets() as f64 * cpu(params.bucket(), place, machine);
        let disk = on_disk.then(|| sorted_bytes(sizes.items, job.learns(name)));
        roles.insert(name.to_owned(), RoleCost { cpu, bytes, disk });
    }
    Ok(Cost { roles, rounds: params.rounds(AttemptKind::Fresh), buckets: Some(params.buckets()), ..Cost::default() })
}

/// Bytes that the party at `place` sends to all others.
fn sent(items: &[usize], place: usize, to: impl Fn(usize) -> Result<u64>) -> Result<u64> {
    (0..items.len()).filter(|other| *other != place).map(to).sum()
}

/// CPU seconds of the party at `place`.
fn cpu(params: &Params, place: usize, machine: &Calibration) -> f64 {
    let asked = params.items[params.leader] as f64;
    let extra = PLANE * params.givers.iter().filter(|gives| gives.party != params.leader).count() as f64;
    match place == params.leader {
        _ if params.is_empty() => 0.0,
        true => {
            let links = (params.items.len() - 1) as f64;
            links * (machine.vole_start + (LEADER + extra) * machine.vole_item * asked)
        }
        false => {
            let own = params.items[place] as f64;
            machine.vole_start + machine.vole_item * (OTHER * asked + (OWN + extra) * own)
        }
    }
}

/// Assumed bandwidth of the slowest line, in bits a second.
const SLOW_LINE: f64 = 1e6;

/// Calibration assumed of the slowest machine, one on which an item of `vole` takes this long.
const SLOW: Calibration = Calibration { vole_start: 1.0, vole_item: 50e-6, ..ASSUMED };

/// Returns the maximum duration for all parties together, on slow machines and lines: some wait for all of it.
pub fn longest(job: &JobSpec, sizes: &BTreeMap<String, Sizes>) -> Result<Duration> {
    let cost = cost(job, sizes, &SLOW)?;
    // What the leader forwards is at most what it was given.
    let forwarded: f64 = sizes.values().map(|sizes| sizes.entries as f64 * (f64::from(sizes.row_bytes) + 4.0)).sum();
    let sent: f64 = cost.roles.values().map(|role| role.bytes as f64).sum();
    let bytes = sent + forwarded * job.reveal_to.len() as f64;
    let cpu: f64 = cost.roles.values().map(|role| role.cpu).sum();
    Ok(Duration::try_from_secs_f64(cpu + bytes * 8.0 / SLOW_LINE).unwrap_or(Duration::MAX))
}

/// Memory of a party, its table aside, in bytes: an estimate from above.
pub fn memory(job: &JobSpec, me: &str, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
    let place = super::place(job, me)?;
    let bytes = if disk::is_bucketed(sizes) {
        let own = &sizes[me];
        let in_memory = if own.work.is_none() { own.items.saturating_mul(ITEM_IN_MEMORY_BYTES) } else { 0 };
        of_bucket(disk::params(job, sizes)?.bucket(), place).saturating_add(in_memory)
    } else {
        of_run(&params(job, sizes)?, place)
    };
    Ok(bytes.saturating_add(FIXED_BYTES))
}

/// Memory of the party at `me` for one bucket of a run in buckets, in bytes, with its items.
pub fn of_bucket(bucket: &Params, me: usize) -> u64 {
    of_run(bucket, me).saturating_add((bucket.items[me] as u64).saturating_mul(BUCKET_ITEM_BYTES))
}

/// Returns the memory of a run that grows with its items.
fn of_run(params: &Params, me: usize) -> u64 {
    let items = |place: usize| params.items[place] as u64;
    let planes = 1 + params.givers.iter().filter(|gives| gives.party != params.leader).count() as u64;
    // Peers claim these numbers, as large as they like.
    let entries = |gives: &Gives| (gives.rows as u64).saturating_mul(3 * gives.row_bytes as u64 + 160);
    let together = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
    if me == params.leader {
        let links = (params.items.len() - 1) as u64;
        let stores = (0..params.items.len()).filter(|place| *place != me).map(|place| items(place) * 21 * planes);
        let own = items(me).saturating_mul(LEADER_BYTES + links * (LINK_BYTES + 16 * planes));
        // What it forwards is there once more for each who hears it, in memory that doubles as it grows.
        let hear = params.learners.len() as u64 - 1;
        let forward = |gives: &Gives| (gives.rows as u64).saturating_mul((gives.row_bytes as u64 + 4) * 2 * hear);
        let forwarded = together(&mut params.givers.iter().map(forward));
        let tags = params.items.iter().min().map_or(0, |least| (*least as u64).saturating_mul(TAG_BYTES * hear));
        let received = together(&mut params.givers.iter().map(entries));
        let parts = [own, together(&mut { stores }), received, forwarded, tags];
        together(&mut parts.into_iter())
    } else {
        let own = items(me).saturating_mul(OWN_BYTES + 64 * planes);
        let given = params.givers.iter().filter(|gives| gives.party == me || params.learners.contains(&me));
        let asked = items(params.leader).saturating_mul(OTHER_BYTES);
        asked.saturating_add(own).saturating_add(together(&mut given.map(entries)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever all claim, what it takes is a number, and more than there is.
    #[test]
    fn claims_of_any_size_are_added_up() {
        let names: Vec<_> = (0..64).map(|number| format!("p{number}")).collect();
        let gives: Vec<_> = names.iter().map(|name| format!("{name} = [\"v\"]")).collect();
        let parties: String = names.iter().map(|name| format!("[parties.{name}]\n")).collect();
        let text = format!(
            "job = \"intersect\"\nid = \"t\"\nreveal = \"payload\"\nreveal_to = {names:?}\ngives = {{ {} }}\n[key]\ncolumns = [\"k\"]\n{parties}",
            gives.join(", ")
        );
        let job = JobSpec::parse(&text, false).unwrap();
        for (items, row_bytes) in [(u64::from(u32::MAX), 1 << 19), (1 << 31, 1 << 19), (1, 1), (0, 0)] {
            let one = Sizes { items, entries: items, row_bytes, ..Sizes::default() };
            let sizes: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), one.clone())).collect();
            for me in ["p0", "p63"] {
                // So many rows may be too many for the protocol, which is an error and no panic.
                if let Ok(bytes) = memory(&job, me, &sizes) {
                    assert!(items < 1 << 31 || bytes > 1 << 50, "{me}: {bytes}");
                }
            }
            if let Ok(longest) = longest(&job, &sizes) {
                assert!(items < 1 << 31 || longest > Duration::from_secs(1 << 30), "{longest:?}");
            }
        }
    }
}
