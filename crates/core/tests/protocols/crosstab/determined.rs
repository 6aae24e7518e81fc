//! No set of open cells and margins determines a closed cell: an exact check, over random tables.
//!
//! Numbers of closed cells that are not negative, with given sums of rows and columns, are flows in a bipartite graph.
//! The linear program that asks for the least and the greatest number of one cell has another answer than the true
//! number if, and only if, a cycle through this cell is left in the residual graph (Ahuja, Magnanti & Orlin, "Network
//! Flows", 1993, section 9.3).

use super::Table;
use super::plain::{self, Rule};

/// Cells of a table with the knowledge of one that has its margins and all open cells.
struct Known<'a> {
    table: &'a Table,
    closed: &'a [bool],
}

impl Known<'_> {
    /// Whether there is only one number for a closed cell.
    fn determines(&self, row: usize, column: usize) -> bool {
        !self.can_change(row, column, true) && !self.can_change(row, column, false)
    }

    /// Whether a cell can have a larger number, or a smaller one: a path back that does not take the same cell. Rows
    /// are nodes, and columns behind them.
    fn can_change(&self, row: usize, column: usize, larger: bool) -> bool {
        if !larger && self.table.at(row, column) == 0 {
            return false;
        }
        let (rows, columns) = (self.table.params.first, self.table.params.second);
        let (from, to) = if larger { (rows + column, row) } else { (row, rows + column) };
        let mut seen = vec![false; rows + columns];
        let mut left = vec![from];
        seen[from] = true;
        while let Some(node) = left.pop() {
            if node == to {
                return true;
            }
            let next = |other: usize| {
                let (i, j) = if node < rows { (node, other - rows) } else { (other, node - rows) };
                let is_same = (i, j) == (row, column);
                // A row leads to a column by a cell that grows, and back by one that shrinks.
                let can = node < rows || self.table.at(i, j) > 0;
                !is_same && can && self.closed[i * columns + j]
            };
            let others = if node < rows { rows..rows + columns } else { 0..rows };
            let others: Vec<usize> = others.filter(|&other| !seen[other] && next(other)).collect();
            others.into_iter().for_each(|other| {
                seen[other] = true;
                left.push(other);
            });
        }
        false
    }
}

/// The first closed cell that is determined. Cells that margins alone determine, with nothing open, are nobody's
/// secret; and with a margin of 0 only small cells count.
fn determined(table: &Table, closed: &[bool]) -> Option<(usize, usize)> {
    let (rows, columns) = (table.params.first, table.params.second);
    let margin_of_zero = (0..rows).any(|i| (0..columns).all(|j| table.at(i, j) == 0))
        || (0..columns).any(|j| (0..rows).all(|i| table.at(i, j) == 0));
    let all = vec![true; closed.len()];
    let (known, margins) = (Known { table, closed }, Known { table, closed: &all });
    let cells = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
    let counts = |&(i, j): &(usize, usize)| !margin_of_zero || table.at(i, j) < table.params.minimum;
    cells
        .filter(|(i, j)| closed[i * columns + j])
        .filter(counts)
        .find(|&(i, j)| known.determines(i, j) && !margins.determines(i, j))
}

/// Lines of an owner that knows its margin: none of a line's cells is closed, or at least two, with a sum of at least
/// the minimum; unless the line as a whole is smaller than that.
fn breaks_a_line(table: &Table, closed: &[bool]) -> Option<String> {
    let (rows, columns) = (table.params.first, table.params.second);
    let of_rows = (0..rows).map(|i| (columns, (0..columns).map(|j| (i, j)).collect::<Vec<_>>()));
    let of_columns = (0..columns).map(|j| (rows, (0..rows).map(|i| (i, j)).collect()));
    of_rows.chain(of_columns).find_map(|(length, cells)| {
        let closed: Vec<_> = cells.iter().filter(|(i, j)| closed[i * columns + j]).collect();
        let sum: u64 = closed.iter().map(|(i, j)| table.at(*i, *j)).sum();
        let whole = closed.len() == length;
        let good = closed.is_empty() || whole || (closed.len() > 1 && sum >= table.params.minimum);
        (!good).then(|| format!("{closed:?} of {table:?}"))
    })
}

fn tables() -> impl Iterator<Item = Table> {
    (0..12_000).map(|seed| Table::random(seed, 2 + seed as usize % 7, [1, 2, 3, 5][seed as usize % 4]))
}

#[test]
fn no_closed_cell_is_determined() {
    let mut closed_cells = 0;
    for table in tables() {
        let closed = plain::closed(&table, None);
        assert_eq!(determined(&table, &closed), None, "{table:?} {closed:?}");
        assert_eq!(breaks_a_line(&table, &closed), None);
        closed_cells += closed.iter().filter(|closed| **closed).count();
    }
    assert!(closed_cells > 10_000);
}

/// Small cells alone, and every rule left out, let some table determine a closed cell.
#[test]
fn every_rule_is_needed() {
    let rules = [Rule::Whole, Rule::WithWhole, Rule::RowPillars, Rule::ColumnPillars, Rule::Corners];
    for rule in rules {
        let broken = tables().any(|table| determined(&table, &plain::closed(&table, Some(rule))).is_some());
        // A weak line is closed by its small cells anyway.
        assert_eq!(broken, rule != Rule::Whole, "{rule:?}");
    }
    let bare = tables().any(|table| {
        let small: Vec<bool> = table.counts.iter().map(|count| *count < table.params.minimum).collect();
        determined(&table, &small).is_some() && breaks_a_line(&table, &small).is_some()
    });
    assert!(bare);
}

/// Two closed cells in every line do not suffice for one that has all margins.
#[test]
fn the_check_sees_what_lines_do_not() {
    let counts = vec![0, 5, 9, 9, 5, 0, 5, 9, 5];
    let table = Table::new(counts, [3, 3], 5);
    let closed = [true, true, false, false, true, true, true, false, true];
    assert_eq!(breaks_a_line(&table, &closed), None);
    assert!(determined(&table, &closed).is_some());
}
