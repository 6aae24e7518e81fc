//! Itemsets under opaque numbers, and which of them are worth counting.
//!
//! All parties compute candidates from the same public itemsets, so that none of them travels. Candidates are
//! generated as by Agrawal and Srikant's apriori-gen ("Fast algorithms for mining association rules", VLDB 1994,
//! section 2.1.1): frequent itemsets that differ in their last item are joined, and what is joined is kept if all its
//! subsets with one item less are frequent. For mixed itemsets, *subsets* are those that are mixed too: what a party's
//! own part must be like is the caller's to say.

/// An item that is frequent by itself, under the number that its owner has given it in this run. All of one party's
/// come before those of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrequentItem {
    /// Place of the party that owns the item.
    pub party: u8,
    /// Number of the item among its owner's.
    pub number: u32,
}

/// Ownership of an itemset's items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemsetOwner {
    /// Items of the party at this place.
    One(u8),
    /// Items of several parties.
    Mixed,
}

/// Returns the ownership of the items in `set`, which is sorted and not empty.
pub fn kind(set: &[FrequentItem]) -> ItemsetOwner {
    let (first, last) = (set[0].party, set[set.len() - 1].party);
    if first == last { ItemsetOwner::One(first) } else { ItemsetOwner::Mixed }
}

/// The items of each party that has some in `set`, which is sorted, party by party.
pub fn parts(set: &[FrequentItem]) -> impl Iterator<Item = &[FrequentItem]> {
    set.chunk_by(|one, next| one.party == next.party)
}

/// The items of a party in `set`, which is sorted.
pub fn part_of(set: &[FrequentItem], party: u8) -> &[FrequentItem] {
    let start = set.partition_point(|item| item.party < party);
    &set[start..start + set[start..].partition_point(|item| item.party == party)]
}

/// Whether a party has items in `set`.
pub fn has_part(set: &[FrequentItem], party: u8) -> bool {
    !part_of(set, party).is_empty()
}

/// Distinct itemsets of the same number of items, at least one; each is sorted, and they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Itemsets {
    length: usize,
    items: Vec<FrequentItem>,
}

/// First bit of a word that tells an item's owner in the encoding of itemsets: numbers are lower.
const PARTY_BIT: u32 = 28;

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
    pub fn singles(party: u8, count: u32) -> Itemsets {
        Itemsets { length: 1, items: (0..count).map(|number| FrequentItem { party, number }).collect() }
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

    /// Encodes the itemsets: the length, and then every item, in little-endian words of 32 bits. The highest four bits
    /// of a word tell the item's owner.
    pub fn to_bytes(&self) -> Vec<u8> {
        let item = |item: &FrequentItem| item.number | u32::from(item.party) << PARTY_BIT;
        let words = [self.length as u32].into_iter().chain(self.items.iter().map(item));
        words.flat_map(u32::to_le_bytes).collect()
    }

    /// The other way; `None` if it is not what [`Itemsets::to_bytes`] can have written.
    pub fn from_bytes(bytes: &[u8]) -> Option<Itemsets> {
        let (words, rest) = bytes.as_chunks::<4>();
        let mut words = words.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let length = words.next().filter(|length| *length > 0)? as usize;
        let item = |word: u32| FrequentItem { party: (word >> PARTY_BIT) as u8, number: word & ((1 << PARTY_BIT) - 1) };
        let sets = Itemsets { length, items: words.map(item).collect() };
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
    /// yes to each party's part.
    pub fn mixed_candidates(&self, limit: usize, keep: impl Fn(&[FrequentItem]) -> bool) -> Result<Itemsets, TooMany> {
        let mut joined = Joined::new(self.length + 1, limit);
        let mut subset = Vec::with_capacity(self.length);
        let mut worthwhile = |set: &[FrequentItem]| {
            parts(set).all(&keep)
                && (0..set.len()).all(|left_out| {
                    subset.clear();
                    subset
                        .extend(set.iter().enumerate().filter(|(index, _)| *index != left_out).map(|(_, item)| *item));
                    kind(&subset) != ItemsetOwner::Mixed || self.position(&subset).is_some()
                })
        };
        // Both joined itemsets are mixed, unless the last item alone is of another party. They are then, too, if it
        // stands in front.
        let sets: Vec<&[FrequentItem]> = self.iter().collect();
        joined.join(&sets, &mut worthwhile)?;
        let rotated = |set: &[FrequentItem]| {
            let mut set = set.to_vec();
            set.rotate_right(1);
            set
        };
        let one_before_last = |set: &[FrequentItem]| matches!(kind(&set[..set.len() - 1]), ItemsetOwner::One(_));
        let alone = sets.iter().filter(|set| one_before_last(set));
        let mut turned: Vec<Vec<FrequentItem>> = alone.map(|set| rotated(set)).collect();
        turned.sort_unstable();
        let turned: Vec<&[FrequentItem]> = turned.iter().map(Vec::as_slice).collect();
        let mut straight = Vec::new();
        let before = joined.sets.items.len();
        joined.join(&turned, |set| {
            straight.clear();
            straight.extend_from_slice(&set[1..]);
            straight.push(set[0]);
            // Those of three parties have been joined above.
            one_before_last(&straight) && worthwhile(&straight)
        })?;
        joined.sets.items[before..].chunks_exact_mut(self.length + 1).for_each(|set| set.rotate_left(1));
        let length = joined.sets.length;
        Ok(Itemsets::sorted(length, joined.sets.iter().map(<[FrequentItem]>::to_vec)))
    }
}

/// The candidates of two items of different parties, which have so many, if they are no more than `limit`.
pub fn mixed_pairs(items: &[u32], limit: usize) -> Result<Itemsets, TooMany> {
    let later = |party: usize| items[party + 1..].iter().map(|&count| count as usize).sum::<usize>();
    let candidates = items.iter().enumerate().map(|(party, &count)| (count as usize).saturating_mul(later(party)));
    let candidates = candidates.fold(0, usize::saturating_add);
    if candidates > limit {
        return Err(TooMany { candidates, or_more: false });
    }
    let singles = |parties: std::ops::Range<usize>| {
        parties.flat_map(|party| (0..items[party]).map(move |number| FrequentItem { party: party as u8, number }))
    };
    let all = items.len();
    let pairs =
        singles(0..all).flat_map(|one| singles(usize::from(one.party) + 1..all).flat_map(move |other| [one, other]));
    Ok(Itemsets { length: 2, items: pairs.collect() })
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

    fn set(of: &[&[u32]]) -> Vec<FrequentItem> {
        let items = |(party, numbers): (u8, &&[u32])| -> Vec<FrequentItem> {
            numbers.iter().map(|&number| FrequentItem { party, number }).collect()
        };
        (0..).zip(of).flat_map(items).collect()
    }

    #[test]
    fn owners_and_parts() {
        assert_eq!(kind(&set(&[&[1]])), ItemsetOwner::One(0));
        assert_eq!(kind(&set(&[&[], &[1, 2]])), ItemsetOwner::One(1));
        assert_eq!(kind(&set(&[&[7], &[0]])), ItemsetOwner::Mixed);
        let mixed = set(&[&[3, 4], &[], &[0]]);
        assert!(parts(&mixed).eq([&mixed[..2], &mixed[2..]]));
        assert_eq!((part_of(&mixed, 0), part_of(&mixed, 2)), (&mixed[..2], &mixed[2..]));
        assert!(part_of(&mixed, 1).is_empty() && part_of(&mixed, 3).is_empty());
        assert!(has_part(&mixed, 2) && !has_part(&mixed, 1));
        assert!(set(&[&[9]]) < set(&[&[], &[0]]));
    }

    #[test]
    fn pairs_are_all_or_too_many() {
        assert_eq!(mixed_pairs(&[2, 3], 6).unwrap().len(), 6);
        assert_eq!(mixed_pairs(&[2, 3], 5), Err(TooMany { candidates: 6, or_more: false }));
        assert!(mixed_pairs(&[0, 3], 0).unwrap().is_empty());
        let three = mixed_pairs(&[2, 0, 1, 3], 11).unwrap();
        assert_eq!(three.len(), 11);
        assert!(three.iter().all(|pair| kind(pair) == ItemsetOwner::Mixed));
        assert_eq!(Itemsets::from_bytes(&three.to_bytes()), Some(three));
    }

    /// Returns all subsets of a few items.
    fn universe() -> Vec<Vec<FrequentItem>> {
        let items = set(&[&[0, 1, 2], &[0, 1, 2], &[0, 1]]);
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
                    let mixed = hash ^ u64::from(item.number) ^ u64::from(item.party) << 8;
                    mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
                });
                hash % 4 <= keep
            };
            let universe = universe();
            for kind_of in [ItemsetOwner::One(0), ItemsetOwner::One(1), ItemsetOwner::One(2), ItemsetOwner::Mixed] {
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
                    ItemsetOwner::Mixed => frequent.mixed_candidates(limit, |_| true),
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
