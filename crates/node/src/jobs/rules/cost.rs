//! Cost of association rules, as far as it can be known beforehand.

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::Result;
use tacita_core::channel::HEADER_BYTES;
use tacita_core::protocol::rules::Params;

use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, MEASURED, RoleCost};
use crate::agreement::{AlignWay, Chosen, Sizes};
use crate::base::text;
use crate::jobs::aligned::cost::{alignment_cost, most_rows};
use crate::jobs::dot::methods::ot::transfer_seconds;
use crate::jobs::rules;
use crate::jobs::rules::spec::RulesJob;

/// Bytes of the message with which parties tell each other how many frequent items they have.
pub(super) const ITEMS_BYTES: u64 = HEADER_BYTES as u64 + 4;

/// Bytes of the message with which they tell each other whether rules are few enough.
pub(super) const FIT_BYTES: u64 = HEADER_BYTES as u64 + 1;

/// Computes the cost of association rules if nothing is frequent: see `rules_notes`.
pub(crate) fn rules_cost(
    chosen: &Chosen,
    job: &RulesJob<'_>,
    sizes: &BTreeMap<String, Sizes>,
    calibration: &Calibration,
) -> Result<Cost> {
    let alignment = job.alignment();
    most(job, sizes)?;
    let mut cost = alignment_cost(alignment.as_ref(), chosen, sizes, calibration)?.unwrap_or_else(|| {
        let roles = job.parties.names().into_iter().map(|name| (name.to_owned(), RoleCost::default())).collect();
        Cost { roles, ..Cost::default() }
    });
    cost.roles.values_mut().for_each(|role| role.bytes += ITEMS_BYTES + CLOSE_BYTES);
    cost.rounds += 1;
    cost.notes = rules_notes(chosen, job, sizes, calibration)?;
    Ok(cost)
}

/// The parameters for the most rows that there can be.
fn most(job: &RulesJob<'_>, sizes: &BTreeMap<String, Sizes>) -> Result<Params> {
    let alignment = job.alignment();
    let rows = most_rows(job, alignment.as_ref(), sizes)? as usize;
    let hidden = alignment.is_some_and(|alignment| alignment.way == AlignWay::Hidden);
    let common = job.both(sizes).map(|(_, sizes)| sizes.items).into_iter().min().unwrap_or_default();
    job.mining(common as usize, hidden.then_some(rows))
}

/// Computes the cost of the pairs of so many items.
pub(crate) fn of_items(
    chosen: &Chosen,
    job: &RulesJob<'_>,
    sizes: &BTreeMap<String, Sizes>,
    calibration: &Calibration,
    items: [u32; 2],
) -> Result<Cost> {
    let names = job.parties.names();
    let params = most(job, sizes)?;
    if items.contains(&0) {
        return Ok(Cost::default());
    }
    let (protocol, pairs) = rules::estimate(job, chosen, &params, items)?;
    let seconds = pairs.seconds * calibration.ot_transfer / transfer_seconds(MEASURED);
    let role = RoleCost { cpu: seconds / 2.0, bytes: pairs.bytes / 2, ..RoleCost::default() };
    let note = format!(
        "In their own rows {} of {} and {} of {} are frequent: with these pairs alone, {}, it takes what is said here, by {}; longer \
         itemsets come on top.",
        text::counted(items[0].into(), "item"),
        names[0],
        text::count(items[1].into()),
        names[1],
        text::count(u64::from(items[0]) * u64::from(items[1])),
        protocol.name()
    );
    Ok(Cost {
        roles: names.into_iter().map(|name| (name.to_owned(), role)).collect(),
        notes: vec![note],
        ..Cost::default()
    })
}

/// Returns notes on a run whose candidates depend on what is frequent.
fn rules_notes(
    chosen: &Chosen,
    job: &RulesJob<'_>,
    sizes: &BTreeMap<String, Sizes>,
    calibration: &Calibration,
) -> Result<Vec<String>> {
    let params = most(job, sizes)?;
    // A level of pairs, by what would make it.
    let level = |items: u32| -> Result<String> {
        let (protocol, cost) = rules::estimate(job, chosen, &params, [items; 2])?;
        let machine = calibration.ot_transfer / transfer_seconds(MEASURED);
        Ok(format!(
            "If {items} items here and {items} there are frequent, their {} pairs take {} of traffic and about {} of CPU of both \
             parties together, by {}.",
            text::count(u64::from(items) * u64::from(items)),
            text::bytes(cost.bytes),
            text::duration(Duration::from_secs_f64(cost.seconds * machine)),
            protocol.name()
        ))
    };
    let mut notes = vec![
        "What it costs depends on what is frequent, and is not known before: rounds, traffic and time are those of a run \
         that finds no frequent item."
            .into(),
        level(10)?,
        level(100)?,
        format!(
            "An itemset is frequent in {} or more{}. The run ends with an error if there are more than {} candidates of one \
             kind and length, or more than {} rules.",
            text::counted(params.minimum as u64, "row"),
            if job.support_of_common_rows() { ", if both have all rows; in fewer, if they have fewer" } else { "" },
            text::count(params.max_candidates as u64),
            text::count(params.max_rules as u64)
        ),
    ];
    match job.alignment().map(|alignment| alignment.way) {
        Some(AlignWay::Hidden) => notes.push(format!(
            "Columns have a row for each row of either party, {} if none are common; items of one party are products too. With alignment \
             = \"rows\", which shows both parties which rows are common, columns have these alone.",
            text::count(params.column_rows() as u64)
        )),
        Some(AlignWay::Rows) => notes.push(
            "Aligning rows by ids tells both which of their rows are common; alignment = \"hidden\" does not. By position, without \
             row_id, they learn no more of their rows than that they have equally many."
                .into(),
        ),
        None => (),
    }
    Ok(notes)
}
