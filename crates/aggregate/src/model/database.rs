//! Operations of the database's process on the record and the rows, and those of its operator.

use std::collections::BTreeMap;

use super::batches::{Set, each};
use super::process::{Process, Work, key};
use super::world::{Step, World};
use crate::database::progress::Refused;
use crate::database::record::Record;
use crate::wire::rounds::RoundState;
use crate::wire::sessions::{Advance, SessionOrder, StateSession};

impl World {
    /// Adds the possible next steps of the database and its operator.
    pub(super) fn operate(&self, steps: &mut Vec<Step>) {
        let seen = &self.process.record;
        if key(seen) != key(&self.base.record) {
            self.step(steps, "the database looks at the storage", |world| {
                world.process.record = world.base.record.clone();
                true
            });
        }
        self.go_on(steps);
        if seen.state == RoundState::Open {
            self.step(steps, "the round is closed", |world| world.turn(RoundState::Open, RoundState::Closed));
            return;
        }
        if self.limits.without && seen.without.is_empty() {
            for place in 0..self.limits.proxies {
                self.step(steps, format!("it goes on without proxy {place}"), |world| {
                    world.change(|record| record.go_without(place)) == Ok(true)
                });
            }
        }
    }

    /// Adds the database's next steps on the rows: an operation that it has begun ends first.
    fn go_on(&self, steps: &mut Vec<Step>) {
        let (seen, rules) = (&self.process.record, self.rules);
        match &self.process.work {
            // Another record may be there: then this comes to nothing.
            Some(Work::Counts(sent)) => self.step(steps, "its rows are counted", |world| {
                world.process.work = None;
                let _ = world.count(sent);
                true
            }),
            Some(Work::Reveals) => self.step(steps, "it is revealed", |world| {
                world.process.work = None;
                let _ = world.turn(RoundState::Revealing, RoundState::Revealed);
                true
            }),
            None if seen.has_all(self.limits.proxies) => {
                if seen.complete.values().all(|one| one.unshufflable.is_none()) {
                    self.step(steps, "its rows are read", |world| {
                        world.process.work = Some(Work::Counts(world.sent()));
                        true
                    });
                } else {
                    self.step(steps, "it fails, as a proxy could not shuffle", World::fail);
                }
            }
            None if seen.state == RoundState::Revealing => {
                if rules.summed && rules.resummed && !seen.mismatches(&self.sent()).is_empty() {
                    self.step(steps, "it fails, as other entries are there than were sent", World::fail);
                } else {
                    self.step(steps, "its reveal begins", |world| {
                        world.process.work = Some(Work::Reveals);
                        true
                    });
                }
            }
            None => (),
        }
    }

    /// Has the round go on from one state to another one; whether it was in that.
    fn turn(&mut self, from: RoundState, to: RoundState) -> bool {
        let turned = self.change(|record| {
            let is_there = record.state == from;
            if is_there {
                record.state = to;
            }
            Ok(is_there)
        });
        turned == Ok(true)
    }

    /// Counts rows of which so many are of each proxy.
    fn count(&mut self, sent: &BTreeMap<u32, u64>) -> Result<bool, Refused> {
        let (rules, proxies) = (self.rules, self.limits.proxies);
        self.change(|record| {
            if record.state != RoundState::Closed || rules.rechecked && !record.has_all(proxies) {
                return Ok(false);
            }
            let is_whole = !rules.summed || record.mismatches(sent).is_empty();
            record.state = if is_whole { RoundState::Revealing } else { RoundState::Failed };
            Ok(true)
        })
    }

    /// Changes the record by a rule, as `Round::change` does: what the process has seen of it, or what is there if that
    /// is another one. Whether it was changed.
    pub(super) fn change(&mut self, rule: impl Fn(&mut Record) -> Result<bool, Refused>) -> Result<bool, Refused> {
        let mut record = self.process.record.clone();
        if !rule(&mut record)? {
            return Ok(false);
        }
        if key(&self.process.record) != key(&self.base.record) {
            self.process.record = self.base.record.clone();
            record = self.base.record.clone();
            if !rule(&mut record)? {
                return Ok(false);
            }
        }
        self.base.record = record.clone();
        self.process.record = record;
        Ok(true)
    }

    /// Ends the round without a result; whether it was under way.
    fn fail(&mut self) -> bool {
        let failed = self.change(|record| {
            let is_under_way = !record.state.is_over();
            if is_under_way {
                record.state = RoundState::Failed;
            }
            Ok(is_under_way)
        });
        failed == Ok(true)
    }

    /// Ends the database's process, and starts another one.
    pub(super) fn restart(&mut self) {
        self.process = Process::new(self.base.record.clone());
    }

    fn sent(&self) -> BTreeMap<u32, u64> {
        let mut sent = BTreeMap::new();
        for (place, set) in self.base.rows.values() {
            *sent.entry(*place as u32).or_default() += u64::from(set.count_ones());
        }
        sent
    }

    /// Applies a step to another session at the database.
    pub(super) fn advance(&mut self, place: usize, advance: &Advance) -> Result<(), Refused> {
        let (rules, proxies) = (self.rules, self.limits.proxies);
        let done = self.change(|record| {
            let behind = advance.judge(record.sessions.get(&place).copied()) == SessionOrder::Newer;
            if !rules.fenced || (behind && !rules.whole) {
                record.takes(place)?;
                record.sessions.insert(place, advance.to);
                return Ok(true);
            }
            record.advance(place, proxies, advance)
        });
        self.noted(done.map(drop))
    }

    /// Whether the database takes something with this session.
    pub(super) fn holds(&mut self, place: usize, session: StateSession) -> Result<(), Refused> {
        let done = self.process.record.holds(place, session);
        match done {
            Err(_) if !self.rules.fenced => Ok(()),
            Err(Refused::Newer) if !self.rules.whole => {
                let taken = self.change(|record| {
                    record.sessions.insert(place, session);
                    Ok(true)
                });
                taken.map(drop)
            }
            done => self.noted(done),
        }
    }

    pub(super) fn noted(&mut self, done: Result<(), Refused>) -> Result<(), Refused> {
        if done == Err(Refused::Newer) {
            self.fail();
        }
        done
    }

    /// Claims batches: those that are the proxy's now.
    pub(super) fn claim(&mut self, place: usize, wanted: Set) -> Set {
        let handed = self.process.record.handed_to(place, self.limits.proxies);
        let mut own = 0;
        for batch in each(wanted) {
            let owner = *self.base.claims.entry(batch).or_insert(place);
            if owner == place || handed.contains(&owner) {
                own |= 1 << batch;
            }
        }
        own
    }

    /// Takes entries in, once for each name.
    pub(super) fn ingest(&mut self, id: [u8; 3], place: usize, set: Set) {
        self.base.rows.entry(id).or_insert((place, set));
    }
}
