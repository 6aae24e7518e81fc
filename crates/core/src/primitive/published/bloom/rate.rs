//! Sizes of a filter that errs no more often than agreed.

use std::str::FromStr;

use super::{MAX_SLOTS, MIN_BOUND};
use crate::error::{Error, Result};

/// False-positive rate: how often a filter may report an element that is not in its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// 0.65 %, as Many, Burkhart & Dimitropoulos (2012) have it and those who compare themselves with them.
    Published,
    /// Rate of at most 2^-40.
    Negligible,
}

/// Sizes of a Bloom filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterSizes {
    /// Number of hash functions of the filter, 1 to 128.
    pub k: usize,
    /// Number of slots of the filter, 1 to [`MAX_SLOTS`] unless it is empty.
    pub slots: usize,
}

/// Parts of a slot in which slots for an element are counted, so that all machines count alike.
const FRACTION: f64 = (1u64 << 20) as f64;

impl Rate {
    /// List of all rates.
    pub(crate) const ALL: [Rate; 2] = [Rate::Published, Rate::Negligible];

    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Rate::Published => "0.65%",
            Rate::Negligible => "2^-40",
        }
    }

    /// Returns the rate as a probability.
    pub fn probability(self) -> f64 {
        match self {
            Rate::Published => 0.0065,
            Rate::Negligible => (-40f64).exp2(),
        }
    }

    /// The fewest hash functions that a filter of that rate has whose slots are half set: ceil(log2 1/rate).
    pub(crate) fn k(self) -> usize {
        (-self.probability().log2()).ceil() as usize
    }

    /// Sizes of a filter for `bound` elements: so many slots m that (1 - e^(-k w/m))^k, with which an element that is
    /// not among w is found (Broder & Mitzenmacher, Internet Mathematics 2004), is the rate; and those for
    /// [`MIN_BOUND`] elements if there are fewer, but any.
    ///
    /// Errors ([`Error::Input`]): more than [`MAX_SLOTS`].
    pub(crate) fn sizes(self, bound: usize) -> Result<FilterSizes> {
        let k = self.k();
        let set = self.probability().powf(1.0 / k as f64);
        let each = (-(k as f64) / (-set).ln_1p() * FRACTION).ceil();
        let elements = if bound == 0 { 0 } else { bound.max(MIN_BOUND) };
        let slots = (elements as u128 * each as u128).div_ceil(FRACTION as u128);
        match usize::try_from(slots) {
            Ok(slots) if slots as u64 <= MAX_SLOTS => Ok(FilterSizes { k, slots }),
            _ => Err(Error::Input(format!(
                "sets of {bound} items are too large for Bloom filters of {k} hash functions: {} are possible",
                (MAX_SLOTS as f64 * FRACTION / each) as u64
            ))),
        }
    }
}

impl FromStr for Rate {
    type Err = Error;

    fn from_str(word: &str) -> Result<Rate> {
        Rate::ALL
            .into_iter()
            .find(|rate| rate.name() == word)
            .ok_or_else(|| Error::Input(format!("false_positives = \"{word}\" is unknown: use \"0.65%\" or \"2^-40\"")))
    }
}
