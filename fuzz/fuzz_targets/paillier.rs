//! Keys and ciphertexts of Paillier from bytes: what is read is written as the same bytes, and decrypts.

#![no_main]

use std::sync::LazyLock;

use chacha20::ChaCha20Rng;
use libfuzzer_sys::fuzz_target;
use rand_core::SeedableRng;
use tacita_core::primitive::paillier::{KeySize, PaillierPublicKey, PaillierSecretKey};

static KEY: LazyLock<PaillierSecretKey> =
    LazyLock::new(|| PaillierSecretKey::generate(size(), &mut ChaCha20Rng::from_seed([1; 32])));

fn size() -> KeySize {
    KeySize::new(512).unwrap()
}

fuzz_target!(|input: (u8, &[u8])| {
    let (which, bytes) = input;
    match which % 4 {
        0 => {
            if let Ok(ciphertexts) = KEY.public().read(bytes) {
                assert_eq!(ciphertexts.to_bytes(), bytes);
                let plaintexts = KEY.decrypt(&ciphertexts);
                assert_eq!(plaintexts.len(), ciphertexts.len());
                let _ = KEY.public().decode(&plaintexts);
            }
        }
        1 => {
            // A key, and ciphertexts of it.
            let (first, rest) = bytes.split_at(bytes.len().min(size().public_key_bytes()));
            if let Ok(public) = PaillierPublicKey::from_bytes(size(), first) {
                assert_eq!(public.to_bytes(), first);
                if let Ok(ciphertexts) = public.read(rest) {
                    assert_eq!(ciphertexts.to_bytes(), rest);
                    assert_eq!(public.add(&ciphertexts, &ciphertexts).len(), ciphertexts.len());
                }
            }
        }
        2 => {
            if let Ok(secret) = PaillierSecretKey::from_bytes(size(), bytes) {
                assert_eq!(&secret.to_bytes()[..], bytes);
            }
        }
        _ => {
            // The kept key, changed: another one is none.
            let mut kept = KEY.to_bytes();
            kept.iter_mut().zip(bytes).for_each(|(byte, change)| *byte ^= change);
            if let Ok(secret) = PaillierSecretKey::from_bytes(size(), &kept) {
                assert_eq!(*secret.to_bytes(), *kept);
            }
        }
    }
});
