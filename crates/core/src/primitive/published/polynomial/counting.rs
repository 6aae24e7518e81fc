//! Counts of a module's operations.

use std::sync::atomic::{AtomicU64, Ordering};

use super::module::{Module, ScalarOf};

/// A module that counts what is done with its elements, for statements on numbers of operations. It says itself where
/// products are made as in school.
#[derive(Debug)]
pub struct CountingModule<M> {
    /// Module that does the work.
    pub of: M,
    /// See [`Module::school`].
    pub school: usize,
    products: AtomicU64,
    differences: AtomicU64,
    subtractions: AtomicU64,
}

/// Numbers of operations on elements and scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationCounts {
    /// Products of an element and a scalar, in sums or by themselves.
    pub products: u64,
    /// Differences of two elements.
    pub differences: u64,
    /// Differences of two polynomials, which are those of all their elements.
    pub polynomials: u64,
}

impl<M> CountingModule<M> {
    /// A module with nothing counted.
    pub fn new(of: M, school: usize) -> CountingModule<M> {
        let [products, differences, subtractions] = [const { AtomicU64::new(0) }; 3];
        CountingModule { of, school, products, differences, subtractions }
    }

    /// Returns what has been counted.
    pub fn counts(&self) -> OperationCounts {
        let [products, differences, polynomials] =
            [&self.products, &self.differences, &self.subtractions].map(|count| count.load(Ordering::Relaxed));
        OperationCounts { products, differences, polynomials }
    }
}

impl<M: Module> Module for CountingModule<M> {
    type Field = M::Field;
    type Element = M::Element;

    const IN_SUM: f64 = M::IN_SUM;
    const SUM: f64 = M::SUM;
    const OWN_TRANSFORM: f64 = M::OWN_TRANSFORM;

    fn field(&self) -> &M::Field {
        self.of.field()
    }

    fn school(&self) -> usize {
        self.school
    }

    fn zero(&self) -> M::Element {
        self.of.zero()
    }

    fn add(&self, elements: &[M::Element], others: &[M::Element]) -> Vec<M::Element> {
        self.of.add(elements, others)
    }

    fn subtract(&self, elements: &[M::Element], others: &[M::Element]) -> Vec<M::Element> {
        self.subtractions.fetch_add(1, Ordering::Relaxed);
        self.differences.fetch_add(elements.len() as u64, Ordering::Relaxed);
        self.of.subtract(elements, others)
    }

    fn multiply_each(&self, elements: &[M::Element], scalars: &[ScalarOf<M>]) -> Vec<M::Element> {
        self.products.fetch_add(elements.len() as u64, Ordering::Relaxed);
        self.of.multiply_each(elements, scalars)
    }

    fn combine(&self, elements: &[M::Element], scalars: &[ScalarOf<M>]) -> M::Element {
        self.products.fetch_add(elements.len() as u64, Ordering::Relaxed);
        self.of.combine(elements, scalars)
    }
}
