//! Elements that a store can hold: those of a vector space whose coefficients form a field.

use rand_core::CryptoRng;

use crate::primitive::kernel::memory::wipe;
use crate::primitive::kernel::{Block, gf128};

/// A coefficient: an element of a field.
pub trait Coefficient: Clone + Send + Sync {
    /// Returns the coefficient 0.
    fn zero() -> Self;
    /// Returns the coefficient 1.
    fn one() -> Self;
    /// Whether it is 0.
    fn is_zero(&self) -> bool;
    /// The coefficient that a uniformly random block stands for: distinct for distinct blocks.
    fn from_block(block: Block) -> Self;
    /// `self * other`.
    fn times(&self, other: &Self) -> Self;
    /// `self - other`.
    fn minus(&self, other: &Self) -> Self;
    /// 1 / `self`, which is not zero.
    fn inverse(&self) -> Self;
}

/// An element: a value that is stored, or a column of a store.
pub trait Element: Send + Sync {
    /// Coefficient by which the element can be multiplied.
    type Coefficient: Coefficient;

    /// Returns the neutral element.
    fn zero() -> Self;
    /// A uniformly random element.
    fn random(rng: &mut impl CryptoRng) -> Self;
    /// Returns a copy of the element.
    fn copy(&self) -> Self;
    /// Adds another element to this one.
    fn add(&mut self, other: &Self);
    /// Subtracts another element from this one.
    fn subtract(&mut self, other: &Self);
    /// `coefficient * self`.
    fn scaled(&self, coefficient: &Self::Coefficient) -> Self;

    /// Subtracts coefficient by coefficient times an element. The slices are equally long.
    fn subtract_multiples(values: &mut [Self], element: &Self, coefficients: &[Self::Coefficient])
    where
        Self: Sized,
    {
        for (value, coefficient) in values.iter_mut().zip(coefficients).filter(|(_, factor)| !factor.is_zero()) {
            value.subtract(&element.scaled(coefficient));
        }
    }

    /// Adds to each value what the dense columns d_1 ... d_g contribute to its key's row: k d_1 + k^2 d_2 + ... + k^g
    /// d_g for the key's coefficient k, by Horner's rule.
    fn add_dense(values: &mut [Self], keys: &[Block], columns: &[Self])
    where
        Self: Sized,
    {
        for (value, key) in values.iter_mut().zip(keys) {
            let coefficient = Self::Coefficient::from_block(*key);
            let mut sum = Self::zero();
            for column in columns.iter().rev() {
                sum.add(column);
                sum = sum.scaled(&coefficient);
            }
            value.add(&sum);
        }
    }
}

impl Coefficient for Block {
    fn zero() -> Block {
        Block::ZERO
    }

    fn one() -> Block {
        Block::ONE
    }

    fn is_zero(&self) -> bool {
        *self == Block::ZERO
    }

    fn from_block(block: Block) -> Block {
        block
    }

    fn times(&self, other: &Block) -> Block {
        *self * *other
    }

    fn minus(&self, other: &Block) -> Block {
        *self ^ *other
    }

    fn inverse(&self) -> Block {
        self.invert()
    }
}

impl Element for Block {
    type Coefficient = Block;

    fn zero() -> Block {
        Block::ZERO
    }

    fn random(rng: &mut impl CryptoRng) -> Block {
        Block::random(rng)
    }

    fn copy(&self) -> Block {
        *self
    }

    fn add(&mut self, other: &Block) {
        *self ^= *other;
    }

    fn subtract(&mut self, other: &Block) {
        *self ^= *other;
    }

    fn scaled(&self, coefficient: &Block) -> Block {
        *self * *coefficient
    }

    fn add_dense(values: &mut [Block], keys: &[Block], columns: &[Block]) {
        let (mut sums, mut products) = ([Block::ZERO; 256], [Block::ZERO; 256]);
        for (values, keys) in values.chunks_mut(sums.len()).zip(keys.chunks(sums.len())) {
            let sums = &mut sums[..values.len()];
            sums.fill(Block::ZERO);
            let products = &mut products[..values.len()];
            for column in columns.iter().rev() {
                sums.iter_mut().for_each(|sum| *sum ^= *column);
                gf128::multiply(sums, keys, products);
                sums.copy_from_slice(products);
            }
            values.iter_mut().zip(sums).for_each(|(value, sum)| *value ^= *sum);
        }
        wipe(&mut sums);
        wipe(&mut products);
    }
}
