//! Encryption from ring learning with errors (Lyubashevsky, Peikert & Regev, EUROCRYPT 2010): polynomials modulo X^N +
//! 1 and a product q of primes, with small secrets and errors.
//!
//! A ciphertext (c0, c1) has the phase c0 + c1 s = message + error, where the message is a multiple of q / t (Fan &
//! Vercauteren, "Somewhat practical fully homomorphic encryption", 2012). It can be added to others and multiplied with
//! known polynomials. What a ciphertext that was computed with tells of those polynomials is for its protocol to hide:
//! whoever has the secret key reads the error, and knows the c1 that it has sent.

mod keys;
mod pack;
mod ring;
mod sample;
mod switch;
mod wide;

pub(crate) use keys::RlwePublicKey;
pub use keys::RlweSecretKey;
pub use pack::{pack, packed_bytes, unpack};
pub use ring::Ring;
pub(crate) use ring::{MIN_PRIME_BITS, most_modulus_bits, prime_at_least};
pub(crate) use sample::{ERROR_BOUND, Flood};
pub use sample::{Uniform, errors, ternary};
pub use switch::Switch;
pub(crate) use wide::{FractionReader, add, at_least, divide, multiply, power, shift_right};

/// The degrees N for which there are parameters.
pub(crate) const DEGREES: [usize; 5] = [2048, 4096, 8192, 16384, 32768];
