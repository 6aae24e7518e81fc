//! The lines of a join: each combination of the rows that parties have of a key. Their number is the product of what
//! each party has, so they are counted, and made only as they are asked for.

use std::ops::Range;

use super::TableKeys;

/// The lines of an inner join, in order: key by key, own rows varying slowest, those of the last other party fastest.
pub(super) struct Combinations {
    /// Own rows, key by key.
    own: Vec<u32>,
    /// End of each key's own rows.
    own_ends: Vec<usize>,
    /// For each other party, where each key's rows begin, and at the end their number.
    others: Vec<Vec<usize>>,
    /// End of each key's lines.
    ends: Vec<usize>,
}

impl Combinations {
    /// Builds the combinations for the keys `common`, of which `others` have rows from one offset to the next. `None`
    /// if the lines are too many to be counted.
    pub fn new(keys: &TableKeys, common: &[usize], others: Vec<Vec<usize>>) -> Option<Combinations> {
        let (mut own, mut own_ends, mut ends) = (Vec::new(), Vec::with_capacity(common.len()), Vec::new());
        let mut lines = 0usize;
        for (place, &key) in common.iter().enumerate() {
            let rows = keys.rows(key);
            own.extend_from_slice(rows);
            own_ends.push(own.len());
            let count = |lines: usize, offsets: &Vec<usize>| lines.checked_mul(offsets[place + 1] - offsets[place]);
            lines = lines.checked_add(others.iter().try_fold(rows.len(), count)?)?;
            ends.push(lines);
        }
        Some(Combinations { own, own_ends, others, ends })
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the own row of each of these lines, and its row of each other party.
    pub fn lines(&self, lines: Range<usize>) -> (Vec<u32>, Vec<Vec<u32>>) {
        let mut rows = Vec::with_capacity(lines.len());
        let mut others: Vec<Vec<u32>> = self.others.iter().map(|_| Vec::with_capacity(lines.len())).collect();
        let mut key = self.ends.partition_point(|end| *end <= lines.start);
        for line in lines {
            while self.ends[key] <= line {
                key += 1;
            }
            let mut rest = line - before(&self.ends, key);
            for (places, offsets) in others.iter_mut().zip(&self.others).rev() {
                let count = offsets[key + 1] - offsets[key];
                places.push((offsets[key] + rest % count) as u32);
                rest /= count;
            }
            rows.push(self.own[before(&self.own_ends, key) + rest]);
        }
        (rows, others)
    }
}

/// Returns the start of the range that ends at `ends[key]`.
fn before(ends: &[usize], key: usize) -> usize {
    key.checked_sub(1).map_or(0, |before| ends[before])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::read::read_csv;
    use crate::table::{Duplicates, KeyColumn, KeySpec, NullWords, Nulls, Profile, ReadOptions};

    /// Keys with 1, 2 and 3 rows.
    fn keys() -> TableKeys {
        let table = read_csv(&b"k\nb\na\nc\nb\nc\nc\n"[..], "t", &ReadOptions::default()).unwrap();
        let column = KeyColumn { name: "k".into(), header: "k".into(), profile: Profile::None };
        let (duplicates, nulls) = (Duplicates::All, Nulls::Skip);
        let spec =
            KeySpec { columns: vec![column], duplicates, nulls, words: NullWords::default(), allow_unreadable: false };
        TableKeys::build(&table, &spec).unwrap().0
    }

    #[test]
    fn any_part_of_the_lines_is_that_part() {
        let (keys, common) = (keys(), [0, 1, 2]);
        // The second key has no row at the second party.
        let others = vec![vec![0, 2, 5, 6], vec![0, 3, 3, 5]];
        let mut expected = Vec::new();
        for &key in &common {
            for &own in keys.rows(key) {
                for first in others[0][key]..others[0][key + 1] {
                    for second in others[1][key]..others[1][key + 1] {
                        expected.push((own, first as u32, second as u32));
                    }
                }
            }
        }
        let lines = Combinations::new(&keys, &common, others).unwrap();
        assert_eq!(lines.len(), expected.len());
        for start in 0..=expected.len() {
            for end in start..=expected.len() {
                let (own, others) = lines.lines(start..end);
                let found = own.into_iter().zip(others[0].iter().zip(&others[1]));
                let found: Vec<_> = found.map(|(own, (first, second))| (own, *first, *second)).collect();
                assert_eq!(found, expected[start..end], "{start}..{end}");
            }
        }
    }

    #[test]
    fn lines_without_number_are_not_counted() {
        let keys = keys();
        assert!(Combinations::new(&keys, &[0], vec![vec![0, usize::MAX], vec![0, 2]]).is_none());
        assert_eq!(Combinations::new(&keys, &[], vec![vec![0]]).unwrap().len(), 0);
        assert_eq!(Combinations::new(&keys, &[1, 2], Vec::new()).unwrap().lines(0..5).0, [0, 3, 2, 4, 5]);
    }
}
