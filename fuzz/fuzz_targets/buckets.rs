//! How a peer says that it stands at the start of a bucketed run: what is read is written as the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_core::protocol::intersect::buckets::State;

fuzz_target!(|input: (u16, &[u8])| {
    let (buckets, bytes) = (usize::from(input.0) + 1, input.1);
    if let Ok(state) = State::decode(bytes, buckets) {
        assert_eq!(state.encode(), bytes);
    }
});
