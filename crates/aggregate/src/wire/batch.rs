//! Names of batches, and of what proxies claim of them.

use tacita_node::base::hex::unhex;

use super::reply::{ApiError, ApiResult, RefusalReason};

/// The random name of a batch.
pub type BatchId = [u8; 16];

/// The name under which a proxy claims a participant's batch: pseudorandom, and the same at all proxies.
pub type ClaimId = [u8; 16];

/// Bits of a report's number that count within its batch: no batch has more reports.
const WITHIN_BITS: u32 = 20;

/// The name of a batch, from a path.
pub(crate) fn batch_id(text: &str) -> ApiResult<BatchId> {
    unhex(text)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| ApiError::new(RefusalReason::Malformed, "a batch has a name of 32 hexadecimal digits"))
}

/// The number of a batch's first report among all that its participant reports in the round. It follows from the
/// batch's name: reports of one batch so pass in no other.
pub(crate) fn first_of(batch: &BatchId) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&batch[..8]);
    u64::from_le_bytes(number) >> WITHIN_BITS << WITHIN_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_reports_in_a_batch_have_room() {
        assert_eq!(first_of(&[0xff; 16]), u64::MAX - ((1 << WITHIN_BITS) - 1));
    }
}
