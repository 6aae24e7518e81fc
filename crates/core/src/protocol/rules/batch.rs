//! The scalar products of one level.

use std::collections::BTreeSet;

use super::baskets::{Conjunction, RowSet};
use super::itemsets::{FrequentItem, Itemsets, part_of};
use crate::channel::Channel;
use crate::error::Result;
use crate::protocol::dot::{Modulus, Shares};
use crate::role::Side;

/// A protocol for scalar products of columns of zeros and ones.
pub trait ScalarProducts {
    /// For each of the batch's [pairs](ProductBatch::pairs) the number of rows that are in both columns, shared modulo
    /// [`ProductBatch::modulus`]. The peer must do the same at once, with a batch that differs in
    /// [`ProductBatch::side`] only. Shares must be uniformly random for each party alone; or, with
    /// [`Reveal::Counts`](super::RevealedCounts::Counts), which opens all of them to both, they may be the counts and
    /// zeros.
    fn products(&mut self, batch: &ProductBatch<'_>, channel: &mut Channel) -> Result<Shares>;
}

/// The products of one level: which columns of the first party are multiplied with which of the second. Everything but
/// what the own columns hold is public.
pub struct ProductBatch<'a> {
    side: Side,
    rows: usize,
    modulus: Modulus,
    /// The distinct parts of the candidates: how many each party has, and the own ones, sorted.
    columns: [usize; 2],
    own: Vec<Vec<u32>>,
    pairs: Vec<(u32, u32)>,
    items: Vec<&'a RowSet>,
    length: usize,
}

/// The different parts that a party has of some itemsets: columns that are multiplied.
pub(super) struct DistinctParts<'s> {
    party: u8,
    parts: Vec<&'s [FrequentItem]>,
}

impl<'s> DistinctParts<'s> {
    pub(super) fn of(party: u8, sets: impl Iterator<Item = &'s [FrequentItem]>) -> DistinctParts<'s> {
        let parts = sets.map(|set| part_of(set, party)).filter(|part| !part.is_empty()).collect::<BTreeSet<_>>();
        DistinctParts { party, parts: parts.into_iter().collect() }
    }

    /// Place of the party's part of one of the itemsets.
    pub(super) fn place(&self, set: &[FrequentItem]) -> u32 {
        self.parts.partition_point(|other| *other < part_of(set, self.party)) as u32
    }

    /// The numbers of the items of each part.
    pub(super) fn numbers(&self) -> Vec<Vec<u32>> {
        self.parts.iter().map(|part| part.iter().map(|item| item.number).collect()).collect()
    }
}

impl<'a> ProductBatch<'a> {
    /// The products for mixed `candidates` over so many rows; `items` are the own ones by their numbers.
    ///
    /// # Panics
    ///
    /// Later, if a candidate has an own item that is not there.
    pub fn new(
        side: Side,
        rows: usize,
        modulus: Modulus,
        candidates: &Itemsets,
        items: Vec<&'a RowSet>,
    ) -> ProductBatch<'a> {
        ProductBatch::of_all(side, rows, modulus, candidates.length(), std::slice::from_ref(candidates), items)
    }

    /// The products for candidates of several lengths, in order. Those of one party stand with a column of the other.
    /// `length` is what is said of all.
    pub(super) fn of_all(
        side: Side,
        rows: usize,
        modulus: Modulus,
        length: usize,
        candidates: &[Itemsets],
        items: Vec<&'a RowSet>,
    ) -> ProductBatch<'a> {
        let all = || candidates.iter().flat_map(Itemsets::iter);
        let [first, second] = [0, 1].map(|party| DistinctParts::of(party, all()));
        let pairs = all().map(|set| (first.place(set), second.place(set))).collect();
        let own = if side == Side::First { &first } else { &second };
        let own = own.numbers();
        ProductBatch {
            side,
            rows,
            modulus,
            columns: [first.parts.len(), second.parts.len()],
            own,
            pairs,
            items,
            length,
        }
    }

    /// Returns the party whose batch this is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Items of each candidate.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Rows of each column.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the modulus of the sum of shares: more than the number of rows.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Returns the number of columns that a party brings.
    pub fn columns(&self, side: Side) -> usize {
        self.columns[side as usize]
    }

    /// Returns the pairs whose products are wanted: a column of the first party, and one of the second. Distinct, in
    /// the order of the candidates, which is not that of the columns.
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// Gives each of the own columns to `take`, in order. They are made one at a time, so that memory does not grow
    /// with their number.
    pub fn for_each_column(&self, mut take: impl FnMut(usize, &RowSet) -> Result<()>) -> Result<()> {
        let mut conjunction = Conjunction::new(self.items.clone());
        let mut own = self.own.iter().enumerate();
        own.try_for_each(|(index, part)| take(index, conjunction.of(part)))
    }

    /// Returns one of the own columns.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn column(&self, index: usize) -> RowSet {
        Conjunction::new(self.items.clone()).of(&self.own[index]).clone()
    }
}
