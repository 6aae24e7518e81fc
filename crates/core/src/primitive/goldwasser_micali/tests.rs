use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::*;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn size(bits: usize) -> KeySize {
    KeySize::new(bits).unwrap()
}

fn bits(count: usize, rng: &mut ChaCha20Rng) -> Vec<bool> {
    (0..count).map(|_| rng.next_u32() & 1 == 1).collect()
}

fn round_trip(length: usize, counts: &[usize]) {
    let key = SecretKey::generate(size(length), &mut rng(1));
    let public = PublicKey::from_bytes(size(length), &key.public().to_bytes()).unwrap();
    assert_eq!(public, *key.public());
    for &count in counts {
        let some = bits(count, &mut rng(2));
        let encrypted = public.encrypt(&some, &mut rng(3));
        assert_eq!((encrypted.len(), encrypted.as_bytes().len()), (count, count * length / 8));
        assert_eq!(*key.decrypt(&encrypted), some);
        assert_eq!(public.read(encrypted.as_bytes()).unwrap(), encrypted);
        assert_eq!(*key.open(encrypted.as_bytes()).unwrap(), some);
    }
}

#[test]
fn bits_are_encrypted_and_decrypted() {
    round_trip(512, &[0, 1, 7, 8, 9, 63, 64, 65, 1000]);
    round_trip(1024, &[0, 1, 9, 129]);
}
