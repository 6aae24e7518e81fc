//! Oblivious transfers between each two parties of a mesh, made when they are wanted.

use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::MeshLink;
use crate::channel::{Channel, HEADER_BYTES, each};
use crate::error::{Error, Result};
use crate::parallel::fork;
use crate::primitive::ot::softspoken::{self, RandomReceiver, RandomSender};
use crate::primitive::ot::{RandomOtReceiver, RandomOtSender};
use crate::role::Role;
use crate::security::Security;
use crate::session::Session;

/// Purpose for which the keys of the transfers are derived.
const PURPOSE: &str = "transfers of a mesh";

/// One end of the transfers of a link. The party with the lower place sends.
pub enum MeshEnd {
    /// The end of the party with the lower place.
    Sender(Box<dyn RandomOtSender + Send>),
    /// The end of the party with the higher place.
    Receiver(Box<dyn RandomOtReceiver + Send>),
}

/// A party's transfers with all others, and the seeds that it has with each. Secret: never printed.
pub struct MeshOts {
    me: usize,
    session: Session,
    links: Vec<LinkOts>,
    /// Number of the next batch: keys of words and shares of zero are made for one batch alone.
    batch: u64,
}

/// The transfers of one link.
pub(crate) struct LinkOts {
    /// Place of the peer.
    pub(crate) peer: usize,
    /// The session of the link, as a part of the run's.
    pub(crate) session: Session,
    pub(crate) end: MeshEnd,
    seed: Zeroizing<[u8; 32]>,
}

impl MeshOts {
    /// Sets up transfers over all links at once. `k` is SoftSpoken's parameter; `links` and `channels` are in one
    /// order.
    ///
    /// Errors: a channel fails, or a peer breaks the protocol.
    pub fn setup(
        me: usize,
        session: &Session,
        links: &[MeshLink],
        k: usize,
        channels: &mut [Channel],
        rng: &mut impl CryptoRng,
    ) -> Result<MeshOts> {
        let form = form(k)?;
        let states: Vec<(&MeshLink, ChaCha20Rng)> = links.iter().map(|link| (link, fork(rng))).collect();
        let ends = each(channels, states, |(link, mut rng), channel| {
            let session = link.session_in(session, LABEL);
            Ok(if me < link.peer {
                MeshEnd::Sender(Box::new(RandomSender::setup(&form, &session, PURPOSE, channel, &mut rng)?))
            } else {
                MeshEnd::Receiver(Box::new(RandomReceiver::setup(&form, &session, PURPOSE, channel, &mut rng)?))
            })
        })?;
        MeshOts::over(me, session, links, ends)
    }

    /// Transfers whose ends are from elsewhere, one for each link.
    pub fn over(me: usize, session: &Session, links: &[MeshLink], ends: Vec<MeshEnd>) -> Result<MeshOts> {
        let fits = |(link, end): (&MeshLink, &MeshEnd)| {
            link.peer != me && (me < link.peer) == matches!(end, MeshEnd::Sender(_))
        };
        if ends.len() != links.len() || !links.iter().zip(&ends).all(fits) {
            return Err(Error::Internal("mesh: ends that are not those of the links".into()));
        }
        let links = links.iter().zip(ends).map(|(link, end)| LinkOts {
            peer: link.peer,
            session: link.session_in(session, LABEL),
            end,
            seed: link.seed.clone(),
        });
        Ok(MeshOts { me, session: session.clone(), links: links.collect(), batch: 0 })
    }

    /// Bytes that a party sends over one link in setting up, frames' headers included.
    pub fn setup_bytes(k: usize, me: usize, peer: usize) -> Result<u64> {
        Ok(form(k)?.setup_bytes_sent_by(role(me, peer)))
    }

    /// Place of this party.
    pub fn me(&self) -> usize {
        self.me
    }

    /// Number of a new batch, which all parties count alike.
    pub(crate) fn next_batch(&mut self) -> u64 {
        self.batch += 1;
        self.batch
    }

    pub(crate) fn links(&self) -> &[LinkOts] {
        &self.links
    }

    pub(crate) fn links_mut(&mut self) -> &mut [LinkOts] {
        &mut self.links
    }

    /// The session of the run.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }
}

impl LinkOts {
    /// A key for the purpose `label` that the two ends of the link alone know, another one in each batch.
    pub(crate) fn key(&self, label: &str, run: &Session, batch: u64) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(&format!("tacita 1 {label}"));
        hasher.update(&*self.seed).update(run.id()).update(self.session.id()).update(&batch.to_le_bytes());
        Zeroizing::new(*hasher.finalize().as_bytes())
    }
}

/// Label of the links' sessions.
const LABEL: &str = "mesh link";

/// Role in the transfers of a link.
pub(crate) fn role(me: usize, peer: usize) -> Role {
    if me < peer { Role::Sender } else { Role::Receiver }
}

/// The form of the transfers.
pub(crate) fn form(k: usize) -> Result<softspoken::Params> {
    softspoken::Params::new(Security::SemiHonest, k).map_err(|_| Error::Input(format!("k = {k}: k can be 1 to 8")))
}

/// Bytes of a message in its frame.
pub(crate) fn frame(payload: usize) -> u64 {
    (HEADER_BYTES + payload) as u64
}

impl fmt::Debug for MeshOts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MeshOts(of {} with {})", self.me, self.links.len())
    }
}
