//! Cost of the protocol through a helper.

use std::collections::BTreeMap;

use tacita_core::Result;
use tacita_core::primitive::elgamal::small;
use tacita_core::protocol::intersect::outsourced::{OutsourcedGives, OutsourcedReveal, Params};

use super::{PROTOCOL, helper_learns, params};
use crate::agreement::JobSpec;
use crate::agreement::cost::{Calibration, Cost, HelperCost, RoleCost};

/// Passes of `ecdh` that an item costs the leader and another party, measured with points multiplied eight at a time;
/// and those that values cost the two besides.
const LEADER: f64 = 5.0;
const OTHER: f64 = 5.9;
const SUM: [f64; 2] = [2.7, 5.9];
const COUNTS: [f64; 2] = [6.1, 8.6];

/// Passes that the masks of one giver cost the leader, another party and the helper; and those that a giver needs for
/// its own besides, then those with one point after the other. Estimates by the products that each computes.
const MASKS: [f64; 3] = [5.0, 4.5, 3.0];
const GIVING: [f64; 2] = [2.0, 1.3];

/// Passes with one point after the other that an item costs a party that does not lead: its stores are solved so.
const ALONE: f64 = 1.3;

/// Passes of `ecdh` that a step costs the leader by which it finds a sum, and steps for each of its table.
const STEP: f64 = 0.1;
const STEPS: f64 = 2.5;

/// Passes of `ecdh` that an item of one party costs the helper.
const HELPED: f64 = 0.33;

/// Memory for each item of the bound, and besides, in bytes: a table by which a sum is found not counted.
const ITEM_BYTES: u64 = 2048;
const FIXED_BYTES: u64 = 32 << 20;

/// Memory for each item and giver besides.
const MASK_BYTES: u64 = 1536;

/// Computes the cost of the protocol for all.
pub fn cost(job: &JobSpec, machine: &Calibration) -> Result<Cost> {
    let params = params(job)?;
    let bound = params.bound() as f64;
    let [leaders, others] = match params.reveal() {
        OutsourcedReveal::Rows | OutsourcedReveal::Payload | OutsourcedReveal::Count => [0.0; 2],
        OutsourcedReveal::Sum { .. } => SUM,
        OutsourcedReveal::Counts { .. } => COUNTS,
    };
    let givers = params.gives().len() as f64;
    let masks = MASKS.map(|passes| passes * givers);
    let mut roles = BTreeMap::new();
    for (place, name) in job.parties.names().into_iter().enumerate() {
        let leads = place == params.leader();
        let cpu = if leads {
            machine.ecdh_pass * (bound * (LEADER + leaders + masks[0]) + STEP * STEPS * most_steps(&params) as f64)
        } else {
            let gives = params.gives().iter().any(|gives| gives.party == place);
            let [own, alone] = if gives { GIVING } else { [0.0; 2] };
            bound * (machine.ecdh_pass * (OTHER + others + masks[1] + own) + machine.single_pass * (ALONE + alone))
        };
        let bytes = params.bytes_left_by(place)?;
        roles.insert(name.to_owned(), RoleCost { cpu, bytes, ..RoleCost::default() });
    }
    let [sent, received] = params.helper_bytes()?;
    let cpu = machine.ecdh_pass * bound * (HELPED * (job.parties.0.len() - 1) as f64 + masks[2]);
    let helper = Some(HelperCost { cpu, sent, received, learns: helper_learns(PROTOCOL) });
    Ok(Cost { roles, rounds: params.rounds(), helper, ..Cost::default() })
}

/// Rows of the table by which the leader finds a sum, if it is the largest that there may be.
fn most_steps(params: &Params) -> u64 {
    match params.reveal() {
        OutsourcedReveal::Sum { bits, .. } => small::most_steps((params.bound() as u64) << bits),
        _ => 0,
    }
}

/// Memory of a party, its table aside, in bytes: an estimate from above.
pub fn memory(job: &JobSpec, me: &str) -> Result<u64> {
    let params = params(job)?;
    let search = if me == job.receiver() { small::STEP_BYTES * most_steps(&params) } else { 0 };
    let of_gives = |gives: &OutsourcedGives| {
        // Rows are held by who gives or gets them: as they are, sealed, and in parts and tables.
        let holds = me == job.receiver() || job.parties.position(me) == Some(gives.party);
        let held = if holds { 5 * gives.row_bytes as u64 } else { 0 };
        params.bound() as u64 * (MASK_BYTES + held)
    };
    let given: u64 = params.gives().iter().map(of_gives).sum();
    Ok(memory_of_items(job).saturating_add(search).saturating_add(given))
}

/// Returns the memory that grows with the bound, plus the memory that is needed whatever the bound.
pub fn memory_of_items(job: &JobSpec) -> u64 {
    job.limits.pad_to.unwrap_or_default().saturating_mul(ITEM_BYTES).saturating_add(FIXED_BYTES)
}
