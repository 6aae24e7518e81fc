//! Noise on the number of common rows: two pools of agreed dummies, `limits.blur` of each.
//!
//! The first party brings all of the first pool, and the second each with probability 1/2; of the second pool it is
//! the other way round. In the place of a dummy that a party leaves out it brings a private one, so that sizes do not
//! change. Each party knows its own coins, and so learns the number of common rows with the other's coins added: a
//! binomial number.

use rand_core::CryptoRng;
use tacita_core::{Item, Session, Side};

use crate::agreement::words::bad;

/// The fewest dummies of a pool, and the most.
const MIN_DUMMIES: u64 = 32;
const MAX_DUMMIES: u64 = 1 << 20;

/// Delta of the guarantee, at most.
const DELTA: f64 = 1e-8;

/// Noise of so many coins of each party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blur(u64);

/// Differential privacy of the number of common rows, for one row that is replaced, against the other party.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlurGuarantee {
    /// Bound on the privacy loss, but with probability [`BlurGuarantee::delta`].
    pub epsilon: f64,
    /// Probability, at most, of a larger loss.
    pub delta: f64,
}

impl Blur {
    /// Noise of so many dummies in each pool.
    pub fn new(dummies: u64) -> tacita_core::Result<Blur> {
        if (MIN_DUMMIES..=MAX_DUMMIES).contains(&dummies) && dummies.is_multiple_of(2) {
            Ok(Blur(dummies))
        } else {
            bad(format!("limits.blur = {dummies}: use an even number from {MIN_DUMMIES} to {MAX_DUMMIES}, as 128"))
        }
    }

    /// Number of dummies in each pool.
    pub fn dummies(&self) -> u64 {
        self.0
    }

    /// Number of items that each party adds to its own.
    pub(super) fn items(&self) -> u64 {
        2 * self.0
    }

    /// A party's dummies, and how many of the other's pool it brings.
    pub(super) fn dummies_of(&self, side: Side, session: &Session, rng: &mut impl CryptoRng) -> (Vec<Item>, u64) {
        let key = session.derive("align dummy");
        let agreed = |pool: Side, number: u64| Item::new(&key, &[&[pool as u8], &number.to_le_bytes()[..]].concat());
        let mut items: Vec<Item> = (0..self.0).map(|number| agreed(side, number)).collect();
        let mut brought = 0;
        for number in 0..self.0 {
            let mut fresh = Item([0; 32]);
            rng.fill_bytes(&mut fresh.0);
            let mut coin = [0];
            rng.fill_bytes(&mut coin);
            let coin = coin[0] & 1;
            brought += u64::from(coin);
            items.push(if coin == 1 { agreed(side.other(), number) } else { fresh });
        }
        (items, brought)
    }

    /// The number of common rows, as a party that brought so many of the other's pool knows it.
    pub(super) fn estimate(&self, common: usize, brought: u64) -> usize {
        (common as u64).saturating_sub(brought + self.0 / 2) as usize
    }

    /// Returns the least epsilon, in tenths, of which delta is at most 10^-8.
    pub fn guarantee(&self) -> BlurGuarantee {
        // The logarithm of each probability of the other's coins, from the fewest on; those far from the middle are 0.
        let coins = self.0 as f64;
        let mut logarithms = vec![-coins * std::f64::consts::LN_2];
        for heads in 1..=self.0 {
            let last = logarithms[logarithms.len() - 1];
            logarithms.push(last + ((coins - heads as f64 + 1.0) / heads as f64).ln());
        }
        // One row more shifts the number by one; by symmetry, one row fewer loses as much.
        let delta = |epsilon: f64| {
            let beyond = |heads: usize| {
                let shifted = if heads == 0 { 0.0 } else { (epsilon + logarithms[heads - 1]).exp() };
                (logarithms[heads].exp() - shifted).max(0.0)
            };
            (0..logarithms.len()).map(beyond).sum::<f64>()
        };
        let tenths = (1..).map(|tenths| f64::from(tenths) / 10.0);
        // To one digit, rounded up.
        let rounded = |delta: f64| {
            let unit = 10f64.powf(delta.max(f64::MIN_POSITIVE).log10().floor());
            (delta / unit).ceil() * unit
        };
        let found = tenths.map(|epsilon| BlurGuarantee { epsilon, delta: rounded(delta(epsilon)) });
        found
            .into_iter()
            .find(|found| found.delta <= DELTA)
            .unwrap_or(BlurGuarantee { epsilon: f64::INFINITY, delta: 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;
    use tacita_core::session::Transcript;

    use super::*;

    #[test]
    fn guarantees_are_those_of_the_binomial_mechanism() {
        for (dummies, epsilon) in [(128, 1.0), (512, 0.5)] {
            let found = Blur::new(dummies).unwrap().guarantee();
            assert_eq!(found.epsilon, epsilon, "{dummies}: {found:?}");
            assert!(found.delta > 1e-11 && found.delta < 1e-8, "{found:?}");
        }
        for wrong in [0, 1, 31, 33, (1 << 20) + 2, u64::MAX] {
            assert!(Blur::new(wrong).is_err());
        }
        assert!(Blur::new(1 << 20).unwrap().guarantee().epsilon <= 0.1);
    }

    /// Checks that both have as many of the pools in common as they say they brought of the other's.
    #[test]
    fn dummies_meet_as_often_as_coins_say() {
        let session = Session::new(Transcript::new("test"));
        let blur = Blur::new(64).unwrap();
        let dummies = |side: Side, seed: u8| blur.dummies_of(side, &session, &mut ChaCha20Rng::from_seed([seed; 32]));
        let ((first, of_first), (second, of_second)) = (dummies(Side::First, 1), dummies(Side::Second, 2));
        assert_eq!((first.len(), second.len()), (128, 128));
        let common = first.iter().filter(|item| second.contains(item)).count();
        assert_eq!(common as u64, of_first + of_second);
        assert!(of_first > 10 && of_first < 54 && of_first != of_second);
        let (again, _) = dummies(Side::First, 3);
        assert!(again[..64] == first[..64] && again[64..] != first[64..]);
        assert_eq!(blur.estimate(100 + common, of_first), (100 + common) - of_first as usize - 32);
    }
}
