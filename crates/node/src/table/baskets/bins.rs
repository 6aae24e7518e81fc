//! Columns of numbers whose bins hold about as many rows each, which are made when it is known which rows count.

use std::collections::BTreeMap;

use super::check_name;

/// A column of numbers that wait for their bins. Secret: never printed.
#[derive(Clone, PartialEq)]
pub(super) struct Measured {
    /// The column, as items' names have it.
    pub name: String,
    /// Number of bins that are wanted.
    pub parts: usize,
    /// The rows that hold a number, ascending, with it.
    pub numbers: Vec<(u32, f64)>,
    /// Numbers that may stand for others too, because they were written with more digits than a number here has,
    /// ascending: it is not known how many rows hold exactly one of these, and no bound shows them.
    pub blurred: Vec<f64>,
}

/// The least number of a bin, but for the first one.
struct Bound {
    value: f64,
    /// Index of the agreed part that begins with it; the first is 0.
    part: usize,
    /// Whether enough rows hold just this number.
    common: bool,
}

impl Measured {
    /// The items of the bins, made of the rows that count. A name shows bounds only if at least `minimum` of these rows
    /// hold exactly these numbers, and if it is no name that is `taken`.
    pub fn items(
        &self,
        counts: impl Fn(u32) -> bool,
        minimum: usize,
        taken: impl Fn(&str) -> bool,
    ) -> BTreeMap<String, Vec<u32>> {
        let numbers = || self.numbers.iter().filter(|(row, _)| counts(*row));
        let mut sorted: Vec<f64> = numbers().map(|(_, number)| *number).collect();
        sorted.sort_by(f64::total_cmp);
        let mut bounds = bounds(&sorted, self.parts, minimum);
        let blurred = |value: f64| self.blurred.binary_search_by(|other| other.total_cmp(&value)).is_ok();
        bounds.iter_mut().for_each(|bound| bound.common &= !blurred(bound.value));
        let names: Vec<String> = (0..=bounds.len())
            .map(|bin| {
                let (start, end) = (bin.checked_sub(1).and_then(|before| bounds.get(before)), bounds.get(bin));
                let shown = start.iter().chain(&end).all(|bound| bound.common);
                let name = interval(&self.name, start.map(|bound| bound.value), end.map(|bound| bound.value));
                if shown && check_name(&name).is_ok() && !taken(&name) {
                    name
                } else {
                    self.rank(start.map_or(0, |bound| bound.part))
                }
            })
            .collect();
        let mut items: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (row, number) in numbers() {
            let bin = bounds.partition_point(|bound| bound.value <= *number);
            items.entry(names[bin].clone()).or_default().push(*row);
        }
        items
    }

    /// Returns all names that its bins can have and that show no bound.
    pub fn names_without_bounds(&self) -> impl Iterator<Item = String> + '_ {
        std::iter::once(interval(&self.name, None, None)).chain((0..self.parts).map(|part| self.rank(part)))
    }

    /// The name of the bin that begins with a part. Ranks have equally many digits, so that they stand in their order.
    fn rank(&self, part: usize) -> String {
        let digits = self.parts.to_string().len();
        format!("{}=bin {:0digits$} of {}", self.name, part + 1, self.parts)
    }
}

/// The name of the numbers of a column from `start` on and below `end`.
pub(super) fn interval(column: &str, start: Option<f64>, end: Option<f64>) -> String {
    match (start, end) {
        (None, None) => format!("{column}=number"),
        (None, Some(end)) => format!("{column}<{end}"),
        (Some(start), None) => format!("{column}>={start}"),
        (Some(start), Some(end)) => format!("{column}=[{start},{end})"),
    }
}

/// Bounds between `parts` parts of about as many numbers each, of ascending numbers. Equal numbers stay together, so
/// there may be fewer.
fn bounds(sorted: &[f64], parts: usize, minimum: usize) -> Vec<Bound> {
    let mut bounds: Vec<Bound> = Vec::new();
    let mut last = sorted.first().copied();
    for part in 1..parts {
        let value = sorted.get((sorted.len() as u128 * part as u128 / parts as u128) as usize).copied();
        if let Some(value) = value.filter(|value| Some(*value) != last) {
            let held =
                sorted.partition_point(|number| *number <= value) - sorted.partition_point(|number| *number < value);
            bounds.push(Bound { value, part, common: held >= minimum });
            last = Some(value);
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(numbers: &[f64], parts: usize, minimum: usize) -> Vec<(String, Vec<u32>)> {
        let numbers = (0..).zip(numbers.iter().copied()).collect();
        let items =
            Measured { name: "n".into(), parts, numbers, blurred: Vec::new() }.items(|_| true, minimum, |_| false);
        items.into_iter().collect()
    }

    fn names(numbers: &[f64], parts: usize, minimum: usize) -> Vec<String> {
        made(numbers, parts, minimum).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn equal_numbers_stay_together() {
        assert_eq!(made(&[2.0, 1.0, 1.0, 1.0], 4, 1), [("n<2".into(), vec![1, 2, 3]), ("n>=2".into(), vec![0])]);
        assert_eq!(names(&[5.0; 10], 4, 1), ["n=number"]);
        let hundred: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(names(&hundred, 4, 1), ["n<25", "n=[25,50)", "n=[50,75)", "n>=75"]);
        assert!(made(&hundred, 4, 1).iter().all(|(_, rows)| rows.len() == 25));
        assert_eq!(names(&[], 4, 1), [""; 0]);
        assert_eq!(names(&[7.0], 4, 1), ["n=number"]);
    }

    #[test]
    fn a_bound_that_few_rows_have_gives_way_to_a_rank() {
        let hundred: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(names(&hundred, 4, 2), ["n=bin 1 of 4", "n=bin 2 of 4", "n=bin 3 of 4", "n=bin 4 of 4"]);
        assert_eq!(names(&hundred, 10, 2)[8..], ["n=bin 09 of 10", "n=bin 10 of 10"]);
        // Of 20 and 30, the second alone is in two rows.
        let some = [10.0, 11.0, 20.0, 21.0, 30.0, 30.0];
        assert_eq!(names(&some, 3, 2), ["n=bin 1 of 3", "n=bin 2 of 3", "n>=30"]);
        // The second part begins in the middle of equal numbers, and the third after them.
        assert_eq!(names(&[1.0, 1.0, 1.0, 1.0, 8.0, 9.0], 3, 2), ["n=bin 1 of 3", "n=bin 3 of 3"]);
    }

    /// Three rows hold what is one number here, and may be three in the file.
    #[test]
    fn a_bound_that_stands_for_several_numbers_gives_way() {
        let measured = |blurred: &[f64]| Measured {
            name: "n".into(),
            parts: 2,
            numbers: (0..).zip([1.0, 2.0, 3.0, 9e15, 9e15, 9e15]).collect(),
            blurred: blurred.to_vec(),
        };
        let named =
            |blurred: &[f64]| -> Vec<String> { measured(blurred).items(|_| true, 3, |_| false).into_keys().collect() };
        assert_eq!(named(&[]), ["n<9000000000000000", "n>=9000000000000000"]);
        assert_eq!(named(&[-1.0, 9e15, 1e16]), ["n=bin 1 of 2", "n=bin 2 of 2"]);
    }

    #[test]
    fn a_bound_that_would_make_no_name_or_that_of_another_gives_way_too() {
        let measured = |name: &str, numbers: [f64; 2]| Measured {
            name: name.into(),
            parts: 2,
            numbers: (0..).zip(numbers).collect(),
            blurred: Vec::new(),
        };
        let named = |measured: Measured, taken: &str| -> Vec<String> {
            measured.items(|_| true, 1, |name| name == taken).into_keys().collect()
        };
        assert_eq!(named(measured("n", [1.0, 2.0]), "m<2"), ["n<2", "n>=2"]);
        assert_eq!(named(measured("n", [1.0, 2.0]), "n<2"), ["n=bin 1 of 2", "n>=2"]);
        let long = "x".repeat(1000);
        assert_eq!(named(measured(&long, [1.0, 1e300]), ""), [1, 2].map(|rank| format!("{long}=bin {rank} of 2")));
    }

    proptest! {
        /// Few different numbers, so that many are equal, of rows some of which do not count.
        #[test]
        fn bins_are_of_the_rows_that_count_and_show_what_many_of_them_have(
            rows in prop::collection::vec((0u32..30, any::<bool>()), 0..80),
            parts in 2usize..13,
            minimum in 1usize..9,
        ) {
            // No number looks like a rank.
            let number = |of: u32| f64::from(1000 + 7 * of) / 4.0;
            let counted = (0..).zip(&rows).filter(|(_, (_, counts))| *counts);
            let counted: Vec<(u32, f64)> = counted.map(|(row, (of, _))| (row, number(*of))).collect();
            let all = (0..).zip(rows.iter().map(|(of, _)| number(*of))).collect();
            let bins = |numbers| Measured { name: "n".into(), parts, numbers, blurred: Vec::new() };
            let items = bins(all).items(|row| rows[row as usize].1, minimum, |_| false);
            prop_assert_eq!(&items, &bins(counted.clone()).items(|_| true, minimum, |_| false));

            let mut held: Vec<u32> = items.values().flatten().copied().collect();
            held.sort_unstable();
            prop_assert_eq!(held, counted.iter().map(|(row, _)| *row).collect::<Vec<_>>());
            // The least and the greatest number of a bin, in quarters.
            let ends = |rows: &[u32]| {
                let own = counted.iter().filter(|(row, _)| rows.contains(row));
                let numbers = own.map(|(_, number)| (number * 4.0) as u32);
                numbers.fold((u32::MAX, 0), |(low, high), number| (low.min(number), high.max(number)))
            };
            let mut in_order: Vec<_> = items.values().map(|rows| ends(rows)).collect();
            in_order.sort_unstable();
            prop_assert!(in_order.windows(2).all(|pair| pair[0].1 < pair[1].0), "bins overlap");
            let binned = items.iter().filter(|(name, _)| name.contains("bin "));
            let ranked: Vec<_> = binned.map(|(_, rows)| ends(rows)).collect();
            prop_assert!(ranked.is_sorted(), "names of ranks are in the order of their numbers");

            for (name, rows) in &items {
                let (low, high) = ends(rows);
                let words = name.split(['<', '>', '=', '[', ',', ')']);
                for bound in words.filter_map(|word| word.parse::<f64>().ok()) {
                    let exactly = counted.iter().filter(|(_, number)| *number == bound).count();
                    prop_assert!(exactly >= minimum, "{name}: {exactly} rows");
                    let bound = (bound * 4.0) as u32;
                    prop_assert!(bound <= low || bound > high, "{name}: {low} to {high}");
                }
            }
        }
    }
}
