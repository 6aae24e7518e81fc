//! Memory of a run on disk, and its division among uses.

use tacita_core::{Error, Result};

use crate::base::memory::Limit;

/// Memory that every run takes: the program, its threads, a connection.
pub const FIXED_BYTES: u64 = 64 << 20;

/// More than this makes no run faster.
const MAX_MEMORY: u64 = 16 << 30;

/// Less than this for data sorts and intersects nothing.
pub const MIN_BYTES: u64 = 256 << 10;

/// Less than this for data takes thousands of buckets and long, for no saving beside what every run takes.
const MIN_ALLOWED: u64 = 4 << 20;

/// Memory for the data of a run that may use `allowed` bytes; by default half of what the machine has available, at
/// most 16 GiB.
pub fn for_data(allowed: Option<u64>) -> u64 {
    let allowed = allowed.unwrap_or_else(|| (Limit::of(None).bytes() / 2).min(MAX_MEMORY));
    allowed.saturating_sub(FIXED_BYTES)
}

/// Returns the memory like [`for_data`], but refuses an amount too small to sort anything in.
pub fn enough_for_data(allowed: Option<u64>) -> Result<u64> {
    match for_data(allowed) {
        data if data < MIN_ALLOWED => Err(Error::Input(format!(
            "--memory: a run on disk takes {} MiB for tables of any size, and some for the data: allow at least {}MiB",
            FIXED_BYTES >> 20,
            (FIXED_BYTES + MIN_ALLOWED) >> 20
        ))),
        data => Ok(data),
    }
}

/// Returns the part of the memory for data that buckets in flight may take. The rest is for those on their way to
/// the disk.
pub fn for_buckets(data: u64) -> u64 {
    data / 4 * 3
}

/// Memory for data of which buckets may take so much.
pub fn of_buckets(buckets: u64) -> u64 {
    buckets / 3 * 4
}

/// Returns the memory for buckets in flight in a run that may use `allowed` bytes.
pub fn for_run(allowed: u64) -> u64 {
    for_buckets(for_data(Some(allowed)))
}
