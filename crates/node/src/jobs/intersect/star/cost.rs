//! What it costs, and how much memory it takes.

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::Result;

use super::params;
use crate::agreement::cost::{Calibration, Cost, RoleCost};
use crate::agreement::{JobSpec, Sizes};
use crate::jobs::intersect::choose::ASSUMED;
use crate::jobs::on_disk::memory::FIXED_BYTES;

/// Of [`Calibration::vole_item`], what the leader does for each of its items and for each link; what each other does for an item of
/// the leader; and for one of its own: measured with a profiler.
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

/// What the protocol costs all.
pub fn cost(job: &JobSpec, sizes: &BTreeMap<String, Sizes>, machine: &Calibration) -> Result<Cost> {
    let params = params(job, sizes)?;
    let names = job.parties.names();
    let asked = params.items[params.leader] as f64;
    let planes = 1.0 + params.givers.iter().filter(|gives| gives.party != params.leader).count() as f64;
    let mut roles = BTreeMap::new();
    for (place, name) in names.iter().enumerate() {
        let others = (0..names.len()).filter(|other| *other != place);
        let bytes = others.map(|other| params.bytes_sent_by(place, other)).sum::<Result<u64>>()?;
        let extra = PLANE * (planes - 1.0);
        let cpu = match place == params.leader {
            _ if params.is_empty() => 0.0,
            true => (names.len() - 1) as f64 * (machine.vole_start + (LEADER + extra) * machine.vole_item * asked),
            false => {
                let own = params.items[place] as f64;
                machine.vole_start + machine.vole_item * (OTHER * asked + (OWN + extra) * own)
            }
        };
        roles.insert((*name).to_owned(), RoleCost { cpu, bytes, ..RoleCost::default() });
    }
    Ok(Cost { roles, rounds: params.rounds(), ..Cost::default() })
}

/// What is assumed of the slowest line, in bits a second.
const SLOW_LINE: f64 = 1e6;

/// What is assumed of the slowest machine, beside one on which an item of `vole` takes this.
const SLOW: Calibration = Calibration { vole_start: 1.0, vole_item: 50e-6, ..ASSUMED };

/// How long the parties may take together, on slow machines and lines: some wait for all of it.
pub fn longest(job: &JobSpec, sizes: &BTreeMap<String, Sizes>) -> Result<Duration> {
    let params = params(job, sizes)?;
    let cost = cost(job, sizes, &SLOW)?;
    // What the leader forwards is at most what it was given.
    let forwarded: u64 = params.givers.iter().map(|gives| gives.rows as u64 * (gives.row_bytes as u64 + 4)).sum();
    let bytes = cost.roles.values().map(|role| role.bytes).sum::<u64>() + forwarded * params.learners.len() as u64;
    let cpu: f64 = cost.roles.values().map(|role| role.cpu).sum();
    Ok(Duration::from_secs_f64(cpu + bytes as f64 * 8.0 / SLOW_LINE))
}

/// Memory of a party, its table aside, in bytes: an estimate from above.
pub fn memory(job: &JobSpec, me: &str, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
    let params = params(job, sizes)?;
    let me = job.parties.position(me).unwrap_or_default();
    let items = |place: usize| params.items[place] as u64;
    let planes = 1 + params.givers.iter().filter(|gives| gives.party != params.leader).count() as u64;
    let entries = |gives: &tacita_core::protocol::intersect::star::Gives| {
        (gives.rows as u64).saturating_mul(3 * gives.row_bytes as u64 + 160)
    };
    let bytes = match me == params.leader {
        true => {
            let links = (params.items.len() - 1) as u64;
            let stores = (0..params.items.len()).filter(|place| *place != me).map(|place| items(place) * 21 * planes);
            let own = items(me).saturating_mul(LEADER_BYTES + links * (LINK_BYTES + 16 * planes));
            // What it forwards is there once more for each who hears it, in memory that doubles as it grows.
            let heard = 2 * (params.learners.len() as u64 - 1);
            let forwarded = params.givers.iter().map(|gives| gives.rows as u64 * (gives.row_bytes as u64 + 4) * heard);
            let received = params.givers.iter().map(entries).sum::<u64>().saturating_add(forwarded.sum());
            own.saturating_add(stores.sum()).saturating_add(received)
        }
        false => {
            let own = items(me).saturating_mul(OWN_BYTES + 64 * planes);
            let given = params.givers.iter().filter(|gives| gives.party == me || params.learners.contains(&me));
            let asked = items(params.leader).saturating_mul(OTHER_BYTES);
            asked.saturating_add(own).saturating_add(given.map(entries).sum())
        }
    };
    Ok(bytes.saturating_add(FIXED_BYTES))
}
