//! Noise for differential privacy: integers from the discrete Laplace or the discrete Gaussian distribution, with the
//! privacy loss of a release, bounds on its tail and error bars.
//!
//! A release of integers that one row changes by at most some sensitivity is (epsilon, 0)-differentially private with
//! discrete Laplace noise of scale `L1 sensitivity / epsilon`, and satisfies rho-concentrated differential privacy with
//! discrete Gaussian noise of variance `L2 sensitivity^2 / (2 rho)` (Canonne, Kamath & Steinke, *The Discrete Gaussian
//! for Differential Privacy*, NeurIPS 2020; Bun & Steinke, TCC 2016). Samples and parameters are computed in integers
//! alone (`sample`): floating point, whose rounding would show the number under the noise (Mironov, CCS 2012), stands
//! in error bars only.

pub mod binomial;
mod interval;
mod loss;
mod sample;

use crypto_bigint::{NonZero, U512};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

pub use loss::{Privacy, PrivacyLoss, decimal};

/// Integers as long as any that parameters of noise lead to.
type Wide = U512;

/// The most numbers of one release.
pub const MAX_NUMBERS: u64 = 1 << 20;

/// Thousandths of the natural logarithm of 2, rounded up.
const LN_2_THOUSANDTHS: u64 = 694;

/// Bits of the probability with which some noise of a release is beyond [`NoiseLaw::tail`]: 2^-`TAIL_BITS`.
const TAIL_BITS: u64 = 43;

/// Sensitivity of a release: how one row that is replaced changes its numbers, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sensitivity {
    /// Number of the numbers that change.
    pub changed: u64,
    /// Change of each of these.
    pub by: u64,
}

/// Distribution of the noise that each number of a release gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoiseLaw {
    distribution: Distribution,
    numbers: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distribution {
    /// P(x) proportional to exp(-|x| `denominator` / `numerator`).
    Laplace { numerator: Wide, denominator: Wide },
    /// P(x) proportional to exp(-x^2 / (2 `variance`)).
    Gaussian { variance: Wide },
}

impl NoiseLaw {
    /// The noise of so many numbers of this sensitivity, for this privacy: discrete Laplace noise if delta is 0, else
    /// discrete Gaussian noise.
    ///
    /// Errors ([`Error::Input`]): no or too many numbers.
    pub fn new(privacy: Privacy, sensitivity: Sensitivity, numbers: u64) -> Result<NoiseLaw> {
        if !(1..=MAX_NUMBERS).contains(&numbers) {
            return Err(Error::Input(format!("noise: {numbers} numbers: 1 to {MAX_NUMBERS} are possible")));
        }
        // Without a row that changes anything, any noise will do.
        let (by, changed) = (Wide::from_u64(sensitivity.by.max(1)), Wide::from_u64(sensitivity.changed.max(1)));
        let distribution = match privacy.delta() {
            0 => Distribution::Laplace {
                numerator: product(&[by, changed, Wide::from_u64(decimal::MILLION)]),
                denominator: Wide::from_u64(privacy.epsilon()),
            },
            _ => {
                let squares = product(&[by, by, changed, Wide::from_u64(decimal::TRILLION)]);
                Distribution::Gaussian { variance: ceiling(&squares, &Wide::from_u128(2 * u128::from(privacy.rho()))) }
            }
        };
        Ok(NoiseLaw { distribution, numbers })
    }

    /// Draws the noise of a release: one integer for each number. The time depends on what is drawn.
    pub fn draw(&self, rng: &mut impl CryptoRng) -> Zeroizing<Vec<i128>> {
        let mut drawn = Zeroizing::new(Vec::with_capacity(self.numbers as usize));
        for _ in 0..self.numbers {
            drawn.push(match &self.distribution {
                Distribution::Laplace { numerator, denominator } => sample::laplace(numerator, denominator, rng),
                Distribution::Gaussian { variance } => sample::gaussian(variance, rng),
            });
        }
        drawn
    }

    /// Returns a bound on the sum of the noise of so many parties, for all numbers of the release together, that is
    /// kept but with probability 2^-43.
    ///
    /// Errors ([`Error::Input`]): it is 2^126 or more.
    pub fn tail(&self, parties: u64) -> Result<u128> {
        // P(|x| > m) is at most 2 exp(-m / scale), or 2 exp(-m^2 / (2 variance)); each party is given its part.
        let draws = self.numbers * parties.max(1);
        let bits = TAIL_BITS + 1 + u64::from((draws - 1).checked_ilog2().map_or(0, |bits| bits + 1));
        let exponent = product(&[Wide::from_u64(bits), Wide::from_u64(LN_2_THOUSANDTHS)]);
        let thousand = Wide::from_u64(1000);
        let one = match &self.distribution {
            Distribution::Laplace { numerator, denominator } => {
                ceiling(&product(&[*numerator, exponent]), &product(&[*denominator, thousand]))
            }
            Distribution::Gaussian { variance } => {
                let square = ceiling(&product(&[*variance, exponent, Wide::from_u64(2)]), &thousand);
                square.floor_sqrt_vartime().wrapping_add(&Wide::ONE)
            }
        };
        let all = product(&[one, Wide::from_u64(parties)]);
        if all.bits_vartime() > 126 {
            return Err(Error::Input(
                "noise: it would need more than 126 bits: agree on a larger epsilon, narrower bounds, or fewer numbers"
                    .into(),
            ));
        }
        Ok(all.to_words().iter().rev().fold(0, |sum, word| sum << 64 | u128::from(*word)))
    }

    /// Returns the least m for which the sum of the noise of so many parties (one or two) is from -m to m in 95 of 100
    /// runs or more, for each number.
    pub fn within(&self, parties: u64) -> u128 {
        interval::within(&self.distribution, parties)
    }
}

/// The product of factors whose lengths add up to 512 bits at most.
fn product(factors: &[Wide]) -> Wide {
    factors.iter().fold(Wide::ONE, |product, factor| product.wrapping_mul(factor))
}

/// The quotient, rounded up.
fn ceiling(numerator: &Wide, denominator: &Wide) -> Wide {
    let (quotient, rest) = divide(numerator, denominator);
    if rest.is_zero_vartime() { quotient } else { quotient.wrapping_add(&Wide::ONE) }
}

/// Quotient and remainder; a denominator of zero counts as one.
fn divide(numerator: &Wide, denominator: &Wide) -> (Wide, Wide) {
    let one = NonZero::<Wide>::ONE;
    numerator.div_rem_vartime(&NonZero::new(*denominator).into_option().unwrap_or(one))
}

#[cfg(test)]
mod tests;
