//! Whether the order in which things come shows which items are common. A receiver sees where the common item stands
//! among the sender's, and may see what became of its own: both must be independent of all that it could know of an
//! item, which is its place in the order of keys, at itself or at the sender, and its bits.

use std::borrow::Cow;
use std::ops::Range;

use super::given_for;
use crate::support::items;
use crate::support::views::{Check, PLACES, hides_order};
use tacita_core::protocol::union::{ItemSource, SenderItems};
use tacita_core::{Item, Result};

/// Order in which a sender sends its items.
#[derive(Clone, Copy, PartialEq)]
pub enum Sending {
    /// Random, as it should.
    Shuffled,
    /// Order of the items' keys.
    InOrder,
    /// Order of the items' buckets, one bucket after the other.
    InBuckets,
}

/// Items in an order that shows what they are.
pub struct Ordered<'a> {
    items: &'a [Item],
    bytes: usize,
    order: Vec<usize>,
}

impl Ordered<'_> {
    /// Items in the order of their keys, or bucket by bucket.
    pub fn new(items: &[Item], bytes: usize, sending: Sending, bucket: fn(&Item) -> usize) -> Ordered<'_> {
        let mut order: Vec<usize> = (0..items.len()).collect();
        if sending == Sending::InBuckets {
            order.sort_by_key(|&index| bucket(&items[index]));
        }
        Ordered { items, bytes, order }
    }
}

impl ItemSource for Ordered<'_> {
    fn count(&self) -> usize {
        self.items.len()
    }

    fn items(&self, range: Range<usize>) -> Result<Cow<'_, [Item]>> {
        Ok(self.order[range].iter().map(|&index| self.items[index]).collect())
    }
}

impl SenderItems for Ordered<'_> {
    fn payloads(&self, range: Range<usize>) -> Result<Vec<u8>> {
        Ok(self.order[range].iter().flat_map(|&index| given_for(&self.items[index], self.bytes)).collect())
    }
}

/// Position of the only common item among the sender's, and, if that can be seen, among the tags of the receiver's own.
pub struct Places {
    pub among_theirs: usize,
    pub among_own: Option<usize>,
}

/// Runs in which a common item is at each place among the receiver's and among the sender's once.
pub const ALL_PLACES: usize = PLACES * PLACES;

/// Runs in which an order that shows something is seen beyond doubt.
pub const SOME_PLACES: usize = PLACES * PLACES / 2;

/// A run between a receiver and a sender with these items, and a seed of the sender's.
type Run<'a> = &'a dyn Fn(&[Item], &[Item], u8) -> Places;

/// Checks that nothing of the common item, over so many runs with different ones, correlates with its position. `run`
/// is given the receiver's items, the sender's and a seed.
pub fn hides_which(runs: usize, bucket: fn(&Item) -> usize, run: Run<'_>) -> Check {
    let (mut by_key, mut by_bucket, mut by_own) = (Vec::new(), Vec::new(), Vec::new());
    let theirs = items((0..PLACES).map(|index| 100 * index));
    // All items of lower buckets come first where they come bucket by bucket.
    let first_of = |item| theirs.iter().filter(|other| bucket(other) < bucket(item)).count();
    for number in 0..runs {
        // One of the sender's items, at any place among the receiver's.
        let (common, own) = (number % PLACES, number / PLACES % PLACES);
        let mut mine = items((0..PLACES).map(|index| 100 * index + 1));
        mine[own] = theirs[common];
        let places = run(&mine, &theirs, number as u8);
        by_key.push((common, places.among_theirs));
        by_bucket.push((first_of(&theirs[common]), places.among_theirs));
        by_own.extend(places.among_own.map(|place| (own, place)));
    }
    hides_order(&by_key)?;
    hides_order(&by_bucket)?;
    if by_own.is_empty() { Ok(()) } else { hides_order(&by_own) }
}
