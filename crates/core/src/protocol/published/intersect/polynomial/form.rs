//! Form in which a polynomial travels, and the computations on that form.

use crate::parallel;
use rayon::prelude::*;

use super::Params;
use crate::primitive::elgamal::Ciphertext;
use crate::primitive::group::Group;
use crate::primitive::published::polynomial::EncryptedModule;
use crate::primitive::published::polynomial::{
    Module, MultiplyStrategy, Scalars, evaluate_and_tell, evaluate_one, expand, multiply,
};

/// The form in which the polynomials of bins travel.
pub(in crate::protocol) enum Form<G: Group> {
    /// Coefficients, the lowest first. Of monic polynomials the highest one does not travel.
    Coefficients {
        /// Strategy by which they are multiplied.
        strategy: MultiplyStrategy,
        /// Whether values at many points are made in a tree, and not one by one.
        by_tree: bool,
    },
    /// Values of the polynomial at points.
    Values {
        /// 0, 1, 2, ...: as many as the polynomial that is opened has coefficients.
        points: Vec<G::Scalar>,
        /// Weight of each value in Lagrange's interpolation: the inverse of the product of its point's differences from
        /// the others.
        weights: Vec<G::Scalar>,
    },
}

impl<G: Group + Sync> Form<G> {
    /// The form of a run.
    pub(in crate::protocol) fn new(group: &G, params: &Params) -> Form<G> {
        // With several bins, time would tell how many items each has.
        Form::of(group, params.strategy(), params.answers_of_bin(), params.bins() == 1)
    }

    /// The form for polynomials of which one with so many coefficients is opened.
    pub(in crate::protocol) fn of(group: &G, strategy: super::Strategy, opened: usize, by_tree: bool) -> Form<G> {
        match strategy.of_coefficients() {
            Some(strategy) => Form::Coefficients { strategy, by_tree },
            None => {
                let points: Vec<_> = (0..opened as u64).map(|point| group.scalar(point)).collect();
                let weights = group.invert(&of_differences(group, points.len()));
                Form::Values { points, weights }
            }
        }
    }

    /// Computes the scalars that the receiver encrypts for bins with these roots, bin by bin.
    pub(super) fn of_bins(&self, group: &G, bins: &[Vec<G::Scalar>]) -> Vec<G::Scalar> {
        let polynomials: Vec<_> = parallel::map(bins, 1, |roots| self.of_roots(group, roots));
        polynomials.concat()
    }

    /// The same of the monic polynomial with these roots.
    pub(in crate::protocol) fn of_roots(&self, group: &G, roots: &[G::Scalar]) -> Vec<G::Scalar> {
        match self {
            Form::Coefficients { .. } => {
                let mut coefficients = expand(group, fastest(group, roots.len()), roots);
                coefficients.pop();
                coefficients
            }
            Form::Values { points, .. } => values_of_roots(group, points, roots),
        }
    }

    /// The products of the polynomials of bins, of which `polynomials` has travelled, and of the monic ones with these
    /// roots.
    pub(in crate::protocol) fn multiply_by_roots(
        &self,
        group: &G,
        polynomials: &[Ciphertext<G>],
        roots: &[Vec<G::Scalar>],
    ) -> Vec<Ciphertext<G>> {
        let factor = |roots: &Vec<G::Scalar>| expand(group, fastest(group, roots.len()), roots);
        self.multiply(group, polynomials, &parallel::map(roots, 1, factor))
    }

    /// The products of the polynomials of bins, of which `polynomials` has travelled, and of those with these
    /// coefficients.
    pub(in crate::protocol) fn multiply(
        &self,
        group: &G,
        polynomials: &[Ciphertext<G>],
        factors: &[Vec<G::Scalar>],
    ) -> Vec<Ciphertext<G>> {
        let module = EncryptedModule(group);
        match self {
            Form::Coefficients { strategy, .. } => {
                let product = |(polynomial, factor): (&[Ciphertext<G>], &Vec<G::Scalar>)| {
                    multiply(&module, *strategy, factor, &monic(group, polynomial))
                };
                let products: Vec<_> = bin_by_bin(polynomials, factors.len()).zip(factors).map(product).collect();
                products.concat()
            }
            Form::Values { points, .. } => {
                let at_points = |factor: &Vec<G::Scalar>| values(group, points, factor);
                module.multiply_each(polynomials, &parallel::map(factors, 1, at_points).concat())
            }
        }
    }

    /// The same of a polynomial that has these roots.
    pub(in crate::protocol) fn multiply_known(
        &self,
        group: &G,
        roots: &[G::Scalar],
        factor: &[G::Scalar],
    ) -> Vec<G::Scalar> {
        match self {
            Form::Coefficients { .. } => {
                let strategy = fastest(group, roots.len());
                multiply(&Scalars(group), strategy, factor, &expand(group, strategy, roots))
            }
            Form::Values { points, .. } => {
                let known = values_of_roots(group, points, roots);
                Scalars(group).multiply_each(&known, &values(group, points, factor))
            }
        }
    }

    /// The values of a bin's polynomial, all of it, at `points`; or multiples of them, which are zero where they are.
    /// `done` is told how many are there.
    pub(in crate::protocol) fn evaluate<M>(
        &self,
        module: &M,
        polynomial: &[M::Element],
        points: &[G::Scalar],
        done: &(impl Fn(usize) + Sync),
    ) -> Vec<M::Element>
    where
        M: Module<Field = G>,
    {
        if let Form::Coefficients { strategy, by_tree: true } = self {
            return evaluate_and_tell(module, *strategy, polynomial, points, done);
        }
        let values = match self {
            Form::Coefficients { .. } => parallel::map(points, 1, |point| evaluate_one(module, polynomial, point)),
            Form::Values { points: known, weights } => {
                let value = |point: &G::Scalar| {
                    let differences: Vec<_> = known.iter().map(|known| module.field().minus(point, known)).collect();
                    let inverses = module.field().invert(&differences);
                    module.combine(polynomial, &Scalars(module.field()).multiply_each(&inverses, weights))
                };
                parallel::map(points, 1, value)
            }
        };
        done(points.len());
        values
    }

    /// The polynomial of a bin, of which `polynomial` has travelled, as [`Form::evaluate`] takes it.
    pub(super) fn whole(&self, group: &G, polynomial: &[Ciphertext<G>]) -> Vec<Ciphertext<G>> {
        match self {
            Form::Coefficients { .. } => monic(group, polynomial),
            Form::Values { .. } => polynomial.to_vec(),
        }
    }
}

/// Divides the transmitted values into those of each bin's polynomial: none, if coefficients travel and no bin has an
/// item.
pub(super) fn bin_by_bin<T: Sync>(travelled: &[T], bins: usize) -> impl IndexedParallelIterator<Item = &[T]> {
    let each = travelled.len() / bins;
    (0..bins).into_par_iter().map(move |bin| &travelled[bin * each..][..each])
}

/// Appends the highest coefficient, which hides nothing: 1.
fn monic<G: Group + Sync>(group: &G, polynomial: &[Ciphertext<G>]) -> Vec<Ciphertext<G>> {
    let [zero, _] = EncryptedModule(group).zero();
    let one = group.multiply_generator(&[group.scalar(1)]).remove(0);
    [polynomial, &[[zero, one]]].concat()
}

/// Strategy for multiplying scalars, if nobody else chooses it.
fn fastest<G: Group + Sync>(group: &G, count: usize) -> MultiplyStrategy {
    MultiplyStrategy::fastest(&Scalars(group), count + 1, count + 1)
}

/// The values at points of the polynomial with these coefficients.
fn values<G: Group + Sync>(group: &G, points: &[G::Scalar], coefficients: &[G::Scalar]) -> Vec<G::Scalar> {
    parallel::map(points, 16, |point| evaluate_one(&Scalars(group), coefficients, point))
}

/// The values at points of the monic polynomial with these roots.
fn values_of_roots<G: Group + Sync>(group: &G, points: &[G::Scalar], roots: &[G::Scalar]) -> Vec<G::Scalar> {
    let value = |point: &G::Scalar| {
        roots.iter().fold(group.scalar(1), |product, root| group.times(&product, &group.minus(point, root)))
    };
    parallel::map(points, 16, value)
}

/// For each of the points 0 to `count` - 1 the product of its differences from the others: j! (count - 1 - j)!,
/// negative for an odd number of larger points.
fn of_differences<G: Group>(group: &G, count: usize) -> Vec<G::Scalar> {
    let mut factorials = vec![group.scalar(1)];
    for factor in 1..count as u64 {
        factorials.push(group.times(&factorials[factorials.len() - 1], &group.scalar(factor)));
    }
    let product = |point: usize| {
        let larger = count - 1 - point;
        let product = group.times(&factorials[point], &factorials[larger]);
        if larger % 2 == 1 { group.minus(&group.scalar(0), &product) } else { product }
    };
    (0..count).map(product).collect()
}
