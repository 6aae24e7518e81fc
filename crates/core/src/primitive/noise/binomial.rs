//! Privacy loss of a count to which fair coins are added: the binomial mechanism.

use super::{PrivacyLoss, decimal};

/// The largest delta, in units of 10^-18.
const MAX_DELTA: u64 = 10_000_000_000;

/// Epsilon is a multiple of this, in millionths.
const EPSILON_STEP: u64 = 100_000;

/// Returns the privacy loss of a count that one row changes by 1 at most, and to which so many fair coins are added:
/// the least epsilon, in tenths, of which delta is at most 10^-8. Delta is rounded up to one digit.
pub fn of_coins(coins: u64) -> PrivacyLoss {
    // The logarithm of each probability, from the fewest heads on; those far from the middle are 0.
    let number = coins as f64;
    let mut logarithms = vec![-number * std::f64::consts::LN_2];
    for heads in 1..=coins {
        let last = logarithms[logarithms.len() - 1];
        logarithms.push(last + ((number - heads as f64 + 1.0) / heads as f64).ln());
    }
    // One row more shifts the number by one; by symmetry, one row fewer loses as much.
    let delta = |epsilon: f64| {
        let beyond = |heads: usize| {
            let shifted = if heads == 0 { 0.0 } else { (epsilon + logarithms[heads - 1]).exp() };
            (logarithms[heads].exp() - shifted).max(0.0)
        };
        (0..logarithms.len()).map(beyond).sum::<f64>()
    };
    // Without coins, no epsilon is enough.
    let steps = 1..=u64::from(u8::MAX);
    let found = steps.map(|step| (step * EPSILON_STEP, rounded(delta(step as f64 / 10.0))));
    let mut found = found.filter(|(_, delta)| *delta <= MAX_DELTA);
    found.next().map_or(PrivacyLoss { epsilon: u64::MAX, ..PrivacyLoss::default() }, |(epsilon, delta)| PrivacyLoss {
        epsilon,
        delta,
        // (epsilon, delta)-differential privacy is delta-approximate epsilon^2 / 2-concentrated differential privacy.
        rho: (epsilon * epsilon).div_ceil(2),
        rho_delta: delta,
    })
}

/// A delta in units of 10^-18, rounded up to one digit.
fn rounded(delta: f64) -> u64 {
    let units = (delta * 10f64.powi(decimal::DELTA as i32)).ceil() as u64;
    let unit = 10u64.pow(units.max(1).ilog10());
    units.div_ceil(unit).saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact probabilities for few coins, from Pascal's triangle.
    fn delta_of(coins: u32, epsilon: f64) -> f64 {
        let mut row = vec![1f64];
        for _ in 0..coins {
            row = (0..=row.len())
                .map(|at| row.get(at).unwrap_or(&0.0) + at.checked_sub(1).map_or(0.0, |at| row[at]))
                .collect();
        }
        let at = |heads: i64| usize::try_from(heads).ok().and_then(|heads| row.get(heads)).copied().unwrap_or(0.0);
        let beyond = |heads: i64| (at(heads) - epsilon.exp() * at(heads - 1)).max(0.0);
        (0..=i64::from(coins)).map(beyond).sum::<f64>() / 2f64.powi(coins as i32)
    }

    #[test]
    fn losses_are_those_of_the_binomial_mechanism() {
        for coins in [32, 128, 512] {
            let loss = of_coins(coins);
            let epsilon = loss.epsilon as f64 / 1e6;
            let exact = delta_of(coins as u32, epsilon);
            let told = loss.delta as f64 / 1e18;
            assert!(exact <= told * (1.0 + 1e-9) && told < exact * 2.0 + 1e-18, "{coins}: {exact} {told}");
            assert!(told <= 1e-8 && delta_of(coins as u32, epsilon - 0.1) > 1e-8, "{coins}: {loss:?}");
            assert_eq!((loss.rho, loss.rho_delta), (loss.epsilon * loss.epsilon / 2, loss.delta));
        }
        assert_eq!([128, 512].map(|coins| of_coins(coins).to_string()), ["(1, 3e-9)", "(0.5, 3e-10)"]);
        assert!(of_coins(1 << 20).epsilon <= 100_000);
        assert_eq!(of_coins(0).epsilon, u64::MAX);
    }
}
