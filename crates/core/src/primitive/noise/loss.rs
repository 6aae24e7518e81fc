//! Privacy parameters, and the loss of several releases together. All are integers in units of a decimal place, and are
//! rounded so that a loss is never understated.

use std::fmt;

use crate::error::{Error, Result};

/// Decimals as integers in units of their last place.
pub mod decimal {
    /// Units of epsilon: millionths.
    pub const MILLION: u64 = 1_000_000;

    /// Units of rho: 10^-12.
    pub const TRILLION: u64 = 1_000_000_000_000;

    /// Number of decimals of delta.
    pub const DELTA: u32 = 18;

    /// Number of decimals of epsilon.
    pub const EPSILON: u32 = 6;

    /// Reads a decimal, as `0.5` or `1e-9`, in units of 10^-`decimals`; nothing if it has more decimals, or is none.
    pub fn read(text: &str, decimals: u32) -> Option<u64> {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().ok().filter(|exponent: &i32| exponent.abs() <= 40)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = [whole, fraction].concat();
        if whole.is_empty() || digits.len() > 38 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let mut value: u128 = digits.parse().ok()?;
        let places = decimals as i32 + exponent - fraction.len() as i32;
        for _ in 0..places.unsigned_abs() {
            let ten_times = value.checked_mul(10);
            value = if places > 0 { ten_times? } else { Some(value / 10).filter(|_| value.is_multiple_of(10))? };
        }
        u64::try_from(value).ok()
    }

    /// Writes units of 10^-`decimals` as a decimal.
    pub fn write(units: u64, decimals: u32) -> String {
        let digits = format!("{units:0>width$}", width = decimals as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals as usize);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
    }
}

/// Bounds on epsilon, in millionths, and on delta, in units of 10^-18.
const EPSILONS: std::ops::RangeInclusive<u64> = 1_000..=20_000_000;
const DELTAS: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000_000_000;

/// Privacy of one release: epsilon and delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Privacy {
    epsilon: u64,
    delta: u64,
}

impl Privacy {
    /// Reads epsilon and delta from decimals; delta is 0 without one.
    ///
    /// Errors ([`Error::Input`]): one is out of bounds.
    pub fn new(epsilon: &str, delta: Option<&str>) -> Result<Privacy> {
        let epsilon = decimal::read(epsilon, decimal::EPSILON).filter(|epsilon| EPSILONS.contains(epsilon));
        let Some(epsilon) = epsilon else {
            return Err(Error::Input("noise.epsilon: use a decimal from 0.001 to 20, with up to 6 decimals".into()));
        };
        let read = |delta| decimal::read(delta, decimal::DELTA).filter(|delta| DELTAS.contains(delta));
        match delta.map(read) {
            None => Ok(Privacy { epsilon, delta: 0 }),
            Some(Some(delta)) => Ok(Privacy { epsilon, delta }),
            Some(None) => Err(Error::Input(
                "noise.delta: use a decimal from 1e-15 to 0.001, or leave it out for Laplace noise".into(),
            )),
        }
    }

    /// Returns epsilon, in millionths.
    pub fn epsilon(&self) -> u64 {
        self.epsilon
    }

    /// Returns delta, in units of 10^-18.
    pub fn delta(&self) -> u64 {
        self.delta
    }

    /// Returns the rho of zero-concentrated differential privacy, in units of 10^-12: epsilon^2 / 2, rounded up, of
    /// Laplace noise; of Gaussian noise the largest of which (epsilon, delta) follows.
    pub fn rho(&self) -> u64 {
        if self.delta == 0 {
            return (self.epsilon * self.epsilon).div_ceil(2);
        }
        // The largest rho for which rho + 2 sqrt(rho ln(1 / delta)) is epsilon at most.
        let (epsilon, logarithm) = (u128::from(self.epsilon) * 1_000_000, u128::from(logarithm(self.delta)));
        let holds = |rho: u128| rho <= epsilon && 4 * rho * logarithm <= (epsilon - rho) * (epsilon - rho);
        let (mut low, mut high) = (0, epsilon);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if holds(middle) { low = middle } else { high = middle - 1 }
        }
        low as u64
    }
}

/// Formats the parameters as `0.5` or `(0.5, 1e-9)`.
impl fmt::Display for Privacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&PrivacyLoss::from(*self), f)
    }
}

/// Privacy loss of releases together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrivacyLoss {
    /// Sum of epsilon, in millionths.
    pub epsilon: u64,
    /// Sum of delta, in units of 10^-18.
    pub delta: u64,
    /// Sum of rho, in units of 10^-12.
    pub rho: u64,
    /// Sum of the probabilities, in units of 10^-18, with which a loss is beyond what rho bounds: that of releases
    /// which are concentrated only approximately.
    pub rho_delta: u64,
}

/// Formats epsilon and delta as `0.5` or `(0.5, 1e-9)`.
impl fmt::Display for PrivacyLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let epsilon = decimal::write(self.epsilon, decimal::EPSILON);
        match self.delta {
            0 => f.write_str(&epsilon),
            delta => write!(f, "({epsilon}, {:e})", delta as f64 / 1e18),
        }
    }
}

impl From<Privacy> for PrivacyLoss {
    fn from(privacy: Privacy) -> PrivacyLoss {
        PrivacyLoss { epsilon: privacy.epsilon, delta: privacy.delta, rho: privacy.rho(), rho_delta: 0 }
    }
}

impl PrivacyLoss {
    /// Returns the loss of both together.
    pub fn and(self, other: PrivacyLoss) -> PrivacyLoss {
        PrivacyLoss {
            epsilon: self.epsilon.saturating_add(other.epsilon),
            delta: self.delta.saturating_add(other.delta),
            rho: self.rho.saturating_add(other.rho),
            rho_delta: self.rho_delta.saturating_add(other.rho_delta),
        }
    }

    /// Returns an epsilon, in millionths, for which all releases together are (epsilon, `delta`)-differentially
    /// private, `delta` in units of 10^-18: the smaller of the sum of epsilons, where that of deltas allows it, and
    /// what follows from rho.
    pub fn epsilon_at(&self, delta: u64) -> u64 {
        let added = if self.delta <= delta { self.epsilon } else { u64::MAX };
        // What is left of delta besides the probability that rho bounds nothing.
        let concentrated = match delta.checked_sub(self.rho_delta) {
            Some(left) if left > 0 || self.rho == 0 => self.concentrated(left),
            _ => u64::MAX,
        };
        added.min(concentrated)
    }

    /// rho + 2 sqrt(rho ln(1 / delta)), rounded up.
    fn concentrated(&self, delta: u64) -> u64 {
        if self.rho == 0 {
            return 0;
        }
        let square = u128::from(self.rho) * u128::from(logarithm(delta));
        let root = square.isqrt() + 1;
        let sum = u128::from(self.rho) + 2 * root;
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// The natural logarithm of 1 / `delta`, in units of 10^-12, from above: the margin is a thousand times as large as the
/// error of a logarithm in floating point.
fn logarithm(delta: u64) -> u64 {
    let logarithm = 1e18f64.ln() - (delta.max(1) as f64).ln();
    (logarithm * 1e12) as u64 + 1_000
}
