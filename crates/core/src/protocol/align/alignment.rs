//! The common order as one party sees it.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use super::{Order, Params};
use crate::error::{Error, Result};
use crate::primitive::ot::Choices;

/// The rows of both parties in a common order: how many there are, and where a party's own items stand.
pub struct Alignment {
    rows: usize,
    common: usize,
    positions: Zeroizing<Vec<u32>>,
}

impl Alignment {
    /// The alignment of a party with `items` items, the first ones of the order. What follows them fills up.
    pub(super) fn new(items: usize, order: &Order, params: &Params) -> Result<Alignment> {
        let common = (params.first_items + params.second_items).checked_sub(order.rows);
        match (common, order.positions.get(..items)) {
            (Some(common), Some(own)) => {
                Ok(Alignment { rows: order.rows, common, positions: Zeroizing::new(own.to_vec()) })
            }
            _ => Err(Error::Internal("align: an order of another run".into())),
        }
    }

    /// Number of rows: of all items of both, those that fill up included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of rows that both parties have.
    pub fn common(&self) -> usize {
        self.common
    }

    /// Row of each of the party's items.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// Column of ones in the rows that the party has, and of zeros in the others.
    pub fn present(&self) -> Choices {
        let mut present = Zeroizing::new(vec![false; self.rows]);
        self.positions.iter().for_each(|&row| present[row as usize] = true);
        Choices::from_bits(present.iter().copied())
    }

    /// Column of the union with the value of each of the party's items at its row, and the default, zero, in rows that
    /// it lacks.
    ///
    /// Errors: there is not one value for each item.
    pub fn column<T: Copy + Default + Zeroize>(&self, values: &[T]) -> Result<Zeroizing<Vec<T>>> {
        if values.len() != self.positions.len() {
            let (values, items) = (values.len(), self.positions.len());
            return Err(Error::Internal(format!("align: {values} values for {items} items")));
        }
        let mut column = Zeroizing::new(vec![T::default(); self.rows]);
        self.positions.iter().zip(values).for_each(|(&row, &value)| column[row as usize] = value);
        Ok(column)
    }
}

/// The rows of the own items are not printed: with the peer's they would tell which are common.
impl fmt::Debug for Alignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alignment").field("rows", &self.rows).field("common", &self.common).finish_non_exhaustive()
    }
}
