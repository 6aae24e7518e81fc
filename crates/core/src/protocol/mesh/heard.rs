//! Digests of what parties of a mesh must know alike, which each two exchange before anything depends on it.
//!
//! A party that tells two others different things would have these go different ways: they would blame each other for
//! messages that do not fit, or find different results. Where two digests differ, one of those who made the statement,
//! or the peer, has broken the protocol. Nobody can tell which: statements are not signed.

use std::collections::BTreeSet;

use crate::channel::labels::mesh::DIGESTS;
use crate::channel::{Channel, HEADER_BYTES, each};
use crate::error::{Error, Result};
use crate::session::Session;

const DIGEST_BYTES: usize = 32;

/// Something that two parties must know alike.
#[derive(Debug, Clone)]
pub struct MeshStatement {
    /// Places of the parties that have made it.
    by: Vec<usize>,
    digest: [u8; DIGEST_BYTES],
}

impl MeshStatement {
    /// The statement with these contents, made by the parties at these places.
    pub fn new<C: AsRef<[u8]>>(by: impl IntoIterator<Item = usize>, contents: impl IntoIterator<Item = C>) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 mesh statement");
        for part in contents {
            hasher.update(&(part.as_ref().len() as u64).to_le_bytes()).update(part.as_ref());
        }
        MeshStatement { by: by.into_iter().collect(), digest: hasher.finalize().into() }
    }
}

/// The checks of a run, in an order that all parties have. Between two parties there are none.
#[derive(Debug, Clone)]
pub struct Heard {
    me: usize,
    session: Session,
    checks: u64,
}

impl Heard {
    /// The checks of the party at this place, in a session of all.
    pub fn new(me: usize, session: Session) -> Heard {
        Heard { me, session, checks: 0 }
    }

    /// Checks that each peer knows these statements as this party does: those that it shares with that peer, if any, in
    /// one order at both. `what` says what they are about.
    ///
    /// Errors: the channels'; [`Error::OneOf`] where a peer knows another statement, or [`Error::Protocol`] where
    /// nobody else has made it.
    pub fn check(
        &mut self,
        what: &str,
        shared: impl Fn(usize) -> Vec<MeshStatement>,
        channels: &mut [Channel],
    ) -> Result<()> {
        self.checks += 1;
        if channels.len() < 2 {
            return Ok(());
        }
        let peers: Vec<usize> = (0..=channels.len()).filter(|place| *place != self.me).collect();
        let own: Vec<Vec<MeshStatement>> = peers.iter().map(|peer| shared(*peer)).collect();
        let states = own.iter().map(|statements| self.message(statements)).collect();
        let theirs = each(channels, states, |own: Vec<u8>, channel| {
            let due = own.len();
            if due == 0 {
                return Ok(own);
            }
            match channel.exchange(DIGESTS, own, due)? {
                theirs if theirs.len() == due => Ok(theirs),
                theirs => Err(channel.violation(format!("`{}` have {} bytes", DIGESTS.name, theirs.len()))),
            }
        })?;
        // All others are asked before the run ends, so that each sees for itself.
        for ((peer, own), theirs) in peers.iter().zip(&own).zip(&theirs) {
            let ours = self.message(own);
            let differs =
                ours.chunks(DIGEST_BYTES).zip(theirs.chunks(DIGEST_BYTES)).position(|(one, other)| one != other);
            if let Some(at) = differs {
                let by: BTreeSet<usize> = own[at].by.iter().copied().chain([*peer]).collect();
                let place = |party: usize| if party < self.me { party } else { party - 1 };
                let suspects = by.into_iter().filter(|party| *party != self.me);
                let suspects: Vec<&Channel> = suspects.map(|party| &channels[place(party)]).collect();
                return Err(violation_of_one(&suspects, &format!("two parties were told different {what}")));
            }
        }
        Ok(())
    }

    /// Bytes that a party sends to each other in a check of so many statements, the frame's header included.
    pub fn bytes(statements: usize) -> u64 {
        (HEADER_BYTES + statements * DIGEST_BYTES) as u64
    }

    /// The digests of statements, for this check alone.
    fn message(&self, statements: &[MeshStatement]) -> Vec<u8> {
        let digest = |(index, statement): (usize, &MeshStatement)| {
            let mut hasher = blake3::Hasher::new_derive_key("tacita 1 mesh digest");
            hasher.update(self.session.id()).update(&self.checks.to_le_bytes());
            hasher.update(&(index as u64).to_le_bytes()).update(&statement.digest);
            *hasher.finalize().as_bytes()
        };
        statements.iter().enumerate().flat_map(digest).collect()
    }
}

/// The error for a fault of one of several peers, of whom it does not show which.
pub(crate) fn violation_of_one(peers: &[&Channel], check: &str) -> Error {
    match peers {
        [peer] => peer.violation(check),
        peers => {
            let peers = peers.iter().map(|channel| channel.peer().to_owned()).collect();
            Error::OneOf { peers, check: check.into() }
        }
    }
}
