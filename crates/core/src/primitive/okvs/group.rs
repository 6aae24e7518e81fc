//! Stores of group elements, and of tuples of them such as ciphertexts: coefficients are integers modulo the order.

use curve25519_dalek::RistrettoPoint;
use curve25519_dalek::ristretto::RistrettoBasepointTable;
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::Identity;
use rand_core::CryptoRng;

use super::element::{Coefficient, Element};
use crate::primitive::group::Point;
use crate::primitive::kernel::Block;

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
        Point(RistrettoPoint::identity())
    }

    fn random(rng: &mut impl CryptoRng) -> Point {
        Point(RistrettoPoint::random(rng))
    }

    fn copy(&self) -> Point {
        Point(self.0)
    }

    fn add(&mut self, other: &Point) {
        self.0 += other.0;
    }

    fn subtract(&mut self, other: &Point) {
        self.0 -= other.0;
    }

    fn scaled(&self, coefficient: &Scalar) -> Point {
        Point(self.0 * coefficient)
    }

    /// A column is multiplied by a power for each key: a table of its multiples pays from a few keys on.
    fn add_dense(values: &mut [Point], keys: &[Block], columns: &[Point]) {
        let tables: Vec<_> = columns.iter().map(|column| RistrettoBasepointTable::create(&column.0)).collect();
        for (value, key) in values.iter_mut().zip(keys) {
            let coefficient = Scalar::from_block(*key);
            let mut power = coefficient;
            for table in &tables {
                value.0 += table * &power;
                power *= coefficient;
            }
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
