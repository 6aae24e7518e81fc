//! `polynomial`: intersection of two sets as the roots of encrypted polynomials.
//!
//! The receiver (KK's client) makes the polynomial φ that has its items as roots, and sends it encrypted under a key of
//! its own. The sender (the server) makes ψ of its own items, draws γ1 of ψ's degree and γ2 of φ's, and answers an
//! encryption of h = γ1 φ + γ2 ψ: what both have as a root, times a uniformly random polynomial. The receiver decrypts
//! h "in the exponent" and looks which of its items are roots. Kissner & Song, "Privacy-preserving set operations"
//! (CRYPTO 2005), lemma 2 and section 5, for two parties as Kim & Kim, "An experimental study of encrypted polynomial
//! arithmetics for private set operations" (KK), section II.B.
//!
//! To reveal a count alone, the sender evaluates φ at its own items instead, each value times a random number, and
//! answers in random order: Kissner & Song's cardinality protocol, which for two parties is that of Freedman, Nissim &
//! Pinkas, "Efficient private matching and set intersection" (EUROCRYPT 2004), section 4.3.
//!
//! A fresh encryption of zero is added to all that the sender answers. Without, the receiver would divide the
//! randomness of the answers by its own, have γ1 at any point, and so test any item for being a root of ψ.
//!
//! Semi-honest parties only: nothing proves that what the receiver sends is a polynomial of its set.
//!
//! Work grows faster than the sets. In bins, into which both put their items by a public hash, and which both fill up
//! with random items to a bound ([`Params`]), it grows as they do. What each role learns, and why, is in
//! `docs/protocols/polynomial.md`.

pub(in crate::protocol) mod bins;
pub(in crate::protocol) mod cost;
pub mod count;
pub(in crate::protocol) mod form;
pub(in crate::protocol) mod group;
pub(in crate::protocol) mod messages;
mod params;
pub mod rows;
#[cfg(test)]
mod tests;
pub(in crate::protocol) mod values;

pub use crate::protocol::published::labels::polynomial::{ANSWERS, POLYNOMIALS, PUBLIC_KEY};
pub(crate) use cost::PolynomialCost;
pub use group::Curve;
pub(in crate::protocol) use params::{CHUNK, frames};
pub use params::{MAX_BINS, Params, PolynomialRequest, PolynomialReveal, Strategy};
