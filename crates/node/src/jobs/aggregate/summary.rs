//! Summary of a row: its number of reports, the number of their reporters, and their values.

use std::collections::{BTreeMap, HashSet};

use super::Domain;

/// A row of the database as reports stream in. It holds a number for each value that occurs, so at most as many as the
/// domain has or the row reports; and a tag for each distinct reporter, so at most as many as there are participants.
#[derive(Clone)]
pub struct Summary<'a> {
    domain: &'a Domain,
    count: u64,
    sum: i128,
    values: BTreeMap<u32, u64>,
    // The standard library's hash has keys of its own in each set: nobody can choose tags that collide.
    reporters: HashSet<[u8; 32]>,
}

impl<'a> Summary<'a> {
    /// Returns a summary of no reports yet.
    pub fn new(domain: &'a Domain) -> Summary<'a> {
        Summary { domain, count: 0, sum: 0, values: BTreeMap::new(), reporters: HashSet::new() }
    }

    /// Adds a report with the value at this place. Reports with equal tags are of one reporter.
    ///
    /// The place is looked at only where reports carry values, and has to be one of the domain's: the database drops
    /// others when it opens them.
    pub fn add(&mut self, place: u32, reporter: &[u8; 32]) {
        self.count += 1;
        self.reporters.insert(*reporter);
        if self.domain.has_values() {
            *self.values.entry(place).or_default() += 1;
            self.sum += self.domain.number(place).map_or(0, i128::from);
        }
    }

    /// Returns the number of reports.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of distinct reporters.
    pub fn distinct(&self) -> u64 {
        self.reporters.len() as u64
    }

    /// The sum of the values; 0 of grades, or without values.
    pub fn sum(&self) -> i128 {
        self.sum
    }

    /// Returns the number of reports with each value, by its place, ascending.
    pub fn values(&self) -> &BTreeMap<u32, u64> {
        &self.values
    }

    /// The place of the median: of an even number of values the lower one of the two in the middle. None without
    /// values.
    pub fn median(&self) -> Option<u32> {
        let middle = self.values.values().sum::<u64>().checked_sub(1)? / 2;
        let mut before = 0;
        self.values.iter().find_map(|(place, count)| {
            before += count;
            (before > middle).then_some(*place)
        })
    }

    /// Returns the least place of a value.
    pub fn min(&self) -> Option<u32> {
        self.values.first_key_value().map(|(place, _)| *place)
    }

    /// Returns the greatest place of a value.
    pub fn max(&self) -> Option<u32> {
        self.values.last_key_value().map(|(place, _)| *place)
    }

    /// The place that most reports have: of several the least.
    pub fn mode(&self) -> Option<u32> {
        self.values.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0))).map(|(place, _)| *place)
    }

    /// The domain of its values.
    pub fn domain(&self) -> &'a Domain {
        self.domain
    }
}

/// Numbers only: which reporters they are of is nobody's business.
impl std::fmt::Debug for Summary<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Summary")
            .field("count", &self.count)
            .field("distinct", &self.distinct())
            .finish_non_exhaustive()
    }
}

/// Number of rows of a round with each number of reports and of reporters: the database's operator sees it before
/// the reveal. Since all counts add up to the reports of the round, n reports have at most about the square root of
/// 2n different counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Number of rows by the number of reports.
    pub count: BTreeMap<u64, u64>,
    /// Number of rows by the number of distinct reporters.
    pub distinct: BTreeMap<u64, u64>,
    /// Numbers of rows with noise by what the condition compares, from size 1 on, in their place; empty without noise.
    pub noisy: Vec<i64>,
}

impl Histogram {
    /// Adds a row to both histograms.
    pub fn add(&mut self, row: &Summary<'_>) {
        *self.count.entry(row.count()).or_default() += 1;
        *self.distinct.entry(row.distinct()).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'a>(domain: &'a Domain, values: &[(u32, u8)]) -> Summary<'a> {
        let mut row = Summary::new(domain);
        values.iter().for_each(|(place, reporter)| row.add(*place, &[*reporter; 32]));
        row
    }

    #[test]
    fn a_row_is_summed_up() {
        let domain = Domain::Numbers(vec![-5, 1, 10]);
        let found = row(&domain, &[(2, 1), (0, 1), (2, 2), (1, 3)]);
        assert_eq!((found.count(), found.distinct(), found.sum()), (4, 3, 16));
        assert_eq!((found.min(), found.max(), found.mode()), (Some(0), Some(2), Some(2)));
        // -5, 1, 10, 10: the lower of the two in the middle.
        assert_eq!(found.median(), Some(1));
        // All occur once: the least.
        assert_eq!(row(&domain, &[(2, 1), (1, 1)]).mode(), Some(1));
        assert_eq!(row(&domain, &[]).median(), None);
    }

    #[test]
    fn without_values_only_reports_and_reporters_count() {
        let found = row(&Domain::Nothing, &[(0, 1), (0, 1)]);
        assert_eq!((found.count(), found.distinct(), found.sum(), found.mode()), (2, 1, 0, None));
        let mut histogram = Histogram::default();
        histogram.add(&found);
        assert_eq!(histogram.count, BTreeMap::from([(2, 1)]));
        assert_eq!(histogram.distinct, BTreeMap::from([(1, 1)]));
    }
}
