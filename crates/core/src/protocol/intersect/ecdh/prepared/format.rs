//! A prepared sender as bytes, for a file that nobody else may read: it holds the key.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `TACITAP3`: kind and version |
//! | 32 | id of the epoch |
//! | 1 | the suite of `ecdh`: 1 for `ristretto255-SHA512`, 2 for `P384-SHA384`, 3 for `P521-SHA512` |
//! | 1 | length of a tag |
//! | 1 | 1 if entries hold sealed rows, else 0 |
//! | 4, 4, 4 | length of a row (0 without), number of items, number of entries |
//! | 32, 48 or 66 | the key |
//! | 4 (items + 1) | number of each item's first entry, and of all items' entries |
//! | 4 entries | entry at each place of the random order |
//! | entries | the entries |
//! | 32 | BLAKE3 of everything before |
//!
//! Numbers have their least significant byte first. The hash finds damage, not malice.

use zeroize::Zeroizing;

use super::PreparedSender;
use crate::error::{Error, Result};
use crate::primitive::oprf::{OprfKey, Suite};
use crate::protocol::intersect::tag_exchange::{Entries, SEAL_BYTES};

const MAGIC: &[u8; 8] = b"TACITAP3";
const CHECKSUM_BYTES: usize = 32;

impl PreparedSender {
    /// The prepared sender as bytes. They hold the secret key.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let entries = &self.entries;
        let numbers = entries.offsets.len() + entries.order.len();
        let mut bytes = Zeroizing::new(Vec::with_capacity(4 * numbers + entries.bytes.len() + 256));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.epoch);
        bytes.extend_from_slice(&[suite_code(self.suite()), self.tag_bytes as u8, u8::from(self.row_bytes.is_some())]);
        for number in [self.row_bytes.unwrap_or(0), self.items(), entries.order.len()] {
            bytes.extend_from_slice(&(number as u32).to_le_bytes());
        }
        bytes.extend_from_slice(&self.key.to_bytes());
        for number in entries.offsets.iter().chain(&entries.order) {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&entries.bytes);
        let checksum = blake3::hash(&bytes);
        bytes.extend_from_slice(checksum.as_bytes());
        bytes
    }

    /// The prepared sender that `bytes` hold. Fails with [`Error::Input`] if they are of another kind or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<PreparedSender> {
        let damaged = || Error::Input("the prepared data are damaged: prepare them again".into());
        if !bytes.starts_with(MAGIC) {
            return Err(Error::Input("these are no prepared data of this version: prepare them again".into()));
        }
        let length = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or_else(damaged)?;
        let (content, checksum) = bytes.split_at(length);
        if blake3::hash(content) != *checksum {
            return Err(damaged());
        }
        parse(&content[MAGIC.len()..]).ok_or_else(damaged)
    }
}

/// Everything after the magic and before the checksum.
fn parse(bytes: &[u8]) -> Option<PreparedSender> {
    let mut rest = bytes;
    let mut take = |length: usize| -> Option<&[u8]> {
        let (taken, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(taken)
    };
    let epoch: [u8; 32] = take(32)?.try_into().ok()?;
    let &[suite, tag_bytes, sealed] = take(3)? else { return None };
    let suite = Suite::ALL.into_iter().find(|known| suite_code(*known) == suite)?;
    let [row_bytes, items, count] = <[u32; 3]>::try_from(numbers(take(12)?)).ok()?.map(|number| number as usize);
    let row_bytes = match sealed {
        0 if row_bytes == 0 => None,
        1 => Some(row_bytes),
        _ => return None,
    };
    let tag_bytes = usize::from(tag_bytes);
    let key = OprfKey::from_bytes(suite, take(suite.key_bytes())?)?;
    let offsets = numbers(take(items.checked_add(1)?.checked_mul(4)?)?);
    let order = numbers(take(count.checked_mul(4)?)?);
    let entry_bytes = tag_bytes + row_bytes.map_or(0, |row_bytes| row_bytes + SEAL_BYTES);
    let entries = take(count.checked_mul(entry_bytes)?)?.to_vec();

    let last = *offsets.last()? as usize;
    let increasing = offsets[0] == 0 && offsets.windows(2).all(|pair| pair[0] < pair[1]);
    let single = row_bytes.is_some() || last == items;
    let mut seen = vec![false; count];
    let permutation =
        order.iter().all(|&entry| seen.get_mut(entry as usize).is_some_and(|seen| !std::mem::replace(seen, true)));
    let valid =
        rest.is_empty() && (1..=32).contains(&tag_bytes) && increasing && single && last <= count && permutation;
    let entries = Entries { offsets, entry_bytes, bytes: entries, order };
    valid.then_some(PreparedSender { epoch, tag_bytes, row_bytes, key, entries })
}

fn suite_code(suite: Suite) -> u8 {
    match suite {
        Suite::Ristretto255 => 1,
        Suite::P384 => 2,
        Suite::P521 => 3,
    }
}

/// Numbers of 32 bits, least significant byte first.
fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}
