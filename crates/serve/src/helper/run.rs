//! A run, and how those before it have ended.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use tacita_core::ErrorKind;
use tacita_core::depot::DepotParty;
use tacita_node::transport::depot::frame::Ticket;
use zeroize::Zeroizing;

use super::files::{Key, Record};

/// Runs that are over whose parties may still ask.
const REMEMBERED: usize = 1024;

/// Reason why a run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// Completion: all parties are done.
    Finished,
    /// Somebody has ended it.
    Ended { by: DepotParty, kind: ErrorKind, culprit: Option<DepotParty> },
}

/// Result of a request.
pub(super) enum Told<T> {
    /// Result that was requested.
    This(T),
    /// No result is there yet.
    NotYet,
    /// The run is over: why, unless nothing is known of it any more.
    Over(Option<Over>),
}

impl<T> Told<T> {
    /// Another thing in the place of this.
    pub(super) fn map<U>(self, other: impl FnOnce(T) -> U) -> Told<U> {
        match self {
            Told::This(this) => Told::This(other(this)),
            Told::NotYet => Told::NotYet,
            Told::Over(over) => Told::Over(over),
        }
    }
}

/// Outcome for a party that arrives.
pub(super) enum Arrived {
    Welcome,
    Busy,
    Ending,
    Over(Option<Over>),
}

/// A party in a run.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Number of the party's connections.
    pub(super) here: usize,
    /// Number of the party's requests that are being answered.
    pub(super) asking: usize,
    /// Time at which the party last did something.
    pub(super) seen: Instant,
    pub(super) left: u64,
    pub(super) parts: u64,
}

/// A run under way.
pub(super) struct Run {
    pub(super) number: u64,
    pub(super) record: Record,
    pub(super) members: Vec<Member>,
    pub(super) held: HashMap<Key, u64>,
    pub(super) began: Instant,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) run: Option<Run>,
    pub(super) runs: u64,
    past: VecDeque<(Ticket, Over)>,
}

impl Over {
    /// Returns the end of a run that means that the party at `place` has gone.
    pub(super) fn gone(place: usize) -> Over {
        let culprit = Some(DepotParty::Party(place as u8));
        Over::Ended { by: DepotParty::Helper, kind: ErrorKind::Network, culprit }
    }
}

impl Run {
    pub(super) fn new(number: u64, parties: usize, seed: Zeroizing<[u8; 32]>) -> Run {
        let member = Member { here: 0, asking: 0, seen: Instant::now(), left: 0, parts: 0 };
        let members = vec![member; parties];
        Run { number, record: Record::new(parties, seed), members, held: HashMap::new(), began: Instant::now() }
    }

    /// The run that was under way, with these parts on disk.
    pub(super) fn resumed(record: Record, held: HashMap<Key, u64>) -> Run {
        let mut run = Run::new(0, record.tickets.len(), Zeroizing::default());
        for (key, length) in &held {
            if let DepotParty::Party(place) = key.from
                && let Some(member) = run.members.get_mut(usize::from(place))
            {
                member.left += length;
                member.parts += 1;
            }
        }
        let mut run = Run { record, held, ..run };
        (0..run.members.len()).for_each(|place| run.unsay(place));
        run
    }

    /// Forgets the word of a party that is not here, unless the run has begun: it could only begin without that party.
    /// Whoever comes back tells its word again.
    pub(super) fn unsay(&mut self, place: usize) {
        if !self.has_begun() {
            self.record.words[place] = None;
        }
    }

    /// Whether all have told their words.
    pub(super) fn has_begun(&self) -> bool {
        self.record.words.iter().all(Option::is_some)
    }
}

impl State {
    /// The run that this party is in with that ticket.
    pub(super) fn of(&mut self, place: usize, ticket: &Ticket) -> Option<&mut Run> {
        self.run.as_mut().filter(|run| run.record.tickets[place] == Some(*ticket))
    }

    /// Returns the end of the run to which this ticket belonged.
    pub(super) fn over(&self, ticket: &Ticket) -> Option<Over> {
        self.past.iter().find(|(past, _)| past == ticket).map(|(_, over)| *over)
    }

    /// Returns the answer to a party whose run is no more.
    pub(super) fn gone<T>(&self, ticket: &Ticket) -> Told<T> {
        Told::Over(self.over(ticket))
    }

    /// Keeps in mind how a run has ended, for those who ask.
    pub(super) fn remember(&mut self, run: Run, over: Over) {
        self.past.extend(run.record.tickets.into_iter().flatten().map(|ticket| (ticket, over)));
        let surplus = self.past.len().saturating_sub(REMEMBERED);
        self.past.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process of a party that was here before, or beside the one that takes part, has another ticket.
    #[test]
    fn only_the_ticket_of_the_run_is_of_it() {
        let mut state = State { run: Some(Run::new(0, 2, Zeroizing::default())), ..State::default() };
        state.run.as_mut().unwrap().record.tickets[1] = Some([7; 32]);
        assert!(state.of(1, &[7; 32]).is_some() && state.of(1, &[8; 32]).is_none() && state.of(0, &[7; 32]).is_none());
    }

    /// Bytes that a party has left count on after a start: it leaves no more than it may.
    #[test]
    fn what_was_left_counts_after_a_start() {
        let part = |from, part| Key { step: 1, from: DepotParty::Party(from), to: DepotParty::Helper, part };
        let held = [(part(0, 0), 30), (part(0, 1), 12), (part(1, 0), 5)].into();
        let run = Run::resumed(Record::new(2, Zeroizing::default()), held);
        let left = run.members.iter().map(|member| (member.left, member.parts));
        assert_eq!(left.collect::<Vec<_>>(), [(42, 2), (5, 1)]);
    }
}
