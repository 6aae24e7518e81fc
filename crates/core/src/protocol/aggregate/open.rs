//! Role of the database: it opens entries into rows, and asks about those that satisfy the agreed condition.

use std::fmt;

use rand_core::CryptoRng;

use crate::primitive::group::Embedding;

use super::blind::rerandomise;
use super::rows::{Pair, columns, encode_rows, id};
use super::{DatabaseKey, ID_BYTES, Params, Refused, RoundKeys, Why};

/// Data that the database has of one report.
#[derive(Clone, PartialEq, Eq)]
pub struct ReportRow {
    /// Identifier of the row to which the report belongs: the same for the same key.
    pub id: [u8; ID_BYTES],
    /// Tag of the participant that has reported it: the same for the same participant, in one row. Zeros if entries
    /// carry no tags.
    pub tag: [u8; ID_BYTES],
    /// The place of the value in the domain.
    pub value: u32,
    /// The key, encrypted for the oracle alone, [`Params::sealed_bytes`] long.
    pub sealed: Vec<u8>,
}

impl fmt::Debug for ReportRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Row(..)")
    }
}

/// Entries as they are opened.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Contents of each entry, in order.
    pub rows: Vec<ReportRow>,
    /// Number of entries that hold nothing.
    pub dropped: Dropped,
}

/// Entries that only a participant makes that doesn't follow the protocol, and that count for nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// Entries whose row is the identity: of no key.
    pub identity: u64,
    /// Entries whose value is none of the domain.
    pub outside_domain: u64,
}

/// Opens entries that have come from the proxy.
///
/// Fails if one of them is malformed, which is the proxy's doing.
pub fn open<G: Embedding + Sync>(params: &Params<G>, key: &DatabaseKey<G>, entries: &[u8]) -> Result<Opened, Refused> {
    let group = &params.group;
    let points = params.entry_points();
    if !entries.len().is_multiple_of(params.entry_bytes()) {
        return Err(Refused { index: (entries.len() / params.entry_bytes()) as u64, why: Why::Length });
    }
    let decoded = group.decode(entries).map_err(|error| Refused::decoding(error, 0, points))?;
    let mut pairs = columns::<G>(decoded, points).into_iter();
    let mut plaintexts = |present: bool| {
        let [masks, hidden] = pairs.by_ref().take(usize::from(present)).next()?;
        Some(group.double_encode(&group.subtract(&hidden, &group.multiply(&masks, &key.secret))))
    };
    let (ids, tags, values) = (plaintexts(true), plaintexts(params.distinct()), plaintexts(params.has_values()));
    let stripped: Vec<Pair<G>> = pairs
        .map(|[masks, hidden]| {
            let hidden = group.subtract(&hidden, &group.multiply(&masks, &key.secret));
            [masks, hidden]
        })
        .collect();
    let sealed = encode_rows(group, &stripped.iter().flatten().collect::<Vec<_>>());

    let mut opened = Opened::default();
    let length = group.point_bytes();
    let at = |column: &Option<Vec<u8>>, index: usize| {
        column.as_ref().map(|bytes| bytes[index * length..][..length].to_vec())
    };
    for (index, sealed) in sealed.chunks(params.sealed_bytes()).enumerate() {
        let row = at(&ids, index).filter(|row| row.iter().any(|&byte| byte != 0));
        let value = at(&values, index).map_or(Some(0), |value| params.place(&value));
        match (row, value) {
            (None, _) => opened.dropped.identity += 1,
            (Some(_), None) => opened.dropped.outside_domain += 1,
            (Some(row), Some(value)) => {
                let tag = at(&tags, index).map_or([0; ID_BYTES], |tag| id(&tag));
                opened.rows.push(ReportRow { id: id(&row), tag, value, sealed: sealed.to_vec() });
            }
        }
    }
    Ok(opened)
}

/// Question to the oracle about a row: the sealed keys of its entries, re-randomised, in this order. The caller has put
/// them in a random order.
///
/// Fails if one of them is malformed: then it is not what [`open`] has returned.
pub fn ask<G: Embedding + Sync>(
    params: &Params<G>,
    keys: &RoundKeys<G>,
    sealed: &[&[u8]],
    rng: &mut impl CryptoRng,
) -> Result<Vec<u8>, Refused> {
    let pieces = sealed_keys(params, sealed)?.into_iter();
    let fresh: Vec<Pair<G>> = pieces.map(|piece| rerandomise(&params.group, &keys.proxy, piece, rng)).collect();
    Ok(encode_rows(&params.group, &fresh.iter().flatten().collect::<Vec<_>>()))
}

/// The ciphertexts of sealed keys, piece by piece.
pub(super) fn sealed_keys<G: Embedding>(params: &Params<G>, sealed: &[&[u8]]) -> Result<Vec<Pair<G>>, Refused> {
    if let Some(index) = sealed.iter().position(|sealed| sealed.len() != params.sealed_bytes()) {
        return Err(Refused { index: index as u64, why: Why::Length });
    }
    let points = 2 * params.key_points();
    let decoded = params.group.decode(&sealed.concat()).map_err(|error| Refused::decoding(error, 0, points))?;
    Ok(columns::<G>(decoded, points))
}
