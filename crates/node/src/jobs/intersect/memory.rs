//! Memory of an intersection.

use tacita_core::primitive::oprf::ELEMENT_BYTES;
use tacita_core::protocol::intersect::entries::{Params, Reveal};
use tacita_core::protocol::intersect::vole;
use tacita_core::{Result, Security};

use crate::agreement::{Chosen, JobSpec, Protocol, Sizes};
use crate::jobs::intersect::disk::memory::FIXED_BYTES;
use crate::jobs::intersect::{bloom_params, params};

/// Memory of the receiver in `vole` for each of its items, measured and rounded up.
const VOLE_RECEIVER_BYTES: u64 = 260;

/// Memory of the sender in `vole` for each of the receiver's items, likewise.
const VOLE_SENDER_BYTES: u64 = 130;

/// Memory of an item of a bucket, the number of its key, and its place among the bucket's.
const BUCKET_ITEM_BYTES: u64 = 48;

/// Bytes that the receiver in `vole` sends for each of its items, rounded up: its share of the masked store.
const VOLE_MASKED_BYTES: u64 = 22;

/// Memory of an item and its place among all buckets, at a party that keeps them in memory.
pub const ITEM_IN_MEMORY_BYTES: u64 = 48;

/// What waits for a lane takes so many times what the peer sends for a bucket: two of them, in twice the memory. What does not
/// grow with the items is in the fixed part.
const QUEUED: u64 = 4;

/// Memory that a party needs for a job of these sizes, in bytes: its table aside, an estimate from above.
pub fn needed(job: &JobSpec, me: &str, chosen: &Chosen, own: &Sizes, theirs: &Sizes) -> Result<u64> {
    let params = params(job, me, own, theirs);
    let receives = me == job.receiver();
    if chosen.protocol == Protocol::Bloom {
        let bloom = bloom_params(job, &params)?;
        return Ok(match receives {
            true => bloom.memory_of_receiver(own.items) + own.items * 96,
            false => bloom.memory_of_sender(own.items) + own.items * 96,
        });
    }
    if own.epoch.is_some() {
        // A prepared part is there, and travels piece by piece.
        return Ok(FIXED_BYTES);
    }
    let params = match chosen.protocol {
        Protocol::Vole => vole::Params::new(params, job.security)?.entries,
        _ => params,
    };
    let n_sender = params.sender_entries as u64;
    let mut bytes = of_items(receives, chosen.protocol, &params);
    if receives && job.security == Security::Malicious && params.reveal == Reveal::Rows {
        // All tags are there before any is looked for.
        bytes = bytes.saturating_add(n_sender.saturating_mul(params.tag_bytes as u64));
    }
    if params.to_sender {
        // A bit for each entry, made or received.
        bytes = bytes.saturating_add(n_sender / 4);
    }
    if let Reveal::Payload { returned: Some(returned), .. } = params.reveal {
        let rows = (returned.rows as u64).saturating_mul(returned.row_bytes as u64);
        bytes = bytes.saturating_add(rows.saturating_mul(2));
    }
    Ok(bytes.saturating_add(FIXED_BYTES))
}

/// Memory for one bucket of a bucketed run, in bytes, with its items, and with what waits of what the peer sends.
pub fn of_bucket(receives: bool, protocol: Protocol, asked: u64, sent: u64) -> u64 {
    let params = Params::rows(asked as usize, sent as usize);
    let own = if receives { asked } else { sent };
    let tags = sent.saturating_mul(params.tag_bytes as u64);
    let elements = asked.saturating_mul(ELEMENT_BYTES as u64);
    let from_peer = match (protocol, receives) {
        (Protocol::Vole, true) => tags,
        (Protocol::Vole, false) => asked.saturating_mul(VOLE_MASKED_BYTES).saturating_add(sent / 8),
        (_, true) => elements.saturating_add(tags),
        (_, false) => elements.saturating_add(sent / 8),
    };
    let all = [
        own.saturating_mul(BUCKET_ITEM_BYTES),
        from_peer.saturating_mul(QUEUED),
        of_items(receives, protocol, &params),
    ];
    all.into_iter().fold(0, u64::saturating_add)
}

/// What grows with the items.
fn of_items(receives: bool, protocol: Protocol, params: &Params) -> u64 {
    let (n_receiver, n_sender) = (params.receiver_items as u64, params.sender_entries as u64);
    let entry = params.entry_bytes() as u64;
    // For each item of the receiver, and for each entry of the sender.
    let (of_receiver, of_sender) = match (receives, params.reveal) {
        (true, Reveal::Count | Reveal::Sum { .. }) => (128, 0),
        (true, Reveal::Payload { .. }) => (160, 2 * entry + 24),
        (true, Reveal::Rows) => (96, 0),
        (false, Reveal::Count) => (64, 96 + 2 * entry),
        // Numbers are encrypted as they are sent, with tables that take no more than the fixed part.
        (false, Reveal::Sum { .. }) => (64, 128 + 2 * params.tag_bytes as u64),
        (false, _) => (0, 160 + 3 * entry),
    };
    let (more_of_receiver, more_of_sender) = match (protocol, receives) {
        // Items, store, correlation, and what the correlation is made of.
        (Protocol::Vole, true) => (VOLE_RECEIVER_BYTES, 0),
        (Protocol::Vole, false) => (VOLE_SENDER_BYTES, 100),
        _ => (0, 0),
    };
    let bytes = n_receiver.saturating_mul(of_receiver + more_of_receiver);
    bytes.saturating_add(n_sender.saturating_mul(of_sender + more_of_sender))
}
