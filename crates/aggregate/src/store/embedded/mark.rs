//! Data that is kept of a batch behind its fingerprint.

use super::super::BatchOrigin;

/// Encodes the part of a batch's mark that stands behind the fingerprint.
pub(super) fn write_mark(reports: u64, origin: BatchOrigin) -> Vec<u8> {
    [&reports.to_le_bytes()[..], &origin.dropped.to_le_bytes(), &origin.proxy.to_le_bytes()].concat()
}

/// Parses the output of [`write_mark`]. Earlier versions wrote the number of reports alone.
pub(super) fn read_mark(bytes: &[u8]) -> Option<(u64, BatchOrigin)> {
    let (reports, rest) = bytes.split_first_chunk()?;
    let origin = match rest {
        [] => BatchOrigin::default(),
        _ => {
            let (dropped, proxy) = rest.split_first_chunk()?;
            BatchOrigin { dropped: u64::from_le_bytes(*dropped), proxy: u32::from_le_bytes(proxy.try_into().ok()?) }
        }
    };
    Some((u64::from_le_bytes(*reports), origin))
}
