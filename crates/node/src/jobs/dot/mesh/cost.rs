//! Cost and memory of products among more than two.

use std::collections::BTreeMap;

use tacita_core::Result;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::reveal_bytes;
use tacita_core::protocol::mesh::MeshOts;

use super::{k, learners, products};
use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, MEASURED, RoleCost};
use crate::agreement::{Chosen, Reveal, Sizes};
use crate::jobs::aligned::RowAlignment;
use crate::jobs::aligned::cost::most_rows_among;
use crate::jobs::dot::methods::ot::{START, WORD, transfer_seconds};
use crate::jobs::dot::spec::DotJob;
use crate::jobs::intersect;

/// Transfers, messages and what else does not depend on the job.
const BASE_MEMORY: u64 = 64 << 20;

/// Computes the cost of the job to all parties.
pub(super) fn cost(
    job: &DotJob<'_>,
    chosen: &Chosen,
    sizes: &BTreeMap<String, Sizes>,
    machine: &Calibration,
) -> Result<Cost> {
    let mut cost = of_products(job, chosen, sizes, Some(machine))?;
    if let Some(RowAlignment { ids, .. }) = job.alignment() {
        // Its bytes have the closing frames.
        return Ok(intersect::star::star_cost(&ids, sizes, machine)?.and(cost));
    }
    let links = job.parties.0.len() as u64 - 1;
    cost.roles.values_mut().for_each(|role| role.bytes += links * CLOSE_BYTES);
    Ok(cost)
}

/// Computes the cost of the products, and of what is opened, closing frames aside.
pub(super) fn of_products(
    job: &DotJob<'_>,
    chosen: &Chosen,
    sizes: &BTreeMap<String, Sizes>,
    machine: Option<&Calibration>,
) -> Result<Cost> {
    let (plan, k) = (products(job, most_rows_among(job, job.own.row_id.is_some(), sizes)?)?, k(chosen)?);
    let learners = if job.reveal == Reveal::Value { learners(job)? } else { Vec::new() };
    let relative = transfer_seconds(Extension::SoftSpoken(k)) / transfer_seconds(MEASURED);
    let (start, transfer) =
        machine.map_or((START, transfer_seconds(MEASURED)), |machine| (machine.ot_start, machine.ot_transfer));
    let shared =
        WORD * plan.parties().len().saturating_sub(1) as f64 / job.columns_of(job.parties.names()[0]).len() as f64;
    let mut roles = BTreeMap::new();
    for name in job.parties.names() {
        let me = job.parties.place(name)?;
        let mut role = RoleCost::default();
        for peer in (0..job.parties.0.len()).filter(|peer| *peer != me) {
            let opened = if learners.contains(&peer) { reveal_bytes(plan.modulus(), plan.parties().len()) } else { 0 };
            role.bytes += MeshOts::setup_bytes(k, me, peer)? + plan.bytes_sent(k, me, peer)? + opened;
            role.cpu += start + plan.transfers_between(me, peer) as f64 * (transfer * relative + shared) / 2.0;
        }
        roles.insert(name.to_owned(), role);
    }
    Ok(Cost { roles, rounds: plan.rounds() + u32::from(!learners.is_empty()), ..Cost::default() })
}

/// Memory that the keys of one product's words take on one link: of two hashes, in portable AES.
const KEY_BYTES: u64 = 2 * 768;

/// Memory besides the table, in bytes, an estimate from above.
pub(super) fn memory(job: &DotJob<'_>, me: &str, _chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
    let own = sizes[me].items;
    let bits = if job.integers()?.bits() == 1 { 1 } else { 32 };
    let columns = own * job.columns_of(me).len() as u64 * bits / 8;
    // At most as many rows as this party has: what peers claim does not count.
    let plan = products(job, own as usize)?;
    let links = job.parties.0.len() as u64 - 1;
    let held = plan.held_bytes() * (links + 1) + KEY_BYTES * plan.most_words() as u64 * links;
    let alignment = match job.alignment() {
        Some(RowAlignment { ids, .. }) => ids.job.memory(&ids, me, &Chosen::only(intersect::star::PROTOCOL), sizes)?,
        None => 0,
    };
    Ok(BASE_MEMORY + 2 * columns + held + alignment)
}
