//! A group that counts what it multiplies.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand_core::CryptoRng;
use tacita_core::primitive::group::{DecodeError, Embedding, Group, ScalarField};
use zeroize::Zeroizing;

/// Another group, how many points have been multiplied by scalars in it, and how many more in sums that are computed at
/// once.
pub struct Counting<G> {
    group: G,
    products: AtomicUsize,
    summed: AtomicUsize,
}

impl<G> Counting<G> {
    pub fn new(group: G) -> Counting<G> {
        Counting { group, products: AtomicUsize::new(0), summed: AtomicUsize::new(0) }
    }

    /// Returns the number of products since the last call: alone, and in sums.
    pub fn take(&self) -> [usize; 2] {
        [&self.products, &self.summed].map(|counter| counter.swap(0, Ordering::Relaxed))
    }

    fn count(&self, products: usize) {
        self.products.fetch_add(products, Ordering::Relaxed);
    }
}

impl<G: Group> ScalarField for Counting<G> {
    type Scalar = G::Scalar;

    fn scalar_bytes(&self) -> usize {
        self.group.scalar_bytes()
    }

    fn scalar(&self, integer: u64) -> G::Scalar {
        self.group.scalar(integer)
    }

    fn random_scalars(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<G::Scalar> {
        self.group.random_scalars(count, rng)
    }

    fn hash_to_scalar(&self, message: &[u8], tag: &[u8]) -> Option<G::Scalar> {
        self.group.hash_to_scalar(message, tag)
    }

    fn plus(&self, a: &G::Scalar, b: &G::Scalar) -> G::Scalar {
        self.group.plus(a, b)
    }

    fn minus(&self, a: &G::Scalar, b: &G::Scalar) -> G::Scalar {
        self.group.minus(a, b)
    }

    fn times(&self, a: &G::Scalar, b: &G::Scalar) -> G::Scalar {
        self.group.times(a, b)
    }

    fn is_zero(&self, scalar: &G::Scalar) -> bool {
        self.group.is_zero(scalar)
    }

    fn invert(&self, scalars: &[G::Scalar]) -> Vec<G::Scalar> {
        self.group.invert(scalars)
    }

    fn root_of_unity(&self, log2: u32) -> Option<G::Scalar> {
        self.group.root_of_unity(log2)
    }

    fn encode_scalar(&self, scalar: &G::Scalar) -> Zeroizing<Vec<u8>> {
        self.group.encode_scalar(scalar)
    }

    fn decode_scalar(&self, bytes: &[u8]) -> Option<G::Scalar> {
        self.group.decode_scalar(bytes)
    }
}

impl<G: Group> Group for Counting<G> {
    type Point = G::Point;
    type Base = G::Base;

    fn point_bytes(&self) -> usize {
        self.group.point_bytes()
    }

    fn hash_to_points<M: AsRef<[u8]> + Sync>(&self, messages: &[M], tag: &[u8]) -> Vec<G::Point> {
        self.group.hash_to_points(messages, tag)
    }

    fn random_points(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<G::Point> {
        self.group.random_points(count, rng)
    }

    fn add(&self, points: &[G::Point], others: &[G::Point]) -> Vec<G::Point> {
        self.group.add(points, others)
    }

    fn subtract(&self, points: &[G::Point], others: &[G::Point]) -> Vec<G::Point> {
        self.group.subtract(points, others)
    }

    fn any_identity(&self, points: &[G::Point]) -> bool {
        self.group.any_identity(points)
    }

    fn multiply(&self, points: &[G::Point], scalar: &G::Scalar) -> Vec<G::Point> {
        self.count(points.len());
        self.group.multiply(points, scalar)
    }

    fn multiply_generator(&self, scalars: &[G::Scalar]) -> Vec<G::Point> {
        self.count(scalars.len());
        self.group.multiply_generator(scalars)
    }

    fn multiply_encode(&self, points: &[G::Point], scalar: &G::Scalar) -> Vec<u8> {
        self.count(points.len());
        self.group.multiply_encode(points, scalar)
    }

    fn multiply_each_encode(&self, points: &[G::Point], scalars: &[G::Scalar]) -> Vec<u8> {
        self.count(points.len());
        self.group.multiply_each_encode(points, scalars)
    }

    fn multiply_each(&self, points: &[G::Point], scalars: &[G::Scalar]) -> Vec<G::Point> {
        self.count(points.len());
        self.group.multiply_each(points, scalars)
    }

    fn multiply_one(&self, point: &G::Point, scalars: &[G::Scalar]) -> Vec<G::Point> {
        self.count(scalars.len());
        self.group.multiply_one(point, scalars)
    }

    fn base(&self, point: &G::Point) -> G::Base {
        self.group.base(point)
    }

    fn multiply_base(&self, base: &G::Base, scalars: &[G::Scalar]) -> Vec<G::Point> {
        self.count(scalars.len());
        self.group.multiply_base(base, scalars)
    }

    fn combine(&self, points: &[G::Point], scalars: &[G::Scalar]) -> G::Point {
        self.summed.fetch_add(points.len(), Ordering::Relaxed);
        self.group.combine(points, scalars)
    }

    fn combine_public(&self, points: &[G::Point], scalars: &[G::Scalar]) -> G::Point {
        self.summed.fetch_add(points.len(), Ordering::Relaxed);
        self.group.combine_public(points, scalars)
    }

    fn double_encode(&self, points: &[G::Point]) -> Vec<u8> {
        self.group.double_encode(points)
    }

    fn encode(&self, points: &[G::Point]) -> Vec<u8> {
        self.group.encode(points)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<G::Point>, DecodeError> {
        self.group.decode(bytes)
    }
}

impl<G: Embedding> Embedding for Counting<G> {
    const EMBEDDED_BYTES: usize = G::EMBEDDED_BYTES;

    fn embed(&self, bytes: &[u8]) -> Vec<G::Point> {
        self.group.embed(bytes)
    }

    fn unembed(&self, points: &[G::Point]) -> Vec<Option<Zeroizing<Vec<u8>>>> {
        self.group.unembed(points)
    }
}
