//! `ecdh` that reveals how many items are common, and the sum of the sender's numbers for them.
//!
//! Ion et al., "On deploying secure computing: private intersection-sum-with-cardinality" (EuroS&P 2020), section 4.1, by
//! Diffie-Hellman and homomorphic encryption, with the roles of `count`: the sender holds the numbers and Paillier's key.
//! Each of its tags comes with its number, encrypted. The receiver adds up those that match, and a random R; the sender
//! decrypts; the receiver subtracts R.
//!
//! - R is uniform modulo 2^127 and statistically uniform below N, so that what the sender decrypts says nothing of the sum.
//!   The sum plus R reaches N with probability 2^127 / N only.
//! - What the sender decrypts is re-randomised, else it would tell which of its ciphertexts were added.
//! - All messages travel, and all ciphertexts are multiplied, whatever matches.

pub use crate::channel::labels::sum::{BLINDED_SUM, ENCRYPTED_SUM, PUBLIC_KEY, TOLD_SUM};

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::shuffled::{Matches, TagKey, answer, ask, nth, send_back};
use super::{ENTRIES, Params, Reveal};
use crate::channel::{Channel, Label};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::ot::Choices;
use crate::primitive::paillier::{Invalid, KeySize, Products, PublicKey, SecretKey};
use crate::primitive::shuffle::random_order;
use crate::protocol::intersect::entries::items::check;
use crate::protocol::intersect::entries::{BLINDED_SUM_BYTES, TOLD_SUM_BYTES};
use crate::session::Session;

/// No sum may be larger, in absolute value: 2^125. A residue modulo 2^127 then tells each sum from all others.
pub const MAX_SUM: i128 = 1 << 125;

/// What sums are blinded modulo.
const MODULUS: u128 = 1 << 127;

/// What is revealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// Common items.
    pub count: usize,
    /// The sum of the sender's numbers for them.
    pub sum: i128,
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
    let size = agreed(params)?;
    check(items, params.receiver_items, params)?;

    // 1. Tags of the own items, in an order that only the sender knows.
    let table = ask(items, &tag_key(session), params, channel, rng)?;

    // 2. The sender's tags and encrypted numbers: add up those that match.
    let payload = channel.receive(PUBLIC_KEY, size.public_key_bytes())?;
    let key = PublicKey::from_bytes(size, &payload).map_err(|invalid| channel.violation(holds(PUBLIC_KEY, invalid)))?;
    let mut matches = Matches::new(&table);
    let mut sum = Products::new(&key, 1);
    let progress = channel.progress().clone();
    progress.start("adding", params.sender_entries);
    for range in params.frames(params.sender_entries, params.entry_bytes()) {
        let entries = channel.receive(ENTRIES, range.len() * params.entry_bytes())?;
        let (mut tags, mut ciphertexts) = (Vec::new(), Vec::new());
        for (tag, ciphertext) in entries.chunks(params.entry_bytes()).map(|entry| entry.split_at(params.tag_bytes)) {
            tags.extend_from_slice(tag);
            ciphertexts.extend_from_slice(ciphertext);
        }
        let ciphertexts = key.read(&ciphertexts).map_err(|invalid| channel.violation(holds(ENTRIES, invalid)))?;
        let mut chosen = Zeroizing::new(vec![false; range.len()]);
        matches.of(&tags, channel)?.into_iter().for_each(|place| chosen[place] = true);
        sum.multiply(&ciphertexts, &[Choices::from_bits(chosen.iter().copied())]);
        progress.advance(range.len());
    }
    let count = matches.count(items, channel)?;

    // 3. Have the sum decrypted under R.
    let residue = Zeroizing::new([rng.next_u64(), rng.next_u64()]);
    let residue = Zeroizing::new((u128::from(residue[0]) | u128::from(residue[1]) << 64) % MODULUS);
    let blinded = key.add_plain(&sum.finish(), &key.random_with_residues(&[*residue], MODULUS, rng));
    channel.send(ENCRYPTED_SUM, key.rerandomize(&blinded, rng).to_bytes())?;
    let answer = number(&channel.receive(BLINDED_SUM, BLINDED_SUM_BYTES)?);
    if answer >= MODULUS {
        return Err(channel.violation(format!("`{}` is not below 2^127", BLINDED_SUM.name)));
    }
    // Of 127 bits, the highest is the sign.
    let sum = (answer.wrapping_sub(*residue) << 1) as i128 >> 1;
    if sum.abs() > MAX_SUM || count == 0 && sum != 0 {
        return Err(channel.violation(format!("`{}` holds what is no sum", BLINDED_SUM.name)));
    }

    // 4. What the sender may learn.
    if params.to_sender {
        let told = [&(count as u64).to_le_bytes()[..], &sum.to_le_bytes()].concat();
        channel.send(TOLD_SUM, told)?;
    }
    Ok(Total { count, sum })
}

/// The sender's role, with a number for each of its items. Returns what it learns, if it learns. Items must be distinct. Both
/// keys are fresh and are gone when this returns.
///
/// Memory besides items and numbers: an element for each of the receiver's items, a tag and 4 bytes for each of its own.
///
/// Errors: besides those of the channel, [`Error::Internal`] for numbers of which some could have a sum beyond [`MAX_SUM`].
pub fn send(
    items: &[Item],
    numbers: &[i128],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Total>> {
    let size = agreed(params)?;
    check(items, params.sender_entries, params)?;
    let (low, high) = range_of_sums(items, numbers)?;

    // 1. Evaluate what the receiver sends, and compute the own tags meanwhile.
    let (evaluated, own_tags) = answer(items, &tag_key(session), params, channel, rng)?;
    let key = SecretKey::generate(size, rng);

    // 2. Both in random order: the receiver's elements only once all of them are here. Dummies hold zeros.
    send_back(&evaluated, params, channel, rng)?;
    channel.send(PUBLIC_KEY, key.public().to_bytes())?;
    let order = random_order(params.sender_entries, rng);
    let progress = channel.progress().clone();
    progress.start("encrypting", params.sender_entries);
    for range in params.frames(params.sender_entries, params.entry_bytes()) {
        let picked = &order[range.clone()];
        let number = |&index: &u32| numbers.get(index as usize).copied().unwrap_or(0);
        let picked_numbers: Zeroizing<Vec<i128>> = Zeroizing::new(picked.iter().map(number).collect());
        let ciphertexts = key.encrypt(&key.public().encode(&picked_numbers), rng).to_bytes();
        let mut entries = Vec::with_capacity(range.len() * params.entry_bytes());
        for (&index, ciphertext) in picked.iter().zip(ciphertexts.chunks(size.ciphertext_bytes())) {
            entries.extend_from_slice(nth(&own_tags, index, params.tag_bytes));
            entries.extend_from_slice(ciphertext);
        }
        channel.send(ENTRIES, entries)?;
        progress.advance(range.len());
    }

    // 3. Decrypt the sum, which R blinds.
    let payload = channel.receive(ENCRYPTED_SUM, size.ciphertext_bytes())?;
    let encrypted = key.public().read(&payload).map_err(|invalid| channel.violation(holds(ENCRYPTED_SUM, invalid)))?;
    let blinded = key.public().residues(&key.decrypt(&encrypted), MODULUS);
    channel.send(BLINDED_SUM, blinded[0].to_le_bytes().to_vec())?;

    // 4. What the receiver tells.
    if !params.to_sender {
        return Ok(None);
    }
    let message = channel.receive(TOLD_SUM, TOLD_SUM_BYTES)?;
    let (count, sum) = message.split_at(size_of::<u64>());
    let (count, sum) = (number(count), number(sum) as i128);
    if count > items.len().min(params.receiver_items) as u128 {
        return Err(channel.violation(format!("`{}` counts more than either party has", TOLD_SUM.name)));
    }
    if !(low..=high).contains(&sum) || count == 0 && sum != 0 {
        return Err(channel.violation(format!("`{}` holds what is no sum", TOLD_SUM.name)));
    }
    Ok(Some(Total { count: count as usize, sum }))
}

/// The smallest and the largest sum that some of the numbers can have.
fn range_of_sums(items: &[Item], numbers: &[i128]) -> Result<(i128, i128)> {
    let sum = |part: fn(i128) -> i128| numbers.iter().try_fold(0i128, |sum, &number| sum.checked_add(part(number)));
    let range = sum(|number| number.min(0)).zip(sum(|number| number.max(0)));
    match range.filter(|(low, high)| -MAX_SUM <= *low && *high <= MAX_SUM) {
        Some(range) if items.len() == numbers.len() => Ok(range),
        _ => Err(Error::Internal("ecdh: numbers that are not one for each item, or too large to be added".into())),
    }
}

/// A little-endian number of at most 16 bytes.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// The key of this session's tags.
fn tag_key(session: &Session) -> TagKey {
    session.derive("ecdh sum tag")
}

/// The agreed size of Paillier's key.
fn agreed(params: &Params) -> Result<KeySize> {
    match params.reveal {
        Reveal::Sum { key_size } => Ok(key_size),
        _ => Err(Error::Internal("ecdh: these parameters are not for a sum".into())),
    }
}

/// What a message holds that is wrong.
fn holds(label: Label, invalid: Invalid) -> String {
    format!("`{}` holds {invalid}", label.name)
}
