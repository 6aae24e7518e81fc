//! The groups P-384 and P-521 (NIST SP 800-186, sections 3.2.1.4 and 3.2.1.5) on p384 and p521.
//!
//! Points are encoded compressed (SEC 1, section 2.3.3), scalars big-endian, as RFC 9497 has it (sections 4.4 and 4.5).

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use p384::elliptic_curve::array::Array;
use p384::elliptic_curve::ff::{Field, PrimeField};
use p384::elliptic_curve::group::{Group as CurvePoint, GroupEncoding};
use p384::elliptic_curve::ops::{Invert, LinearCombination, Reduce};
use p384::elliptic_curve::{self as curve, AffinePoint, CurveArithmetic, CurveGroup, FieldBytes, ProjectivePoint};
use p384::hash2curve::{MapToCurve, OprfParameters, hash_to_scalar};
use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::parallel;

use super::{DecodeError, Group, ScalarField};

/// Points that share one field inversion when they are encoded, and one step of work for a processor.
const BATCH: usize = 64;

/// Points that share the doublings of a sum of products.
const COMBINED: usize = 64;

/// Prefixes of SEC 1 for the coordinate of a compressed point whose second one is even, and odd.
const COMPRESSED: [u8; 2] = [2, 3];

/// The group of a NIST curve.
pub struct Nist<C>(PhantomData<C>);

/// The group P-384: 192-bit security, encodings of 49 bytes, no cofactor.
pub type P384 = Nist<p384::NistP384>;

/// The group P-521: 256-bit security, encodings of 67 bytes, no cofactor.
pub type P521 = Nist<p521::NistP521>;

impl<C> Nist<C> {
    /// Returns the group of this curve.
    pub const fn new() -> Nist<C> {
        Nist(PhantomData)
    }
}

impl<C> Default for Nist<C> {
    fn default() -> Nist<C> {
        Nist::new()
    }
}

/// An integer modulo the group's order.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Scalar<C: CurveArithmetic>(curve::Scalar<C>);

/// An element of the group.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Point<C: CurveArithmetic>(ProjectivePoint<C>);

impl<C: CurveArithmetic> fmt::Debug for Scalar<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

impl<C: CurveArithmetic> fmt::Debug for Point<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Point(..)")
    }
}

impl<C> ScalarField for Nist<C>
where
    C: OprfParameters + Send + Sync,
    curve::Scalar<C>: Reduce<Array<u8, <C as MapToCurve>::Length>>,
{
    type Scalar = Scalar<C>;

    /// Returns the length of a scalar: both curves have orders as long as the elements of their fields.
    fn scalar_bytes(&self) -> usize {
        FieldBytes::<C>::default().len()
    }

    fn scalar(&self, integer: u64) -> Scalar<C> {
        Scalar(curve::Scalar::<C>::from(integer))
    }

    fn random_scalars(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Scalar<C>> {
        let mut nonzero = || {
            loop {
                if let Some(scalar) = nonzero(curve::Scalar::<C>::random(rng)) {
                    return scalar;
                }
            }
        };
        (0..count).map(|_| nonzero()).collect()
    }

    fn hash_to_scalar(&self, message: &[u8], tag: &[u8]) -> Option<Scalar<C>> {
        let hashed = hash_to_scalar::<C, C::ExpandMsg, <C as MapToCurve>::Length>(&[message], &[tag]);
        nonzero(hashed.expect("domain separation tags have 1 to 255 bytes"))
    }

    fn plus(&self, a: &Scalar<C>, b: &Scalar<C>) -> Scalar<C> {
        Scalar(a.0 + b.0)
    }

    fn minus(&self, a: &Scalar<C>, b: &Scalar<C>) -> Scalar<C> {
        Scalar(a.0 - b.0)
    }

    fn times(&self, a: &Scalar<C>, b: &Scalar<C>) -> Scalar<C> {
        Scalar(a.0 * b.0)
    }

    fn is_zero(&self, scalar: &Scalar<C>) -> bool {
        bool::from(scalar.0.is_zero())
    }

    fn invert(&self, scalars: &[Scalar<C>]) -> Vec<Scalar<C>> {
        let inverse = |scalar: &Scalar<C>| Scalar(Invert::invert(&scalar.0).expect("scalars are not zero"));
        parallel::map(scalars, BATCH, inverse)
    }

    fn root_of_unity(&self, log2: u32) -> Option<Scalar<C>> {
        let squarings = curve::Scalar::<C>::S.checked_sub(log2)?;
        Some(Scalar((0..squarings).fold(curve::Scalar::<C>::ROOT_OF_UNITY, |root, _| root.square())))
    }

    fn encode_scalar(&self, scalar: &Scalar<C>) -> Zeroizing<Vec<u8>> {
        let mut encoded = scalar.0.to_repr();
        let copy = Zeroizing::new(encoded.to_vec());
        encoded.zeroize();
        copy
    }

    fn decode_scalar(&self, bytes: &[u8]) -> Option<Scalar<C>> {
        let mut encoded = FieldBytes::<C>::default();
        if bytes.len() != encoded.len() {
            return None;
        }
        encoded.copy_from_slice(bytes);
        let scalar = Option::from(curve::Scalar::<C>::from_repr(encoded));
        encoded.zeroize();
        nonzero(scalar?)
    }
}

impl<C> Group for Nist<C>
where
    C: OprfParameters + Send + Sync,
    curve::Scalar<C>: Reduce<Array<u8, <C as MapToCurve>::Length>>,
{
    type Point = Point<C>;
    type Base = Point<C>;

    fn point_bytes(&self) -> usize {
        1 + self.scalar_bytes()
    }

    fn hash_to_points<M: AsRef<[u8]> + Sync>(&self, messages: &[M], tag: &[u8]) -> Vec<Point<C>> {
        let hash = |message: &M| {
            let point = C::hash_from_bytes(&[message.as_ref()], &[tag]);
            Point(point.expect("domain separation tags have 1 to 255 bytes"))
        };
        parallel::map(messages, BATCH, hash)
    }

    fn add(&self, points: &[Point<C>], others: &[Point<C>]) -> Vec<Point<C>> {
        assert_eq!(points.len(), others.len(), "every point has one to be added");
        points.iter().zip(others).map(|(point, other)| Point(point.0 + other.0)).collect()
    }

    fn subtract(&self, points: &[Point<C>], others: &[Point<C>]) -> Vec<Point<C>> {
        assert_eq!(points.len(), others.len(), "every point has one to be subtracted");
        points.iter().zip(others).map(|(point, other)| Point(point.0 - other.0)).collect()
    }

    fn any_identity(&self, points: &[Point<C>]) -> bool {
        points.iter().any(|point| bool::from(point.0.is_identity()))
    }

    fn multiply(&self, points: &[Point<C>], scalar: &Scalar<C>) -> Vec<Point<C>> {
        parallel::map(points, BATCH, |point| Point(point.0 * scalar.0))
    }

    fn multiply_generator(&self, scalars: &[Scalar<C>]) -> Vec<Point<C>> {
        let multiply = |scalar: &Scalar<C>| Point(ProjectivePoint::<C>::mul_by_generator(&scalar.0));
        parallel::map(scalars, BATCH, multiply)
    }

    fn multiply_encode(&self, points: &[Point<C>], scalar: &Scalar<C>) -> Vec<u8> {
        self.encode_batches(points.len(), |range| points[range].iter().map(|point| point.0 * scalar.0).collect())
    }

    fn multiply_each_encode(&self, points: &[Point<C>], scalars: &[Scalar<C>]) -> Vec<u8> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        self.encode_batches(points.len(), |range| {
            points[range.clone()].iter().zip(&scalars[range]).map(|(point, scalar)| point.0 * scalar.0).collect()
        })
    }

    fn multiply_each(&self, points: &[Point<C>], scalars: &[Scalar<C>]) -> Vec<Point<C>> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        parallel::numbers(points.len(), BATCH, |i| Point(points[i].0 * scalars[i].0))
    }

    fn multiply_one(&self, point: &Point<C>, scalars: &[Scalar<C>]) -> Vec<Point<C>> {
        parallel::map(scalars, BATCH, |scalar| Point(point.0 * scalar.0))
    }

    fn base(&self, point: &Point<C>) -> Point<C> {
        point.clone()
    }

    fn multiply_base(&self, base: &Point<C>, scalars: &[Scalar<C>]) -> Vec<Point<C>> {
        self.multiply_one(base, scalars)
    }

    fn combine(&self, points: &[Point<C>], scalars: &[Scalar<C>]) -> Point<C> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        let part = |range: Range<usize>| {
            let pairs: Vec<_> =
                points[range.clone()].iter().zip(&scalars[range]).map(|(point, scalar)| (point.0, scalar.0)).collect();
            ProjectivePoint::<C>::lincomb(Zeroizing::new(pairs).as_slice())
        };
        Point(parallel::ranges(points.len(), COMBINED, part).into_iter().sum())
    }

    fn double_encode(&self, points: &[Point<C>]) -> Vec<u8> {
        self.encode_batches(points.len(), |range| points[range].iter().map(|point| point.0.double()).collect())
    }

    fn encode(&self, points: &[Point<C>]) -> Vec<u8> {
        self.encode_batches(points.len(), |range| points[range].iter().map(|point| point.0).collect())
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<Point<C>>, DecodeError> {
        let length = self.point_bytes();
        if !bytes.len().is_multiple_of(length) {
            return Err(DecodeError::Length);
        }
        let decode = |index: usize| {
            let bytes = &bytes[index * length..][..length];
            if bytes.iter().all(|&byte| byte == 0) {
                return Err(DecodeError::Identity(index));
            }
            // The library reads other forms of SEC 1, too.
            if !COMPRESSED.contains(&bytes[0]) {
                return Err(DecodeError::NotAPoint(index));
            }
            let mut encoding = <AffinePoint<C> as GroupEncoding>::Repr::default();
            encoding.as_mut().copy_from_slice(bytes);
            let point = Option::<AffinePoint<C>>::from(AffinePoint::<C>::from_bytes(&encoding));
            Ok(Point(point.ok_or(DecodeError::NotAPoint(index))?.into()))
        };
        parallel::numbers(bytes.len() / length, BATCH, decode).into_iter().collect()
    }
}

impl<C> Nist<C>
where
    C: OprfParameters + Send + Sync,
    curve::Scalar<C>: Reduce<Array<u8, <C as MapToCurve>::Length>>,
{
    /// The encodings of the points that each batch of at most [`BATCH`] gives, one after the other. The identity, which
    /// [`Group::decode`] refuses, is written as zeros.
    fn encode_batches(&self, count: usize, points: impl Fn(Range<usize>) -> Vec<ProjectivePoint<C>> + Sync) -> Vec<u8> {
        let encode = |range: Range<usize>| {
            let points = Zeroizing::new(points(range));
            let mut affine = Zeroizing::new(vec![AffinePoint::<C>::default(); points.len()]);
            CurveGroup::batch_normalize(&points, &mut affine);
            affine.iter().flat_map(|point| point.to_bytes().as_ref().to_vec()).collect::<Vec<u8>>()
        };
        parallel::ranges(count, BATCH, encode).concat()
    }
}

fn nonzero<C: CurveArithmetic>(scalar: curve::Scalar<C>) -> Option<Scalar<C>> {
    (!bool::from(scalar.is_zero())).then_some(Scalar(scalar))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    /// Every operation beside the library's own on single points, and which encodings are refused.
    fn check<C>(group: &Nist<C>, generator: &str, field: &str)
    where
        C: OprfParameters + Send + Sync,
        curve::Scalar<C>: Reduce<Array<u8, <C as MapToCurve>::Length>>,
    {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let length = group.point_bytes();
        let one = group.decode_scalar(&[&vec![0; length - 2][..], &[1]].concat()).unwrap();
        let encoded = group.encode(&group.multiply_generator(std::slice::from_ref(&one)));
        assert_eq!(hex(&encoded[1..]), generator);

        // Slow and plain beside each fast way.
        for count in [0, 1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH + 3] {
            let scalars = group.random_scalars(count, &mut rng);
            let points = group.random_points(count, &mut rng);
            let plain = |point: &ProjectivePoint<C>| point.to_affine().to_bytes().as_ref().to_vec();
            let expected: Vec<u8> = points.iter().zip(&scalars).flat_map(|(p, s)| plain(&(p.0 * s.0))).collect();
            assert_eq!(group.multiply_each_encode(&points, &scalars), expected);
            let expected: Vec<u8> = points.iter().flat_map(|p| plain(&(p.0 * one.0))).collect();
            assert_eq!(group.multiply_encode(&points, &one), expected);
            assert_eq!(group.encode(&points), expected);
            assert_eq!(group.encode(&group.decode(&expected).unwrap()), expected);
            assert_eq!(group.double_encode(&points), group.encode(&group.add(&points, &points)));
            let inverses = group.invert(&scalars);
            let back = group.decode(&group.multiply_each_encode(&points, &scalars)).unwrap();
            assert_eq!(group.multiply_each_encode(&back, &inverses), expected);
        }

        // What is refused, wherever it stands.
        let points = group.random_points(3, &mut rng);
        let good = group.encode(&points);
        assert_eq!(group.decode(&good[1..]).unwrap_err(), DecodeError::Length);
        let with = |encoding: &[u8]| group.decode(&[&good[..length], encoding].concat()).map(drop);
        assert_eq!(with(&vec![0; length]), Err(DecodeError::Identity(1)));
        for tag in (0..=255).filter(|tag| !COMPRESSED.contains(tag)) {
            // Compact points (5) are of the same length.
            assert_eq!(with(&[&[tag], &good[1..length]].concat()), Err(DecodeError::NotAPoint(1)), "{tag}");
        }
        // A coordinate that is not reduced, and a small one that is also given as itself plus the modulus.
        let field: Vec<u8> = bytes(field);
        assert_eq!(with(&[&[2], &field[..]].concat()), Err(DecodeError::NotAPoint(1)));
        assert_eq!(with(&[&[2], &vec![0xff; length - 1][..]].concat()), Err(DecodeError::NotAPoint(1)));
        let mut seen = [0; 2];
        for small in 0..32 {
            let mut coordinate = vec![0; length - 1];
            coordinate[length - 2] = small;
            let valid = with(&[&[2], &coordinate[..]].concat()).is_ok();
            seen[usize::from(valid)] += 1;
            let mut carry = 0;
            for (byte, modulus) in coordinate.iter_mut().zip(&field).rev() {
                let sum = u16::from(*byte) + u16::from(*modulus) + carry;
                (*byte, carry) = (sum as u8, sum >> 8);
            }
            assert_eq!(with(&[&[2], &coordinate[..]].concat()), Err(DecodeError::NotAPoint(1)));
        }
        assert!(seen.iter().all(|&count| count > 0), "{seen:?}");

        let scalar = &group.random_scalars(1, &mut rng)[0];
        assert_eq!(format!("{scalar:?} {:?}", points[0]), "Scalar(..) Point(..)");
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
    }

    /// Generator and modulus of SP 800-186, section 3.2.1.4.
    #[test]
    fn p384() {
        let generator =
            "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7";
        let field = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff";
        check(&P384::new(), generator, field);
    }

    /// Generator and modulus of SP 800-186, section 3.2.1.5.
    #[test]
    fn p521() {
        let generator = "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe7\
                         5928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66";
        let field = format!("01{}", "ff".repeat(65));
        check(&P521::new(), generator, &field);
    }

    /// RFC 9380, appendices J.2.1 and J.3.1: the first coordinates of the hashes of "" and "abc".
    #[test]
    fn hashes_to_the_curves() {
        let first = |encoded: Vec<u8>| hex(&encoded[1..]);
        let tag = b"QUUX-V01-CS02-with-P384_XMD:SHA-384_SSWU_RO_";
        let points = P384::new().hash_to_points(&[&b""[..], b"abc"], tag);
        assert_eq!(
            first(P384::new().encode(&points[..1])),
            "eb9fe1b4f4e14e7140803c1d99d0a93cd823d2b024040f9c067a8eca1f5a2eeac9ad604973527a356f3fa3aeff0e4d83"
        );
        assert_eq!(
            first(P384::new().encode(&points[1..])),
            "e02fc1a5f44a7519419dd314e29863f30df55a514da2d655775a81d413003c4d4e7fd59af0826dfaad4200ac6f60abe1"
        );
        let tag = b"QUUX-V01-CS02-with-P521_XMD:SHA-512_SSWU_RO_";
        let point = P521::new().hash_to_points(&[b""], tag);
        assert_eq!(
            first(P521::new().encode(&point)),
            "00fd767cebb2452030358d0e9cf907f525f50920c8f607889a6a35680727f64f4d66b161fafeb2654bea0d35086bec0a\
             10b30b14adef3556ed9f7f1bc23cecc9c088"
        );
    }
}
