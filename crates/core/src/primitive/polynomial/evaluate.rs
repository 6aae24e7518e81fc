//! Values of polynomials at many points.

use rayon::prelude::*;

use super::divide::divide;
use super::module::{Module, ScalarOf};
use super::multiply::{Strategy, expand};
use crate::primitive::group::ScalarField;

/// Down to so many points, a remainder is evaluated at each by itself.
pub(super) const GROUP: usize = 8;

/// The value at one point, as one sum of products with its powers.
pub fn evaluate_one<M: Module>(module: &M, polynomial: &[M::Element], point: &ScalarOf<M>) -> M::Element {
    let field = module.field();
    let powers = std::iter::successors(Some(field.scalar(1)), |power| Some(field.times(power, point)));
    module.combine(polynomial, &powers.take(polynomial.len()).collect::<Vec<_>>())
}

/// The values at points: remainders modulo the polynomials of a subproduct tree (von zur Gathen & Gerhard, algorithm 10.7).
pub fn evaluate<M: Module>(
    module: &M,
    strategy: Strategy,
    polynomial: &[M::Element],
    points: &[ScalarOf<M>],
) -> Vec<M::Element> {
    if points.len() <= GROUP {
        return points.par_iter().map(|point| evaluate_one(module, polynomial, point)).collect();
    }
    let below = |points: &[ScalarOf<M>]| {
        let divisor = expand(module.field(), strategy, points);
        let (_, remainder) = divide(module, strategy, polynomial, &divisor);
        evaluate(module, strategy, &remainder, points)
    };
    let (first, second) = points.split_at(points.len() / 2);
    let (mut first, second) = rayon::join(|| below(first), || below(second));
    first.extend(second);
    first
}

/// The values at points, which are taken in groups of `size`: the remainder modulo the polynomial of a group is evaluated at each of
/// them. (KK, algorithm 2.)
pub fn evaluate_in_groups<M: Module>(
    module: &M,
    strategy: Strategy,
    polynomial: &[M::Element],
    points: &[ScalarOf<M>],
    size: usize,
) -> Vec<M::Element> {
    let group = |points: &[ScalarOf<M>]| {
        let divisor = expand(module.field(), strategy, points);
        let (_, remainder) = divide(module, strategy, polynomial, &divisor);
        points.iter().map(|point| evaluate_one(module, &remainder, point)).collect::<Vec<_>>()
    };
    points.par_chunks(size.max(1)).flat_map_iter(group).collect()
}
