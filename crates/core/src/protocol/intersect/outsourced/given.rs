//! Rows that parties give for common items.
//!
//! A giver draws a random element for each of its items, the mask, and seals the rows under item and mask. The leader
//! looks its items up in an encryption of M + r t: M is the mask, t what is tested, and r a scalar of the helper. In
//! the chain M + (r + s) t becomes of it, where s is the sum of the scalars of all who pass it on. For a common item t
//! is 0, and for any other the result is as random as one of these scalars. The helper can leave r out, and s is lost
//! if the leader passes an encryption of 0 on in the place of t. Only both together have masks of other items opened.
//!
//! A giver seals as many rows as there may be items, of one length, in the order of their tags.

use std::collections::HashMap;

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use rand_core::CryptoRng;

use super::params::{GIVEN_OVERHEAD, POINT, TAG};
use super::values::lock_of;
use super::{OutsourcedGiven, OutsourcedGives, OutsourcedParty, ROWS};
use crate::depot::Depot;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::elgamal::Ciphertext;
use crate::primitive::group::{Group, Point, Ristretto255};
use crate::protocol::intersect::tag_exchange::Payload;
use crate::session::Session;

/// Common items, and rows that are given for them and still sealed.
#[derive(Clone)]
pub struct SealedAnswer {
    key: [u8; 32],
    common: Vec<usize>,
    opened: Vec<Point>,
    sealed: Vec<SealedRows>,
}

/// Sealed rows of a giver, and the encoded schema of their columns.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SealedRows {
    gives: OutsourcedGives,
    head: Vec<u8>,
    list: Vec<u8>,
}

impl<D> OutsourcedParty<'_, D> {
    /// Encryptions of the masks of this party's items, which dummies fill up, and the parts of its sealed rows, which
    /// rows of zeros for dummies fill up.
    pub(super) fn sealed_rows(
        &self,
        gives: &OutsourcedGives,
        items: &[Item],
        rows: &Payload,
        rng: &mut impl CryptoRng,
    ) -> (Vec<Ciphertext<Ristretto255>>, Vec<Vec<u8>>) {
        let masks = Ristretto255.random_points(items.len(), rng);
        let encoded = Ristretto255.encode(&masks);
        let (key, zeros) = (row_key(&self.met.session), vec![0; gives.row_bytes]);
        let own = (0..rows.items())
            .flat_map(|item| (0..rows.rows_of(item)).map(move |number| (item, number)))
            .map(|(item, number)| (item, number, &rows.item(item)[number * gives.row_bytes..][..gives.row_bytes]));
        let dummies = (rows.items()..items.len()).map(|item| (item, 0, &zeros[..]));
        let mut list: Vec<Vec<u8>> = own
            .chain(dummies)
            .take(items.len())
            .map(|(item, number, row)| {
                let mask = &encoded[item * POINT..][..POINT];
                let (tag, cipher) = lock(&key, self.me, &items[item], number, mask);
                let mut sealed = row.to_vec();
                let seal = cipher.encrypt_inout_detached(&Nonce::default(), &[], sealed.as_mut_slice().into());
                let seal = seal.expect("rows are far below the cipher's limit of 256 GiB");
                [&tag[..], &sealed, &seal].concat()
            })
            .collect();
        list.sort_unstable();
        let bytes = list.concat();
        let mut rest = &bytes[..];
        let parts = self.params.row_parts(gives).map(|length| {
            let own;
            (own, rest) = rest.split_at(length);
            own.to_vec()
        });
        let parts = parts.collect();
        (self.encrypted(&masks, rng), parts)
    }
}

impl<D: Depot> OutsourcedParty<'_, D> {
    /// Collects what a giver tells of its rows, and the sealed rows.
    pub(super) fn collect_rows(&self, gives: &OutsourcedGives) -> Result<SealedRows> {
        let head = self.post.receive(ROWS, gives.party, 0, gives.head_bytes)?;
        let mut list = Vec::new();
        for (part, length) in (1..).zip(self.params.row_parts(gives)) {
            list.extend(self.post.receive(ROWS, gives.party, part, length)?);
        }
        Ok(SealedRows { gives: *gives, head, list })
    }

    /// Keeps what is to be opened: which items are common, the opened masks of all items, and the sealed rows.
    pub(super) fn sealed_answer(
        &self,
        common: Vec<usize>,
        opened: Vec<Point>,
        sealed: Vec<SealedRows>,
    ) -> SealedAnswer {
        SealedAnswer { key: row_key(&self.met.session), common, opened, sealed }
    }
}

impl SealedAnswer {
    /// Opens the rows of common items; `items` are those of the leader. An item that a giver has no first row for, or
    /// sealed one wrongly, is passed over, as if that giver did not have it. Returns the indices of the others,
    /// ascending, and what each giver gives for these.
    ///
    /// How long that takes depends on how many items are common: it comes after all that the helper can see.
    pub fn open(self, items: &[Item]) -> Result<(Vec<usize>, Vec<OutsourcedGiven>)> {
        let (common, width) = (&self.common, 1 + self.sealed.len());
        let rows: Vec<Vec<_>> = (1..)
            .zip(&self.sealed)
            .map(|(place, sealed)| {
                let masks: Vec<Point> = common.iter().map(|index| self.opened[index * width + place].clone()).collect();
                let masks = Ristretto255.encode(&masks);
                sealed.open(&self.key, common.iter().map(|index| &items[*index]).zip(masks.chunks(POINT)))
            })
            .collect();
        let kept: Vec<usize> = (0..common.len()).filter(|at| rows.iter().all(|rows| rows[*at].is_some())).collect();
        let mut given = Vec::with_capacity(self.sealed.len());
        for (SealedRows { gives, head, .. }, rows) in self.sealed.into_iter().zip(rows) {
            let mut of_kept = Payload::new(gives.row_bytes);
            let rows = kept.iter().filter_map(|at| rows[*at].as_ref());
            rows.into_iter().try_for_each(|(count, bytes)| of_kept.push(*count, bytes))?;
            given.push(OutsourcedGiven { party: gives.party, head, rows: of_kept });
        }
        Ok((kept.into_iter().map(|at| common[at]).collect(), given))
    }

    /// Returns whether no item is common.
    pub fn is_empty(&self) -> bool {
        self.common.is_empty()
    }
}

impl PartialEq for SealedAnswer {
    fn eq(&self, other: &SealedAnswer) -> bool {
        let parts = |answer: &SealedAnswer| (answer.key, Ristretto255.encode(&answer.opened));
        self.common == other.common && self.sealed == other.sealed && parts(self) == parts(other)
    }
}

impl Eq for SealedAnswer {}

/// Masks and rows identify what is common.
impl std::fmt::Debug for SealedAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealedAnswer(..)")
    }
}

impl SealedRows {
    /// The number of rows of each item with this mask, and the rows, if there are some and all of them open.
    fn open<'a>(
        &self,
        key: &[u8; 32],
        items: impl Iterator<Item = (&'a Item, &'a [u8])>,
    ) -> Vec<Option<(usize, Vec<u8>)>> {
        let list: HashMap<&[u8], &[u8]> =
            self.list.chunks(GIVEN_OVERHEAD + self.gives.row_bytes).map(|sealed| sealed.split_at(TAG)).collect();
        let open = |(item, mask): (&Item, &[u8])| {
            let (mut count, mut rows) = (0, Vec::new());
            loop {
                let (tag, cipher) = lock(key, self.gives.party, item, count, mask);
                let Some(sealed) = list.get(&tag[..]) else { break };
                let (row, seal) = sealed.split_at(self.gives.row_bytes);
                let first = rows.len();
                rows.extend_from_slice(row);
                let seal = Tag::try_from(seal).ok()?;
                cipher.decrypt_inout_detached(&Nonce::default(), &[], (&mut rows[first..]).into(), &seal).ok()?;
                count += 1;
            }
            (count > 0).then_some((count, rows))
        };
        items.map(open).collect()
    }
}

/// The key of a session under which tags and keys of rows are made.
fn row_key(session: &Session) -> [u8; 32] {
    session.derive("outsourced row")
}

/// Tag by which a row is found, and key with which it is sealed: that of this number of a giver's for an item.
fn lock(key: &[u8; 32], giver: usize, item: &Item, number: usize, mask: &[u8]) -> ([u8; TAG], ChaCha20Poly1305) {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&(giver as u64).to_le_bytes()).update(&(number as u64).to_le_bytes());
    lock_of(hasher.update(&item.0).update(mask))
}
