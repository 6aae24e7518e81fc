//! Cost of a cross table, for an assumed number of categories.

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::channel::HEADER_BYTES;
use tacita_core::protocol::crosstab::Params;
use tacita_core::protocol::dot::{Integers, Shape, reveal_bytes};
use tacita_core::{Result, Side};

use super::noise;
use super::product::product;
use super::spec::CrosstabJob;
use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, RoleCost};
use crate::agreement::{Chosen, Sizes};
use crate::base::text;
use crate::jobs::aligned::cost::{alignment_cost, most_rows};

/// Categories of each party that a plan assumes.
pub(super) const ASSUMED: usize = 10;

/// CPU seconds of each party for a product of shared bits.
pub(super) const GATE: f64 = 0.2e-6;

/// Assumption of a plan, as it says it.
const ASSUMPTION: &str =
    "; 10 categories of each party are assumed, all cells open, and, where common rows are hidden, none common";

pub(super) fn crosstab_cost(
    chosen: &Chosen,
    job: &CrosstabJob<'_>,
    sizes: &BTreeMap<String, Sizes>,
    machine: &Calibration,
) -> Result<Cost> {
    let alignment = job.alignment();
    let rows = most_rows(job, alignment.as_ref(), sizes)? as usize;
    let mut cost = of_categories(chosen, job, rows, ASSUMED, machine)?;
    if let Some(before) = alignment_cost(alignment.as_ref(), chosen, sizes, machine)? {
        cost = before.and(cost);
    }
    let of_twenty = of_categories(chosen, job, rows, 2 * ASSUMED, machine)?;
    let bytes = of_twenty.roles.values().map(|role| role.bytes).sum();
    let cpu = of_twenty.roles.values().map(|role| role.cpu).fold(0.0, f64::max);
    cost.notes.push(format!(
        "With {0} categories of each party, {0} x {0} cells, it is {1} of traffic and about {2} of CPU of each party.",
        2 * ASSUMED,
        text::bytes(bytes),
        text::duration(Duration::from_secs_f64(cpu))
    ));
    cost.assumed = Some(ASSUMPTION);
    Ok(cost)
}

/// Cost of a table with so many categories of each party.
fn of_categories(
    chosen: &Chosen,
    job: &CrosstabJob<'_>,
    rows: usize,
    each: usize,
    machine: &Calibration,
) -> Result<Cost> {
    let params = Params { rows, first: each, second: each, minimum: job.min_cell(), tail: noise::tail(job)? };
    let shape = |integers| Shape { rows, first: each, second: each, integers };
    let mut products = vec![product(chosen, shape(Integers::BINARY), params.modulus()?)?];
    if job.measure().column().is_some() {
        let shape = shape(job.integers()?);
        products.push(product(chosen, shape, shape.value_modulus()?)?);
    }
    let names = job.parties.names();
    let mut cost = Cost { rounds: 3 + params.rounds()?, ..Cost::default() };
    for (side, name) in [Side::First, Side::Second].into_iter().zip(&names) {
        let mut role = RoleCost { bytes: CLOSE_BYTES + params.bytes_sent_by(side)?, ..RoleCost::default() };
        role.bytes += (2 * HEADER_BYTES + job.used().len() + size_of::<u32>()) as u64;
        role.cpu += machine.ot_start + GATE * params.products()? as f64;
        for product in &products {
            let cpu = product.cpu(Some(machine));
            role.cpu += if side == Side::First { cpu.first } else { cpu.second };
            role.bytes += product.bytes_sent_by(side);
            if job.learns(job.peer_of(name)) {
                role.bytes += reveal_bytes(product.modulus(), params.cells());
            }
        }
        cost.roles.insert((*name).to_owned(), role);
    }
    cost.rounds += products.iter().map(|product| product.rounds()).sum::<u32>();
    Ok(cost)
}
