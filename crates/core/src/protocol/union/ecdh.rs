//! `ecdh`: the membership test from a commutative function, which is a Diffie-Hellman exponentiation of hashes.
//!
//! Chen, Zhang, Zhang, Dong & Liu (PKC 2024), figure 4 (multi-query reverse private membership test from a commutative
//! weak pseudorandom function, here k H(x) in ristretto255) inside figure 3 (union from such a test and OT). Their
//! server is the receiver, their client the sender:
//!
//! 1. The receiver sends b H(y) for each of its items. The sender sends a H(x) for each of its own, in an order of its own.
//! 2. The sender makes a (b H(y)) and answers tags of them, sorted, which hides what came from which. The receiver makes b (a H(x))
//!    and sees for each, by its tag, whether it is among them.
//! 3. One transfer for each of the sender's items: see [`transfer`].
//!
//! Both keys are fresh in every run, and gone with it: with a key that is used twice, two runs would show which items
//! they have in common. Tags are bound to the session.

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::{ELEMENTS, ItemSource, Params, SenderItems, SortSpace, TAGS, transfer};
use crate::channel::{Channel, Incoming};
use crate::error::Result;
use crate::item::Item;
use crate::primitive::oprf::OprfKey;
use crate::primitive::ot::Choices;
use crate::protocol::intersect::tag_exchange::items::Padded;
use crate::role::Role;
use crate::session::Session;

/// Bytes of an item's place, after its tag.
const PLACE_BYTES: usize = 4;

/// The receiver's role. What the sender gives for each of its items that the receiver lacks is handed to `take`, in the
/// sender's order. Returns how many items both have.
///
/// Errors: the channel fails, the peer breaks the protocol, or `room` or `take` fail.
pub fn receive(
    items: &(impl ItemSource + ?Sized),
    room: &dyn SortSpace,
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<usize> {
    let mut each = |has: bool, payload: &[u8]| if has { Ok(()) } else { take(payload) };
    receive_each(items, room, session, params, channel, rng, &mut each)
}

/// Runs the receiver's role as [`receive`] does. It is for a caller that wants to spend as much time on items that it
/// has as on those that it lacks. The sender could see that time. For every item of the sender's, `each` is told
/// whether the receiver has it. With that come the given bytes, or as many bytes that tell nothing.
pub fn receive_each(
    items: &(impl ItemSource + ?Sized),
    room: &dyn SortSpace,
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
    each: &mut dyn FnMut(bool, &[u8]) -> Result<()>,
) -> Result<usize> {
    params.check(Role::Receiver, items.count())?;
    if params.sender_items == 0 {
        return Ok(0);
    }
    let key = OprfKey::random(params.suite(), rng);
    let tag_key = tag_key(session);
    let tag_bytes = params.tag_bytes;
    let dummies = Padded::new(&[], rng);
    let progress = channel.progress().clone();
    progress.start("comparing", params.receiver_items + params.sender_items);

    // 1. b H(y) there, b (a H(x)) from what comes back: its tag and its place.
    let mut tags = room.sorter(tag_bytes + PLACE_BYTES)?;
    let element_bytes = params.suite().element_bytes();
    channel.duplex_of(
        ELEMENTS,
        |outgoing| {
            for range in params.frames(params.receiver_items, element_bytes) {
                let count = range.len();
                let own = range.start.min(items.count())..range.end.min(items.count());
                let rest = range.start + own.len()..range.end;
                let all: Zeroizing<Vec<Item>> =
                    Zeroizing::new([&items.items(own)?[..], &dummies.range(&rest)].concat());
                outgoing.send(ELEMENTS, key.elements(&all)?)?;
                progress.advance(count);
            }
            Ok(())
        },
        |incoming| {
            for range in params.frames(params.sender_items, element_bytes) {
                let (first, count) = (range.start as u32, range.len());
                let own = evaluate(&key, &tag_key, params, count, incoming)?;
                let places = own.iter().zip(first..);
                tags.add(
                    &places
                        .flat_map(|(tag, place)| [&tag[..tag_bytes], &place.to_be_bytes()].concat())
                        .collect::<Vec<_>>(),
                )?;
                progress.advance(count);
            }
            Ok(())
        },
    )?;

    // 2. Which of them are among the sender's tags of the own items: both are in order.
    let mut theirs = SortedTags::new(params, channel);
    let mut has = vec![0u8; params.sender_items.div_ceil(8)];
    let mut common = 0;
    tags.finish(&mut |records| {
        for record in records.chunks_exact(tag_bytes + PLACE_BYTES) {
            let (tag, place) = record.split_at(tag_bytes);
            if theirs.has(tag)? {
                let place = place.iter().fold(0, |place, &byte| place << 8 | usize::from(byte));
                has[place / 8] |= 1 << (place % 8);
                common += 1;
            }
        }
        Ok(())
    })?;
    theirs.drain()?;

    // 3. What is given for the others.
    let has = Choices::from_bytes(&Zeroizing::new(has), params.sender_items);
    transfer::receive_each(&has, params.payload_bytes, session, channel, rng, each)?;
    Ok(common)
}

/// The sender's role, which learns nothing.
///
/// Errors: those of [`receive`].
pub fn send(
    given: &dyn SenderItems,
    room: &dyn SortSpace,
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    params.check(Role::Sender, given.count())?;
    if params.sender_items == 0 {
        return Ok(());
    }
    let key = OprfKey::random(params.suite(), rng);
    let tag_key = tag_key(session);
    let progress = channel.progress().clone();
    progress.start("comparing", params.receiver_items + params.sender_items);

    // 1. a H(x) there, tags of a (b H(y)) from what comes.
    let mut tags = room.sorter(params.tag_bytes)?;
    let element_bytes = params.suite().element_bytes();
    channel.duplex_of(
        ELEMENTS,
        |outgoing| {
            for range in params.frames(params.sender_items, element_bytes) {
                let count = range.len();
                outgoing.send(ELEMENTS, key.elements(&given.items(range)?)?)?;
                progress.advance(count);
            }
            Ok(())
        },
        |incoming| {
            for range in params.frames(params.receiver_items, element_bytes) {
                let evaluated = evaluate(&key, &tag_key, params, range.len(), incoming)?;
                tags.add(&evaluated.iter().flat_map(|tag| &tag[..params.tag_bytes]).copied().collect::<Vec<_>>())?;
                progress.advance(range.len());
            }
            Ok(())
        },
    )?;

    // 2. The tags in order, which says nothing of what came from which.
    let mut frames = params.frames(params.receiver_items, params.tag_bytes);
    let mut message = Vec::new();
    let mut length = frames.next().map_or(0, |range| range.len() * params.tag_bytes);
    tags.finish(&mut |records| {
        message.extend_from_slice(records);
        while length > 0 && message.len() >= length {
            let rest = message.split_off(length);
            channel.send(TAGS, std::mem::replace(&mut message, rest))?;
            length = frames.next().map_or(0, |range| range.len() * params.tag_bytes);
        }
        Ok(())
    })?;

    // 3.
    transfer::send(given, params.payload_bytes, session, channel, rng)
}

/// The key of this session's tags.
fn tag_key(session: &Session) -> [u8; 32] {
    session.derive("union ecdh tag")
}

/// Receives a message of elements, multiplies them by the key, and makes tags of them. The item is no part of a tag:
/// nobody knows both.
fn evaluate(
    key: &OprfKey,
    tag_key: &[u8; 32],
    params: &Params,
    count: usize,
    incoming: &mut Incoming,
) -> Result<Vec<[u8; 32]>> {
    let length = params.suite().element_bytes();
    let elements = incoming.receive(ELEMENTS, count * length)?;
    let evaluated =
        key.blind_evaluate(&elements).map_err(|error| incoming.violation(format!("`{}` {error}", ELEMENTS.name)))?;
    let tag = |element: &[u8]| *blake3::keyed_hash(tag_key, element).as_bytes();
    Ok(evaluated.par_chunks(length).with_min_len(256).map(tag).collect())
}

/// The tags that the sender sends, in order, as they come.
struct SortedTags<'a> {
    channel: &'a mut Channel,
    frames: crate::protocol::intersect::tag_exchange::Frames,
    bytes: usize,
    message: Vec<u8>,
    /// Position of the first tag that has not been passed.
    at: usize,
    last: Vec<u8>,
}

impl<'a> SortedTags<'a> {
    fn new(params: &Params, channel: &'a mut Channel) -> SortedTags<'a> {
        let frames = params.frames(params.receiver_items, params.tag_bytes);
        SortedTags { channel, frames, bytes: params.tag_bytes, message: Vec::new(), at: 0, last: Vec::new() }
    }

    /// Whether a tag is among them. Tags are asked for in order.
    fn has(&mut self, tag: &[u8]) -> Result<bool> {
        loop {
            if self.at == self.message.len() && !self.receive()? {
                return Ok(false);
            }
            let next = &self.message[self.at..self.at + self.bytes];
            if next >= tag {
                return Ok(next == tag);
            }
            self.at += self.bytes;
        }
    }

    /// The next message, whose tags must be in order; none if there is none left.
    fn receive(&mut self) -> Result<bool> {
        let Some(range) = self.frames.next() else { return Ok(false) };
        self.message = self.channel.receive(TAGS, range.len() * self.bytes)?;
        self.at = 0;
        let first = &self.message[..self.bytes];
        let mut pairs = self.message.chunks_exact(self.bytes).zip(self.message.chunks_exact(self.bytes).skip(1));
        if first < &self.last[..] || pairs.any(|(one, next)| next < one) {
            return Err(self.channel.violation(format!("`{}` are not in order", TAGS.name)));
        }
        self.last = self.message[self.message.len() - self.bytes..].to_vec();
        Ok(true)
    }

    /// Receives what is left.
    fn drain(mut self) -> Result<()> {
        while self.receive()? {}
        Ok(())
    }
}
