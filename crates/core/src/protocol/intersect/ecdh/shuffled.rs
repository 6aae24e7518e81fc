//! Evaluation that `count` and `sum` share. Its answers come back in an order that only the sender knows. The receiver
//! thus cannot tell which of its items an element belongs to.
//!
//! That order would be visible through separate blinds, so one blind serves for all items; what the sender sees is then
//! pseudorandom by the decisional Diffie-Hellman assumption. The key must be fresh in every run: a receiver that asks
//! the same sender twice, with one item more, would otherwise learn whether it is common.

use std::sync::atomic::Ordering;

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::exchange::answer_while;
use super::{BLINDED, CHUNK, ENTRIES, EVALUATED, Params};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::oprf::OprfKey;
use crate::primitive::shuffle::random_order;
use crate::protocol::intersect::tag_exchange::items::{Padded, fork};
use crate::protocol::intersect::tag_exchange::{Bits, TagTable};

/// The key of a session's tags.
pub(super) type TagKey = [u8; 32];

/// The receiver's side: sends its blinded items, and takes tags of them back in an order that only the sender knows.
/// Dummies cannot be told from items any more; they match nothing.
pub(super) fn ask(
    items: &[Item],
    tag_key: &TagKey,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<TagTable> {
    let padded = Padded::new(items, rng);
    let blind = OprfKey::random(params.suite, rng);
    let unblind = blind.inverse();
    let element_bytes = params.suite.element_bytes();
    let frames = params.entries.frames(params.entries.receiver_items, element_bytes);
    let progress = channel.progress().clone();
    progress.start("evaluating", params.entries.receiver_items);
    let mut table = TagTable::new(params.entries.receiver_items, params.entries.tag_bytes);
    channel.duplex(
        |outgoing| {
            for range in frames.clone() {
                outgoing.send(BLINDED, blind.elements(&padded.range(&range))?)?;
            }
            Ok(())
        },
        |incoming| {
            for range in frames.clone() {
                let evaluated = incoming.receive(EVALUATED, range.len() * element_bytes)?;
                let elements = unblind
                    .blind_evaluate(&evaluated)
                    .map_err(|error| incoming.violation(format!("`{}` {error}", EVALUATED.name)))?;
                for tag in tags(tag_key, &elements, element_bytes) {
                    table.insert(&tag[..params.entries.tag_bytes]);
                }
                progress.advance(range.len());
            }
            Ok(())
        },
    )?;
    Ok(table)
}

/// The receiver's matches: which of its elements have met a tag of the sender's.
pub(super) struct Matches<'a> {
    table: &'a TagTable,
    met: Bits,
    count: usize,
}

impl<'a> Matches<'a> {
    /// Creates an empty set of matches.
    pub(super) fn new(table: &'a TagTable) -> Matches<'a> {
        Matches { table, met: Bits::new(table.len()), count: 0 }
    }

    /// The places of those of some tags that match. No two match the same element.
    pub(super) fn of(&mut self, tags: &[u8], channel: &Channel) -> Result<Vec<usize>> {
        let mut places = Vec::new();
        for (place, element) in self.table.find_each(tags) {
            if self.met.set(element) {
                return Err(channel.violation(format!("`{}` holds a tag twice", ENTRIES.name)));
            }
            places.push(place);
        }
        self.count += places.len();
        Ok(places)
    }

    /// Returns the number of matches, which is no more than the number of the receiver's `items`.
    pub(super) fn count(self, items: &[Item], channel: &Channel) -> Result<usize> {
        if self.count <= items.len() {
            Ok(self.count)
        } else {
            Err(channel.violation(format!("`{}` matches more items than there are", ENTRIES.name)))
        }
    }
}

/// The sender's side: evaluates what the receiver sends, in the order in which it came, and computes the tags of its
/// own items meanwhile. The key is fresh, and gone when this returns. Elements are to be sent in random order, by
/// [`send`].
pub(super) fn answer(
    items: &[Item],
    tag_key: &TagKey,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<(Vec<u8>, Vec<u8>)> {
    let key = OprfKey::random(params.suite, rng);
    let mut own_rng = fork(rng);
    let progress = channel.progress().clone();
    progress.start("evaluating", params.entries.receiver_items + params.entries.sender_entries);
    answer_while(
        || evaluate(&key, params, channel),
        |stop| {
            // Dummies cost what items cost, so that the time taken does not tell how many there are.
            let padded = Padded::new(items, &mut own_rng);
            let mut own_tags = Vec::with_capacity(params.entries.sender_entries * params.entries.tag_bytes);
            for start in (0..params.entries.sender_entries).step_by(CHUNK) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let chunk = padded.range(&(start..params.entries.sender_entries.min(start + CHUNK)));
                let elements = Zeroizing::new(key.elements(&chunk)?);
                for tag in tags(tag_key, &elements, params.suite.element_bytes()) {
                    own_tags.extend_from_slice(&tag[..params.entries.tag_bytes]);
                }
                progress.advance(chunk.len());
            }
            Ok(own_tags)
        },
    )
}

/// Sends the receiver's elements back, in a random order.
pub(super) fn send_back(
    evaluated: &[u8],
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    let order = random_order(params.entries.receiver_items, rng);
    let element_bytes = params.suite.element_bytes();
    for range in params.entries.frames(params.entries.receiver_items, element_bytes) {
        let picked = order[range].iter().flat_map(|&index| nth(evaluated, index, element_bytes));
        channel.send(EVALUATED, picked.copied().collect())?;
    }
    Ok(())
}

/// Element `index` of elements of `length` bytes each.
pub(super) fn nth(bytes: &[u8], index: u32, length: usize) -> &[u8] {
    &bytes[index as usize * length..(index as usize + 1) * length]
}

/// The receiver's elements, evaluated, in the order in which they came.
fn evaluate(key: &OprfKey, params: &Params, channel: &mut Channel) -> Result<Vec<u8>> {
    let progress = channel.progress().clone();
    let element_bytes = params.suite.element_bytes();
    let mut evaluated = Vec::new();
    for range in params.entries.frames(params.entries.receiver_items, element_bytes) {
        let blinded = channel.receive(BLINDED, range.len() * element_bytes)?;
        let elements =
            key.blind_evaluate(&blinded).map_err(|error| channel.violation(format!("`{}` {error}", BLINDED.name)))?;
        evaluated.extend_from_slice(&elements);
        progress.advance(range.len());
    }
    Ok(evaluated)
}

/// The tag of each encoded element of so many bytes. The item is no part of it: the receiver no longer knows which one
/// it is.
pub(super) fn tags(key: &TagKey, elements: &[u8], element_bytes: usize) -> Vec<[u8; 32]> {
    elements.par_chunks(element_bytes).with_min_len(256).map(|one| *blake3::keyed_hash(key, one).as_bytes()).collect()
}
