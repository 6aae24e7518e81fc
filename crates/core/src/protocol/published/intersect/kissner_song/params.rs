//! Parameters that all parties agree on before the first message, and the costs that follow from them.

use super::{PartyOrder, Strategy};
use crate::channel::HEADER_BYTES;
use crate::error::{Error, Result};
use crate::primitive::group::Group;
use crate::primitive::proof::Proof;
use crate::primitive::published::polynomial;
use crate::protocol::intersect::tag_exchange::framed_bytes;
use crate::protocol::published::intersect::polynomial::CHUNK;

/// Agreed public values of one run. All parties must use equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    /// Number of parties in the job.
    pub parties: usize,
    /// Items of each at most: what all fill up to.
    pub bound: usize,
    /// The places of those who learn, ascending.
    pub learners: Vec<usize>,
    /// Form in which polynomials travel and are multiplied.
    pub strategy: Strategy,
    /// Order in which parties decrypt, those who learn after all others.
    pub order: PartyOrder,
}

/// Messages of one label between two parties, as seen from one of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flight {
    Forth,
    Back,
    AtOnce,
}

impl Params {
    /// Parameters of the protocol as published: polynomials are multiplied by the schoolbook method, and partial
    /// decryptions go from one party to the next.
    ///
    /// Errors ([`Error::Internal`]): fewer than two parties, nobody who learns, or learners that are not places in
    /// ascending order.
    /// [`Error::Input`]: 2^32 items or more.
    pub fn new(parties: usize, bound: usize, learners: Vec<usize>) -> Result<Params> {
        let ascending = learners.windows(2).all(|pair| pair[0] < pair[1]);
        if parties < 2 || learners.is_empty() || !ascending || learners.iter().any(|place| *place >= parties) {
            return Err(Error::Internal("kissner-song: these are not the parties of a run".into()));
        }
        if bound > u32::MAX as usize {
            return Err(Error::Input("a set has 2^32 items or more".into()));
        }
        Ok(Params { parties, bound, learners, strategy: Strategy::Schoolbook, order: PartyOrder::Chain })
    }

    /// Refuses a strategy for which the group's scalars lack roots of unity.
    pub(super) fn check<G: Group>(&self, group: &G) -> Result<()> {
        if self.strategy != Strategy::Fft || polynomial::MultiplyStrategy::Fft.can(group, 2 * self.opened()) {
            Ok(())
        } else {
            Err(Error::Input(format!("strategy = \"{}\" needs a group with roots of unity", self.strategy)))
        }
    }

    /// Ciphertexts that a party tells of its polynomial: all coefficients but the leading one, which is 1; or as many
    /// values as what is opened has.
    pub(super) fn told(&self) -> usize {
        if self.strategy == Strategy::Points { self.opened() } else { self.bound }
    }

    /// Coefficients, or values, of the sum of products, which has twice the degree.
    pub(super) fn opened(&self) -> usize {
        2 * self.bound + 1
    }

    /// The places in the order of decryption: those who learn come last, so that nobody else ever holds the sum of all.
    fn line(&self) -> Vec<usize> {
        let others = (0..self.parties).filter(|place| !self.learners.contains(place));
        others.chain(self.learners.iter().copied()).collect()
    }

    /// Returns the parties to whose sums the party at `place` adds its own.
    pub(super) fn before(&self, place: usize) -> Vec<usize> {
        let line = self.line();
        let at = line.iter().position(|other| *other == place).unwrap_or_default();
        self.order.before(at, self.parties).into_iter().map(|at| line[at]).collect()
    }

    /// Returns the other parties whose shares are in the sums of the party at `place`: those to whose sums it adds, and
    /// those before them.
    pub(super) fn all_before(&self, place: usize) -> Vec<usize> {
        let mut all = self.before(place);
        let mut next = 0;
        while let Some(&one) = all.get(next) {
            all.extend(self.before(one));
            next += 1;
        }
        all
    }

    /// Returns the parties whose sums together are all.
    pub(super) fn last(&self) -> Vec<usize> {
        let line = self.line();
        self.order.last(self.parties).into_iter().map(|at| line[at]).collect()
    }

    /// Whether the party at `from` gives that at `to` its sums: to add to them, or to see the result and who has added
    /// what.
    pub(super) fn gives(&self, from: usize, to: usize) -> bool {
        from != to && (self.learners.contains(&to) || self.before(to).contains(&from))
    }

    /// Bytes that the party at `from` sends to the one at `to`, frame headers included and heartbeats not.
    pub fn bytes_sent_by<G: Group>(&self, group: &G, from: usize, to: usize) -> u64 {
        let (close, point) = (HEADER_BYTES as u64, group.point_bytes());
        if self.bound == 0 {
            return close;
        }
        let message = |bytes: usize| (HEADER_BYTES + bytes) as u64;
        let whole = framed_bytes(self.opened(), 2 * point, CHUNK);
        let key = message(point + Proof::bytes(group, 1, 1)) + framed_bytes(self.told(), 2 * point, CHUNK);
        let next = if from + 1 == to { whole } else { 0 };
        let all = if from + 1 == self.parties { whole } else { 0 };
        let partial = if self.gives(from, to) {
            message(Proof::bytes(group, 2, 1)) + framed_bytes(self.opened(), point, CHUNK)
        } else {
            0
        };
        key + next + all + partial + close
    }

    /// Message flights in sequence over one link, at most.
    pub fn rounds(&self) -> u32 {
        if self.bound == 0 {
            return 0;
        }
        let links = (0..self.parties).flat_map(|one| (one + 1..self.parties).map(move |other| (one, other)));
        links.map(|(one, other)| self.rounds_between(one, other)).max().unwrap_or_default()
    }

    /// Message flights in sequence between two parties, the first of whom has the lower place.
    fn rounds_between(&self, one: usize, other: usize) -> u32 {
        let mut flights = vec![Flight::AtOnce, Flight::AtOnce];
        flights.extend((one + 1 == other).then_some(Flight::Forth));
        flights.extend((other + 1 == self.parties).then_some(Flight::Back));
        flights.extend(match (self.gives(one, other), self.gives(other, one)) {
            (true, true) if self.before(other).contains(&one) => vec![Flight::Forth, Flight::Back],
            (true, true) if self.before(one).contains(&other) => vec![Flight::Back, Flight::Forth],
            (true, true) => vec![Flight::AtOnce],
            (true, false) => vec![Flight::Forth],
            (false, true) => vec![Flight::Back],
            (false, false) => vec![],
        });
        // Those that go the same way, one after the other, are one.
        flights.dedup_by(|next, last| next == last && *next != Flight::AtOnce);
        flights.len() as u32
    }
}
