//! Condition under which the key of a row is revealed: of its exact numbers, or of one number with noise.
//!
//! A row's noise is drawn from a seed of the round, the row and its number. So whoever looks at the row again, after a
//! crash, in another database or in a round that was put back, finds the same noise: the mean of several draws would
//! tell the number.

use std::collections::HashMap;

use rand_core::CryptoRng;
use tacita_core::{Error, Result};
use tacita_node::jobs::aggregate::{AggregateJob, Histogram, Measure, Predicate, RoundNoise, Summary};

use super::noise_seed::NoiseSeed;
use super::record::Record;
use crate::store::{RowId, Stored};
use crate::wire::rows::RevealedKey;

/// Condition of a round.
pub(super) struct Condition<'a> {
    own: AggregateJob<'a>,
    predicate: Predicate,
    noise: Option<(RoundNoise, NoiseSeed)>,
}

/// A row that passes.
pub(super) struct Passing {
    pub(super) id: RowId,
    /// Reports of the row. Where reporters are counted with noise, one of each.
    pub(super) entries: Vec<Stored>,
    /// Noise of its number; 0 without.
    noise: i128,
    /// Sums of the values that each of the entries stands for, and their noise; none unless they are revealed with
    /// noise.
    sums: Option<(Vec<i128>, i128)>,
}

impl Passing {
    /// Removes the entries at these places, ascending; returns their number.
    pub(super) fn remove(&mut self, places: &[u32]) -> u64 {
        let stays = |place: usize| u32::try_from(place).is_ok_and(|place| places.binary_search(&place).is_err());
        let before = self.entries.len();
        let mut kept = (0..before).map(stays);
        self.entries.retain(|_| kept.next() == Some(true));
        if let Some((sums, _)) = &mut self.sums {
            let mut kept = (0..before).map(stays);
            sums.retain(|_| kept.next() == Some(true));
        }
        (before - self.entries.len()) as u64
    }

    /// Brings the entries into a random order.
    pub(super) fn shuffle(&mut self, rng: &mut impl CryptoRng) {
        let Some((sums, _)) = &mut self.sums else { return shuffle(&mut self.entries, rng) };
        let mut both: Vec<(Stored, i128)> = self.entries.drain(..).zip(sums.drain(..)).collect();
        shuffle(&mut both, rng);
        (self.entries, *sums) = both.into_iter().unzip();
    }
}

/// Verdict of a condition on a row.
pub(super) enum Judged {
    /// Row that does not pass.
    Fails,
    /// Row that passes, of which the oracle would have to be asked about so many entries, which are too many.
    TooLong(u64),
    /// Row that passes, with its reports.
    Passes(Passing),
}

impl<'a> Condition<'a> {
    /// The condition of a round that stands so; `predicate` is what it is without noise.
    ///
    /// Errors: the job has noise, and the round no seed.
    pub(super) fn new(own: AggregateJob<'a>, predicate: Predicate, record: &Record) -> Result<Condition<'a>> {
        let seed =
            || record.noise.clone().ok_or_else(|| Error::Internal("a round without a seed for its noise".into()));
        let noise = own.round_noise()?.map(|noise| Ok::<_, Error>((noise, seed()?))).transpose()?;
        Ok(Condition { own, predicate, noise })
    }

    /// Whether numbers get noise.
    pub(super) fn has_noise(&self) -> bool {
        self.noise.is_some()
    }

    /// Whether a row passes.
    pub(super) fn passes(&self, id: &RowId, row: &Summary<'_>) -> bool {
        self.holds(row, self.drawn(id, row))
    }

    /// Looks at a row, of which the oracle can be asked about `most` entries.
    pub(super) fn judge(
        &self,
        id: &RowId,
        entries: &mut dyn Iterator<Item = Result<Stored>>,
        most: usize,
    ) -> Result<Judged> {
        let counts_reporters = self.noise.as_ref().is_some_and(|(noise, _)| noise.measure == Measure::Distinct);
        let domain = &self.own.own.round.values;
        let (mut row, mut kept, mut sums) = (Summary::new(domain), Vec::new(), Vec::new());
        // Places of the entries that are kept of each reporter.
        let mut of_reporters = HashMap::new();
        for entry in entries {
            let (entry, before) = (entry?, row.distinct());
            row.add(entry.value, &entry.tag);
            let value = i128::from(domain.number(entry.value).unwrap_or(0));
            // A report of each reporter is enough to see whether it counts: all of an honest one's are consistent.
            if counts_reporters && row.distinct() == before {
                if let Some(sum) = of_reporters.get(&entry.tag).and_then(|place: &usize| sums.get_mut(*place)) {
                    *sum += value;
                }
            } else if kept.len() < most {
                if counts_reporters {
                    of_reporters.insert(entry.tag, kept.len());
                }
                sums.push(value);
                kept.push(entry);
            }
        }
        let noise = self.drawn(id, &row);
        let asked = match &self.noise {
            None => row.count(),
            Some((of, _)) => of.entries(of.number(&row), noise),
        };
        Ok(if !self.holds(&row, noise) {
            Judged::Fails
        } else if asked > most as u64 {
            Judged::TooLong(asked)
        } else {
            let sums = self.own.reveals_sums().then(|| (sums, self.drawn_of_sum(id, &row)));
            Judged::Passes(Passing { id: *id, entries: kept, noise, sums })
        })
    }

    /// Whether a row passes with what is left of its reports.
    pub(super) fn still_holds(&self, row: &Passing) -> bool {
        if row.entries.is_empty() {
            return false;
        }
        match &self.noise {
            None => {
                let mut summary = Summary::new(&self.own.own.round.values);
                row.entries.iter().for_each(|entry| summary.add(entry.value, &entry.tag));
                self.predicate.holds(&summary)
            }
            Some((noise, _)) => noise.passes(row.entries.len() as i128 + row.noise),
        }
    }

    /// Returns the number of entries that the oracle is asked about.
    pub(super) fn asked(&self, row: &Passing) -> usize {
        let number = row.entries.len();
        self.noise.as_ref().map_or(number, |(noise, _)| noise.entries(number as u64, row.noise) as usize)
    }

    /// Returns the places of the entries that the oracle is asked about, in their order. With noise, so many are copies
    /// of the first that the number of all says no more than the number with noise, and nobody can tell which.
    pub(super) fn places(&self, row: &Passing, rng: &mut impl CryptoRng) -> Vec<usize> {
        let mut places: Vec<usize> = (0..row.entries.len()).collect();
        if self.has_noise() {
            places.resize(self.asked(row), 0);
            shuffle(&mut places, rng);
        }
        places
    }

    /// Returns numbers that say which of these entries have the same reporter, and no more; with noise not even that.
    pub(super) fn classes(&self, row: &Passing, places: &[usize]) -> Vec<u32> {
        if self.has_noise() {
            return (0..places.len() as u32).collect();
        }
        let mut numbers = HashMap::new();
        let class = |place: &usize| {
            let next = numbers.len() as u32;
            *numbers.entry(row.entries[*place].tag).or_insert(next)
        };
        places.iter().map(class).collect()
    }

    /// Returns what is revealed of a row with this key.
    pub(super) fn revealed(&self, key: Vec<u8>, row: &Passing) -> RevealedKey {
        let mut values = std::collections::BTreeMap::<u32, u64>::new();
        if self.own.revealed().values && self.own.own.round.values.has_values() && row.sums.is_none() {
            row.entries.iter().for_each(|entry| *values.entry(entry.value).or_default() += 1);
        }
        // What is revealed has reached a threshold that is not negative.
        let count = (row.entries.len() as i128 + row.noise).max(0) as u64;
        let noisy_sum = row.sums.as_ref().map(|(sums, noise)| sums.iter().sum::<i128>() + noise);
        RevealedKey { key, count, values: values.into_iter().collect(), noisy_sum }
    }

    /// Returns the numbers of a histogram with noise; none in a job without.
    pub(super) fn noisy(&self, histogram: &Histogram) -> Vec<i64> {
        let Some((noise, seed)) = &self.noise else { return Vec::new() };
        let sizes = [&histogram.count, &histogram.distinct];
        let numbers = sizes.into_iter().flat_map(|sizes| {
            let number = [sizes.len() as u64].into_iter();
            number.chain(sizes.iter().flat_map(|(size, rows)| [*size, *rows])).map(u64::to_le_bytes)
        });
        noise.noisy(histogram, &mut seed.generator("histogram", numbers)).unwrap_or_default()
    }

    fn holds(&self, row: &Summary<'_>, noise: i128) -> bool {
        match &self.noise {
            None => self.predicate.holds(row),
            Some((of, _)) => of.passes(i128::from(of.number(row)) + noise),
        }
    }

    /// The noise of a row's sum.
    fn drawn_of_sum(&self, id: &RowId, row: &Summary<'_>) -> i128 {
        let Some((noise, seed)) = &self.noise else { return 0 };
        let (number, sum) = (noise.number(row).to_le_bytes(), row.sum().to_le_bytes());
        noise.draw_of_sum(&mut seed.generator("sum", [&id[..], &number[..], &sum[..]]))
    }

    /// The noise of a row.
    fn drawn(&self, id: &RowId, row: &Summary<'_>) -> i128 {
        let Some((noise, seed)) = &self.noise else { return 0 };
        let number = noise.number(row).to_le_bytes();
        noise.draw(&mut seed.generator("row", [&id[..], &number[..]]))
    }
}

/// A uniformly random order.
pub(super) fn shuffle<T>(all: &mut [T], rng: &mut impl CryptoRng) {
    for last in (1..all.len()).rev() {
        // By rejection, so that no place is likelier.
        let bound = last as u64 + 1;
        let most = u64::MAX - u64::MAX % bound;
        let place = loop {
            let drawn = rng.next_u64();
            if drawn < most {
                break (drawn % bound) as usize;
            }
        };
        all.swap(last, place);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;
    use tacita_node::agreement::{JobSpec, Reveal};
    use tacita_node::jobs::aggregate::{Aggregate, Domain};

    use super::*;
    use crate::wire::signed::Signed;

    /// Each of the 24 orders of 4 is as likely as any other. (23 degrees of freedom: the statistic is above 65 with
    /// probability below 10^-5.)
    #[test]
    fn every_order_is_equally_likely() {
        let (mut rng, mut seen) = (ChaCha20Rng::seed_from_u64(1), BTreeMap::new());
        for _ in 0..24_000 {
            let mut order = [0, 1, 2, 3];
            shuffle(&mut order, &mut rng);
            *seen.entry(order).or_insert(0_u32) += 1;
        }
        let statistic = seen.values().map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0).sum::<f64>();
        assert!(seen.len() == 24 && statistic < 65.0, "{} orders, {statistic}", seen.len());
    }

    fn job(measure: &str) -> JobSpec {
        let text = format!(
            "job = \"aggregate\"\nid = \"t\"\nreveal = \"keys+histogram\"\nreveal_to = \"participants\"\nnoise = {{ epsilon = 2, delta = 1e-6, \
             bounds = [1, 9], unit = \"report\" }}\n[key]\ncolumns = [\"x\"]\n[round]\nreveal_when = \"{measure} >= 30\"\n"
        );
        JobSpec::parse(&text, false).unwrap()
    }

    fn record() -> Record {
        let signed = Signed { public: String::new(), by: String::new(), signature: String::new() };
        Record::new(0, signed).with_noise(Some(NoiseSeed::fresh().unwrap()))
    }

    fn condition<'a>(job: &'a JobSpec, record: &Record) -> Condition<'a> {
        let own = Aggregate::of(job).unwrap();
        let predicate = own.own.round.reveal_when.clone();
        Condition::new(own, predicate, record).unwrap()
    }

    /// A row of so many reports, three of each reporter.
    fn entries(number: u8) -> Vec<Stored> {
        (0..number).map(|place| Stored { tag: [place / 3; 32], value: 0, sealed: vec![place] }).collect()
    }

    fn judged(condition: &Condition<'_>, id: u8, number: u8) -> Option<Passing> {
        let entries = entries(number);
        match condition.judge(&[id; 32], &mut entries.into_iter().map(Ok), 1000).unwrap() {
            Judged::Passes(row) => Some(row),
            _ => None,
        }
    }

    /// The noise of a row stays, also in the record as it is written; another row, number or round has another.
    #[test]
    fn a_row_has_one_noise() {
        let (job, record) = (job("count"), record());
        let noise = |record: &Record, id, number| judged(&condition(&job, record), id, number).map(|row| row.noise);
        let again: Record = serde_json::from_slice(&record.to_bytes().unwrap()).unwrap();
        let others = self::record();
        let (mut seen, mut same) = (BTreeSet::new(), [0; 3]);
        for id in 0..40 {
            let first = noise(&record, id, 200);
            assert!(first.is_some(), "200 is far above the threshold");
            assert_eq!(first, noise(&again, id, 200));
            seen.insert(first);
            let elsewhere = [noise(&record, id + 100, 200), noise(&record, id, 199), noise(&others, id, 200)];
            same.iter_mut().zip(elsewhere).for_each(|(same, other)| *same += u32::from(other == first));
        }
        // Equal noise of two rows has probability 0.13 at this scale.
        assert!(seen.len() > 4 && same.iter().all(|same| *same < 20), "{} {same:?}", seen.len());
        let debug = format!("{record:?}");
        assert!(debug.contains("NoiseSeed(..)"), "{debug}");
        let own = Aggregate::of(&job).unwrap();
        let predicate = own.own.round.reveal_when.clone();
        assert!(Condition::new(own, predicate, &record.with_noise(None)).is_err());
    }

    /// The oracle is asked about as many entries as the number with noise says, in an order of its own, of which nobody
    /// can tell which are copies; each report is among them, or, where reporters count, one of each.
    #[test]
    fn the_number_of_entries_is_that_with_noise() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for (measure, number, distinct) in [("count", 120, 120), ("distinct", 240, 80)] {
            let (job, record) = (job(measure), record());
            let condition = condition(&job, &record);
            let filling = condition.noise.as_ref().unwrap().0.filling as usize;
            let mut orders = BTreeSet::new();
            for id in 0..20 {
                let row = judged(&condition, id, number).unwrap();
                assert_eq!(row.entries.len(), distinct);
                let tags: BTreeSet<_> = row.entries.iter().map(|entry| entry.tag).collect();
                assert_eq!(tags.len(), number as usize / 3);
                let places = condition.places(&row, &mut rng);
                let told = condition.revealed(vec![1], &row).count;
                assert_eq!(places.len() as u64, told + filling as u64);
                assert_eq!(told as i128, distinct as i128 + row.noise);
                assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), distinct);
                assert!(places.iter().filter(|place| **place != 0).count() == distinct - 1);
                assert_eq!(condition.classes(&row, &places), (0..places.len() as u32).collect::<Vec<_>>());
                orders.insert(places);
            }
            assert_eq!(orders.len(), 20);
        }
    }

    /// Sums stay with the entries that they are of; of reporters, with the one that speaks for them.
    #[test]
    fn sums_are_of_the_entries_that_are_left() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        for (measure, each) in [("count", 1), ("distinct", 3)] {
            let job = JobSpec { reveal: Reveal::Keys { values: true, histogram: true }, ..job(measure) };
            let mut own = Aggregate::of(&job).unwrap().own.clone();
            own.round.values = Domain::Range { min: -1, max: 250 };
            let job = JobSpec { job: Arc::new(own), ..job };
            let record = record();
            let condition = condition(&job, &record);
            let entries = (0..240_u32)
                .map(|place| Ok(Stored { tag: [(place / 3) as u8; 32], value: place, sealed: vec![place as u8] }));
            let Judged::Passes(mut row) = condition.judge(&[1; 32], &mut entries.into_iter(), 1000).unwrap() else {
                panic!()
            };
            // A value is its place, less 1: three of a reporter.
            let expected = |row: &Passing| -> i128 {
                let own = |first: u8| (0..each).map(|next| i128::from(first) + next - 1).sum::<i128>();
                row.entries.iter().map(|entry| own(entry.sealed[0])).sum()
            };
            let noise = row.sums.as_ref().unwrap().1;
            for _ in 0..3 {
                row.shuffle(&mut rng);
                assert_eq!(condition.revealed(vec![], &row).noisy_sum, Some(expected(&row) + noise));
                assert_eq!(row.remove(&[0, 3, 4]), 3);
            }
            assert!(condition.revealed(vec![], &row).values.is_empty());
        }
    }

    /// Checks that the rest of a row is compared by the same noise.
    #[test]
    fn a_row_without_its_wrong_reports_is_compared_by_the_same_noise() {
        let (job, record) = (job("count"), record());
        let condition = condition(&job, &record);
        for id in 0..20 {
            let mut row = judged(&condition, id, 120).unwrap();
            let least = (30 - row.noise) as usize;
            row.entries.truncate(least);
            assert!(condition.still_holds(&row));
            assert_eq!(condition.revealed(vec![], &row).count, 30);
            row.entries.truncate(least - 1);
            assert!(!condition.still_holds(&row));
        }
    }
}
