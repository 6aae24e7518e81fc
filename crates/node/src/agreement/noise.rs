//! Noise that is added to the numbers that a job reveals: `noise` of the job file.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Value, json};
use tacita_core::primitive::noise::{Privacy, PrivacyLoss, binomial, decimal};
use tacita_core::{Error, Result};

use super::words::{maybe_from_word, unknown};
use super::{JobSpec, Reveal, WrittenNumber};

/// Privacy that the noise of a job gives, and the bounds of numbers for which it does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseSpec {
    /// Epsilon of differential privacy.
    pub epsilon: WrittenNumber,
    /// Delta of differential privacy: noise is Gaussian. Absent: it is 0, and noise is Laplace.
    #[serde(default)]
    pub delta: Option<WrittenNumber>,
    /// Bounds of numbers; absent: all that the columns can hold.
    #[serde(default)]
    pub bounds: Option<NoiseBounds>,
    /// Unit that is protected where many report; absent between parties, whose single rows are.
    #[serde(default, deserialize_with = "maybe_from_word")]
    pub unit: Option<NoiseUnit>,
}

/// Unit that noise protects where many report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseUnit {
    /// The key and the value of one report.
    Report,
    /// The keys and the values of all reports of one participant.
    Participant,
}

/// The smallest and the largest number of columns.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "two numbers, as [0, 100], or a table of those by party")]
pub enum NoiseBounds {
    /// Bounds of all columns.
    Same([WrittenNumber; 2]),
    /// Bounds of each party's columns.
    ByParty(BTreeMap<String, [WrittenNumber; 2]>),
}

impl NoiseUnit {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            NoiseUnit::Report => "report",
            NoiseUnit::Participant => "participant",
        }
    }
}

impl FromStr for NoiseUnit {
    type Err = Error;

    fn from_str(word: &str) -> Result<NoiseUnit> {
        let found = [NoiseUnit::Report, NoiseUnit::Participant].into_iter().find(|unit| unit.name() == word);
        found.map_or_else(|| unknown("noise.unit", word, "\"report\" or \"participant\""), Ok)
    }
}

impl NoiseSpec {
    /// Returns the privacy of one run.
    ///
    /// Errors ([`tacita_core::Error::Input`]): epsilon or delta is out of bounds.
    pub fn privacy(&self) -> Result<Privacy> {
        Privacy::new(&self.epsilon.0, self.delta.as_ref().map(|delta| delta.0.as_str()))
    }

    /// Returns the bounds of a party's numbers, as they are written.
    pub fn bounds_of(&self, party: &str) -> Option<&[WrittenNumber; 2]> {
        match self.bounds.as_ref()? {
            NoiseBounds::Same(bounds) => Some(bounds),
            NoiseBounds::ByParty(parties) => parties.get(party),
        }
    }

    pub(super) fn terms(&self) -> Value {
        let exact = |number: &WrittenNumber, decimals| {
            decimal::read(&number.0, decimals).map_or(number.0.clone(), |units| decimal::write(units, decimals))
        };
        let bounds = |[low, high]: &[WrittenNumber; 2]| json!([low.0, high.0]);
        let mut terms = json!({ "epsilon": exact(&self.epsilon, decimal::EPSILON) });
        if let Some(delta) = &self.delta {
            terms["delta"] = exact(delta, decimal::DELTA).into();
        }
        match &self.bounds {
            Some(NoiseBounds::Same(all)) => terms["bounds"] = bounds(all),
            Some(NoiseBounds::ByParty(parties)) => {
                let parties = parties.iter().map(|(name, of_party)| (name.clone(), bounds(of_party)));
                terms["bounds"] = Value::Object(parties.collect());
            }
            None => {}
        }
        if let Some(unit) = self.unit {
            terms["unit"] = unit.name().into();
        }
        terms
    }
}

impl JobSpec {
    /// Whether `party` adds noise to its share of each number: its rows are protected from another that learns these,
    /// or something that follows from them. Of shares, anybody may: who does is agreed on later.
    pub fn adds_noise(&self, party: &str) -> bool {
        let told = |name: &&str| self.learns(name) || self.job.tells_all(self) || self.reveal == Reveal::Shares;
        let adds = self.noise.is_some() && self.job.info().makes_noise;
        adds && self.parties.names().iter().filter(|name| **name != party).any(told)
    }

    /// Returns the privacy loss of `party`'s rows in one run: that of numbers, of which there is none where nobody else
    /// learns or where it was charged before, and that of how many rows are common, where that is blurred. In a job
    /// that others serve, the loss of one round.
    ///
    /// Errors ([`tacita_core::Error::Input`]): epsilon or delta is out of bounds.
    pub fn privacy_loss(&self, party: &str) -> Result<Option<PrivacyLoss>> {
        let Some(noise) = &self.noise else { return Ok(None) };
        if let Some(served) = self.job.served() {
            return (served.round_loss)(self);
        }
        let privacy = noise.privacy()?;
        let numbers = if self.adds_noise(party) { privacy.into() } else { PrivacyLoss::default() };
        Ok(Some(numbers.and(self.blur_loss())))
    }

    /// Returns the privacy loss that one run makes to whoever learns its numbers; none of numbers that have had their
    /// noise before.
    ///
    /// Errors ([`tacita_core::Error::Input`]): epsilon or delta is out of bounds.
    pub fn full_loss(&self) -> Result<Option<PrivacyLoss>> {
        let Some(noise) = self.noise.as_ref().filter(|_| self.job.info().makes_noise) else { return Ok(None) };
        if let Some(served) = self.job.served() {
            return (served.round_loss)(self);
        }
        Ok(Some(PrivacyLoss::from(noise.privacy()?).and(self.blur_loss())))
    }

    fn blur_loss(&self) -> PrivacyLoss {
        self.limits.blur.map_or_else(PrivacyLoss::default, binomial::of_coins)
    }

    /// Whether nothing exact is told about which rows there are, besides their number: all that is told has noise, and
    /// the number of common rows is blurred.
    pub fn hides_rows(&self) -> bool {
        self.noise.is_some() && self.limits.blur.is_some()
    }
}
