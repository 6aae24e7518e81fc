//! Cost of opening or comparing shares.

use std::collections::BTreeMap;

use tacita_core::protocol::dot::reveal_bytes;
use tacita_core::protocol::mesh::MeshOts;
use tacita_core::protocol::shares::at_least;
use tacita_core::{Error, Result, Side};

use crate::agreement::Sizes;
use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, MEASURED, RoleCost};
use crate::jobs::dot::methods::ot::transfer_seconds;
use crate::jobs::shares::spec::SharesJob;
use crate::jobs::shares::{EXTENSION, SharesWork};

/// Computes the cost of this work for both parties, or an assumed one if there are no share files that say what it
/// is.
pub(crate) fn shares_cost(
    job: &SharesJob<'_>,
    sizes: &BTreeMap<String, Sizes>,
    work: Option<SharesWork>,
    calibration: &Calibration,
) -> Result<Cost> {
    let names = job.parties.names();
    let all: Vec<u64> = names.iter().map(|name| sizes[*name].items).collect();
    let numbers = all[0];
    if let Some(others) = all.iter().find(|others| **others != numbers) {
        let parties = if all.len() > 2 { "all" } else { "both" };
        return Err(Error::Input(format!(
            "{parties} parties bring shares of the same numbers: {numbers} and {others} are not equally many"
        )));
    }
    let assumed = "; shares modulo 2^64 are assumed: with --input NAME=FILE it is known";
    let assumed = work.is_none().then_some(assumed);
    if names.len() > 2 {
        let work = work.map_or_else(|| SharesWork::assumed(job, numbers as usize), Ok)?;
        return Ok(Cost { assumed, ..cost_in_mesh(job, work, calibration)? });
    }
    let (costs, rounds) = match work.map_or_else(|| SharesWork::assumed(job, numbers as usize), Ok)? {
        SharesWork::Open(modulus, numbers) => {
            let opened = |peer| if job.learns(peer) { reveal_bytes(modulus, numbers) } else { 0 };
            let cost = |peer| (0.0, opened(peer) + CLOSE_BYTES);
            ([cost(names[1]), cost(names[0])], u32::from(numbers > 0))
        }
        SharesWork::Compare(comparison) => {
            let params = comparison.params()?;
            let relative = transfer_seconds(EXTENSION) / transfer_seconds(MEASURED);
            let cpu = calibration.ot_start + params.ots() as f64 * calibration.ot_transfer * relative / 2.0;
            // What the terms and files say alone takes no message.
            let cpu = if params.rounds() == 0 { 0.0 } else { cpu };
            let cost = |side| (cpu, params.bytes_sent_by(side) + CLOSE_BYTES);
            ([Side::First, Side::Second].map(cost), params.rounds())
        }
    };
    let role =
        |(name, (cpu, bytes)): (&str, (f64, u64))| (name.to_owned(), RoleCost { cpu, bytes, ..RoleCost::default() });
    let roles = names.into_iter().zip(costs).map(role).collect();
    Ok(Cost { roles, rounds, assumed, ..Cost::default() })
}

/// Computes the cost of this work among more than two parties.
fn cost_in_mesh(job: &SharesJob<'_>, work: SharesWork, calibration: &Calibration) -> Result<Cost> {
    let names = job.parties.names();
    let relative = transfer_seconds(EXTENSION) / transfer_seconds(MEASURED);
    let (mut roles, mut rounds) = (BTreeMap::new(), 0);
    // All pairs of parties are alike, but for which of the two stands first.
    let compared = match work {
        SharesWork::Open(..) => None,
        SharesWork::Compare(comparison) => Some(comparison.among(names.len())?).filter(|all| all.rounds() > 0),
    };
    let sent = match &compared {
        Some(all) => [all.bytes_sent(at_least::K, 0, 1)?, all.bytes_sent(at_least::K, 1, 0)?],
        None => [0; 2],
    };
    let transfers = compared.as_ref().map_or(0.0, |all| all.transfers_between(0, 1) as f64);
    for (me, name) in names.iter().enumerate() {
        let mut role = RoleCost::default();
        for (peer, other) in names.iter().enumerate().filter(|(peer, _)| *peer != me) {
            role.bytes += CLOSE_BYTES;
            match work {
                SharesWork::Open(modulus, numbers) => {
                    role.bytes += if job.learns(other) { reveal_bytes(modulus, numbers) } else { 0 };
                    rounds = u32::from(numbers > 0);
                }
                SharesWork::Compare(_) => {
                    if let Some(all) = &compared {
                        role.bytes += MeshOts::setup_bytes(at_least::K, me, peer)? + sent[usize::from(me > peer)];
                        role.cpu += calibration.ot_start + transfers * calibration.ot_transfer * relative / 2.0;
                        rounds = 2 + all.rounds();
                    }
                }
            }
        }
        roles.insert((*name).to_owned(), role);
    }
    Ok(Cost { roles, rounds, ..Cost::default() })
}
