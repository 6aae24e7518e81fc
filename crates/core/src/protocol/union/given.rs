//! Inputs of the parties.

use std::borrow::Cow;
use std::ops::Range;

use rand_core::CryptoRng;

use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::shuffle::random_order;
use crate::protocol::intersect::tag_exchange::items::all_distinct;

/// A party's items, wherever they are kept: distinct, and made with a key of this session.
pub trait ItemSource: Sync {
    /// Returns the number of items.
    fn count(&self) -> usize;

    /// Returns the items in a range.
    fn items(&self, range: Range<usize>) -> Result<Cow<'_, [Item]>>;
}

/// The receiver's, in any order: it sends nothing that depends on them.
impl ItemSource for [Item] {
    fn count(&self) -> usize {
        self.len()
    }

    fn items(&self, range: Range<usize>) -> Result<Cow<'_, [Item]>> {
        Ok(Cow::Borrowed(&self[range]))
    }
}

/// The sender's items, and what it gives for each, **in a uniformly random order** that nobody else knows: the order in
/// which they are sent.
pub trait SenderItems: ItemSource {
    /// Returns the payloads given for the items in a range: [`Params::payload_bytes`](super::Params::payload_bytes) for
    /// each, one after the other.
    fn payloads(&self, range: Range<usize>) -> Result<Vec<u8>>;
}

/// Appends what is given for the item at an index: [`Params::payload_bytes`](super::Params::payload_bytes).
pub(crate) type PayloadWriter<'a> = &'a (dyn Fn(usize, &mut Vec<u8>) + Sync);

/// Items in memory that a sender gives, with their payload, in random order.
pub struct ShuffledItems<'a> {
    items: &'a [Item],
    payload: PayloadWriter<'a>,
    order: Vec<u32>,
}

impl<'a> ShuffledItems<'a> {
    /// Items, and what is given for each.
    pub fn new(items: &'a [Item], payload: PayloadWriter<'a>, rng: &mut impl CryptoRng) -> Result<ShuffledItems<'a>> {
        let wrong = if items.len() > u32::MAX as usize {
            "2^32 items or more"
        } else if !all_distinct(items) {
            "the items are not distinct"
        } else {
            return Ok(ShuffledItems { items, payload, order: random_order(items.len(), rng) });
        };
        Err(Error::Internal(format!("union: {wrong}")))
    }
}

impl ItemSource for ShuffledItems<'_> {
    fn count(&self) -> usize {
        self.items.len()
    }

    fn items(&self, range: Range<usize>) -> Result<Cow<'_, [Item]>> {
        Ok(self.order[range].iter().map(|&index| self.items[index as usize]).collect())
    }
}

impl SenderItems for ShuffledItems<'_> {
    fn payloads(&self, range: Range<usize>) -> Result<Vec<u8>> {
        let mut payloads = Vec::new();
        self.order[range].iter().for_each(|&index| (self.payload)(index as usize, &mut payloads));
        Ok(payloads)
    }
}
