//! Security models and levels, with the words that job files use for them.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// Statistical security in bits: a wrong answer, or a leak by chance, has probability at most 2^-40 in a whole job.
pub const STATISTICAL_BITS: u32 = 40;

/// Events that may go wrong by chance in a job. They share the 2^-40, each for all times that it may happen in the job
/// together: all pairs, products, runs and buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chance {
    /// A mask hides a value only nearly: the flood of `lattice`, the residues of `paillier`.
    Mask,
    /// The items do not fit a key-value store of `vole`.
    Store,
    /// Two different items have equal tags.
    Tag,
    /// A code of silent VOLE or COT has a lighter word than its distance says.
    Code,
    /// More items fall into a bucket than it holds.
    Bucket,
    /// A malicious receiver of `vole` fits more items into its store than the plan says.
    Fit,
    /// A number outside a group modulo a prime is taken for one of its elements.
    Member,
}

impl Chance {
    /// List of all events.
    #[cfg(test)]
    pub(crate) const ALL: [Chance; 7] =
        [Chance::Mask, Chance::Store, Chance::Tag, Chance::Code, Chance::Bucket, Chance::Fit, Chance::Member];

    /// Returns the exponent b such that the event happens in a job with probability at most 2^-b. The event that costs
    /// most for a further bit has the largest part. Events that are not in the list are far below the 2^-47 that is
    /// left.
    pub const fn bits(self) -> u32 {
        STATISTICAL_BITS
            + match self {
                Chance::Mask => 1,
                Chance::Store => 2,
                Chance::Tag => 3,
                Chance::Code => 4,
                Chance::Bucket => 5,
                Chance::Fit => 6,
                Chance::Member => 7,
            }
    }
}

/// Assumption on the behaviour of the other parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Semi-honest parties: they follow the protocol and look at what they receive.
    SemiHonest,
    /// Malicious parties: they may send anything.
    Malicious,
}

/// Computational security level of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The 2000s papers' own sizes; for reproducing their tables only.
    Paper80,
    /// Level of 112 bits, for comparison only.
    Bits112,
    /// Level of 128 bits, the default.
    Bits128,
    /// Group, Paillier and Goldwasser-Micali protocols only.
    Bits192,
    /// Group, Paillier and Goldwasser-Micali protocols only.
    Bits256,
}

impl Security {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Security::SemiHonest => "semi-honest",
            Security::Malicious => "malicious",
        }
    }
}

impl Level {
    const ALL: [Level; 5] = [Level::Paper80, Level::Bits112, Level::Bits128, Level::Bits192, Level::Bits256];

    /// Whether it protects nothing any more: what an attacker can break today, or tomorrow.
    pub fn is_insecure(self) -> bool {
        matches!(self, Level::Paper80 | Level::Bits112)
    }

    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Level::Paper80 => "paper80",
            Level::Bits112 => "bits112",
            Level::Bits128 => "bits128",
            Level::Bits192 => "bits192",
            Level::Bits256 => "bits256",
        }
    }
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Security {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        [Security::SemiHonest, Security::Malicious].into_iter().find(|security| security.name() == word).ok_or_else(
            || Error::Input(format!("security = \"{word}\" is unknown: use \"semi-honest\" or \"malicious\"")),
        )
    }
}

impl FromStr for Level {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        Level::ALL.into_iter().find(|level| level.name() == word).ok_or_else(|| {
            let known: Vec<_> = Level::ALL.iter().map(|level| level.name()).collect();
            Error::Input(format!("level = \"{word}\" is unknown: use one of {}", known.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_may_happen_by_chance_stays_below_the_whole() {
        // In parts of 2^-64.
        let all: u128 = Chance::ALL.iter().map(|chance| 1 << (64 - chance.bits())).sum();
        let whole = 1u128 << (64 - STATISTICAL_BITS);
        assert!(all < whole, "{all} of {whole}");
        assert!(2 * all > whole, "half of it is left: {all} of {whole}");
        // Each is counted, and once.
        let place = |chance: &Chance| match chance {
            Chance::Mask => 0,
            Chance::Store => 1,
            Chance::Tag => 2,
            Chance::Code => 3,
            Chance::Bucket => 4,
            Chance::Fit => 5,
            Chance::Member => 6,
        };
        assert!(Chance::ALL.iter().map(place).eq(0..Chance::ALL.len()));
    }
}
