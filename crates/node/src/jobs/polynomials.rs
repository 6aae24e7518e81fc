//! Options for polynomials, in jobs by the polynomial protocol.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use tacita_core::protocol::published::intersect::polynomial::{MAX_BINS, Strategy};
use tacita_core::{Error, Result};

use crate::agreement::words::{bad, either};
use crate::agreement::{JobSpec, Protocol};

/// The word for the protocol.
pub const POLYNOMIAL: Protocol = Protocol::named("polynomial");

/// The word for the protocol that tests values of polynomials, and hands things over by oblivious transfer.
pub const POLYNOMIAL_OT: Protocol = Protocol::named("polynomial-ot");

/// Whether a protocol is of polynomials.
pub fn is_of_polynomials(protocol: Protocol) -> bool {
    [POLYNOMIAL, POLYNOMIAL_OT].contains(&protocol)
}

/// The word that leaves a choice to the parties.
const AUTO: &str = "auto";

/// Options for polynomials in the protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Polynomials {
    /// Strategy for transfer and multiplication of polynomials; absent: chosen by sizes.
    pub strategy: Option<OrAuto<Strategy>>,
    /// Into how many bins items go; absent: chosen by sizes.
    pub bins: Option<OrAuto<usize>>,
}

/// A choice, or the word `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrAuto<T> {
    /// Whatever takes least work.
    Auto,
    /// Value given by the user.
    Given(T),
}

impl Polynomials {
    /// Parses the options as given on the command line.
    pub fn parse(strategy: Option<&str>, bins: Option<&str>) -> Result<Polynomials> {
        let bins = bins.map(|bins| match bins {
            AUTO => Ok(OrAuto::Auto),
            number => number.replace('_', "").parse().map(OrAuto::Given).map_err(|_| no_bins(number)),
        });
        Ok(Polynomials { strategy: strategy.map(strategy_of).transpose()?, bins: bins.transpose()? })
    }

    /// The strategy, if one is named.
    pub fn strategy(&self) -> Option<Strategy> {
        self.strategy.and_then(OrAuto::given)
    }

    /// The number of bins, if one is given.
    pub fn bins(&self) -> Option<usize> {
        self.bins.and_then(OrAuto::given)
    }

    /// Refuses these keys where they mean nothing, and bins that cannot be.
    pub(crate) fn check(&self, job: &JobSpec) -> Result<()> {
        let present = [("strategy", self.strategy.is_some()), ("bins", self.bins.is_some())];
        match present.into_iter().find(|(_, present)| *present) {
            Some((key, _)) if !is_of_polynomials(job.protocol) => {
                let named = job.job.protocols(job).into_iter().filter(|protocol| is_of_polynomials(*protocol));
                let named = either(named.map(|protocol| protocol.name()));
                bad(format!("{key} is for protocol = {named}: leave it out, or name that protocol"))
            }
            _ => match self.bins() {
                Some(bins) if !(1..=MAX_BINS).contains(&bins) => Err(no_bins(&bins.to_string())),
                _ => Ok(()),
            },
        }
    }

    /// Returns both options as they stand in the terms.
    pub(crate) fn terms(&self) -> [(&'static str, serde_json::Value); 2] {
        [
            ("strategy", self.strategy().map_or(AUTO, Strategy::name).into()),
            ("bins", self.bins().map_or_else(|| AUTO.into(), Into::into)),
        ]
    }
}

impl<T> OrAuto<T> {
    fn given(self) -> Option<T> {
        match self {
            OrAuto::Auto => None,
            OrAuto::Given(value) => Some(value),
        }
    }
}

fn strategy_of(word: &str) -> Result<OrAuto<Strategy>> {
    if word == AUTO { Ok(OrAuto::Auto) } else { word.parse().map(OrAuto::Given) }
}

fn no_bins(written: &str) -> Error {
    Error::Input(format!("bins = {written}: use \"{AUTO}\", or a number from 1 to {MAX_BINS}"))
}

impl<'de> Deserialize<'de> for OrAuto<Strategy> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        strategy_of(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for OrAuto<usize> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "bins are \"auto\", or a whole number from 1 to 16777216")]
        enum Bins {
            Number(i64),
            Word(String),
        }
        match Bins::deserialize(deserializer)? {
            Bins::Number(number) => {
                usize::try_from(number).map(OrAuto::Given).map_err(|_| no_bins(&number.to_string()))
            }
            Bins::Word(word) if word == AUTO => Ok(OrAuto::Auto),
            Bins::Word(word) => Err(no_bins(&format!("{word:?}"))),
        }
        .map_err(D::Error::custom)
    }
}
