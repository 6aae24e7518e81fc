//! Noise on what a round reveals. The database adds it, to protect reports from those who get results: not from the
//! database, which sees rows as they are.
//!
//! Each row has one number, of reports or of reporters. It gets discrete Laplace noise once. The number with noise is
//! compared with the threshold, printed if it reaches it, and is all that the oracle sees. Rows exist only if somebody
//! reports their key: a threshold far enough above a single report hides that but with probability delta (Korolova,
//! Kenthapadi, Mishra & Ntoulas, *Releasing Search Queries and Clicks Privately*, WWW 2009). The histogram gets noise
//! of its own, for each of its agreed sizes.

use rand_core::CryptoRng;
use serde_json::{Value, json};
use tacita_core::Result;
use tacita_core::primitive::noise::{MAX_NUMBERS, NoiseLaw, Privacy, PrivacyLoss, Sensitivity, decimal};

use super::spec::{AggregateJob, KEY_BYTES};
use super::{Histogram, Measure, Summary};
use crate::agreement::words::bad;
use crate::agreement::{NoiseBounds, NoiseSpec, NoiseUnit, WrittenNumber};
use crate::base::text::count;
use crate::jobs::noise::ERROR_BAR;

/// Rows whose numbers change by 1 if a report is replaced: it leaves one row, and comes into another.
const CHANGED_ROWS: u64 = 2;

/// Changes of a histogram by 1 then: each of those rows leaves one size, and comes into another.
const CHANGED_SIZES: u64 = 4;

/// The largest size of a histogram with noise.
const MAX_SIZE: u64 = 1 << 16;

/// Points of keys, 16 bytes each, about which an oracle may have to be asked for the smallest row: half a question.
const MAX_POINTS: u64 = 1 << 19;

/// Noise of a round.
#[derive(Debug, Clone, Copy)]
pub struct RoundNoise {
    /// The number of a row that is compared and printed.
    pub measure: Measure,
    /// The least number with noise for which a key is revealed.
    pub threshold: u64,
    /// Difference between the number of entries that the oracle is asked about and a number with noise. It bounds the
    /// noise but with negligible probability, so that no row has more entries.
    pub filling: u64,
    numbers: NoiseLaw,
    sums: Option<NoiseLaw>,
    histogram: Option<NoiseLaw>,
    sizes: u64,
}

impl AggregateJob<'_> {
    /// Returns the noise of a round, in a job with some.
    ///
    /// Errors ([`tacita_core::Error::Input`]): its terms cannot be.
    pub fn round_noise(&self) -> Result<Option<RoundNoise>> {
        let Some(spec) = &self.noise else { return Ok(None) };
        let Some((measure, threshold)) = self.own.round.reveal_when.only_threshold() else {
            return bad(format!(
                "round.reveal_when ({}): noise is for one threshold, as \"distinct >= 30\" or \"count >= 30\"",
                self.own.round.reveal_when
            ));
        };
        let (releases, reports) = (self.releases(), self.protected_reports()?);
        let law = |changed: u64, by: u64, numbers: u64| {
            let Some(by) = by.checked_mul(reports) else {
                return bad(
                    "noise: it would be too long: agree on smaller values, or on fewer reports (round.max_reports)",
                );
            };
            // Releases have equal parts of epsilon.
            NoiseLaw::new(laplace(spec)?, Sensitivity { changed: changed * releases, by }, numbers)
        };
        let sums = self.largest_value()?.map(|value| law(CHANGED_ROWS, value, 1)).transpose()?;
        // Nor is any sum longer than its type, with noise.
        sums.map(|law| law.tail(1)).transpose()?;
        let sizes = self.sizes(spec)?;
        let filling = law(CHANGED_ROWS, 1, MAX_NUMBERS)?.tail(1)?;
        Ok(Some(RoundNoise {
            measure,
            threshold,
            // Below 2^64 as long as epsilon is 0.001 at least, and a participant has at most 2^32 reports at a proxy.
            filling: u64::try_from(filling).unwrap_or(u64::MAX),
            numbers: law(CHANGED_ROWS, 1, 1)?,
            sums,
            histogram: sizes.map(|sizes| law(CHANGED_SIZES, 1, sizes)).transpose()?,
            sizes: sizes.unwrap_or(0),
        }))
    }

    /// The number of releases among which epsilon is divided: keys with their numbers, sums, and the histogram.
    fn releases(&self) -> u64 {
        1 + u64::from(self.revealed().histogram) + u64::from(self.reveals_sums())
    }

    /// Whether sums of values are revealed, with noise.
    pub fn reveals_sums(&self) -> bool {
        self.noise.is_some() && self.revealed().values && self.own.round.values.has_values()
    }

    /// The largest size of a value, if sums are revealed.
    fn largest_value(&self) -> Result<Option<u64>> {
        match (self.reveals_sums(), self.own.round.values.bounds()) {
            (false, _) => Ok(None),
            (true, Some((low, high))) => Ok(Some(low.unsigned_abs().max(high.unsigned_abs()))),
            (true, None) => bad(
                "noise: grades cannot be added up: use reveal = \"keys\" or \"keys+histogram\", or numbers as round.values",
            ),
        }
    }

    /// The number of reports that are protected together.
    fn protected_reports(&self) -> Result<u64> {
        match self.noise.as_ref().and_then(|noise| noise.unit) {
            Some(NoiseUnit::Report) => Ok(1),
            Some(NoiseUnit::Participant) => match self.own.round.max_reports {
                Some(most) => Ok(most * self.own.proxy.len().max(1) as u64),
                None => {
                    bad("noise.unit = \"participant\" needs round.max_reports: what one participant adds is bounded")
                }
            },
            None => bad(
                "noise.unit: say what is protected: \"report\" (one report) or \"participant\" (all reports of one participant)",
            ),
        }
    }

    /// The largest size of the histogram, if one is revealed.
    fn sizes(&self, spec: &NoiseSpec) -> Result<Option<u64>> {
        let size = |WrittenNumber(text): &WrittenNumber| text.parse::<u64>().ok();
        match (&spec.bounds, self.revealed().histogram) {
            (None, false) => Ok(None),
            (Some(_), false) => bad(
                "noise.bounds: they are the sizes of rows in a histogram, which this job does not reveal: leave them out",
            ),
            (Some(NoiseBounds::Same([low, high])), true) if size(low) == Some(1) => match size(high) {
                Some(high) if (2..=MAX_SIZE).contains(&high) => Ok(Some(high)),
                _ => bad(format!("noise.bounds: use sizes of rows from 1 to 2 or more, up to {MAX_SIZE}, as [1, 20]")),
            },
            _ => bad(
                "noise.bounds: which sizes rows have would tell of single reports: agree on those of the histogram, as [1, 20], \
                 where 20 stands for 20 and more",
            ),
        }
    }

    /// Refuses noise that would protect nothing, with what to do.
    pub(super) fn check_noise(&self) -> Result<()> {
        let (Some(spec), round) = (&self.noise, &self.own.round) else { return Ok(()) };
        spec.privacy()?;
        if spec.delta.is_none() {
            return bad(
                "noise.delta: a key shows that somebody reported it, and noise hides that but with this probability: write \
                 delta = 1e-9, for example",
            );
        }
        if round.tighten {
            return bad(
                "round.tighten is not available with noise, because it is decided by exact numbers: leave one of the two out",
            );
        }
        let audience = self.audience();
        if !audience.participants && audience.names.is_empty() {
            return bad(
                "noise: the database alone gets results, and sees exact numbers anyway: leave noise out, or name others in \
                 reveal_to",
            );
        }
        let Some(noise) = self.round_noise()? else { return Ok(()) };
        let entries = noise.threshold.saturating_add(noise.filling);
        if entries.saturating_mul(round.key_bytes.div_ceil(KEY_BYTES) as u64) > MAX_POINTS {
            return bad(format!(
                "noise: the oracle would be asked about {} entries of each row, which are too many: use a larger epsilon, or a smaller \
                 round.max_reports",
                count(entries)
            ));
        }
        let least = self.least_threshold(spec, noise.measure)?;
        if noise.threshold < least {
            return bad(format!(
                "round.reveal_when ({}): with this noise, a key of {} alone would be revealed too often: use \
                 {} >= {least} or more, a larger epsilon, or a larger delta",
                round.reveal_when,
                if self.protected_reports()? > 1 { "one participant" } else { "one report" },
                noise.measure
            ));
        }
        Ok(())
    }

    /// The least threshold for which keys that only what is protected has are revealed with probability delta at most.
    ///
    /// P(noise >= m) is below exp(-m / scale) for noise of this scale. Of one report one key may vanish, whose number
    /// is 1. Of M reports these are M keys whose number is 1, or one whose number is M, or something between, which is
    /// less probable. (The probability is also kept below that by which the noise of a new key may differ, see
    /// `docs/protocols/aggregate.md`.)
    fn least_threshold(&self, spec: &NoiseSpec, measure: Measure) -> Result<u64> {
        let (privacy, reports) = (spec.privacy()?, self.protected_reports()? as f64);
        let epsilon = privacy.epsilon() as f64 / 1e6;
        let scale = (CHANGED_ROWS * self.releases()) as f64 * reports / epsilon;
        let delta = (privacy.delta() as f64 / 1e18).min(1.0 / (2.0 * scale));
        let of_keys = 1.0 + scale * (reports / delta).ln();
        let of_one = if measure == Measure::Count { reports + scale * (1.0 / delta).ln() } else { 0.0 };
        // The margin is far more than the error of a logarithm.
        Ok((of_keys.max(of_one) * (1.0 + 1e-9)).ceil() as u64)
    }

    /// Returns the privacy loss of one round.
    pub(super) fn round_loss(&self) -> Result<Option<PrivacyLoss>> {
        let Some(spec) = &self.noise else { return Ok(None) };
        let (privacy, pure) = (spec.privacy()?, laplace(spec)?);
        let delta = privacy.delta();
        Ok(Some(PrivacyLoss { epsilon: privacy.epsilon(), delta, rho: pure.rho(), rho_delta: delta }))
    }

    /// Returns the lower bounds that the oracle checks, on the entries that it is asked about.
    pub fn oracle_minimum(&self) -> Result<super::PredicateMinimum> {
        Ok(match self.round_noise()? {
            None => self.own.round.reveal_when.least(),
            // Nothing is told of reporters.
            Some(noise) => {
                super::PredicateMinimum { count: noise.threshold.saturating_add(noise.filling), distinct: 1 }
            }
        })
    }

    /// Returns the entry of a report about noise, in a job with some.
    pub fn noise_report(&self) -> Result<Option<Value>> {
        let (Some(spec), Some(noise)) = (&self.noise, self.round_noise()?) else { return Ok(None) };
        let privacy = spec.privacy()?;
        let mut report = json!({
            "epsilon": decimal::write(privacy.epsilon(), decimal::EPSILON),
            "delta": decimal::write(privacy.delta(), decimal::DELTA),
            "unit": spec.unit.map(NoiseUnit::name),
            "added_by": ["database"],
            "within": noise.within(),
            "in": ERROR_BAR,
        });
        let others = [("sums_within", noise.sums_within()), ("histogram_within", noise.histogram_within())];
        for (name, within) in others {
            if let Some(within) = within {
                report[name] = within.into();
            }
        }
        Ok(Some(report))
    }

    /// Returns sentences on noise for `who`, who gets results.
    pub(super) fn noise_sentences(&self, who: &str) -> Vec<String> {
        // Job files with noise that cannot be are refused.
        let (Some(spec), Ok(Some(noise))) = (&self.noise, self.round_noise()) else { return Vec::new() };
        let Ok(privacy) = spec.privacy() else { return Vec::new() };
        let mut said = vec![format!(
            "Noise is added by database. Each number is within {} of the exact one in {ERROR_BAR}.",
            count(noise.within())
        )];
        said.push("Of keys with few reports, only those come whose noise is large: their numbers are too high.".into());
        if let Some(within) = noise.sums_within() {
            said.push(format!("Each sum is within {} of the exact one in {ERROR_BAR}.", count(within)));
        }
        if let Some(within) = noise.histogram_within() {
            said.push(format!(
                "Each number of the histogram is within {} of the exact one in {ERROR_BAR}. It can be negative. Size {} stands for that and more.",
                count(within),
                count(noise.sizes)
            ));
        }
        if who == "database" {
            said.push("Noise does not protect reports from database, which sees exact numbers.".into());
            return said;
        }
        let (unit, others) = match spec.unit {
            Some(NoiseUnit::Participant) => ("all reports of one participant", None),
            _ => ("one report", Some("For several reports of one person, the loss adds up.")),
        };
        said.push(format!(
            "{who} learns {unit} under {privacy}-differential privacy, whatever other participants do. That holds as long as proxy, oracle \
             and database follow the protocol, and {who} does not pool with them."
        ));
        said.extend(others.map(str::to_owned));
        said.push("Noise does not hide who reports, or how many reports.".into());
        said.push(format!(
            "{who} can come closer to the exact numbers by further rounds of the same reports. Their noise averages out, and their privacy \
             loss adds up."
        ));
        said.push(format!("{who} can learn more from how long database takes."));
        said
    }
}

/// The privacy of the noise: delta is spent by the threshold alone.
fn laplace(spec: &NoiseSpec) -> Result<Privacy> {
    Privacy::new(&spec.epsilon.0, None)
}

impl RoundNoise {
    /// Returns the number of a row that is compared.
    pub fn number(&self, row: &Summary<'_>) -> u64 {
        if self.measure == Measure::Distinct { row.distinct() } else { row.count() }
    }

    /// Draws the noise of one row. The time depends on what is drawn.
    pub fn draw(&self, rng: &mut impl CryptoRng) -> i128 {
        self.numbers.draw(rng).iter().sum()
    }

    /// Draws the noise of the sum of one row; 0 where sums are not revealed. The time depends on what is drawn.
    pub fn draw_of_sum(&self, rng: &mut impl CryptoRng) -> i128 {
        self.sums.map_or(0, |law| law.draw(rng).iter().sum())
    }

    /// Whether a row passes that has this number with noise.
    pub fn passes(&self, number: i128) -> bool {
        number >= i128::from(self.threshold)
    }

    /// Returns the number of entries that the oracle is asked about, of a row with this number and noise: the number
    /// with noise and [`RoundNoise::filling`]. (More, where that is not enough, with negligible probability.)
    pub fn entries(&self, number: u64, noise: i128) -> u64 {
        let all = i128::from(number).saturating_add(noise).saturating_add(self.filling.into());
        number.max(u64::try_from(all.max(0)).unwrap_or(u64::MAX))
    }

    /// Adds noise to the numbers of rows of each agreed size, if a histogram is revealed.
    pub fn noisy(&self, histogram: &Histogram, rng: &mut impl CryptoRng) -> Option<Vec<i64>> {
        let drawn = self.histogram?.draw(rng);
        let noisy = self.sized(histogram).into_iter().zip(drawn.iter()).map(|(rows, noise)| i128::from(rows) + noise);
        Some(noisy.map(|rows| rows.clamp(i64::MIN.into(), i64::MAX.into()) as i64).collect())
    }

    /// Numbers of rows of each agreed size; larger ones count as the largest.
    fn sized(&self, histogram: &Histogram) -> Vec<u64> {
        let of_measure = if self.measure == Measure::Distinct { &histogram.distinct } else { &histogram.count };
        let mut rows = vec![0; self.sizes as usize];
        for (size, number) in of_measure {
            if let Some(row) = rows.get_mut((*size).min(self.sizes).saturating_sub(1) as usize) {
                *row += number;
            }
        }
        rows
    }

    /// Returns the error bar of each number that is revealed beside a key.
    pub fn within(&self) -> u64 {
        self.numbers.within(1) as u64
    }

    /// Returns the error bar of each sum, if some are revealed.
    pub fn sums_within(&self) -> Option<u64> {
        self.sums.map(|law| u64::try_from(law.within(1)).unwrap_or(u64::MAX))
    }

    /// Returns the error bar of each number of the histogram, if one is revealed.
    pub fn histogram_within(&self) -> Option<u64> {
        self.histogram.map(|law| law.within(1) as u64)
    }
}

#[cfg(test)]
mod tests;
