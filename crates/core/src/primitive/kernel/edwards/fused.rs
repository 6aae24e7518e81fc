//! Products of residues by integers of 52 bits, as AVX-512 IFMA has them.
//!
//! **Bounds.** The product of limbs i and j is low + 2^52 high, low and high below 2^52; at weight 2^(51 (i + j)) stands low, and
//! one column above it 2 high, since 52 = 51 + 1. high is below 2^50 + 2^17, the factors being below 2^51 + 2^17. A
//! column is a sum of at most five lows and five times 2 high: less than 5 2^52 + 5 (2^51 + 2^18) < 2^55. Five columns
//! at the top stand for 19 times those below: so the sum is below 20 2^55 < 2^60, and twice that below 2^61, which
//! carries have room for.

#![expect(
    clippy::needless_range_loop,
    reason = "limbs of several residues stand side by side, and an iterator's closures are compiled for other processors"
)]

use super::field::{LIMBS, carried};
use super::vector::Vector;

/// Vectors that have such products.
pub(in super::super) trait Fused: Vector {
    /// The products, modulo 2^64.
    fn mul(self, other: Self) -> Self;

    /// Plus the lower 52 bits of the product of the lower 52 bits of two factors.
    fn add_low(self, a: Self, b: Self) -> Self;

    /// Plus the upper 52 bits of that product.
    fn add_high(self, a: Self, b: Self) -> Self;
}

/// Computes [`Vector::product`] with fused operations.
#[inline(always)]
pub(in super::super) fn product<V: Fused>(a: &[V; LIMBS], b: &[V; LIMBS]) -> [V; LIMBS] {
    carried(columns(a, b))
}

/// Computes [`Vector::twice_product`] with fused operations.
#[inline(always)]
pub(in super::super) fn twice_product<V: Fused>(a: &[V; LIMBS], b: &[V; LIMBS]) -> [V; LIMBS] {
    let mut columns = columns(a, b);
    for column in 0..LIMBS {
        columns[column] = columns[column].shl::<1>();
    }
    carried(columns)
}

/// The columns of products. All that stands at twice its weight is added up first, and doubled.
#[inline(always)]
fn columns<V: Fused>(a: &[V; LIMBS], b: &[V; LIMBS]) -> [V; LIMBS] {
    let mut columns = [V::all(0); 2 * LIMBS];
    for i in 0..LIMBS {
        for j in 0..LIMBS {
            columns[i + j + 1] = columns[i + j + 1].add_high(a[i], b[j]);
        }
    }
    for column in 1..2 * LIMBS {
        columns[column] = columns[column].shl::<1>();
    }
    for i in 0..LIMBS {
        for j in 0..LIMBS {
            columns[i + j] = columns[i + j].add_low(a[i], b[j]);
        }
    }
    folded(columns)
}

/// [`Vector::square`]: the products of different limbs are computed once, and doubled with what else stands at twice its weight.
#[inline(always)]
pub(in super::super) fn square<V: Fused>(a: &[V; LIMBS]) -> [V; LIMBS] {
    let mut columns = [V::all(0); 2 * LIMBS];
    for i in 0..LIMBS {
        for j in i + 1..LIMBS {
            columns[i + j + 1] = columns[i + j + 1].add_high(a[i], a[j]);
        }
    }
    for column in 2..2 * LIMBS {
        columns[column] = columns[column].shl::<1>();
    }
    for i in 0..LIMBS {
        columns[2 * i + 1] = columns[2 * i + 1].add_high(a[i], a[i]);
        for j in i + 1..LIMBS {
            columns[i + j] = columns[i + j].add_low(a[i], a[j]);
        }
    }
    for column in 1..2 * LIMBS {
        columns[column] = columns[column].shl::<1>();
    }
    for i in 0..LIMBS {
        columns[2 * i] = columns[2 * i].add_low(a[i], a[i]);
    }
    carried(folded(columns))
}

/// Ten columns, of which those at the top stand for 19 times those below.
#[inline(always)]
fn folded<V: Fused>(columns: [V; 2 * LIMBS]) -> [V; LIMBS] {
    let mut folded = [V::all(0); LIMBS];
    for column in 0..LIMBS {
        folded[column] = columns[column].add(columns[column + LIMBS].mul(V::all(19)));
    }
    folded
}
