//! The group Pallas on pasta_curves: its order has roots of unity up to 2^32.
//!
//! The curve is y^2 = x^3 + 5 over a field of 255 bits (Hopwood, "The Pasta Curves for Halo 2 and Beyond", 2020; the
//! Zcash protocol specification, section 5.4.9.6). Points are encoded by x, least significant byte first, with the
//! lowest bit of y as the highest bit of all.

mod curve;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use pasta_curves::arithmetic::CurveExt;
use pasta_curves::group::ff::{Field, FromUniformBytes, PrimeField};
use pasta_curves::group::{Curve, Group as _, GroupEncoding};
use pasta_curves::pallas;
use rand_core::CryptoRng;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::parallel;

use crate::primitive::group::{DecodeError, Group, ScalarField, expand_message_xmd};
use curve::Projective;

/// Points that share one field inversion when they are encoded, and one step of work for a processor.
const BATCH: usize = 128;

/// Points that share the doublings of a sum of products.
const COMBINED: usize = 64;

/// Length of an encoded point, and of an encoded scalar.
const ENCODED_BYTES: usize = 32;

/// Bits of a digit of scalars.
const WINDOW: usize = 4;

/// Digits of a scalar, and multiples of a point that one may ask for.
const DIGITS: usize = 8 * ENCODED_BYTES / WINDOW;
const MULTIPLES: usize = 1 << WINDOW;

/// The group Pallas: some 126-bit security, encodings of 32 bytes, no cofactor.
#[derive(Debug, Clone, Copy)]
pub struct Pallas;

/// An integer modulo the group's order.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Scalar(pallas::Scalar);

/// An element of the group.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Point(Projective);

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

impl ScalarField for Pallas {
    type Scalar = Scalar;

    fn scalar_bytes(&self) -> usize {
        ENCODED_BYTES
    }

    fn scalar(&self, integer: u64) -> Scalar {
        Scalar(pallas::Scalar::from(integer))
    }

    fn random_scalars(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Scalar> {
        let mut nonzero = || {
            loop {
                if let Some(scalar) = nonzero(pallas::Scalar::random(&mut *rng)) {
                    return scalar;
                }
            }
        };
        (0..count).map(|_| nonzero()).collect()
    }

    fn hash_to_scalar(&self, message: &[u8], tag: &[u8]) -> Option<Scalar> {
        let mut wide = Zeroizing::new([0; 64]);
        expand_message_xmd(message, tag, &mut *wide);
        nonzero(pallas::Scalar::from_uniform_bytes(&wide))
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
        bool::from(scalar.0.is_zero())
    }

    fn invert(&self, scalars: &[Scalar]) -> Vec<Scalar> {
        let inverse = |scalar: &Scalar| Scalar(scalar.0.invert().expect("scalars are not zero"));
        parallel::map(scalars, BATCH, inverse)
    }

    fn root_of_unity(&self, log2: u32) -> Option<Scalar> {
        let squarings = pallas::Scalar::S.checked_sub(log2)?;
        Some(Scalar((0..squarings).fold(pallas::Scalar::ROOT_OF_UNITY, |root, _| root.square())))
    }

    fn encode_scalar(&self, scalar: &Scalar) -> Zeroizing<Vec<u8>> {
        let encoded = Zeroizing::new(scalar.0.to_repr());
        Zeroizing::new(encoded.to_vec())
    }

    fn decode_scalar(&self, bytes: &[u8]) -> Option<Scalar> {
        let bytes = Zeroizing::new(<[u8; ENCODED_BYTES]>::try_from(bytes).ok()?);
        nonzero(Option::from(pallas::Scalar::from_repr(*bytes))?)
    }
}

impl Group for Pallas {
    type Point = Point;
    type Base = Point;

    fn point_bytes(&self) -> usize {
        ENCODED_BYTES
    }

    /// Hashes with BLAKE2b and the map of a curve that is isogenous (RFC 9380, section 6.6.3), as the library has it.
    /// RFC 9497 has no suite for this group. Tags are ASCII.
    fn hash_to_points<M: AsRef<[u8]> + Sync>(&self, messages: &[M], tag: &[u8]) -> Vec<Point> {
        let tag = std::str::from_utf8(tag).expect("domain separation tags are ASCII");
        let hash = |message: &M| Point(pallas::Point::hash_to_curve(tag)(message.as_ref()).to_affine().into());
        parallel::map(messages, BATCH, hash)
    }

    fn add(&self, points: &[Point], others: &[Point]) -> Vec<Point> {
        assert_eq!(points.len(), others.len(), "every point has one to be added");
        points.iter().zip(others).map(|(point, other)| Point(point.0.plus(&other.0))).collect()
    }

    fn subtract(&self, points: &[Point], others: &[Point]) -> Vec<Point> {
        assert_eq!(points.len(), others.len(), "every point has one to be subtracted");
        points.iter().zip(others).map(|(point, other)| Point(point.0.plus(&other.0.negated()))).collect()
    }

    fn any_identity(&self, points: &[Point]) -> bool {
        points.iter().any(|point| bool::from(point.0.is_identity()))
    }

    fn multiply(&self, points: &[Point], scalar: &Scalar) -> Vec<Point> {
        parallel::map(points, BATCH, |point| Point(times(&point.0, &scalar.0)))
    }

    fn multiply_generator(&self, scalars: &[Scalar]) -> Vec<Point> {
        self.multiply_one(&Point(pallas::Point::generator().to_affine().into()), scalars)
    }

    fn multiply_encode(&self, points: &[Point], scalar: &Scalar) -> Vec<u8> {
        encode_batches(points.len(), |range| points[range].iter().map(|point| times(&point.0, &scalar.0)).collect())
    }

    fn multiply_each_encode(&self, points: &[Point], scalars: &[Scalar]) -> Vec<u8> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        encode_batches(points.len(), |range| {
            points[range.clone()]
                .iter()
                .zip(&scalars[range])
                .map(|(point, scalar)| times(&point.0, &scalar.0))
                .collect()
        })
    }

    fn multiply_each(&self, points: &[Point], scalars: &[Scalar]) -> Vec<Point> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        parallel::numbers(points.len(), BATCH, |i| Point(times(&points[i].0, &scalars[i].0)))
    }

    fn multiply_one(&self, point: &Point, scalars: &[Scalar]) -> Vec<Point> {
        let multiples = multiples(&point.0);
        let multiply = |scalar: &Scalar| Point(combined(std::slice::from_ref(&multiples), &[digits(&scalar.0)]));
        parallel::map(scalars, BATCH, multiply)
    }

    fn base(&self, point: &Point) -> Point {
        point.clone()
    }

    fn multiply_base(&self, base: &Point, scalars: &[Scalar]) -> Vec<Point> {
        self.multiply_one(base, scalars)
    }

    fn combine(&self, points: &[Point], scalars: &[Scalar]) -> Point {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        let part = |range: Range<usize>| {
            let tables: Vec<_> = points[range.clone()].iter().map(|point| multiples(&point.0)).collect();
            let digits: Vec<_> = scalars[range].iter().map(|scalar| digits(&scalar.0)).collect();
            combined(&tables, &digits)
        };
        let parts = parallel::ranges(points.len(), COMBINED, part);
        Point(parts.iter().fold(Projective::default(), |sum, part| sum.plus(part)))
    }

    fn double_encode(&self, points: &[Point]) -> Vec<u8> {
        encode_batches(points.len(), |range| points[range].iter().map(|point| point.0.doubled()).collect())
    }

    fn encode(&self, points: &[Point]) -> Vec<u8> {
        encode_batches(points.len(), |range| points[range].iter().map(|point| point.0).collect())
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<Point>, DecodeError> {
        if !bytes.len().is_multiple_of(ENCODED_BYTES) {
            return Err(DecodeError::Length);
        }
        let decode = |index: usize| {
            let bytes = &bytes[index * ENCODED_BYTES..][..ENCODED_BYTES];
            let encoding = <[u8; ENCODED_BYTES]>::try_from(bytes).map_err(|_| DecodeError::Length)?;
            let point = Option::<pallas::Affine>::from(pallas::Affine::from_bytes(&encoding));
            let point = Projective::from(point.ok_or(DecodeError::NotAPoint(index))?);
            if bool::from(point.is_identity()) { Err(DecodeError::Identity(index)) } else { Ok(Point(point)) }
        };
        parallel::numbers(bytes.len() / ENCODED_BYTES, BATCH, decode).into_iter().collect()
    }
}

/// 0, 1, ... 15 times a point.
type Multiples = Zeroizing<[Projective; MULTIPLES]>;

/// The digits of a scalar, the lowest first.
type Digits = Zeroizing<[u8; DIGITS]>;

fn times(point: &Projective, scalar: &pallas::Scalar) -> Projective {
    combined(&[multiples(point)], &[digits(scalar)])
}

fn multiples(point: &Projective) -> Multiples {
    let mut multiples = Zeroizing::new([Projective::IDENTITY; MULTIPLES]);
    for index in 1..MULTIPLES {
        multiples[index] = match index % 2 {
            0 => multiples[index / 2].doubled(),
            _ => multiples[index - 1].plus(point),
        };
    }
    multiples
}

fn digits(scalar: &pallas::Scalar) -> Digits {
    let bytes = Zeroizing::new(scalar.to_repr());
    Zeroizing::new(std::array::from_fn(|index| bytes[index / 2] >> (WINDOW * (index % 2)) & 0xf))
}

/// The sum of all products of points, by their multiples, and scalars, by their digits (Straus, "Addition chains of
/// vectors",
/// 1964). All multiples are read for each digit.
fn combined(multiples: &[Multiples], digits: &[Digits]) -> Projective {
    let mut sum = Projective::IDENTITY;
    for index in (0..DIGITS).rev() {
        if index + 1 < DIGITS {
            (0..WINDOW).for_each(|_| sum = sum.doubled());
        }
        for (multiples, digits) in multiples.iter().zip(digits) {
            let mut chosen = multiples[0];
            for (digit, multiple) in (0u8..).zip(multiples.iter()).skip(1) {
                chosen.conditional_assign(multiple, digit.ct_eq(&digits[index]));
            }
            sum = sum.plus(&chosen);
        }
    }
    sum
}

/// The encodings of the points that each batch of at most [`BATCH`] gives, one after the other.
fn encode_batches(count: usize, points: impl Fn(Range<usize>) -> Vec<Projective> + Sync) -> Vec<u8> {
    parallel::ranges(count, BATCH, |range| Projective::encode(&Zeroizing::new(points(range)))).concat()
}

fn nonzero(scalar: pallas::Scalar) -> Option<Scalar> {
    (!bool::from(scalar.is_zero())).then_some(Scalar(scalar))
}
