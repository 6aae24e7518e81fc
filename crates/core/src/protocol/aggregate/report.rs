//! Role of the participant: it encrypts its pairs.

use std::fmt;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::primitive::elgamal::known::{self, Opening};
use crate::primitive::elgamal::masks;
use crate::primitive::group::{Embedding, Group};
use crate::session::Transcript;

use super::keys::Key;
use super::rows::{Column, Pair};
use super::{Params, RoundKeys};

/// A pair that a participant reports.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key. It comes back without zero bytes at its end, if it has any: nothing may depend on them.
    pub key: Vec<u8>,
    /// The place of the value in the domain; 0 where reports carry none.
    pub value: u32,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entry(..)")
    }
}

/// The reports of `entries`, one after the other, each [`Params::report_bytes`] long. `participant` is what the proxy
/// will know their sender by, for good and as all proxies of the round do: the fingerprint of an identity, and no name
/// in a list, which may change. `first` is the number of the first among all that this participant reports in the
/// round.
///
/// Fails with [`Error::Input`] if a key is longer than agreed, or a value is none of the domain.
pub fn report<G: Embedding + Sync>(
    params: &Params<G>,
    keys: &RoundKeys<G>,
    participant: &str,
    first: u64,
    entries: &[Entry],
    rng: &mut impl CryptoRng,
) -> Result<Vec<u8>> {
    let keys_of = check(params, entries, first)?;
    let masks = params.group.random_scalars(entries.len(), rng);
    let rows = encrypt(&params.group, &keys.database, params.hashed(&keys_of), &masks);
    Ok(with_rows(params, keys, (participant, first), entries, &keys_of, (rows, masks), rng))
}

/// The padded keys of entries that are within what was agreed on.
pub(crate) fn check<G: Embedding>(
    params: &Params<G>,
    entries: &[Entry],
    first: u64,
) -> Result<Vec<Zeroizing<Vec<u8>>>> {
    for (index, Entry { key, value }) in entries.iter().enumerate() {
        let number = first + index as u64;
        if key.len() > params.key_bytes() {
            let (length, most) = (key.len(), params.key_bytes());
            return Err(Error::Input(format!("the key of report {number} has {length} bytes: use at most {most}")));
        }
        if *value >= params.values().max(1) {
            return Err(Error::Input(format!("the value of report {number} is not in the domain")));
        }
    }
    Ok(entries.iter().map(|entry| params.padded(&entry.key)).collect())
}

/// The reports whose first ciphertexts, of the row function or what becomes it, are `rows`, made with `masks`.
pub(crate) fn with_rows<G: Embedding + Sync>(
    params: &Params<G>,
    keys: &RoundKeys<G>,
    (participant, first): (&str, u64),
    entries: &[Entry],
    padded: &[Zeroizing<Vec<u8>>],
    (rows, masks): (Pair<G>, Vec<G::Scalar>),
    rng: &mut impl CryptoRng,
) -> Vec<u8> {
    let group = &params.group;
    let (mut pairs, mut all_masks) = (vec![rows], vec![masks]);
    let openings: Vec<Opening<G>> = if params.has_values() {
        let masks = group.random_scalars(entries.len(), rng);
        let opening = |(entry, mask): (&Entry, _)| Opening { scalar: params.value(entry.value), mask };
        entries.iter().zip(masks).map(opening).collect()
    } else {
        Vec::new()
    };
    if params.has_values() {
        let scalars: Vec<G::Scalar> = openings.iter().map(|opening| opening.scalar.clone()).collect();
        let masks: Vec<G::Scalar> = openings.iter().map(|opening| opening.mask.clone()).collect();
        pairs.push(encrypt(group, &keys.database, group.multiply_generator(&scalars), &masks));
    }
    for piece in 0..params.key_points() {
        let bytes = |padded: &Zeroizing<Vec<u8>>| padded[piece * G::EMBEDDED_BYTES..][..G::EMBEDDED_BYTES].to_vec();
        let bytes = Zeroizing::new(padded.iter().flat_map(bytes).collect::<Vec<u8>>());
        let masks = group.random_scalars(entries.len(), rng);
        pairs.push(encrypt(group, &keys.both, group.embed(&bytes), &masks));
        all_masks.push(masks);
    }
    let ciphertexts = interleaved(group, &pairs);
    let length = params.ciphertexts_bytes();
    let round = report_transcript(params, keys, participant);
    let context = |index: usize| bound(&round, first + index as u64, &ciphertexts[index * length..][..length]);
    let of_values = known::prove(group, &keys.database.base, &openings, context, rng);
    let columns: Vec<&[G::Scalar]> = all_masks.iter().map(Vec::as_slice).collect();
    let of_masks = masks::prove(group, entries.len(), &columns, context, rng);
    let mut reports = Vec::with_capacity(entries.len() * params.report_bytes());
    let (value_length, mask_length) = (params.value_proof_bytes(), masks::proof_bytes(group));
    for index in 0..entries.len() {
        reports.extend_from_slice(&ciphertexts[index * length..][..length]);
        reports.extend_from_slice(&of_values[index * value_length..][..value_length]);
        reports.extend_from_slice(&of_masks[index * mask_length..][..mask_length]);
    }
    reports
}

/// Transcript to which all proofs of a participant are bound: the round and its keys, and the participant that reports.
pub(super) fn report_transcript<G: Group>(params: &Params<G>, keys: &RoundKeys<G>, participant: &str) -> Transcript {
    let mut transcript = params.transcript("report");
    transcript.append("keys", &keys.encoded).append("participant", participant.as_bytes());
    transcript
}

/// The transcript of one report.
pub(super) fn bound(round: &Transcript, number: u64, ciphertexts: &[u8]) -> Transcript {
    let mut transcript = round.clone();
    transcript.append("number", &number.to_le_bytes()).append("ciphertexts", ciphertexts);
    transcript
}

/// A ciphertext of each point under its mask.
pub(crate) fn encrypt<G: Group>(group: &G, key: &Key<G>, points: Column<G>, masks: &[G::Scalar]) -> Pair<G> {
    [group.multiply_generator(masks), group.add(&points, &group.multiply_base(&key.base, masks))]
}

/// The encodings of columns, row by row.
fn interleaved<G: Group>(group: &G, pairs: &[Pair<G>]) -> Vec<u8> {
    let rows = pairs[0][0].len();
    let at = |row: usize| pairs.iter().flatten().map(move |column| column[row].clone());
    group.encode(&(0..rows).flat_map(at).collect::<Vec<_>>())
}
