//! Beside the library's own arithmetic, and published values.

use super::*;
use crate::primitive::group::laws;
use chacha20::ChaCha20Rng;
use pasta_curves::arithmetic::CurveAffine;
use rand_core::SeedableRng;

fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    bytes.into_iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Encodes points with the library, one by one.
fn plain(points: &[pallas::Point]) -> Vec<u8> {
    points.iter().flat_map(|point| point.to_affine().to_bytes()).collect()
}

#[test]
fn multiplying_agrees_with_the_library() {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let edges = [0, 1, 15, 16, u64::MAX].map(pallas::Scalar::from);
    let scalars: Vec<_> = edges.into_iter().flat_map(|edge| [edge, -edge]).collect();
    let library: Vec<_> = (0..scalars.len()).map(|_| pallas::Point::random(&mut rng)).collect();
    let points: Vec<_> = library.iter().map(|point| Point(point.to_affine().into())).collect();
    assert_eq!(Pallas.encode(&points), plain(&library));
    let products: Vec<_> = library.iter().zip(&scalars).map(|(point, scalar)| point * scalar).collect();
    let wrapped: Vec<_> = scalars.iter().copied().map(Scalar).collect();
    assert_eq!(Pallas.multiply_each_encode(&points, &wrapped), plain(&products));
    let sum: pallas::Point = products.iter().sum();
    assert_eq!(Pallas.encode(&[Pallas.combine(&points, &wrapped)]), plain(&[sum]));
    let generator = pallas::Point::generator();
    let multiples: Vec<_> = scalars.iter().map(|scalar| generator * scalar).collect();
    assert_eq!(Pallas.encode(&Pallas.multiply_generator(&wrapped)), plain(&multiples));
}

/// The generator is (-1, 2); the library's published example of a hash.
#[test]
fn published_values() {
    let one = [Scalar(pallas::Scalar::ONE)];
    let minus_one = -pallas::Base::ONE;
    assert_eq!(Pallas.encode(&Pallas.multiply_generator(&one)), minus_one.to_repr());
    let hashed = Pallas.hash_to_points(&[b"Trans rights now!"], b"z.cash:test");
    // x and z of its Jacobian coordinates.
    let [x, z] = [
        "36a6e3a9c50b7b6540cb002c977c82f37f8a875fb51eb35327ee1452e6ce7947",
        "1d48103df8fcbb70d1809c1806c95651dd884a559fec0549658537ce9d94bed9",
    ];
    let own = Pallas.encode(&hashed);
    let affine = pallas::Affine::from_bytes(&own.try_into().unwrap()).unwrap();
    let read = |text: &str| {
        let bytes: Vec<u8> = (0..32).map(|at| u8::from_str_radix(&text[2 * at..][..2], 16).unwrap()).rev().collect();
        pallas::Base::from_repr(bytes.try_into().unwrap()).unwrap()
    };
    assert_eq!(*affine.coordinates().unwrap().x() * read(z).square(), read(x));
}

#[test]
fn other_encodings_are_refused() {
    let refused = |bytes: [u8; 32]| Pallas.decode(&bytes).map(drop);
    // The modulus of the field, and more; the identity with a sign.
    let modulus = (-pallas::Base::ONE).to_repr();
    let mut beyond = modulus;
    beyond[0] += 1;
    assert_eq!(hex(beyond.into_iter().rev()), "40000000000000000000000000000000224698fc094cf91b992d30ed00000001");
    assert_eq!(refused(beyond), Err(DecodeError::NotAPoint(0)));
    assert_eq!(refused(std::array::from_fn(|at| if at == 31 { 0x80 } else { 0 })), Err(DecodeError::NotAPoint(0)));
    // A coordinate that no point has, in either sign.
    let none = (1..).map(pallas::Base::from).find(|x| bool::from((x.cube() + pallas::Base::from(5)).sqrt().is_none()));
    let mut encoding = none.unwrap().to_repr();
    assert_eq!(refused(encoding), Err(DecodeError::NotAPoint(0)));
    encoding[31] |= 0x80;
    assert_eq!(refused(encoding), Err(DecodeError::NotAPoint(0)));
}

#[test]
fn secrets_are_not_printed() {
    let scalar = Scalar(pallas::Scalar::from(77));
    assert_eq!(format!("{scalar:?} {:?}", Point(Projective::IDENTITY)), "Scalar(..) Point(..)");
}

#[test]
fn laws_of_groups() {
    laws::all(&Pallas, 32);
}
