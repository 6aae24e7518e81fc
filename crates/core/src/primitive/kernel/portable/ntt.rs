//! Number-theoretic transforms with lazy reductions (Harvey, "Faster arithmetic for number-theoretic transforms", 2014),
//! and sums of products of residues.

use super::super::ntt::{LANES, LanePair};
use super::super::prime::{Factor, Prime, once, times_lazy};

/// The transform. `roots[m + i]` is the factor of group i of the layer with m groups.
pub(in super::super) fn forward(prime: &Prime, roots: &[Factor], values: &mut [u64]) {
    let (p, mut groups) = (prime.value(), 1);
    while groups < values.len() {
        let length = values.len() / (2 * groups);
        for (group, &root) in values.chunks_exact_mut(2 * length).zip(&roots[groups..2 * groups]) {
            let (low, high) = group.split_at_mut(length);
            // All are below four times the prime.
            for (x, y) in low.iter_mut().zip(high) {
                let (a, b) = (once(*x, 2 * p), times_lazy(*y, root, p));
                *x = a.wrapping_add(b);
                *y = a.wrapping_add(2 * p).wrapping_sub(b);
            }
        }
        groups *= 2;
    }
    values.iter_mut().for_each(|x| *x = once(once(*x, 2 * p), p));
}

/// Computes the inverse transform; `scale` is one divided by the number of values.
pub(in super::super) fn inverse(prime: &Prime, roots: &[Factor], scale: Factor, values: &mut [u64]) {
    let (p, mut groups) = (prime.value(), values.len() / 2);
    while groups > 0 {
        let length = values.len() / (2 * groups);
        for (group, &root) in values.chunks_exact_mut(2 * length).zip(&roots[groups..2 * groups]) {
            let (low, high) = group.split_at_mut(length);
            // All are below twice the prime.
            for (x, y) in low.iter_mut().zip(high) {
                let (a, b) = (*x, *y);
                *x = once(a.wrapping_add(b), 2 * p);
                *y = times_lazy(a.wrapping_add(2 * p).wrapping_sub(b), root, p);
            }
        }
        groups /= 2;
    }
    values.iter_mut().for_each(|x| *x = prime.times(*x, scale));
}

/// Adds a * b to `sum`, value by value.
pub(in super::super) fn multiply_add(prime: &Prime, a: &[u64], b: &[u64], sum: &mut [u64]) {
    for ((sum, &a), &b) in sum.iter_mut().zip(a).zip(b) {
        *sum = prime.reduce_wide(u128::from(a) * u128::from(b) + u128::from(*sum));
    }
}

/// See [`Ntt::accumulate`](super::super::ntt::Ntt::accumulate).
pub(in super::super) fn accumulate(prime: &Prime, pairs: &[LanePair], factors: &[u64], sum: &mut LanePair) {
    /// Lanes whose sums stay in registers while all pairs are added.
    const BLOCK: usize = 4;
    let width = factors.len() / pairs.len();
    for (half, sum) in sum.iter_mut().enumerate() {
        for (block, sum) in sum.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let places: [usize; BLOCK] = std::array::from_fn(|lane| (block * BLOCK + lane) * width / LANES);
            let mut wide = sum.map(u128::from);
            for (pair, factors) in pairs.iter().zip(factors.chunks_exact(width)) {
                let values = &pair[half].as_chunks::<BLOCK>().0[block];
                for ((wide, &value), &place) in wide.iter_mut().zip(values).zip(&places) {
                    *wide = wide.wrapping_add(u128::from(value) * u128::from(factors[place]));
                }
            }
            *sum = wide.map(|wide| prime.reduce_wide(wide));
        }
    }
}
