//! Stores of group elements, and of tuples of them such as ciphertexts: coefficients are integers modulo the order.

use curve25519_dalek::scalar::Scalar;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::element::{Coefficient, Element};
use crate::primitive::group::{Group, Point, Ristretto255, ScalarField};
use crate::primitive::kernel::Block;
use crate::primitive::kernel::edwards::Sign;

/// A coefficient, as the group takes it.
type Multiplier = <Ristretto255 as ScalarField>::Scalar;

impl Coefficient for Scalar {
    fn zero() -> Scalar {
        Scalar::ZERO
    }

    fn one() -> Scalar {
        Scalar::ONE
    }

    fn is_zero(&self) -> bool {
        *self == Scalar::ZERO
    }

    /// The block as an integer below 2^128, which is less than the order.
    fn from_block(block: Block) -> Scalar {
        Scalar::from(block.0)
    }

    fn times(&self, other: &Scalar) -> Scalar {
        self * other
    }

    fn minus(&self, other: &Scalar) -> Scalar {
        self - other
    }

    fn inverse(&self) -> Scalar {
        self.invert()
    }
}

impl Element for Point {
    type Coefficient = Scalar;

    fn zero() -> Point {
        Point::identity()
    }

    fn random(rng: &mut impl CryptoRng) -> Point {
        Ristretto255.random_points(1, rng).swap_remove(0)
    }

    fn copy(&self) -> Point {
        self.clone()
    }

    fn add(&mut self, other: &Point) {
        *self = self.combined(Sign::Plus, other);
    }

    fn subtract(&mut self, other: &Point) {
        *self = self.combined(Sign::Minus, other);
    }

    fn scaled(&self, coefficient: &Scalar) -> Point {
        Ristretto255.multiply(std::slice::from_ref(self), &Multiplier::from_library(*coefficient)).swap_remove(0)
    }

    /// Subtracts the multiples, computing all products at once.
    fn subtract_multiples(values: &mut [Point], element: &Point, coefficients: &[Scalar]) {
        let numbers: Vec<_> = coefficients.iter().map(|factor| Multiplier::from_library(*factor)).collect();
        let differences = Ristretto255.subtract(values, &Ristretto255.multiply_one(element, &numbers));
        values.iter_mut().zip(differences).for_each(|(value, difference)| *value = difference);
    }

    /// A column is multiplied by a power for each key: a table of its multiples pays from a few keys on.
    fn add_dense(values: &mut [Point], keys: &[Block], columns: &[Point]) {
        let coefficients: Zeroizing<Vec<_>> = Zeroizing::new(keys.iter().map(|key| Scalar::from_block(*key)).collect());
        let mut powers = coefficients.clone();
        for column in columns {
            let numbers: Vec<_> = powers.iter().map(|power| Multiplier::from_library(*power)).collect();
            let products = Ristretto255.multiply_base(&Ristretto255.base(column), &numbers);
            let sums = Ristretto255.add(values, &products);
            values.iter_mut().zip(sums).for_each(|(value, sum)| *value = sum);
            powers.iter_mut().zip(coefficients.iter()).for_each(|(power, coefficient)| *power *= coefficient);
        }
    }
}

/// Several elements side by side, each with the same row.
impl<E: Element, const N: usize> Element for [E; N] {
    type Coefficient = E::Coefficient;

    fn zero() -> [E; N] {
        std::array::from_fn(|_| E::zero())
    }

    fn random(rng: &mut impl CryptoRng) -> [E; N] {
        std::array::from_fn(|_| E::random(rng))
    }

    fn copy(&self) -> [E; N] {
        std::array::from_fn(|index| self[index].copy())
    }

    fn add(&mut self, other: &[E; N]) {
        self.iter_mut().zip(other).for_each(|(own, other)| own.add(other));
    }

    fn subtract(&mut self, other: &[E; N]) {
        self.iter_mut().zip(other).for_each(|(own, other)| own.subtract(other));
    }

    fn scaled(&self, coefficient: &E::Coefficient) -> [E; N] {
        std::array::from_fn(|index| self[index].scaled(coefficient))
    }

    fn subtract_multiples(values: &mut [[E; N]], element: &[E; N], coefficients: &[E::Coefficient]) {
        for side in 0..N {
            let mut of_side: Vec<E> = values.iter().map(|value| value[side].copy()).collect();
            E::subtract_multiples(&mut of_side, &element[side], coefficients);
            values.iter_mut().zip(of_side).for_each(|(value, of_side)| value[side] = of_side);
        }
    }

    fn add_dense(values: &mut [[E; N]], keys: &[Block], columns: &[[E; N]]) {
        for side in 0..N {
            let of_side: Vec<E> = columns.iter().map(|column| column[side].copy()).collect();
            let mut sums: Vec<E> = Vec::new();
            sums.resize_with(values.len(), E::zero);
            E::add_dense(&mut sums, keys, &of_side);
            values.iter_mut().zip(&sums).for_each(|(value, sum)| value[side].add(sum));
        }
    }
}
