//! What an intersection costs.

use std::collections::BTreeMap;

use tacita_core::protocol::intersect::buckets::Attempt;
use tacita_core::protocol::intersect::entries::ReturnedRows;
use tacita_core::protocol::intersect::vole;
use tacita_core::{Result, Role};

use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, RoleCost};
use crate::agreement::{Chosen, JobSpec, Protocol, Reveal, Sizes};
use crate::jobs::intersect;
use crate::jobs::intersect::disk;

/// What else costs time in a sum: the sender's key in seconds; as multiples of [`Calibration::paillier_read`] an encryption and
/// the decryption by the sender, an addition and the re-randomisation by the receiver. See `docs/benchmarks.md`.
const PAILLIER_KEY: f64 = 0.7;
const PAILLIER_ENCRYPT: f64 = 36.0;
const PAILLIER_DECRYPT: f64 = 240.0;
const PAILLIER_ADD: f64 = 0.35;
const PAILLIER_RERANDOMIZE: f64 = 840.0;

/// Of [`Calibration::vole_item`], what the receiver does, what the sender does for an item of the receiver, and for
/// one of its own: measured with a profiler.
const VOLE_SHARES: [f64; 3] = [0.6, 0.25, 0.15];

/// CPU time in seconds that a slot costs each party in `bloom` besides its transfer: hashing, filling and hiding, or looking up.
const BLOOM_RECEIVER_SLOT: f64 = 15e-9;
const BLOOM_SENDER_SLOT: f64 = 20e-9;

/// CPU time in seconds that it takes to read a row, sort it on disk, hash its key and write it, measured.
const SORTED_ROW: f64 = 3e-6;

/// What the protocol costs both, memory aside.
pub(crate) fn intersection_cost(
    chosen: &Chosen,
    job: &JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    calibration: &Calibration,
) -> Result<Cost> {
    let receiver = job.receiver();
    let sender = job.peer_of(receiver);
    let (receiver_sizes, sender_sizes) = (&sizes[receiver], &sizes[sender]);
    if disk::is_bucketed(receiver_sizes, sender_sizes) {
        return cost_of_buckets(chosen.protocol, job, sizes, calibration);
    }
    let params = intersect::params(job, receiver, receiver_sizes, sender_sizes);
    let returned = ReturnedRows {
        items: receiver_sizes.items.min(sender_sizes.items) as usize,
        rows: receiver_sizes.entries.min(u64::from(u32::MAX)) as usize,
    };
    let (asked, sent) = (params.receiver_items as f64, params.sender_entries as f64);
    let (of_receiver, of_sender, rounds) = match chosen.protocol {
        Protocol::Vole => {
            let params = vole::Params::new(params, job.security)?;
            let [receiver, answer, own] = VOLE_SHARES.map(|share| share * calibration.vole_item);
            let of_receiver = RoleCost {
                cpu: calibration.vole_start + receiver * asked,
                bytes: params.bytes_sent_by(Role::Receiver, returned)?,
                ..RoleCost::default()
            };
            let of_sender = RoleCost {
                cpu: calibration.vole_start + answer * asked + own * sent,
                bytes: params.bytes_sent_by(Role::Sender, returned)?,
                ..RoleCost::default()
            };
            (of_receiver, of_sender, params.rounds(returned))
        }
        Protocol::Bloom => {
            let params = intersect::bloom_params(job, &params)?;
            let transfer = calibration.ot_transfer / 2.0;
            let slots = params.slots() as f64;
            let cpu = |slot: f64| if slots > 0.0 { calibration.ot_start + slots * (transfer + slot) } else { 0.0 };
            let bytes = |role| params.bytes_sent_by(role) + CLOSE_BYTES;
            let of_receiver =
                RoleCost { cpu: cpu(BLOOM_RECEIVER_SLOT), bytes: bytes(Role::Receiver), ..RoleCost::default() };
            let of_sender = RoleCost { cpu: cpu(BLOOM_SENDER_SLOT), bytes: bytes(Role::Sender), ..RoleCost::default() };
            (of_receiver, of_sender, params.rounds())
        }
        _ => {
            let (pass, read) = (calibration.ecdh_pass, calibration.paillier_read);
            let [adding, encrypting] = match job.reveal {
                Reveal::Sum(_) => [
                    read * ((1.0 + PAILLIER_ADD) * sent + PAILLIER_RERANDOMIZE),
                    PAILLIER_KEY + read * (PAILLIER_ENCRYPT * sent + PAILLIER_DECRYPT),
                ],
                _ => [0.0, 0.0],
            };
            let bytes = |role| params.bytes_sent_by(role, returned);
            let of_receiver =
                RoleCost { cpu: pass * 2.0 * asked + adding, bytes: bytes(Role::Receiver), ..RoleCost::default() };
            let of_sender =
                RoleCost { cpu: pass * (asked + sent) + encrypting, bytes: bytes(Role::Sender), ..RoleCost::default() };
            (of_receiver, of_sender, params.rounds(returned))
        }
    };
    let roles = BTreeMap::from([(receiver.to_owned(), of_receiver), (sender.to_owned(), of_sender)]);
    Ok(Cost { roles, rounds, ..Cost::default() })
}

/// What a run on disk costs, sorting and hashing included.
fn cost_of_buckets(
    protocol: Protocol,
    job: &JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    calibration: &Calibration,
) -> Result<Cost> {
    let receiver = job.receiver();
    let sender = job.peer_of(receiver);
    let params = disk::params(job, receiver, protocol, &sizes[receiver], &sizes[sender])?;
    let buckets = params.buckets as f64;
    let [asked, sent] = [Role::Receiver, Role::Sender].map(|role| params.bound(role) as f64 * buckets);
    let [of_receiver, of_sender] = match protocol {
        Protocol::Vole => {
            let [receiver, answer, own] = VOLE_SHARES.map(|share| share * calibration.vole_item);
            let start = calibration.vole_start * buckets;
            [start + receiver * asked, start + answer * asked + own * sent]
        }
        _ => [2.0 * asked, asked + sent].map(|passes| calibration.ecdh_pass * passes),
    };
    let role = |name: &str, role, cpu: f64| -> Result<(String, RoleCost)> {
        let sorted = if sizes[name].work.is_some() { SORTED_ROW * sizes[name].items as f64 } else { 0.0 };
        let bytes = params.bytes_sent_by(role, Attempt::Fresh)?;
        let disk = sizes[name].work.as_ref().map(|_| disk::bytes(sizes[name].items, job.learns(name)));
        Ok((name.to_owned(), RoleCost { cpu: cpu + sorted, bytes, disk }))
    };
    let roles = [role(receiver, Role::Receiver, of_receiver)?, role(sender, Role::Sender, of_sender)?];
    let rounds = params.rounds(Attempt::Fresh)?;
    Ok(Cost { roles: BTreeMap::from(roles), rounds, buckets: Some(params.buckets), ..Cost::default() })
}
