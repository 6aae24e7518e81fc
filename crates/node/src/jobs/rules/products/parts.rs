//! Products in parts: what a protocol that keeps a party's columns makes at a time, so that memory does not grow with
//! their number.

use std::collections::BTreeMap;

use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares};
use tacita_core::protocol::rules::ProductBatch;

use super::{Wanted, column};
use tacita_core::Side;

/// Columns of a party in one part: so many that they take this many bytes, within limits.
const PART_BYTES: usize = 128 << 20;
const FEWEST: usize = 64;
pub const MAX_COLUMNS: usize = 512;

/// Columns of a party in one part.
pub fn part_columns(rows: usize) -> usize {
    (PART_BYTES * 8 / rows.max(1)).clamp(FEWEST, MAX_COLUMNS)
}

/// Products of some columns here with some there.
pub struct ProductPart {
    /// Columns and rows that are used.
    pub shape: Shape,
    /// Modulus of the sum of shares.
    pub modulus: Modulus,
    /// The products, by the places of their columns among those that are used.
    pub pairs: Vec<(u32, u32)>,
    /// The columns of both parties that are used.
    columns: [Vec<u32>; 2],
    /// Position of each product in the batch.
    order: Vec<usize>,
}

impl ProductPart {
    fn new(wanted: Wanted) -> ProductPart {
        let columns = [Side::First, Side::Second].map(|side| wanted.columns(side));
        let place = |side: usize, column| columns[side].partition_point(|&other| other < column) as u32;
        let pairs = wanted.pairs.iter().map(|&(first, second)| (place(0, first), place(1, second)));
        let (first, second) = (columns[0].len(), columns[1].len());
        ProductPart {
            shape: Shape { rows: wanted.rows, first, second, integers: Integers::BINARY },
            modulus: wanted.modulus,
            pairs: pairs.collect(),
            columns,
            order: wanted.order,
        }
    }

    /// Returns this party's columns in the part.
    pub fn own(&self, batch: &ProductBatch<'_>) -> Columns {
        let mut own = Columns::new(Integers::BINARY, batch.rows());
        self.columns[batch.side() as usize].iter().for_each(|&index| {
            own.push_bits(batch.column(index as usize).to_choices());
        });
        own
    }

    /// Puts shares of the products where they stand in the batch.
    pub fn put(&self, shares: &Shares, residues: &mut [u128]) {
        self.order.iter().zip(shares.residues()).for_each(|(&place, residue)| residues[place] = *residue);
    }
}

/// Splits the wanted products into parts that fit memory, in order.
pub fn parts(wanted: &Wanted) -> impl Iterator<Item = ProductPart> {
    blocks(wanted).into_values().map(|places| ProductPart::new(wanted.some(places)))
}

/// Returns the number of parts in which the wanted products are made.
pub fn count(wanted: &Wanted) -> usize {
    blocks(wanted).len()
}

/// Returns the products in each part.
fn blocks(wanted: &Wanted) -> BTreeMap<(usize, usize), Vec<usize>> {
    let most = part_columns(wanted.rows);
    let columns = [Side::First, Side::Second].map(|side| wanted.columns(side));
    let part = |side: Side, pair| columns[side as usize].partition_point(|&other| other < column(pair, side)) / most;
    let mut parts: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (place, pair) in wanted.pairs.iter().enumerate() {
        parts.entry((part(Side::First, pair), part(Side::Second, pair))).or_default().push(place);
    }
    parts
}
