//! `ecdh` that reveals only how many items are common.
//!
//! The sender returns the evaluated elements in random order, so that the receiver cannot tell which of its items an
//! element belongs to. That order would be visible through separate blinds, so one blind serves for all items; what
//! the sender sees is then pseudorandom by the decisional Diffie-Hellman assumption. The key must be fresh in every
//! run: a receiver that asks the same sender twice, with one item more, would otherwise learn whether it is common.

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::exchange::answer_while;
use super::{BLINDED, CHUNK, COUNT, ENTRIES, EVALUATED, Params, Reveal};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::group::{DecodeError, Group, Ristretto255};
use crate::primitive::oprf::{ELEMENT_BYTES, hash_to_group};
use crate::primitive::shuffle::random_order;
use crate::protocol::intersect::entries::items::{Padded, check, fork};
use crate::protocol::intersect::entries::{Bits, COUNT_MESSAGE_BYTES, TagTable};
use crate::session::Session;

type Scalar = <Ristretto255 as Group>::Scalar;

/// The receiver's role. Returns the number of common items. Items must be distinct.
pub fn receive(
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<usize> {
    check_reveal(params)?;
    check(items, params.receiver_items, params)?;
    let tag_key = tag_key(session);
    let padded = Padded::new(items, rng);
    let blind = Ristretto255::random_scalars(1, rng);
    let unblind = Ristretto255::invert(&blind);
    let frames = params.frames(params.receiver_items, ELEMENT_BYTES);
    let progress = channel.progress().clone();
    progress.start("evaluating", params.receiver_items);

    // 1. Send the blinded items, and take tags of them back in an order that only the sender knows. Dummies cannot be
    //    told from items any more; they match nothing.
    let mut table = TagTable::new(params.receiver_items, params.tag_bytes);
    channel.duplex(
        |outgoing| {
            for range in frames.clone() {
                let points = hash_to_group(&padded.range(&range))?;
                outgoing.send(BLINDED, Ristretto255::multiply_encode(&points, &blind[0]))?;
            }
            Ok(())
        },
        |incoming| {
            for range in frames.clone() {
                let evaluated = incoming.receive(EVALUATED, range.len() * ELEMENT_BYTES)?;
                let elements = raise(&evaluated, &unblind[0])
                    .map_err(|error| incoming.violation(format!("`{}` {error}", EVALUATED.name)))?;
                for tag in tags(&tag_key, &elements) {
                    table.insert(&tag[..params.tag_bytes]);
                }
                progress.advance(range.len());
            }
            Ok(())
        },
    )?;

    // 2. Count the sender's tags among them.
    let mut found = Bits::new(params.receiver_items);
    let mut count = 0;
    progress.start("matching", params.sender_entries);
    for range in params.frames(params.sender_entries, params.tag_bytes) {
        let tags = channel.receive(ENTRIES, range.len() * params.tag_bytes)?;
        for (_, element) in table.find_each(&tags) {
            if found.set(element) {
                return Err(channel.violation(format!("`{}` holds a tag twice", ENTRIES.name)));
            }
            count += 1;
        }
        progress.advance(range.len());
    }
    if count > items.len() {
        return Err(channel.violation(format!("`{}` matches more items than there are", ENTRIES.name)));
    }

    // 3. What the sender may learn.
    if params.to_sender {
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
    check(items, params.sender_entries, params)?;
    let tag_key = tag_key(session);
    let key = Ristretto255::random_scalars(1, rng);
    let mut own_rng = fork(rng);
    let progress = channel.progress().clone();
    progress.start("evaluating", params.receiver_items + params.sender_entries);

    // 1. Evaluate what the receiver sends, and compute the own tags meanwhile.
    let (evaluated, own_tags) = answer_while(
        || evaluate(&key[0], params, channel),
        |stop| {
            // Dummies cost what items cost, so that the time taken does not tell how many there are.
            let padded = Padded::new(items, &mut own_rng);
            let mut own_tags = Vec::with_capacity(params.sender_entries * params.tag_bytes);
            for start in (0..params.sender_entries).step_by(CHUNK) {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let chunk = padded.range(&(start..params.sender_entries.min(start + CHUNK)));
                let elements = Zeroizing::new(Ristretto255::multiply_encode(&hash_to_group(&chunk)?, &key[0]));
                for tag in tags(&tag_key, &elements) {
                    own_tags.extend_from_slice(&tag[..params.tag_bytes]);
                }
                progress.advance(chunk.len());
            }
            Ok(own_tags)
        },
    )?;

    // 2. Both in random order: the receiver's elements only once all of them are here.
    for (label, bytes, length, count) in [
        (EVALUATED, evaluated, ELEMENT_BYTES, params.receiver_items),
        (ENTRIES, own_tags, params.tag_bytes, params.sender_entries),
    ] {
        let order = random_order(count, rng);
        progress.start(label.name, count);
        for range in params.frames(count, length) {
            let pick = |&index: &u32| &bytes[index as usize * length..(index as usize + 1) * length];
            channel.send(label, order[range.clone()].iter().flat_map(pick).copied().collect())?;
            progress.advance(range.len());
        }
    }

    // 3. What the receiver tells.
    if !params.to_sender {
        return Ok(None);
    }
    let message = channel.receive(COUNT, COUNT_MESSAGE_BYTES)?;
    let count = message.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    if count > items.len().min(params.receiver_items) as u64 {
        return Err(channel.violation(format!("`{}` is more than either party has", COUNT.name)));
    }
    Ok(Some(count as usize))
}

/// The receiver's elements, evaluated, in the order in which they came.
fn evaluate(key: &Scalar, params: &Params, channel: &mut Channel) -> Result<Vec<u8>> {
    let progress = channel.progress().clone();
    let mut evaluated = Vec::new();
    for range in params.frames(params.receiver_items, ELEMENT_BYTES) {
        let blinded = channel.receive(BLINDED, range.len() * ELEMENT_BYTES)?;
        let elements =
            raise(&blinded, key).map_err(|error| channel.violation(format!("`{}` {error}", BLINDED.name)))?;
        evaluated.extend_from_slice(&elements);
        progress.advance(range.len());
    }
    Ok(evaluated)
}

/// Each encoded element times a scalar.
fn raise(elements: &[u8], scalar: &Scalar) -> std::result::Result<Vec<u8>, DecodeError> {
    Ok(Ristretto255::multiply_encode(&Ristretto255::decode(elements)?, scalar))
}

/// The key of this session's tags.
fn tag_key(session: &Session) -> [u8; 32] {
    session.derive("ecdh count tag")
}

/// The tag of each encoded element. The item is no part of it: the receiver no longer knows which one it is.
fn tags(key: &[u8; 32], elements: &[u8]) -> Vec<[u8; 32]> {
    elements.par_chunks(ELEMENT_BYTES).with_min_len(256).map(|one| *blake3::keyed_hash(key, one).as_bytes()).collect()
}

fn check_reveal(params: &Params) -> Result<()> {
    match params.reveal {
        Reveal::Count => Ok(()),
        _ => Err(Error::Internal("ecdh: these parameters are not for a count".into())),
    }
}
