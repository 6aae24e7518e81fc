//! Values that a party gives for its items: numbers, or categories.
//!
//! A category is a random element that stands for it, so that it is opened as it is; its name is sealed with that
//! element. Names of categories that no common item has stay closed.

use std::collections::{BTreeMap, HashMap};

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce, Tag};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::params::{CATEGORY, MAX_NAME_BYTES, TAG, parts_of};
use super::{OutsourcedParty, OutsourcedReveal, OutsourcedValues};
use crate::depot::SEAL_BYTES;
use crate::error::{Error, Result};
use crate::primitive::elgamal::Ciphertext;
use crate::primitive::group::{Group, Point, Ristretto255, ScalarField};
use crate::session::Session;

/// A name, padded, with its length before it.
const NAME: usize = 1 + MAX_NAME_BYTES;

/// Encrypted values of a giver.
pub(super) struct Encrypted {
    /// One ciphertext for each of its items, and for the dummies that fill them up.
    pub(super) of_items: Vec<Ciphertext<Ristretto255>>,
    /// The parts of the list of names, where there is one.
    pub(super) names: Vec<Vec<u8>>,
}

impl<D> OutsourcedParty<'_, D> {
    /// Refuses values that are not what was agreed on.
    pub(super) fn check_values(&self) -> Result<()> {
        let gives = self.params.giver() == Some(self.me);
        let fits = match (self.params.reveal, self.values) {
            (OutsourcedReveal::Sum { bits, .. }, OutsourcedValues::Numbers(numbers)) if gives => {
                numbers.len() == self.items.len() && numbers.iter().all(|number| number >> bits == 0)
            }
            (OutsourcedReveal::Counts { categories, .. }, OutsourcedValues::Categories(of_items, names)) if gives => {
                of_items.len() == self.items.len()
                    && names.len() <= categories
                    && of_items.iter().all(|category| (*category as usize) < names.len())
                    && names.iter().all(|name| name.len() <= MAX_NAME_BYTES)
            }
            (_, OutsourcedValues::Rows(head, rows)) => self.params.gives_of(self.me).is_some_and(|gives| {
                head.len() == gives.head_bytes
                    && rows.row_bytes() == gives.row_bytes
                    && rows.items() == self.items.len()
                    && rows.rows() <= self.params.bound()
            }),
            (_, OutsourcedValues::Nothing) => !gives && self.params.gives_of(self.me).is_none(),
            _ => false,
        };
        fits.then_some(()).ok_or_else(|| Error::Internal("outsourced: these are not the values agreed on".into()))
    }

    /// Encrypts this party's values under the joint key.
    pub(super) fn encrypted_values(&self, rng: &mut impl CryptoRng) -> Encrypted {
        let group = &Ristretto255;
        match (self.values, self.params.reveal) {
            (OutsourcedValues::Numbers(numbers), _) => {
                let dummies = std::iter::repeat_n(0, self.params.bound() - numbers.len());
                let numbers: Vec<_> =
                    numbers.iter().copied().chain(dummies).map(|number| group.scalar(number)).collect();
                Encrypted { of_items: self.met.joint.encrypt(group, &numbers, rng), names: Vec::new() }
            }
            (OutsourcedValues::Categories(of_items, names), OutsourcedReveal::Counts { categories, .. }) => {
                let stand_ins = group.random_points(categories, rng);
                let dummies = std::iter::repeat_n(0, self.params.bound() - of_items.len());
                let of_all = of_items.iter().copied().chain(dummies);
                let chosen: Vec<Point> = of_all.map(|category| stand_ins[category as usize].clone()).collect();
                let list = sealed_names(&self.met.session, &stand_ins, names);
                Encrypted { of_items: self.encrypted(&chosen, rng), names: list }
            }
            _ => Encrypted { of_items: Vec::new(), names: Vec::new() },
        }
    }

    /// Encrypts elements as they are under the joint key.
    pub(super) fn encrypted(&self, points: &[Point], rng: &mut impl CryptoRng) -> Vec<Ciphertext<Ristretto255>> {
        let group = &Ristretto255;
        let mut encrypted = self.met.joint.encrypt(group, &vec![group.scalar(0); points.len()], rng);
        let hidden: Vec<Point> = encrypted.iter().map(|[_, hidden]| hidden.clone()).collect();
        let sums = group.add(&hidden, points);
        encrypted.iter_mut().zip(sums).for_each(|(ciphertext, sum)| ciphertext[1] = sum);
        encrypted
    }
}

/// The list of names: one for each stand-in, of which some stand for nothing, in an order that says nothing, in parts.
fn sealed_names(session: &Session, stand_ins: &[Point], names: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut list: Vec<Vec<u8>> = Vec::with_capacity(stand_ins.len());
    let names = names.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
    for (point, name) in Ristretto255.encode(stand_ins).chunks(super::params::POINT).zip(names) {
        let (tag, cipher) = lock(session, point);
        let mut padded = vec![0; NAME];
        padded[0] = name.len() as u8;
        padded[1..=name.len()].copy_from_slice(name);
        let seal = cipher.encrypt_inout_detached(&Nonce::default(), &[], padded.as_mut_slice().into());
        let seal = seal.expect("names are far below the cipher's limit of 256 GiB");
        list.push([&tag[..], &padded, &seal].concat());
    }
    list.sort_unstable();
    let mut list = list.into_iter();
    parts_of(stand_ins.len(), CATEGORY).into_iter().map(|part| list.by_ref().take(part).flatten().collect()).collect()
}

/// The names of the categories of the first `common` that were opened, with how often each was; `None` if one is not in
/// the list.
pub(super) fn counted(session: &Session, opened: &[Point], common: usize, list: &[u8]) -> Option<Vec<(Vec<u8>, u64)>> {
    let list: HashMap<&[u8], &[u8]> = list.chunks(CATEGORY).map(|sealed| sealed.split_at(TAG)).collect();
    let mut counts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for point in Ristretto255.encode(opened).chunks(super::params::POINT).take(common) {
        *counts.entry(point.to_vec()).or_default() += 1;
    }
    let mut named: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for (point, count) in counts {
        let (tag, cipher) = lock(session, &point);
        let mut name = list.get(&tag[..])?[..NAME].to_vec();
        let seal = Tag::try_from(&list.get(&tag[..])?[NAME..][..SEAL_BYTES]).ok()?;
        cipher.decrypt_inout_detached(&Nonce::default(), &[], name.as_mut_slice().into(), &seal).ok()?;
        *named.entry(name.get(1..=usize::from(name[0]))?.to_vec()).or_default() += count;
    }
    Some(named.into_iter().collect())
}

/// Tag by which the name of a category is found, and key with which it is sealed, from the element that stands for the
/// category.
fn lock(session: &Session, point: &[u8]) -> ([u8; TAG], ChaCha20Poly1305) {
    let mut hasher = blake3::Hasher::new_keyed(&session.derive("outsourced category"));
    lock_of(hasher.update(point))
}

/// The tag and the key that a hash makes.
pub(super) fn lock_of(hasher: &blake3::Hasher) -> ([u8; TAG], ChaCha20Poly1305) {
    let mut output = hasher.finalize_xof();
    let (mut tag, mut key) = ([0; TAG], Zeroizing::new([0; 32]));
    output.fill(&mut tag);
    output.fill(&mut *key);
    (tag, ChaCha20Poly1305::new(&Key::from(*key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Transcript;

    #[test]
    fn a_name_is_sealed_for_its_run_and_element() {
        let [one, other] = ["one", "other"].map(|domain| Session::new(Transcript::new(domain)));
        let sealed = |session: &Session, point: &[u8]| {
            let (tag, cipher) = lock(session, point);
            let mut name = [0; NAME];
            let _ = cipher.encrypt_inout_detached(&Nonce::default(), &[], name.as_mut_slice().into()).unwrap();
            (tag, name)
        };
        let all = [sealed(&one, &[1; 32]), sealed(&other, &[1; 32]), sealed(&one, &[2; 32])];
        for (place, (tag, name)) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|(other, another)| other != tag && another != name));
        }
    }
}
