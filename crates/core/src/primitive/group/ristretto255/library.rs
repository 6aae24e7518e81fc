//! Points one at a time, by curve25519-dalek: for processors that no kernel is written for.

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoBasepointTable, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{Identity, IsIdentity, MultiscalarMul, VartimeMultiscalarMul};
use sha2::Sha256;

use super::{Batch, ENCODED_BYTES, Form, Multiples, Point, Sign};

/// Points in the form of curve25519-dalek.
pub(super) struct Library;

/// The point, as this form has it.
fn own(point: &Point) -> &RistrettoPoint {
    match &point.0 {
        Form::Library(point) => point,
        Form::Eight(_) => unreachable!("all points of a process have one form"),
    }
}

/// Puts points where they belong.
fn put(out: &mut [Point], points: impl Iterator<Item = RistrettoPoint>) {
    out.iter_mut().zip(points).for_each(|(out, point)| out.0 = Form::Library(point));
}

impl Batch for Library {
    fn identity(&self) -> Point {
        Point(Form::Library(RistrettoPoint::identity()))
    }

    fn map(&self, uniform: &[[u8; 64]], out: &mut [Point]) {
        put(out, uniform.iter().map(RistrettoPoint::from_uniform_bytes));
    }

    fn add(&self, sign: Sign, points: &[Point], others: &[Point], out: &mut [Point]) {
        let pairs = points.iter().map(own).zip(others.iter().map(own));
        match sign {
            Sign::Plus => put(out, pairs.map(|(point, other)| point + other)),
            Sign::Minus => put(out, pairs.map(|(point, other)| point - other)),
        }
    }

    fn any_identity(&self, points: &[Point]) -> bool {
        points.iter().any(|point| own(point).is_identity())
    }

    fn multiply(&self, points: &[Point], scalars: &[Scalar], out: &mut [Point]) {
        put(out, points.iter().zip(scalars).map(|(point, scalar)| own(point) * scalar));
    }

    fn multiply_generator(&self, scalars: &[Scalar], out: &mut [Point]) {
        put(out, scalars.iter().map(RistrettoPoint::mul_base));
    }

    fn multiples(&self, point: &Point) -> Multiples {
        Multiples::Library(Box::new(RistrettoBasepointTable::create(own(point))))
    }

    /// Number of products from which the tables pay: they are made with an inversion for each of 256 entries.
    fn worth_multiples(&self) -> usize {
        100
    }

    fn multiply_multiples(&self, multiples: &Multiples, scalars: &[Scalar], out: &mut [Point]) {
        match multiples {
            Multiples::Library(table) => put(out, scalars.iter().map(|scalar| &**table * scalar)),
            Multiples::Eight(_) => unreachable!("all points of a process have one form"),
        }
    }

    fn combine(&self, points: &[Point], scalars: &[Scalar]) -> Point {
        Point(Form::Library(RistrettoPoint::multiscalar_mul(scalars, points.iter().map(own))))
    }

    fn full_sum(&self) -> usize {
        8
    }

    fn combine_public(&self, points: &[Point], scalars: &[Scalar]) -> Point {
        Point(Form::Library(RistrettoPoint::vartime_multiscalar_mul(scalars, points.iter().map(own))))
    }

    /// Number of points that the sum takes at once. They fall into buckets (Pippenger): the more, the faster.
    fn combined_public(&self) -> usize {
        8192
    }

    fn encode(&self, points: &[Point], out: &mut [u8]) {
        for (bytes, point) in out.chunks_exact_mut(ENCODED_BYTES).zip(points) {
            bytes.copy_from_slice(own(point).compress().as_bytes());
        }
    }

    fn double_encode(&self, points: &[Point], out: &mut [u8]) {
        let encodings = RistrettoPoint::double_and_compress_batch(points.iter().map(own));
        for (bytes, encoding) in out.chunks_exact_mut(ENCODED_BYTES).zip(encodings) {
            bytes.copy_from_slice(encoding.as_bytes());
        }
    }

    fn decode(&self, bytes: &[[u8; ENCODED_BYTES]], out: &mut [Point]) -> Result<(), usize> {
        for (place, (bytes, out)) in bytes.iter().zip(out).enumerate() {
            out.0 = Form::Library(CompressedRistretto(*bytes).decompress().ok_or(place)?);
        }
        Ok(())
    }

    fn embed(&self, strings: &[[u8; 16]], out: &mut [Point]) {
        put(out, strings.iter().map(RistrettoPoint::lizard_encode::<Sha256>));
    }
}
