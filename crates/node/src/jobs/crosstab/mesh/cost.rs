//! Cost of a cross table of three, for an assumed number of categories.

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::Result;
use tacita_core::channel::HEADER_BYTES;
use tacita_core::protocol::crosstab::{Params, mesh};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::reveal_bytes;
use tacita_core::protocol::mesh::{Heard, MeshOts};

use super::{MEASURE, PARTIES, Roles, WITH_CATEGORIES, counts_plan, sums_plan};
use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, MEASURED, RoleCost};
use crate::agreement::{Chosen, Sizes};
use crate::base::text;
use crate::jobs::aligned::RowAlignment;
use crate::jobs::aligned::cost::most_rows_among;
use crate::jobs::crosstab::cost::{ASSUMED, GATE};
use crate::jobs::crosstab::spec::CrosstabJob;
use crate::jobs::dot::mesh::k;
use crate::jobs::dot::methods::ot::{WORD, transfer_seconds};
use crate::jobs::intersect;

/// Assumption of a plan, as it says it.
const ASSUMPTION: &str = "; 10 categories of each of two parties are assumed, and all cells open";

/// Computes the cost to all parties.
pub(in crate::jobs::crosstab) fn cost(
    chosen: &Chosen,
    job: &CrosstabJob<'_>,
    sizes: &BTreeMap<String, Sizes>,
    machine: &Calibration,
) -> Result<Cost> {
    let rows = most_rows_among(job, job.own.row_id.is_some(), sizes)?;
    let mut cost = of_categories(chosen, job, rows, ASSUMED, machine)?;
    let of_twenty = of_categories(chosen, job, rows, 2 * ASSUMED, machine)?;
    let bytes = of_twenty.roles.values().map(|role| role.bytes).sum();
    let cpu = of_twenty.roles.values().map(|role| role.cpu).fold(0.0, f64::max);
    cost.notes.push(format!(
        "With {0} categories of each of two parties, {0} x {0} cells, it is {1} of traffic and about {2} of CPU of each party.",
        2 * ASSUMED,
        text::bytes(bytes),
        text::duration(Duration::from_secs_f64(cpu))
    ));
    match job.alignment() {
        // Its bytes have the closing frames.
        Some(RowAlignment { ids, .. }) => cost = intersect::star::star_cost(&ids, sizes, machine)?.and(cost),
        None => cost.roles.values_mut().for_each(|role| role.bytes += (PARTIES as u64 - 1) * CLOSE_BYTES),
    }
    cost.assumed = Some(ASSUMPTION);
    Ok(cost)
}

/// The party with the measure: as the job file maps it, else the last.
fn assumed_roles(job: &CrosstabJob<'_>) -> Roles {
    let has = |party: &&str| {
        let own = job.parties.get(party);
        job.measure().column().is_some_and(|column| own.is_some_and(|own| own.columns.contains_key(column)))
    };
    let measure = job.parties.names().iter().position(has).unwrap_or(PARTIES - 1);
    let mut others = (0..PARTIES).filter(|party| *party != measure);
    Roles([measure, others.next().unwrap_or_default(), others.next().unwrap_or_default()])
}

/// Cost of a table with so many categories of each of two parties, closing frames and names aside.
fn of_categories(
    chosen: &Chosen,
    job: &CrosstabJob<'_>,
    rows: usize,
    each: usize,
    machine: &Calibration,
) -> Result<Cost> {
    let params = Params { rows, first: each, second: each, minimum: job.min_cell(), tail: 0 };
    let (roles, k) = (assumed_roles(job), k(chosen)?);
    let plans = [counts_plan(&params)?, sums_plan(&params, &vec![false; params.cells()], job)?];
    let relative = transfer_seconds(Extension::SoftSpoken(k)) / transfer_seconds(MEASURED);
    let mut cost = Cost::default();
    for me in 0..PARTIES {
        let mut role = RoleCost::default();
        for peer in (0..PARTIES).filter(|peer| *peer != me) {
            let learns = |role: usize| job.learns(job.parties.names()[roles.0[role]]);
            // Who has what, how many categories there are, and which cells close, with what others have heard of it.
            role.bytes += (2 * HEADER_BYTES + job.used().len() + size_of::<u32>()) as u64;
            role.bytes += 2 * Heard::bytes(PARTIES) + Heard::bytes(1);
            role.bytes +=
                MeshOts::setup_bytes(k, me, peer)? + mesh::closed_bytes(&params, WITH_CATEGORIES, k, me, peer)?;
            role.cpu += machine.ot_start + GATE * params.products()? as f64;
            for (plan, of_sums) in plans.iter().zip([false, true]) {
                role.bytes += plan.bytes_sent(k, me, peer)?;
                if learns(peer) && (me != MEASURE || of_sums) && (peer != MEASURE || !of_sums) {
                    role.bytes += reveal_bytes(plan.modulus(), params.cells());
                }
                let words = WORD * (params.cells() * rows) as f64 / (PARTIES - 1) as f64;
                role.cpu += plan.transfers_between(me, peer) as f64 * machine.ot_transfer * relative / 2.0 + words;
            }
            let results = match [me, peer].map(|role| (learns(role), role != MEASURE)) {
                [(true, true), (true, true)] => PARTIES + 2,
                [(true, _), (true, _)] => PARTIES + 1,
                _ => 0,
            };
            role.bytes += if results > 0 { Heard::bytes(results) } else { 0 };
        }
        cost.roles.insert(job.parties.names()[roles.0[me]].to_owned(), role);
    }
    cost.rounds = 6 + params.rounds()? + plans.iter().map(|plan| plan.rounds()).sum::<u32>();
    Ok(cost)
}
