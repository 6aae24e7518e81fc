//! Cost and memory of association rules among more than two, as far as they can be known beforehand.

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::Result;
use tacita_core::protocol::dot::Integers;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::ot::mesh::{Factor, MeshProducts};
use tacita_core::protocol::mesh::{Heard, MeshOts};
use tacita_core::protocol::rules::{Params, RevealedCounts, mesh};
use tacita_core::protocol::shares::at_least::MeshComparison;

use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, MEASURED, RoleCost};
use crate::agreement::{Chosen, Sizes};
use crate::base::text::{bytes, count, counted, duration};
use crate::jobs::aligned::RowAlignment;
use crate::jobs::aligned::cost::most_rows_among;
use crate::jobs::dot::mesh::k;
use crate::jobs::dot::methods::ot::{START, WORD, transfer_seconds};
use crate::jobs::intersect;
use crate::jobs::rules::base_memory;
use crate::jobs::rules::cost::{FIT_BYTES, ITEMS_BYTES};
use crate::jobs::rules::spec::RulesJob;

/// Parties of candidates of which a plan says how much the comparison of so many takes.
const COMPARED: [usize; 4] = [2, 3, 8, 16];
const CANDIDATES: usize = 1000;

/// Memory besides the table, in bytes, an estimate from above; items are checked when it shows how many are frequent.
pub(in crate::jobs::rules) fn memory(job: &RulesJob<'_>, me: &str, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
    // At most as many rows as this party has: what peers claim does not count.
    let products = mesh::batch_bytes(sizes[me].items as usize, job.parties.0.len());
    let alignment = match job.alignment() {
        Some(RowAlignment { ids, .. }) => ids.job.memory(&ids, me, &Chosen::only(intersect::star::PROTOCOL), sizes)?,
        None => 0,
    };
    Ok([products, alignment].into_iter().fold(base_memory(job)?, u64::saturating_add))
}

/// Computes the cost of association rules if nothing is frequent: see `notes`.
pub(in crate::jobs::rules) fn cost(
    chosen: &Chosen,
    job: &RulesJob<'_>,
    sizes: &BTreeMap<String, Sizes>,
    machine: &Calibration,
) -> Result<Cost> {
    let (k, parties) = (k(chosen)?, job.parties.0.len());
    let digests = mesh::first_digests_bytes(parties, job.own.mixed_only.unwrap_or(false));
    let all_learn = job.reveal_to.len() == parties;
    let mut roles = BTreeMap::new();
    for (me, name) in job.parties.names().into_iter().enumerate() {
        let mut role = RoleCost::default();
        for peer in (0..parties).filter(|peer| *peer != me) {
            role.bytes += MeshOts::setup_bytes(k, me, peer)? + ITEMS_BYTES + digests;
            // That rules are few enough; names.
            role.bytes += if all_learn { 0 } else { FIT_BYTES + Heard::bytes(parties) };
            let both = [me, peer].iter().all(|place| job.learns(job.parties.names()[*place]));
            role.bytes += if both { Heard::bytes(parties) } else { 0 };
            role.cpu += machine.ot_start / 2.0;
        }
        roles.insert(name.to_owned(), role);
    }
    let notes = notes(job, sizes, k, machine)?;
    let mut cost = Cost { roles, rounds: if all_learn { 4 } else { 5 }, notes, ..Cost::default() };
    match job.alignment() {
        // Its bytes have the closing frames.
        Some(RowAlignment { ids, .. }) => Ok(intersect::star::star_cost(&ids, sizes, machine)?.and(cost)),
        None => {
            cost.roles.values_mut().for_each(|role| role.bytes += (parties as u64 - 1) * CLOSE_BYTES);
            Ok(cost)
        }
    }
}

/// Returns notes on a run whose candidates depend on what is frequent.
fn notes(job: &RulesJob<'_>, sizes: &BTreeMap<String, Sizes>, k: usize, machine: &Calibration) -> Result<Vec<String>> {
    let rows = most_rows_among(job, job.own.row_id.is_some(), sizes)?;
    let (params, parties) = (job.mining(rows, None)?, job.parties.0.len());
    let links = (parties * (parties - 1) / 2) as u64;
    let level = |items: u32| -> Result<String> {
        let (of_link, seconds) = pairs(&params, items, k)?;
        let seconds = links as f64 * seconds * machine.ot_transfer / transfer_seconds(MEASURED);
        Ok(format!(
            "If {items} items of each party are frequent, their {} pairs take {} of traffic and about {} of CPU of all parties together.",
            count(links * u64::from(items) * u64::from(items)),
            bytes(links * of_link),
            duration(Duration::from_secs_f64(seconds)),
        ))
    };
    let mut notes = vec![
        "What it costs depends on what is frequent, and is not known before: rounds, traffic and time are those of a run \
         that finds no frequent item."
            .into(),
        level(10)?,
        level(100)?,
    ];
    if params.reveal == RevealedCounts::Frequent {
        let of = |among: &usize| Ok(format!("{} among {among}", bytes(comparison(&params, *among, k)?)));
        let each: Vec<String> = COMPARED.iter().filter(|among| **among <= parties).map(of).collect::<Result<_>>()?;
        notes.push(format!(
            "To compare the counts of {} candidates with the minimum takes this traffic of all their parties: {}.",
            count(CANDIDATES as u64),
            each.join(", ")
        ));
    }
    notes.push(format!(
        "An itemset is frequent in {} or more{}. The run ends with an error if there are more than {} candidates of one kind and \
         length, or more than {} rules.",
        counted(params.minimum as u64, "row"),
        if job.support_of_common_rows() { ", if all have all rows; in fewer, if they have fewer" } else { "" },
        count(params.max_candidates as u64),
        count(params.max_rules as u64)
    ));
    if job.own.row_id.is_some() {
        notes.push(
            "Aligning rows by ids tells all which of their rows all have. By position, without row_id, they learn no more of their rows than \
             that they have equally many."
                .into(),
        );
    }
    Ok(notes)
}

/// Traffic and CPU seconds of both for the pairs of so many items of each of two parties, comparisons included.
fn pairs(params: &Params, items: u32, k: usize) -> Result<(u64, f64)> {
    let product =
        |pair: u32| [(0, pair % items), (1, pair / items)].map(|(party, column)| Factor { party, column }).to_vec();
    let all: Vec<Vec<Factor>> = (0..items * items).map(product).collect();
    let mut bytes =
        both(|me, peer| compared(params, all.len(), 2)?.map_or(Ok(0), |plan| plan.bytes_sent(k, me, peer)))?;
    let mut seconds = 2.0 * START;
    for batch in mesh::batches(all.len(), params.rows) {
        let plan = MeshProducts::new(params.rows, Integers::BINARY, params.modulus()?, &all[batch])?;
        bytes += both(|me, peer| plan.bytes_sent(k, me, peer))?;
        let words = plan.parties().len() as f64 * params.rows as f64 * WORD;
        seconds += plan.transfers_between(0, 1) as f64 * transfer_seconds(Extension::SoftSpoken(k)) + words;
    }
    Ok((bytes, seconds))
}

/// Traffic of the comparison of some candidates of so many parties.
fn comparison(params: &Params, among: usize, k: usize) -> Result<u64> {
    let Some(plan) = compared(params, CANDIDATES, among)? else { return Ok(0) };
    let links = (0..among).flat_map(|me| (0..among).filter(move |peer| *peer != me).map(move |peer| (me, peer)));
    links.map(|(me, peer)| plan.bytes_sent(k, me, peer)).sum()
}

/// The comparison of counts of so many candidates of the first parties, where counts are compared.
fn compared(params: &Params, candidates: usize, among: usize) -> Result<Option<MeshComparison>> {
    if params.reveal == RevealedCounts::Counts {
        return Ok(None);
    }
    let parties = vec![(0..among).collect(); candidates];
    MeshComparison::new(params.modulus()?, params.rows as u128, params.minimum as u128, parties).map(Some)
}

/// Traffic between two parties, both ways.
fn both(of: impl Fn(usize, usize) -> Result<u64>) -> Result<u64> {
    Ok(of(0, 1)? + of(1, 0)?)
}
