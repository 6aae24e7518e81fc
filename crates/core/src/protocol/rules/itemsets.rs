//! Itemsets under opaque numbers, and which of them are worth counting.
//!
//! Both parties compute candidates from the same public itemsets, so that none of them travels. Candidates are
//! generated as by Agrawal and Srikant's apriori-gen ("Fast algorithms for mining association rules", VLDB 1994,
//! section 2.1.1): frequent itemsets that differ in their last item are joined, and what is joined is kept if all its
//! subsets with one item less are frequent. For mixed itemsets, *subsets* are those that are mixed too: what a party's
//! own part must be like is the caller's to say.

use crate::role::Side;
/// An item that is frequent by itself, under the number that its owner has given it in this run. All of the first
/// party's come before those of the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrequentItem {
    /// Party that owns the item.
    pub side: Side,
    /// Number of the item among its owner's.
    pub number: u32,
}

/// Ownership of an itemset's items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemsetOwner {
    /// Items of one party.
    One(Side),
    /// Items of both parties.
    Mixed,
}

/// Returns the ownership of the items in `set`, which is sorted and not empty.
pub fn kind(set: &[FrequentItem]) -> ItemsetOwner {
    let (first, last) = (set[0].side, set[set.len() - 1].side);
    if first == last { ItemsetOwner::One(first) } else { ItemsetOwner::Mixed }
}

/// The items of the first party in `set`, which is sorted, and those of the second.
pub fn parts(set: &[FrequentItem]) -> (&[FrequentItem], &[FrequentItem]) {
    set.split_at(set.partition_point(|item| item.side == Side::First))
}

/// Distinct itemsets of the same number of items, at least one; each is sorted, and they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Itemsets {
    length: usize,
    items: Vec<FrequentItem>,
}

/// Bit of a word that tells an item's owner in the encoding of itemsets: numbers are lower.
const SIDE_BIT: u32 = 31;

/// More candidates than allowed: how many are known of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// At least so many.
    pub candidates: usize,
    /// Whether there may be more.
    pub or_more: bool,
}

impl Itemsets {
    /// None, of `length` items each.
    pub fn none(length: usize) -> Itemsets {
        Itemsets { length, items: Vec::new() }
    }

    /// Returns one itemset for each item of a party that has `count` items.
    pub fn singles(side: Side, count: u32) -> Itemsets {
        Itemsets { length: 1, items: (0..count).map(|number| FrequentItem { side, number }).collect() }
    }

    /// Returns these itemsets, sorted.
    pub(crate) fn sorted(length: usize, sets: impl IntoIterator<Item = Vec<FrequentItem>>) -> Itemsets {
        let mut sets: Vec<Vec<FrequentItem>> = sets.into_iter().collect();
        sets.sort_unstable();
        sets.dedup();
        Itemsets { length, items: sets.concat() }
    }

    /// Returns the number of items in each itemset.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns the number of itemsets.
    pub fn len(&self) -> usize {
        self.items.len() / self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The itemsets in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'_, FrequentItem> {
        self.items.chunks_exact(self.length)
    }

    /// Returns the itemset at `index`.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn get(&self, index: usize) -> &[FrequentItem] {
        &self.items[index * self.length..][..self.length]
    }

    /// Returns the index of `set`, if it is here.
    pub fn position(&self, set: &[FrequentItem]) -> Option<usize> {
        if set.len() != self.length {
            return None;
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.get(middle).cmp(set) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Selects the itemsets for whose index `keep` returns true.
    pub(crate) fn select(&self, keep: impl Fn(usize) -> bool) -> Itemsets {
        let kept = self.iter().enumerate().filter(|(index, _)| keep(*index));
        Itemsets { length: self.length, items: kept.flat_map(|(_, set)| set.iter().copied()).collect() }
    }

    /// Encodes the itemsets: the length, and then every item, in little-endian words of 32 bits. The highest bit of a
    /// word tells the item's owner.
    pub fn to_bytes(&self) -> Vec<u8> {
        let item = |item: &FrequentItem| item.number | (item.side as u32) << SIDE_BIT;
        let words = [self.length as u32].into_iter().chain(self.items.iter().map(item));
        words.flat_map(u32::to_le_bytes).collect()
    }

    /// The other way; `None` if it is not what [`Itemsets::to_bytes`] can have written.
    pub fn from_bytes(bytes: &[u8]) -> Option<Itemsets> {
        let (words, rest) = bytes.as_chunks::<4>();
        let mut words = words.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let length = words.next().filter(|length| *length > 0)? as usize;
        let side = |word: u32| if word >> SIDE_BIT == 0 { Side::First } else { Side::Second };
        let items = words.map(|word| FrequentItem { side: side(word), number: word & !(1 << SIDE_BIT) }).collect();
        let sets = Itemsets { length, items };
        let ascending = |items: &[FrequentItem]| items.windows(2).all(|pair| pair[0] < pair[1]);
        let distinct = sets.iter().zip(sets.iter().skip(1)).all(|(one, next)| one < next);
        let whole = rest.is_empty() && sets.items.len().is_multiple_of(length);
        (whole && distinct && sets.iter().all(ascending)).then_some(sets)
    }

    /// The candidates with one item more, of one-party itemsets: all their subsets are among these.
    pub fn candidates(&self, limit: usize) -> Result<Itemsets, TooMany> {
        let mut joined = Joined::new(self.length + 1, limit);
        let sets: Vec<&[FrequentItem]> = self.iter().collect();
        let mut subset = Vec::with_capacity(self.length);
        joined.join(&sets, |set| {
            // The last two subsets are those that were joined.
            (0..set.len() - 2).all(|left_out| {
                subset.clear();
                subset.extend(set.iter().enumerate().filter(|(index, _)| *index != left_out).map(|(_, item)| *item));
                self.position(&subset).is_some()
            })
        })?;
        Ok(joined.sets)
    }

    /// The candidates with one item more, of mixed itemsets: all their mixed subsets are among these, and `keep` says
    /// yes to their parts.
    pub fn mixed_candidates(
        &self,
        limit: usize,
        keep: impl Fn(&[FrequentItem], &[FrequentItem]) -> bool,
    ) -> Result<Itemsets, TooMany> {
        let mut joined = Joined::new(self.length + 1, limit);
        let mut subset = Vec::with_capacity(self.length);
        let mut worthwhile = |set: &[FrequentItem]| {
            let (first, second) = parts(set);
            keep(first, second)
                && (0..set.len()).all(|left_out| {
                    subset.clear();
                    subset
                        .extend(set.iter().enumerate().filter(|(index, _)| *index != left_out).map(|(_, item)| *item));
                    kind(&subset) != ItemsetOwner::Mixed || self.position(&subset).is_some()
                })
        };
        // With two items or more of the second party, both joined itemsets are mixed. With one, they are if that item
        // stands in front.
        let sets: Vec<&[FrequentItem]> = self.iter().collect();
        joined.join(&sets, &mut worthwhile)?;
        let rotated = |set: &[FrequentItem]| {
            let mut set = set.to_vec();
            set.rotate_right(1);
            set
        };
        let alone = sets.iter().filter(|set| parts(set).1.len() == 1);
        let mut turned: Vec<Vec<FrequentItem>> = alone.map(|set| rotated(set)).collect();
        turned.sort_unstable();
        let turned: Vec<&[FrequentItem]> = turned.iter().map(Vec::as_slice).collect();
        let mut straight = Vec::new();
        let before = joined.sets.items.len();
        joined.join(&turned, |set| {
            straight.clear();
            straight.extend_from_slice(&set[1..]);
            straight.push(set[0]);
            worthwhile(&straight)
        })?;
        joined.sets.items[before..].chunks_exact_mut(self.length + 1).for_each(|set| set.rotate_left(1));
        let length = joined.sets.length;
        Ok(Itemsets::sorted(length, joined.sets.iter().map(<[FrequentItem]>::to_vec)))
    }
}

/// The candidates of two items, one of each party, if they have so many.
pub fn mixed_pairs(first: u32, second: u32, limit: usize) -> Result<Itemsets, TooMany> {
    let candidates = first as usize * second as usize;
    if candidates > limit {
        return Err(TooMany { candidates, or_more: false });
    }
    let item = |side, number| FrequentItem { side, number };
    let pair = |one| (0..second).flat_map(move |other| [item(Side::First, one), item(Side::Second, other)]);
    Ok(Itemsets { length: 2, items: (0..first).flat_map(pair).collect() })
}

/// Itemsets that are being joined.
struct Joined {
    sets: Itemsets,
    limit: usize,
}

impl Joined {
    fn new(length: usize, limit: usize) -> Joined {
        Joined { sets: Itemsets::none(length), limit }
    }

    /// Adds what is made of any two of `sets`, which are sorted, that differ in their last item only, if it is
    /// worthwhile.
    fn join(
        &mut self,
        sets: &[&[FrequentItem]],
        mut worthwhile: impl FnMut(&[FrequentItem]) -> bool,
    ) -> Result<(), TooMany> {
        let mut joined = Vec::with_capacity(self.sets.length);
        let common = self.sets.length - 2;
        for group in sets.chunk_by(|one, other| one[..common] == other[..common]) {
            for (index, one) in group.iter().enumerate() {
                for other in &group[index + 1..] {
                    joined.clear();
                    joined.extend_from_slice(one);
                    joined.push(other[common]);
                    if worthwhile(&joined) {
                        if self.sets.len() == self.limit {
                            return Err(TooMany { candidates: self.limit + 1, or_more: true });
                        }
                        self.sets.items.extend_from_slice(&joined);
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(first: &[u32], second: &[u32]) -> Vec<FrequentItem> {
        let of =
            |side, numbers: &[u32]| numbers.iter().map(|&number| FrequentItem { side, number }).collect::<Vec<_>>();
        [of(Side::First, first), of(Side::Second, second)].concat()
    }

    #[test]
    fn sides_and_parts() {
        assert_eq!(kind(&set(&[1], &[])), ItemsetOwner::One(Side::First));
        assert_eq!(kind(&set(&[], &[1, 2])), ItemsetOwner::One(Side::Second));
        assert_eq!(kind(&set(&[7], &[0])), ItemsetOwner::Mixed);
        let mixed = set(&[3, 4], &[0]);
        assert_eq!(parts(&mixed), (&set(&[3, 4], &[])[..], &set(&[], &[0])[..]));
        assert!(set(&[9], &[]) < set(&[], &[0]));
    }

    #[test]
    fn pairs_are_all_or_too_many() {
        assert_eq!(mixed_pairs(2, 3, 6).unwrap().len(), 6);
        assert_eq!(mixed_pairs(2, 3, 5), Err(TooMany { candidates: 6, or_more: false }));
        assert!(mixed_pairs(0, 3, 0).unwrap().is_empty());
    }

    /// Returns all subsets of a few items.
    fn universe() -> Vec<Vec<FrequentItem>> {
        let items = set(&[0, 1, 2, 3], &[0, 1, 2]);
        let chosen = |mask: usize| (0..items.len()).filter(|&bit| mask >> bit & 1 == 1).map(|bit| items[bit]).collect();
        (1..1 << items.len()).map(chosen).collect()
    }

    fn subsets(set: &[FrequentItem]) -> impl Iterator<Item = Vec<FrequentItem>> + '_ {
        (0..set.len()).map(|left_out| {
            let mut subset = set.to_vec();
            subset.remove(left_out);
            subset
        })
    }

    proptest! {
        /// Candidates are exactly the itemsets whose subsets are all there.
        #[test]
        fn candidates_are_what_the_definition_says(length in 1usize..5, seed: u64, keep in 0u64..4) {
            // An arbitrary choice among the itemsets of this length.
            let chosen = |set: &[FrequentItem]| {
                let hash = set.iter().fold(seed, |hash, item| {
                    let mixed = hash ^ u64::from(item.number) ^ (item.side as u64) << 8;
                    mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
                });
                hash % 4 <= keep
            };
            let universe = universe();
            for kind_of in [ItemsetOwner::One(Side::First), ItemsetOwner::One(Side::Second), ItemsetOwner::Mixed] {
                let of_kind = |set: &&Vec<FrequentItem>, length: usize| set.len() == length && kind(set) == kind_of;
                let frequent: Vec<Vec<FrequentItem>> =
                    universe.iter().filter(|set| of_kind(set, length) && chosen(set)).cloned().collect();
                let there = |subset: &Vec<FrequentItem>| kind(subset) != kind_of || frequent.contains(subset);
                let expected: Vec<Vec<FrequentItem>> = universe
                    .iter()
                    .filter(|set| of_kind(set, length + 1) && subsets(set).all(|subset| there(&subset)))
                    .cloned()
                    .collect();
                if kind_of == ItemsetOwner::Mixed && length == 1 {
                    continue;
                }
                let (frequent, expected) = (Itemsets::sorted(length, frequent), Itemsets::sorted(length + 1, expected));
                let generate = |limit| match kind_of {
                    ItemsetOwner::Mixed => frequent.mixed_candidates(limit, |_, _| true),
                    ItemsetOwner::One(_) => frequent.candidates(limit),
                };
                let generated = generate(expected.len()).unwrap();
                prop_assert_eq!(&generated, &expected);
                prop_assert!(generated.iter().enumerate().all(|(index, set)| generated.position(set) == Some(index)));
                if !expected.is_empty() {
                    let too_many = TooMany { candidates: expected.len(), or_more: true };
                    prop_assert_eq!(generate(expected.len() - 1), Err(too_many));
                }
            }
        }
    }
}
