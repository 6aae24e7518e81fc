//! Rows that products go over, and where a party's own stand among them.

use std::fmt;

use tacita_core::protocol::dot::Columns;
use zeroize::Zeroizing;

/// Rows in an order that both parties have: those of both by position, the common ones, or, hidden, those of either.
pub struct AlignedRows {
    rows: usize,
    common: usize,
    hidden: bool,
    /// Place of each row of the own table; absent where it is the row's own.
    places: Option<Zeroizing<Vec<Option<u32>>>>,
}

impl AlignedRows {
    /// Rows of which each is at its own place.
    pub fn by_position(rows: usize) -> AlignedRows {
        AlignedRows { rows, common: rows, hidden: false, places: None }
    }

    /// The common rows of a table of `table_rows`, in order.
    pub(super) fn shown(table_rows: usize, common: &[u32]) -> AlignedRows {
        let places = places(table_rows, common.iter().copied().zip(0..));
        AlignedRows { rows: common.len(), common: common.len(), hidden: false, places: Some(places) }
    }

    /// The rows of either party, of which `common` are common. `places` has rows of a table of `table_rows`, each with
    /// its place.
    pub(super) fn hidden(
        table_rows: usize,
        rows: usize,
        common: usize,
        places: impl Iterator<Item = (u32, u32)>,
    ) -> AlignedRows {
        AlignedRows { rows, common, hidden: true, places: Some(self::places(table_rows, places)) }
    }

    /// Number of rows that products go over.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of rows that both parties have.
    pub fn common(&self) -> usize {
        self.common
    }

    /// Whether neither party knows which rows are common. Rows that a party lacks are zero in its columns; what is
    /// derived from a column has to be zero there too.
    pub fn are_hidden(&self) -> bool {
        self.hidden
    }

    /// Place of a row of the own table, if it has one.
    pub fn place(&self, row: u32) -> Option<usize> {
        match &self.places {
            None => Some(row as usize),
            Some(places) => places[row as usize].map(|place| place as usize),
        }
    }

    /// Places of all own rows that have one: the ones of the column *present*.
    pub fn present(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match &self.places {
            None => Box::new(0..self.rows),
            Some(places) => Box::new(places.iter().flatten().map(|&place| place as usize)),
        }
    }

    /// Columns of the own table over these rows, with zeros in rows that it lacks; `None` if they are over these rows
    /// already.
    pub fn columns(&self, columns: &Columns) -> Option<Columns> {
        self.places.as_ref().map(|places| columns.scatter(self.rows, places))
    }
}

fn places(table_rows: usize, placed: impl Iterator<Item = (u32, u32)>) -> Zeroizing<Vec<Option<u32>>> {
    let mut places = Zeroizing::new(vec![None; table_rows]);
    placed.for_each(|(row, place)| places[row as usize] = Some(place));
    places
}

/// Places are not printed: they tell which rows are common, or would with the peer's.
impl fmt::Debug for AlignedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedRows").field("rows", &self.rows).field("common", &self.common).finish_non_exhaustive()
    }
}
