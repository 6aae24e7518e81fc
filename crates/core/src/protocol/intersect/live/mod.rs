//! A list that lives: one party keeps it and answers, for as long as it likes, many others who each ask whether an item
//! is on it.
//!
//! The *authority* has a key of the pseudorandom function of `ecdh` for an *epoch*, and a table of tags: those of its
//! items in random places, random bytes in all others, so that the table begins as long as was agreed on whatever is on
//! the list. A *desk* has a copy of the table. To look for an item it sends it blinded, has the function's value, and
//! looks for its tags.
//!
//! The table is never overwritten: an item that comes or goes appends its next tag, and it is on the list if an odd number of its
//! tags is in the table. So a change is one entry more at the end, uniform to whoever does not know the item's value, whether it is an
//! addition or a removal. A desk gets those that it has missed with the next answer. A *rotation* is a new key, a new epoch, and a new
//! table of what is on the list then.
//!
//! All steps are pure, bytes to bytes: whoever serves connections calls them. What each side learns is in
//! `docs/protocols/live.md`, every byte in `docs/wire.md`. Semi-honest parties.

mod draft;
mod list;
mod messages;
mod replica;
mod stored;

use std::fmt;

use super::tag_exchange::payload_tag_bytes;
use crate::error::{Error, Result};
use crate::primitive::oprf::Suite;

pub use crate::channel::labels::live::{ASK, LIST, REPLY, TABLE};
pub use draft::ListDraft;
pub use list::{List, ListStep};
pub use messages::{Facts, ListAnswer, ListQuery, ListRequest, ListState};
pub use replica::{ListQuestion, Replica};

/// The longest tag, in bytes; 2^40 questions to a table that begins with 2^26 entries take 14.
pub(crate) const MAX_TAG_BYTES: usize = 16;

/// The most entries of a table as it begins.
pub(crate) const MAX_ENTRIES: usize = 1 << 26;

/// The most elements of one question.
pub const MAX_ELEMENTS: usize = 1 << 10;

/// The most changes that come with one answer; what is left comes with the next.
pub const MAX_CHANGES: usize = 1 << 14;

/// Largest number of times that one item may come and go in an epoch. The limit bounds what a desk computes for an
/// item, whatever the authority does.
pub const MAX_TURNS: u32 = 1 << 10;

/// Length of what stands for all that a table has been through: see [`ListState`].
pub(crate) const CHAIN_BYTES: usize = 16;

/// Parameters that are the same for all of a list's desks and epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Entries of the table as it begins, and the most items of the list.
    pub entries: usize,
    /// Length of a tag.
    pub tag_bytes: usize,
    /// The group and the hash function.
    pub suite: Suite,
}

impl Params {
    /// Parameters of a table that begins with `entries` entries, about which all desks together ask at most `questions`
    /// questions in an epoch. A wrong answer, or two equal entries, come up with a probability of at most 2^-43 in an
    /// epoch. Each question looks for one tag that is not there.
    pub fn new(entries: usize, questions: usize, suite: Suite) -> Result<Params> {
        let tag_bytes = payload_tag_bytes(questions, entries.saturating_add(max_changes(entries)));
        if (1..=MAX_ENTRIES).contains(&entries) && tag_bytes <= MAX_TAG_BYTES {
            Ok(Params { entries, tag_bytes, suite })
        } else {
            Err(Error::Input(format!(
                "a list of {entries} entries, asked {questions} times with one key, is too large: it has at most {MAX_ENTRIES} entries, \
                 and tags of at most {MAX_TAG_BYTES} bytes"
            )))
        }
    }

    /// Length in bytes of the table as it begins.
    pub fn table_bytes(&self) -> usize {
        self.entries * self.tag_bytes
    }

    /// The most changes of an epoch: as many as the table has entries, or as one answer has.
    pub fn max_changes(&self) -> usize {
        max_changes(self.entries)
    }
}

fn max_changes(entries: usize) -> usize {
    entries.max(MAX_CHANGES)
}

/// An entry of the table: a tag, or the random bytes in the place of one; zeros behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag([u8; MAX_TAG_BYTES]);

impl Tag {
    /// The first bytes of `bytes`, `tag_bytes` of them.
    fn of(bytes: &[u8], tag_bytes: usize) -> Tag {
        let mut tag = [0; MAX_TAG_BYTES];
        tag[..tag_bytes].copy_from_slice(&bytes[..tag_bytes]);
        Tag(tag)
    }

    fn bytes(&self, params: &Params) -> &[u8] {
        &self.0[..params.tag_bytes]
    }
}

/// A tag tells whoever has the epoch's key, or asks it, what is on the list.
impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tag(..)")
    }
}

/// Digest of a table's history in its epoch, so far. Tables with the same chain are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Chain([u8; CHAIN_BYTES]);

impl Chain {
    /// Returns the chain of a table as it begins.
    fn begin(epoch: &[u8; 32], table: &[u8]) -> Chain {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 live table");
        Chain::cut(hasher.update(epoch).update(table))
    }

    /// Returns the chain of the same table with one more entry.
    fn then(&self, change: &Tag) -> Chain {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 live change");
        Chain::cut(hasher.update(&self.0).update(&change.0))
    }

    fn cut(hasher: &blake3::Hasher) -> Chain {
        Chain(std::array::from_fn(|index| hasher.finalize().as_bytes()[index]))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chain(..)")
    }
}
