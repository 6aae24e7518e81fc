//! Items of many keys, hashed several at a time.

use rayon::prelude::*;

use crate::item::{ITEM_BYTES, Item};
use crate::primitive::kernel::keyed_hash::KeyedHash;

/// Keys that one step of hashing works on.
const BATCH: usize = 256;

/// The items of `count` canonical keys, in their order, as [`Item::new`] makes each.
pub fn items_of<'a>(item_key: &[u8; 32], count: usize, key: impl Fn(usize) -> &'a [u8] + Sync) -> Vec<Item> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_items_are_those_of_each_key() {
        let keys: Vec<Vec<u8>> = (0..600).map(|key| vec![key as u8; key * 7 % 100]).collect();
        let items = items_of(&[9; 32], keys.len(), |key| &keys[key]);
        assert!(items.iter().zip(&keys).all(|(item, key)| *item == Item::new(&[9; 32], key)) && items.len() == 600);
        assert!(items_of(&[9; 32], 0, |_| unreachable!("no key")).is_empty());
    }
}
