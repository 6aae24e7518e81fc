//! Group elements and keys from bytes, in every suite: what is read is written as the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_core::primitive::oprf::{Key, Suite};

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let suite = Suite::ALL[usize::from(*which) % Suite::ALL.len()];
    let key = Key::derive(suite, &[1; 32], b"fuzz").unwrap();
    if let Ok(evaluated) = key.blind_evaluate(bytes) {
        assert_eq!(evaluated.len(), bytes.len());
        // Elements are canonical and none is the identity, so what comes out goes in again, and back.
        assert_eq!(key.inverse().blind_evaluate(&evaluated).unwrap(), bytes);
    }
    if let Some(key) = Key::from_bytes(suite, bytes) {
        assert_eq!((bytes.len(), &key.to_bytes()[..]), (suite.key_bytes(), bytes));
    }
});
