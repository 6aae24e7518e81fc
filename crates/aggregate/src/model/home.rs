//! A proxy's state directory, and what the process knows that has it open.

use std::collections::BTreeSet;

use super::batches::{Set, each, name};
use crate::proxy::journal::{Chain, Line, Past};
use crate::wire::sessions::{Advance, StateSession};

/// A queue on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Files {
    pub(super) generation: u64,
    /// Whether the queue is closed to new batches.
    pub(super) is_closed: bool,
    pub(super) waiting: Set,
    /// Batches that have left, from here or elsewhere.
    pub(super) marks: Set,
    pub(super) elsewhere: Set,
    /// Batches that leave, by their random names.
    pub(super) outgoing: Vec<([u8; 3], Set)>,
}

impl Files {
    pub(super) fn present(&self) -> Set {
        self.waiting | self.marks
    }
}

/// State of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Run {
    pub(super) chain: Chain,
    pub(super) written: u64,
    pub(super) fresh: Set,
    pub(super) claimed: Set,
    /// Whether the process was refused; it then does nothing any more.
    pub(super) is_refused: bool,
}

/// A state directory, and the process that has it open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Home {
    pub(super) place: usize,
    /// Number that distinguishes the names that it draws from those of other directories.
    pub(super) slot: u8,
    pub(super) epoch: u8,
    pub(super) lines: Vec<Line>,
    pub(super) queue: Option<Files>,
    pub(super) handed_to: Option<usize>,
    pub(super) discarded: u64,
    pub(super) completion: Option<(u64, u64, bool)>,
    pub(super) run: Option<Run>,
}

impl Home {
    pub(super) fn new(place: usize) -> Home {
        let run = Some(Run::default());
        Home {
            place,
            slot: place as u8,
            epoch: 0,
            lines: Vec::new(),
            queue: Some(Files::default()),
            handed_to: None,
            discarded: 0,
            completion: None,
            run,
        }
    }

    /// The same, drawing other names.
    pub(super) fn drawing(&self, slot: u8, epoch: u8) -> Home {
        Home { slot, epoch, run: None, ..self.clone() }
    }

    pub(super) fn handed_to(&self) -> Option<usize> {
        self.handed_to
    }

    pub(super) fn is_running(&self) -> bool {
        self.run.is_some()
    }

    pub(super) fn crash(&mut self) {
        self.run = None;
    }

    pub(super) fn queue(&self) -> Option<&Files> {
        self.queue.as_ref()
    }

    /// Whether that is another one.
    pub(super) fn set_queue(&mut self, queue: Option<Files>) -> bool {
        let is_other = self.queue != queue;
        self.queue = queue;
        is_other
    }

    /// Starts a process, unless the queue is not the one that belongs here.
    pub(super) fn start(&mut self, journaled: bool) -> bool {
        let past = Past::of(&self.lines);
        if !journaled {
            self.queue.get_or_insert_default();
        }
        let Some(queue) = &self.queue else { return false };
        let present: BTreeSet<_> = each(queue.present()).map(name).collect();
        if journaled && past.check(queue.generation, &present).is_err() {
            return false;
        }
        let fresh = each(queue.present()).filter(|batch| !past.batches.contains(&name(*batch)));
        let fresh = fresh.fold(0, |set, batch| set | 1 << batch);
        let written = u64::from(self.completion.is_none());
        self.run = Some(Run { chain: past.chain, written, fresh, claimed: 0, is_refused: false });
        true
    }

    /// Writes the next session behind what has come.
    pub(super) fn propose(&mut self) -> Option<Advance> {
        let (run, queue) = (self.run.as_mut()?, self.queue.as_ref()?);
        let number = self.lines.iter().filter(|line| matches!(line, Line::Session(..))).count() as u64 + 1;
        let mut drawn = [0; 16];
        drawn[..3].copy_from_slice(&[self.slot, self.epoch, number as u8]);
        self.lines.extend(each(run.fresh).map(|batch| Line::Batch(name(batch))));
        self.lines.push(Line::Session(drawn, queue.generation));
        run.fresh = 0;
        run.chain.propose(StateSession { number, name: drawn }, run.written);
        run.chain.asks()
    }
}
