//! Cost of opening or comparing shares.

use std::collections::BTreeMap;

use tacita_core::protocol::dot::reveal_bytes;
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
    let [numbers, others] = [names[0], names[1]].map(|name| sizes[name].items);
    if numbers != others {
        return Err(Error::Input(format!(
            "both parties bring shares of the same numbers: {numbers} and {others} are not equally many"
        )));
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
    let assumed = "; shares modulo 2^64 are assumed: with --input NAME=FILE it is known";
    Ok(Cost { roles, rounds, assumed: work.is_none().then_some(assumed), ..Cost::default() })
}
