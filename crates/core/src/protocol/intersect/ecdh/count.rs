//! `ecdh` that reveals only how many items are common.

use rand_core::CryptoRng;

use super::shuffled::{Matches, TagKey, answer, ask, nth, send_back};
use super::{COUNT, ENTRIES, Params, ReceiverReveal};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::shuffle::random_order;
use crate::protocol::intersect::tag_exchange::COUNT_MESSAGE_BYTES;
use crate::protocol::intersect::tag_exchange::items::check;
use crate::session::Session;

/// The receiver's role. Returns the number of common items. Items must be distinct.
pub fn receive(
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<usize> {
    check_reveal(params)?;
    check(items, params.entries.receiver_items, &params.entries)?;

    // 1. Tags of the own items, in an order that only the sender knows.
    let table = ask(items, &tag_key(session), params, channel, rng)?;

    // 2. Count the sender's tags among them.
    let mut matches = Matches::new(&table);
    let progress = channel.progress().clone();
    progress.start("matching", params.entries.sender_entries);
    for range in params.entries.frames(params.entries.sender_entries, params.entries.tag_bytes) {
        let tags = channel.receive(ENTRIES, range.len() * params.entries.tag_bytes)?;
        matches.of(&tags, channel)?;
        progress.advance(range.len());
    }
    let count = matches.count(items, channel)?;

    // 3. What the sender may learn.
    if params.entries.to_sender {
        channel.send(COUNT, (count as u64).to_le_bytes().to_vec())?;
    }
    Ok(count)
}

/// The sender's role. Returns the number of common items if it learns. Items must be distinct. The key is fresh and
/// is gone when this returns.
///
/// Memory besides the items: an element for each of the receiver's items, a tag and 4 bytes for each of its own.
pub fn send(
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<usize>> {
    check_reveal(params)?;
    check(items, params.entries.sender_entries, &params.entries)?;

    // 1. Evaluate what the receiver sends, and compute the own tags meanwhile.
    let (evaluated, own_tags) = answer(items, &tag_key(session), params, channel, rng)?;

    // 2. Both in random order: the receiver's elements only once all of them are here.
    send_back(&evaluated, params, channel, rng)?;
    let order = random_order(params.entries.sender_entries, rng);
    let progress = channel.progress().clone();
    progress.start("sending entries", params.entries.sender_entries);
    for range in params.entries.frames(params.entries.sender_entries, params.entries.tag_bytes) {
        let picked = order[range.clone()].iter().flat_map(|&index| nth(&own_tags, index, params.entries.tag_bytes));
        channel.send(ENTRIES, picked.copied().collect())?;
        progress.advance(range.len());
    }

    // 3. What the receiver tells.
    if !params.entries.to_sender {
        return Ok(None);
    }
    let message = channel.receive(COUNT, COUNT_MESSAGE_BYTES)?;
    let count = message.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    if count > items.len().min(params.entries.receiver_items) as u64 {
        return Err(channel.violation(format!("`{}` is more than either party has", COUNT.name)));
    }
    Ok(Some(count as usize))
}

/// The key of this session's tags.
fn tag_key(session: &Session) -> TagKey {
    session.derive("ecdh count tag")
}

fn check_reveal(params: &Params) -> Result<()> {
    match params.entries.reveal {
        ReceiverReveal::Count => Ok(()),
        _ => Err(Error::Internal("ecdh: these parameters are not for a count".into())),
    }
}
