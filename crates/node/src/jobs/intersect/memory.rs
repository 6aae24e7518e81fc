//! Memory of an intersection.

use tacita_core::protocol::intersect::tag_exchange::{Params, ReceiverReveal};
use tacita_core::{Level, Result, Security};

use super::methods::{self, Bucketed};
use super::sizes::params;
use crate::agreement::{Chosen, JobSpec, Sizes};
use crate::jobs::on_disk::memory::FIXED_BYTES;

/// Memory of an item of a bucket, the number of its key, and its place among the bucket's.
pub const BUCKET_ITEM_BYTES: u64 = 48;

/// Memory of an item and its place among all buckets, at a party that keeps them in memory.
pub const ITEM_IN_MEMORY_BYTES: u64 = 48;

/// Factor between what the peer sends for a bucket and the memory that waiting for a lane takes: two buckets, in
/// twice the memory. Memory that does not grow with the items is in the fixed part.
const QUEUED: u64 = 4;

/// Memory that a party needs for a job of these sizes, in bytes: its table aside, an estimate from above.
pub fn needed(job: &JobSpec, me: &str, chosen: &Chosen, own: &Sizes, theirs: &Sizes) -> Result<u64> {
    if own.epoch.is_some() {
        // A prepared part is there, and travels piece by piece.
        return Ok(FIXED_BYTES);
    }
    let method = methods::chosen(chosen.protocol)?;
    method.memory(job, me == job.receiver(), own.items, params(job, me, own, theirs))
}

/// Memory for one bucket of a bucketed run, in bytes, with its items, and with what waits of what the peer sends.
pub fn of_bucket(receives: bool, protocol: &dyn Bucketed, level: Level, asked: u64, sent: u64) -> u64 {
    let params = Params::rows(asked as usize, sent as usize);
    let own = if receives { asked } else { sent };
    let all = [
        own.saturating_mul(BUCKET_ITEM_BYTES),
        protocol.received(level, receives, &params).saturating_mul(QUEUED),
        protocol.memory(receives, &params),
    ];
    all.into_iter().fold(0, u64::saturating_add)
}

/// Memory for entries that are asked for and sent, in bytes, by a protocol that holds so much more.
pub fn of_entries(job: &JobSpec, receives: bool, params: &Params, more: u64) -> u64 {
    let mut bytes = of_items(receives, params).saturating_add(more);
    if receives && job.security == Security::Malicious && params.reveal == ReceiverReveal::Rows {
        // All tags are there before any is looked for.
        bytes = bytes.saturating_add(of_tags(params));
    }
    if params.to_sender {
        // A bit for each entry, made or received.
        bytes = bytes.saturating_add(params.sender_entries as u64 / 4);
    }
    if let ReceiverReveal::Payload { returned: Some(returned), .. } = params.reveal {
        let rows = (returned.rows as u64).saturating_mul(returned.row_bytes as u64);
        bytes = bytes.saturating_add(rows.saturating_mul(2));
    }
    bytes.saturating_add(FIXED_BYTES)
}

/// Bytes of all tags.
pub fn of_tags(params: &Params) -> u64 {
    (params.sender_entries as u64).saturating_mul(params.tag_bytes as u64)
}

/// Returns the memory that grows with the items, whatever the protocol.
pub fn of_items(receives: bool, params: &Params) -> u64 {
    let entry = params.entry_bytes() as u64;
    // For each item of the receiver, and for each entry of the sender.
    let (of_receiver, of_sender) = match (receives, params.reveal) {
        (true, ReceiverReveal::Count | ReceiverReveal::Sum { .. }) => (128, 0),
        (true, ReceiverReveal::Payload { .. }) => (160, 2 * entry + 24),
        (true, ReceiverReveal::Rows) => (96, 0),
        (false, ReceiverReveal::Count) => (0, 96 + 2 * entry),
        // Numbers are encrypted as they are sent, with tables that take no more than the fixed part. While they are
        // read, each is there twice.
        (false, ReceiverReveal::Sum { sums, .. }) => (0, 96 + 32 * sums as u64 + 2 * params.tag_bytes as u64),
        (false, _) => (0, 160 + 3 * entry),
    };
    let bytes = (params.receiver_items as u64).saturating_mul(of_receiver);
    bytes.saturating_add((params.sender_entries as u64).saturating_mul(of_sender))
}
