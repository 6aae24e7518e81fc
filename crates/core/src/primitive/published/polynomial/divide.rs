//! Division with remainder by a monic polynomial.

use super::module::{Module, ScalarOf, Scalars};
use super::multiply::{MultiplyStrategy, multiply};
use crate::primitive::group::ScalarField;

/// Quotient and remainder of a polynomial with elements as coefficients and a monic one with scalars, by Newton's
/// iteration (von zur Gathen & Gerhard, algorithm 9.5). The remainder has one coefficient less than the divisor.
///
/// # Panics
///
/// If the divisor is not monic.
pub fn divide<M: Module>(
    module: &M,
    strategy: MultiplyStrategy,
    dividend: &[M::Element],
    divisor: &[ScalarOf<M>],
) -> (Vec<M::Element>, Vec<M::Element>) {
    let field = module.field();
    let is_monic = divisor.last().is_some_and(|last| field.is_zero(&field.minus(last, &field.scalar(1))));
    assert!(is_monic, "divisors are monic");
    let degree = divisor.len() - 1;
    if dividend.len() <= degree {
        let mut remainder = dividend.to_vec();
        remainder.resize(degree, module.zero());
        return (Vec::new(), remainder);
    }
    let count = dividend.len() - degree;
    let reversed: Vec<_> = divisor.iter().rev().cloned().collect();
    let upper: Vec<_> = dividend.iter().rev().take(count).cloned().collect();
    let inverse = inverse(field, strategy, &reversed, count);
    let mut quotient = multiply(module, strategy, &inverse, &upper);
    quotient.truncate(count);
    quotient.reverse();
    // Of the product only what stands below the divisor's degree, which comes of what stands there in both.
    let mut product = multiply(module, strategy, &divisor[..degree], &quotient[..count.min(degree)]);
    product.truncate(degree);
    product.resize(degree, module.zero());
    let remainder = module.subtract(&dividend[..degree], &product);
    (quotient, remainder)
}

/// The first `count` coefficients of the inverse of a power series that begins with 1: each step doubles how many are
/// right (algorithm 9.3).
pub(super) fn inverse<F: ScalarField + Sync>(
    field: &F,
    strategy: MultiplyStrategy,
    series: &[F::Scalar],
    count: usize,
) -> Vec<F::Scalar> {
    let module = Scalars(field);
    let mut inverse = vec![field.scalar(1)];
    while inverse.len() < count {
        let length = count.min(2 * inverse.len());
        // g (2 - f g)
        let mut product = multiply(&module, strategy, &series[..length.min(series.len())], &inverse);
        product.resize(length, field.scalar(0));
        let mut rest: Vec<_> = product.iter().map(|coefficient| field.minus(&field.scalar(0), coefficient)).collect();
        rest[0] = field.plus(&rest[0], &field.scalar(2));
        inverse = multiply(&module, strategy, &rest, &inverse);
        inverse.truncate(length);
    }
    inverse.truncate(count);
    inverse
}
