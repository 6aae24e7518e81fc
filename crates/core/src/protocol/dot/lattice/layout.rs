//! Layout of numbers in polynomials.

use std::ops::Range;

/// Layout of a group of the encryptor's columns, and of the answerer's columns that meet it.
///
/// With c `slots` and c' `others`, row r of a block of the column in slot j is the coefficient of X^(j + c c' r); of
/// the answerer's column i it is that of X^(c i - c c' r). The coefficient of X^(j + c i) of their product is then the
/// scalar product of j and i: all other pairs of rows or columns end elsewhere. The answerer's polynomial is one in
/// X^c, so that its transform has N / c values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) degree: usize,
    pub(super) slots: usize,
    pub(super) others: usize,
}

impl Layout {
    /// Rows of a block.
    pub(super) fn rows(&self) -> usize {
        self.degree / (self.slots * self.others)
    }

    /// Blocks of a column.
    pub(super) fn blocks(&self, rows: usize) -> usize {
        rows.div_ceil(self.rows())
    }

    /// The rows of a block, of `rows` in all.
    pub(super) fn range(&self, block: usize, rows: usize) -> Range<usize> {
        (block * self.rows()).min(rows)..((block + 1) * self.rows()).min(rows)
    }

    /// Index of the coefficient for row `row` of a block of the encryptor's column in `slot`.
    pub(super) fn coefficient(&self, slot: usize, row: usize) -> usize {
        slot + self.slots * self.others * row
    }

    /// Index of the coefficient, among those of powers of X^c, for row `row` of a block of the answerer's column
    /// `other`. The second result tells whether its sign changes, as X^N = -1.
    pub(super) fn other_coefficient(&self, other: usize, row: usize) -> (usize, bool) {
        match row {
            0 => (other, false),
            _ => (self.degree / self.slots + other - self.others * row, true),
        }
    }

    /// Index of the coefficient that holds a product.
    pub(super) fn output(&self, slot: usize, other: usize) -> usize {
        slot + self.slots * other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_scalar_products() {
        for (slots, others) in [(1, 1), (4, 1), (1, 4), (2, 4), (4, 8), (32, 1), (1, 32)] {
            let layout = Layout { degree: 32, slots, others };
            let rows = layout.rows();
            let value =
                |column: usize, row: usize| (7 * column * column + 3 * row * row + row * column) as i64 % 11 - 5;
            let (mut x, mut y) = ([0; 32], [0; 32]);
            for row in 0..rows {
                (0..slots).for_each(|slot| x[layout.coefficient(slot, row)] = value(slot, row));
                for other in 0..others {
                    let (place, negative) = layout.other_coefficient(other, row);
                    y[slots * place] = if negative { -1 } else { 1 } * value(100 + other, row);
                }
            }
            let mut product = [0; 32];
            for (i, x) in x.iter().enumerate() {
                for (j, y) in y.iter().enumerate() {
                    product[(i + j) % 32] += if i + j < 32 { x * y } else { -x * y };
                }
            }
            for slot in 0..slots {
                for other in 0..others {
                    let expected: i64 = (0..rows).map(|row| value(slot, row) * value(100 + other, row)).sum();
                    assert_eq!(product[layout.output(slot, other)], expected);
                }
            }
        }
    }
}
