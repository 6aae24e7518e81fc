//! Eight points of ristretto255 at a time: sums, products with scalars, encodings, and the map that hashes to points.
//!
//! All is written over vectors of eight words ([`vector`]), in [`field`], [`point`], [`ristretto`] and [`multiply`],
//! and compiled for AVX-512 and for AVX2, which differ in how residues are multiplied ([`fused`], [`doubles`]).
//! Processors without either are better off with a library that works on one point at a time ([`is_fast`]). Plain words
//! are there for tests of the field, which give the same limbs.
//!
//! What is computed on vectors is inlined into functions that are compiled for the processor's features. A closure that
//! is handed to an iterator is not, so that whatever computes is in loops.
//!
//! Slices are worked on eight elements after the other, on one thread; what is left at their end is filled up. Nothing
//! here branches on a point or a scalar, but for what is returned: whether bytes are encodings, and whether a point is
//! the identity. No address depends on one.

mod buckets;
pub(super) mod doubles;
pub(super) mod field;
pub(super) mod fused;
mod multiply;
mod point;
mod ristretto;
#[cfg(test)]
mod tests;
pub(super) mod vector;

use super::backend::{Backend, Family};
#[cfg(target_arch = "x86_64")]
use super::x86;
use field::Field;
use multiply::Multiples;
pub(crate) use multiply::SCALAR_BYTES;
pub(crate) use point::Extended;
use point::Points;
use ristretto::Doubling;
use vector::{LANES, Vector};

/// Length of an encoded point in bytes.
pub(crate) const POINT_BYTES: usize = 32;

/// Length of what is mapped to a point, in bytes.
pub(crate) const UNIFORM_BYTES: usize = 64;

/// Whether the back end has a form that is worth its while.
pub(crate) fn is_fast(backend: Backend) -> bool {
    matches!(backend.family(), Family::Avx2 | Family::Avx512)
}

/// Computation on vectors of any kind. Its `run` has to be inlined, so that it is compiled for the processor's
/// features.
pub(super) trait Work {
    /// Result of the computation.
    type Output;

    /// Runs the computation on one kind of vectors.
    fn run<V: Vector>(self) -> Self::Output;
}

fn run<W: Work>(backend: Backend, work: W) -> W::Output {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = work;
    match backend.family() {
        // SAFETY: the processor has what the back end needs.
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => unsafe { x86::edwards::run(work) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Family::Avx2 => unsafe { x86::edwards_avx2::run(work) },
        _ => unreachable!("it is asked for only where it is fast"),
    }
}

/// The products of points and scalars, which are numbers below 2^253. The slices must be equally long.
pub(crate) fn multiply(backend: Backend, points: &[Extended], scalars: &[[u8; SCALAR_BYTES]], out: &mut [Extended]) {
    struct Product<'a>(&'a [Extended], &'a [[u8; SCALAR_BYTES]], &'a mut [Extended]);
    impl Work for Product<'_> {
        type Output = ();

        #[inline(always)]
        fn run<V: Vector>(self) {
            let eights = self.0.chunks(LANES).zip(self.1.chunks(LANES)).zip(self.2.chunks_mut(LANES));
            for ((points, scalars), out) in eights {
                multiply::products(Points::<V>::pack(points), scalars.iter()).unpack(out);
            }
        }
    }
    assert!(points.len() == scalars.len() && points.len() == out.len(), "every point has its scalar");
    run(backend, Product(points, scalars, out));
}

/// The sum of the products of points and scalars, which are below 2^`bits`, and that at most 2^253. The slices must be
/// equally long.
pub(crate) fn combine(backend: Backend, points: &[Extended], scalars: &[[u8; SCALAR_BYTES]], bits: u32) -> Extended {
    struct Sum<'a>(&'a [Extended], &'a [[u8; SCALAR_BYTES]], u32);
    impl Work for Sum<'_> {
        type Output = Extended;

        #[inline(always)]
        fn run<V: Vector>(self) -> Extended {
            let mut lanes = [Extended::IDENTITY; LANES];
            multiply::sums::<V>(self.0, self.1, self.2).unpack(&mut lanes);
            let mut width = LANES;
            while width > 1 {
                width /= 2;
                let (low, high) = lanes.split_at_mut(width);
                Points::<V>::pack(low).plus(&Points::pack(&high[..width]).addends()).unpack(low);
            }
            lanes[0]
        }
    }
    assert_eq!(points.len(), scalars.len(), "every point has its scalar");
    run(backend, Sum(points, scalars, bits))
}

/// The same sum, in a time that depends on the scalars.
pub(crate) fn combine_public(
    backend: Backend,
    points: &[Extended],
    scalars: &[[u8; SCALAR_BYTES]],
    bits: u32,
) -> Extended {
    struct Sum<'a>(&'a [Extended], &'a [[u8; SCALAR_BYTES]], u32);
    impl Work for Sum<'_> {
        type Output = Extended;

        #[inline(always)]
        fn run<V: Vector>(self) -> Extended {
            buckets::sum::<V>(self.0, self.1, self.2)
        }
    }
    assert_eq!(points.len(), scalars.len(), "every point has its scalar");
    if points.len() < buckets::MIN_POINTS {
        combine(backend, points, scalars, bits)
    } else {
        run(backend, Sum(points, scalars, bits))
    }
}

/// A point that is multiplied by many scalars.
pub(crate) struct Table {
    multiples: Multiples,
    backend: Backend,
}

impl Table {
    /// Computes the multiples of the point: as much work as some twenty products.
    pub(crate) fn new(backend: Backend, point: &Extended) -> Table {
        struct Make<'a>(&'a Extended);
        impl Work for Make<'_> {
            type Output = Multiples;

            #[inline(always)]
            fn run<V: Vector>(self) -> Multiples {
                Multiples::of::<V>(self.0)
            }
        }
        Table { multiples: run(backend, Make(point)), backend }
    }

    /// The products with scalars below 2^253. The slices must be equally long.
    pub(crate) fn multiply(&self, scalars: &[[u8; SCALAR_BYTES]], out: &mut [Extended]) {
        struct Product<'a>(&'a Multiples, &'a [[u8; SCALAR_BYTES]], &'a mut [Extended]);
        impl Work for Product<'_> {
            type Output = ();

            #[inline(always)]
            fn run<V: Vector>(self) {
                for (scalars, out) in self.1.chunks(LANES).zip(self.2.chunks_mut(LANES)) {
                    self.0.products::<V>(scalars.iter()).unpack(out);
                }
            }
        }
        assert_eq!(scalars.len(), out.len(), "every scalar has its product");
        run(self.backend, Product(&self.multiples, scalars, out));
    }
}

/// Operation on two lists of points: addition or subtraction.
#[derive(Clone, Copy)]
pub(crate) enum Sign {
    /// The others are added.
    Plus,
    /// The others are taken away.
    Minus,
}

/// The sums, or differences, of the points that stand in the same place. The slices must be equally long.
pub(crate) fn add(backend: Backend, sign: Sign, points: &[Extended], others: &[Extended], out: &mut [Extended]) {
    struct Sum<'a>(Sign, &'a [Extended], &'a [Extended], &'a mut [Extended]);
    impl Work for Sum<'_> {
        type Output = ();

        #[inline(always)]
        fn run<V: Vector>(self) {
            let eights = self.1.chunks(LANES).zip(self.2.chunks(LANES)).zip(self.3.chunks_mut(LANES));
            let mask = V::all(if let Sign::Minus = self.0 { u64::MAX } else { 0 });
            for ((points, others), out) in eights {
                let others = Points::<V>::pack(others).addends().negated_where(mask);
                Points::pack(points).plus(&others).unpack(out);
            }
        }
    }
    assert!(points.len() == others.len() && points.len() == out.len(), "every point has another one");
    run(backend, Sum(sign, points, others, out));
}

/// Whether any point is the identity.
pub(crate) fn any_identity(backend: Backend, points: &[Extended]) -> bool {
    struct Look<'a>(&'a [Extended]);
    impl Work for Look<'_> {
        type Output = bool;

        #[inline(always)]
        fn run<V: Vector>(self) -> bool {
            let mut found = V::all(0);
            for points in self.0.chunks(LANES) {
                // What fills up the last vector is no identity.
                let mut lanes = [points[0]; LANES];
                lanes[..points.len()].copy_from_slice(points);
                found = found.or(Points::<V>::pack(&lanes).is_identity());
            }
            found.store().iter().any(|mask| *mask != 0)
        }
    }
    run(backend, Look(points))
}

/// The points that are canonically encoded; where the bytes are no encoding, the place of the first that is none.
pub(crate) fn decode(backend: Backend, bytes: &[[u8; POINT_BYTES]], out: &mut [Extended]) -> Result<(), usize> {
    struct Decode<'a>(&'a [[u8; POINT_BYTES]], &'a mut [Extended]);
    impl Work for Decode<'_> {
        type Output = Result<(), usize>;

        #[inline(always)]
        fn run<V: Vector>(self) -> Result<(), usize> {
            for (place, (bytes, out)) in self.0.chunks(LANES).zip(self.1.chunks_mut(LANES)).enumerate() {
                let identity = [0; POINT_BYTES];
                let mut lanes = [&identity; LANES];
                for (lane, bytes) in lanes.iter_mut().zip(bytes) {
                    *lane = bytes;
                }
                let (points, are_points) = Points::<V>::decode(lanes);
                if let Some(wrong) = are_points.store().iter().position(|mask| *mask == 0) {
                    return Err(place * LANES + wrong);
                }
                points.unpack(out);
            }
            Ok(())
        }
    }
    assert_eq!(bytes.len(), out.len(), "every encoding has its point");
    run(backend, Decode(bytes, out))
}

/// The points' encodings. The slices must be equally long.
pub(crate) fn encode(backend: Backend, points: &[Extended], out: &mut [[u8; POINT_BYTES]]) {
    struct Encode<'a>(&'a [Extended], &'a mut [[u8; POINT_BYTES]]);
    impl Work for Encode<'_> {
        type Output = ();

        #[inline(always)]
        fn run<V: Vector>(self) {
            for (points, out) in self.0.chunks(LANES).zip(self.1.chunks_mut(LANES)) {
                put(Points::<V>::pack(points).encode(), out);
            }
        }
    }
    assert_eq!(points.len(), out.len(), "every point has its encoding");
    run(backend, Encode(points, out));
}

/// Vectors of points that share an inversion.
const INVERTED: usize = 32;

/// The encodings of twice each point, which take less time. The slices must be equally long.
pub(crate) fn double_encode(backend: Backend, points: &[Extended], out: &mut [[u8; POINT_BYTES]]) {
    struct Encode<'a>(&'a [Extended], &'a mut [[u8; POINT_BYTES]]);
    impl Work for Encode<'_> {
        type Output = ();

        #[inline(always)]
        fn run<V: Vector>(self) {
            let parts = self.0.chunks(INVERTED * LANES).zip(self.1.chunks_mut(INVERTED * LANES));
            for (points, out) in parts {
                let (mut doublings, mut products) = (Vec::with_capacity(INVERTED), Vec::with_capacity(INVERTED));
                for points in points.chunks(LANES) {
                    let doubling = Points::<V>::pack(points).doubling();
                    products.push(doubling.product);
                    doublings.push(doubling);
                }
                let mut inverses: Vec<Field<V>> = multiply::inverses(&products);
                for ((doubling, inverse), out) in doublings.iter().zip(&inverses).zip(out.chunks_mut(LANES)) {
                    put(doubling.encode(*inverse), out);
                }
                multiply::wipe(&mut doublings, Doubling::none());
                multiply::wipe(&mut products, Field::zero());
                multiply::wipe(&mut inverses, Field::zero());
            }
        }
    }
    assert_eq!(points.len(), out.len(), "every point has its encoding");
    run(backend, Encode(points, out));
}

/// The points that uniformly random bytes are mapped to (RFC 9496, section 4.3.4). The slices must be equally long.
pub(crate) fn map(backend: Backend, bytes: &[[u8; UNIFORM_BYTES]], out: &mut [Extended]) {
    struct Map<'a>(&'a [[u8; UNIFORM_BYTES]], &'a mut [Extended]);
    impl Work for Map<'_> {
        type Output = ();

        #[inline(always)]
        fn run<V: Vector>(self) {
            for (bytes, out) in self.0.chunks(LANES).zip(self.1.chunks_mut(LANES)) {
                let mut halves = [[[0; POINT_BYTES]; LANES]; 2];
                for (lane, bytes) in bytes.iter().enumerate() {
                    for (half, bytes) in halves.iter_mut().zip(bytes.as_chunks().0) {
                        half[lane] = *bytes;
                    }
                }
                let [low, high] = halves;
                // The highest bit counts for nothing here, and bytes need not be canonical.
                let (low, _) = Field::<V>::decode(low.each_ref());
                let (high, _) = Field::<V>::decode(high.each_ref());
                Points::map(low).plus(&Points::map(high).addends()).unpack(out);
            }
        }
    }
    assert_eq!(bytes.len(), out.len(), "all bytes have their point");
    run(backend, Map(bytes, out));
}

/// The points that residues are mapped to (RFC 9496, section 4.3.4, `MAP`), of 32 bytes each, of which the highest bit
/// counts for nothing. The slices must be equally long.
pub(crate) fn map_residues(backend: Backend, bytes: &[[u8; POINT_BYTES]], out: &mut [Extended]) {
    struct Map<'a>(&'a [[u8; POINT_BYTES]], &'a mut [Extended]);
    impl Work for Map<'_> {
        type Output = ();

        #[inline(always)]
        fn run<V: Vector>(self) {
            for (bytes, out) in self.0.chunks(LANES).zip(self.1.chunks_mut(LANES)) {
                let mut lanes = [[0; POINT_BYTES]; LANES];
                lanes[..bytes.len()].copy_from_slice(bytes);
                Points::map(Field::<V>::decode(lanes.each_ref()).0).unpack(out);
            }
        }
    }
    assert_eq!(bytes.len(), out.len(), "all bytes have their point");
    run(backend, Map(bytes, out));
}

/// Words of encodings, as bytes.
fn put(words: [[u64; LANES]; 4], out: &mut [[u8; POINT_BYTES]]) {
    for (lane, bytes) in out.iter_mut().enumerate() {
        for (word, bytes) in words.iter().zip(bytes.as_chunks_mut::<8>().0) {
            *bytes = word[lane].to_le_bytes();
        }
    }
}
