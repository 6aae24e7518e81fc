use chacha20::ChaCha20Rng;
use crypto_bigint::{BoxedUint, ConcatenatingMul, ConcatenatingSquare, Odd};
use rand_core::{Rng, SeedableRng};

use super::*;
use crate::primitive::blum::Primes;
use crate::primitive::ot::Choices;
use crate::security::Level;

// Computed by a program of a few lines in another language: primes, h_s, a plaintext, r, and the ciphertext.
const P: &str = "c2b38755cd37880e16ac4191a26aa0ae044f1574f037afc644d82a531289bafb";
const Q: &str = "f711b7573b16494331a59c4ad1ebd086c40f36094fcc9a5c334e51aff848a957";
const BASE: &str = "\
     6f29d10bad860eb215b05e79d5836832fb20705e3ccad46b6a689bff68d8f5ded121f84ef09dae9ea5cd22a7cca96d6b37f7\
     344676cc056d2536cdfbcf0d4ca383005899e51069be849823733fa0a0a008d6523622c33518baaf615ac08ba82ad5d07085\
     f4c9c9c249d5d47a189fce6d5b57eeab03461e803b3fbda42267c753";
const PLAINTEXT: &str = "\
     30d0a2b8544940e12a66f913ee7d0ae2145103c7ff5e1d1f1cfb0a06bb93c8eb506f68ace2328994b647e8a8e5ee4c91731b\
     bc4164b0bb142f217e720f650638";
const EXPONENT: &str = "4fd3e758082a2f4d77b5abcbbf0e11e086592243ef95eee8a70828a72f7dba08";
const CIPHERTEXT: &str = "\
     75979c3ec0de75bab9cc9decd00d30d76b3a4b263490cf4840ce2f44b82f1e15ebece49d9e61e24dc1758cadff59e1b02627\
     bf2e1934c8d38d01dc0f729e40e7fe5b7f5dada930014e53518b1ad43f5a73f1232c0e274cdad1e0ff12e445423b711cf076\
     21f6186dfb66171bc02382dec3847620c61a30f58ffbcfb9fd7ec53b";

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn hex(digits: &str) -> BoxedUint {
    BoxedUint::from_be_hex(digits, 4 * digits.len() as u32).unwrap()
}

fn size(bits: usize) -> KeySize {
    KeySize::new(bits).unwrap()
}

/// The key of the vector.
fn known() -> PaillierSecretKey {
    let (p, q) = (hex(P), hex(Q));
    let modulus = p.concatenating_mul(&q).into_odd().unwrap();
    let public = PaillierPublicKey::new(size(512), modulus, Some(hex(BASE).to_words().to_vec()));
    PaillierSecretKey::from_primes(public, &Primes { p: Zeroizing::new(p), q: Zeroizing::new(q) })
}

fn square(key: &PaillierPublicKey) -> Odd<BoxedUint> {
    key.modulus.as_ref().concatenating_square().into_odd().unwrap()
}

/// (1 + m N) h_s^r, as it is written.
fn encrypt_slowly(key: &PaillierPublicKey, plaintext: &[u64], exponent: &[u64]) -> BoxedUint {
    let square = square(key);
    let power = number(&key.base).pow_mod(&number(exponent), &square);
    let encoded = number(plaintext).concatenating_mul(key.modulus.as_ref()).wrapping_add(BoxedUint::one());
    encoded.mul_mod(&power, square.as_nz_ref())
}

/// Plaintexts of all kinds: the ends of the range, and random ones.
fn plaintexts(key: &PaillierPublicKey, count: usize, rng: &mut ChaCha20Rng) -> Plaintexts {
    let mut all = key.encode(&[0, 1, -1, i128::MAX, -i128::MAX]);
    all.all.extend_from_slice(&key.random(count, rng).all);
    all.all.truncate(count * all.words);
    all
}

/// Sums or products modulo N.
fn combined(key: &PaillierPublicKey, a: &Plaintexts, b: &Plaintexts, product: bool) -> Plaintexts {
    let modulus = key.modulus.as_nz_ref();
    let pairs = a.range(0..a.len()).zip(b.range(0..b.len()));
    let one = |(a, b): (&[u64], &[u64])| {
        let (a, b) = (number(a), number(b));
        if product { a.mul_mod(&b, modulus) } else { a.add_mod(&b, modulus) }.to_words()
    };
    Plaintexts { words: a.words, all: pairs.flat_map(one).collect() }
}

#[test]
fn the_vector() {
    let key = known();
    let public = key.public();
    let ciphertext = hex(CIPHERTEXT);
    assert_eq!(encrypt_slowly(public, hex(PLAINTEXT).as_words(), hex(EXPONENT).as_words()), ciphertext);
    let read = public.read(&ciphertext.to_le_bytes()).unwrap();
    assert_eq!(key.decrypt(&read).all, *hex(PLAINTEXT).as_words());
}

#[test]
fn both_ways_of_encrypting_follow_the_definition() {
    for bits in [512, 1024] {
        let key = PaillierSecretKey::generate(size(bits), &mut rng(1));
        let public = key.public();
        // Without and with tables, of groups that are not full.
        for count in [0, 1, 3, 8, 9, 32, 67] {
            let some = plaintexts(public, count, &mut rng(2));
            let encrypted = key.encrypt(&some, &mut rng(3));
            assert_eq!(encrypted, public.encrypt(&some, &mut rng(3)), "{bits} {count}");
            let mut exponents = rng(3);
            for (number, plaintext) in some.range(0..count).enumerate() {
                let exponent: Vec<_> = (0..bits / 128).map(|_| exponents.next_u64()).collect();
                assert_eq!(encrypted.one(number), encrypt_slowly(public, plaintext, &exponent).as_words());
            }
            assert_eq!(key.decrypt(&encrypted), some);
        }
    }
}

#[test]
fn generated_keys_are_what_they_should_be() {
    for (bits, seeds) in [(512, 0..10), (1024, 0..3), (2048, 0..1)] {
        for seed in seeds {
            let key = PaillierSecretKey::generate(size(bits), &mut rng(seed));
            let [p, q] = key.primes();
            assert_eq!([p.bits(), q.bits()], [bits as u32 / 2; 2]);
            assert!([p, q].iter().all(|prime| prime.as_words()[0] & 3 == 3));
            assert!([p, q].iter().all(|prime| crypto_primes::is_prime(crypto_primes::Flavor::Any, *prime)));
            assert_eq!(p.concatenating_mul(q), *key.public().modulus.as_ref());
            assert_eq!(key.public().modulus.bits(), bits as u32);
            // h_s is an N-th power: it decrypts to zero.
            let base = key.public().read(&key.public().to_bytes()[bits / 8..]).unwrap();
            assert_eq!(key.decrypt(&base), key.public().encode(&[0]));
        }
    }
    let [one, other] = [1, 2].map(|seed| PaillierSecretKey::generate(size(512), &mut rng(seed)));
    assert_ne!(one.public(), other.public());
}

#[test]
fn ciphertexts_are_added_and_multiplied() {
    let key = PaillierSecretKey::generate(size(512), &mut rng(4));
    let public = key.public();
    let (a, b) = (plaintexts(public, 20, &mut rng(5)), plaintexts(public, 20, &mut rng(6)));
    let (of_a, of_b) = (key.encrypt(&a, &mut rng(7)), key.encrypt(&b, &mut rng(8)));
    let sums = combined(public, &a, &b, false);
    assert_eq!(key.decrypt(&public.add(&of_a, &of_b)), sums);
    assert_eq!(key.decrypt(&public.add_plain(&of_a, &b)), sums);
    assert_eq!(key.decrypt(&public.multiply(&of_a, &b)), combined(public, &a, &b, true));
    let zeros = public.encode(&[0; 20]);
    assert_eq!(combined(public, &key.decrypt(&public.negate(&of_a)), &a, false), zeros);
    let fresh = public.rerandomize(&of_a, &mut rng(9));
    assert_eq!(key.decrypt(&fresh), a);
    assert!((0..20).all(|number| fresh.one(number) != of_a.one(number)));
    // As the definition has it: times x^N.
    let x = public.random(20, &mut rng(9));
    for (number_of, x) in x.range(0..20).enumerate() {
        let square = square(public);
        let x = BoxedUint::from_words_with_precision(x.iter().copied(), square.bits_precision());
        let power = x.pow_mod(public.modulus.as_ref(), &square);
        let product = power.mul_mod(&number(of_a.one(number_of)), square.as_nz_ref());
        assert_eq!(fresh.one(number_of), product.as_words());
    }
}

#[test]
fn products_count_what_is_chosen() {
    let key = PaillierSecretKey::generate(size(512), &mut rng(10));
    let public = key.public();
    for count in [0, 1, 7, 8, 9, 100] {
        for products in [1, 2, 5] {
            let (some, more) = (plaintexts(public, count, &mut rng(11)), plaintexts(public, 3, &mut rng(12)));
            let mut random = rng(13);
            let mut choices = |count: usize, product: usize| {
                Choices::from_bits((0..count).map(|_| [random.next_u32() & 1 == 1, true, false][product % 3]))
            };
            let mut all = CiphertextProducts::new(public, products);
            let mut sums = vec![BoxedUint::zero_with_precision(512); products];
            for plaintexts in [&some, &more, &public.encode(&[])] {
                let chosen: Vec<_> = (0..products).map(|product| choices(plaintexts.len(), product)).collect();
                all.multiply(&key.encrypt(plaintexts, &mut rng(14)), &chosen);
                for (sum, chosen) in sums.iter_mut().zip(&chosen) {
                    for (number_of, plaintext) in plaintexts.range(0..plaintexts.len()).enumerate() {
                        if chosen.get(number_of) {
                            *sum = sum.add_mod(&number(plaintext), public.modulus.as_nz_ref());
                        }
                    }
                }
            }
            let decrypted = key.decrypt(&all.finish());
            for (plaintext, sum) in decrypted.range(0..products).zip(&sums) {
                assert_eq!(plaintext, sum.as_words(), "{count} {products}");
            }
        }
    }
}

#[test]
fn integers_are_encoded_and_decoded() {
    let key = known();
    let public = key.public();
    let integers = [0, 1, -1, 77, -77, 1 << 64, -(1 << 64), i128::MAX, -i128::MAX];
    let encoded = public.encode(&integers);
    assert_eq!(*public.decode(&encoded).unwrap(), integers);
    for modulus in [2, 13, 1 << 64, 1 << 127] {
        let residues = public.residues(&public.encode(&integers[..2]), modulus);
        assert_eq!(*residues, [0, 1]);
        let minus_one = public.residues(&public.encode(&[-1]), modulus)[0];
        let truth =
            (public.modulus.as_ref().wrapping_sub(BoxedUint::one())).rem(&BoxedUint::from(modulus).into_nz().unwrap());
        assert_eq!(BoxedUint::from(minus_one), truth);
    }
    let beyond = public.add_plain(&key.encrypt(&public.encode(&[i128::MAX]), &mut rng(1)), &public.encode(&[1]));
    assert!(public.decode(&key.decrypt(&beyond)).is_none());
}

/// Checks that packed integers are added up each by itself under a mask, as many as there is room for. No negative one
/// takes from the next.
#[test]
fn packed_integers_are_added_up_each_by_itself() {
    let key = known();
    let public = key.public();
    let most = 1i128 << 124;
    let columns = [[most, -most, 0], [-1, -1, -1], [0, 1, -most], [-most, 0, most], [5, most, -7], [0; 3]];
    for (seed, (one, other)) in (0..).zip(columns.iter().flat_map(|one| columns.iter().map(move |other| (one, other))))
    {
        for each in 1..=3 {
            let packed = |integers: &[i128; 3]| key.encrypt(&public.pack(&integers[..each], each), &mut rng(seed));
            let (sum, mask) = (public.add(&packed(one), &packed(other)), public.random(1, &mut rng(seed)));
            let masked = key.decrypt(&public.add_plain(&sum, &mask));
            let expected: Vec<i128> = one.iter().zip(other).map(|(one, other)| one + other).take(each).collect();
            assert_eq!(*unpack(&masked.low(each), &mask.low(each)), expected, "{one:?} and {other:?}");
        }
    }
    let two = public.pack(&[-3, 4, -5, 6], 2);
    assert_eq!((two.len(), unpack(&two.low(2), &[0, 0]).to_vec()), (2, vec![-3, 4]));
}

#[test]
fn what_is_no_ciphertext_is_refused() {
    let key = known();
    let public = key.public();
    let good = key.encrypt(&public.encode(&[5; 20]), &mut rng(1)).to_bytes();
    assert_eq!(public.read(&good).unwrap().to_bytes(), good);
    assert!(public.read(&[]).unwrap().is_empty());
    let bytes = |value: &BoxedUint| {
        let mut bytes = value.to_le_bytes().to_vec();
        bytes.resize(128, 0);
        bytes
    };
    let square = square(public);
    let modulus = public.modulus.as_ref();
    let one = BoxedUint::one();
    for (value, check) in [
        (BoxedUint::zero(), PaillierFormatError::Zero),
        (square.as_ref().clone(), PaillierFormatError::TooLarge),
        (square.wrapping_add(&one), PaillierFormatError::TooLarge),
        (BoxedUint::max(1024), PaillierFormatError::TooLarge),
        (modulus.clone(), PaillierFormatError::NotCoprime),
        (hex(P), PaillierFormatError::NotCoprime),
        (hex(Q).concatenating_mul(&BoxedUint::from(12u8)), PaillierFormatError::NotCoprime),
        (square.wrapping_sub(modulus), PaillierFormatError::NotCoprime),
    ] {
        for place in [0, 7, 19] {
            let mut bad = good.clone();
            bad[128 * place..][..128].copy_from_slice(&bytes(&value));
            assert_eq!(public.read(&bad).unwrap_err(), check);
        }
        assert_eq!(public.read(&bytes(&value)).unwrap_err(), check);
    }
    // Two whose product is a multiple of N, and the largest that is one.
    assert_eq!(public.read(&[bytes(&hex(P)), bytes(&hex(Q))].concat()).unwrap_err(), PaillierFormatError::NotCoprime);
    public.read(&bytes(&square.wrapping_sub(&one))).unwrap();
    for bytes in [&good[1..], &good[..good.len() - 1], &good[..1]] {
        assert_eq!(public.read(bytes).unwrap_err(), PaillierFormatError::Length);
    }
}

#[test]
fn what_is_no_key_is_refused() {
    let key = known();
    let good = key.public().to_bytes();
    assert_eq!(good.len(), size(512).public_key_bytes());
    let read = |bytes: &[u8]| PaillierPublicKey::from_bytes(size(512), bytes);
    assert_eq!(read(&good).unwrap(), *key.public());
    let change = |change: &dyn Fn(&mut [u8])| {
        let mut bytes = good.clone();
        change(&mut bytes);
        read(&bytes).unwrap_err()
    };
    assert_eq!(read(&good[1..]).unwrap_err(), PaillierFormatError::Length);
    assert_eq!(PaillierPublicKey::from_bytes(size(1024), &good).unwrap_err(), PaillierFormatError::Length);
    assert_eq!(change(&|bytes| bytes[63] &= 0x7f), PaillierFormatError::Size);
    assert_eq!(change(&|bytes| bytes[..64].fill(0)), PaillierFormatError::Size);
    assert_eq!(change(&|bytes| bytes[0] &= 0xfe), PaillierFormatError::Even);
    assert_eq!(change(&|bytes| bytes[64..].fill(0)), PaillierFormatError::Zero);
    assert_eq!(change(&|bytes| bytes[64..].fill(0xff)), PaillierFormatError::TooLarge);
    assert_eq!(
        change(&|bytes| {
            bytes.copy_within(..64, 64);
            bytes[128..].fill(0)
        }),
        PaillierFormatError::NotCoprime
    );
    assert_eq!(
        change(&|bytes| {
            bytes[64..].fill(0);
            bytes[64] = 1
        }),
        PaillierFormatError::One
    );
}

#[test]
fn kept_keys_are_read_and_damaged_ones_refused() {
    for (bits, seed) in [(512, 20), (1024, 21)] {
        let key = PaillierSecretKey::generate(size(bits), &mut rng(seed));
        let bytes = key.to_bytes();
        assert_eq!(bytes.len(), size(bits).secret_key_bytes());
        let read = |bytes: &[u8]| PaillierSecretKey::from_bytes(size(bits), bytes);
        let again = read(&bytes).unwrap();
        assert_eq!((again.public(), again.to_bytes()), (key.public(), bytes.clone()));
        let some = plaintexts(key.public(), 9, &mut rng(1));
        assert_eq!(again.decrypt(&key.encrypt(&some, &mut rng(2))), some);
        assert_eq!(again.encrypt(&some, &mut rng(2)), key.encrypt(&some, &mut rng(2)));
        // Any bit: of N, of h_s, of p, of q.
        for byte in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
            let mut bad = bytes.to_vec();
            bad[byte] ^= 1 << (byte % 8);
            assert!(read(&bad).is_err(), "byte {byte}");
        }
        assert_eq!(read(&bytes[1..]).unwrap_err(), PaillierFormatError::Length);
        let mut swapped = bytes.to_vec();
        let public = size(bits).public_key_bytes();
        swapped[public..].rotate_left(bits / 16);
        assert_eq!(read(&swapped).unwrap().decrypt(&key.encrypt(&some, &mut rng(3))), some);
        // N = p q, but p and q are no primes of a key: 1 and N, or a base that is no N-th power.
        let mut one = bytes.to_vec();
        one[public..].fill(0);
        one[public] = 1;
        assert_eq!(read(&one).unwrap_err(), PaillierFormatError::Primes);
        let mut base = bytes.to_vec();
        let other = key.encrypt(&key.public().encode(&[1]), &mut rng(4)).to_bytes();
        base[bits / 8..][..bits / 4].copy_from_slice(&other);
        assert_eq!(read(&base).unwrap_err(), PaillierFormatError::Primes);
    }
}

#[test]
fn nothing_secret_is_printed() {
    let key = known();
    let printed =
        format!("{key:?} {:?} {:?} {:?}", key.public(), key.public().encode(&[5]), key.public().no_ciphertexts());
    assert_eq!(printed, "SecretKey(512 bits) PublicKey(512 bits) Plaintexts(1) Ciphertexts(0)");
}

#[test]
fn sizes_are_those_of_levels() {
    for (level, bits) in
        [(Level::Paper80, 1024), (Level::Bits112, 2048), (Level::Bits128, 3072), (Level::Bits256, 15360)]
    {
        assert_eq!(KeySize::of(level), size(bits));
    }
    assert!([0, 256, 511, 1023, 4096].iter().all(|&bits| KeySize::new(bits).is_err()));
}

#[test]
fn plaintexts_with_a_residue_are_otherwise_random() {
    let key = known();
    let public = key.public();
    let mut random = rng(1);
    for modulus in [2, 13, (1 << 64) + 13, 1 << 127] {
        let residues = [0, 1, modulus - 1].repeat(40);
        let plaintexts = public.random_with_residues(&residues, modulus, &mut random);
        assert_eq!(*public.residues(&plaintexts, modulus), residues);
        // Below N, and its highest word in both halves of its range.
        let highest = public.modulus.as_words()[7];
        let upper = plaintexts.range(0..120).filter(|words| words[7] > highest / 2).count();
        assert!((30..90).contains(&upper) && plaintexts.range(0..120).all(|words| number(words) < *public.modulus));
    }
}
