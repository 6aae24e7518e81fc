//! The ristretto255 group (RFC 9496) on curve25519-dalek.

use std::fmt;
use std::sync::Arc;

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoBasepointTable, RistrettoPoint};
use curve25519_dalek::scalar::Scalar as DalekScalar;
use curve25519_dalek::traits::{IsIdentity, MultiscalarMul, VartimeMultiscalarMul};
use rand_core::CryptoRng;
use rayon::prelude::*;
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{DecodeError, Embedding, Group, ScalarField, expand_message_xmd};

/// Points that share one field inversion when they are encoded, and one step of work for a processor.
const BATCH: usize = 256;

/// Points that share the doublings of a sum of products: with more of them, their tables leave the cache.
const COMBINED: usize = 128;

/// The same for those whose time may tell of them, which fall into buckets (Pippenger): the more, the faster.
const COMBINED_PUBLIC: usize = 8192;

/// Length of an encoded point, and of an encoded scalar.
const ENCODED_BYTES: usize = 32;

/// A scalar whose square is -1: 2^((q - 1) / 4).
const FOURTH_ROOT: [u8; 32] = [
    0x19, 0xcc, 0x37, 0x71, 0x3a, 0xed, 0x8a, 0x99, 0xd7, 0x18, 0x29, 0x60, 0x8b, 0xa3, 0xee, 0x05, 0x86, 0x3d, 0x3e,
    0x54, 0x9f, 0x92, 0xc2, 0x82, 0x18, 0x7e, 0x86, 0x1f, 0xef, 0x8c, 0xb5, 0x06,
];

/// The group ristretto255: 128-bit security, encodings of 32 bytes, no cofactor.
#[derive(Debug, Clone, Copy)]
pub struct Ristretto255;

/// An integer modulo the group's order.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Scalar(DalekScalar);

/// An element of the group.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Point(pub(in crate::primitive) RistrettoPoint);

/// The multiples of a point that its products are sums of.
#[derive(Clone)]
pub struct Base(Arc<RistrettoBasepointTable>);

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Base(..)")
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

impl fmt::Debug for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Point(..)")
    }
}

impl Ristretto255 {
    /// Length of an encoded point in bytes.
    pub const POINT_BYTES: usize = ENCODED_BYTES;

    /// Length of an encoded scalar in bytes.
    pub const SCALAR_BYTES: usize = ENCODED_BYTES;
}

impl ScalarField for Ristretto255 {
    type Scalar = Scalar;

    fn scalar_bytes(&self) -> usize {
        Self::SCALAR_BYTES
    }

    fn scalar(&self, integer: u64) -> Scalar {
        Scalar(DalekScalar::from(integer))
    }

    fn random_scalars(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Scalar> {
        let mut nonzero = || {
            loop {
                let scalar = DalekScalar::random(rng);
                if scalar != DalekScalar::ZERO {
                    return Scalar(scalar);
                }
            }
        };
        (0..count).map(|_| nonzero()).collect()
    }

    fn hash_to_scalar(&self, message: &[u8], tag: &[u8]) -> Option<Scalar> {
        let mut wide = Zeroizing::new([0; 64]);
        expand_message_xmd(message, tag, &mut *wide);
        nonzero(DalekScalar::from_bytes_mod_order_wide(&wide))
    }

    fn plus(&self, a: &Scalar, b: &Scalar) -> Scalar {
        Scalar(a.0 + b.0)
    }

    fn minus(&self, a: &Scalar, b: &Scalar) -> Scalar {
        Scalar(a.0 - b.0)
    }

    fn times(&self, a: &Scalar, b: &Scalar) -> Scalar {
        Scalar(a.0 * b.0)
    }

    fn is_zero(&self, scalar: &Scalar) -> bool {
        scalar.0 == DalekScalar::ZERO
    }

    fn invert(&self, scalars: &[Scalar]) -> Vec<Scalar> {
        let mut inverses = Zeroizing::new(scalars.iter().map(|scalar| scalar.0).collect::<Vec<_>>());
        DalekScalar::invert_batch_alloc(&mut inverses);
        inverses.iter().map(|inverse| Scalar(*inverse)).collect()
    }

    /// q - 1 is 4 times an odd number.
    fn root_of_unity(&self, log2: u32) -> Option<Scalar> {
        let fourth = || DalekScalar::from_canonical_bytes(FOURTH_ROOT).expect("it is below the order");
        match log2 {
            0 => Some(Scalar(DalekScalar::ONE)),
            1 => Some(Scalar(-DalekScalar::ONE)),
            2 => Some(Scalar(fourth())),
            _ => None,
        }
    }

    fn encode_scalar(&self, scalar: &Scalar) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(scalar.0.as_bytes().to_vec())
    }

    fn decode_scalar(&self, bytes: &[u8]) -> Option<Scalar> {
        let bytes = Zeroizing::new(<[u8; ENCODED_BYTES]>::try_from(bytes).ok()?);
        nonzero(Option::from(DalekScalar::from_canonical_bytes(*bytes))?)
    }
}

impl Group for Ristretto255 {
    type Point = Point;
    type Base = Base;

    fn point_bytes(&self) -> usize {
        Self::POINT_BYTES
    }

    fn hash_to_points<M: AsRef<[u8]> + Sync>(&self, messages: &[M], tag: &[u8]) -> Vec<Point> {
        let hash = |message: &M| {
            let mut wide = Zeroizing::new([0; 64]);
            expand_message_xmd(message.as_ref(), tag, &mut *wide);
            Point(RistrettoPoint::from_uniform_bytes(&wide))
        };
        messages.par_iter().with_min_len(BATCH).map(hash).collect()
    }

    fn random_points(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Point> {
        let mut wide = Zeroizing::new([0; 64]);
        let mut point = || {
            rng.fill_bytes(&mut *wide);
            Point(RistrettoPoint::from_uniform_bytes(&wide))
        };
        (0..count).map(|_| point()).collect()
    }

    fn add(&self, points: &[Point], others: &[Point]) -> Vec<Point> {
        assert_eq!(points.len(), others.len(), "every point has one to be added");
        points.iter().zip(others).map(|(point, other)| Point(point.0 + other.0)).collect()
    }

    fn subtract(&self, points: &[Point], others: &[Point]) -> Vec<Point> {
        assert_eq!(points.len(), others.len(), "every point has one to be subtracted");
        points.iter().zip(others).map(|(point, other)| Point(point.0 - other.0)).collect()
    }

    fn any_identity(&self, points: &[Point]) -> bool {
        points.iter().any(|point| point.0.is_identity())
    }

    fn multiply(&self, points: &[Point], scalar: &Scalar) -> Vec<Point> {
        points.par_iter().with_min_len(BATCH).map(|point| Point(point.0 * scalar.0)).collect()
    }

    fn multiply_generator(&self, scalars: &[Scalar]) -> Vec<Point> {
        scalars.par_iter().with_min_len(BATCH).map(|scalar| Point(RistrettoPoint::mul_base(&scalar.0))).collect()
    }

    fn multiply_encode(&self, points: &[Point], scalar: &Scalar) -> Vec<u8> {
        let half = Zeroizing::new(scalar.0.div_by_2());
        let mut encoded = vec![0; points.len() * ENCODED_BYTES];
        encoded.par_chunks_mut(BATCH * ENCODED_BYTES).zip(points.par_chunks(BATCH)).for_each(|(encoded, points)| {
            encode_doubles(points.iter().map(|point| Point(point.0 * *half)), encoded);
        });
        encoded
    }

    fn multiply_each_encode(&self, points: &[Point], scalars: &[Scalar]) -> Vec<u8> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        let mut encoded = vec![0; points.len() * ENCODED_BYTES];
        encoded
            .par_chunks_mut(BATCH * ENCODED_BYTES)
            .zip(points.par_chunks(BATCH).zip(scalars.par_chunks(BATCH)))
            .for_each(|(encoded, (points, scalars))| {
                let half = |(point, scalar): (&Point, &Scalar)| Point(point.0 * *Zeroizing::new(scalar.0.div_by_2()));
                encode_doubles(points.iter().zip(scalars).map(half), encoded);
            });
        encoded
    }

    fn multiply_each(&self, points: &[Point], scalars: &[Scalar]) -> Vec<Point> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        let pairs = points.par_iter().zip(scalars).with_min_len(BATCH);
        pairs.map(|(point, scalar)| Point(point.0 * scalar.0)).collect()
    }

    fn multiply_one(&self, point: &Point, scalars: &[Scalar]) -> Vec<Point> {
        scalars.par_iter().with_min_len(BATCH).map(|scalar| Point(point.0 * scalar.0)).collect()
    }

    fn base(&self, point: &Point) -> Base {
        Base(Arc::new(RistrettoBasepointTable::create(&point.0)))
    }

    fn multiply_base(&self, base: &Base, scalars: &[Scalar]) -> Vec<Point> {
        scalars.par_iter().with_min_len(BATCH).map(|scalar| Point(&*base.0 * &scalar.0)).collect()
    }

    fn combine(&self, points: &[Point], scalars: &[Scalar]) -> Point {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        let part = |(points, scalars): (&[Point], &[Scalar])| {
            RistrettoPoint::multiscalar_mul(scalars.iter().map(|s| s.0), points.iter().map(|point| point.0))
        };
        Point(points.par_chunks(COMBINED).zip(scalars.par_chunks(COMBINED)).map(part).sum())
    }

    fn combine_public(&self, points: &[Point], scalars: &[Scalar]) -> Point {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        let part = |(points, scalars): (&[Point], &[Scalar])| {
            RistrettoPoint::vartime_multiscalar_mul(scalars.iter().map(|s| s.0), points.iter().map(|point| point.0))
        };
        Point(points.par_chunks(COMBINED_PUBLIC).zip(scalars.par_chunks(COMBINED_PUBLIC)).map(part).sum())
    }

    fn double_encode(&self, points: &[Point]) -> Vec<u8> {
        let mut encoded = vec![0; points.len() * ENCODED_BYTES];
        encoded.par_chunks_mut(BATCH * ENCODED_BYTES).zip(points.par_chunks(BATCH)).for_each(|(encoded, points)| {
            encode_doubles(points.iter().map(|point| Point(point.0)), encoded);
        });
        encoded
    }

    fn encode(&self, points: &[Point]) -> Vec<u8> {
        let mut encoded = vec![0; points.len() * ENCODED_BYTES];
        encoded.par_chunks_mut(ENCODED_BYTES).zip(points.par_iter()).with_min_len(BATCH).for_each(|(bytes, point)| {
            bytes.copy_from_slice(point.0.compress().as_bytes());
        });
        encoded
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<Point>, DecodeError> {
        if !bytes.len().is_multiple_of(ENCODED_BYTES) {
            return Err(DecodeError::Length);
        }
        let decode = |(index, bytes): (usize, &[u8])| {
            let encoding = CompressedRistretto::from_slice(bytes).map_err(|_| DecodeError::Length)?;
            let point = encoding.decompress().ok_or(DecodeError::NotAPoint(index))?;
            // Zero bytes are the identity's only canonical encoding.
            match bytes.iter().all(|&byte| byte == 0) {
                true => Err(DecodeError::Identity(index)),
                false => Ok(Point(point)),
            }
        };
        bytes.par_chunks(ENCODED_BYTES).enumerate().with_min_len(BATCH).map(decode).collect()
    }
}

/// The encoding Lizard (Westerbaan, 2018), with SHA-256: 16 bytes among 253 bits of a field element, the others taken from their hash, and
/// then the map of RFC 9496 to a point. Of the at most 8 field elements that a point may come from one has the right hash, but for
/// a chance of 2^-122.
impl Embedding for Ristretto255 {
    const EMBEDDED_BYTES: usize = 16;

    fn embed(&self, bytes: &[u8]) -> Vec<Point> {
        let (strings, rest) = bytes.as_chunks::<{ Self::EMBEDDED_BYTES }>();
        assert!(rest.is_empty(), "a point takes so many bytes");
        strings
            .par_iter()
            .with_min_len(BATCH)
            .map(|string| Point(RistrettoPoint::lizard_encode::<Sha256>(string)))
            .collect()
    }

    fn unembed(&self, points: &[Point]) -> Vec<Option<Zeroizing<Vec<u8>>>> {
        let string = |point: &Point| Some(Zeroizing::new(point.0.lizard_decode::<Sha256>()?.to_vec()));
        points.par_iter().with_min_len(BATCH).map(string).collect()
    }
}

/// The encodings of twice each point, of which there are as many as `encoded` has room for.
///
/// Ristretto's encoding needs an inverse square root a point; that of a double needs an inversion only, which a batch
/// shares (Montgomery's trick). Whoever wants the encoding of s * P therefore doubles (s / 2) * P, with the half
/// taken modulo the group's odd order.
fn encode_doubles(points: impl Iterator<Item = Point>, encoded: &mut [u8]) {
    let points: Vec<Point> = points.collect();
    let encodings = RistrettoPoint::double_and_compress_batch(points.iter().map(|point| &point.0));
    for (bytes, encoding) in encoded.chunks_mut(ENCODED_BYTES).zip(encodings) {
        bytes.copy_from_slice(encoding.as_bytes());
    }
}

fn nonzero(scalar: DalekScalar) -> Option<Scalar> {
    (scalar != DalekScalar::ZERO).then_some(Scalar(scalar))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT;
    use curve25519_dalek::traits::Identity;
    use rand_core::SeedableRng;

    /// What [`Group::multiply_encode`] computes, written down plainly: the oracle for the fast way.
    fn multiply_encode_reference(points: &[Point], scalars: &[DalekScalar]) -> Vec<u8> {
        points.iter().zip(scalars).flat_map(|(point, scalar)| (point.0 * scalar).compress().to_bytes()).collect()
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
            let points: Vec<_> = edge[..length].iter().map(|point| Point(*point)).collect();
            check(&points, scalars(&mut rng));
        }
        check(&[Point(RistrettoPoint::identity())], scalars(&mut rng));
    }

    /// Four representatives stand for each element (RFC 9496, section 4): the fast way must not tell them apart.
    #[test]
    fn fast_encoding_agrees_on_the_identity_of_inverses() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        let point = RistrettoPoint::random(&mut rng);
        let order_minus_one = -DalekScalar::ONE;
        let identity = point + point * order_minus_one;
        check(&[Point(identity), Point(point)], scalars(&mut rng));
    }

    #[test]
    fn fast_encoding_agrees_across_batches() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        for length in [1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH + 3] {
            let points: Vec<_> = (0..length).map(|_| Point(RistrettoPoint::random(&mut rng))).collect();
            check(&points, vec![DalekScalar::random(&mut rng)]);
        }
    }

    #[test]
    fn decoding_inverts_encoding_and_names_the_culprit() {
        let mut rng = ChaCha20Rng::from_seed([4; 32]);
        let points = Ristretto255.multiply_generator(&Ristretto255.random_scalars(5, &mut rng));
        let mut bytes = Ristretto255.encode(&points);
        let decoded = Ristretto255.decode(&bytes).unwrap();
        assert!(decoded.iter().zip(&points).all(|(one, other)| one.0 == other.0));
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
            assert_eq!(point.0, RISTRETTO_BASEPOINT_POINT * scalar.0);
        }
        let products = Ristretto255.multiply(&points, &scalars[0]);
        assert!(products.iter().zip(&points).all(|(product, point)| product.0 == point.0 * scalars[0].0));
        assert!(!Ristretto255.any_identity(&points));
        assert!(Ristretto255.any_identity(&[Point(RistrettoPoint::identity())]));
    }

    #[test]
    fn sums_differences_and_doubles_agree_with_their_definitions() {
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        let (points, others) = (Ristretto255.random_points(3, &mut rng), Ristretto255.random_points(3, &mut rng));
        let (sums, differences) = (Ristretto255.add(&points, &others), Ristretto255.subtract(&points, &others));
        let scalars = Ristretto255.random_scalars(3, &mut rng);
        let products = Ristretto255.multiply_one(&points[0], &scalars);
        for index in 0..3 {
            assert_eq!(sums[index].0, points[index].0 + others[index].0);
            assert_eq!(differences[index].0, points[index].0 - others[index].0);
            assert_eq!(products[index].0, points[0].0 * scalars[index].0);
            assert!(points[index].0 != others[index].0 && points[index].0 != points[(index + 1) % 3].0);
        }
        assert_eq!(Ristretto255.double_encode(&points), Ristretto255.encode(&Ristretto255.add(&points, &points)));
        let identity = [Point(RistrettoPoint::identity())];
        assert_eq!(Ristretto255.double_encode(&identity), [0; 32]);
    }

    #[test]
    fn secrets_are_not_printed() {
        let scalar = Scalar(DalekScalar::from(77u8));
        assert_eq!(format!("{scalar:?} {:?}", Point(RISTRETTO_BASEPOINT_POINT)), "Scalar(..) Point(..)");
    }
}
