//! Solving for the columns of one bin: figure 1 of Raghuraman & Rindal 2022.
//!
//! Most rows are peeled: a row that alone has some sparse column is put aside, to be satisfied last by that column,
//! until none is left that has one. The few rows that remain (the 2-core, usually none) are solved by Gauss-Jordan
//! elimination over their own sparse columns and all dense ones. That is at least as good as the paper's triangulation,
//! which gives up a core row for each column that it cannot peel: whatever that solves has full rank here too.

use chacha20::ChaCha20Rng;

use super::element::{Coefficient, Element};
use crate::primitive::kernel::Block;

/// The largest core that elimination is tried on. Where the sizes are right a core has a handful of rows; a core of a
/// linear share of all rows, the other possibility, has no solution.
const LARGEST_CORE: usize = 256;

/// The rows have no solution.
#[derive(Debug)]
pub(super) struct Singular;

/// The rows of one bin.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// The three columns of each.
    pub(super) sparse: &'a [[u32; 3]],
    /// The dense coefficient of each.
    pub(super) coefficients: &'a [Block],
    /// Number of sparse columns.
    pub(super) columns: usize,
}

/// Finds columns such that each row's inner product with them is its value. `columns` has room for the sparse and the
/// dense ones and holds zeros; those that nothing determines stay zero, or are drawn from `rng`.
pub(super) fn solve<E: Element>(
    rows: Rows<'_>,
    values: &[E],
    columns: &mut [E],
    mut rng: Option<ChaCha20Rng>,
) -> Result<(), Singular> {
    let peeled = peel(rows);
    let core = peeled.core(rows.sparse.len());
    if let Some(rng) = &mut rng {
        // What is determined is overwritten below.
        columns.iter_mut().for_each(|column| *column = E::random(rng));
    }
    if !core.is_empty() {
        solve_core(rows, &core, values, columns)?;
    }

    // The dense columns are fixed now. They are taken off all values at once, which is cheaper than row by row.
    let (sparse, dense) = columns.split_at_mut(rows.columns);
    if rng.is_some() || !core.is_empty() {
        let mut contributions: Vec<E> = Vec::new();
        contributions.resize_with(values.len(), E::zero);
        E::add_dense(&mut contributions, rows.coefficients, dense);
        peeled.substitute(rows, sparse, |row| {
            let mut value = values[row].copy();
            value.subtract(&contributions[row]);
            value
        });
    } else {
        peeled.substitute(rows, sparse, |row| values[row].copy());
    }
    Ok(())
}

/// Rows in the order in which they were peeled, each with the column that it alone had then.
struct Peeled(Vec<(u32, u32)>);

/// Peels as many rows as can be. For each column it keeps how many rows have it and the exclusive or of their numbers,
/// which is the row's number once there is one.
fn peel(rows: Rows<'_>) -> Peeled {
    let mut users = vec![(0u32, 0u32); rows.columns];
    for (row, columns) in (0u32..).zip(rows.sparse) {
        for &column in columns {
            let (count, all) = &mut users[column as usize];
            *count += 1;
            *all ^= row;
        }
    }
    let mut peeled = Vec::with_capacity(rows.sparse.len());
    let mut single: Vec<u32> = Vec::with_capacity(rows.columns);
    single.extend((0u32..).zip(&users).filter(|(_, (count, _))| *count == 1).map(|(column, _)| column));
    while let Some(column) = single.pop() {
        let (count, row) = users[column as usize];
        // Another column may have peeled the row already.
        if count != 1 {
            continue;
        }
        peeled.push((row, column));
        for &column in &rows.sparse[row as usize] {
            let (count, all) = &mut users[column as usize];
            *count -= 1;
            *all ^= row;
            if *count == 1 {
                single.push(column);
            }
        }
    }
    Peeled(peeled)
}

impl Peeled {
    /// The rows that were not peeled.
    fn core(&self, rows: usize) -> Vec<u32> {
        if self.0.len() == rows {
            return Vec::new();
        }
        let mut is_peeled = vec![false; rows];
        self.0.iter().for_each(|&(row, _)| is_peeled[row as usize] = true);
        (0u32..).zip(is_peeled).filter(|(_, peeled)| !peeled).map(|(row, _)| row).collect()
    }

    /// Satisfies the peeled rows, the last one first: each sets its column to its value less its other two columns,
    /// neither of which changes any more.
    fn substitute<E: Element>(&self, rows: Rows<'_>, columns: &mut [E], value: impl Fn(usize) -> E) {
        for &(row, own) in self.0.iter().rev() {
            let mut value = value(row as usize);
            for &column in rows.sparse[row as usize].iter().filter(|&&column| column != own) {
                value.subtract(&columns[column as usize]);
            }
            columns[own as usize] = value;
        }
    }
}

/// Solves for the columns of the core's rows, sparse and dense, with those already in `columns` kept where the rows
/// leave a choice.
fn solve_core<E: Element>(rows: Rows<'_>, core: &[u32], values: &[E], columns: &mut [E]) -> Result<(), Singular> {
    if core.len() > LARGEST_CORE {
        return Err(Singular);
    }
    // The unknowns: the core's sparse columns, then all dense ones.
    let mut unknowns: Vec<u32> = core.iter().flat_map(|&row| rows.sparse[row as usize]).collect();
    unknowns.sort_unstable();
    unknowns.dedup();
    let sparse = unknowns.len();
    unknowns.extend(rows.columns as u32..columns.len() as u32);

    // The augmented matrix.
    let mut matrix: Vec<Vec<E::Coefficient>> = core
        .iter()
        .map(|&row| {
            let mut coefficients = vec![E::Coefficient::zero(); sparse];
            for column in rows.sparse[row as usize] {
                let place = unknowns[..sparse].binary_search(&column).expect("it was collected above");
                coefficients[place] = E::Coefficient::one();
            }
            let factor = E::Coefficient::from_block(rows.coefficients[row as usize]);
            let mut power = factor.clone();
            for _ in sparse..unknowns.len() {
                coefficients.push(power.clone());
                power = power.times(&factor);
            }
            coefficients
        })
        .collect();
    let mut right: Vec<E> = core.iter().map(|&row| values[row as usize].copy()).collect();

    // Gauss-Jordan: row i of the result has the pivot `pivots[i]`, which no other row has.
    let mut pivots = Vec::with_capacity(core.len());
    for unknown in 0..unknowns.len() {
        let done = pivots.len();
        let Some(found) = (done..core.len()).find(|&row| !matrix[row][unknown].is_zero()) else { continue };
        matrix.swap(done, found);
        right.swap(done, found);
        let inverse = matrix[done][unknown].inverse();
        matrix[done].iter_mut().for_each(|coefficient| *coefficient = coefficient.times(&inverse));
        right[done] = right[done].scaled(&inverse);
        let pivot_row = matrix[done].clone();
        let mut factors = vec![E::Coefficient::zero(); core.len()];
        for row in (0..core.len()).filter(|&row| row != done) {
            factors[row] = matrix[row][unknown].clone();
            if factors[row].is_zero() {
                continue;
            }
            for (coefficient, pivot) in matrix[row].iter_mut().zip(&pivot_row) {
                *coefficient = coefficient.minus(&pivot.times(&factors[row]));
            }
        }
        let pivot = right[done].copy();
        E::subtract_multiples(&mut right, &pivot, &factors);
        pivots.push(unknown);
    }
    if pivots.len() < core.len() {
        return Err(Singular);
    }
    // Unknowns that are no pivots are what they are.
    let mut values = right;
    let is_pivot = |place: usize| pivots.contains(&place);
    for place in (0..unknowns.len()).filter(|&place| !is_pivot(place)) {
        let coefficients: Vec<_> = matrix.iter().map(|row| row[place].clone()).collect();
        E::subtract_multiples(&mut values, &columns[unknowns[place] as usize], &coefficients);
    }
    for (&pivot, value) in pivots.iter().zip(values) {
        columns[unknowns[pivot] as usize] = value;
    }
    Ok(())
}
