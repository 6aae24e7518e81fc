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

use super::params::{POINT, TAG};
use super::values::lock_of;
use super::{OutsourcedGiven, OutsourcedGives, OutsourcedParty, OutsourcedResult, ROWS};
use crate::depot::{Depot, SEAL_BYTES};
use crate::error::Result;
use crate::item::Item;
use crate::primitive::elgamal::Ciphertext;
use crate::primitive::group::{Group, Point, Ristretto255};
use crate::protocol::intersect::tag_exchange::Payload;
use crate::session::Session;

/// Bytes of a sealed row besides the row: its tag, and the seal.
pub(super) const GIVEN_OVERHEAD: usize = TAG + SEAL_BYTES;

/// Sealed rows of a giver, and its words on them.
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
        let zeros = vec![0; gives.row_bytes];
        let own = (0..rows.items())
            .flat_map(|item| (0..rows.rows_of(item)).map(move |number| (item, number)))
            .map(|(item, number)| (item, number, &rows.item(item)[number * gives.row_bytes..][..gives.row_bytes]));
        let dummies = (rows.items()..items.len()).map(|item| (item, 0, &zeros[..]));
        let mut list: Vec<Vec<u8>> = own
            .chain(dummies)
            .take(items.len())
            .map(|(item, number, row)| {
                let mask = &encoded[item * POINT..][..POINT];
                let (tag, cipher) = lock(&self.met.session, self.me, &items[item], number, mask);
                let mut sealed = row.to_vec();
                let seal = cipher.encrypt_inout_detached(&Nonce::default(), &[], sealed.as_mut_slice().into());
                let seal = seal.expect("rows are far below the cipher's limit of 256 GiB");
                [&tag[..], &sealed, &seal].concat()
            })
            .collect();
        list.sort_unstable();
        let mut bytes = list.concat();
        let mut parts = Vec::new();
        for length in self.params.row_parts(gives) {
            let rest = bytes.split_off(length);
            parts.push(std::mem::replace(&mut bytes, rest));
        }
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

    /// Opens the rows of these common items. An item that a giver has no rows for, or sealed them wrongly, is passed
    /// over, as if that giver did not have it.
    pub(super) fn open_rows(
        &self,
        common: &[usize],
        opened: &[Point],
        sealed: Vec<SealedRows>,
    ) -> Result<OutsourcedResult> {
        let width = self.params.width();
        let rows: Vec<Vec<_>> = (1..)
            .zip(&sealed)
            .map(|(place, sealed)| {
                let masks: Vec<Point> = common.iter().map(|index| opened[index * width + place].clone()).collect();
                let masks = Ristretto255.encode(&masks);
                let items = common.iter().map(|index| &self.items[*index]);
                sealed.open(&self.met.session, items.zip(masks.chunks(POINT)))
            })
            .collect();
        let kept: Vec<usize> = (0..common.len()).filter(|at| rows.iter().all(|rows| rows[*at].is_some())).collect();
        let mut given = Vec::with_capacity(sealed.len());
        for (SealedRows { gives, head, .. }, rows) in sealed.into_iter().zip(rows) {
            let mut of_kept = Payload::new(gives.row_bytes);
            let mut rows = kept.iter().filter_map(|at| rows[*at].as_ref());
            rows.try_for_each(|(count, bytes)| of_kept.push(*count, bytes))?;
            given.push(OutsourcedGiven { party: gives.party, head, rows: of_kept });
        }
        Ok(OutsourcedResult::Payload(kept.into_iter().map(|at| common[at]).collect(), given))
    }
}

impl SealedRows {
    /// The number of rows of each item with this mask, and the rows, if there are some and all of them open.
    fn open<'a>(
        &self,
        session: &Session,
        items: impl Iterator<Item = (&'a Item, &'a [u8])>,
    ) -> Vec<Option<(usize, Vec<u8>)>> {
        let list: HashMap<&[u8], &[u8]> =
            self.list.chunks(GIVEN_OVERHEAD + self.gives.row_bytes).map(|sealed| sealed.split_at(TAG)).collect();
        let open = |(item, mask): (&Item, &[u8])| {
            let (mut count, mut rows) = (0, Vec::new());
            loop {
                let (tag, cipher) = lock(session, self.gives.party, item, count, mask);
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

/// Tag by which a row is found, and key with which it is sealed: that of this number of a giver's for an item.
fn lock(session: &Session, giver: usize, item: &Item, number: usize, mask: &[u8]) -> ([u8; TAG], ChaCha20Poly1305) {
    let mut hasher = blake3::Hasher::new_keyed(&session.derive("outsourced row"));
    hasher.update(&(giver as u64).to_le_bytes()).update(&(number as u64).to_le_bytes());
    lock_of(hasher.update(&item.0).update(mask))
}
