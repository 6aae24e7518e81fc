//! Tests of the operations on ciphertexts, against the same operations on their plaintexts.

use std::sync::atomic::{AtomicUsize, Ordering};

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use zeroize::Zeroizing;

use super::*;
use crate::primitive::group::{P384, Point, Ristretto255, ScalarField};
use crate::primitive::published::Pallas;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn check<G: Group + Sync>(group: &G) {
    let rng = &mut rng(1);
    let key = ElGamalSecretKey::generate(group, rng);
    let public = key.public(group);
    let plain: Vec<_> = [0, 1, 7, u64::MAX]
        .map(|integer| group.scalar(integer))
        .into_iter()
        .chain(group.random_scalars(5, rng))
        .collect();
    let opened = |ciphertexts: &[Ciphertext<G>]| group.encode(&key.decrypt(group, ciphertexts));
    let expected = |scalars: &[G::Scalar]| group.encode(&group.multiply_generator(scalars));
    let encrypted = public.encrypt(group, &plain, rng);
    assert_eq!(opened(&encrypted), expected(&plain));
    assert_eq!(key.are_zero(group, &encrypted), (0..plain.len()).map(|place| place == 0).collect::<Vec<_>>());

    // Fresh ciphertexts of the same are others in both halves, as is every encryption.
    let again = public.rerandomize(group, &encrypted, rng);
    assert_eq!(opened(&again), opened(&encrypted));
    let bytes = group.point_bytes();
    let distinct = |sets: &[&[Ciphertext<G>]]| {
        let encodings: Vec<_> = sets.iter().map(|set| encode(group, set)).collect();
        let points: std::collections::HashSet<_> = encodings.iter().flat_map(|set| set.chunks(bytes)).collect();
        assert_eq!(points.len(), sets.iter().map(|set| 2 * set.len()).sum::<usize>());
    };
    distinct(&[
        &encrypted,
        &again,
        &public.encrypt(group, &plain, rng),
        &public.encrypt(group, &vec![group.scalar(0); 9], rng),
    ]);

    // Bits, as many as none and as an odd number: what they hold, and each time anew.
    for length in [0, 1, 5] {
        let bits: Vec<u8> = (0..length).map(|place| u8::from(place % 3 != 1)).collect();
        let [once, again] = [(); 2].map(|()| decode(group, &public.encrypt_bits_encode(group, &bits, rng)).unwrap());
        let minus_one = group.minus(&group.scalar(0), &group.scalar(1));
        let held: Vec<_> = bits.iter().map(|bit| if *bit == 1 { group.scalar(0) } else { minus_one.clone() }).collect();
        assert_eq!((opened(&once), opened(&again)), (expected(&held), expected(&held)));
        distinct(&[&once, &again]);
    }

    // Bytes.
    let travelled = encode(group, &again);
    assert_eq!(encode(group, &decode(group, &travelled).unwrap()), travelled);
    assert_eq!(decode(group, &travelled[bytes..]).map(drop), Err(DecodeError::Length));
    assert_eq!(decode(group, &vec![0; 2 * bytes]).map(drop), Err(DecodeError::Identity(0)));
    let sent = public.to_bytes(group);
    assert_eq!(ElGamalPublicKey::from_bytes(group, &sent).unwrap().to_bytes(group), sent);
    assert_eq!(
        ElGamalPublicKey::<G>::from_bytes(group, &[&sent[..], &sent].concat()).map(drop),
        Err(DecodeError::Length)
    );
    assert!(
        ElGamalPublicKey::<G>::from_bytes(group, &vec![0; bytes]).is_err()
            && ElGamalPublicKey::<G>::from_bytes(group, &[]).is_err()
    );
    assert_eq!(format!("{key:?} {public:?}"), "SecretKey(..) PublicKey(..)");

    // Another key opens nothing.
    let other = ElGamalSecretKey::generate(group, rng);
    assert!(!other.are_zero(group, &encrypted)[0]);
}

#[test]
fn ristretto255() {
    check(&Ristretto255);
}

#[test]
fn p384() {
    check(&P384::new());
}

#[test]
fn pallas() {
    check(&Pallas);
}

#[test]
fn small_numbers_are_found_and_no_others() {
    let rng = &mut rng(2);
    let key = ElGamalSecretKey::generate(&Ristretto255, rng);
    let public = key.public(&Ristretto255);
    for bound in [0u64, 1, 2, 3, 9, 10, 100, 1000] {
        let integers: Vec<u64> =
            (0..bound.min(12)).chain(bound.saturating_sub(3)..bound + 3).chain([u64::MAX]).collect();
        let scalars: Vec<_> = integers.iter().map(|integer| Ristretto255.scalar(*integer)).collect();
        let found = key.decrypt_small(&Ristretto255, &public.encrypt(&Ristretto255, &scalars, rng), bound);
        let expected: Vec<_> =
            integers.iter().map(|integer| Some(*integer).filter(|integer| *integer < bound)).collect();
        assert_eq!(found, expected, "{bound}");
    }
}

/// Checks numbers near the sizes at which the table grows, and a bound that is no whole number of steps.
#[test]
fn small_numbers_are_found_wherever_they_are() {
    let bound = (1 << 24) + 12_345;
    let integers: Vec<u64> = [0, 20, 22, 24].into_iter().flat_map(|log2| (1u64 << log2) - 1..(1 << log2) + 2).collect();
    let integers = [integers, vec![bound - 1, bound, bound + 1, 1 << 50]].concat();
    let scalars: Vec<_> = integers.iter().map(|integer| Ristretto255.scalar(*integer)).collect();
    let found = small::small(&Ristretto255, &Ristretto255.multiply_generator(&scalars), bound);
    let expected: Vec<_> = integers.iter().map(|integer| Some(*integer).filter(|integer| *integer < bound)).collect();
    assert_eq!(found, expected);
    assert_eq!([1 << 20, (1 << 20) + 1, bound, 1 << 40].map(small::most_steps), [1 << 10, 1 << 11, 1 << 13, 1 << 20]);
}

/// Checks that a number far below the bound takes no table of the bound's size.
#[test]
fn a_number_takes_as_long_as_it_is_large() {
    let bound = 1 << 34;
    let [small, large] = [1000, bound - 1].map(|number| {
        let started = std::time::Instant::now();
        let point = Ristretto255.multiply_generator(&[Ristretto255.scalar(number)]);
        assert_eq!(small::small(&Ristretto255, &point, bound), [Some(number)]);
        started.elapsed()
    });
    assert!(small < large / 8, "{small:?}, {large:?}");
}

/// Ristretto255 that counts the points that are added, subtracted and encoded.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Counted {
    fn count(&self, points: &[Point]) -> &Ristretto255 {
        self.0.fetch_add(points.len(), Ordering::Relaxed);
        &Ristretto255
    }
}

/// Implements methods of the counting group by passing them on to the other one.
macro_rules! passed_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $output {
            Ristretto255.$name($($argument),*)
        })*
    };
}

type Scalar = <Ristretto255 as ScalarField>::Scalar;

impl ScalarField for Counted {
    type Scalar = Scalar;

    passed_on! {
        scalar_bytes() -> usize;
        scalar(integer: u64) -> Scalar;
        random_scalars(count: usize, rng: &mut impl CryptoRng) -> Vec<Scalar>;
        hash_to_scalar(message: &[u8], tag: &[u8]) -> Option<Scalar>;
        plus(a: &Scalar, b: &Scalar) -> Scalar;
        minus(a: &Scalar, b: &Scalar) -> Scalar;
        times(a: &Scalar, b: &Scalar) -> Scalar;
        is_zero(scalar: &Scalar) -> bool;
        invert(scalars: &[Scalar]) -> Vec<Scalar>;
        root_of_unity(log2: u32) -> Option<Scalar>;
        encode_scalar(scalar: &Scalar) -> Zeroizing<Vec<u8>>;
        decode_scalar(bytes: &[u8]) -> Option<Scalar>;
    }
}

impl Group for Counted {
    type Point = Point;
    type Base = <Ristretto255 as Group>::Base;

    passed_on! {
        point_bytes() -> usize;
        any_identity(points: &[Point]) -> bool;
        multiply(points: &[Point], scalar: &Scalar) -> Vec<Point>;
        multiply_generator(scalars: &[Scalar]) -> Vec<Point>;
        multiply_encode(points: &[Point], scalar: &Scalar) -> Vec<u8>;
        multiply_each_encode(points: &[Point], scalars: &[Scalar]) -> Vec<u8>;
        multiply_each(points: &[Point], scalars: &[Scalar]) -> Vec<Point>;
        multiply_one(point: &Point, scalars: &[Scalar]) -> Vec<Point>;
        base(point: &Point) -> Self::Base;
        multiply_base(base: &Self::Base, scalars: &[Scalar]) -> Vec<Point>;
        combine(points: &[Point], scalars: &[Scalar]) -> Point;
        decode(bytes: &[u8]) -> Result<Vec<Point>, DecodeError>;
    }

    fn hash_to_points<M: AsRef<[u8]> + Sync>(&self, messages: &[M], tag: &[u8]) -> Vec<Point> {
        Ristretto255.hash_to_points(messages, tag)
    }

    fn add(&self, points: &[Point], others: &[Point]) -> Vec<Point> {
        self.count(points).add(points, others)
    }

    fn subtract(&self, points: &[Point], others: &[Point]) -> Vec<Point> {
        self.count(points).subtract(points, others)
    }

    fn double_encode(&self, points: &[Point]) -> Vec<u8> {
        self.count(points).double_encode(points)
    }

    fn encode(&self, points: &[Point]) -> Vec<u8> {
        self.count(points).encode(points)
    }
}

#[test]
fn small_numbers_are_found_in_as_many_steps_whatever_they_are() {
    for bound in [1u64, 10, 5000, 1 << 30] {
        let steps = |number: u64| {
            let group = Counted::default();
            let points = group.multiply_generator(&[group.scalar(number)]);
            assert_eq!(
                small::in_full(&group, &points, bound),
                [Some(number).filter(|number| *number < bound)],
                "{bound}"
            );
            group.0.into_inner()
        };
        let of_zero = steps(0);
        assert!(of_zero as u64 >= small::most_steps(bound));
        for number in [bound / 3, bound - 1, bound, u64::MAX] {
            assert_eq!(steps(number), of_zero, "{number} of {bound}");
        }
    }
}
