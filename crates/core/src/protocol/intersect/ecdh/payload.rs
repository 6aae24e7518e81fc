//! `ecdh` that reveals which items are common, and rows that belong to them.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::exchange::{answer, answer_while, ask, receive_key, send_key};
use super::{Params, Payload, TagDomain};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::oprf::{OUTPUT_BYTES, OprfKey};
use crate::protocol::intersect::tag_exchange::items::{check, fork};
use crate::protocol::intersect::tag_exchange::{Entries, Own, check_payload, payload};

pub use crate::protocol::intersect::tag_exchange::payload::Matches;

/// The receiver's role. `own` are the rows of its own items, which it returns for the common ones if that was agreed
/// on. Items must be distinct.
///
/// Memory besides the items: 68 bytes for each of them, and the sender's entries.
pub fn receive(
    items: &[Item],
    own: Option<&Payload>,
    domain: &TagDomain,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Matches> {
    payload::check_own(items, own, &params.entries)?;
    check(items, params.entries.receiver_items, &params.entries)?;

    // 1. The sender's key, and F(y) of the own items.
    let (key, domain) = receive_key(domain, params, channel)?;
    let mut outputs = Zeroizing::new(vec![[0; OUTPUT_BYTES]; items.len()]);
    ask(items, &key, params, channel, rng, |indices, more| {
        indices.iter().zip(more).for_each(|(&index, output)| outputs[index as usize] = *output);
    })?;

    // 2. The sender's entries for them, and what the sender is told and given.
    payload::receive(&outputs, own, &domain, &params.entries, channel)
}

/// The sender's role, with one or more rows for each of its items. Returns what it learns, if it learns. Items must
/// be distinct. The key is fresh and is gone when this returns.
pub fn send(
    items: &[Item],
    rows: &Payload,
    domain: &TagDomain,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Matches>> {
    let (row_bytes, _) = payload::agreed(&params.entries)?;
    check(items, params.entries.sender_entries, &params.entries)?;
    check_payload(items, rows, row_bytes, params.entries.sender_entries)?;

    // 1. Answer the receiver, and seal the own rows meanwhile. None is sent before the receiver has its own tags.
    let key = OprfKey::random(params.suite, rng);
    let domain = send_key(&key, domain, channel)?;
    let own = Own { items, payload: Some(rows) };
    let mut own_rng = fork(rng);
    let progress = channel.progress().clone();
    let dummies = params.entries.sender_entries - rows.rows().min(params.entries.sender_entries);
    progress.start("evaluating", params.entries.receiver_items + items.len() + dummies);
    let ((), entries) = answer_while(
        || answer(&key, params, channel),
        |stop| Entries::new(own, |items| key.evaluate(items), &domain, &params.entries, &mut own_rng, &progress, stop),
    )?;

    // 2. The tags and sealed rows in random order.
    entries.send(&params.entries, channel)?;

    // 3. What the receiver tells and gives.
    payload::learn(&entries, &params.entries, channel)
}
