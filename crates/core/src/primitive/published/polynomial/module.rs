//! Coefficients of polynomials: scalars, or elements that scalars multiply.

use crate::parallel;
use std::ops::Range;

use crate::primitive::group::{Group, ScalarField};

/// Elements that can be added, and multiplied by the scalars of a field. The slices of each call are equally long.
pub trait Module: Sync {
    /// Field of the scalars.
    type Field: ScalarField + Sync;
    /// Element of the module.
    type Element: Clone + Send + Sync;

    /// Cost of a product that is one of many in [`Module::combine`], relative to one by itself.
    const IN_SUM: f64;
    /// Cost of a sum, relative to a product.
    const SUM: f64;
    /// Cost of transforming as many scalars, relative to elements.
    const OWN_TRANSFORM: f64;

    /// Returns the field of the scalars.
    fn field(&self) -> &Self::Field;

    /// Number of coefficients up to which the parts of a product are multiplied as in school; up to twice as many are
    /// multiplied by Karatsuba's way, even in Toom's.
    fn school(&self) -> usize {
        8
    }

    /// The element that adds nothing.
    fn zero(&self) -> Self::Element;

    /// The sums of the elements that stand in the same place.
    fn add(&self, elements: &[Self::Element], others: &[Self::Element]) -> Vec<Self::Element>;

    /// Returns the differences of the elements that stand in the same place.
    fn subtract(&self, elements: &[Self::Element], others: &[Self::Element]) -> Vec<Self::Element>;

    /// The products of the elements and the scalars that stand in the same place.
    fn multiply_each(&self, elements: &[Self::Element], scalars: &[ScalarOf<Self>]) -> Vec<Self::Element>;

    /// The sum of these products.
    fn combine(&self, elements: &[Self::Element], scalars: &[ScalarOf<Self>]) -> Self::Element;
}

/// The scalars of a module.
pub(crate) type ScalarOf<M> = <<M as Module>::Field as ScalarField>::Scalar;

/// A field over itself.
#[derive(Debug, Clone, Copy)]
pub struct Scalars<'a, F>(pub &'a F);

impl<F: ScalarField + Sync> Module for Scalars<'_, F> {
    type Field = F;
    type Element = F::Scalar;

    const IN_SUM: f64 = 0.6;
    const SUM: f64 = 0.3;
    const OWN_TRANSFORM: f64 = 1.0;

    fn field(&self) -> &F {
        self.0
    }

    fn zero(&self) -> F::Scalar {
        self.0.scalar(0)
    }

    fn add(&self, elements: &[F::Scalar], others: &[F::Scalar]) -> Vec<F::Scalar> {
        elements.iter().zip(others).map(|(one, other)| self.0.plus(one, other)).collect()
    }

    fn subtract(&self, elements: &[F::Scalar], others: &[F::Scalar]) -> Vec<F::Scalar> {
        elements.iter().zip(others).map(|(one, other)| self.0.minus(one, other)).collect()
    }

    fn multiply_each(&self, elements: &[F::Scalar], scalars: &[F::Scalar]) -> Vec<F::Scalar> {
        elements.iter().zip(scalars).map(|(element, scalar)| self.0.times(element, scalar)).collect()
    }

    fn combine(&self, elements: &[F::Scalar], scalars: &[F::Scalar]) -> F::Scalar {
        let add = |sum: F::Scalar, (element, scalar)| self.0.plus(&sum, &self.0.times(element, scalar));
        elements.iter().zip(scalars).fold(self.zero(), add)
    }
}

/// The points of a group.
#[derive(Debug, Clone, Copy)]
pub struct Points<'a, G>(pub &'a G);

/// Points that one processor adds at a time.
const BATCH: usize = 256;

impl<G: Group + Sync> Module for Points<'_, G> {
    type Field = G;
    type Element = G::Point;

    const IN_SUM: f64 = 0.55;
    const SUM: f64 = 0.004;
    const OWN_TRANSFORM: f64 = 0.0;

    fn field(&self) -> &G {
        self.0
    }

    fn school(&self) -> usize {
        self.0.full_sum()
    }

    fn zero(&self) -> G::Point {
        self.0.combine(&[], &[])
    }

    fn add(&self, elements: &[G::Point], others: &[G::Point]) -> Vec<G::Point> {
        let part = |range: Range<usize>| self.0.add(&elements[range.clone()], &others[range]);
        parallel::ranges(elements.len(), BATCH, part).concat()
    }

    fn subtract(&self, elements: &[G::Point], others: &[G::Point]) -> Vec<G::Point> {
        let part = |range: Range<usize>| self.0.subtract(&elements[range.clone()], &others[range]);
        parallel::ranges(elements.len(), BATCH, part).concat()
    }

    fn multiply_each(&self, elements: &[G::Point], scalars: &[G::Scalar]) -> Vec<G::Point> {
        self.0.multiply_each(elements, scalars)
    }

    fn combine(&self, elements: &[G::Point], scalars: &[G::Scalar]) -> G::Point {
        self.0.combine(elements, scalars)
    }
}
