//! Batches of a small round.

use crate::queue::BatchName;

/// Batches, a bit each.
pub(super) type Set = u8;

pub(super) fn name(batch: u8) -> BatchName {
    [batch; 16]
}

pub(super) fn each(set: Set) -> impl Iterator<Item = u8> {
    (0..8).filter(move |batch| set >> batch & 1 == 1)
}
