//! The sender's part of `rows` and `payload`, prepared once and used with many receivers.
//!
//! A prepared sender keeps its key and its entries for an epoch. Tags and seals are bound to the epoch's id instead of
//! a session, and to the key; so must the items be to the id. A run then costs the sender one multiplication for each
//! of the receiver's items. `count` cannot be prepared: with one key for two runs, the difference of two counts tells
//! whether the one item that differs is common.

mod format;

use std::sync::atomic::AtomicBool;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::exchange::{answer, send_key};
use super::payload::Matches;
use super::{Params, Payload, ReceiverReveal, TagDomain};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::oprf::{OprfKey, Suite};
use crate::progress::Progress;
use crate::protocol::intersect::tag_exchange::items::check;
use crate::protocol::intersect::tag_exchange::{self, Entries, Own, check_payload, payload, rows};

/// A sender's key and entries for one epoch. Rotating it is preparing anew, under another epoch id.
pub struct PreparedSender {
    epoch: [u8; 32],
    tag_bytes: usize,
    /// Length of a row where there are any.
    row_bytes: Option<usize>,
    key: OprfKey,
    entries: Entries,
}

/// Values that are the same in all runs of an epoch.
#[derive(Debug, Clone, Copy)]
pub struct Epoch {
    /// Identifier of the epoch.
    pub id: [u8; 32],
    /// Number of entries that are sent, dummies included.
    pub entries: usize,
    /// Length of a tag: see [`super::epoch_tag_bytes`].
    pub tag_bytes: usize,
    /// The group and the hash function.
    pub suite: Suite,
}

/// Prepares `items`, with `payload` where rows are to be revealed. The items must be distinct and made with a key of
/// the epoch. Progress counts items.
pub fn prepare(
    items: &[Item],
    payload: Option<&Payload>,
    Epoch { id: epoch, entries, tag_bytes, suite }: Epoch,
    progress: &Progress,
    rng: &mut impl CryptoRng,
) -> Result<PreparedSender> {
    let row_bytes = payload.map(Payload::row_bytes);
    let params = wire_params(row_bytes, entries, tag_bytes);
    check(items, entries, &params)?;
    if let Some(payload) = payload {
        check_payload(items, payload, payload.row_bytes(), entries)?;
    }
    progress.start("preparing", items.len());
    let key = OprfKey::random(suite, rng);
    let domain = TagDomain::of_epoch(&epoch).of_key(&key.public());
    let never = AtomicBool::new(false);
    let entries =
        Entries::new(Own { items, payload }, |items| key.evaluate(items), &domain, &params, rng, progress, &never)?;
    Ok(PreparedSender { epoch, tag_bytes, row_bytes, key, entries })
}

impl PreparedSender {
    /// The epoch's id. The receiver needs it for its items and for [`TagDomain::of_epoch`].
    pub fn epoch(&self) -> &[u8; 32] {
        &self.epoch
    }

    /// A key for a purpose, which only who has this prepared part can derive again.
    pub fn derive(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(&format!("tacita 1 prepared {purpose}"));
        hasher.update(&self.epoch).update(&self.key.to_bytes());
        Zeroizing::new(hasher.finalize().into())
    }

    /// The suite of the key.
    pub(crate) fn suite(&self) -> Suite {
        self.key.suite()
    }

    /// Number of prepared items.
    pub(crate) fn items(&self) -> usize {
        self.entries.items()
    }

    /// The parameters of a run with a receiver that sends `receiver_items` items.
    pub fn params(&self, receiver_items: usize) -> Params {
        let entries = wire_params(self.row_bytes, self.entries.order.len(), self.tag_bytes);
        Params::new(tag_exchange::Params { receiver_items, ..entries }, self.suite())
    }

    /// The sender's role. Returns what it learns, if it learns; without rows in either direction, [`Matches::payload`]
    /// is `None`. The receiver plays [`super::rows::receive`] or [`super::payload::receive`].
    pub fn send(&self, params: &Params, channel: &mut Channel) -> Result<Option<Matches>> {
        let asked = &params.entries;
        asked.check()?;
        let own = self.params(asked.receiver_items);
        let fits = match (own.entries.reveal, asked.reveal) {
            (ReceiverReveal::Rows, ReceiverReveal::Rows) => true,
            (ReceiverReveal::Payload { row_bytes: own, .. }, ReceiverReveal::Payload { row_bytes, returned }) => {
                own == row_bytes && (returned.is_none() || asked.to_sender)
            }
            _ => false,
        };
        let lengths = |params: &tag_exchange::Params| (params.sender_entries, params.tag_bytes);
        if !fits || (lengths(&own.entries), own.suite) != (lengths(asked), params.suite) {
            return Err(Error::Internal("ecdh: these parameters are not those of the prepared sender".into()));
        }
        channel.progress().start("evaluating", asked.receiver_items);
        send_key(&self.key, &TagDomain::of_epoch(&self.epoch), channel)?;
        answer(&self.key, params, channel)?;
        self.entries.send(asked, channel)?;
        match self.row_bytes {
            Some(_) => payload::learn(&self.entries, asked, channel),
            None => {
                let learned = rows::learn(&self.entries, asked, channel)?;
                Ok(learned.map(|items| Matches { items, payload: None }))
            }
        }
    }
}

/// Parameters on which the entries' form depends.
fn wire_params(row_bytes: Option<usize>, entries: usize, tag_bytes: usize) -> tag_exchange::Params {
    let reveal =
        row_bytes.map_or(ReceiverReveal::Rows, |row_bytes| ReceiverReveal::Payload { row_bytes, returned: None });
    tag_exchange::Params { tag_bytes, reveal, ..tag_exchange::Params::rows(0, entries) }
}

impl std::fmt::Debug for PreparedSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Prepared({} items, {} entries)", self.items(), self.entries.order.len())
    }
}
