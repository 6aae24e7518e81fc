//! `ecdh` that reveals only how many items are common, over many machines of each party.
//!
//! Items are spread over buckets, and the machines of a bucket do its multiplications ([`ask`], [`answer`]). But a
//! bucket on its own gives nobody anything: the receiver's evaluated elements and the sender's tags of all buckets go
//! into one pool at the sender. From there they are sent ([`send`], [`receive`]) without their buckets: elements in one
//! random order over all of them, tags sorted. So the receiver gets what [`super::count`] would give it for all items
//! at once, and the number of buckets changes nothing.
//!
//! No machine has to hold the pool: it has [`TagPool::parts`] parts. Each element goes to a part that is drawn for it,
//! and is shuffled there, which is a uniformly random order of all. A tag goes to the part that its first bytes name.
//!
//! Each party has one exponent for all buckets, and never uses it for another run: see `shuffled`.

pub(crate) use crate::channel::labels::pooled::PART;

use std::ops::Range;

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::shuffled::{TagKey, nth, tags};
use super::{BLINDED, CHUNK, COUNT, ENTRIES, EVALUATED, Params, ReceiverReveal};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::group::DecodeError;
use crate::primitive::oprf::{OprfKey, Suite};
use crate::primitive::shuffle::{below, random_order};
use crate::protocol::intersect::tag_exchange::items::{Padded, check};
use crate::protocol::intersect::tag_exchange::{COUNT_MESSAGE_BYTES, Frames, tag_bytes};

/// About so many elements are in a part of a pool: at most some hundred MB.
const PART_ITEMS: u64 = 1 << 22;

/// The pool of a run, as both parties derive it from what they have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagPool {
    suite: Suite,
    /// Elements of the receiver and tags of the sender, dummies included.
    totals: [u64; 2],
    tag_bytes: usize,
    parts: usize,
}

impl TagPool {
    /// The pool of so many items of the receiver and of the sender in all buckets, dummies included.
    pub fn new(suite: Suite, receiver_items: u64, sender_items: u64) -> TagPool {
        TagPool::of_parts(suite, receiver_items, sender_items, PART_ITEMS)
    }

    fn of_parts(suite: Suite, receiver_items: u64, sender_items: u64, part: u64) -> TagPool {
        let parts = receiver_items.max(sender_items).div_ceil(part).max(1) as usize;
        let tag_bytes = tag_bytes(receiver_items as usize, sender_items as usize);
        TagPool { suite, totals: [receiver_items, sender_items], tag_bytes, parts }
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Length of an element, and of a tag.
    pub(crate) fn bytes(&self) -> [usize; 2] {
        [self.suite.element_bytes(), self.tag_bytes]
    }

    /// The part of a tag.
    fn part_of(&self, tag: &[u8]) -> usize {
        let first = tag.iter().take(4).fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        ((first * self.parts as u64) >> 32) as usize
    }

    /// Tags by their part.
    fn parted(&self, tags: &[[u8; 32]]) -> Vec<Vec<u8>> {
        let mut parts = vec![Vec::new(); self.parts];
        for tag in tags {
            parts[self.part_of(tag)].extend_from_slice(&tag[..self.tag_bytes]);
        }
        parts
    }

    /// Elements and tags that a part has at most: twice as many as there would be if all had as many. More are as
    /// unlikely as an equal hash.
    fn most(&self) -> [u64; 2] {
        let fair = |total: u64| (2 * total.div_ceil(self.parts as u64)).saturating_add(1024).min(total);
        self.totals.map(|total| if self.parts == 1 { total } else { fair(total) })
    }
}

/// Data that the sender has of a bucket, by the parts of the pool.
#[derive(PartialEq, Eq)]
pub struct Answered {
    /// The receiver's elements, evaluated.
    pub elements: Vec<Vec<u8>>,
    /// Tags of the own items.
    pub tags: Vec<Vec<u8>>,
}

/// A bucket, the receiver's side: sends its items, blinded. Items must be distinct.
pub fn ask(
    items: &[Item],
    blind: &OprfKey,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    check_reveal(params)?;
    check(items, params.entries.receiver_items, &params.entries)?;
    let padded = Padded::new(items, rng);
    let progress = channel.progress().clone();
    progress.start("blinding", params.entries.receiver_items);
    for range in params.entries.frames(params.entries.receiver_items, params.suite.element_bytes()) {
        channel.send(BLINDED, blind.elements(&padded.range(&range))?)?;
        progress.advance(range.len());
    }
    Ok(())
}

/// A bucket, the sender's side: evaluates the receiver's items, and makes tags of its own. Items must be distinct.
pub fn answer(
    items: &[Item],
    key: &OprfKey,
    tag_key: &TagKey,
    pool: &TagPool,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Answered> {
    check_reveal(params)?;
    check(items, params.entries.sender_entries, &params.entries)?;
    let element_bytes = params.suite.element_bytes();
    let progress = channel.progress().clone();
    progress.start("evaluating", params.entries.receiver_items + params.entries.sender_entries);
    let mut answered = Answered { elements: vec![Vec::new(); pool.parts], tags: vec![Vec::new(); pool.parts] };
    for range in params.entries.frames(params.entries.receiver_items, element_bytes) {
        let blinded = channel.receive(BLINDED, range.len() * element_bytes)?;
        let elements =
            key.blind_evaluate(&blinded).map_err(|error| channel.violation(format!("`{}` {error}", BLINDED.name)))?;
        for element in elements.chunks_exact(element_bytes) {
            answered.elements[below(pool.parts as u32, rng) as usize].extend_from_slice(element);
        }
        progress.advance(range.len());
    }
    let padded = Padded::new(items, rng);
    for start in (0..params.entries.sender_entries).step_by(CHUNK) {
        let range: Range<usize> = start..params.entries.sender_entries.min(start + CHUNK);
        let elements = Zeroizing::new(key.elements(&padded.range(&range))?);
        let own = pool.parted(&tags(tag_key, &elements, element_bytes));
        answered.tags.iter_mut().zip(own).for_each(|(part, own)| part.extend(own));
        progress.advance(range.len());
    }
    Ok(answered)
}

/// The sender's side of one part of the pool: what all buckets have of it, one after the other.
pub fn send(
    elements: Vec<u8>,
    own_tags: Vec<u8>,
    pool: &TagPool,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    let [element_bytes, tag_bytes] = pool.bytes();
    let counts = [elements.len() / element_bytes, own_tags.len() / tag_bytes];
    if counts.iter().zip(pool.most()).any(|(count, most)| *count as u64 > most) {
        return Err(Error::Internal("a part of the pool has more than its share".into()));
    }
    channel.send(PART, counts.iter().flat_map(|count| (*count as u64).to_le_bytes()).collect())?;
    // The place of an element in its bucket, and its bucket, are lost here.
    let order = random_order(counts[0], rng);
    for range in frames(counts[0], element_bytes) {
        let picked = order[range].iter().flat_map(|&index| nth(&elements, index, element_bytes));
        channel.send(EVALUATED, picked.copied().collect())?;
    }
    let mut sorted: Vec<&[u8]> = own_tags.chunks_exact(tag_bytes).collect();
    sorted.par_sort_unstable();
    for range in frames(counts[1], tag_bytes) {
        channel.send(ENTRIES, sorted[range].concat())?;
    }
    Ok(())
}

/// Numbers of elements and tags that the receiver still has to get of a pool.
pub struct PoolRemainder([u64; 2]);

impl PoolRemainder {
    /// Returns the numbers of the whole pool.
    pub fn all(pool: &TagPool) -> PoolRemainder {
        PoolRemainder(pool.totals)
    }

    /// Refuses an end before all is here.
    pub fn check(&self, channel: &Channel) -> Result<()> {
        match self.0 {
            [0, 0] => Ok(()),
            _ => Err(channel.violation(format!("`{}` leaves out some of the pool", PART.name))),
        }
    }
}

/// The receiver's side of one part: elements that are still blinded, and the sender's tags, sorted.
pub fn receive(pool: &TagPool, left: &mut PoolRemainder, channel: &mut Channel) -> Result<(Vec<u8>, Vec<u8>)> {
    let [element_bytes, tag_bytes] = pool.bytes();
    let message = channel.receive(PART, 16)?;
    let mut counts = [0; 2];
    for (place, bytes) in message.chunks_exact(8).enumerate() {
        let count = bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        if count > left.0[place].min(pool.most()[place]) {
            return Err(channel.violation(format!("`{}` says more than there is", PART.name)));
        }
        left.0[place] -= count;
        counts[place] = count as usize;
    }
    let mut received = [Vec::new(), Vec::new()];
    for (label, place, length) in [(EVALUATED, 0, element_bytes), (ENTRIES, 1, tag_bytes)] {
        for range in frames(counts[place], length) {
            received[place].extend(channel.receive(label, range.len() * length)?);
        }
    }
    let [elements, theirs] = received;
    Ok((elements, theirs))
}

/// Tags of elements of a part that the receiver got, by their own parts.
///
/// Errors: what the sender has sent is no element.
pub fn open(
    elements: &[u8],
    blind: &OprfKey,
    tag_key: &TagKey,
    pool: &TagPool,
) -> std::result::Result<Vec<Vec<u8>>, DecodeError> {
    let opened = blind.inverse().blind_evaluate(elements)?;
    Ok(pool.parted(&tags(tag_key, &opened, pool.suite.element_bytes())))
}

/// Counts the receiver's tags of a part that the sender has, too. `theirs` are as [`receive`] returned them.
///
/// Errors: what is wrong with them.
pub fn matches(own: &[u8], theirs: &[u8], part: usize, pool: &TagPool) -> std::result::Result<u64, &'static str> {
    let length = pool.tag_bytes;
    let theirs: Vec<&[u8]> = theirs.chunks_exact(length).collect();
    // Equal ones may be: tags are as long as pairs of one item of each party need, so that two of a large sender's may
    // agree by chance.
    if theirs.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err("the tags are not sorted");
    }
    if theirs.iter().any(|tag| pool.part_of(tag) != part) {
        return Err("a tag is in the wrong part");
    }
    let mut own: Vec<&[u8]> = own.chunks_exact(length).collect();
    own.par_sort_unstable();
    own.dedup();
    Ok(own.par_iter().filter(|tag| theirs.binary_search(tag).is_ok()).count() as u64)
}

/// Tells the sender the count.
pub fn tell(count: u64, channel: &mut Channel) -> Result<()> {
    channel.send(COUNT, count.to_le_bytes().to_vec())
}

/// Hears the count from the receiver, of `most` at most.
pub fn hear(most: u64, channel: &mut Channel) -> Result<u64> {
    let message = channel.receive(COUNT, COUNT_MESSAGE_BYTES)?;
    let count = message.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    if count <= most {
        Ok(count)
    } else {
        Err(channel.violation(format!("`{}` is more than either party has", COUNT.name)))
    }
}

fn frames(elements: usize, length: usize) -> Frames {
    Frames::new(elements, length, CHUNK)
}

fn check_reveal(params: &Params) -> Result<()> {
    match params.entries.reveal {
        ReceiverReveal::Count => Ok(()),
        _ => Err(Error::Internal("ecdh: these parameters are not for a count".into())),
    }
}

#[cfg(test)]
mod tests;
