//! `ecdh` that reveals which items are common.

use rand_core::CryptoRng;
use rayon::prelude::*;

use super::exchange::{answer, answer_while, ask, receive_key, send_key};
use super::{Params, ReceiverReveal, TagDomain};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::oprf::{OUTPUT_BYTES, OprfKey};
use crate::protocol::intersect::tag_exchange::items::{check, fork};
use crate::protocol::intersect::tag_exchange::{self, Entries, Own, TagTable};

/// The receiver's role. Returns the indices of its items that are common, ascending. Items must be distinct.
///
/// Memory besides the items: about 10 bytes and a tag for each of them.
pub fn receive(
    items: &[Item],
    domain: &TagDomain,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<usize>> {
    check_reveal(params)?;
    check(items, params.entries.receiver_items, &params.entries)?;

    // 1. The sender's key, and F(y) of the own items in a random order, shortened to tags.
    let (key, domain) = receive_key(domain, params, channel)?;
    let mut table = TagTable::new(items.len(), params.entries.tag_bytes);
    let order = ask(items, &key, params, channel, rng, |_, outputs: &[[u8; OUTPUT_BYTES]]| {
        let tags: Vec<[u8; 32]> = outputs.par_iter().with_min_len(256).map(|output| domain.tag(output, 0)).collect();
        for tag in tags {
            // Two own items with equal tags are no fault of anybody: the bound on wrong results covers them.
            table.insert(&tag[..params.entries.tag_bytes]);
        }
    })?;

    // 2. The sender's tags, and what the sender may learn.
    let places = tag_exchange::rows::receive(&table, &params.entries, channel)?;
    let mut common: Vec<usize> = places.into_iter().map(|place| order[place] as usize).collect();
    common.par_sort_unstable();
    Ok(common)
}

/// The sender's role. Returns the indices of its items that are common, ascending, if it learns. Items must be
/// distinct. The key is fresh and is gone when this returns.
pub fn send(
    items: &[Item],
    domain: &TagDomain,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<usize>>> {
    check_reveal(params)?;
    check(items, params.entries.sender_entries, &params.entries)?;

    // 1. Answer the receiver, and compute the own tags meanwhile. None is sent before the receiver has its own.
    let key = OprfKey::random(params.suite, rng);
    let domain = send_key(&key, domain, channel)?;
    let mut own_rng = fork(rng);
    let progress = channel.progress().clone();
    progress.start("evaluating", params.entries.receiver_items + params.entries.sender_entries);
    let ((), entries) = answer_while(
        || answer(&key, params, channel),
        |stop| {
            Entries::new(
                Own { items, payload: None },
                |items| key.evaluate(items),
                &domain,
                &params.entries,
                &mut own_rng,
                &progress,
                stop,
            )
        },
    )?;

    // 2. The tags in random order.
    entries.send(&params.entries, channel)?;

    // 3. What the receiver tells.
    tag_exchange::rows::learn(&entries, &params.entries, channel)
}

fn check_reveal(params: &Params) -> Result<()> {
    match params.entries.reveal {
        ReceiverReveal::Rows => Ok(()),
        _ => Err(Error::Internal("ecdh: these parameters are not for rows".into())),
    }
}
