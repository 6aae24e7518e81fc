//! The most frequent values of a key column.

use std::collections::HashMap;

use arrow_array::ArrayRef;

use crate::table::key::{KeyColumn, Mark, NullWords};
use crate::table::text::TextColumn;

/// Maximum number of values counted at once. In a column with more, values in more than one row in so many are
/// found. Their counts are too low by at most one row in so many.
const COUNTED: usize = 4096;

/// Number of values that are shown.
const SHOWN: usize = 5;

/// Maximum length of a kept value, in bytes: longer ones that begin alike count as one.
const MAX_BYTES: usize = 200;

/// The most frequent values of a key column. Holds values of the table: for its own user only.
pub struct FrequentValues {
    /// Header of the column.
    pub header: String,
    /// The values that are in several rows, the most frequent first: each with how many those are, at least, and what
    /// it stands for besides itself.
    pub values: Vec<(String, usize, Option<Mark>)>,
    /// Whether the numbers are exact.
    pub exact: bool,
}

/// Counts values by the algorithm of Misra and Gries: when there are too many, each loses one.
#[derive(Default)]
pub(super) struct Counter {
    counts: HashMap<String, usize>,
    lost: bool,
}

impl Counter {
    /// Takes the rows that come next.
    pub fn add(&mut self, array: &ArrayRef) {
        let Some(texts) = TextColumn::new(array) else { return };
        for value in (0..array.len()).filter_map(|row| texts.get(row)).filter(|value| !value.trim().is_empty()) {
            let value = &value[..value.floor_char_boundary(MAX_BYTES)];
            if let Some(count) = self.counts.get_mut(value) {
                *count += 1;
            } else if self.counts.len() < COUNTED {
                self.counts.insert(value.to_owned(), 1);
            } else {
                self.lost = true;
                self.counts.retain(|_, count| {
                    *count -= 1;
                    *count > 0
                });
            }
        }
    }

    pub fn facts(self, column: &KeyColumn, words: &NullWords) -> FrequentValues {
        let mut all: Vec<_> = self.counts.into_iter().filter(|(_, count)| *count > 1).collect();
        all.sort_by(|(one, ones), (other, others)| others.cmp(ones).then_with(|| one.cmp(other)));
        all.truncate(SHOWN);
        let marked = |(value, count): (String, usize)| {
            let mark = words.mark_of(&value, column.profile);
            (value, count, mark)
        };
        FrequentValues {
            header: column.header.clone(),
            values: all.into_iter().map(marked).collect(),
            exact: !self.lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;

    use super::*;
    use crate::table::Profile;

    fn frequent(values: impl Iterator<Item = String>) -> FrequentValues {
        let values: Vec<_> = values.collect();
        let mut counter = Counter::default();
        for part in values.chunks(1000) {
            counter.add(&(Arc::new(StringArray::from(part.to_vec())) as ArrayRef));
        }
        let column = KeyColumn { name: "k".into(), header: "K".into(), profile: Profile::None };
        counter.facts(&column, &NullWords::default())
    }

    #[test]
    fn frequent_values_come_first_with_what_they_stand_for() {
        let values = ["a", "NULL", "b", "NULL", "1900-01-01", "a", "1900-01-01", "", " ", "NULL", "c"];
        let found = frequent(values.into_iter().map(str::to_owned));
        let expected = [("NULL", 3, Some(Mark::Null)), ("1900-01-01", 2, Some(Mark::Doubtful)), ("a", 2, None)];
        let found_values: Vec<_> =
            found.values.iter().map(|(value, count, mark)| (value.as_str(), *count, *mark)).collect();
        assert_eq!((found.header.as_str(), &found_values[..], found.exact), ("K", &expected[..], true));
        assert!(frequent((0..100).map(|n| n.to_string())).values.is_empty());
    }

    /// Among any number of others, what is in many rows is found, and no number is too high.
    #[test]
    fn what_is_in_many_rows_is_found_among_many_values() {
        let values = (0..30_000).map(|n| if n % 100 == 0 { "unknown".to_owned() } else { format!("v{n}") });
        let found = frequent(values);
        let (value, count, mark) = &found.values[0];
        assert_eq!((value.as_str(), *mark, found.exact), ("unknown", Some(Mark::Null), false));
        assert!((280..=300).contains(count), "{count}");
    }
}
