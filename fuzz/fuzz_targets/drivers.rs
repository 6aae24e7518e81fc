//! Messages between drivers of a job on many machines: valid words, which are written as they were read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_node::distributed::{MAX_WORDS, parse_words};

fuzz_target!(|input: &[u8]| {
    let Some((first, message)) = input.split_first() else { return };
    let (from_leader, buckets) = (first & 1 == 1, usize::from(first >> 1));
    if let Ok(words) = parse_words(message, from_leader, buckets, &["a", "b"]) {
        assert!(words.len() <= MAX_WORDS);
        let written = serde_json::to_vec(&words).unwrap();
        assert_eq!(parse_words(&written, from_leader, buckets, &["a", "b"]).unwrap(), words);
    }
});
