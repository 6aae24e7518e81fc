//! Parameters that both parties derive from terms and sizes, and checks of the sizes that a peer may announce.

use tacita_core::channel::{Channel, MAX_PAYLOAD_BYTES};
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::intersect::tag_exchange::{Params, SEAL_BYTES};
use tacita_core::{Error, Result};

use crate::agreement::{JobSpec, Reveal, Sizes};
use crate::base::hex::unhex;
use crate::jobs::intersect::load::{given_columns, number_bytes};
use crate::jobs::intersect::{disk, prepared};
use crate::table::payload::PayloadSchema;

/// The most that an entry has besides its row: a tag and an authenticator.
const ENTRY_OVERHEAD: usize = 32 + SEAL_BYTES;

/// The limit on what clients may ask of a prepared part, if the terms have one.
pub(super) fn quota_limit(job: &JobSpec) -> Option<&'static str> {
    let limits = [("max_queries", job.limits.max_queries), ("max_clients", job.limits.max_clients)];
    limits.into_iter().find(|(_, limit)| limit.is_some()).map(|(name, _)| name)
}

/// Checks that the peer's sizes fit the job: what it gives, and what it has prepared.
pub fn check_peer(job: &JobSpec, own: &Sizes, sizes: &Sizes, channel: &Channel) -> Result<()> {
    sizes.refuse(false, true, true, channel)?;
    let peer = channel.peer();
    let refuse = |check: &str| Err(channel.violation(check));
    match given_columns(job, peer) {
        None if sizes.entries != 0 || sizes.row_bytes != 0 || !sizes.schema.is_empty() => {
            return refuse("it announces columns that the terms do not have it give");
        }
        None => (),
        Some(_) => {
            let schema = peer_schema(job, peer, sizes)?;
            if sizes.entries < sizes.items || (sizes.items == 0 && sizes.entries > 0) {
                return refuse("it announces fewer given rows than keys");
            }
            let row_bytes = number_bytes(job) + schema.row_bytes();
            if let Some(limit) = job.limits.max_text
                && !schema.is_filled_up_to(limit)
            {
                return refuse("its given texts are not filled up to limits.max_text");
            }
            if row_bytes + ENTRY_OVERHEAD > MAX_PAYLOAD_BYTES {
                return refuse("it announces given rows that do not fit a message");
            }
            if row_bytes != sizes.row_bytes as usize {
                return refuse("it announces given rows of another length than their columns have");
            }
        }
    }
    disk::check_sizes(job, sizes, channel)?;
    if sizes.epoch.is_some() && disk::is_bucketed(own, sizes) {
        return refuse("it announces a prepared part, which a table on disk cannot use");
    }
    if let Some(limit) = quota_limit(job)
        && peer != job.receiver()
        && sizes.epoch.is_none()
    {
        return Err(Error::Terms(format!(
            "{peer} answers without a prepared part, which limits.{limit} needs: agree to leave the limit out, or let {peer} run \
             `tacita prepare`"
        )));
    }
    if sizes.epoch.is_some() != sizes.tag_bytes.is_some() {
        return refuse("it announces half a prepared part");
    }
    if sizes.epoch.is_some() {
        if peer == job.receiver() || prepared::check_job(job, peer).is_err() {
            return refuse("it announces a prepared part where none can be used");
        }
        let due = prepared::tag_bytes(job, sizes);
        if epoch(sizes).is_none() || sizes.tag_bytes.is_none_or(|bytes| bytes as usize != due) {
            return refuse("it announces a prepared part that does not fit the terms");
        }
    }
    Ok(())
}

/// The columns that `peer` announces, which must be those that the terms have it give.
pub(crate) fn peer_schema(job: &JobSpec, peer: &str, sizes: &Sizes) -> Result<PayloadSchema> {
    // What is not hexadecimal is no schema either.
    PayloadSchema::decode(&unhex(&sizes.schema).unwrap_or_default(), peer, job.given_by(peer))
}

/// The id of the prepared epoch that `sizes` announce.
pub(crate) fn epoch(sizes: &Sizes) -> Option<[u8; 32]> {
    sizes.epoch.as_deref().and_then(unhex)?.try_into().ok()
}

/// Returns the parameters that both parties derive from terms and sizes. `own` are the sizes of `me`.
pub fn params(job: &JobSpec, me: &str, own: &Sizes, theirs: &Sizes) -> Params {
    let (receiver, sender) = if me == job.receiver() { (own, theirs) } else { (theirs, own) };
    let receiver_items = receiver.items as usize;
    let sender_items = sender.items as usize;
    let sender_learns = job.reveal_to.len() > 1;
    let mut params = match job.reveal {
        Reveal::Rows => Params::rows(receiver_items, sender_items),
        Reveal::Count => Params::count(receiver_items, sender_items),
        Reveal::Sum(ref summed) => {
            Params::sum(receiver_items, sender_items, KeySize::of(job.level)).of_sums(summed.numbers())
        }
        Reveal::Payload => {
            let gives = !sender.schema.is_empty();
            let entries = if gives { sender.entries as usize } else { sender_items };
            Params::payload(receiver_items, entries, sender.row_bytes as usize)
        }
        // Job files that say so are refused.
        Reveal::Value
        | Reveal::Shares
        | Reveal::Frequent
        | Reveal::Cells
        | Reveal::Counts
        | Reveal::CountsBy(_)
        | Reveal::Keys { .. } => Params::rows(receiver_items, sender_items),
    };
    if job.runs_in_all() > 1 {
        params = params.one_of(job.runs_in_all());
    }
    if sender_learns {
        params = params.to_both();
        if job.reveal == Reveal::Payload && !receiver.schema.is_empty() {
            params = params.returning(receiver.entries as usize, receiver.row_bytes as usize);
        }
    }
    if let Some(tag_bytes) = sender.tag_bytes {
        params.tag_bytes = tag_bytes as usize;
    }
    params
}

/// The key that binds items to a prepared epoch (see [`prepared::bound_epoch`]) rather than to a session.
pub fn item_key_of_epoch(epoch: &[u8; 32]) -> [u8; 32] {
    blake3::derive_key("tacita 1 epoch item", epoch)
}
