//! What a job with clients costs.

use std::collections::BTreeMap;

use tacita_core::channel::HEADER_BYTES;
use tacita_core::protocol::dot::paillier::Params;
use tacita_core::protocol::dot::{Side, reveal_bytes};
use tacita_core::{Error, Result};

use super::agree::{ROUNDS, parties_bytes};
use super::{PROTOCOL, learned, modulus, params, warn_of_empty};
use crate::agreement::handshake::{CONFIRM_BYTES, hello_bytes, sizes_bytes};
use crate::agreement::{Clients, JobSpec, Sizes, Slices};
use crate::base::text::count;
use crate::plan::{Plan, Share};
use crate::transport::Shape;

/// CPU seconds with keys of [`MEASURED_BITS`]: a key; a number that is encrypted; a ciphertext that is read, one that is
/// multiplied into a product, an answer that is re-randomised, one that is decrypted. See `docs/protocols/paillier.md`.
const KEY: f64 = 0.4;
const ENCRYPT: f64 = 1.0 / 2190.0;
const READ: f64 = 1.0 / 48_000.0;
const MULTIPLY: f64 = 1.0 / 240_000.0;
const ANSWER: f64 = 1.0 / 110.0;
const DECRYPT: f64 = 1.0 / 390.0;
const MEASURED_BITS: f64 = 3072.0;

/// Bytes of the frame that ends a connection.
const CLOSE_BYTES: u64 = HEADER_BYTES as u64;

/// Chunks, tables and what else does not depend on the job.
const BASE_MEMORY: u64 = 64 << 20;

/// Plans a job for parties of these sizes, with so many threads each, over a network of this shape.
///
/// Errors ([`Error::Input`]): the clients' rows together are not as many as the server's; there are products that `modulus`
/// does not hold.
pub fn plan(
    job: &JobSpec,
    roles: &Clients<'_>,
    sizes: &BTreeMap<String, Sizes>,
    threads: usize,
    network: Shape,
) -> Result<Plan> {
    let slices: Vec<_> = roles.clients.iter().map(|name| sizes[*name].items).collect();
    let (together, all) = (slices.iter().sum(), sizes[roles.server].items);
    if together != all {
        return Err(Error::Input(format!(
            "the clients have {} rows together, and {} has {}: slices make up the server's rows",
            count(together),
            roles.server,
            count(all)
        )));
    }
    let rows = Slices { all, slices: slices.into_iter().map(Some).collect() };
    warn_of_empty(&rows, roles);
    let mut parties = BTreeMap::new();
    for me in job.parties.names() {
        let (cpu_seconds, bytes) = share(job, roles, me, &rows)?;
        let hello = hello_bytes(job, me) + CONFIRM_BYTES + CLOSE_BYTES;
        let share = Share {
            items: sizes[me].items,
            bytes_sent: bytes + hello * job.peers_of(me).len() as u64,
            cpu_seconds,
            memory: memory(job, roles, me, &rows)?,
            disk: None,
            learned: learned(job, roles, me, Some(&rows)),
        };
        parties.insert(me.to_owned(), share);
    }
    // Key and columns, answers; then the sums.
    let rounds = ROUNDS + 2 + rounds_of_chain(roles);
    let most = |of: &dyn Fn(&Share) -> f64| parties.values().map(of).fold(0.0, f64::max);
    let transfer = network.bandwidth.map_or(0.0, |bits| most(&|share| share.bytes_sent as f64 * 8.0 / bits as f64));
    // TCP and TLS take two round trips before the first message.
    let waiting = network.latency.as_secs_f64() * f64::from(rounds + 4);
    let seconds = |cpu: f64| (cpu / threads as f64).max(transfer) + waiting;
    Ok(Plan {
        protocol: PROTOCOL.name(),
        choice: PROTOCOL.name().into(),
        why: "the one for clients".into(),
        rounds,
        seconds_apart: seconds(most(&|share| share.cpu_seconds)),
        seconds_together: seconds(parties.values().map(|share| share.cpu_seconds).sum()),
        buckets: None,
        notes: Vec::new(),
        warnings: Vec::new(),
        parties,
    })
}

/// CPU seconds of a party, and bytes that it sends besides each connection's first, last and closing message.
fn share(job: &JobSpec, roles: &Clients<'_>, me: &str, rows: &Slices) -> Result<(f64, u64)> {
    let modulus = modulus(job, rows)?;
    let with = |slice: &Option<u64>| params(job, modulus, slice.unwrap_or_default() as usize);
    let own_sizes = |items| sizes_bytes(&Sizes { items, ..Sizes::default() });
    Ok(match roles.place(me) {
        None => {
            let all = rows.slices.iter().map(with).collect::<Result<Vec<_>>>()?;
            let handshake = own_sizes(rows.all) + parties_bytes(job, rows.all);
            let bytes = all.iter().map(|params| handshake + params.bytes_sent_by(Side::Second)).sum();
            (all.iter().map(cpu_of_answering).sum(), bytes)
        }
        Some(place) => {
            let params = with(&rows.slices[place])?;
            let neighbours = roles.neighbours(place).into_iter().flatten().count() as u64;
            let sums = neighbours * reveal_bytes(modulus, params.shape().products());
            let handshake = own_sizes(rows.slices[place].unwrap_or_default());
            (cpu_of_asking(&params), handshake + params.bytes_sent_by(Side::First) + sums)
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
pub fn memory(job: &JobSpec, roles: &Clients<'_>, me: &str, rows: &Slices) -> Result<u64> {
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
