//! Cost of a job with clients.

use tacita_core::protocol::dot::reveal_bytes;
use tacita_core::{Error, Result, Side};

use super::{modulus, params, warn_of_empty};
use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, RoleCost};
use crate::agreement::{Clients, Slices};
use crate::base::text::count;
use crate::jobs::dot::methods::Product;
use crate::jobs::dot::spec::DotJob;

/// Chunks, tables and what else does not depend on the job.
const BASE_MEMORY: u64 = 64 << 20;

/// Computes the cost of a job with so many rows, excluding the handshake.
///
/// Errors ([`Error::Input`]): the clients' rows together are not as many as the server's; there are products that
/// `modulus` does not hold.
pub fn cost(job: &DotJob<'_>, roles: &Clients<'_>, rows: &Slices, machine: &Calibration) -> Result<Cost> {
    let together = rows.slices.iter().map(|slice| slice.unwrap_or_default()).sum();
    if together != rows.all {
        return Err(Error::Input(format!(
            "the clients have {} rows together, and {} has {}: slices make up the server's rows",
            count(together),
            roles.server,
            count(rows.all)
        )));
    }
    warn_of_empty(rows, roles);
    let role = |me: &str| {
        let (cpu, bytes) = share(job, roles, me, rows, machine)?;
        let bytes = bytes + CLOSE_BYTES * job.peers_of(me).len() as u64;
        Ok((me.to_owned(), RoleCost { cpu, bytes, disk: None }))
    };
    let all = job.parties.names().into_iter().map(role).collect::<Result<_>>()?;
    // Key and columns, answers; then the sums.
    Ok(Cost { roles: all, rounds: 2 + rounds_of_chain(roles), ..Cost::default() })
}

/// CPU seconds of a party, and bytes that it sends.
fn share(job: &DotJob<'_>, roles: &Clients<'_>, me: &str, rows: &Slices, machine: &Calibration) -> Result<(f64, u64)> {
    let modulus = modulus(job, rows)?;
    let with = |slice: &Option<u64>| params(job, modulus, slice.unwrap_or_default() as usize);
    Ok(match roles.place(me) {
        None => {
            let all = rows.slices.iter().map(with).collect::<Result<Vec<_>>>()?;
            let bytes = all.iter().map(|params| params.bytes_sent_by(Side::Second)).sum();
            (all.iter().map(|params| params.cpu(Some(machine)).second).sum(), bytes)
        }
        Some(place) => {
            let params = with(&rows.slices[place])?;
            let neighbours = roles.neighbours(place).into_iter().flatten().count() as u64;
            let sums = neighbours * reveal_bytes(modulus, params.shape().products());
            (params.cpu(Some(machine)).first, params.bytes_sent_by(Side::First) + sums)
        }
    })
}

/// Memory besides the table, in bytes, an estimate from above.
pub fn memory(job: &DotJob<'_>, roles: &Clients<'_>, me: &str, rows: &Slices) -> Result<u64> {
    let params = params(job, modulus(job, rows)?, 0)?;
    let (shape, ciphertext) = (params.shape(), params.key_size().ciphertext_bytes() as u64);
    let bits = u64::from(shape.integers.bits());
    let products = shape.products() as u64 * ciphertext;
    Ok(match roles.place(me) {
        None => {
            // It works for all clients at once, on a copy of its columns.
            let lanes = 8 * rayon::current_num_threads() as u64 * shape.second as u64 * bits * ciphertext;
            BASE_MEMORY * roles.clients.len() as u64 + lanes + products + rows.all * shape.second as u64 * bits / 8
        }
        Some(_) => BASE_MEMORY + products,
    })
}

/// Flights of the chain in which the clients add up, forth and back.
pub fn rounds_of_chain(roles: &Clients<'_>) -> u32 {
    2 * (roles.clients.len() as u32 - 1)
}
