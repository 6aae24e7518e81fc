//! A party's columns.

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::error::{Error, Result};
use crate::primitive::ot::Choices;

/// The longest integers.
pub const MAX_BITS: u32 = 32;

/// The most rows: sums of products of the longest integers then fit 97 bits.
pub const MAX_ROWS: usize = u32::MAX as usize;

/// Which integers columns hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integers {
    bits: u32,
    signed: bool,
}

impl Integers {
    /// Zeros and ones.
    pub const BINARY: Integers = Integers { bits: 1, signed: false };

    /// Integers of `bits` bits, 1 to [`MAX_BITS`]; `signed` ones in two's complement.
    pub fn new(bits: u32, signed: bool) -> Result<Integers> {
        match (1..=MAX_BITS).contains(&bits) {
            true => Ok(Integers { bits, signed }),
            false => Err(Error::Input(format!("bits = {bits}: use 1 to {MAX_BITS}"))),
        }
    }

    /// Their length.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Whether there are negative ones.
    pub fn signed(&self) -> bool {
        self.signed
    }

    /// The smallest and the largest.
    pub fn range(&self) -> (i64, i64) {
        match self.signed {
            true => (-1 << (self.bits - 1), (1 << (self.bits - 1)) - 1),
            false => (0, (1 << self.bits) - 1),
        }
    }

    /// What bit `bit` of an integer stands for: a power of two, negative for a sign.
    pub fn weight(&self, bit: u32) -> i64 {
        match self.signed && bit + 1 == self.bits {
            true => -1 << bit,
            false => 1 << bit,
        }
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
enum Column {
    Bits(Choices),
    Words(Vec<u32>),
}

impl Zeroize for Column {
    fn zeroize(&mut self) {
        match self {
            Column::Bits(bits) => bits.zeroize(),
            Column::Words(words) => words.zeroize(),
        }
    }
}

impl Columns {
    /// No column yet, of `rows` rows each.
    pub fn new(integers: Integers, rows: usize) -> Columns {
        Columns { integers, rows, columns: Vec::new() }
    }

    /// Adds a column.
    ///
    /// Errors ([`Error::Input`]): it has another number of rows, or a value out of range.
    pub fn push(&mut self, values: impl IntoIterator<Item = i64>) -> Result<()> {
        let (low, high) = self.integers.range();
        let mut out_of_range = false;
        let values = values.into_iter().inspect(|value| out_of_range |= !(low..=high).contains(value));
        let mut count = 0;
        let values = values.inspect(|_| count += 1);
        let column = match self.integers.bits {
            1 => Column::Bits(Choices::from_bits(values.map(|value| value & 1 == 1))),
            bits => {
                let mut words = Vec::with_capacity(self.rows);
                words.extend(values.map(|value| value as u32 & (u32::MAX >> (32 - bits))));
                Column::Words(words)
            }
        };
        if out_of_range {
            return Err(Error::Input(format!("a column holds a value that is not in {low} to {high}")));
        }
        if count != self.rows {
            return Err(Error::Input(format!("a column has {count} rows instead of {}", self.rows)));
        }
        self.columns.push(column);
        Ok(())
    }

    /// Which integers they hold.
    pub fn integers(&self) -> Integers {
        self.integers
    }

    /// Their length.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many there are.
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
            Column::Bits(bits) => self.integers.weight(0) * i64::from(bits.get(row)),
            Column::Words(words) => {
                let unused = 64 - self.integers.bits;
                let shifted = (u64::from(words[row]) << unused) as i64;
                // Arithmetic shift for a sign, logical for none.
                if self.integers.signed { shifted >> unused } else { (shifted as u64 >> unused) as i64 }
            }
        }
    }

    /// Bit `bit` of a column's values in `rows`.
    ///
    /// # Panics
    ///
    /// If there is no such column or row.
    pub fn plane(&self, column: usize, bit: u32, rows: std::ops::Range<usize>) -> Choices {
        match &self.columns[column] {
            Column::Bits(bits) => bits.slice(rows),
            Column::Words(words) => Choices::from_bits(words[rows].iter().map(|word| word >> bit & 1 == 1)),
        }
    }
}

/// Shape only.
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
                assert!(columns.push([high + 1, 0, 0, 0, 0]).is_err());
                assert!(columns.push([0, 0, 0, 0, low - 1]).is_err());
                assert!(columns.push([0; 4]).is_err() && columns.push([0; 6]).is_err());
                assert_eq!(columns.count(), 2);
            }
        }
        assert!(Integers::new(0, false).is_err() && Integers::new(33, true).is_err());
    }

    #[test]
    fn they_are_not_printed() {
        let mut columns = Columns::new(Integers::new(20, false).unwrap(), 2);
        columns.push([77, 88]).unwrap();
        assert_eq!(format!("{columns:?}"), "Columns(1 of 2 rows)");
    }
}
