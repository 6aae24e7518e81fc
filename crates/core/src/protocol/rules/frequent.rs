//! Itemsets with the number of rows that hold them.

use super::itemsets::{FrequentItem, ItemsetOwner, Itemsets, kind};
use crate::role::Side;

/// Itemsets of one length, and in how many rows each is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Itemsets of one length.
    pub sets: Itemsets,
    /// Number of rows that each itemset is in.
    pub counts: Vec<u32>,
}

impl Counted {
    /// None, of `length` items each.
    pub(crate) fn none(length: usize) -> Counted {
        Counted { sets: Itemsets::none(length), counts: Vec::new() }
    }

    /// Returns the number of rows that hold `set`, if it is here.
    pub(crate) fn count(&self, set: &[FrequentItem]) -> Option<u32> {
        self.sets.position(set).map(|index| self.counts[index])
    }
}

/// Result of a run: the frequent itemsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frequent {
    rows: u32,
    /// The first party's, the second's, and mixed ones; of each kind those of one item, of two, and so on.
    kinds: [Vec<Counted>; 3],
}

impl Frequent {
    /// Creates an empty result, over `rows` rows.
    pub(crate) fn new(rows: u32) -> Frequent {
        Frequent { rows, kinds: Default::default() }
    }

    /// Returns the number of rows in which they were counted.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The itemsets of `length` items of a kind.
    pub fn of(&self, kind: ItemsetOwner, length: usize) -> Option<&Counted> {
        self.kinds[place(kind)].get(length - 1)
    }

    /// Adds the itemsets of one item more than the last that were added of this kind.
    pub(super) fn push(&mut self, kind: ItemsetOwner, counted: Counted) {
        let levels = &mut self.kinds[place(kind)];
        // There are no mixed itemsets of one item.
        while levels.len() + 1 < counted.sets.length() {
            levels.push(Counted::none(levels.len() + 1));
        }
        levels.push(counted);
    }

    /// Returns the number of rows that hold `set`, which is sorted and not empty; `None` if it is not here.
    pub fn count(&self, set: &[FrequentItem]) -> Option<u32> {
        self.of(kind(set), set.len())?.count(set)
    }

    /// Iterates over all itemsets with their counts: the first party's, the second's, mixed ones; shorter ones first.
    pub fn iter(&self) -> impl Iterator<Item = (&[FrequentItem], u32)> {
        let levels = self.kinds.iter().flatten();
        levels.flat_map(|counted| counted.sets.iter().zip(counted.counts.iter().copied()))
    }

    /// The mixed itemsets with their counts.
    pub fn mixed(&self) -> impl Iterator<Item = (&[FrequentItem], u32)> {
        let levels = self.kinds[place(ItemsetOwner::Mixed)].iter();
        levels.flat_map(|counted| counted.sets.iter().zip(counted.counts.iter().copied()))
    }

    /// Returns the number of itemsets.
    pub fn len(&self) -> usize {
        self.kinds.iter().flatten().map(|counted| counted.sets.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of a party's items that stand in any of them, in order: those whose names the result shows.
    pub fn shown(&self, side: Side) -> Vec<u32> {
        let items = self.iter().flat_map(|(set, _)| set).filter(|item| item.side == side);
        let mut numbers: Vec<u32> = items.map(|item| item.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

fn place(kind: ItemsetOwner) -> usize {
    match kind {
        ItemsetOwner::One(Side::First) => 0,
        ItemsetOwner::One(Side::Second) => 1,
        ItemsetOwner::Mixed => 2,
    }
}
