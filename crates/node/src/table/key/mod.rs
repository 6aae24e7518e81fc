//! Keys: what rows are matched by.
//!
//! A key is the canonical texts of a row's key columns, encoded without ambiguity: each part, in the order of the key's
//! columns, as its length in bytes (unsigned, 4 bytes, little-endian) followed by its UTF-8 bytes. Nothing stands
//! before, between or after the parts. This encoding is what items are hashed from, so all parties must agree on every
//! byte.
//!
//! Of a multiset, the parts are followed by one more: the number of the row among those of its key, from 0 on, as 4
//! bytes, big-endian. So each row has a key of its own, and the i-th rows of two parties meet.

pub(crate) mod build;
mod nulls;
mod unreadable;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use super::{Profile, Table, Warning};

pub use nulls::{Mark, NullWords};

/// One column of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// Name of the column in the job.
    pub name: String,
    /// Name of the column in this party's table.
    pub header: String,
    /// Profile with which its values are read.
    pub profile: Profile,
}

/// Treatment of several rows of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// Every row belongs to the key.
    #[default]
    All,
    /// The first one stands for the key; the others are left out.
    First,
    /// The job ends with an error.
    Error,
    /// Each row is a key of its own: the table is a multiset of keys.
    Multiset,
}

/// Treatment of rows without a value in some key column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nulls {
    /// The rows are left out.
    #[default]
    Skip,
    /// The job ends with an error.
    Error,
}

/// Key by which rows of a table are matched, and the treatment of rows that are unfit for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySpec {
    /// The key's columns, in the order of the job.
    pub columns: Vec<KeyColumn>,
    /// Rows of equal keys.
    pub duplicates: Duplicates,
    /// Rows without a key.
    pub nulls: Nulls,
    /// Words that stand for no value.
    pub words: NullWords,
    /// Goes on even if more than half of the rows are unreadable.
    pub allow_unreadable: bool,
}

/// Counts of rows by outcome: `read = nulls + unreadable + duplicates + items`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RowCounts {
    /// Rows of the table.
    pub read: usize,
    /// Rows with no unreadable but some absent key part.
    pub nulls: usize,
    /// Rows with some key part that its profile cannot read.
    pub unreadable: usize,
    /// Rows beyond the first of their key, whether they are kept or not; none of a multiset.
    pub duplicates: usize,
    /// Distinct keys; of a multiset, rows with a key.
    pub items: usize,
    /// Rows that both parties have, where rows are aligned by ids; known after a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common: Option<usize>,
}

/// The distinct keys of a table, each with its rows. Keys are sorted by their parts, part by part, each by its bytes:
/// the same order at every party. A key's rows are in the order of the table; of a multiset, each key has one row.
pub struct TableKeys {
    /// The encoded keys, one after the other.
    bytes: Vec<u8>,
    /// End of each key in the bytes.
    ends: Vec<u64>,
    /// Row numbers, key by key.
    rows: Vec<u32>,
    /// End of each key's rows.
    row_ends: Vec<u32>,
    counts: RowCounts,
}

impl TableKeys {
    /// Collects the keys of a table, on all threads of the current rayon pool.
    ///
    /// Errors ([`Error::Input`]): a key column is missing or of a type without text; `nulls` or `duplicates` are
    /// refused by `spec` and there are some; more than half of the rows are unreadable, unless allowed.
    pub fn build(table: &Table, spec: &KeySpec) -> Result<(TableKeys, Vec<Warning>)> {
        build::build(table, spec)
    }

    /// Number of distinct keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The encoded key number `key`.
    pub fn key(&self, key: usize) -> &[u8] {
        let start = if key == 0 { 0 } else { self.ends[key - 1] };
        &self.bytes[start as usize..self.ends[key] as usize]
    }

    /// The encoded keys, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|key| self.key(key))
    }

    /// The rows of key number `key`, ascending; never none.
    pub fn rows(&self, key: usize) -> &[u32] {
        let start = if key == 0 { 0 } else { self.row_ends[key - 1] };
        &self.rows[start as usize..self.row_ends[key] as usize]
    }

    /// The rows of several keys, in the order of `keys`. Ascending `keys` give the order of output files.
    pub fn rows_of(&self, keys: &[usize]) -> Vec<u32> {
        keys.iter().flat_map(|&key| self.rows(key)).copied().collect()
    }

    /// Most rows that one key has.
    pub fn most_rows(&self) -> usize {
        (0..self.len()).map(|key| self.rows(key).len()).max().unwrap_or(0)
    }

    /// Returns the counts of the table's rows by outcome.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }
}

/// Counts only: keys are never printed.
impl fmt::Debug for TableKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// Appends one part of a key to its encoding. A part of 4 GiB or more does not occur: no profile and no batch has one.
pub fn encode_part(part: &str, key: &mut Vec<u8>) {
    encode_bytes(part.as_bytes(), key);
}

/// Appends the last part of a multiset's key: the row's number among those of the key.
pub fn encode_copy(number: u32, key: &mut Vec<u8>) {
    encode_bytes(&number.to_be_bytes(), key);
}

/// Number of bytes that [`encode_copy`] appends.
const COPY_BYTES: usize = 8;

fn encode_bytes(part: &[u8], key: &mut Vec<u8>) {
    let length = u32::try_from(part.len()).expect("a value is shorter than 4 GiB");
    key.extend_from_slice(&length.to_le_bytes());
    key.extend_from_slice(part);
}

/// The parts of an encoded key, as bytes.
pub fn parts(mut key: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = key.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        key = rest;
        Some(part)
    })
}

/// The order of keys: by the first part in which they differ, by its bytes.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    parts(a).cmp(parts(b))
}

impl FromStr for Duplicates {
    type Err = Error;

    fn from_str(text: &str) -> Result<Duplicates> {
        match text {
            "all" => Ok(Duplicates::All),
            "first" => Ok(Duplicates::First),
            "error" => Ok(Duplicates::Error),
            "multiset" => Ok(Duplicates::Multiset),
            _ => Err(Error::Input(format!("duplicates: {text:?} is none of all, first, error, multiset"))),
        }
    }
}

impl FromStr for Nulls {
    type Err = Error;

    fn from_str(text: &str) -> Result<Nulls> {
        match text {
            "skip" => Ok(Nulls::Skip),
            "error" => Ok(Nulls::Error),
            _ => Err(Error::Input(format!("nulls: {text:?} is none of skip, error"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(list: &[String]) -> Vec<u8> {
        let mut key = Vec::new();
        list.iter().for_each(|part| encode_part(part, &mut key));
        key
    }

    #[test]
    fn the_encoding_is_as_documented() {
        let key = encode(&["Ab".into(), "".into(), "é".into()]);
        assert_eq!(key, b"\x02\0\0\0Ab\0\0\0\0\x02\0\0\0\xC3\xA9");
        let mut copy = encode(&["Ab".into()]);
        encode_copy(258, &mut copy);
        assert_eq!(copy, b"\x02\0\0\0Ab\x04\0\0\0\0\0\x01\x02");
        assert_eq!(copy.len(), encode(&["Ab".into()]).len() + COPY_BYTES);
    }

    proptest! {
        #[test]
        fn parts_come_back(list in prop::collection::vec(".*", 0..5)) {
            let key = encode(&list);
            let back: Vec<_> = parts(&key).map(|part| String::from_utf8(part.to_vec()).unwrap()).collect();
            prop_assert_eq!(back, list);
        }

        #[test]
        fn different_parts_have_different_keys(
            a in prop::collection::vec("[ab]{0,3}", 1..4),
            b in prop::collection::vec("[ab]{0,3}", 1..4),
        ) {
            prop_assert_eq!(encode(&a) == encode(&b), a == b);
            prop_assert_eq!(compare(&encode(&a), &encode(&b)), a.cmp(&b));
        }

        #[test]
        fn copies_follow_each_other_in_order(
            a in prop::collection::vec("[ab\0]{0,3}", 2), m in any::<u32>(),
            b in prop::collection::vec("[ab\0]{0,3}", 2), n in any::<u32>(),
        ) {
            let copy = |list: &[String], number| {
                let mut key = encode(list);
                encode_copy(number, &mut key);
                key
            };
            prop_assert_eq!(compare(&copy(&a, m), &copy(&b, n)), (&a, m).cmp(&(&b, n)));
            prop_assert_eq!(copy(&a, m) == copy(&b, n), (&a, m) == (&b, n));
        }
    }
}
