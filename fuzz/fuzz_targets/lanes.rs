//! Bytes that a peer writes on the wire where lanes are open. Parsing causes no panic, no hang, and no memory taken on
//! the peer's word alone.

#![no_main]

use std::io::{Cursor, sink};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tacita_core::Channel;
use tacita_core::channel::Label;

const LABEL: Label = Label::new(1, "fuzzed");

/// The longest message, and how many of them may wait.
const LIMIT: usize = 64;
const AHEAD: u64 = 1024;

fuzz_target!(|wire: &[u8]| {
    let reader = Cursor::new(wire.to_vec());
    let mut channel = Channel::over("peer", reader, sink(), Duration::from_secs(10), || ());
    let read = channel.lanes(vec![(); 3], AHEAD, |(), lane| {
        let mut bytes = 0;
        for _ in 0..4 {
            bytes += lane.receive_up_to(LABEL, LIMIT)?.len();
        }
        Ok(bytes)
    });
    if let Ok(read) = read {
        assert!(read.iter().sum::<usize>() <= wire.len());
    }
});
