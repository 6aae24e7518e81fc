//! A prepared part from its file. The file's hash is put right, so that what is behind it is reached.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_core::protocol::intersect::ecdh::prepared::PreparedSender;

fuzz_target!(|content: &[u8]| {
    let _ = PreparedSender::from_bytes(content);
    let mut bytes = b"TACITAP3".to_vec();
    bytes.extend_from_slice(content);
    let checksum = blake3::hash(&bytes);
    bytes.extend_from_slice(checksum.as_bytes());
    if let Ok(prepared) = PreparedSender::from_bytes(&bytes) {
        assert_eq!(*prepared.to_bytes(), bytes);
    }
});
