//! State that a peer announces at the start of a bucketed run, and the run as it is kept. Decoded values are written as
//! the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_core::protocol::intersect::buckets::{BucketsRun, BucketsState};

fuzz_target!(|input: (u16, &[u8])| {
    let (buckets, bytes) = (usize::from(input.0) + 1, input.1);
    if let Ok(state) = BucketsState::decode(bytes, buckets) {
        assert_eq!(state.encode(), bytes);
    }
    if let Some(run) = BucketsRun::from_bytes(bytes) {
        assert_eq!(run.to_bytes(), bytes);
    }
});
