//! Tests of the laws that hold in every group and its field of scalars, by the operations' own definitions.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::security::Level;
use crypto_bigint::BoxedUint;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// The encodings of points; the identity's, which cannot be decoded, are zeros.
fn encodings<G: Group>(group: &G, points: &[G::Point]) -> Vec<Vec<u8>> {
    group.encode(points).chunks(group.point_bytes()).map(<[u8]>::to_vec).collect()
}

/// `integer * point` by additions.
fn added<G: Group>(group: &G, point: &G::Point, integer: usize) -> G::Point {
    let point = std::slice::from_ref(point);
    let mut sum = group.subtract(point, point);
    (0..integer).for_each(|_| sum = group.add(&sum, point));
    sum.remove(0)
}

/// The laws of a field, on random scalars and small ones. Its order is that of `root_of_unity`'s largest, 2^`adicity`,
/// times an odd number, plus 1.
fn field(field: &impl ScalarField, adicity: u32) {
    let encode = |scalar: &_| field.encode_scalar(scalar).to_vec();
    let [zero, one] = [0, 1].map(|integer| field.scalar(integer));
    let minus_one = field.minus(&zero, &one);
    assert!(field.is_zero(&zero) && !field.is_zero(&one) && field.is_zero(&field.plus(&minus_one, &one)));
    assert_eq!(encode(&field.times(&minus_one, &minus_one)), encode(&one));
    assert_eq!(
        encode(&field.plus(&field.scalar(u64::MAX), &one)),
        encode(&field.times(&field.scalar(1 << 63), &field.scalar(2)))
    );
    let random = field.random_scalars(9, &mut rng(1));
    for triple in random.chunks(3) {
        let [a, b, c] = triple else { unreachable!("nine are three times three") };
        let left = field.times(&field.plus(a, b), c);
        let right = field.plus(&field.times(a, c), &field.times(b, c));
        assert_eq!(encode(&left), encode(&right));
        assert_eq!(encode(&field.plus(&field.minus(a, b), b)), encode(a));
    }
    for (scalar, inverse) in random.iter().zip(field.invert(&random)) {
        assert_eq!(encode(&field.times(scalar, &inverse)), encode(&one));
        assert_eq!(encode(&field.decode_scalar(&encode(scalar)).unwrap()), encode(scalar));
    }
    assert!(field.invert(&[]).is_empty() && field.random_scalars(0, &mut rng(1)).is_empty());
    // Zero, what is not reduced, and what is too long or short.
    let bytes = field.scalar_bytes();
    for wrong in [vec![0; bytes], vec![0xff; bytes], vec![1; bytes - 1], vec![1; bytes + 1], vec![]] {
        assert!(field.decode_scalar(&wrong).is_none());
    }
    let hashed = |message: &[u8], tag: &[u8]| encode(&field.hash_to_scalar(message, tag).unwrap());
    assert_eq!(hashed(b"a", b"t"), hashed(b"a", b"t"));
    assert!(hashed(b"a", b"t") != hashed(b"b", b"t") && hashed(b"a", b"t") != hashed(b"a", b"u"));
    // A root of order 2^k has a square of order 2^(k-1), down to -1 and 1.
    assert!(field.root_of_unity(adicity + 1).is_none());
    for log2 in (1..=adicity).rev() {
        let root = field.root_of_unity(log2).unwrap();
        assert_eq!(encode(&field.times(&root, &root)), encode(&field.root_of_unity(log2 - 1).unwrap()));
    }
    assert_eq!(encode(&field.root_of_unity(0).unwrap()), encode(&one));
    if adicity > 0 {
        assert_eq!(encode(&field.root_of_unity(1).unwrap()), encode(&minus_one));
    }
}

/// Numbers of points around those that share work.
const COUNTS: [usize; 7] = [0, 1, 2, 63, 64, 65, 131];

/// Every operation on so many points beside its definition.
fn points<G: Group>(group: &G, counts: &[usize]) {
    let one = std::slice::from_ref;
    for &count in counts {
        let scalars = group.random_scalars(count, &mut rng(2));
        let points = group.random_points(count, &mut rng(3));
        let each: Vec<_> = (0..count).map(|at| group.multiply(one(&points[at]), &scalars[at]).remove(0)).collect();
        assert_eq!(group.multiply_each_encode(&points, &scalars), group.encode(&each));
        assert_eq!(group.encode(&group.multiply_each(&points, &scalars)), group.encode(&each));
        let mut sum = group.combine(&[], &[]);
        each.iter().for_each(|product| sum = group.add(one(&sum), one(product)).remove(0));
        let combined = group.combine(&points, &scalars);
        assert_eq!(encodings(group, one(&combined)), encodings(group, one(&sum)), "{count}");
        let combined = group.combine_public(&points, &scalars);
        assert_eq!(encodings(group, one(&combined)), encodings(group, one(&sum)), "{count}");
        if let [scalar, ..] = &scalars[..] {
            assert_eq!(group.multiply_encode(&points, scalar), group.encode(&group.multiply(&points, scalar)));
            let of_one = group.multiply_one(&points[0], &scalars);
            assert_eq!(group.encode(&group.multiply_base(&group.base(&points[0]), &scalars)), group.encode(&of_one));
            let repeated: Vec<_> = scalars.iter().map(|_| points[0].clone()).collect();
            assert_eq!(group.encode(&of_one), group.multiply_each_encode(&repeated, &scalars));
            let generator = group.multiply_generator(&[group.scalar(1)]).remove(0);
            let multiples = group.multiply_generator(&scalars);
            assert_eq!(group.encode(&multiples), group.encode(&group.multiply_one(&generator, &scalars)));
        }
        assert_eq!(group.double_encode(&points), group.encode(&group.add(&points, &points)));
        let negative = group.subtract(&group.subtract(&points, &points), &points);
        assert_eq!(group.encode(&group.add(&negative, &points)), vec![0; count * group.point_bytes()]);
        let encoded = group.encode(&points);
        assert_eq!(group.encode(&group.decode(&encoded).unwrap()), encoded);
        assert!(!group.any_identity(&points));
    }
}

/// Small multiples, and those around the order, of a point and of the identity.
fn edges<G: Group>(group: &G) {
    let point = group.random_points(1, &mut rng(4));
    let identity = group.subtract(&point, &point);
    assert!(group.any_identity(&identity));
    let minus_one = group.minus(&group.scalar(0), &group.scalar(1));
    for integer in [0, 1, 2, 3, 15, 16, 17, 33] {
        let scalar = group.scalar(integer as u64);
        let expected = encodings(group, &[added(group, &point[0], integer)]);
        assert_eq!(encodings(group, &group.multiply(&point, &scalar)), expected, "{integer}");
        assert_eq!(encodings(group, &[group.combine(&point, std::slice::from_ref(&scalar))]), expected);
        assert!(group.any_identity(&group.multiply(&identity, &scalar)));
        // -1 times that, and back.
        let negative = group.multiply(&group.multiply(&point, &scalar), &minus_one);
        assert_eq!(encodings(group, &group.multiply(&negative, &minus_one)), expected);
    }
    // Equal points, opposite ones and the identity in one sum.
    let both = [point.clone(), point.clone(), identity.clone(), group.multiply(&point, &minus_one)].concat();
    let ones: Vec<_> = both.iter().map(|_| group.scalar(1)).collect();
    assert_eq!(encodings(group, &[group.combine(&both, &ones)]), encodings(group, &point));
    assert_eq!(group.double_encode(&identity), vec![0; group.point_bytes()]);
}

/// Checks that encodings that no party may send are refused, wherever they stand.
fn decoding<G: Group>(group: &G) {
    let bytes = group.point_bytes();
    let points = group.random_points(3, &mut rng(5));
    let good = group.encode(&points);
    assert_eq!(group.decode(&good[1..]).map(drop), Err(DecodeError::Length));
    assert!(group.decode(&[]).unwrap().is_empty());
    for at in 0..3 {
        let with = |encoding: Vec<u8>| {
            group.decode(&[&good[..at * bytes], &encoding, &good[(at + 1) * bytes..]].concat()).map(drop)
        };
        assert_eq!(with(vec![0; bytes]), Err(DecodeError::Identity(at)));
        assert_eq!(with(vec![0xff; bytes]), Err(DecodeError::NotAPoint(at)));
    }
    // A bit flipped is either refused or another point, which then encodes to just these bytes.
    for bit in 0..8 * bytes {
        let mut flipped = good[..bytes].to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok(points) = group.decode(&flipped) {
            assert_eq!(group.encode(&points), flipped);
        }
    }
}

pub(crate) fn all<G: Group>(group: &G, adicity: u32) {
    laws(group, adicity, &COUNTS);
}

fn laws<G: Group>(group: &G, adicity: u32, counts: &[usize]) {
    field(group, adicity);
    points(group, counts);
    edges(group);
    decoding(group);
}

#[test]
fn ristretto255() {
    all(&Ristretto255, 2);
}

#[test]
fn p384() {
    laws(&P384::new(), 1, &[0, 1, 2, 65]);
}

#[test]
fn p521() {
    laws(&P521::new(), 3, &[0, 1, 2, 65]);
}

#[test]
#[ignore = "slow: more points of large curves"]
fn many_points_of_large_curves() {
    points(&P384::new(), &COUNTS[3..]);
    points(&P521::new(), &COUNTS[3..]);
}

/// Checks a group whose order is not of the form 2^k + 1, and the squares modulo a safe prime, with roots of unity.
#[test]
fn modulo_primes() {
    let level = ModP::of(Level::Paper80);
    let adicity = (0..).find(|log2| level.root_of_unity(log2 + 1).is_none()).unwrap();
    laws(&level, adicity, &[0, 1, 2, 65]);
    let (p, q) = safe_prime(512, 20, &mut rng(6)).unwrap();
    let squares = ModP::new(&p, &q, &BoxedUint::from(4u64)).unwrap();
    let adicity = (0..).find(|log2| squares.root_of_unity(log2 + 1).is_none()).unwrap();
    assert!(adicity >= 20);
    all(&squares, adicity);
}
