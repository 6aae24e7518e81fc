//! Items: what the set protocols work on.

use rayon::prelude::*;
use zeroize::Zeroize;

use crate::primitive::kernel::keyed_hash::KeyedHash;

/// Length of an [`Item`] in bytes. 256 bits, so that not even a malicious party finds two keys with one item.
pub const ITEM_BYTES: usize = 32;

/// Keys that one step of hashing works on.
const BATCH: usize = 256;

/// A matching key of any length, hashed to 32 bytes under a key of the session (or of the prepared epoch).
///
/// Equal keys give equal items within a session, and unrelated ones in another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Zeroize)]
pub struct Item(pub [u8; ITEM_BYTES]);

impl Item {
    /// The item of a canonical key (see the `tacita` crate's tables for how keys are written canonically).
    /// `item_key` is `Session::derive("item")` or the prepared epoch's.
    pub fn new(item_key: &[u8; 32], canonical_key: &[u8]) -> Item {
        Item(*blake3::keyed_hash(item_key, canonical_key).as_bytes())
    }

    /// The items of `count` canonical keys, in their order, as [`Item::new`] makes each.
    pub fn of_each<'a>(item_key: &[u8; 32], count: usize, key: impl Fn(usize) -> &'a [u8] + Sync) -> Vec<Item> {
        let mut items = vec![Item([0; ITEM_BYTES]); count];
        items.par_chunks_mut(BATCH).enumerate().with_min_len(16).for_each(|(batch, items)| {
            KeyedHash::new(item_key).each(
                items.len(),
                |place, message| message.extend_from_slice(key(batch * BATCH + place)),
                |place, output| items[place].0.copy_from_slice(&output[..ITEM_BYTES]),
            );
        });
        items
    }
}

impl AsRef<[u8]> for Item {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Items identify a party's data to whoever can guess it: they are never printed.
impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Item(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_items_are_those_of_each_key() {
        let keys: Vec<Vec<u8>> = (0..600).map(|key| vec![key as u8; key * 7 % 100]).collect();
        let items = Item::of_each(&[9; 32], keys.len(), |key| &keys[key]);
        assert!(items.iter().zip(&keys).all(|(item, key)| *item == Item::new(&[9; 32], key)) && items.len() == 600);
        assert!(Item::of_each(&[9; 32], 0, |_| unreachable!("no key")).is_empty());
    }
}
