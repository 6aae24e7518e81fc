//! Groups of prime order, batch-first: every operation takes a slice and spreads it over the processors.

mod expand;
#[cfg(test)]
pub(crate) mod laws;
mod lizard;
mod modp;
mod nist;
mod ristretto255;
#[cfg(test)]
mod vectors;

use std::fmt;

use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

pub use expand::expand_message_xmd;
pub use modp::{ModP, safe_prime};
pub use nist::{P384, P521};
pub use ristretto255::{Point, Ristretto255};

/// The integers modulo a prime q, the order of a group.
///
/// A field is a value, as the group is whose scalars it has; those of two must not be mixed. Scalars may be secret:
/// they are zeroized when dropped, and cannot be printed. All operations on them take the same time whatever their
/// values.
pub trait ScalarField {
    /// An integer modulo q.
    type Scalar: Clone + Zeroize + Send + Sync;

    /// Length of an encoded scalar in bytes.
    fn scalar_bytes(&self) -> usize;

    /// Returns this integer modulo q.
    fn scalar(&self, integer: u64) -> Self::Scalar;

    /// `count` uniformly random scalars other than zero.
    fn random_scalars(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Self::Scalar>;

    /// The scalar that a message is hashed to under a domain separation tag (RFC 9497, section 4, `HashToScalar`);
    /// `None` for zero.
    fn hash_to_scalar(&self, message: &[u8], tag: &[u8]) -> Option<Self::Scalar>;

    /// `a + b`.
    fn plus(&self, a: &Self::Scalar, b: &Self::Scalar) -> Self::Scalar;

    /// `a - b`.
    fn minus(&self, a: &Self::Scalar, b: &Self::Scalar) -> Self::Scalar;

    /// `a * b`.
    fn times(&self, a: &Self::Scalar, b: &Self::Scalar) -> Self::Scalar;

    /// Whether it is zero.
    fn is_zero(&self, scalar: &Self::Scalar) -> bool;

    /// The inverse of each scalar. None of them may be zero.
    fn invert(&self, scalars: &[Self::Scalar]) -> Vec<Self::Scalar>;

    /// A root of unity of order `2^log2`, always the same; none if q - 1 is no multiple of that.
    fn root_of_unity(&self, log2: u32) -> Option<Self::Scalar>;

    /// The encoding of a scalar.
    fn encode_scalar(&self, scalar: &Self::Scalar) -> Zeroizing<Vec<u8>>;

    /// The scalar that `bytes` canonically encode; `None` if they don't, or if it is zero.
    fn decode_scalar(&self, bytes: &[u8]) -> Option<Self::Scalar>;
}

/// A group of prime order q in which the decisional Diffie-Hellman problem is assumed to be hard, written additively,
/// and the integers modulo q.
///
/// A group is a value, for there are families whose members are made at run time; points of two members must not be
/// mixed. They may be secret, as scalars may: they are zeroized when dropped, and cannot be printed. All operations on
/// them take the same time whatever their values.
pub trait Group: ScalarField {
    /// An element of the group.
    type Point: Clone + Zeroize + Send + Sync;

    /// A point made ready to be multiplied often. It may be kept in memory that nobody wipes, so the point is one that
    /// everybody may know, such as a public key; the scalars may be secret.
    type Base: Clone + Send + Sync;

    /// Length of an encoded point in bytes.
    fn point_bytes(&self) -> usize;

    /// The point that each message is hashed to under a domain separation tag of at most 255 bytes (RFC 9497, section
    /// 4, `HashToGroup`): indistinguishable from a random oracle, with unknown discrete logarithms.
    fn hash_to_points<M: AsRef<[u8]> + Sync>(&self, messages: &[M], tag: &[u8]) -> Vec<Self::Point>;

    /// `count` uniformly random points: the hashes of random words, where a group has no faster way. Nobody knows their
    /// discrete logarithms.
    fn random_points(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Self::Point> {
        let mut words = Zeroizing::new(vec![[0; 64]; count]);
        words.iter_mut().for_each(|word| rng.fill_bytes(word));
        self.hash_to_points(&words, b"tacita 1 random points")
    }

    /// The sums of the points that stand in the same place. The slices must be equally long.
    fn add(&self, points: &[Self::Point], others: &[Self::Point]) -> Vec<Self::Point>;

    /// The differences of the points that stand in the same place. The slices must be equally long.
    fn subtract(&self, points: &[Self::Point], others: &[Self::Point]) -> Vec<Self::Point>;

    /// Whether any of the points is the identity.
    fn any_identity(&self, points: &[Self::Point]) -> bool;

    /// `scalar * point` for each point.
    fn multiply(&self, points: &[Self::Point], scalar: &Self::Scalar) -> Vec<Self::Point>;

    /// `scalar * generator` for each scalar.
    fn multiply_generator(&self, scalars: &[Self::Scalar]) -> Vec<Self::Point>;

    /// The encodings of `scalar * point` for each point, one after the other. Faster than multiplying and encoding.
    fn multiply_encode(&self, points: &[Self::Point], scalar: &Self::Scalar) -> Vec<u8>;

    /// Multiplies and encodes as [`Group::multiply_encode`] does, with a scalar for each point. The slices must be
    /// equally long.
    fn multiply_each_encode(&self, points: &[Self::Point], scalars: &[Self::Scalar]) -> Vec<u8>;

    /// The products of the points and the scalars that stand in the same place. The slices must be equally long.
    fn multiply_each(&self, points: &[Self::Point], scalars: &[Self::Scalar]) -> Vec<Self::Point>;

    /// `scalar * point` for one point and each scalar. The point may be made ready, as for [`Group::base`]: it is one
    /// that everybody may know.
    fn multiply_one(&self, point: &Self::Point, scalars: &[Self::Scalar]) -> Vec<Self::Point>;

    /// Makes a point ready to be multiplied often. That takes the time of some tens of products.
    fn base(&self, point: &Self::Point) -> Self::Base;

    /// Multiplies as [`Group::multiply_one`] does, for a point that has been made ready.
    fn multiply_base(&self, base: &Self::Base, scalars: &[Self::Scalar]) -> Vec<Self::Point>;

    /// The sum of all products of the points and the scalars that stand in the same place: the identity of none. The
    /// slices must be equally long. Faster than multiplying each and adding.
    fn combine(&self, points: &[Self::Point], scalars: &[Self::Scalar]) -> Self::Point;

    /// Number of products from which on [`Group::combine`] takes nearly its least time for each, so that replacing sums
    /// by shorter ones no longer pays. Strategies for multiplying polynomials stop there. Measured by the program
    /// `polynomials`, as the number of coefficients up to which sums take no longer than Karatsuba's three products of
    /// half the size.
    fn full_sum(&self) -> usize {
        8
    }

    /// Combines as [`Group::combine`] does, in a time that depends on points and scalars: for inputs that everybody may
    /// know.
    fn combine_public(&self, points: &[Self::Point], scalars: &[Self::Scalar]) -> Self::Point {
        self.combine(points, scalars)
    }

    /// The encodings of twice each point, one after the other. Faster than encoding the points themselves.
    fn double_encode(&self, points: &[Self::Point]) -> Vec<u8>;

    /// The points' encodings, one after the other.
    fn encode(&self, points: &[Self::Point]) -> Vec<u8>;

    /// The points whose encodings follow each other in `bytes`. Only canonical encodings of points other than the
    /// identity are accepted. Takes memory for as many points as there are bytes, whatever anybody claims.
    fn decode(&self, bytes: &[u8]) -> Result<Vec<Self::Point>, DecodeError>;
}

/// A group in whose points short strings can be written, so that whoever has the point can read them.
pub trait Embedding: Group {
    /// Number of bytes that a point holds.
    const EMBEDDED_BYTES: usize;

    /// The point of each string of [`Embedding::EMBEDDED_BYTES`] bytes that follow each other in `bytes`: no two
    /// strings have the same, and none has the identity. The length must be a multiple. In the same time whatever the
    /// strings are.
    fn embed(&self, bytes: &[u8]) -> Vec<Self::Point>;

    /// The string of each point; none of a point that no string has.
    fn unembed(&self, points: &[Self::Point]) -> Vec<Option<Zeroizing<Vec<u8>>>>;
}

/// Reason why bytes are not a list of encoded points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// Their number is no multiple of an encoding's length.
    Length,
    /// The encoding at this index is not the canonical one of any point.
    NotAPoint(usize),
    /// The encoding at this index is the identity's.
    Identity(usize),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Length => f.write_str("does not hold a whole number of points"),
            DecodeError::NotAPoint(index) => write!(f, "holds no valid point at index {index}"),
            DecodeError::Identity(index) => write!(f, "holds the identity at index {index}"),
        }
    }
}
