//! Uniformly random permutations, from a seeded generator.

use rand_core::CryptoRng;

/// A uniformly random order of `count` things: element `i` says which of them comes at place `i` (Fisher-Yates, Knuth
/// vol. 2, algorithm 3.4.2 P). `count` must fit 32 bits.
pub fn random_order(count: usize, rng: &mut impl CryptoRng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..u32::try_from(count).expect("sizes are below 2^32")).collect();
    for last in (1..count).rev() {
        order.swap(last, below(last as u32 + 1, rng) as usize);
    }
    order
}

/// A uniformly random number below `bound`, which is not zero (Lemire 2019, with the rejection that removes the bias).
pub(crate) fn below(bound: u32, rng: &mut impl CryptoRng) -> u32 {
    let threshold = bound.wrapping_neg() % bound;
    loop {
        let product = u64::from(rng.next_u32()) * u64::from(bound);
        if product as u32 >= threshold {
            return (product >> 32) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    #[test]
    fn every_order_of_four_is_equally_likely() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            *seen.entry(random_order(4, &mut rng)).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 24);
        let chi_square: f64 = seen.values().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 58.0, "chi-square of 23 degrees of freedom is {chi_square}");
    }

    #[test]
    fn nothing_and_one_have_one_order() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        assert_eq!(random_order(0, &mut rng), []);
        assert_eq!(random_order(1, &mut rng), [0]);
    }

    /// Checks that numbers below three quarters of 2^32 are equally likely: without rejection, every third would come
    /// twice as often.
    #[test]
    fn numbers_below_a_bound_are_equally_likely() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        let mut counts = [0u32; 3];
        (0..30_000).for_each(|_| counts[below(3 << 30, &mut rng) as usize % 3] += 1);
        let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_square < 30.0, "{counts:?}");
    }
}
