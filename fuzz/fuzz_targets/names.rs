//! The names of items, as a peer tells them: all can be shown, and none is there twice.

#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use tacita_core::protocol::rules::names::{check_name, decode_lengths, decode_names};

fuzz_target!(|input: (&[u8], &[u8])| {
    let (lengths, bytes) = input;
    let Some(decoded) = decode_lengths(lengths) else { return };
    assert_eq!(2 * decoded.len(), lengths.len());
    let Some(names) = decode_names(&decoded, bytes) else { return };
    assert_eq!(names.concat().as_bytes(), bytes);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), decoded.len());
    assert!(names.iter().zip(&decoded).all(|(name, length)| name.len() == *length && check_name(name).is_ok()));
});
