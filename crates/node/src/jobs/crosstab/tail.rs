//! Upper tail of the chi-square distribution.

/// Returns the probability that a chi-square number with so many degrees of freedom is at least `statistic`.
///
/// The sum has an end for whole degrees of freedom (Abramowitz & Stegun, "Handbook of Mathematical Functions", 26.4.4
/// and 26.4.5). All of its terms are positive. They are made from their logarithms, since the largest can be far beyond
/// what the first holds.
pub(super) fn upper_tail(statistic: f64, freedom: usize) -> f64 {
    if statistic <= 0.0 {
        return 1.0;
    }
    let half = statistic / 2.0;
    // Terms half^s e^-half / Γ(s + 1), of s = 0, 1, ... or of 1/2, 3/2, ...
    let (start, whole, first) = match freedom % 2 {
        0 => (0.0, 0.0, -half),
        _ => (0.5, libm::erfc(half.sqrt()), half.ln() / 2.0 - half - libm::lgamma(1.5)),
    };
    let mut logarithm: f64 = first;
    let mut tail = whole;
    for term in 0..freedom / 2 {
        tail += logarithm.exp();
        logarithm += half.ln() - (start + term as f64 + 1.0).ln();
    }
    tail.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::upper_tail;

    /// Numbers of `scipy.stats.chi2.sf`.
    #[test]
    fn tails_are_those_of_tables() {
        for (statistic, freedom, tail) in [
            (0.0, 1, 1.0),
            (0.001, 1, 0.9747728793699604),
            (3.841458820694124, 1, 0.04999999999999989),
            (5.991464547107979, 2, 0.05000000000000007),
            (2.5, 3, 0.4752910833430205),
            (18.307038053275146, 10, 0.05000000000000005),
            (40.0, 7, 1.258790387371308e-06),
            (1000.0, 3, 1.7994208765314067e-216),
            (1500.0, 900, 9.780239407759816e-33),
            (15500.0, 15625, 0.7596656586672648),
            (16200.0, 16129, 0.34515161490468094),
            (0.5, 40, 1.0),
        ] {
            let found = upper_tail(statistic, freedom);
            assert!((found - tail).abs() <= 1e-10 * tail, "{statistic} {freedom}: {found} and not {tail}");
        }
    }
}
