//! Columns of a party's numbers.

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::error::{Error, Result};
use crate::primitive::kernel::mask::{mask, masks};
use crate::primitive::ot::Choices;

/// Largest length of an integer in bits.
pub const MAX_BITS: u32 = 32;

/// The most rows: sums of products of the longest integers then fit 97 bits.
pub const MAX_ROWS: usize = u32::MAX as usize;

/// Range of the integers that columns hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integers {
    bits: u32,
    signed: bool,
}

impl Integers {
    /// Binary integers: zeros and ones.
    pub const BINARY: Integers = Integers { bits: 1, signed: false };

    /// Integers of `bits` bits, 1 to [`MAX_BITS`]; `signed` ones in two's complement.
    pub fn new(bits: u32, signed: bool) -> Result<Integers> {
        if (1..=MAX_BITS).contains(&bits) {
            Ok(Integers { bits, signed })
        } else {
            Err(Error::Input(format!("bits = {bits}: use 1 to {MAX_BITS}")))
        }
    }

    /// Returns the length of the integers in bits.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Whether there are negative ones.
    pub fn signed(&self) -> bool {
        self.signed
    }

    /// The smallest and the largest.
    pub fn range(&self) -> (i64, i64) {
        if self.signed { (-1 << (self.bits - 1), (1 << (self.bits - 1)) - 1) } else { (0, (1 << self.bits) - 1) }
    }

    /// Returns the weight of bit `bit` of an integer: a power of two, negative for a sign.
    pub fn weight(&self, bit: u32) -> i64 {
        if self.signed && bit + 1 == self.bits { -1 << bit } else { 1 << bit }
    }
}

/// A party's columns, all of the same length. Secret: zeroized when dropped, never printed.
#[derive(ZeroizeOnDrop)]
pub struct Columns {
    #[zeroize(skip)]
    integers: Integers,
    rows: usize,
    columns: Vec<Column>,
}

/// One column: bits packed, longer integers in two's complement. Both cut off above `bits`.
#[derive(Zeroize, ZeroizeOnDrop)]
enum Column {
    Bits(Choices),
    Words(Vec<u32>),
}

impl Column {
    /// The first `rows` values; the others are taken, and dropped. Memory is of the right size from the beginning,
    /// whatever the iterator says of its length: growing would leave copies behind.
    fn new(integers: Integers, rows: usize, values: impl Iterator<Item = i64>) -> Column {
        let values = values.enumerate();
        match integers.bits {
            1 => {
                let mut bits = Choices::with_capacity(rows);
                values.for_each(|(row, value)| {
                    if row < rows {
                        bits.push(value & 1 == 1);
                    }
                });
                Column::Bits(bits)
            }
            bits => {
                let mut words = Zeroizing::new(Vec::with_capacity(rows));
                values.for_each(|(row, value)| {
                    if row < rows {
                        words.push(value as u32 & (u32::MAX >> (32 - bits)));
                    }
                });
                Column::Words(std::mem::take(&mut *words))
            }
        }
    }
}

impl Columns {
    /// Creates an empty list of columns, with `rows` rows each.
    pub fn new(integers: Integers, rows: usize) -> Columns {
        Columns { integers, rows, columns: Vec::new() }
    }

    /// Adds a column of integers.
    ///
    /// Errors ([`Error::Input`]): it has another number of rows, or a value out of range.
    pub fn push(&mut self, values: impl IntoIterator<Item = i64>) -> Result<()> {
        let (low, high) = self.integers.range();
        let (mut out_of_range, mut count) = (false, 0);
        let values = values.into_iter().inspect(|value| {
            out_of_range |= !(low..=high).contains(value);
            count += 1;
        });
        let column = Column::new(self.integers, self.rows, values);
        if out_of_range {
            return Err(Error::Input(format!("a column holds a value that is not in {low} to {high}")));
        }
        if count != self.rows {
            return Err(Error::Input(format!("a column has {count} rows instead of {}", self.rows)));
        }
        self.columns.push(column);
        Ok(())
    }

    /// Adds a column of zeros and ones to columns of those.
    ///
    /// # Panics
    ///
    /// If it has another number of rows, or other columns hold longer integers.
    pub fn push_bits(&mut self, bits: Choices) {
        assert!(bits.len() == self.rows && self.integers == Integers::BINARY, "a column of another kind");
        self.columns.push(Column::Bits(bits));
    }

    /// The same columns with each value in place of which a bound stands that it is beyond.
    ///
    /// # Panics
    ///
    /// If the bounds are no integers of the columns.
    pub fn clipped(&self, (low, high): (i64, i64)) -> Columns {
        let mut clipped = Columns::new(self.integers, self.rows);
        for column in 0..self.count() {
            let values = (0..self.rows).map(|row| self.value(column, row).clamp(low, high));
            clipped.columns.push(Column::new(self.integers, self.rows, values));
        }
        clipped
    }

    /// The same columns with these rows, in this order.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn select(&self, rows: &[u32]) -> Columns {
        let column = |column: &Column| match column {
            Column::Bits(bits) => Column::Bits(Choices::from_bits(rows.iter().map(|&row| bits.get(row as usize)))),
            Column::Words(words) => Column::Words(rows.iter().map(|&row| words[row as usize]).collect()),
        };
        let columns = self.columns.iter().map(column).collect();
        Columns { integers: self.integers, rows: rows.len(), columns }
    }

    /// The same columns over `rows` rows: each row that has a place at that, and zeros elsewhere.
    ///
    /// # Panics
    ///
    /// If there are more places than rows, or a place is not there.
    pub fn scatter(&self, rows: usize, places: &[Option<u32>]) -> Columns {
        let placed = || places.iter().enumerate().filter_map(|(row, place)| place.map(|place| (row, place as usize)));
        let column = |column: &Column| match column {
            Column::Bits(bits) => {
                let mut scattered = Zeroizing::new(vec![false; rows]);
                placed().for_each(|(row, place)| scattered[place] = bits.get(row));
                Column::Bits(Choices::from_bits(scattered.iter().copied()))
            }
            Column::Words(words) => {
                let mut scattered = vec![0; rows];
                placed().for_each(|(row, place)| scattered[place] = words[row]);
                Column::Words(scattered)
            }
        };
        Columns { integers: self.integers, rows, columns: self.columns.iter().map(column).collect() }
    }

    /// Returns the range of the integers that the columns hold.
    pub(crate) fn integers(&self) -> Integers {
        self.integers
    }

    /// Returns the number of rows in each column.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn count(&self) -> usize {
        self.columns.len()
    }

    /// The value of a column in a row.
    ///
    /// # Panics
    ///
    /// If there is no such column or row.
    #[inline]
    pub fn value(&self, column: usize, row: usize) -> i64 {
        match &self.columns[column] {
            Column::Bits(bits) => self.integers.weight(0) & mask(bits.get(row)) as i64,
            Column::Words(words) => {
                let unused = 64 - self.integers.bits;
                let shifted = (u64::from(words[row]) << unused) as i64;
                // Arithmetic shift for a sign, logical for none.
                if self.integers.signed { shifted >> unused } else { (shifted as u64 >> unused) as i64 }
            }
        }
    }

    /// A column's values in the rows from `start` on, as many as there is room for.
    ///
    /// # Panics
    ///
    /// If there is no such column or row.
    pub(crate) fn copy(&self, column: usize, start: usize, room: &mut [i64]) {
        match &self.columns[column] {
            Column::Bits(bits) => {
                assert!(start + room.len() <= self.rows, "rows from {start} on of {}", self.rows);
                let weight = self.integers.weight(0);
                for (word, room) in room.chunks_mut(128).enumerate() {
                    masks(bits.word_at(start + 128 * word), room);
                    room.iter_mut().for_each(|value| *value &= weight);
                }
            }
            Column::Words(words) => {
                let unused = 64 - self.integers.bits;
                let words = &words[start..start + room.len()];
                let values = room.iter_mut().zip(words);
                if self.integers.signed {
                    values.for_each(|(value, word)| *value = (u64::from(*word) << unused) as i64 >> unused)
                } else {
                    values.for_each(|(value, word)| *value = i64::from(*word))
                }
            }
        }
    }

    /// Bit `bit` of a column's values in `rows`.
    ///
    /// # Panics
    ///
    /// If there is no such column or row.
    pub(crate) fn plane(&self, column: usize, bit: u32, rows: std::ops::Range<usize>) -> Choices {
        match &self.columns[column] {
            Column::Bits(bits) => bits.slice(rows),
            Column::Words(words) => Choices::from_bits(words[rows].iter().map(|word| word >> bit & 1 == 1)),
        }
    }
}

/// Prints the shape only.
impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Columns({} of {} rows)", self.columns.len(), self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_are_the_sum_of_their_bits() {
        for bits in [1, 2, 8, 31, 32] {
            for signed in [false, true] {
                let integers = Integers::new(bits, signed).unwrap();
                let (low, high) = integers.range();
                let values = [low, high, 0, low, high];
                let mut columns = Columns::new(integers, values.len());
                columns.push(values).unwrap();
                columns.push([0; 5]).unwrap();
                for (row, &value) in values.iter().enumerate() {
                    assert_eq!(columns.value(0, row), value);
                    let bit = |bit| i64::from(columns.plane(0, bit, row..row + 1).get(0)) * integers.weight(bit);
                    assert_eq!((0..bits).map(bit).sum::<i64>(), value);
                }
                let mut copied = [7; 3];
                columns.copy(0, 1, &mut copied);
                assert_eq!(copied, values[1..4]);
                assert!(columns.push([high + 1, 0, 0, 0, 0]).is_err());
                assert!(columns.push([0, 0, 0, 0, low - 1]).is_err());
                assert!(columns.push([0; 4]).is_err() && columns.push([0; 6]).is_err());
                assert_eq!(columns.count(), 2);
                let selected = columns.select(&[4, 0, 0]);
                assert_eq!((selected.rows(), selected.count()), (3, 2));
                assert_eq!([0, 1, 2].map(|row| selected.value(0, row)), [high, low, low]);
            }
        }
        assert!(Integers::new(0, false).is_err() && Integers::new(33, true).is_err());
    }

    /// Memory that grows leaves copies of secrets behind.
    #[test]
    fn columns_have_their_memory_from_the_beginning_whatever_the_iterator_says() {
        for bits in [1, 8] {
            let integers = Integers::new(bits, false).unwrap();
            for (rows, values) in [(1000, 1000), (1000, 5), (1000, 3000), (0, 3)] {
                // A filter may leave nothing, so that the smallest size is zero.
                let column = Column::new(integers, rows, vec![1; values].into_iter().filter(|_| true));
                let (length, capacity, most) = match &column {
                    Column::Bits(bits) => (bits.len(), bits.capacity(), rows.next_multiple_of(128)),
                    Column::Words(words) => (words.len(), words.capacity(), rows),
                };
                assert_eq!((length, capacity), (values.min(rows), most));
            }
            let mut columns = Columns::new(integers, 1000);
            assert!(columns.push(vec![1; 3000].into_iter().filter(|_| true)).is_err());
            columns.push((0..2000).filter(|row| row % 2 == 0).map(|row| row & 1)).unwrap();
        }
    }

    #[test]
    fn they_are_not_printed() {
        let mut columns = Columns::new(Integers::new(20, false).unwrap(), 2);
        columns.push([77, 88]).unwrap();
        assert_eq!(format!("{columns:?}"), "Columns(1 of 2 rows)");
    }
}
