//! Every strategy beside the sums of products that a product is, for scalars and for points of every group.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::primitive::elgamal::{Ciphertext, ElGamalSecretKey};
use crate::primitive::group::{Group, ModP, P384, P521, Ristretto255, ScalarField, safe_prime};
use crate::primitive::published::Pallas;
use crypto_bigint::BoxedUint;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// Small ones and random ones, zeros among them and at the ends.
fn scalars<F: ScalarField>(field: &F, count: usize, seed: u8) -> Vec<F::Scalar> {
    let random = field.random_scalars(count, &mut rng(seed));
    let small = |place: usize| field.scalar(place as u64 % 3);
    random.into_iter().enumerate().map(|(place, one)| if place % 4 == 0 { small(place / 4) } else { one }).collect()
}

fn encoded<F: ScalarField>(field: &F, scalars: &[F::Scalar]) -> Vec<Vec<u8>> {
    scalars.iter().map(|scalar| field.encode_scalar(scalar).to_vec()).collect()
}

/// A product, coefficient by coefficient.
fn product<F: ScalarField>(field: &F, a: &[F::Scalar], b: &[F::Scalar]) -> Vec<F::Scalar> {
    let mut product = vec![field.scalar(0); (a.len() + b.len()).saturating_sub(1)];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            product[i + j] = field.plus(&product[i + j], &field.times(a, b));
        }
    }
    product
}

/// A value, power by power.
fn value<F: ScalarField>(field: &F, polynomial: &[F::Scalar], point: &F::Scalar) -> F::Scalar {
    let step = |sum, coefficient: &F::Scalar| field.plus(&field.times(&sum, point), coefficient);
    polynomial.iter().rev().fold(field.scalar(0), step)
}

/// The strategies that a field has for a result of so many coefficients.
fn strategies<F: ScalarField>(field: &F, coefficients: usize) -> Vec<MultiplyStrategy> {
    MultiplyStrategy::ALL.into_iter().filter(|strategy| strategy.can(field, coefficients)).collect()
}

fn products<F: ScalarField + Sync>(field: &F, sizes: &[(usize, usize)]) {
    for &(first, second) in sizes {
        let (a, b) = (scalars(field, first, 1), scalars(field, second, 2));
        let expected = if first == 0 || second == 0 { Vec::new() } else { product(field, &a, &b) };
        for strategy in strategies(field, first + second) {
            let found = multiply(&Scalars(field), strategy, &a, &b);
            assert_eq!(encoded(field, &found), encoded(field, &expected), "{strategy:?} {first} {second}");
        }
    }
}

/// Checks operations with points as coefficients: each does to the points what it does to their logarithms.
fn in_the_exponent<G: Group + Sync>(group: &G, sizes: &[(usize, usize)]) {
    let points = |scalars: &[G::Scalar]| group.multiply_generator(scalars);
    let module = Points(group);
    for &(first, second) in sizes {
        let (a, b) = (scalars(group, first, 3), scalars(group, second, 4));
        for strategy in strategies(group, first + second) {
            let found = multiply(&module, strategy, &a, &points(&b));
            let expected = points(&multiply(&Scalars(group), MultiplyStrategy::Schoolbook, &a, &b));
            assert_eq!(group.encode(&found), group.encode(&expected), "{strategy:?} {first} {second}");
            let roots = scalars(group, second.min(first), 5);
            let divisor = expand(group, strategy, &roots);
            let (quotient, remainder) = divide(&module, strategy, &points(&b), &divisor);
            let plain = divide(&Scalars(group), strategy, &b, &divisor);
            assert_eq!(group.encode(&quotient), group.encode(&points(&plain.0)));
            assert_eq!(group.encode(&remainder), group.encode(&points(&plain.1)));
            let expected: Vec<_> = roots.iter().map(|root| value(group, &b, root)).collect();
            let values = evaluate(&module, strategy, &points(&b), &roots);
            assert_eq!(group.encode(&values), group.encode(&points(&expected)));
        }
    }
}

/// Numbers of coefficients of points and scalars.
const EXPONENTS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 1), (7, 9), (17, 19), (33, 20)];

fn all<G: Group + Sync>(group: &G) {
    some(group, &EXPONENTS);
}

fn some<G: Group + Sync>(group: &G, exponents: &[(usize, usize)]) {
    let small: Vec<_> = (0..20).flat_map(|a| [0, 1, a, 2 * a + 1].map(|b| (a, b))).collect();
    products(group, &small);
    in_the_exponent(group, exponents);
}

#[test]
fn ristretto255() {
    all(&Ristretto255);
    products(&Ristretto255, &[(48, 49), (100, 100), (255, 256), (300, 7), (13, 300)]);
}

#[test]
fn p384() {
    some(&P384::new(), &EXPONENTS[..4]);
}

#[test]
fn p521() {
    some(&P521::new(), &EXPONENTS[..4]);
}

#[test]
#[ignore = "slow: more points of large curves"]
fn many_points_of_large_curves() {
    in_the_exponent(&P384::new(), &EXPONENTS[4..]);
    in_the_exponent(&P521::new(), &EXPONENTS[4..]);
}

#[test]
fn pallas() {
    all(&Pallas);
    for size in (0..=64).chain((65..=300).step_by(11)) {
        products(&Pallas, &[(size, size)]);
    }
    products(&Pallas, &[(48, 49), (255, 256), (300, 7), (13, 300), (1000, 999), (1025, 513)]);
}

#[test]
fn squares_modulo_a_safe_prime() {
    let (p, q) = safe_prime(512, 10, &mut rng(6)).unwrap();
    let group = ModP::new(&p, &q, &BoxedUint::from(4u64)).unwrap();
    assert!(MultiplyStrategy::Fft.can(&group, 1 << 10));
    all(&group);
}

/// Roots come back: expansion vanishes at them and nowhere else, and its sum of roots is the second coefficient.
#[test]
fn expansions_vanish_at_their_roots() {
    for count in [0, 1, 2, 3, 17, 100] {
        let roots = scalars(&Pallas, count, 6);
        for strategy in MultiplyStrategy::ALL {
            let polynomial = expand(&Pallas, strategy, &roots);
            assert_eq!(polynomial.len(), count + 1);
            assert!(roots.iter().all(|root| Pallas.is_zero(&value(&Pallas, &polynomial, root))));
            let other = Pallas.random_scalars(1, &mut rng(7));
            assert!(!Pallas.is_zero(&value(&Pallas, &polynomial, &other[0])));
            let sum = roots.iter().fold(Pallas.scalar(0), |sum, root| Pallas.minus(&sum, root));
            if count > 0 {
                assert_eq!(encoded(&Pallas, &polynomial[count - 1..count]), encoded(&Pallas, &[sum]));
            }
        }
    }
}

/// Quotient times divisor plus remainder, for dividends that are shorter, as long and longer; and values at many
/// points. Middle products beside the sums that they are, by every strategy and of all shapes; the elements end early
/// in some.
#[test]
fn middle_products_are_sums_of_products() {
    let module = Scalars(&Pallas);
    let sizes = [0usize, 1, 2, 3, 7, 8, 9, 16, 17, 25, 33, 50, 64, 100, 150];
    for (number, scalar_count) in sizes.into_iter().enumerate() {
        for count in sizes {
            let whole = (scalar_count + count).saturating_sub(1);
            for length in [whole, whole / 2, whole + 5] {
                let (a, elements) = (scalars(&Pallas, scalar_count, 1 + number as u8), scalars(&Pallas, length, 2));
                let sum = |place: usize| {
                    let terms = a.iter().zip(elements.iter().skip(place));
                    terms.fold(Pallas.scalar(0), |sum, (a, element)| Pallas.plus(&sum, &Pallas.times(a, element)))
                };
                let expected: Vec<_> = (0..count).map(sum).collect();
                for strategy in MultiplyStrategy::ALL {
                    let found = correlate::correlate(&module, strategy, &a, &elements, count);
                    let shape = (scalar_count, count, length);
                    assert_eq!(encoded(&Pallas, &found), encoded(&Pallas, &expected), "{strategy:?} {shape:?}");
                }
            }
        }
    }
}

#[test]
fn division_and_evaluation_agree_with_their_definitions() {
    let module = Scalars(&Pallas);
    for (length, degree) in [
        (0, 0),
        (0, 3),
        (3, 3),
        (4, 3),
        (10, 0),
        (40, 17),
        (129, 64),
        (300, 31),
        (64, 100),
        (201, 100),
        (2, 50),
        (20, 90),
    ] {
        let polynomial = scalars(&Pallas, length, 8);
        let roots = scalars(&Pallas, degree, 9);
        for strategy in MultiplyStrategy::ALL {
            let divisor = expand(&Pallas, strategy, &roots);
            let (quotient, remainder) = divide(&module, strategy, &polynomial, &divisor);
            assert_eq!((quotient.len(), remainder.len()), (length.saturating_sub(degree), degree));
            let mut again = product(&Pallas, &quotient, &divisor);
            again.resize(again.len().max(length).max(degree), Pallas.scalar(0));
            for (place, coefficient) in remainder.iter().enumerate() {
                again[place] = Pallas.plus(&again[place], coefficient);
            }
            let mut whole = polynomial.clone();
            whole.resize(again.len(), Pallas.scalar(0));
            assert_eq!(encoded(&Pallas, &again), encoded(&Pallas, &whole), "{strategy:?} {length} {degree}");
            let expected: Vec<_> = roots.iter().map(|root| value(&Pallas, &polynomial, root)).collect();
            let expected = encoded(&Pallas, &expected);
            assert_eq!(encoded(&Pallas, &evaluate(&module, strategy, &polynomial, &roots)), expected);
            for size in [1, 7, 16, 1000] {
                let found = evaluate_in_groups(&module, strategy, &polynomial, &roots, size);
                assert_eq!(encoded(&Pallas, &found), expected, "{strategy:?} {length} {degree} {size}");
            }
        }
    }
}

/// The choice where one is far ahead, as measured; between, it is for `polynomials` to judge.
#[test]
fn the_strategy_with_the_least_work_is_chosen() {
    let (with_roots, without) = (Points(&Pallas), Points(&Ristretto255));
    for (count, expected) in [
        (1, MultiplyStrategy::Schoolbook),
        (8, MultiplyStrategy::Schoolbook),
        (48, MultiplyStrategy::Toom3),
        (512, MultiplyStrategy::Fft),
    ] {
        assert_eq!(MultiplyStrategy::fastest(&with_roots, count, count), expected, "{count}");
    }
    for count in [128, 512, 1 << 20] {
        assert_eq!(MultiplyStrategy::fastest(&without, count, count), MultiplyStrategy::Toom3, "{count}");
    }
    for count in [64, 512] {
        assert_eq!(
            MultiplyStrategy::fastest(&Scalars(&Ristretto255), count, count),
            MultiplyStrategy::Karatsuba,
            "{count}"
        );
    }
    for (first, second) in [(0, 0), (0, 9), (1, 1000), (1000, 1)] {
        assert!(MultiplyStrategy::fastest(&with_roots, first, second).can(&Pallas, first + second));
    }
}

#[test]
fn transforms_need_roots_of_unity() {
    assert!(MultiplyStrategy::Fft.can(&Pallas, 1 << 20) && !MultiplyStrategy::Fft.can(&Ristretto255, 5));
    assert!(MultiplyStrategy::Fft.can(&Ristretto255, 4) && !MultiplyStrategy::Fft.can(&P384::new(), 3));
    assert!(MultiplyStrategy::Toom3.can(&Ristretto255, 1 << 20));
}

/// Polynomials with encrypted coefficients are multiplied, divided and evaluated as what they hold.
#[test]
fn encrypted_polynomials() {
    let (group, rng) = (&Pallas, &mut rng(3));
    let key = ElGamalSecretKey::generate(group, rng);
    let public = key.public(group);
    let roots = group.random_scalars(12, rng);
    let polynomial = expand(group, MultiplyStrategy::Karatsuba, &roots);
    let encrypted = public.encrypt(group, &polynomial, rng);
    let factor = group.random_scalars(20, rng);
    let module = EncryptedModule(group);
    for strategy in MultiplyStrategy::ALL {
        let product = multiply(&module, strategy, &factor, &encrypted);
        let plain = multiply(&Scalars(group), strategy, &factor, &polynomial);
        assert_eq!(group.encode(&key.decrypt(group, &product)), group.encode(&group.multiply_generator(&plain)));
        let values = evaluate(&module, strategy, &product, &roots);
        assert!(key.are_zero(group, &values).into_iter().all(|zero| zero), "{strategy:?}");
        let (_, remainder) = divide(&module, strategy, &product, &polynomial);
        assert!(key.are_zero(group, &remainder).into_iter().all(|zero| zero), "{strategy:?}");
        let others = evaluate(&module, strategy, &encrypted, &factor);
        assert!(key.are_zero(group, &others).into_iter().all(|zero| !zero));
    }
}

/// Sums, differences, products and sums of products of ciphertexts are those of what they hold.
fn ciphertexts<G: Group + Sync>(group: &G) {
    let rng = &mut rng(1);
    let key = ElGamalSecretKey::generate(group, rng);
    let public = key.public(group);
    let random = group.random_scalars(5, rng);
    let plain: Vec<_> = [0, 1, 7, u64::MAX].map(|integer| group.scalar(integer)).into_iter().chain(random).collect();
    let opened = |ciphertexts: &[Ciphertext<G>]| group.encode(&key.decrypt(group, ciphertexts));
    let expected = |scalars: &[G::Scalar]| group.encode(&group.multiply_generator(scalars));
    let (module, field) = (EncryptedModule(group), Scalars(group));
    let encrypted = public.encrypt(group, &plain, rng);
    let others = group.random_scalars(plain.len(), rng);
    let both = public.encrypt(group, &others, rng);
    assert_eq!(opened(&module.add(&encrypted, &both)), expected(&field.add(&plain, &others)));
    assert_eq!(opened(&module.subtract(&encrypted, &both)), expected(&field.subtract(&plain, &others)));
    assert_eq!(opened(&module.multiply_each(&encrypted, &others)), expected(&field.multiply_each(&plain, &others)));
    assert_eq!(opened(&[module.combine(&encrypted, &others)]), expected(&[field.combine(&plain, &others)]));
    assert_eq!(opened(&[module.zero()]), expected(&[group.scalar(0)]));
}

#[test]
fn ciphertexts_are_a_module() {
    ciphertexts(&Ristretto255);
    ciphertexts(&P384::new());
    ciphertexts(&Pallas);
}
