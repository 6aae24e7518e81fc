//! Role of the oracle: it finds the key of a row, if enough of its entries hold that key.

use std::collections::{HashMap, HashSet};

use zeroize::Zeroizing;

use crate::primitive::group::{Embedding, Group};

use super::keys::Blinding;
use super::open::sealed_keys;
use super::rows::{Column, DOUBLINGS, ids};
use super::{ID_BYTES, Params, ProxyKey, Refused, Why};

/// Answer of the oracle to the entries of a row.
#[derive(Clone, PartialEq, Eq)]
pub enum RowAnswer {
    /// Key that all of the entries hold, which are enough.
    Key(Vec<u8>),
    /// Places of the entries that hold another key than the row's, or none. The key is withheld: the agreed condition
    /// has to be evaluated without these entries first, whether the others are enough or not.
    Inconsistent(Vec<u32>),
    /// Too few entries, all of which hold the row's key: fewer than agreed. Nobody who evaluates the agreed condition
    /// asks about these.
    TooFew,
}

impl std::fmt::Debug for RowAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RowAnswer::Key(_) => f.write_str("Key(..)"),
            RowAnswer::Inconsistent(places) => write!(f, "Inconsistent({} places)", places.len()),
            RowAnswer::TooFew => f.write_str("TooFew"),
        }
    }
}

/// Minimum that a row must reach before its key is told, whatever else the database has evaluated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RevealThreshold {
    /// Entries. One is always needed.
    pub count: u32,
    /// Different participants. Where entries carry no tags, nothing is known of these, and only 0 and 1 can be had.
    pub distinct: u32,
}

/// The secrets of an oracle: its row function, which is the proxy's, and what decrypts keys.
pub trait RowFunction<G: Group> {
    /// The row function's value of each key, all of which are as long as the points that hold them.
    fn rows(&self, params: &Params<G>, keys: &[Zeroizing<Vec<u8>>]) -> Column<G>;

    /// Secrets that proxy and oracle have beside the row function.
    fn blinding(&self) -> &Blinding<G>;
}

impl<G: Embedding> RowFunction<G> for ProxyKey<G> {
    fn rows(&self, params: &Params<G>, keys: &[Zeroizing<Vec<u8>>]) -> Column<G> {
        params.group.multiply(&params.hashed(keys), &self.row)
    }

    fn blinding(&self) -> &Blinding<G> {
        &self.shared
    }
}

/// Answers what the database asks about a row: its id; what [`ask`](super::ask) has made of its entries; for each of
/// them a number that says only which have the same reporter (none where entries carry no tags); and what was agreed
/// on.
///
/// An entry is consistent if its key has this row. All that are hold the same key: others have another value of the row
/// function, but for a collision of the hash function.
///
/// Fails if the question is malformed.
pub fn answer<G: Embedding + Sync>(
    params: &Params<G>,
    key: &impl RowFunction<G>,
    row: &[u8; ID_BYTES],
    sealed: &[u8],
    reporters: &[u32],
    least: RevealThreshold,
) -> Result<RowAnswer, Refused> {
    let entries = sealed.len() / params.sealed_bytes();
    if !sealed.len().is_multiple_of(params.sealed_bytes()) {
        return Err(Refused { index: entries as u64, why: Why::Length });
    }
    if reporters.len() != if params.distinct() { entries } else { 0 } {
        return Err(Refused { index: reporters.len().min(entries) as u64, why: Why::Reporters });
    }
    let keys = unseal(params, key.blinding(), &sealed.chunks(params.sealed_bytes()).collect::<Vec<_>>())?;
    // Each different key once: an honest row has one.
    let mut different: Vec<Zeroizing<Vec<u8>>> = Vec::new();
    let mut number = HashMap::new();
    for key in keys.iter().flatten() {
        number.entry(&key[..]).or_insert_with(|| {
            different.push(params.padded(key));
            different.len() - 1
        });
    }
    let fits: Vec<bool> = ids(&params.group, &key.rows(params, &different)).iter().map(|id| id == row).collect();
    let is_consistent = |key: &Option<Zeroizing<Vec<u8>>>| key.as_ref().is_some_and(|key| fits[number[&key[..]]]);
    let inconsistent: Vec<u32> = (0..entries as u32).filter(|&place| !is_consistent(&keys[place as usize])).collect();
    let distinct = if params.distinct() { reporters.iter().collect::<HashSet<_>>().len() } else { entries.min(1) };
    // Before anything is said of too few: any participant can make such entries, and whoever asks could not tell that
    // from an oracle that withholds what it should tell.
    if !inconsistent.is_empty() {
        return Ok(RowAnswer::Inconsistent(inconsistent));
    }
    match keys.first() {
        Some(Some(key)) if entries >= least.count as usize && distinct >= least.distinct as usize => {
            Ok(RowAnswer::Key(key.to_vec()))
        }
        _ => Ok(RowAnswer::TooFew),
    }
}

/// The key of each entry; none if what it holds is no key.
fn unseal<G: Embedding>(
    params: &Params<G>,
    blinding: &Blinding<G>,
    sealed: &[&[u8]],
) -> Result<Vec<Option<Zeroizing<Vec<u8>>>>, Refused> {
    let group = &params.group;
    let once = group.invert(&[group.scalar(1 << DOUBLINGS)]).remove(0);
    let mut padded: Vec<Option<Zeroizing<Vec<u8>>>> = sealed.iter().map(|_| Some(Zeroizing::default())).collect();
    for [masks, hidden] in sealed_keys(params, sealed)? {
        let points = group.subtract(&hidden, &group.multiply(&masks, &blinding.unseal));
        for (padded, piece) in padded.iter_mut().zip(group.unembed(&group.multiply(&points, &once))) {
            *padded = padded.take().zip(piece).map(|(padded, piece)| Zeroizing::new([&padded[..], &piece].concat()));
        }
    }
    Ok(padded.into_iter().map(|padded| params.unpadded(&padded?)).collect())
}
