//! A party's items as the protocols take them: checked, and filled up with dummies.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng};
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::Params;
use crate::error::{Error, Result};
use crate::item::{ITEM_BYTES, Item};
pub(crate) use crate::parallel::{fork, seed};

/// Refuses agreed values that cannot work, more items than were agreed on, and items that are not distinct (equal
/// ones would show as equal tags).
pub(crate) fn check(items: &[Item], agreed: usize, params: &Params) -> Result<()> {
    params.check()?;
    check_count(items, agreed)
}

/// Refuses more items than were agreed on, and items that are not distinct.
pub(crate) fn check_count(items: &[Item], agreed: usize) -> Result<()> {
    if items.len() > agreed {
        return Err(Error::Internal(format!("{} items where {agreed} were agreed on", items.len())));
    }
    if all_distinct(items) { Ok(()) } else { Err(Error::Internal("the items are not distinct".into())) }
}

/// Whether no two items are equal. They are sorted by their first bytes, which for random items settles it.
pub(crate) fn all_distinct(items: &[Item]) -> bool {
    let prefix = |item: &Item| u64::from_le_bytes(std::array::from_fn(|index| item.0[index]));
    let mut prefixes: Vec<u64> = items.par_iter().with_min_len(1 << 12).map(prefix).collect();
    prefixes.par_sort_unstable();
    let repeated: HashSet<u64> = prefixes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    if repeated.is_empty() {
        return true;
    }
    let mut alike: Vec<&Item> = items.iter().filter(|item| repeated.contains(&prefix(item))).collect();
    alike.sort_unstable();
    alike.windows(2).all(|pair| pair[0] != pair[1])
}

/// A party's items, filled up with random dummies to the agreed number. Two random 256-bit strings that are equal are
/// as unlikely as two keys with the same item.
pub(crate) struct Padded<'a> {
    items: &'a [Item],
    dummies: Zeroizing<[u8; 32]>,
}

impl<'a> Padded<'a> {
    pub(crate) fn new(items: &'a [Item], rng: &mut impl CryptoRng) -> Padded<'a> {
        Padded { items, dummies: seed(rng) }
    }

    /// The items in a range, the same whenever they are asked for.
    pub(crate) fn range(&self, range: &Range<usize>) -> Cow<'a, [Item]> {
        let own = &self.items[range.start.min(self.items.len())..range.end.min(self.items.len())];
        if own.len() == range.len() {
            return Cow::Borrowed(own);
        }
        let mut rng = ChaCha20Rng::from_seed(*self.dummies);
        rng.set_stream(range.start as u64);
        let mut items = own.to_vec();
        items.resize_with(range.len(), || {
            let mut dummy = [0; ITEM_BYTES];
            rng.fill_bytes(&mut dummy);
            Item(dummy)
        });
        Cow::Owned(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_are_found_among_alike_ones() {
        let item = |first: u8, last: u8| Item(std::array::from_fn(|index| if index < 31 { first } else { last }));
        assert!(all_distinct(&[]));
        assert!(all_distinct(&[item(1, 1), item(2, 1), item(1, 2), item(1, 3)]));
        assert!(!all_distinct(&[item(1, 1), item(2, 1), item(1, 2), item(1, 1)]));
    }
}
