//! Parcels between two parties, sealed: the helper that keeps them can neither read nor change them, nor pass one off as another.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce, Tag};
use zeroize::Zeroizing;

use super::{Depot, Parcel, Place, Step};
use crate::error::{Error, Result};

/// Bytes by which a part grows when it is sealed.
pub const SEAL_BYTES: usize = 16;

/// A key for each other party, by place: one that only it and this party have, fresh in every run. This party's own is of no use.
pub struct Keys(Vec<Zeroizing<[u8; 32]>>);

/// A party's way to the others.
pub struct Post<'a, D> {
    /// Where parcels are left.
    pub depot: &'a D,
    me: u8,
    keys: Keys,
}

impl Keys {
    /// These keys.
    pub fn new(keys: Vec<Zeroizing<[u8; 32]>>) -> Keys {
        Keys(keys)
    }
}

impl<'a, D: Depot> Post<'a, D> {
    /// The way of the party at `me`.
    pub fn new(depot: &'a D, me: usize, keys: Keys) -> Post<'a, D> {
        Post { depot, me: me as u8, keys }
    }

    /// Sends a part to the party at `to`, once.
    pub fn send(&self, step: Step, to: usize, part: u32, mut bytes: Vec<u8>) -> Result<()> {
        let parcel = Parcel { step, from: Place::Party(self.me), to: Place::Party(to as u8) };
        let tag = self.cipher(parcel, to).encrypt_inout_detached(&nonce(part), &[], bytes.as_mut_slice().into());
        let tag = tag.map_err(|_| Error::Internal(format!("`{}` cannot be sealed", step.name)))?;
        bytes.extend_from_slice(&tag);
        self.depot.leave(parcel, part, bytes)
    }

    /// Waits for a part of `length` bytes from the party at `from`.
    pub fn receive(&self, step: Step, from: usize, part: u32, length: usize) -> Result<Vec<u8>> {
        let parcel = Parcel { step, from: Place::Party(from as u8), to: Place::Party(self.me) };
        let mut bytes = self.depot.collect(parcel, part, length + SEAL_BYTES)?;
        let tag = Tag::try_from(bytes.split_off(length).as_slice());
        let cipher = self.cipher(parcel, from);
        let opened = tag.map(|tag| cipher.decrypt_inout_detached(&nonce(part), &[], bytes.as_mut_slice().into(), &tag));
        match opened {
            Ok(Ok(())) => Ok(bytes),
            _ => Err(Error::Authentication {
                peer: format!("{}, or {},", self.depot.name(Place::Helper), self.name(from)),
                what: format!("part {part} of `{}` is not as {} left it", step.name, self.name(from)),
            }),
        }
    }

    /// What messages call the party at that place.
    pub fn name(&self, party: usize) -> String {
        self.depot.name(Place::Party(party as u8))
    }

    /// The party at `party` has sent what breaks the protocol.
    pub fn violation(&self, party: usize, check: impl Into<String>) -> Error {
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
            Place::Helper => u8::MAX,
            Place::Party(place) => place,
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
