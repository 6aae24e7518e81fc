//! Agreement with curve25519-dalek, one point after the other; whichever form the process has.

use super::*;
use chacha20::ChaCha20Rng;
use curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT;
use curve25519_dalek::traits::Identity;
use rand_core::SeedableRng;

/// A point of curve25519-dalek's.
fn own(point: RistrettoPoint) -> Point {
    let encoding = point.compress().to_bytes();
    if encoding == [0; 32] { Point::identity() } else { Ristretto255.decode(&encoding).unwrap().swap_remove(0) }
}

/// Computes [`Group::multiply_encode`] by its definition: the oracle for the fast way.
fn multiply_encode_reference(points: &[Point], scalars: &[DalekScalar]) -> Vec<u8> {
    points.iter().zip(scalars).flat_map(|(point, scalar)| (point.to_library() * scalar).compress().to_bytes()).collect()
}

fn check(points: &[Point], scalars: Vec<DalekScalar>) {
    for scalar in &scalars {
        let fast = Ristretto255.multiply_encode(points, &Scalar(*scalar));
        assert_eq!(fast, multiply_encode_reference(points, &vec![*scalar; points.len()]));
    }
    let each: Vec<_> = scalars.iter().copied().cycle().take(points.len()).collect();
    let wrapped: Vec<_> = each.iter().map(|scalar| Scalar(*scalar)).collect();
    assert_eq!(Ristretto255.multiply_each_encode(points, &wrapped), multiply_encode_reference(points, &each));
}

fn scalars(rng: &mut ChaCha20Rng) -> Vec<DalekScalar> {
    let one = DalekScalar::ONE;
    vec![DalekScalar::ZERO, one, -one, one + one, one.div_by_2(), DalekScalar::random(rng)]
}

#[test]
fn fast_encoding_agrees_on_edge_cases() {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let generator = RISTRETTO_BASEPOINT_POINT;
    let random = RistrettoPoint::random(&mut rng);
    let edge = [generator, RistrettoPoint::identity(), -generator, random, RistrettoPoint::identity()];
    for length in 0..=edge.len() {
        let points: Vec<_> = edge[..length].iter().map(|point| own(*point)).collect();
        check(&points, scalars(&mut rng));
    }
    check(&[Point::identity()], scalars(&mut rng));
}

/// Four representatives stand for each element (RFC 9496, section 4): the fast way must not tell them apart.
#[test]
fn fast_encoding_agrees_on_the_identity_of_inverses() {
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let point = RistrettoPoint::random(&mut rng);
    let order_minus_one = -DalekScalar::ONE;
    let identity = point + point * order_minus_one;
    check(&[own(point).combined(Sign::Minus, &own(point)), own(identity), own(point)], scalars(&mut rng));
}

#[test]
fn fast_encoding_agrees_across_batches() {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    for length in [1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH + 3] {
        let points: Vec<_> = (0..length).map(|_| own(RistrettoPoint::random(&mut rng))).collect();
        check(&points, vec![DalekScalar::random(&mut rng)]);
    }
}

#[test]
fn decoding_inverts_encoding_and_names_the_culprit() {
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let points = Ristretto255.multiply_generator(&Ristretto255.random_scalars(5, &mut rng));
    let mut bytes = Ristretto255.encode(&points);
    let decoded = Ristretto255.decode(&bytes).unwrap();
    assert!(decoded.iter().zip(&points).all(|(one, other)| one.to_library() == other.to_library()));
    assert_eq!(Ristretto255.decode(&bytes[1..]).unwrap_err(), DecodeError::Length);
    bytes[64..96].fill(0);
    assert_eq!(Ristretto255.decode(&bytes).unwrap_err(), DecodeError::Identity(2));
    bytes[64..96].fill(0xff);
    assert_eq!(Ristretto255.decode(&bytes).unwrap_err(), DecodeError::NotAPoint(2));
    assert!(Ristretto255.decode(&[]).unwrap().is_empty());
}

#[test]
fn scalars_invert_and_survive_their_encoding() {
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let scalars = Ristretto255.random_scalars(3, &mut rng);
    for (scalar, inverse) in scalars.iter().zip(Ristretto255.invert(&scalars)) {
        assert_eq!(scalar.0 * inverse.0, DalekScalar::ONE);
        let decoded = Ristretto255.decode_scalar(&Ristretto255.encode_scalar(scalar)).unwrap();
        assert_eq!(decoded.0, scalar.0);
    }
    assert!(Ristretto255.invert(&[]).is_empty());
    assert!(Ristretto255.decode_scalar(&[0; 32]).is_none());
    assert!(Ristretto255.decode_scalar(&[0xff; 32]).is_none());
    assert!(Ristretto255.decode_scalar(&[1; 31]).is_none());
}

#[test]
fn multiplying_agrees_with_its_definition() {
    let mut rng = ChaCha20Rng::from_seed([6; 32]);
    let scalars = Ristretto255.random_scalars(4, &mut rng);
    let points = Ristretto255.multiply_generator(&scalars);
    for (point, scalar) in points.iter().zip(&scalars) {
        assert_eq!(point.to_library(), RISTRETTO_BASEPOINT_POINT * scalar.0);
    }
    let products = Ristretto255.multiply(&points, &scalars[0]);
    assert!(
        products.iter().zip(&points).all(|(product, point)| product.to_library() == point.to_library() * scalars[0].0)
    );
    assert!(!Ristretto255.any_identity(&points));
    assert!(Ristretto255.any_identity(&[Point::identity()]));
}

#[test]
fn sums_differences_and_doubles_agree_with_their_definitions() {
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let (points, others) = (Ristretto255.random_points(3, &mut rng), Ristretto255.random_points(3, &mut rng));
    let (sums, differences) = (Ristretto255.add(&points, &others), Ristretto255.subtract(&points, &others));
    let scalars = Ristretto255.random_scalars(3, &mut rng);
    let products = Ristretto255.multiply_one(&points[0], &scalars);
    let [given, added, sums, differences, products] = [&points, &others, &sums, &differences, &products]
        .map(|points| points.iter().map(Point::to_library).collect::<Vec<_>>());
    for index in 0..3 {
        assert_eq!(sums[index], given[index] + added[index]);
        assert_eq!(differences[index], given[index] - added[index]);
        assert_eq!(products[index], given[0] * scalars[index].0);
        assert!(given[index] != added[index] && given[index] != given[(index + 1) % 3]);
    }
    assert_eq!(Ristretto255.double_encode(&points), Ristretto255.encode(&Ristretto255.add(&points, &points)));
    let identity = [Point::identity()];
    assert_eq!(Ristretto255.double_encode(&identity), [0; 32]);
}

/// Checks that a wiped point is the identity, in either form, and adds nothing.
#[test]
fn a_wiped_point_is_the_identity() {
    let point = own(RISTRETTO_BASEPOINT_POINT);
    let mut wiped = point.clone();
    wiped.zeroize();
    assert!(Ristretto255.any_identity(std::slice::from_ref(&wiped)));
    assert!(point.combined(Sign::Plus, &wiped).to_library() == point.to_library());
}

#[test]
fn secrets_are_not_printed() {
    let scalar = Scalar(DalekScalar::from(77u8));
    assert_eq!(format!("{scalar:?} {:?}", own(RISTRETTO_BASEPOINT_POINT)), "Scalar(..) Point(..)");
}

/// A point that is multiplied often, by its table; and sums of products of more points than share their doublings.
#[test]
fn tables_and_sums_of_products_agree_with_their_definitions() {
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    let worth = form().worth_multiples();
    for count in [0, 1, worth - 1, worth, COMBINED + 1, 3 * COMBINED, 9 * COMBINED + 5] {
        let points = Ristretto255.random_points(count, &mut rng);
        let scalars = Ristretto255.random_scalars(count, &mut rng);
        let base = own(RistrettoPoint::random(&mut rng));
        let products: Vec<_> = scalars.iter().map(|scalar| base.to_library() * scalar.0).collect();
        for own in [
            Ristretto255.multiply_one(&base, &scalars),
            Ristretto255.multiply_base(&Ristretto255.base(&base), &scalars),
        ] {
            assert!(own.iter().map(Point::to_library).eq(products.iter().copied()));
        }
        let sum: RistrettoPoint =
            points.iter().zip(&scalars).map(|(point, scalar)| point.to_library() * scalar.0).sum();
        assert_eq!(Ristretto255.combine(&points, &scalars).to_library(), sum);
        assert_eq!(Ristretto255.combine_public(&points, &scalars).to_library(), sum);
        // Every other one is short.
        let mixed = scalars.iter().enumerate().map(|(index, scalar)| {
            let mut bytes = scalar.0.to_bytes();
            bytes[16..].iter_mut().for_each(|byte| *byte *= (index % 2) as u8);
            Scalar(DalekScalar::from_bytes_mod_order(bytes))
        });
        let mixed: Vec<_> = mixed.collect();
        let sum: RistrettoPoint = points.iter().zip(&mixed).map(|(point, scalar)| point.to_library() * scalar.0).sum();
        assert_eq!(Ristretto255.combine_public(&points, &mixed).to_library(), sum);
    }
}
