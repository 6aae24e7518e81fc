//! The state of everything, and the steps of database, operator and misfortune.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use super::batches::{Set, each};
use super::home::{Files, Home};
use super::process::{Process, key};
use crate::database::record::Record;
use crate::wire::rounds::RoundState;
use crate::wire::signed::Signed;

/// Size of a round, and the number of events that may happen to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Limits {
    pub(super) proxies: usize,
    pub(super) batches: u8,
    /// Batches, each of another participant, that a shuffle needs.
    pub(super) least: u32,
    /// Batches leave while the round is open.
    pub(super) early: bool,
    pub(super) crashes: u8,
    /// Times that a database ends between the two changes of a request for claims.
    pub(super) cuts: u8,
    /// Times that a copy of a directory is put back, or started beside the original.
    pub(super) copies: u8,
    /// Times that a queue alone is lost, or an older one put back.
    pub(super) queues: u8,
    /// Times that a copy of the storage is put back.
    pub(super) storages: u8,
    /// Times that a copy of the storage takes over from it, as a standby that lacks the last commits, while the
    /// database runs.
    pub(super) standbys: u8,
    /// The operator may go on without a proxy.
    pub(super) without: bool,
}

/// The rules, any of which may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Rules {
    /// Whether only the holder of the last session is let in.
    pub(super) fenced: bool,
    /// Whether nobody is told anything before a session that follows it is held.
    pub(super) covered: bool,
    /// A claim goes on to the next session.
    pub(super) stepped: bool,
    /// Whether the rows present are compared with those that were sent.
    pub(super) summed: bool,
    /// A storage that holds an earlier session than a directory had from it ends the round.
    pub(super) whole: bool,
    /// A queue is compared with the journal.
    pub(super) journaled: bool,
    /// Whether the completion of all proxies is checked again in the record that is changed when rows are counted.
    pub(super) rechecked: bool,
    /// Whether the rows present are compared once more when rows are counted: an earlier read may have been of another
    /// storage.
    pub(super) resummed: bool,
}

impl Rules {
    pub(super) const ALL: Rules = Rules {
        fenced: true,
        covered: true,
        stepped: true,
        summed: true,
        whole: true,
        journaled: true,
        rechecked: true,
        resummed: true,
    };
}

/// Contents of the database's disk.
#[derive(Clone)]
pub(super) struct Base {
    pub(super) record: Record,
    pub(super) claims: BTreeMap<u8, usize>,
    /// Batches that were sent, by their random names: whose, and what is in them.
    pub(super) rows: BTreeMap<[u8; 3], (usize, Set)>,
}

impl Hash for Base {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (key(&self.record), &self.claims, &self.rows).hash(state);
    }
}

/// Complete state of the model.
#[derive(Clone, Hash)]
pub(super) struct World {
    pub(super) limits: Limits,
    pub(super) rules: Rules,
    /// State directories, with the processes that have them open: each proxy's, and a copy that was started beside one
    /// of them.
    pub(super) homes: Vec<Home>,
    /// A copy of a directory, somewhere.
    copy: Option<Home>,
    pub(super) base: Base,
    pub(super) process: Process,
    /// A copy of the storage, somewhere.
    old: Option<Base>,
    /// Acknowledgements to participants: the proxy that gave them, and the batch.
    pub(super) acknowledged: BTreeSet<(usize, u8)>,
}

pub(super) type Step = (String, World);

impl World {
    pub(super) fn new(limits: Limits, rules: Rules) -> World {
        let signed = Signed { public: String::new(), by: String::new(), signature: String::new() };
        let mut record = Record::new(0, signed);
        record.database = None;
        let process = Process::new(record.clone());
        let base = Base { record, claims: BTreeMap::new(), rows: BTreeMap::new() };
        let homes = (0..limits.proxies).map(Home::new).collect();
        let acknowledged = BTreeSet::new();
        let mut world = World { limits, rules, homes, copy: None, base, process, old: None, acknowledged };
        // Each directory is known before anything is taken.
        for home in 0..limits.proxies {
            world.begin(home);
        }
        world
    }

    pub(super) fn is_revealed(&self) -> bool {
        self.base.record.state == RoundState::Revealed
    }

    pub(super) fn is_over(&self) -> bool {
        self.base.record.state.is_over()
    }

    /// Returns the fault of a round that is revealed, if it has one.
    pub(super) fn wrong(&self) -> Option<String> {
        if !self.is_revealed() {
            return None;
        }
        let (mut counted, record) = (0, &self.base.record);
        for (_, set) in self.base.rows.values() {
            if counted & set != 0 {
                return Some(format!("it is revealed, and {:?} count twice", each(counted & set).collect::<Vec<_>>()));
            }
            counted |= set;
        }
        let discarded = record.complete.values().any(|one| one.discarded > 0);
        // The operator has named the one that had it: to which it was acknowledged, that has claimed it, or to which it
        // was handed over.
        let is_told = |place: usize, batch: u8| {
            let given_up = |place: Option<usize>| place.is_some_and(|place| record.without.contains(&place));
            let handed_to = self.homes.iter().find(|home| home.place == place).and_then(Home::handed_to);
            let owner = self.base.claims.get(&batch).copied();
            given_up(Some(place)) || given_up(owner) || given_up(handed_to) || discarded
        };
        let is_missing = |(place, batch): &&(usize, u8)| counted >> batch & 1 == 0 && !is_told(*place, *batch);
        let missing = self.acknowledged.iter().find(is_missing)?;
        Some(format!("it is revealed, and batch {} is missing that proxy {} has acknowledged", missing.1, missing.0))
    }

    /// Returns all possible next steps.
    pub(super) fn next(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for home in 0..self.homes.len() {
            self.steps_of(home, &mut steps);
        }
        self.operate(&mut steps);
        self.misfortunes(&mut steps);
        steps
    }

    /// Adds a step, if it changes anything.
    pub(super) fn step(&self, steps: &mut Vec<Step>, what: impl Into<String>, change: impl FnOnce(&mut World) -> bool) {
        let mut next = self.clone();
        if change(&mut next) {
            steps.push((what.into(), next));
        }
    }

    fn misfortunes(&self, steps: &mut Vec<Step>) {
        for home in 0..self.homes.len() {
            if self.limits.crashes > 0 && self.homes[home].is_running() {
                self.step(steps, format!("home {home} crashes"), |world| {
                    world.limits.crashes -= 1;
                    world.homes[home].crash();
                    true
                });
            }
            if self.copy.is_none() && self.limits.copies + self.limits.queues > 0 {
                self.step(steps, format!("home {home} is copied"), |world| {
                    let mut copy = world.homes[home].clone();
                    copy.crash();
                    world.copy = Some(copy);
                    true
                });
            }
            if self.limits.queues > 0 {
                self.step(steps, format!("the queue of home {home} is lost"), |world| {
                    world.limits.queues -= 1;
                    world.homes[home].replace_queue(None)
                });
            }
            let Some(copy) = self.copy.as_ref().filter(|copy| copy.place == self.homes[home].place) else { continue };
            if self.limits.queues > 0 {
                self.step(steps, format!("the queue of home {home} is that of the copy"), |world| {
                    world.limits.queues -= 1;
                    world.homes[home].replace_queue(copy.queue().cloned())
                });
            }
            if self.limits.copies == 0 {
                continue;
            }
            self.step(steps, format!("home {home} is replaced by the copy"), |world| {
                world.limits.copies -= 1;
                let epoch = world.homes[home].epoch + 1;
                world.homes[home] = copy.drawing(home as u8, epoch);
                true
            });
            if self.homes.len() == self.limits.proxies {
                self.step(steps, "the copy is started beside it", |world| {
                    world.limits.copies -= 1;
                    world.homes.push(copy.drawing(world.homes.len() as u8, 0));
                    true
                });
            }
        }
        if self.limits.storages + self.limits.standbys > 0 && self.old.is_none() {
            self.step(steps, "the storage is copied", |world| {
                world.old = Some(world.base.clone());
                true
            });
        }
        let Some(old) = &self.old else { return };
        if self.limits.storages > 0 {
            self.step(steps, "the storage is replaced by its copy", |world| {
                world.limits.storages -= 1;
                world.base = old.clone();
                world.restart();
                true
            });
        }
        if self.limits.standbys > 0 {
            self.step(steps, "the copy takes over from the storage", |world| {
                world.limits.standbys -= 1;
                world.base = old.clone();
                true
            });
        }
    }
}

impl Home {
    fn replace_queue(&mut self, queue: Option<Files>) -> bool {
        self.crash();
        self.set_queue(queue)
    }
}
