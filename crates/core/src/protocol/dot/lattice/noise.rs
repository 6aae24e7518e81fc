//! Bounds for the size of errors, and the flood that hides them. The derivation is in `docs/protocols/lattice.md`.

use crate::primitive::rlwe::{self, ERROR_BOUND, Flood};
use crate::security::Chance;

/// The error of a coefficient that comes from writing one digit as a multiple of q over a power of the base.
pub(super) const ROUNDING: u64 = 2;

/// sigma: numbers that are flooded with 2^sigma times their bound differ in distribution by 2^-(sigma + 1) at most, and
/// all outputs together by [`Chance::Mask`].
pub(super) const FLOOD_BITS: u32 = Chance::Mask.bits() - 1;

/// Quantities that decide about the noise of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Noise {
    /// Degree N of the ring.
    pub degree: usize,
    /// Rows of a column.
    pub rows: usize,
    /// The answerer's columns in one polynomial.
    pub others: usize,
    /// Columns of the encryptor in one number.
    pub digits: usize,
    /// The largest absolute value in the answerer's columns.
    pub largest: u64,
    /// Number of answers in all.
    pub answers: usize,
}

impl Noise {
    /// The bound B for the error of an answer's output before it is flooded, for all inputs and all errors that can be:
    ///
    /// B = (21 + 2k) Y n c' + 21 (2N + 1) + 2.
    ///
    /// Each coefficient of a ciphertext has an error of 21 at most, and k digits that are rounded. It is multiplied with the
    /// answerer's numbers, n in each of c' columns, of at most Y. A fresh encryption of zero has the error e u + e' + e'' s,
    /// with u and s of coefficients -1, 0 and 1. Writing the share is the last error. `None` if B is 2^128 or more.
    pub(crate) fn bound(&self) -> Option<u128> {
        let each = u128::from(ERROR_BOUND) + u128::from(ROUNDING) * self.digits as u128;
        let numbers = (self.rows as u128).checked_mul(self.others as u128)?;
        let products = each.checked_mul(u128::from(self.largest))?.checked_mul(numbers)?;
        products.checked_add(u128::from(ERROR_BOUND) * (2 * self.degree as u128 + 1) + u128::from(ROUNDING))
    }

    /// The flood: uniform from -F to F - 1 with F at least B 2^sigma N times the number of answers. It hides B in each
    /// of at most N outputs of all answers, but for a statistical distance of 2^-41 for all of them together.
    pub(crate) fn flood(&self) -> Option<Flood> {
        let number = self.bound()?.checked_mul(self.answers.max(1) as u128)?;
        Some(Flood::at_least(number, FLOOD_BITS + self.degree.ilog2()))
    }
}

/// Whether outputs are read without an error, always: 2 t (F + B + P (N + 2)) < q, for a plaintext modulus t and a
/// factor P of q by which answers are divided. Dividing adds an error of (N + 1) / 2 at most for every prime, which the
/// next one makes small, and reading one below 1.
pub(crate) fn decodes(noise: &Noise, plaintext: &[u64], modulus: &[u64], divisor: &[u64]) -> bool {
    let (Some(bound), Some(flood)) = (noise.bound(), noise.flood()) else {
        return false;
    };
    let bound = [bound as u64, (bound >> 64) as u64];
    let rounding = rlwe::multiply(divisor, &[noise.degree as u64 + 2]);
    let error = rlwe::add(&rlwe::add(&flood.bound(), &bound), &rounding);
    let needed = rlwe::multiply(&rlwe::multiply(plaintext, &[2]), &error);
    !rlwe::at_least(&needed, modulus)
}
