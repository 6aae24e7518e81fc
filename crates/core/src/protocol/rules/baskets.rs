//! A party's items: which baskets hold them, one bit for each row.

use std::fmt;

use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::error::{Error, Result};
use crate::primitive::kernel::bits;
use crate::primitive::ot::Choices;
use crate::protocol::dot::MAX_ROWS;

/// Bits of one word.
const WORD: usize = 64;

/// A set of rows. Secret: zeroized when dropped, never printed.
///
/// Row `i` is bit `i % 64` of word `i / 64`; the bits beyond the last row are zero.
#[derive(Clone, PartialEq, Eq, ZeroizeOnDrop)]
pub struct RowSet {
    words: Vec<u64>,
    length: usize,
}

impl RowSet {
    /// None of `length` rows.
    fn none(length: usize) -> RowSet {
        RowSet { words: vec![0; length.div_ceil(WORD)], length }
    }

    /// Builds the set of these, of `length` rows.
    fn of(length: usize, rows: impl IntoIterator<Item = usize>) -> RowSet {
        let mut set = RowSet::none(length);
        rows.into_iter().for_each(|row| set.words[row / WORD] |= 1 << (row % WORD));
        set
    }

    /// Whether row `row` is in the set.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[cfg(test)]
    pub(crate) fn contains(&self, row: usize) -> bool {
        assert!(row < self.length, "row {row} of {}", self.length);
        self.words[row / WORD] >> (row % WORD) & 1 == 1
    }

    /// Returns the number of rows in the set.
    pub(crate) fn count(&self) -> usize {
        bits::count(&self.words) as usize
    }

    /// Returns the number of rows in both sets. Both must be of the same rows.
    pub(crate) fn count_both(&self, other: &RowSet) -> usize {
        bits::count_and(&self.words, &other.words) as usize
    }

    /// Returns the words of the bit set.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// A bit for each row: what oblivious transfer chooses by.
    pub fn to_choices(&self) -> Choices {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.words.len() * 8));
        self.words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        Choices::from_bytes(&bytes, self.length)
    }
}

/// Number of rows only.
impl fmt::Debug for RowSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} rows)", self.length)
    }
}

/// A party's items and their rows. An item is known by its number, in the order in which they were added.
pub struct Baskets {
    rows: usize,
    minimum: usize,
    most: usize,
    /// Number of items that are in enough rows.
    frequent: usize,
    /// The rows of items that enough of them hold.
    items: Vec<Option<RowSet>>,
    /// The rows that the party has, if it lacks some and nobody knows which both have.
    present: Option<RowSet>,
}

impl Baskets {
    /// Creates baskets without items, over `rows` rows. Items in fewer than `minimum` rows are not kept, because they
    /// cannot be part of a frequent itemset. If more than `most` items reach the minimum, no item is kept, because such
    /// a run ends.
    ///
    /// Errors ([`Error::Input`]): more than [`MAX_ROWS`].
    pub fn new(rows: usize, minimum: usize, most: usize) -> Result<Baskets> {
        if rows <= MAX_ROWS {
            Ok(Baskets { rows, minimum, most, frequent: 0, items: Vec::new(), present: None })
        } else {
            Err(Error::Input(format!("{rows} baskets: at most {MAX_ROWS} are possible")))
        }
    }

    /// Adds an item by the rows whose baskets hold it, in any order; a row that is named twice counts once. An item in
    /// few rows costs no more than these.
    ///
    /// Errors ([`Error::Input`]): there is no such row.
    pub fn push(&mut self, rows: impl IntoIterator<Item = usize>) -> Result<()> {
        let mut rows: Zeroizing<Vec<usize>> = Zeroizing::new(rows.into_iter().collect());
        rows.sort_unstable();
        rows.dedup();
        if let Some(row) = rows.last().filter(|row| **row >= self.rows) {
            return Err(Error::Input(format!("an item stands in row {row}, but there are {} rows", self.rows)));
        }
        if rows.len() < self.minimum {
            self.items.push(None);
            return Ok(());
        }
        self.frequent += 1;
        if self.frequent > self.most {
            if self.frequent == self.most + 1 {
                self.items.iter_mut().for_each(|item| *item = None);
            }
            self.items.push(None);
            return Ok(());
        }
        self.items.push(Some(RowSet::of(self.rows, rows.iter().copied())));
        Ok(())
    }

    /// Says which rows the party has. Items are in no others.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn set_present(&mut self, rows: impl IntoIterator<Item = usize>) {
        self.present = Some(RowSet::of(self.rows, rows));
    }

    /// Returns the rows that the party has, if it lacks some.
    pub(crate) fn present(&self) -> Option<&RowSet> {
        self.present.as_ref()
    }

    /// Bytes of memory that the rows of an item take.
    pub fn item_bytes(rows: usize) -> usize {
        rows.div_ceil(WORD) * size_of::<u64>()
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of rows that an item must be in for its rows to be kept.
    pub(crate) fn minimum(&self) -> usize {
        self.minimum
    }

    /// Returns the largest number of such items for which their rows are kept.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Returns the number of items that are in enough rows, kept or not.
    pub(crate) fn frequent(&self) -> usize {
        self.frequent
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The rows of an item, if they are kept.
    ///
    /// # Panics
    ///
    /// If there is no such item.
    pub fn item(&self, item: usize) -> Option<&RowSet> {
        self.items[item].as_ref()
    }
}

/// Prints the shape only.
impl fmt::Debug for Baskets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Baskets({} items in {} rows)", self.items.len(), self.rows)
    }
}

/// Rows that hold all of several items, for one itemset after the other: what the next has in common with the last at
/// its beginning is not computed again.
pub(crate) struct Conjunction<'a> {
    items: Vec<&'a RowSet>,
    chosen: Vec<u32>,
    /// The rows of the first two, three, ... of the chosen.
    rows: Vec<RowSet>,
}

impl<'a> Conjunction<'a> {
    /// Over items that all have the same number of rows.
    pub(crate) fn new(items: Vec<&'a RowSet>) -> Conjunction<'a> {
        Conjunction { items, chosen: Vec::new(), rows: Vec::new() }
    }

    /// The rows that hold all of `items`, of which there is at least one.
    ///
    /// # Panics
    ///
    /// If one of them is not there.
    pub(crate) fn of(&mut self, items: &[u32]) -> &RowSet {
        let common = self.chosen.iter().zip(items).take_while(|(one, other)| one == other).count();
        self.chosen.clear();
        self.chosen.extend_from_slice(items);
        for length in common.max(1) + 1..=items.len() {
            if self.rows.len() < length - 1 {
                self.rows.push(RowSet::none(self.items[0].length));
            }
            let (below, rest) = self.rows.split_at_mut(length - 2);
            let before = below.last().unwrap_or(self.items[items[0] as usize]);
            rest[0].words.copy_from_slice(&before.words);
            bits::and_into(&self.items[items[length - 1] as usize].words, &mut rest[0].words);
        }
        match items.len() {
            1 => self.items[items[0] as usize],
            length => &self.rows[length - 2],
        }
    }

    /// Counts the rows that hold all of `items`: of the last, only the count is computed.
    pub(crate) fn count(&mut self, items: &[u32]) -> usize {
        match items {
            [] | [_] => self.of(items).count(),
            [first @ .., last] => {
                let last = self.items[*last as usize];
                self.of(first).count_both(last)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_come_back() {
        for length in [1, 63, 64, 65, 200] {
            let mut baskets = Baskets::new(length, 2, 10).unwrap();
            baskets.push((0..length).step_by(3).chain([0])).unwrap();
            baskets.push([length - 1]).unwrap();
            assert!(baskets.push([length]).is_err());
            assert_eq!(baskets.len(), 2);
            assert!(baskets.item(1).is_none());
            if let Some(rows) = baskets.item(0) {
                assert_eq!(rows.count(), length.div_ceil(3));
                let choices = rows.to_choices();
                assert!((0..length).all(|row| rows.contains(row) == (row % 3 == 0)));
                assert!((0..length).all(|row| rows.contains(row) == choices.get(row)));
            }
            assert_eq!(format!("{baskets:?}"), format!("Baskets(2 items in {length} rows)"));
        }
    }

    /// A bit set for each of these would be a gigabyte.
    #[test]
    fn rare_items_take_no_memory_and_too_many_are_only_counted() {
        let rows = 100_000;
        let mut baskets = Baskets::new(rows, 2, 3).unwrap();
        for row in 0..rows {
            baskets.push([row, row]).unwrap();
        }
        assert_eq!((baskets.len(), baskets.frequent()), (rows, 0));
        for found in 1..=5 {
            baskets.push([0, found]).unwrap();
            assert_eq!(baskets.frequent(), found);
            let kept = (0..baskets.len()).filter(|&item| baskets.item(item).is_some()).count();
            assert_eq!(kept, if found <= 3 { found } else { 0 });
        }
    }

    proptest! {
        #[test]
        fn conjunctions_are_those_of_their_items(
            length in 1usize..200,
            seeds in prop::collection::vec(any::<u64>(), 4),
            sets in prop::collection::vec(prop::collection::vec(0u32..4, 1..5), 1..20),
        ) {
            let holds = |item: u32, row: usize| seeds[item as usize] >> (row % 61) & 1 == 1;
            let mut baskets = Baskets::new(length, 0, 4).unwrap();
            for item in 0..4 {
                baskets.push((0..length).filter(|&row| holds(item, row))).unwrap();
            }
            let mut conjunction = Conjunction::new((0..4).map(|item| baskets.item(item).unwrap()).collect());
            for set in sets {
                let expected: Vec<usize> =
                    (0..length).filter(|&row| set.iter().all(|&item| holds(item, row))).collect();
                prop_assert_eq!(conjunction.count(&set), expected.len());
                let rows = conjunction.of(&set);
                prop_assert!((0..length).filter(|&row| rows.contains(row)).eq(expected.iter().copied()));
            }
        }
    }
}
