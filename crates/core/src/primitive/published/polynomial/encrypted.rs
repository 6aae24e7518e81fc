//! Ciphertexts as coefficients of polynomials.

use super::{Module, Points};
use crate::primitive::elgamal::{Ciphertext, columns, pairs};
use crate::primitive::group::Group;

/// Ciphertexts under one key: sums and products are those of what they hold. They are as fresh as what they are made
/// of, and tell whoever knows that how: see [`rerandomize`](crate::primitive::elgamal::ElGamalPublicKey::rerandomize).
#[derive(Debug, Clone, Copy)]
pub struct EncryptedModule<'a, G>(pub &'a G);

impl<'a, G: Group + Sync> EncryptedModule<'a, G> {
    fn points(&self) -> Points<'a, G> {
        Points(self.0)
    }

    /// Applies `work` to each of the two points of the ciphertexts.
    fn each(
        &self,
        ciphertexts: &[Ciphertext<G>],
        others: &[Ciphertext<G>],
        work: impl Fn(&[G::Point], &[G::Point]) -> Vec<G::Point>,
    ) -> Vec<Ciphertext<G>> {
        let ([first, second], [other_first, other_second]) = (columns::<G>(ciphertexts), columns::<G>(others));
        pairs::<G>(work(&first, &other_first), work(&second, &other_second))
    }
}

impl<'a, G: Group + Sync> Module for EncryptedModule<'a, G> {
    type Field = G;
    type Element = Ciphertext<G>;

    const IN_SUM: f64 = <Points<'a, G> as Module>::IN_SUM;
    const SUM: f64 = <Points<'a, G> as Module>::SUM;
    const OWN_TRANSFORM: f64 = <Points<'a, G> as Module>::OWN_TRANSFORM;

    fn field(&self) -> &G {
        self.0
    }

    fn school(&self) -> usize {
        self.points().school()
    }

    fn zero(&self) -> Ciphertext<G> {
        [self.points().zero(), self.points().zero()]
    }

    fn add(&self, elements: &[Ciphertext<G>], others: &[Ciphertext<G>]) -> Vec<Ciphertext<G>> {
        self.each(elements, others, |points, others| self.points().add(points, others))
    }

    fn subtract(&self, elements: &[Ciphertext<G>], others: &[Ciphertext<G>]) -> Vec<Ciphertext<G>> {
        self.each(elements, others, |points, others| self.points().subtract(points, others))
    }

    fn multiply_each(&self, elements: &[Ciphertext<G>], scalars: &[G::Scalar]) -> Vec<Ciphertext<G>> {
        let [first, second] = columns::<G>(elements);
        pairs::<G>(self.points().multiply_each(&first, scalars), self.points().multiply_each(&second, scalars))
    }

    fn combine(&self, elements: &[Ciphertext<G>], scalars: &[G::Scalar]) -> Ciphertext<G> {
        columns::<G>(elements).map(|points| self.points().combine(&points, scalars))
    }
}
