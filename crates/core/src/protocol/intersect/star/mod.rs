//! `star`: intersection among any number of parties, by shares of zero and programmable oblivious pseudorandom functions.
//!
//! After Kolesnikov, Matania, Pinkas, Rosulek & Trieu, "Practical Multi-party Private Set Intersection from Symmetric-Key
//! Techniques" (CCS 2017), in the augmented semi-honest model, with the OPPRF of [`opprf`](super::opprf):
//!
//! 1. Every two parties have a seed. For an item, the share of a party is the sum of what the seeds that it has make of the item;
//!    the shares of all parties sum to zero, and those of fewer are random to whoever lacks one of the seeds between them.
//! 2. One party, the *leader*, gets a value at each of its items from every other one: the other's share, if that one has the item,
//!    else a random value. If all of it and its own share sum to zero, all have the item.
//! 3. Who gives rows seals them under a share of its own, one of a further sharing of zero, which it alone does not program: what the
//!    leader gets from the others and its own share sum to that key if all of them have the item, and to something random if one of
//!    them has not.
//! 4. The leader tells the others who learn which of their items all have, and the rows that they are given.
//!
//! Any number of parties may pool what they see: `docs/protocols/star.md` says what they learn.

mod leader;
mod other;
mod params;
mod shares;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::protocol::intersect::entries::items::check_count;
use crate::protocol::intersect::entries::{Payload, check_payload};
use crate::protocol::intersect::opprf::{Receiver, Sender};
use crate::session::Session;

pub use crate::channel::labels::star::{COMMON, GIVEN_COUNTS, GIVEN_ROWS};
pub use leader::lead_over;
pub use other::answer_over;
pub use params::{Gives, Params};

/// One of a party's links.
pub struct Link {
    /// The peer's place.
    pub peer: usize,
    /// The session of these two in this run.
    pub session: Session,
    /// What only these two know, fresh for the run.
    pub seed: Zeroizing<[u8; 32]>,
}

/// What a party learns.
#[derive(Debug)]
pub struct Common {
    /// Indices of its items that all have, ascending.
    pub items: Vec<usize>,
    /// For each other party that gives, by place: its rows for each of `items`.
    pub rows: Vec<(usize, Payload)>,
}

/// A party of a run.
#[derive(Clone, Copy)]
pub struct Party<'a> {
    /// Its place.
    pub me: usize,
    /// Its items: distinct, and made with a key of the run's session.
    pub items: &'a [Item],
    /// The rows that it gives, one or more for each item, if it gives.
    pub rows: Option<&'a Payload>,
    /// What all have agreed on.
    pub params: &'a Params,
    /// The session of the run, which all parties have.
    pub session: &'a Session,
    /// Its links to all others.
    pub links: &'a [Link],
}

/// Runs the part of a party. `channels` are those of its links, in the same order. Returns what it learns, if it learns.
///
/// Errors: a peer breaks the protocol, or a connection fails; all have then ended.
pub fn run(party: Party<'_>, channels: &mut [Channel], rng: &mut (impl CryptoRng + Send)) -> Result<Option<Common>> {
    party.check(channels)?;
    let Party { me, params, session, links, .. } = party;
    if params.is_empty() {
        // Nothing is common, as all know.
        let rows = params.given_to(me).map(|gives| (gives.party, Payload::new(gives.row_bytes))).collect();
        return Ok(params.learners.contains(&me).then_some(Common { items: Vec::new(), rows }));
    }
    if me == params.leader {
        let ends = links.iter().map(|link| Receiver { session: &link.session }).collect();
        return lead_over(party, ends, channels, rng).map(Some);
    }
    let (link, channel) = party.to_leader(channels)?;
    answer_over(party, Sender { session: &link.session, whole: session }, channel, rng)
}

impl<'a> Party<'a> {
    /// Refuses what does not fit what was agreed on.
    fn check(&self, channels: &[Channel]) -> Result<()> {
        let Party { me, items, rows, params, links, .. } = self;
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

    /// The link to the leader, of another party.
    fn to_leader<'c>(&self, channels: &'c mut [Channel]) -> Result<(&'a Link, &'c mut Channel)> {
        let mut both = self.links.iter().zip(channels);
        let found = both.find(|(link, _)| link.peer == self.params.leader);
        found.ok_or_else(|| Error::Internal("star: no link to the leader".into()))
    }
}
