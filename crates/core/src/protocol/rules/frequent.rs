//! Itemsets with the number of rows that hold them.

use super::itemsets::{FrequentItem, ItemsetOwner, Itemsets, kind};

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

    /// Selects the itemsets whose counts are known.
    pub(crate) fn of(sets: &Itemsets, counts: &[Option<u32>]) -> Counted {
        Counted {
            sets: sets.select(|index| counts[index].is_some()),
            counts: counts.iter().flatten().copied().collect(),
        }
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
    /// Itemsets of each party, and mixed ones; of each kind those of one item, of two, and so on.
    kinds: Vec<Vec<Counted>>,
}

impl Frequent {
    /// Creates an empty result of so many parties, over `rows` rows.
    pub(crate) fn new(rows: u32, parties: usize) -> Frequent {
        Frequent { rows, kinds: vec![Vec::new(); parties + 1] }
    }

    /// Returns the number of rows in which they were counted.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The itemsets of `length` items of a kind.
    pub fn of(&self, kind: ItemsetOwner, length: usize) -> Option<&Counted> {
        self.kinds[self.place(kind)].get(length - 1)
    }

    /// Adds the itemsets of one item more than the last that were added of this kind.
    pub(super) fn push(&mut self, kind: ItemsetOwner, counted: Counted) {
        let place = self.place(kind);
        let levels = &mut self.kinds[place];
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

    /// Iterates over all itemsets with their counts: those of each party, mixed ones; shorter ones first.
    pub fn iter(&self) -> impl Iterator<Item = (&[FrequentItem], u32)> {
        let levels = self.kinds.iter().flatten();
        levels.flat_map(|counted| counted.sets.iter().zip(counted.counts.iter().copied()))
    }

    /// The mixed itemsets with their counts.
    pub fn mixed(&self) -> impl Iterator<Item = (&[FrequentItem], u32)> {
        let levels = self.kinds[self.place(ItemsetOwner::Mixed)].iter();
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
    pub fn shown(&self, party: u8) -> Vec<u32> {
        let items = self.iter().flat_map(|(set, _)| set).filter(|item| item.party == party);
        let mut numbers: Vec<u32> = items.map(|item| item.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Place of a kind among all.
    fn place(&self, kind: ItemsetOwner) -> usize {
        match kind {
            ItemsetOwner::One(party) => party.into(),
            ItemsetOwner::Mixed => self.kinds.len() - 1,
        }
    }
}
