//! Role of the proxy with reports: it checks them, applies its row function and adds tags. It removes all that a
//! participant could recognise them by.

use rand_core::CryptoRng;

use crate::primitive::elgamal::{known, masks};
use crate::primitive::group::{Embedding, Group};

use super::keys::{Blinding, Key};
use super::report::{bound, report_transcript};
use super::rows::{Pair, columns, encode_rows};
use super::{Params, ProxyKey, Refused, RoundKeys, Why};

/// Checks the reports of one participant, by what identifies it (see [`report`](super::report())), of which the first
/// has the number `first`, and makes an entry of each, [`Params::entry_bytes`] long, in order. Whoever has the entries
/// shuffles those of many participants before the database sees any.
///
/// Fails if one of them is malformed, or doesn't prove that its maker knows its value and the masks of its other
/// ciphertexts; all others are then lost with it.
pub fn blind<G: Embedding + Sync>(
    params: &Params<G>,
    keys: &RoundKeys<G>,
    key: &ProxyKey<G>,
    participant: &str,
    first: u64,
    reports: &[u8],
    rng: &mut impl CryptoRng,
) -> Result<Vec<u8>, Refused> {
    let Checked { rows, values, sealed } = check(params, keys, participant, first, reports, rng)?;
    let rows = rows.map(|column| params.group.multiply(&column, &key.row));
    Ok(entries(params, keys, &key.shared, participant, Checked { rows, values, sealed }, rng))
}

/// The ciphertexts of reports that are well formed, and made by who knows what is in them.
pub(crate) struct Checked<G: Group> {
    /// Ciphertexts of the row function's input, or of its value.
    pub rows: Pair<G>,
    pub values: Option<Pair<G>>,
    pub sealed: Vec<Pair<G>>,
}

pub(crate) fn check<G: Embedding + Sync>(
    params: &Params<G>,
    keys: &RoundKeys<G>,
    participant: &str,
    first: u64,
    reports: &[u8],
    rng: &mut impl CryptoRng,
) -> Result<Checked<G>, Refused> {
    let group = &params.group;
    let (length, points) = (params.report_bytes(), params.report_points());
    if !reports.len().is_multiple_of(length) {
        return Err(Refused { index: first + (reports.len() / length) as u64, why: Why::Length });
    }
    let ciphertexts_bytes = params.ciphertexts_bytes();
    let (mut ciphertexts, mut of_values, mut of_masks) = (Vec::new(), Vec::new(), Vec::new());
    for report in reports.chunks(length) {
        let (of_report, proofs) = report.split_at(ciphertexts_bytes);
        let (of_value, of_mask) = proofs.split_at(params.value_proof_bytes());
        ciphertexts.extend_from_slice(of_report);
        of_values.extend_from_slice(of_value);
        of_masks.extend_from_slice(of_mask);
    }
    let decoded = group.decode(&ciphertexts).map_err(|error| Refused::decoding(error, first, points))?;
    let mut pairs = columns::<G>(decoded, points).into_iter();
    let rows = pairs.next().unwrap_or_default();
    let values = if params.has_values() { pairs.next() } else { None };
    let sealed: Vec<Pair<G>> = pairs.collect();
    let round = report_transcript(params, keys, participant);
    let context = |index: usize| {
        bound(&round, first + index as u64, &ciphertexts[index * ciphertexts_bytes..][..ciphertexts_bytes])
    };
    let refused = |index: usize| Refused { index: first + index as u64, why: Why::Proof };
    if let Some([masks, hidden]) = &values {
        let pairs: Vec<_> = masks.iter().cloned().zip(hidden.iter().cloned()).map(<[G::Point; 2]>::from).collect();
        known::verify(group, &keys.database.point, &pairs, &of_values, context, rng).map_err(refused)?;
    }
    let columns: Vec<&[G::Point]> = std::iter::once(&rows).chain(&sealed).map(|[masks, _]| masks.as_slice()).collect();
    masks::verify(group, &columns, &of_masks, context, rng).map_err(refused)?;
    Ok(Checked { rows, values, sealed })
}

/// The entries of ciphertexts, of which `rows` now hold the row function's values.
///
/// A tag is t times the ciphertext of the row as it is written, not re-randomised again: what this shows beside the tag
/// is t times a point that is uniformly random, and whose logarithm nobody else knows. Pairs X, t X of such points are
/// what tags of a participant's many rows are anyhow.
pub(crate) fn entries<G: Embedding + Sync>(
    params: &Params<G>,
    keys: &RoundKeys<G>,
    blinding: &Blinding<G>,
    participant: &str,
    Checked { rows, values, sealed }: Checked<G>,
    rng: &mut impl CryptoRng,
) -> Vec<u8> {
    let group = &params.group;
    let mut pairs = vec![rerandomise(group, &keys.database, rows, rng)];
    if params.distinct() {
        let tag = blinding.tag(params, participant);
        let tags = pairs[0].each_ref().map(|column| group.multiply(column, &tag));
        pairs.push(tags);
    }
    pairs.extend(values.map(|values| rerandomise(group, &keys.database, values, rng)));
    pairs.extend(sealed.into_iter().map(|piece| rerandomise(group, &keys.both, piece, rng)));
    encode_rows(group, &pairs.iter().flatten().collect::<Vec<_>>())
}

/// The same plaintexts under masks that are fresh.
pub(super) fn rerandomise<G: Group>(
    group: &G,
    key: &Key<G>,
    [first, second]: Pair<G>,
    rng: &mut impl CryptoRng,
) -> Pair<G> {
    let masks = group.random_scalars(first.len(), rng);
    [group.add(&first, &group.multiply_generator(&masks)), group.add(&second, &group.multiply_base(&key.base, &masks))]
}
