//! A receiver's items, as they are read from the file of keys.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tacita_core::protocol::union::ItemSource;
use tacita_core::{Error, Item, Result};
use zeroize::Zeroizing;

use super::Disk;
use crate::jobs::on_disk::prepare::SortedKeys;

/// Items that are asked for one range after the other.
pub(crate) struct Streamed {
    count: usize,
    item_key: Zeroizing<[u8; 32]>,
    at: Mutex<At>,
}

/// Position up to which the items have been read.
struct At {
    keys: SortedKeys,
    ready: std::vec::IntoIter<Item>,
    next: usize,
}

impl Disk {
    /// The items of the keys, in their order.
    pub fn items(&self, item_key: &[u8; 32]) -> Result<Streamed> {
        let at = At { keys: SortedKeys::open(self.table.directory())?, ready: Vec::new().into_iter(), next: 0 };
        let count = self.table.sorted().counts.items;
        Ok(Streamed { count, item_key: Zeroizing::new(*item_key), at: Mutex::new(at) })
    }
}

impl ItemSource for Streamed {
    fn count(&self) -> usize {
        self.count
    }

    fn items(&self, range: Range<usize>) -> Result<Cow<'_, [Item]>> {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        // None is asked for where there are dummies only.
        if !range.is_empty() && range.start != at.next {
            return Err(Error::Internal("items are read in order".into()));
        }
        let mut items = Vec::with_capacity(range.len());
        while items.len() < range.len() {
            match at.ready.next() {
                Some(item) => items.push(item),
                None => {
                    let more = at.keys.next(|key| Item::new(&self.item_key, key))?;
                    let more = more.ok_or_else(|| Error::Internal("the file of keys ends too early".into()))?;
                    at.ready = more.into_iter();
                }
            }
        }
        at.next += items.len();
        // That the file ends here is a part of its being whole.
        if at.next == self.count && !range.is_empty() && at.keys.next(|_| ())?.is_some() {
            return Err(Error::Internal("the file of keys ends too late".into()));
        }
        Ok(Cow::Owned(items))
    }
}
