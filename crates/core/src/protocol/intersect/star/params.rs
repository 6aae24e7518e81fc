//! Parameters that all parties agree on before the first message, and the costs that follow from them.

use super::{GIVEN_COUNTS, GIVEN_ROWS};
use crate::channel::{HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::error::{Error, Result};
use crate::protocol::intersect::opprf;
use crate::protocol::intersect::tag_exchange::{self, CHUNK, PlainRows, bits_of, framed_bytes, tag_bytes};
use crate::role::Role;
use crate::security::Chance;

/// Agreed public values of one run. All parties must use equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    /// Items of each party, dummies included, by place.
    pub items: Vec<usize>,
    /// The place of the party that works the result out.
    pub leader: usize,
    /// The places of those who learn, ascending; the leader is one of them.
    pub learners: Vec<usize>,
    /// Parties that give rows to those who learn, by place.
    pub givers: Vec<Gives>,
    /// Number of such runs, this one included, of which none may go wrong by chance.
    pub runs: usize,
}

/// The rows that a party gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gives {
    /// Place of the party that gives rows.
    pub party: usize,
    /// Number of rows, dummies included.
    pub rows: usize,
    /// Length of each in bytes.
    pub row_bytes: usize,
}

impl Gives {
    /// Returns the form in which the leader passes the rows on.
    pub(super) fn forwarded(&self) -> PlainRows {
        PlainRows { row_bytes: self.row_bytes, chunk: CHUNK, counts: GIVEN_COUNTS, rows: GIVEN_ROWS }
    }
}

impl Params {
    /// Refuses what cannot be a run.
    pub fn new(items: Vec<usize>, leader: usize, learners: Vec<usize>, givers: Vec<Gives>) -> Result<Params> {
        let ascending = |places: &[usize]| {
            places.windows(2).all(|pair| pair[0] < pair[1]) && places.iter().all(|place| *place < items.len())
        };
        let giving: Vec<usize> = givers.iter().map(|gives| gives.party).collect();
        let row = |gives: &Gives| gives.row_bytes <= MAX_PAYLOAD_BYTES;
        if items.len() < 2 || !learners.contains(&leader) || !ascending(&learners) || !ascending(&giving) {
            return Err(Error::Internal("star: these are not the parties of a run".into()));
        }
        if !givers.iter().all(row) {
            return Err(Error::Internal("star: rows that do not fit a message".into()));
        }
        let params = Params { items, leader, learners, givers, runs: 1 };
        params.check().map(|()| params)
    }

    /// The same, as one of `runs`.
    pub fn one_of(self, runs: usize) -> Result<Params> {
        let params = Params { runs, ..self };
        params.check().map(|()| params)
    }

    /// Refuses sets that no store takes.
    fn check(&self) -> Result<()> {
        self.others().try_for_each(|place| self.link(place).programmed_store().map(drop))?;
        self.link(self.leader).asked_store()?;
        self.givers.iter().try_for_each(|gives| self.entries(gives).check())
    }

    /// Whether a party has no item, so that none is common.
    pub fn is_empty(&self) -> bool {
        self.items.contains(&0)
    }

    /// The places of all but the leader.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.items.len()).filter(|place| *place != self.leader)
    }

    /// Givers whose rows the party at `place` is given, if it learns.
    pub(super) fn given_to(&self, place: usize) -> impl Iterator<Item = &Gives> + '_ {
        let learns = self.learners.contains(&place);
        self.givers.iter().filter(move |gives| learns && gives.party != place)
    }

    /// Givers other than the leader: there is a sharing for the rows of each.
    pub(super) fn sharings(&self) -> impl Iterator<Item = &Gives> + '_ {
        self.givers.iter().filter(|gives| gives.party != self.leader)
    }

    /// Parameters of the link between the leader and another party. A run has the leader's store and one of each other
    /// party, of which none may fail by chance.
    pub(super) fn link(&self, other: usize) -> opprf::Params {
        let planes = 1 + self.sharings().filter(|gives| gives.party != other).count();
        let store_bits = Chance::Store.bits() + bits_of(self.items.len() as u128 * self.runs as u128);
        let free = self.sharings().any(|gives| gives.party == other);
        opprf::Params { asked: self.items[self.leader], programmed: self.items[other], planes, free, store_bits }
    }

    /// Parameters of the sealed rows of a giver.
    pub(super) fn entries(&self, gives: &Gives) -> tag_exchange::Params {
        let params = tag_exchange::Params::payload(self.items[self.leader], gives.rows, gives.row_bytes);
        params.one_of(self.chances())
    }

    /// Number of times that tags are compared in all runs.
    fn chances(&self) -> usize {
        (self.sharings().count() + self.learners.len() - 1).max(1) * self.runs
    }

    /// Tags of common items that the leader sends to another who learns: as many as there can be, whatever there are.
    pub(super) fn told(&self) -> usize {
        self.items.iter().copied().min().unwrap_or_default()
    }

    /// Length of each of them, for the party at `place`.
    pub(super) fn told_bytes(&self, place: usize) -> usize {
        tag_bytes(self.items[place].saturating_mul(self.chances()), self.told())
    }

    /// Bytes that the party at `from` sends to the one at `to`, frame headers included and heartbeats not: that of
    /// forwarded rows left out, which depend on what is found ([`Params::bytes_forwarded`]).
    pub fn bytes_sent_by(&self, from: usize, to: usize) -> Result<u64> {
        let close = HEADER_BYTES as u64;
        if self.is_empty() || (from != self.leader && to != self.leader) {
            return Ok(close);
        }
        if from == self.leader {
            let told =
                if self.learners.contains(&to) { framed_bytes(self.told(), self.told_bytes(to), CHUNK) } else { 0 };
            return Ok(self.link(to).bytes_sent_by(Role::Receiver)? + told + close);
        }
        let rows = self.givers.iter().find(|gives| gives.party == from).map_or(0, |gives| {
            let params = self.entries(gives);
            framed_bytes(params.sender_entries, params.entry_bytes(), params.chunk)
        });
        Ok(self.link(from).bytes_sent_by(Role::Sender)? + rows + close)
    }

    /// Bytes that the leader sends in addition to another party who learns, for the rows of a giver. The number of
    /// common items is `common`, and `rows` is that of their rows.
    pub fn bytes_forwarded(&self, gives: &Gives, common: usize, rows: usize) -> u64 {
        framed_bytes(common, tag_exchange::COUNT_BYTES, CHUNK) + framed_bytes(rows, gives.row_bytes, CHUNK)
    }

    /// Message flights in sequence over one link, at most.
    pub fn rounds(&self) -> u32 {
        if self.is_empty() { 0 } else { self.link(self.leader).rounds() + u32::from(self.learners.len() > 1) }
    }
}
