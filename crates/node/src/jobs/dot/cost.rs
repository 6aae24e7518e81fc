//! Cost of a scalar product.

use std::collections::BTreeMap;

use tacita_core::protocol::dot::reveal_bytes;
use tacita_core::{Result, Side};

use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, RoleCost};
use crate::agreement::{AlignWay, Chosen, Reveal, Sizes};
use crate::jobs::aligned::cost::{NO_COMMON_ROWS, alignment_cost, most_rows};
use crate::jobs::dot::methods;
use crate::jobs::dot::spec::DotJob;

/// Computes the cost of the protocol for both parties, memory aside.
pub(crate) fn dot_cost(
    chosen: &Chosen,
    job: &DotJob<'_>,
    sizes: &BTreeMap<String, Sizes>,
    calibration: &Calibration,
) -> Result<Cost> {
    let names = job.parties.names();
    let [first, second] = [names[0], names[1]];
    let alignment = job.alignment();
    let rows = most_rows(job, alignment.as_ref(), sizes)?;
    let product = methods::product(job, chosen, rows as usize)?;
    let cpu = product.cpu(Some(calibration));
    let party = |side| if side == Side::First { first } else { second };
    let learns = |side| job.reveal == Reveal::Value && job.learns(party(side));

    let products = product.shape().products();
    let role = |side: Side, cpu| {
        let opened = if learns(side.other()) { reveal_bytes(product.modulus(), products) } else { 0 };
        let bytes = product.bytes_sent_by(side) + opened + CLOSE_BYTES;
        (party(side).to_owned(), RoleCost { cpu, bytes, ..RoleCost::default() })
    };
    let mut roles = BTreeMap::from([role(Side::First, cpu.first), role(Side::Second, cpu.second)]);
    // The last message and a share that follows it travel in one direction, so in one flight.
    let follows = learns(product.ends().other()) && product.rounds() > 0;
    let opens = learns(Side::First) || learns(Side::Second);
    let mut rounds = product.rounds() + u32::from(opens && (!follows || learns(product.ends())));
    let aligning = alignment_cost(alignment.as_ref(), chosen, sizes, calibration)?;
    if let Some((alignment, cost)) = alignment.as_ref().zip(aligning) {
        // What begins with a message of the party that sent the last one goes on in that flight.
        let joined = product.rounds() > 0 && alignment.ends() == party(product.begins());
        rounds += cost.rounds - u32::from(joined);
        for (name, role) in &mut roles {
            role.cpu += cost.roles[name].cpu;
            role.bytes += cost.roles[name].bytes;
        }
    }
    let hidden = alignment.is_some_and(|alignment| alignment.way == AlignWay::Hidden);
    Ok(Cost { roles, rounds, assumed: hidden.then_some(NO_COMMON_ROWS), ..Cost::default() })
}
