//! Bytes that a peer writes on the wire, up to the first frame that breaks the framing. Parsing causes no panic, no
//! hang, and no memory taken on the peer's word alone.

#![no_main]

use std::io::{Cursor, sink};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tacita_core::Channel;
use tacita_core::channel::{Label, MAX_PAYLOAD_BYTES};

const LABEL: Label = Label::new(1, "fuzzed");

fuzz_target!(|wire: &[u8]| {
    let reader = Cursor::new(wire.to_vec());
    let mut channel = Channel::over("peer", reader, sink(), Duration::from_secs(10), || ());
    let mut payload_bytes = 0;
    while let Ok(payload) = channel.receive_up_to(LABEL, MAX_PAYLOAD_BYTES) {
        payload_bytes += payload.len();
    }
    assert!(payload_bytes <= wire.len());
});
