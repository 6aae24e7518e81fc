//! Operations on rows that all back ends share.

use std::iter::from_fn;

use tacita_core::Result;

use super::{GroupVisitor, OpenedReport, RowId, Stored};

/// Bytes of a fingerprint.
pub(super) const DIGEST_BYTES: usize = 32;

/// A fingerprint of a batch's rows, in order.
pub(super) fn digest(rows: &[OpenedReport]) -> [u8; DIGEST_BYTES] {
    let mut hasher = blake3::Hasher::new();
    for OpenedReport { id, stored: Stored { tag, value, sealed } } in rows {
        hasher
            .update(id)
            .update(tag)
            .update(&value.to_le_bytes())
            .update(&(sealed.len() as u64).to_le_bytes())
            .update(sealed);
    }
    *hasher.finalize().as_bytes()
}

/// Calls `each` with every row of `reports`, which are in the order of their rows, until it breaks off. What it leaves
/// of a row is skipped.
pub(super) fn group(
    mut reports: impl Iterator<Item = Result<(RowId, Stored)>>,
    each: &mut GroupVisitor<'_>,
) -> Result<()> {
    let mut next = reports.next().transpose()?;
    while let Some((row, first)) = next.take() {
        let mut failed = None;
        let others = from_fn(|| {
            if next.is_some() || failed.is_some() {
                return None;
            }
            match reports.next()? {
                Ok((other, stored)) if other == row => Some(Ok(stored)),
                Ok(report) => {
                    next = Some(report);
                    None
                }
                Err(error) => {
                    failed = Some(error.clone());
                    Some(Err(error))
                }
            }
        });
        let mut entries = std::iter::once(Ok(first)).chain(others);
        if each(&row, &mut entries)?.is_break() {
            return Ok(());
        }
        for left in entries {
            left?;
        }
        // Also where `each` has made nothing of it.
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(())
}
