//! The published basic protocol (section 3.1), for comparison: not secure where a participant and the database put
//! together what they see.
//!
//! The participant has F(k) itself ([`Form::Plain`](super::TransferForm::Plain)), reports it with [`super::report`],
//! and the proxy passes on what it has got. So a participant knows the row of each of its keys, and the ciphertexts of
//! its reports where they lie in the database's.

use crate::primitive::group::Embedding;
use crate::protocol::aggregate::Params;
use crate::protocol::aggregate::Refused;
use crate::protocol::aggregate::rows::{columns, encode_rows};

/// The entries of reports, for parameters without tags: the same ciphertexts, doubled as all that a proxy writes is,
/// and without proofs.
pub fn pass<G: Embedding + Sync>(params: &Params<G>, reports: &[u8]) -> Result<Vec<u8>, Refused> {
    assert!(!params.distinct(), "the basic protocol has no tags");
    let (length, points) = (params.report_bytes(), params.report_points());
    let ciphertexts: Vec<u8> = reports
        .chunks(length)
        .flat_map(|report| &report[..(points * params.group().point_bytes()).min(report.len())])
        .copied()
        .collect();
    let decoded = params.group().decode(&ciphertexts).map_err(|error| Refused::decoding(error, 0, points))?;
    let pairs = columns::<G>(decoded, points);
    Ok(encode_rows(params.group(), &pairs.iter().flatten().collect::<Vec<_>>()))
}
