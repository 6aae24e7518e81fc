//! Choice of the cells that close: a circuit over bits that say which cells are small.
//!
//! Lines are rows and columns. A line is weak if all its cells are small; of a line that is not, the *pillar* is the
//! first cell that is not small. First is meant by the numbers of rows and columns. A cell closes if one of these
//! holds:
//!
//! 1. It is small.
//! 2. Its row is weak; or some row is, and this is the first row that is not. Columns likewise.
//! 3. It is the pillar of its row, where this row has a small cell in a column that is not weak. Columns likewise.
//! 4. A small cell (i, j) of lines that are not weak has the pillar (i, l) in its row and (k, j) in its column, and it is (k, l).
//!
//! With x(i, l) and x(k, j) of at least the minimum m, all four numbers of such a rectangle can change by the same
//! amount, with alternating signs, such that all margins stay: each of its cells could have any of more than m values,
//! one after the other. Weak rows and the row that closes with them are closed whole. Within them numbers can move
//! between rows, as long as each row keeps its sum. So no closed cell of a table, none of whose margins is 0, is
//! determined by open cells and margins.

use crate::error::Result;
use crate::protocol::shares::bits::{BitGates, SharedBits};

/// Returns for each cell of a table of so many rows and columns whether it closes, from whether it is small: row by
/// row.
pub fn closing(small: &SharedBits, [rows, columns]: [usize; 2], gates: &mut impl BitGates) -> Result<SharedBits> {
    // Rectangles are put together along the longer lines.
    if rows <= columns {
        return across(small, [rows, columns], gates);
    }
    let closed = across(&turned(small, [rows, columns]), [columns, rows], gates)?;
    Ok(turned(&closed, [columns, rows]))
}

/// A table that stands row by row, column by column.
fn turned(bits: &SharedBits, [rows, columns]: [usize; 2]) -> SharedBits {
    bits.at((0..rows * columns).map(|at| at % rows * columns + at / rows))
}

/// A table's lines of one direction.
struct Lines {
    /// Whether a cell is its line's pillar.
    pillar: SharedBits,
    /// Whether a line is weak.
    weak: SharedBits,
    /// Whether a line closes whole.
    whole: SharedBits,
}

impl Lines {
    /// Looks at lines of `length` cells.
    fn new(small: &SharedBits, length: usize, gates: &mut impl BitGates) -> Result<Lines> {
        let up_to = gates.all_up_to(small.clone(), length)?;
        let pillar = first_clear(&up_to, length, gates);
        let weak = up_to.at((0..small.len() / length).map(|line| (line + 1) * length - 1));
        let weak_up_to = gates.all_up_to(weak.clone(), weak.len())?;
        let strong = first_clear(&weak_up_to, weak.len(), gates);
        let any = gates.any(&weak, weak.len())?;
        let with_them = gates.and(&strong, &any.at((0..weak.len()).map(|_| 0)))?;
        // A line that is weak is not the first that is not.
        Ok(Lines { pillar, whole: weak.xor(&with_them), weak })
    }
}

/// The first bit that is not set in each row of `length`, from whether it and all before it are.
fn first_clear(up_to: &SharedBits, length: usize, gates: &impl BitGates) -> SharedBits {
    // Before the first, all are; it is the answer itself where it is not.
    let before = |place: usize| place.checked_sub(1).filter(|_| !place.is_multiple_of(length));
    let count = up_to.len();
    let all = SharedBits::joined([up_to, &gates.not(&up_to.xor(up_to))]);
    up_to.xor(&all.at((0..count).map(|place| before(place).unwrap_or(count + place))))
}

/// The same as [`closing`] for a table of no more rows than columns.
fn across(small: &SharedBits, [rows, columns]: [usize; 2], gates: &mut impl BitGates) -> Result<SharedBits> {
    let cells = rows * columns;
    let row_of = || (0..cells).map(|cell| cell / columns);
    let column_of = || (0..cells).map(|cell| cell % columns);
    let turn = |bits: &SharedBits| turned(bits, [rows, columns]);
    let turn_back = |bits: &SharedBits| turned(bits, [columns, rows]);

    let of_rows = Lines::new(small, columns, gates)?;
    let of_columns = Lines::new(&turn(small), rows, gates)?;
    let strong = [gates.not(&of_rows.weak).at(row_of()), gates.not(&of_columns.weak).at(column_of())];
    let of_strong = gates.and(&strong[0], &strong[1])?;
    let needs = gates.and(small, &of_strong)?;

    let row_needs = gates.any(&needs, columns)?;
    let column_needs = gates.any(&turn(&needs), rows)?;
    let in_row = gates.and(&of_rows.pillar, &row_needs.at(row_of()))?;
    let in_column = turn_back(&of_columns.pillar);
    let in_column = gates.and(&in_column, &column_needs.at(column_of()))?;

    // Row k has the pillar of a column in which row i needs one; then, for each l that has the pillar of row i, (k, l).
    let crossing = product(&turn_back(&of_columns.pillar), &needs, [rows, columns, rows], true, gates)?;
    let corners = product(&crossing, &of_rows.pillar, [rows, rows, columns], false, gates)?;

    let mut reasons = vec![small.clone(), in_row, in_column, corners];
    reasons.extend([of_rows.whole.at(row_of()), of_columns.whole.at(column_of())]);
    let count = reasons.len();
    let joined = SharedBits::joined(&reasons);
    gates.any(&joined.at((0..cells * count).map(|at| at % count * cells + at / count)), count)
}

/// The boolean product of a matrix of `outer` rows with one of `other` columns, over `inner`. The second matrix stands
/// column by column if it is `turned`.
fn product(
    one: &SharedBits,
    two: &SharedBits,
    [outer, inner, other]: [usize; 3],
    turned: bool,
    gates: &mut impl BitGates,
) -> Result<SharedBits> {
    let all = || {
        (0..outer).flat_map(move |row| (0..other).flat_map(move |column| (0..inner).map(move |at| (row, column, at))))
    };
    let one = one.at(all().map(|(row, _, at)| row * inner + at));
    let two = two.at(all().map(|(_, column, at)| if turned { column * inner + at } else { at * other + column }));
    let both = gates.and(&one, &two)?;
    gates.any(&both, inner)
}
