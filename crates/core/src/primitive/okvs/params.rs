//! Sizes of a store with which encoding fails with a stated probability only.
//!
//! Raghuraman & Rindal, "Blazing Fast PSI from Improved OKVS and Subfield VOLE" (CCS 2022), section 3.2 for rows of
//! weight 3 and section 2.1 for clusters, here called bins. Their relation between failure and size rests on theory for
//! its form (Dembo & Montanari 2008: a phase transition at 1.2218 columns a row, of a width that shrinks with
//! the square root of the rows) and on experiments for its constants; `tests` repeats the experiment where failures
//! are frequent enough to be seen.

use crate::error::{Error, Result};

/// Keys that a bin holds on average at most: its columns then stay within the second-level cache.
const BIN_KEYS: usize = 1 << 16;

/// The relation of section 3.2 was fitted for 2^6 rows and more; a bin is made for no fewer.
const MIN_ROWS: usize = 1 << 7;

/// The phase transition point of the paper: at this many columns a row the failure probability is 2^9.2, extrapolated.
const TRANSITION: (f64, f64) = (1.223, -9.2);

/// Sizes of one store. Both parties compute equal ones from the number of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Keys that it is made for.
    pub keys: usize,
    /// Number of independent parts.
    pub bins: usize,
    /// Keys that fit a part.
    pub bin_keys: usize,
    /// Columns of a part of which each key selects three.
    pub sparse: usize,
    /// Columns of a part that every key of it takes with coefficients of its own.
    pub dense: usize,
}

impl Params {
    /// Sizes for `keys` keys such that encoding fails with probability at most 2^-`statistical_bits`, which is shared
    /// by what can go wrong: a bin overflows (if there are several), peeling leaves a large core, or more rows have
    /// equal sparse columns than there are dense ones.
    pub fn new(keys: usize, statistical_bits: u32) -> Result<Params> {
        if keys > u32::MAX as usize {
            return Err(Error::Input("a key-value store holds less than 2^32 keys".into()));
        }
        let bins = keys.div_ceil(BIN_KEYS).max(1);
        let bits = f64::from(statistical_bits) + if bins > 1 { 2.0 + (bins as f64).log2() } else { 1.0 };
        let bin_keys = bin_capacity(keys, bins, bits);
        let rows = bin_keys.max(MIN_ROWS);
        let sparse = (expansion(rows, bits) * rows as f64).ceil() as usize;
        let dense = (bits / (sparse as f64).log2()).floor().max(1.0) as usize;
        Ok(Params { keys, bins, bin_keys, sparse, dense })
    }

    /// Columns of a bin.
    pub(crate) fn bin_columns(&self) -> usize {
        self.sparse + self.dense
    }

    /// Elements of an encoded store.
    pub fn columns(&self) -> usize {
        self.bins * self.bin_columns()
    }
}

/// Columns a row at which `rows` rows of weight 3 leave more than the dense columns can solve with probability at most
/// 2^-`bits` (equations 2 and 3 of the paper, solved for e).
pub(super) fn expansion(rows: usize, bits: f64) -> f64 {
    let weight = 3f64.log2();
    let log_slope = 0.55 * (rows as f64).log2() + 0.093 * weight.powi(3) - 1.01 * weight.powi(2) + 2.92 * weight - 0.13;
    TRANSITION.0 + (bits - TRANSITION.1) / log_slope.exp2()
}

/// The least number of keys that a bin of `bins` does not exceed when `keys` keys fall into them at random, but with
/// probability 2^-`bits` for each bin: Chernoff's bound in its relative-entropy form, P(X >= c) <= exp(-n D(c/n ||
/// 1/bins)).
pub(crate) fn bin_capacity(keys: usize, bins: usize, bits: f64) -> usize {
    if bins == 1 {
        return keys;
    }
    let (n, p) = (keys as f64, 1.0 / bins as f64);
    let fits = |capacity: usize| {
        let q = (capacity + 1) as f64 / n;
        q > 1.0 || {
            let rest = if q == 1.0 { 0.0 } else { (1.0 - q) * ((1.0 - q) / (1.0 - p)).ln() };
            let divergence = q * (q / p).ln() + rest;
            n * divergence >= bits * std::f64::consts::LN_2
        }
    };
    let (mut low, mut high) = ((n * p) as usize, keys);
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_the_paper_has_them() {
        // Table 2 of the paper counts 1.23 to 1.3 elements a key with and without clusters.
        let ratio = |keys: usize| Params::new(keys, 40).unwrap().columns() as f64 / keys as f64;
        assert!((1.24..1.30).contains(&ratio(1 << 20)), "{}", ratio(1 << 20));
        assert!((1.24..1.30).contains(&ratio(1 << 24)), "{}", ratio(1 << 24));
        assert!((1.23..1.26).contains(&ratio(1 << 16)), "{}", ratio(1 << 16));
        assert!(ratio(1 << 10) < 1.6, "{}", ratio(1 << 10));
    }

    #[test]
    fn more_keys_and_more_security_never_take_less() {
        let mut last = 0;
        for keys in (0..300).chain([1 << 14, 65_535, 65_536]) {
            let params = Params::new(keys, 40).unwrap();
            assert!(params.columns() >= last && params.sparse > 3 && params.bin_keys >= keys);
            last = params.columns();
            assert!(Params::new(keys, 50).unwrap().columns() >= last);
        }
        assert!(Params::new(1 << 32, 40).is_err());
    }

    /// Checks the failure probability: the three ways to fail in each bin, over all bins, share the probability of the
    /// whole store.
    #[test]
    fn all_bins_together_fail_as_seldom_as_stated() {
        for (keys, bits) in [(1 << 20, 40), (1 << 22, 42), (100_000, 50)] {
            let params = Params::new(keys, bits).unwrap();
            let each = f64::from(bits) + (3.0 * params.bins as f64).log2();
            assert!(params.bins > 1 && params.bin_keys >= bin_capacity(keys, params.bins, each));
            assert!(params.sparse as f64 >= expansion(params.bin_keys, each) * params.bin_keys as f64);
            // Two rows have the same three columns with the inverse of their number: as many more coefficients make up
            // for it.
            assert!((params.dense + 1) as f64 * (params.sparse as f64).log2() >= each);
        }
    }

    /// The capacity bounds the exact binomial tail, summed term by term.
    #[test]
    fn bins_hold_what_falls_into_them() {
        for (keys, bins) in [(1000usize, 4usize), (70_000, 2), (1 << 20, 16)] {
            for bits in [10.0, 46.0] {
                let capacity = bin_capacity(keys, bins, bits);
                let log_p = |hits: usize| {
                    let choose: f64 = (0..hits).map(|i| ((keys - i) as f64 / (i + 1) as f64).ln()).sum();
                    let p = 1.0 / bins as f64;
                    choose + hits as f64 * p.ln() + (keys - hits) as f64 * (1.0 - p).ln()
                };
                let mut term = log_p(capacity + 1).exp();
                let mut tail = 0.0;
                for hits in capacity + 1..keys {
                    tail += term;
                    term *= (keys - hits) as f64 / (hits + 1) as f64 / (bins as f64 - 1.0);
                    if term < tail * 1e-12 {
                        break;
                    }
                }
                assert!(tail.log2() <= -bits, "2^{} of {keys} keys in {bins} bins", tail.log2());
                assert!(tail.log2() > -bits - 8.0, "the bound is not that loose: 2^{}", tail.log2());
            }
        }
    }

    /// Few keys, down to none: every key may be in one bin, and with few enough bins all of them must fit.
    #[test]
    fn bins_hold_few_keys_too() {
        for keys in 0..80usize {
            for bins in [2usize, 3, 7, 64, 1024] {
                for bits in [3.0, 20.0, 43.0, 51.0] {
                    let capacity = bin_capacity(keys, bins, bits);
                    let p = 1.0 / bins as f64;
                    let exactly = |hits: usize| {
                        let choose: f64 = (0..hits).map(|i| (keys - i) as f64 / (hits - i) as f64).product();
                        choose * p.powi(hits as i32) * (1.0 - p).powi((keys - hits) as i32)
                    };
                    let above = |capacity: usize| -> f64 { (capacity + 1..=keys).rev().map(exactly).sum() };
                    assert!(
                        capacity <= keys && above(capacity) <= (-bits).exp2(),
                        "{keys} keys in {bins} bins, {bits}"
                    );
                    // All in one bin is as likely as the bound has it: there is nothing loose about it.
                    assert!(capacity < keys || keys == 0 || above(keys - 1) > (-bits).exp2());
                    let mean = keys / bins;
                    assert!(capacity <= mean || above(capacity - 1) > (-bits - 12.0).exp2(), "{keys}, {bins}, {bits}");
                }
            }
        }
        assert_eq!((bin_capacity(1, 64, 5.0), bin_capacity(1, 64, 6.5), bin_capacity(0, 64, 40.0)), (0, 1, 0));
    }
}
