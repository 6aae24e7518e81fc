//! The rules by which cells close, over counts in the clear.

use super::Table;

/// A rule that a weakened variant leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Weak lines close whole.
    Whole,
    /// A line that is not weak closes with them.
    WithWhole,
    /// Pillars of rows.
    RowPillars,
    /// Pillars of columns.
    ColumnPillars,
    /// The fourth cell of a rectangle.
    Corners,
}

/// Returns whether each cell closes, without one of the rules.
pub(super) fn closed(table: &Table, without: Option<Rule>) -> Vec<bool> {
    let (rows, columns) = (table.params.first, table.params.second);
    let small = |i: usize, j: usize| table.at(i, j) < table.params.minimum;
    let row_pillar = |i: usize| (0..columns).find(|&j| !small(i, j));
    let column_pillar = |j: usize| (0..rows).find(|&i| !small(i, j));
    let mut closed = vec![false; rows * columns];
    let has = |rule| without != Some(rule);

    let weak_row = |i: usize| row_pillar(i).is_none();
    let weak_column = |j: usize| column_pillar(j).is_none();
    if (0..rows).any(weak_row) {
        let with = (0..rows).find(|&i| !weak_row(i)).filter(|_| has(Rule::WithWhole));
        for i in (0..rows).filter(|&i| has(Rule::Whole) && weak_row(i) || Some(i) == with) {
            (0..columns).for_each(|j| closed[i * columns + j] = true);
        }
    }
    if (0..columns).any(weak_column) {
        let with = (0..columns).find(|&j| !weak_column(j)).filter(|_| has(Rule::WithWhole));
        for j in (0..columns).filter(|&j| has(Rule::Whole) && weak_column(j) || Some(j) == with) {
            (0..rows).for_each(|i| closed[i * columns + j] = true);
        }
    }
    for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
        if !small(i, j) {
            continue;
        }
        closed[i * columns + j] = true;
        let (Some(l), Some(k)) = (row_pillar(i), column_pillar(j)) else { continue };
        closed[i * columns + l] |= has(Rule::RowPillars);
        closed[k * columns + j] |= has(Rule::ColumnPillars);
        closed[k * columns + l] |= has(Rule::Corners);
    }
    closed
}
