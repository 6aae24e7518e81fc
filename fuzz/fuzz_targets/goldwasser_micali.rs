//! Keys and ciphertexts of Goldwasser and Micali from bytes: what is read is written as the same bytes, and both ways
//! of reading agree.

#![no_main]

use std::sync::OnceLock;

use chacha20::ChaCha20Rng;
use libfuzzer_sys::fuzz_target;
use rand_core::SeedableRng;
use tacita_core::primitive::published::goldwasser_micali::{GmPublicKey, GmSecretKey, KeySize};

static KEY: OnceLock<GmSecretKey> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let size = KeySize::new(512).unwrap();
    let key = KEY.get_or_init(|| GmSecretKey::generate(size, &mut ChaCha20Rng::from_seed([1; 32])));
    let (read, opened) = (key.public().read(bytes), key.open(bytes));
    match (read, opened) {
        (Ok(read), Ok(opened)) => {
            assert_eq!(read.as_bytes(), bytes);
            assert_eq!(key.decrypt(&read), opened);
        }
        (read, opened) => assert_eq!(read.unwrap_err(), opened.unwrap_err()),
    }
    // A key, and ciphertexts of it.
    let (first, rest) = bytes.split_at(bytes.len().min(size.modulus_bytes()));
    if let Ok(public) = GmPublicKey::from_bytes(size, first) {
        assert_eq!(public.to_bytes(), first);
        if let Ok(read) = public.read(rest) {
            assert_eq!(read.as_bytes(), rest);
        }
    }
});
