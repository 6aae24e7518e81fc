//! Error bars: how far a number with noise is from the number without, in 95 of 100 runs. Nothing depends on them but
//! what people are told.

use super::{Distribution, Wide};

/// Probability with which noise may be outside.
const OUTSIDE: f64 = 0.05;

/// The quantile of the normal distribution for it, rounded up.
const NORMAL: f64 = 1.96;

/// Standard deviation up to which the probabilities of discrete Gaussian noise are added up one by one.
const SMALL: f64 = 10_000.0;

/// Variance from which on the sum of two discrete Gaussian integers is one of twice the variance, as far as a `f64` can
/// tell: relative differences are 2 exp(-pi^2 variance) at most.
const SMOOTH: f64 = 4.0;

/// Returns the least m for which the sum of the noise of one or two parties is from -m to m in 95 of 100 runs or more.
pub(super) fn within(distribution: &Distribution, parties: u64) -> u128 {
    let two = parties > 1;
    match distribution {
        Distribution::Laplace { numerator, denominator } => {
            let scale = float(numerator) / float(denominator);
            least(|m| if two { beyond_two_laplace(scale, m) } else { beyond_laplace(scale, m) })
        }
        Distribution::Gaussian { variance } => {
            let variance = float(variance);
            let sum = if two { 2.0 * variance } else { variance };
            if sum.sqrt() > SMALL {
                return (NORMAL * sum.sqrt()).ceil() as u128 + 1;
            }
            let law = if two && variance < SMOOTH { twice(&gaussian(variance)) } else { gaussian(sum) };
            least_of(&law)
        }
    }
}

/// The probability that discrete Laplace noise is beyond -m and m.
fn beyond_laplace(scale: f64, m: f64) -> f64 {
    let ratio = (-1.0 / scale).exp();
    2.0 * (-(m + 1.0) / scale).exp() / (1.0 + ratio)
}

/// The same for the sum of two: P(s) is c^2 q^|s| (|s| + (1 + q^2) / (1 - q^2)), where q is exp(-1 / scale) and c is
/// (1 - q) / (1 + q).
fn beyond_two_laplace(scale: f64, m: f64) -> f64 {
    let (ratio, gap) = ((-1.0 / scale).exp(), -(-1.0 / scale).exp_m1());
    let both = (1.0 + ratio * ratio) / (gap * (1.0 + ratio));
    let sum = m + 1.0 + ratio / gap + both;
    2.0 * gap * (-(m + 1.0) / scale).exp() * sum / ((1.0 + ratio) * (1.0 + ratio))
}

/// The least m whose probability of more is small enough. It falls with m.
fn least(beyond: impl Fn(f64) -> f64) -> u128 {
    let mut high: u128 = 1;
    while beyond(high as f64) > OUTSIDE {
        high *= 2;
    }
    let mut low = 0;
    while low < high {
        let middle = (low + high) / 2;
        if beyond(middle as f64) > OUTSIDE { low = middle + 1 } else { high = middle }
    }
    low
}

/// Probabilities of discrete Gaussian noise from 0 on; what is left out is below any `f64`.
fn gaussian(variance: f64) -> Vec<f64> {
    let most = (40.0 * variance.sqrt()).ceil() as usize + 1;
    let weights: Vec<f64> = (0..=most).map(|x| (-(x as f64).powi(2) / (2.0 * variance)).exp()).collect();
    let all = 2.0 * weights.iter().sum::<f64>() - weights[0];
    weights.into_iter().map(|weight| weight / all).collect()
}

/// Probabilities of the sum of two such integers.
fn twice(law: &[f64]) -> Vec<f64> {
    let most = law.len() as i64 - 1;
    let at = |x: i64| law.get(x.unsigned_abs() as usize).copied().unwrap_or(0.0);
    (0..=2 * most).map(|sum| (sum - most..=most).map(|x| at(x) * at(sum - x)).sum()).collect()
}

/// The least m whose probability of more is small enough, by a law that is symmetric.
fn least_of(law: &[f64]) -> u128 {
    let mut inside = law[0];
    let mut m = 0;
    while 1.0 - inside > OUTSIDE && m + 1 < law.len() {
        m += 1;
        inside += 2.0 * law[m];
    }
    m as u128
}

fn float(integer: &Wide) -> f64 {
    integer.to_words().iter().rev().fold(0.0, |sum, word| sum * 2f64.powi(64) + *word as f64)
}
