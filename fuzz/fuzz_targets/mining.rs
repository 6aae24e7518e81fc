//! Data counted for association rules, as parties and their workers send it: itemsets, requests for counts, and counts
//! are written as they were read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_core::protocol::rules::itemsets::Itemsets;
use tacita_core::protocol::rules::{CountPlan, read_counts, write_counts};

fuzz_target!(|input: (u8, &[u8])| {
    let (due, bytes) = input;
    if let Some(sets) = Itemsets::from_bytes(bytes) {
        assert_eq!(sets.to_bytes(), bytes);
        assert!((0..sets.len()).all(|place| sets.position(sets.get(place)) == Some(place)));
    }
    if let Some(wanted) = CountPlan::from_bytes(bytes) {
        assert_eq!(wanted.to_bytes(), bytes);
    }
    if let Some(counts) = read_counts(bytes, usize::from(due)) {
        assert_eq!(counts.len(), usize::from(due));
        assert_eq!(write_counts(&counts), bytes);
    }
});
