//! Values of polynomials at many points.

use crate::parallel;
use std::ops::Range;

use super::correlate::correlate;
use super::divide::{divide, inverse};
use super::module::{Module, ScalarOf, Scalars};
use super::multiply::{MultiplyStrategy, expand, multiply};
use crate::primitive::group::ScalarField;

/// Down to so many points, each value is one sum of products.
pub(super) const GROUP: usize = 16;

/// The value at one point, as one sum of products with its powers.
pub fn evaluate_one<M: Module>(module: &M, polynomial: &[M::Element], point: &ScalarOf<M>) -> M::Element {
    let field = module.field();
    let powers = std::iter::successors(Some(field.scalar(1)), |power| Some(field.times(power, point)));
    module.combine(polynomial, &powers.take(polynomial.len()).collect::<Vec<_>>())
}

/// The values at points, by the transpose of adding up fractions in a tree: middle products with the polynomials of
/// halves of the points. (Bostan, Lecerf & Schost, "Tellegen's principle into practice", ISSAC 2003, section 5.)
pub fn evaluate<M: Module>(
    module: &M,
    strategy: MultiplyStrategy,
    polynomial: &[M::Element],
    points: &[ScalarOf<M>],
) -> Vec<M::Element> {
    evaluate_and_tell(module, strategy, polynomial, points, &|_| ())
}

/// The same; `done` is told how many values are there, again and again.
pub(crate) fn evaluate_and_tell<M: Module>(
    module: &M,
    strategy: MultiplyStrategy,
    polynomial: &[M::Element],
    points: &[ScalarOf<M>],
    done: &(impl Fn(usize) + Sync),
) -> Vec<M::Element> {
    if points.len() <= GROUP {
        let values = parallel::map(points, 1, |point| evaluate_one(module, polynomial, point));
        done(points.len());
        return values;
    }
    // Trees of more points than there are coefficients would gain nothing.
    let most = polynomial.len().max(GROUP);
    if points.len() > most {
        let some = |range| evaluate_and_tell(module, strategy, polynomial, &points[range], done);
        return parallel::ranges(points.len(), most, some).concat();
    }
    let own = MultiplyStrategy::fastest(&Scalars(module.field()), points.len(), points.len());
    let tree = Tree::new(module.field(), own, points);
    let inverse = inverse(module.field(), own, &tree.product, polynomial.len());
    let sums = correlate(module, strategy, &inverse, polynomial, points.len());
    tree.descend(module, strategy, sums, done)
}

/// The values at points by one level of remainders: of the polynomial by the product over each `size` of the points,
/// found in steps of as many coefficients, whose values are sums of products. (KK, algorithm 2; for comparison, since
/// [`evaluate`] takes less.)
pub fn evaluate_in_groups<M: Module>(
    module: &M,
    strategy: MultiplyStrategy,
    polynomial: &[M::Element],
    points: &[ScalarOf<M>],
    size: usize,
) -> Vec<M::Element> {
    let size = size.max(1);
    let values = |range: Range<usize>| {
        let points = &points[range];
        let divisor = expand(module.field(), strategy, points);
        let step = |rest: Vec<M::Element>, low: &[M::Element]| {
            divide(module, strategy, &[low, &rest[..]].concat(), &divisor).1
        };
        let remainder = polynomial.chunks(size).rev().fold(Vec::new(), step);
        parallel::map(points, 1, |point| evaluate_one(module, &remainder, point))
    };
    parallel::ranges(points.len(), size, values).concat()
}

/// The product of 1 - p x over some points p, and the halves that it is the product of.
struct Tree<F: ScalarField> {
    product: Vec<F::Scalar>,
    below: Below<F>,
}

enum Below<F: ScalarField> {
    Halves(Box<[Tree<F>; 2]>),
    /// For each of few points the product over all others.
    Others(Vec<Vec<F::Scalar>>),
}

impl<F: ScalarField + Sync> Tree<F> {
    fn new(field: &F, strategy: MultiplyStrategy, points: &[F::Scalar]) -> Tree<F> {
        if points.len() > GROUP {
            let (first, second) = points.split_at(points.len() / 2);
            let half = |points| move || Tree::new(field, strategy, points);
            let (first, second) = rayon::join(half(first), half(second));
            let product = multiply(&Scalars(field), strategy, &first.product, &second.product);
            return Tree { product, below: Below::Halves(Box::new([first, second])) };
        }
        let product = |points: &[F::Scalar]| {
            let mut product = expand(field, MultiplyStrategy::Schoolbook, points);
            product.reverse();
            product
        };
        let others = |place: usize| product(&[&points[..place], &points[place + 1..]].concat());
        Tree { product: product(points), below: Below::Others((0..points.len()).map(others).collect()) }
    }

    /// Descends from the sums that belong to the product to the values at its points.
    fn descend<M: Module<Field = F>>(
        &self,
        module: &M,
        strategy: MultiplyStrategy,
        sums: Vec<M::Element>,
        done: &(impl Fn(usize) + Sync),
    ) -> Vec<M::Element> {
        let halves = match &self.below {
            Below::Others(others) => {
                let values = parallel::map(others, 1, |other| module.combine(&sums, other));
                done(others.len());
                return values;
            }
            Below::Halves(halves) => &**halves,
        };
        // The first coefficient of the other half's product is 1.
        let half = |place: usize| {
            let (own, other) = (&halves[place], &halves[1 - place].product);
            let count = own.product.len() - 1;
            let rest = correlate(module, strategy, &other[1..], &sums[1..], count);
            own.descend(module, strategy, module.add(&sums[..count], &rest), done)
        };
        let (mut first, second) = rayon::join(|| half(0), || half(1));
        first.extend(second);
        first
    }
}
