//! Parcels between two parties, sealed: the helper that keeps them can neither read nor change them, nor pass one off
//! as another.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce, Tag};
use zeroize::Zeroizing;

use super::{Depot, DepotParty, DepotStep, Parcel};
use crate::error::{Error, Result};

/// Bytes by which a part grows when it is sealed.
pub(crate) const SEAL_BYTES: usize = 16;

/// A key for each other party, by place: one that only it and this party have, fresh in every run. This party's own is
/// of no use.
pub(crate) struct PostKeys(Vec<Zeroizing<[u8; 32]>>);

/// A party's way to the others.
pub struct Post<'a, D> {
    /// Depot at which parcels are left.
    pub depot: &'a D,
    me: u8,
    keys: PostKeys,
}

impl PostKeys {
    /// Wraps these keys for a post.
    pub(crate) fn new(keys: Vec<Zeroizing<[u8; 32]>>) -> PostKeys {
        PostKeys(keys)
    }
}

impl<'a, D: Depot> Post<'a, D> {
    /// The way of the party at `me`.
    pub(crate) fn new(depot: &'a D, me: usize, keys: PostKeys) -> Post<'a, D> {
        Post { depot, me: me as u8, keys }
    }

    /// Sends a part to the party at `to`, once.
    pub fn send(&self, step: DepotStep, to: usize, part: u32, mut bytes: Vec<u8>) -> Result<()> {
        let parcel = Parcel { step, from: DepotParty::Party(self.me), to: DepotParty::Party(to as u8) };
        let tag = self.cipher(parcel, to).encrypt_inout_detached(&nonce(part), &[], bytes.as_mut_slice().into());
        let tag = tag.map_err(|_| Error::Internal(format!("`{}` cannot be sealed", step.name)))?;
        bytes.extend_from_slice(&tag);
        self.depot.leave(parcel, part, bytes)
    }

    /// Waits for a part of `length` bytes from the party at `from`.
    pub fn receive(&self, step: DepotStep, from: usize, part: u32, length: usize) -> Result<Vec<u8>> {
        let parcel = Parcel { step, from: DepotParty::Party(from as u8), to: DepotParty::Party(self.me) };
        let mut bytes = self.depot.collect(parcel, part, length + SEAL_BYTES)?;
        let tag = Tag::try_from(bytes.split_off(length).as_slice());
        let cipher = self.cipher(parcel, from);
        let opened = tag.map(|tag| cipher.decrypt_inout_detached(&nonce(part), &[], bytes.as_mut_slice().into(), &tag));
        match opened {
            Ok(Ok(())) => Ok(bytes),
            _ => Err(Error::Authentication {
                peer: format!("{}, or {},", self.depot.name(DepotParty::Helper), self.name(from)),
                what: format!("part {part} of `{}` is not as {} left it", step.name, self.name(from)),
            }),
        }
    }

    /// Name, in messages, of the party at that place.
    pub(crate) fn name(&self, party: usize) -> String {
        self.depot.name(DepotParty::Party(party as u8))
    }

    /// The party at `party` has sent what breaks the protocol.
    pub(crate) fn violation(&self, party: usize, check: impl Into<String>) -> Error {
        Error::Protocol { peer: self.name(party), check: check.into() }
    }

    /// A key with the party at `peer` for the purpose `label`.
    pub fn derive(&self, label: &str, peer: usize) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(&format!("tacita 1 post {label}"));
        hasher.update(&*self.keys.0[peer]);
        Zeroizing::new(*hasher.finalize().as_bytes())
    }

    /// Each parcel has a key of its own, so that a part's number is a nonce that is used once.
    fn cipher(&self, parcel: Parcel, peer: usize) -> ChaCha20Poly1305 {
        let code = |place| match place {
            DepotParty::Helper => u8::MAX,
            DepotParty::Party(place) => place,
        };
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 post parcel");
        hasher.update(&*self.keys.0[peer]).update(&[parcel.step.code, code(parcel.from), code(parcel.to)]);
        let key = Zeroizing::new(*hasher.finalize().as_bytes());
        ChaCha20Poly1305::new(&Key::from(*key))
    }
}

fn nonce(part: u32) -> Nonce {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&part.to_le_bytes());
    Nonce::from(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depot::Shelf;

    const STEPS: [DepotStep; 2] = [DepotStep { code: 1, name: "one" }, DepotStep { code: 2, name: "two" }];

    /// A party that shares this key with the two others.
    fn post<D: Depot>(depot: &D, me: usize, key: u8) -> Post<'_, D> {
        Post::new(depot, me, PostKeys::new(vec![Zeroizing::new([key; 32]); 3]))
    }

    /// Checks that equal bytes reach the helper differently in every parcel and part: no key and nonce serve two of
    /// them.
    #[test]
    fn no_two_parts_are_sealed_alike() {
        let shelf = Shelf::new(&["a", "b", "c"]);
        let mut seen = std::collections::HashSet::new();
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] {
            for (step, part) in STEPS.into_iter().flat_map(|step| [0, 1, 1 << 20].map(|part| (step, part))) {
                let sender = shelf.user(DepotParty::Party(from));
                post(&sender, from.into(), 7).send(step, to.into(), part, vec![0; 32]).unwrap();
                let parcel = Parcel { step, from: DepotParty::Party(from), to: DepotParty::Party(to) };
                let sealed = shelf.user(DepotParty::Party(to)).collect(parcel, part, 32 + SEAL_BYTES).unwrap();
                assert!(seen.insert(sealed), "{from} to {to}, part {part} of {}", step.name);
            }
        }
    }

    /// A part stands for itself alone: not for one of another step, number or direction, nor under another key.
    #[test]
    fn a_part_is_not_taken_for_another() {
        let places = [0, 1].map(DepotParty::Party);
        // What the helper makes of part 0 of the first step, which the first party has left for the second.
        let moved: [(DepotStep, usize, u32, u8); 5] =
            [(STEPS[0], 0, 0, 7), (STEPS[1], 0, 0, 7), (STEPS[0], 1, 0, 7), (STEPS[0], 0, 1, 7), (STEPS[0], 0, 0, 8)];
        for (number, (step, from, part, key)) in moved.into_iter().enumerate() {
            let (shelf, helper) = (Shelf::new(&["a", "b"]), Shelf::new(&["a", "b"]));
            post(&shelf.user(places[0]), 0, 7).send(STEPS[0], 1, 0, vec![5; 9]).unwrap();
            let parcel = Parcel { step: STEPS[0], from: places[0], to: places[1] };
            let sealed = shelf.user(places[1]).collect(parcel, 0, 9 + SEAL_BYTES).unwrap();
            let (sender, receiver) = (helper.user(places[from]), helper.user(places[1 - from]));
            sender.leave(Parcel { step, from: places[from], to: places[1 - from] }, part, sealed).unwrap();
            let received = post(&receiver, 1 - from, key).receive(step, from, part, 9);
            match number {
                0 => assert_eq!(received.unwrap(), [5; 9]),
                _ => assert!(matches!(received, Err(Error::Authentication { .. })), "{number}: {received:?}"),
            }
        }
    }

    #[test]
    fn keys_are_for_a_purpose_and_a_peer() {
        let shelf = Shelf::new(&["a", "b", "c"]);
        let user = shelf.user(DepotParty::Party(0));
        let keys = PostKeys::new([1, 2, 3].map(|key| Zeroizing::new([key; 32])).into());
        let post = Post::new(&user, 0, keys);
        let all = [("one", 1), ("two", 1), ("one", 2), ("parcel", 1)].map(|(label, peer)| *post.derive(label, peer));
        assert_eq!(std::collections::HashSet::from(all).len(), all.len());
    }
}
