//! Items: what the set protocols work on.

use zeroize::Zeroize;

/// Length of an [`Item`] in bytes. 256 bits, so that not even a malicious party finds two keys with one item.
pub const ITEM_BYTES: usize = 32;

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
