//! `star`: intersection among any number of parties, by shares of zero and programmable oblivious pseudorandom
//! functions.
//!
//! After Kolesnikov, Matania, Pinkas, Rosulek & Trieu, "Practical Multi-party Private Set Intersection from
//! Symmetric-Key Techniques" (CCS 2017), in the augmented semi-honest model, with the OPPRF of [`opprf`](super::opprf):
//!
//! 1. Every two parties have a seed. For an item, the share of a party is the sum of what the seeds that it has make of the item;
//!    the shares of all parties sum to zero, and those of fewer are random to whoever lacks one of the seeds between them.
//! 2. One party, the *leader*, gets a value at each of its items from every other one: the other's share, if that one has the item,
//!    else a random value. If all of it and its own share sum to zero, all have the item.
//! 3. Who gives rows seals them under the sum of its own share of a further sharing of zero, which it alone does not program, and of
//!    its function of the leader, which the leader has at its own items only. What the leader gets from all others and its own share
//!    sum to that key if all of them have the item, and to something random if one of them has not; and no others, however many,
//!    can compute a key of an item that the leader has not asked for.
//! 4. The leader tells the others who learn which of their items all have, and the rows that they are given.
//!
//! Any number of parties may pool what they see: `docs/protocols/star.md` says what they learn.

pub mod buckets;
mod leader;
mod other;
mod params;
mod shares;
#[cfg(test)]
mod tests;

use rand_core::CryptoRng;

use crate::channel::{Channel, each};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::protocol::intersect::opprf::{OpprfReceiver, OpprfSender};
use crate::protocol::intersect::tag_exchange::items::{check_count, fork};
use crate::protocol::intersect::tag_exchange::{Payload, check_payload};
use crate::session::Session;

pub use crate::channel::labels::star::{COMMON, GIVEN_COUNTS, GIVEN_ROWS};
pub use crate::protocol::mesh::MeshLink;
pub use leader::lead_over;
pub use other::answer_over;
pub use params::{Gives, Params};

/// Result that a party learns.
#[derive(Debug)]
pub struct StarMatches {
    /// Indices of its items that all have, ascending.
    pub items: Vec<usize>,
    /// For each other party that gives, by place: its rows for each of `items`.
    pub rows: Vec<(usize, Payload)>,
}

/// A party of a run.
#[derive(Clone, Copy)]
pub struct StarParty<'a> {
    /// Place of this party.
    pub me: usize,
    /// Items of this party: distinct, and made with a key of the run's session.
    pub items: &'a [Item],
    /// The rows that it gives, one or more for each item, if it gives.
    pub rows: Option<&'a Payload>,
    /// Parameters that all parties have agreed on.
    pub params: &'a Params,
    /// The session of the run, which all parties have.
    pub session: &'a Session,
    /// Links from this party to all others.
    pub links: &'a [MeshLink],
}

/// Runs the part of a party. `channels` are those of its links, in the same order. Returns what it learns, if it
/// learns.
///
/// Errors: a peer breaks the protocol, or a connection fails; all have then ended.
pub fn run(
    party: StarParty<'_>,
    channels: &mut [Channel],
    rng: &mut (impl CryptoRng + Send),
) -> Result<Option<StarMatches>> {
    party.check(channels)?;
    let StarParty { me, params, session, links, .. } = party;
    if params.is_empty() {
        // Nothing is common, as all know.
        let rows = params.given_to(me).map(|gives| (gives.party, Payload::new(gives.row_bytes))).collect();
        return Ok(params.learners.contains(&me).then_some(StarMatches { items: Vec::new(), rows }));
    }
    if me == params.leader {
        let sessions: Vec<Session> = links.iter().map(|link| party.link_session(link)).collect();
        let ends = sessions.iter().map(|session| OpprfReceiver { session }).collect();
        return lead_over(party, ends, channels, rng).map(Some);
    }
    // The other channels have nothing to do but to end with this one.
    let mut rng = Some(fork(rng));
    let states = links.iter().map(|link| (link.peer == params.leader).then(|| (link, rng.take()))).collect();
    let learned = each(channels, states, |state: Option<(&MeshLink, _)>, channel| match state {
        Some((link, Some(mut rng))) => {
            let link = party.link_session(link);
            answer_over(party, OpprfSender { session: &link, whole: session }, channel, &mut rng)
        }
        _ => Ok(None),
    })?;
    Ok(learned.into_iter().flatten().next())
}

impl StarParty<'_> {
    /// Refuses what does not fit what was agreed on.
    fn check(&self, channels: &[Channel]) -> Result<()> {
        let StarParty { me, items, rows, params, links, .. } = self;
        check_count(items, params.items.get(*me).copied().unwrap_or_default())?;
        let others: Vec<usize> = (0..params.items.len()).filter(|place| place != me).collect();
        if links.len() != channels.len() || !links.iter().map(|link| link.peer).eq(others) {
            return Err(Error::Internal("star: not a link to each other party, in order".into()));
        }
        match (params.givers.iter().find(|gives| gives.party == *me), rows) {
            (Some(gives), Some(rows)) => check_payload(items, rows, gives.row_bytes, gives.rows),
            (Some(_), None) => Err(Error::Internal("rows were agreed on, and none are given".into())),
            (None, _) => Ok(()),
        }
    }

    /// The session of a link as a part of the run's: what all parts draw once, as the code of their correlations, all
    /// links draw once, so that how many there are does not make a bad one more likely.
    fn link_session(&self, link: &MeshLink) -> Session {
        link.session_in(self.session, "star link")
    }
}
