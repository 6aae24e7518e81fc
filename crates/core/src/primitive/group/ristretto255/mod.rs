//! The ristretto255 group (RFC 9496): scalars by curve25519-dalek, and points eight at a time where the processor has a
//! kernel for that ([`eight`]), else one at a time by curve25519-dalek ([`library`]). All points of a process have the
//! same form.

mod eight;
mod library;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoBasepointTable, RistrettoPoint};
use curve25519_dalek::scalar::Scalar as DalekScalar;
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{DecodeError, Group, ScalarField, expand_message_xmd};
use crate::primitive::kernel::{backend, edwards};
use edwards::{Extended, Sign};
use eight::Eight;
use library::Library;

/// Points that share one field inversion when they are encoded, and one step of work for a processor.
const BATCH: usize = 256;

/// Points that share the doublings of a sum of products: with more of them, their tables leave the cache.
const COMBINED: usize = 128;

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
pub struct Point(Form);

/// A point in the form that this process has.
#[derive(Clone, Copy, Zeroize)]
pub(super) enum Form {
    Library(RistrettoPoint),
    Eight(Extended),
}

/// The multiples of a point that its products are sums of.
#[derive(Clone)]
pub struct Base(Arc<Multiples>);

/// Multiples of a point in the form that this process uses.
pub(super) enum Multiples {
    Library(Box<RistrettoBasepointTable>),
    Eight(edwards::Table),
}

/// Operations of a form of the points on a batch of them, on one thread. Slices that belong together are equally long.
pub(super) trait Batch: Sync {
    /// Returns the identity point.
    fn identity(&self) -> Point;

    /// The points that uniformly random bytes are mapped to (RFC 9496, section 4.3.4).
    fn map(&self, uniform: &[[u8; 64]], out: &mut [Point]);

    /// The sums, or differences.
    fn add(&self, sign: Sign, points: &[Point], others: &[Point], out: &mut [Point]);

    /// Whether any point is the identity.
    fn any_identity(&self, points: &[Point]) -> bool;

    /// Computes the products of the points and the scalars.
    fn multiply(&self, points: &[Point], scalars: &[DalekScalar], out: &mut [Point]);

    /// The products of the generator.
    fn multiply_generator(&self, scalars: &[DalekScalar], out: &mut [Point]);

    /// The multiples of a point.
    fn multiples(&self, point: &Point) -> Multiples;

    /// Returns the number of products of one point from which it pays to have its multiples.
    fn worth_multiples(&self) -> usize;

    /// The products of a point of which there are the multiples.
    fn multiply_multiples(&self, multiples: &Multiples, scalars: &[DalekScalar], out: &mut [Point]);

    /// The sum of the products.
    fn combine(&self, points: &[Point], scalars: &[DalekScalar]) -> Point;

    /// See [`Group::full_sum`].
    fn full_sum(&self) -> usize;

    /// The same as [`Batch::combine`], in a time that may depend on what is given.
    fn combine_public(&self, points: &[Point], scalars: &[DalekScalar]) -> Point;

    /// Returns the number of points that [`Batch::combine_public`] takes at once.
    fn combined_public(&self) -> usize;

    /// Writes the points' encodings.
    fn encode(&self, points: &[Point], out: &mut [u8]);

    /// The encodings of twice each point.
    ///
    /// Ristretto's encoding needs an inverse square root a point; that of a double needs an inversion only, which a
    /// batch shares (Montgomery's trick). Whoever wants the encoding of s * P therefore doubles (s / 2) * P, with the
    /// half taken modulo the group's odd order.
    fn double_encode(&self, points: &[Point], out: &mut [u8]);

    /// The points that are canonically encoded, the identity among them; or the place of one that is not.
    fn decode(&self, bytes: &[[u8; ENCODED_BYTES]], out: &mut [Point]) -> Result<(), usize>;

    /// The points of strings (Lizard).
    fn embed(&self, strings: &[[u8; 16]], out: &mut [Point]);
}

/// The form that this process has.
pub(super) fn form() -> &'static dyn Batch {
    if edwards::is_fast(backend::chosen()) { &Eight } else { &Library }
}

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

impl Scalar {
    /// Wraps a scalar of curve25519-dalek.
    pub(in crate::primitive) fn from_library(scalar: DalekScalar) -> Scalar {
        Scalar(scalar)
    }
}

impl Point {
    /// Returns the identity point.
    pub(in crate::primitive) fn identity() -> Point {
        form().identity()
    }

    /// The same point, as curve25519-dalek has it.
    pub(in crate::primitive) fn to_library(&self) -> RistrettoPoint {
        match &self.0 {
            Form::Library(point) => *point,
            Form::Eight(_) => {
                let mut encoding = Zeroizing::new([0; ENCODED_BYTES]);
                form().encode(std::slice::from_ref(self), &mut *encoding);
                CompressedRistretto(*encoding).decompress().expect("it has just been encoded")
            }
        }
    }

    /// Returns this point plus another, or minus it.
    pub(in crate::primitive) fn combined(&self, sign: Sign, other: &Point) -> Point {
        let mut sum = Point::identity();
        form().add(sign, std::slice::from_ref(self), std::slice::from_ref(other), std::slice::from_mut(&mut sum));
        sum
    }
}

impl Ristretto255 {
    /// Length of an encoded point in bytes.
    pub const POINT_BYTES: usize = ENCODED_BYTES;

    /// Length of an encoded scalar in bytes.
    pub(crate) const SCALAR_BYTES: usize = ENCODED_BYTES;
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
        batches(messages, &|messages, points| {
            let mut wide = Zeroizing::new(vec![[0; 64]; messages.len()]);
            for (wide, message) in wide.iter_mut().zip(messages) {
                expand_message_xmd(message.as_ref(), tag, wide);
            }
            form().map(&wide, points);
        })
    }

    fn random_points(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Point> {
        let mut wide = Zeroizing::new(vec![[0; 64]; count]);
        wide.iter_mut().for_each(|wide| rng.fill_bytes(wide));
        batches(&wide, &|wide, points| form().map(wide, points))
    }

    fn add(&self, points: &[Point], others: &[Point]) -> Vec<Point> {
        assert_eq!(points.len(), others.len(), "every point has one to be added");
        pairs(points, others, &|points, others, sums| form().add(Sign::Plus, points, others, sums))
    }

    fn subtract(&self, points: &[Point], others: &[Point]) -> Vec<Point> {
        assert_eq!(points.len(), others.len(), "every point has one to be subtracted");
        pairs(points, others, &|points, others, differences| form().add(Sign::Minus, points, others, differences))
    }

    fn any_identity(&self, points: &[Point]) -> bool {
        form().any_identity(points)
    }

    fn multiply(&self, points: &[Point], scalar: &Scalar) -> Vec<Point> {
        batches(points, &|points, products| form().multiply(points, &repeated(scalar.0, points), products))
    }

    fn multiply_generator(&self, scalars: &[Scalar]) -> Vec<Point> {
        batches(scalars, &|scalars, products| form().multiply_generator(&numbers(scalars), products))
    }

    fn multiply_encode(&self, points: &[Point], scalar: &Scalar) -> Vec<u8> {
        let half = Zeroizing::new(scalar.0.div_by_2());
        encodings(points, &|_, points, encoded| {
            let mut products = vec![Point::identity(); points.len()];
            form().multiply(points, &repeated(*half, points), &mut products);
            form().double_encode(&products, encoded);
        })
    }

    fn multiply_each_encode(&self, points: &[Point], scalars: &[Scalar]) -> Vec<u8> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        encodings(points, &|start, points, encoded| {
            let mut halves = numbers(&scalars[start..start + points.len()]);
            halves.iter_mut().for_each(|scalar| *scalar = scalar.div_by_2());
            let mut products = vec![Point::identity(); points.len()];
            form().multiply(points, &halves, &mut products);
            form().double_encode(&products, encoded);
        })
    }

    fn multiply_each(&self, points: &[Point], scalars: &[Scalar]) -> Vec<Point> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        pairs(points, scalars, &|points, scalars, products| form().multiply(points, &numbers(scalars), products))
    }

    fn multiply_one(&self, point: &Point, scalars: &[Scalar]) -> Vec<Point> {
        if scalars.len() >= form().worth_multiples() {
            return self.multiply_base(&self.base(point), scalars);
        }
        let copies = vec![point.clone(); scalars.len()];
        self.multiply_each(&copies, scalars)
    }

    fn base(&self, point: &Point) -> Base {
        Base(Arc::new(form().multiples(point)))
    }

    fn multiply_base(&self, base: &Base, scalars: &[Scalar]) -> Vec<Point> {
        batches(scalars, &|scalars, products| form().multiply_multiples(&base.0, &numbers(scalars), products))
    }

    fn combine(&self, points: &[Point], scalars: &[Scalar]) -> Point {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        let parts = points.par_chunks(COMBINED).zip(scalars.par_chunks(COMBINED));
        sum(parts.map(|(points, scalars)| form().combine(points, &numbers(scalars))).collect())
    }

    fn full_sum(&self) -> usize {
        form().full_sum()
    }

    fn combine_public(&self, points: &[Point], scalars: &[Scalar]) -> Point {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        let at_once = form().combined_public();
        let parts = points.par_chunks(at_once).zip(scalars.par_chunks(at_once));
        sum(parts.map(|(points, scalars)| form().combine_public(points, &numbers(scalars))).collect())
    }

    fn double_encode(&self, points: &[Point]) -> Vec<u8> {
        encodings(points, &|_, points, encoded| form().double_encode(points, encoded))
    }

    fn encode(&self, points: &[Point]) -> Vec<u8> {
        encodings(points, &|_, points, encoded| form().encode(points, encoded))
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<Point>, DecodeError> {
        let (encodings, rest) = bytes.as_chunks::<ENCODED_BYTES>();
        if !rest.is_empty() {
            return Err(DecodeError::Length);
        }
        let mut points = vec![Point::identity(); encodings.len()];
        let parts = points.par_chunks_mut(BATCH).zip(encodings.par_chunks(BATCH)).enumerate();
        parts
            .map(|(part, (points, encodings))| decode_batch(part * BATCH, encodings, points))
            .collect::<Result<(), _>>()?;
        Ok(points)
    }
}

/// A batch of encodings, of which the first has this index.
fn decode_batch(start: usize, encodings: &[[u8; ENCODED_BYTES]], points: &mut [Point]) -> Result<(), DecodeError> {
    let wrong = form().decode(encodings, points).err();
    // Zero bytes are the identity's only canonical encoding.
    let identity = encodings.iter().position(|encoding| encoding.iter().all(|&byte| byte == 0));
    match (wrong, identity) {
        (None, None) => Ok(()),
        (Some(wrong), None) => Err(DecodeError::NotAPoint(start + wrong)),
        (Some(wrong), Some(identity)) if wrong < identity => Err(DecodeError::NotAPoint(start + wrong)),
        (_, Some(identity)) => Err(DecodeError::Identity(start + identity)),
    }
}

/// Writes a point for each two.
type OfPairs<'a, T> = dyn Fn(&[Point], &[T], &mut [Point]) + Sync + 'a;

/// Writes an encoding for each point, of which the first has the index that is given.
type OfBatch<'a> = dyn Fn(usize, &[Point], &mut [u8]) + Sync + 'a;

/// A point of each of these, batch by batch.
fn batches<T: Sync>(from: &[T], fill: &(dyn Fn(&[T], &mut [Point]) + Sync)) -> Vec<Point> {
    let mut points = vec![Point::identity(); from.len()];
    points.par_chunks_mut(BATCH).zip(from.par_chunks(BATCH)).for_each(|(points, from)| fill(from, points));
    points
}

/// A point of each two of these, batch by batch.
fn pairs<T: Sync>(points: &[Point], with: &[T], fill: &OfPairs<T>) -> Vec<Point> {
    let mut made = vec![Point::identity(); points.len()];
    let parts = made.par_chunks_mut(BATCH).zip(points.par_chunks(BATCH).zip(with.par_chunks(BATCH)));
    parts.for_each(|(made, (points, with))| fill(points, with, made));
    made
}

/// An encoding of each of these, batch by batch, of which the first has the index that is given.
fn encodings(points: &[Point], fill: &OfBatch) -> Vec<u8> {
    let mut encoded = vec![0; points.len() * ENCODED_BYTES];
    let parts = encoded.par_chunks_mut(BATCH * ENCODED_BYTES).zip(points.par_chunks(BATCH)).enumerate();
    parts.for_each(|(part, (encoded, points))| fill(part * BATCH, points, encoded));
    encoded
}

/// The sum of all points.
fn sum(mut points: Vec<Point>) -> Point {
    while points.len() > 1 {
        let (some, others) = points.split_at(points.len().div_ceil(2));
        let mut sums = some.to_vec();
        form().add(Sign::Plus, &some[..others.len()], others, &mut sums[..others.len()]);
        points = sums;
    }
    points.pop().unwrap_or_else(Point::identity)
}

/// Converts scalars into the type that the forms take.
fn numbers(scalars: &[Scalar]) -> Zeroizing<Vec<DalekScalar>> {
    Zeroizing::new(scalars.iter().map(|scalar| scalar.0).collect())
}

/// The same scalar for each point.
fn repeated(scalar: DalekScalar, points: &[Point]) -> Zeroizing<Vec<DalekScalar>> {
    Zeroizing::new(vec![scalar; points.len()])
}

fn nonzero(scalar: DalekScalar) -> Option<Scalar> {
    (scalar != DalekScalar::ZERO).then_some(Scalar(scalar))
}
