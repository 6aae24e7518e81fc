//! `ecdh` that reveals how many items are common, and sums of the sender's numbers for them.
//!
//! Ion et al., "On deploying secure computing: private intersection-sum-with-cardinality" (EuroS&P 2020), section 4.1,
//! by Diffie-Hellman and homomorphic encryption, with the roles of `count`: the sender holds the numbers and Paillier's
//! key. Each of its tags comes with its numbers, encrypted together. The receiver adds up those that match, and a
//! random R; the sender decrypts; the receiver subtracts R.
//!
//! - The numbers of an item are packed into one plaintext, 128 bits each. No sum of some of them passes [`MAX_SUM`], which the
//!   sender has checked before anything is sent: so none runs into the next.
//! - R is uniform below N, so that what the sender decrypts is, too, and says nothing of the sums. N is longer than they are
//!   together by 128 bits at least: sums plus R reach N, which would make them wrong, with probability 2^-128 at most.
//! - What the sender decrypts is re-randomised, else it would tell which of its ciphertexts were added.
//! - All messages travel, and all ciphertexts are multiplied, whatever matches.

pub use crate::channel::labels::sum::{BLINDED_SUM, ENCRYPTED_SUM, PUBLIC_KEY, TOLD_SUM};

use std::ops::RangeInclusive;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::shuffled::{Matches, TagKey, answer, ask, nth, send_back};
use super::{ENTRIES, Params, ReceiverReveal};
use crate::channel::{Channel, Label};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::ot::Choices;
use crate::primitive::paillier::{
    CiphertextProducts, KeySize, PACKED_BITS, PaillierFormatError, PaillierPublicKey, PaillierSecretKey, unpack,
};
use crate::primitive::shuffle::random_order;
use crate::protocol::intersect::tag_exchange::items::check;
use crate::protocol::intersect::tag_exchange::{COUNT_MESSAGE_BYTES, SUM_BYTES};
use crate::session::Session;

/// Largest absolute value of a sum: 2^125. 128 bits then tell each sum from all others.
pub const MAX_SUM: i128 = 1 << 125;

/// Result that is revealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Total {
    /// Number of common items.
    pub count: usize,
    /// The sums of the sender's numbers for them: of the first number of each item, of the second, and so on.
    pub sums: Vec<i128>,
}

/// The receiver's role. Items must be distinct.
///
/// Memory besides the items: about 6 bytes and a tag for each of them.
pub fn receive(
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Total> {
    let (size, sums) = agreed(params)?;
    check(items, params.entries.receiver_items, &params.entries)?;

    // 1. Tags of the own items, in an order that only the sender knows.
    let table = ask(items, &tag_key(session), params, channel, rng)?;

    // 2. The sender's tags and encrypted numbers: add up those that match.
    let payload = channel.receive(PUBLIC_KEY, size.public_key_bytes())?;
    let key = PaillierPublicKey::from_bytes(size, &payload)
        .map_err(|invalid| channel.violation(holds(PUBLIC_KEY, invalid)))?;
    let mut matches = Matches::new(&table);
    let mut product = CiphertextProducts::new(&key, 1);
    let progress = channel.progress().clone();
    progress.start("adding", params.entries.sender_entries);
    for range in params.entries.frames(params.entries.sender_entries, params.entries.entry_bytes()) {
        let entries = channel.receive(ENTRIES, range.len() * params.entries.entry_bytes())?;
        let (mut tags, mut ciphertexts) = (Vec::new(), Vec::new());
        for (tag, ciphertext) in
            entries.chunks(params.entries.entry_bytes()).map(|entry| entry.split_at(params.entries.tag_bytes))
        {
            tags.extend_from_slice(tag);
            ciphertexts.extend_from_slice(ciphertext);
        }
        let ciphertexts = key.read(&ciphertexts).map_err(|invalid| channel.violation(holds(ENTRIES, invalid)))?;
        let mut chosen = Zeroizing::new(vec![false; range.len()]);
        matches.of(&tags, channel)?.into_iter().for_each(|place| chosen[place] = true);
        product.multiply(&ciphertexts, &[Choices::from_bits(chosen.iter().copied())]);
        progress.advance(range.len());
    }
    let count = matches.count(items, channel)?;

    // 3. Have the sums decrypted under R.
    let mask = key.random(1, rng);
    let blinded = key.add_plain(&product.finish(), &mask);
    channel.send(ENCRYPTED_SUM, key.rerandomize(&blinded, rng).to_bytes())?;
    let answer = numbers_in(&channel.receive(BLINDED_SUM, sums * SUM_BYTES)?);
    if answer.last().is_some_and(|highest| highest >> (PACKED_BITS - 1) != 0) {
        let bits = sums * PACKED_BITS - 1;
        return Err(channel.violation(format!("`{}` is not below 2^{bits}", BLINDED_SUM.name)));
    }
    let sums = unpack(&answer, &mask.low(sums)).to_vec();
    if sums.iter().any(|sum| sum.unsigned_abs() > MAX_SUM.unsigned_abs() || count == 0 && *sum != 0) {
        return Err(channel.violation(format!("`{}` holds what is no sum", BLINDED_SUM.name)));
    }

    // 4. What the sender may learn.
    if params.entries.to_sender {
        let told = (count as u64).to_le_bytes().into_iter().chain(sums.iter().flat_map(|sum| sum.to_le_bytes()));
        channel.send(TOLD_SUM, told.collect())?;
    }
    Ok(Total { count, sums })
}

/// The sender's role, with as many numbers for each of its items as there are sums: those of the first item, of the
/// second, and so on. Returns what it learns, if it learns. Items must be distinct. Both keys are fresh and are gone
/// when this returns.
///
/// Memory besides items and numbers: an element for each of the receiver's items, a tag and 4 bytes for each of its
/// own.
///
/// Errors: besides those of the channel, [`Error::Internal`] for numbers of which some could have a sum beyond
/// [`MAX_SUM`].
pub fn send(
    items: &[Item],
    numbers: &[i128],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Total>> {
    let (size, sums) = agreed(params)?;
    check(items, params.entries.sender_entries, &params.entries)?;
    let ranges = ranges_of_sums(items, numbers, sums)?;

    // 1. Evaluate what the receiver sends, and compute the own tags meanwhile.
    let (evaluated, own_tags) = answer(items, &tag_key(session), params, channel, rng)?;
    let key = PaillierSecretKey::generate(size, rng);

    // 2. Both in random order: the receiver's elements only once all of them are here. Dummies hold zeros.
    send_back(&evaluated, params, channel, rng)?;
    channel.send(PUBLIC_KEY, key.public().to_bytes())?;
    let order = random_order(params.entries.sender_entries, rng);
    let progress = channel.progress().clone();
    progress.start("encrypting", params.entries.sender_entries);
    for range in params.entries.frames(params.entries.sender_entries, params.entries.entry_bytes()) {
        let picked = &order[range.clone()];
        let mut picked_numbers = Zeroizing::new(vec![0; sums * picked.len()]);
        for (room, &index) in picked_numbers.chunks_exact_mut(sums).zip(picked) {
            let own = numbers.chunks_exact(sums).nth(index as usize);
            own.into_iter().for_each(|own| room.copy_from_slice(own));
        }
        let ciphertexts = key.encrypt(&key.public().pack(&picked_numbers, sums), rng).to_bytes();
        let mut entries = Vec::with_capacity(range.len() * params.entries.entry_bytes());
        for (&index, ciphertext) in picked.iter().zip(ciphertexts.chunks(size.ciphertext_bytes())) {
            entries.extend_from_slice(nth(&own_tags, index, params.entries.tag_bytes));
            entries.extend_from_slice(ciphertext);
        }
        channel.send(ENTRIES, entries)?;
        progress.advance(range.len());
    }

    // 3. Decrypt the sums, which R blinds.
    let payload = channel.receive(ENCRYPTED_SUM, size.ciphertext_bytes())?;
    let encrypted = key.public().read(&payload).map_err(|invalid| channel.violation(holds(ENCRYPTED_SUM, invalid)))?;
    let mut blinded = key.decrypt(&encrypted).low(sums);
    // Modulo 2^(128 n - 1), from which the receiver has all sums.
    blinded.iter_mut().rev().take(1).for_each(|highest| *highest &= u128::MAX >> 1);
    channel.send(BLINDED_SUM, blinded.iter().flat_map(|number| number.to_le_bytes()).collect())?;

    // 4. What the receiver tells.
    if !params.entries.to_sender {
        return Ok(None);
    }
    let message = channel.receive(TOLD_SUM, COUNT_MESSAGE_BYTES + sums * SUM_BYTES)?;
    let (count, sums) = message.split_at(COUNT_MESSAGE_BYTES);
    let count = count.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let sums: Vec<i128> = numbers_in(sums).iter().map(|&sum| sum as i128).collect();
    if count > items.len().min(params.entries.receiver_items) as u64 {
        return Err(channel.violation(format!("`{}` counts more than either party has", TOLD_SUM.name)));
    }
    if sums.iter().zip(&ranges).any(|(sum, range)| !range.contains(sum) || count == 0 && *sum != 0) {
        return Err(channel.violation(format!("`{}` holds what is no sum", TOLD_SUM.name)));
    }
    Ok(Some(Total { count: count as usize, sums }))
}

/// The smallest and the largest sum that some of the first numbers of items can have, some of the second ones, and so
/// on.
fn ranges_of_sums(items: &[Item], numbers: &[i128], sums: usize) -> Result<Vec<RangeInclusive<i128>>> {
    let range = |place: usize| {
        let sum = |part: fn(i128) -> i128| {
            let mut column = numbers.iter().skip(place).step_by(sums);
            column.try_fold(0i128, |sum, &number| sum.checked_add(part(number)))
        };
        let range = sum(|number| number.min(0))?..=sum(|number| number.max(0))?;
        (-MAX_SUM <= *range.start() && *range.end() <= MAX_SUM).then_some(range)
    };
    match (0..sums).map(range).collect() {
        Some(ranges) if numbers.len() == sums * items.len() => Ok(ranges),
        _ => Err(Error::Internal("ecdh: numbers that are not as many as items have, or too large to be added".into())),
    }
}

/// Little-endian numbers of 16 bytes each.
fn numbers_in(bytes: &[u8]) -> Vec<u128> {
    bytes.as_chunks().0.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect()
}

/// The key of this session's tags.
fn tag_key(session: &Session) -> TagKey {
    session.derive("ecdh sum tag")
}

/// The agreed size of Paillier's key, and how many sums there are.
fn agreed(params: &Params) -> Result<(KeySize, usize)> {
    match params.entries.reveal {
        ReceiverReveal::Sum { key_size, sums } => Ok((key_size, sums)),
        _ => Err(Error::Internal("ecdh: these parameters are not for a sum".into())),
    }
}

/// Describes the fault in the contents of a message.
fn holds(label: Label, invalid: PaillierFormatError) -> String {
    format!("`{}` holds {invalid}", label.name)
}
