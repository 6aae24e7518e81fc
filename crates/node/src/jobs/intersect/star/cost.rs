//! Cost and memory of the protocol.

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::Result;
use tacita_core::protocol::intersect::buckets::AttemptKind;
use tacita_core::protocol::intersect::star::Params;

use super::memory::{of_bucket, of_run};
use super::{disk, params};
use crate::agreement::cost::{Calibration, Cost, RoleCost};
use crate::agreement::{JobSpec, Sizes};
use crate::jobs::intersect::choose::ASSUMED;
use crate::jobs::intersect::memory::ITEM_IN_MEMORY_BYTES;
use crate::jobs::on_disk::memory::FIXED_BYTES;
use crate::jobs::on_disk::{SORTED_ROW, sorted_bytes};

/// Shares of [`Calibration::vole_item`], measured with a profiler. The leader's is for each of its items and each
/// link. The others' are for an item of the leader and for one of their own.
const LEADER: f64 = 0.6;
const OTHER: f64 = 0.25;
const OWN: f64 = 0.35;

/// The same for each further value that is programmed where rows are given.
const PLANE: f64 = 0.15;

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
    let place = job.parties.place(me)?;
    let bytes = if disk::is_bucketed(sizes) {
        let own = &sizes[me];
        let in_memory = if own.work.is_none() { own.items.saturating_mul(ITEM_IN_MEMORY_BYTES) } else { 0 };
        of_bucket(disk::params(job, sizes)?.bucket(), place).saturating_add(in_memory)
    } else {
        of_run(&params(job, sizes)?, place)
    };
    Ok(bytes.saturating_add(FIXED_BYTES))
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
