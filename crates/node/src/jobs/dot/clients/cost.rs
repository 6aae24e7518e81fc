//! What a job with clients costs.

use tacita_core::protocol::dot::paillier::Params;
use tacita_core::protocol::dot::reveal_bytes;
use tacita_core::{Error, Result, Side};

use super::{modulus, params, warn_of_empty};
use crate::agreement::cost::{CLOSE_BYTES, Cost, RoleCost};
use crate::agreement::{Clients, Slices};
use crate::base::text::count;
use crate::jobs::dot::spec::Spec;

/// CPU seconds with keys of [`MEASURED_BITS`]: a key; a number that is encrypted; a ciphertext that is read, one that is
/// multiplied into a product, an answer that is re-randomised, one that is decrypted. See `docs/protocols/paillier.md`.
const KEY: f64 = 0.4;
const ENCRYPT: f64 = 1.0 / 2190.0;
const READ: f64 = 1.0 / 48_000.0;
const MULTIPLY: f64 = 1.0 / 240_000.0;
const ANSWER: f64 = 1.0 / 110.0;
const DECRYPT: f64 = 1.0 / 390.0;
const MEASURED_BITS: f64 = 3072.0;

/// Chunks, tables and what else does not depend on the job.
const BASE_MEMORY: u64 = 64 << 20;

/// What a job with so many rows costs, the handshake aside.
///
/// Errors ([`Error::Input`]): the clients' rows together are not as many as the server's; there are products that `modulus`
/// does not hold.
pub fn cost(job: &Spec<'_>, roles: &Clients<'_>, rows: &Slices) -> Result<Cost> {
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
        let (cpu, bytes) = share(job, roles, me, rows)?;
        let bytes = bytes + CLOSE_BYTES * job.peers_of(me).len() as u64;
        Ok((me.to_owned(), RoleCost { cpu, bytes, disk: None }))
    };
    let all = job.parties.names().into_iter().map(role).collect::<Result<_>>()?;
    // Key and columns, answers; then the sums.
    Ok(Cost { roles: all, rounds: 2 + rounds_of_chain(roles), ..Cost::default() })
}

/// CPU seconds of a party, and bytes that it sends.
fn share(job: &Spec<'_>, roles: &Clients<'_>, me: &str, rows: &Slices) -> Result<(f64, u64)> {
    let modulus = modulus(job, rows)?;
    let with = |slice: &Option<u64>| params(job, modulus, slice.unwrap_or_default() as usize);
    Ok(match roles.place(me) {
        None => {
            let all = rows.slices.iter().map(with).collect::<Result<Vec<_>>>()?;
            let bytes = all.iter().map(|params| params.bytes_sent_by(Side::Second)).sum();
            (all.iter().map(cpu_of_answering).sum(), bytes)
        }
        Some(place) => {
            let params = with(&rows.slices[place])?;
            let neighbours = roles.neighbours(place).into_iter().flatten().count() as u64;
            let sums = neighbours * reveal_bytes(modulus, params.shape().products());
            (cpu_of_asking(&params), params.bytes_sent_by(Side::First) + sums)
        }
    })
}

fn cpu_of_asking(params: &Params) -> f64 {
    let shape = params.shape();
    let scale = params.key_size().bits() as f64 / MEASURED_BITS;
    let numbers = (shape.rows * shape.first) as f64;
    KEY * scale.powi(4) + (ENCRYPT * numbers + DECRYPT * shape.products() as f64) * scale.powi(3)
}

fn cpu_of_answering(params: &Params) -> f64 {
    let shape = params.shape();
    let scale = params.key_size().bits() as f64 / MEASURED_BITS;
    let numbers = (shape.rows * shape.first) as f64;
    let multiplied = numbers * shape.second as f64 * f64::from(shape.integers.bits());
    (READ * numbers + MULTIPLY * multiplied) * scale.powi(2) + ANSWER * shape.products() as f64 * scale.powi(3)
}

/// Memory besides the table, in bytes, an estimate from above.
pub fn memory(job: &Spec<'_>, roles: &Clients<'_>, me: &str, rows: &Slices) -> Result<u64> {
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
