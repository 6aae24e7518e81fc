//! Group elements and keys from bytes: what is read is written as the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_core::primitive::oprf::{KEY_BYTES, Key};

fuzz_target!(|bytes: &[u8]| {
    let key = Key::derive(&[1; 32], b"fuzz").unwrap();
    if let Ok(evaluated) = key.blind_evaluate(bytes) {
        assert_eq!(evaluated.len(), bytes.len());
        // Elements are canonical and none is the identity, so what comes out goes in again.
        key.blind_evaluate(&evaluated).unwrap();
    }
    if let Some(key) = Key::from_bytes(bytes) {
        assert_eq!((bytes.len(), &key.to_bytes()[..]), (KEY_BYTES, bytes));
    }
});
