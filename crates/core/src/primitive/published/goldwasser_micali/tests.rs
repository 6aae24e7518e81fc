use chacha20::ChaCha20Rng;
use crypto_bigint::{BoxedUint, ConcatenatingMul, Odd};
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

use super::*;
use crate::primitive::blum::{Primes, number, words};
use crate::primitive::shuffle::random_order;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn size(bits: usize) -> KeySize {
    KeySize::new(bits).unwrap()
}

fn key(bits: usize) -> GmSecretKey {
    GmSecretKey::generate(size(bits), &mut rng(1))
}

fn bits(count: usize, rng: &mut ChaCha20Rng) -> Vec<bool> {
    (0..count).map(|_| rng.next_u32() & 1 == 1).collect()
}

fn modulus(key: &GmPublicKey) -> Odd<BoxedUint> {
    number(&words(&key.to_bytes())).into_odd().unwrap()
}

/// The numbers of a list.
fn numbers(ciphertexts: &GmCiphertexts) -> Vec<BoxedUint> {
    (0..ciphertexts.len()).map(|index| number(&words(ciphertexts.one(index)))).collect()
}

fn bytes(value: &BoxedUint, length: usize) -> Vec<u8> {
    let mut bytes = value.to_le_bytes().to_vec();
    bytes.resize(length, 0);
    bytes
}

/// Whether a number is a square modulo a prime that is 3 modulo 4, by Euler's criterion.
fn is_square(value: &BoxedUint, prime: &BoxedUint) -> bool {
    let prime = prime.clone().into_odd().unwrap();
    let half = prime.wrapping_sub(BoxedUint::one()).shr(1);
    value.rem(prime.as_nz_ref()).pow_mod(&half, &prime).is_one().to_bool()
}

fn round_trip(length: usize, counts: &[usize]) {
    let key = key(length);
    let public = GmPublicKey::from_bytes(size(length), &key.public().to_bytes()).unwrap();
    assert_eq!(public, *key.public());
    for &count in counts {
        let some = bits(count, &mut rng(2));
        let encrypted = public.encrypt(&some, &mut rng(3));
        assert_eq!((encrypted.len(), encrypted.as_bytes().len()), (count, count * length / 8));
        assert_eq!(*key.decrypt(&encrypted), some);
        assert_eq!(public.read(encrypted.as_bytes()).unwrap(), encrypted);
        assert_eq!(*key.open(encrypted.as_bytes()).unwrap(), some);
        let order = random_order(count, &mut rng(4));
        let mixed = public.rerandomize(&encrypted, &order, &mut rng(5));
        let expected: Vec<_> = order.iter().map(|&number| some[number as usize]).collect();
        assert_eq!(*key.open(mixed.as_bytes()).unwrap(), expected);
    }
}

#[test]
fn bits_are_encrypted_and_decrypted() {
    round_trip(512, &[0, 1, 7, 8, 9, 63, 64, 65, 1000]);
    round_trip(1024, &[0, 1, 9, 129]);
    round_trip(3072, &[17]);
}

#[test]
#[ignore = "primes of 3840 bits take a while"]
fn bits_are_encrypted_with_long_keys() {
    round_trip(7680, &[17]);
}

#[test]
fn ciphertexts_are_what_the_definition_says() {
    let primes = Primes::generate(size(512), &mut rng(1));
    let key = GmSecretKey::from_primes(size(512), &primes);
    let some = bits(100, &mut rng(2));
    for (ciphertext, bit) in numbers(&key.public().encrypt(&some, &mut rng(3))).iter().zip(&some) {
        // Squares modulo both primes, or modulo neither.
        assert!([&primes.p, &primes.q].iter().all(|prime| is_square(ciphertext, prime) != *bit));
    }
    // x = -1 is one of those numbers, and 1 is a square.
    let public = key.public();
    let least = modulus(public).wrapping_sub(BoxedUint::one());
    let both = [bytes(&BoxedUint::one(), 64), bytes(&least, 64)].concat();
    assert_eq!(*key.open(&both).unwrap(), [false, true]);
    assert_eq!(*key.decrypt(&public.read(&both).unwrap()), [false, true]);
}

#[test]
fn products_are_exclusive_ors() {
    let key = key(512);
    let public = key.public();
    for count in [0, 1, 8, 61] {
        let (a, b) = (bits(count, &mut rng(2)), bits(count, &mut rng(3)));
        let product = public.xor(&public.encrypt(&a, &mut rng(4)), &public.encrypt(&b, &mut rng(5)));
        let expected: Vec<_> = a.iter().zip(&b).map(|(a, b)| a ^ b).collect();
        assert_eq!(*key.open(product.as_bytes()).unwrap(), expected);
    }
}

#[test]
fn an_order_is_taken_in_parts_and_with_repetitions() {
    let key = key(512);
    let public = key.public();
    let some = bits(50, &mut rng(2));
    let encrypted = public.encrypt(&some, &mut rng(3));
    let mut random = rng(4);
    let order: Vec<u32> = (0..150).map(|_| random.next_u32() % 50).chain([49, 0, 0, 49]).collect();
    let (first, second) = order.split_at(67);
    let mut all = public.rerandomize(&encrypted, first, &mut random);
    all.append(&public.rerandomize(&encrypted, second, &mut random));
    let expected: Vec<_> = order.iter().map(|&number| some[number as usize]).collect();
    assert_eq!(*key.decrypt(&all), expected);
    // Two that were made of the same one have nothing in common.
    let mut seen: Vec<_> = all.as_bytes().chunks(64).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), order.len());
}

/// The owner of the key knows square roots modulo p and q, and so all about a ratio of two ciphertexts but for which
/// root. What it sees of its own ciphertexts has to be what a simulator makes of their bits alone.
#[test]
fn the_owner_cannot_tell_of_which_ciphertext_one_was_made() {
    let key = key(512);
    let public = key.public();
    let n = modulus(public);
    let some = vec![true; 400];
    let mine = public.encrypt(&some, &mut rng(2));
    let order: Vec<u32> = (0..400).collect();
    let honest = public.rerandomize(&mine, &order, &mut rng(3));
    let simulated = public.encrypt(&some, &mut rng(4));
    // Without y^2, or with the same one for all.
    let leaky = mine.clone();
    let once = public.rerandomize(&mine, &[0], &mut rng(5));
    let factor = numbers(&once)[0].mul_mod(&numbers(&mine)[0].invert_odd_mod(&n).unwrap(), n.as_nz_ref());
    let shared = numbers(&mine).iter().flat_map(|c| bytes(&c.mul_mod(&factor, n.as_nz_ref()), 64)).collect();
    let shared = GmCiphertexts::new(64, shared);
    let unlinkable = |seen: &GmCiphertexts| {
        let inverse = |c: &BoxedUint| c.invert_odd_mod(&n).unwrap();
        let mut ratios: Vec<_> = numbers(seen)
            .iter()
            .zip(numbers(&mine))
            .map(|(seen, mine)| seen.mul_mod(&inverse(&mine), n.as_nz_ref()).to_words().to_vec())
            .collect();
        // Uniformly random squares: all different, and as often in each quarter of their range.
        let largest = n.as_words()[7];
        let mut quarters = [0i32; 4];
        ratios
            .iter()
            .for_each(|ratio| quarters[((u128::from(ratio[7]) * 4) / (u128::from(largest) + 1)) as usize] += 1);
        ratios.sort_unstable();
        ratios.dedup();
        ratios.len() == seen.len() && quarters.iter().all(|count| (60..140).contains(count))
    };
    assert!(unlinkable(&simulated) && unlinkable(&honest));
    assert!(!unlinkable(&leaky) && !unlinkable(&shared));
}

/// Ciphertexts of both bits, and random numbers of the same Jacobi symbol, have the same distribution in the eyes of
/// others: at least their highest and lowest bits have.
#[test]
fn ciphertexts_fill_the_range() {
    let key = key(512);
    let n = modulus(key.public());
    for bit in [false, true] {
        let seen = numbers(&key.public().encrypt(&[bit; 1000], &mut rng(2)));
        let mut eighths = [0i32; 8];
        seen.iter().for_each(|c| {
            eighths[((u128::from(c.as_words()[7]) * 8) / (u128::from(n.as_words()[7]) + 1)) as usize] += 1
        });
        let odd = seen.iter().filter(|c| c.as_words()[0] & 1 == 1).count();
        // Standard deviations: 10.5 and 16.
        assert!(
            eighths.iter().all(|count| (70..180).contains(count)) && (410..590).contains(&odd),
            "{eighths:?} {odd}"
        );
    }
}

#[test]
fn random_numbers_are_uniform_below_the_bound() {
    let bound = [0, 0x8000_0000_0000_0000 | 1 << 62];
    let mut random = random::Below::new(&bound, &[1; 32]);
    let (mut number, mut thirds) = ([0; 2], [0; 3]);
    for _ in 0..3000 {
        random.fill(&mut number);
        thirds[(number[1] >> 62) as usize] += 1;
    }
    assert!(thirds.iter().all(|count| (870..1130).contains(count)), "{thirds:?}");
    // Below it, and not only in the highest word.
    let bound = [5, 1 << 63];
    let mut random = random::Below::new(&bound, &[2; 32]);
    (0..1000).for_each(|_| {
        random.fill(&mut number);
        assert!(number[1] < bound[1] || number[1] == bound[1] && number[0] < bound[0]);
    });
}

#[test]
fn what_is_no_ciphertext_is_refused() {
    let primes = Primes::generate(size(512), &mut rng(1));
    let key = GmSecretKey::from_primes(size(512), &primes);
    let (public, n) = (key.public(), primes.modulus());
    let good = public.encrypt(&bits(150, &mut rng(2)), &mut rng(3)).into_bytes();
    assert_eq!(public.read(&good).unwrap().as_bytes(), good);
    assert!(public.read(&[]).unwrap().len() == 0 && key.open(&[]).unwrap().is_empty());
    let one = BoxedUint::one();
    // A square modulo one of the primes only.
    let mut half = BoxedUint::from(2u64);
    while is_square(&half, &primes.p) == is_square(&half, &primes.q) {
        half = half.wrapping_add(&one);
    }
    for (value, check) in [
        (BoxedUint::zero(), GmFormatError::Zero),
        (n.as_ref().clone(), GmFormatError::TooLarge),
        (n.wrapping_add(&one), GmFormatError::TooLarge),
        (BoxedUint::max(512), GmFormatError::TooLarge),
        ((*primes.p).clone(), GmFormatError::NotCoprime),
        (primes.q.concatenating_mul(&BoxedUint::from(12u8)), GmFormatError::NotCoprime),
        (n.wrapping_sub(&*primes.q), GmFormatError::NotCoprime),
        (half.clone(), GmFormatError::Symbol),
        (n.wrapping_sub(&half), GmFormatError::Symbol),
    ] {
        let value = bytes(&value, 64);
        for place in [0, 7, 63, 64, 149] {
            let mut bad = good.clone();
            bad[64 * place..][..64].copy_from_slice(&value[..64]);
            assert_eq!((public.read(&bad).unwrap_err(), key.open(&bad).unwrap_err()), (check, check));
        }
        assert_eq!(public.read(&value[..64]).unwrap_err(), check);
        assert_eq!(key.open(&value[..64]).unwrap_err(), check);
    }
    for bytes in [&good[1..], &good[..good.len() - 1], &good[..1]] {
        assert_eq!(
            (public.read(bytes).unwrap_err(), key.open(bytes).unwrap_err()),
            (GmFormatError::Length, GmFormatError::Length)
        );
    }
    // The first of several.
    let mut bad = good.clone();
    bad[64 * 140..][..64].fill(0);
    bad[64 * 20..][..64].fill(0xff);
    assert_eq!(
        (public.read(&bad).unwrap_err(), key.open(&bad).unwrap_err()),
        (GmFormatError::TooLarge, GmFormatError::TooLarge)
    );
}

#[test]
fn what_is_no_key_is_refused() {
    let primes = Primes::generate(size(512), &mut rng(1));
    let good = bytes(primes.modulus().as_ref(), 64);
    let read = |bytes: &[u8]| GmPublicKey::from_bytes(size(512), bytes);
    assert_eq!(read(&good).unwrap().to_bytes(), good);
    let change = |change: &dyn Fn(&mut [u8])| {
        let mut bytes = good.clone();
        change(&mut bytes);
        read(&bytes).unwrap_err()
    };
    assert_eq!(read(&good[1..]).unwrap_err(), GmFormatError::Length);
    assert_eq!(GmPublicKey::from_bytes(size(1024), &good).unwrap_err(), GmFormatError::Length);
    assert_eq!(change(&|bytes| bytes[63] &= 0x7f), GmFormatError::Size);
    assert_eq!(change(&|bytes| bytes.fill(0)), GmFormatError::Size);
    assert_eq!(change(&|bytes| bytes[0] &= 0xfe), GmFormatError::Residue);
    assert_eq!(change(&|bytes| bytes[0] |= 3), GmFormatError::Residue);
    assert_eq!(read(&bytes(&primes.p.concatenating_mul(&*primes.p), 64)).unwrap_err(), GmFormatError::Square);
}

#[test]
fn nothing_secret_is_printed() {
    let key = key(512);
    let printed = format!("{key:?} {:?} {:?}", key.public(), key.public().no_ciphertexts());
    assert_eq!(printed, "SecretKey(512 bits) PublicKey(512 bits) Ciphertexts(0)");
    let primes = Primes { p: Zeroizing::new(BoxedUint::one()), q: Zeroizing::new(BoxedUint::one()) };
    assert_eq!(format!("{primes:?}"), "Primes(..)");
}
