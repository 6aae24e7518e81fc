//! Operations of a proxy's process on its state directory.

use std::collections::BTreeSet;

use super::batches::{Set, each, name};
use super::home::{Files, Run};
use super::world::World;
use crate::database::progress::Refused;
use crate::proxy::journal::Past;
use crate::wire::rounds::{Completion, Rest, RoundState, collector};
use crate::wire::sessions::StateSession;

type Steps = Vec<(String, World)>;

impl World {
    fn files(&mut self, home: usize) -> &mut Files {
        self.homes[home].queue.get_or_insert_default()
    }

    fn run(&mut self, home: usize) -> &mut Run {
        self.homes[home].run.get_or_insert_default()
    }

    /// The directory's first session.
    pub(super) fn begin(&mut self, home: usize) {
        self.homes[home].propose();
        self.settle(home);
    }

    /// Asks for the session that is on disk; what it covers is acknowledged to whoever asks.
    fn settle(&mut self, home: usize) -> bool {
        let place = self.homes[home].place;
        let Some(advance) = self.homes[home].run.as_ref().and_then(|run| run.chain.asks()) else { return false };
        match self.advance(place, &advance) {
            Ok(()) => {
                let run = self.run(home);
                run.chain.held();
                if run.chain.covers(run.written) {
                    self.acknowledge(home);
                }
            }
            Err(refused) => self.refuse(home, refused),
        }
        true
    }

    fn refuse(&mut self, home: usize, _: Refused) {
        self.run(home).is_refused = true;
    }

    fn acknowledge(&mut self, home: usize) {
        let (place, present) = (self.homes[home].place, self.files(home).present());
        self.acknowledged.extend(each(present).map(|batch| (place, batch)));
    }

    /// Adds all possible next steps of a directory's process.
    pub(super) fn steps_of(&self, home: usize, steps: &mut Steps) {
        let at = &self.homes[home];
        let Some(run) = &at.run else {
            return self
                .step(steps, format!("home {home} starts"), |world| world.homes[home].start(world.rules.journaled));
        };
        let Some(queue) = at.queue.as_ref().filter(|_| !run.is_refused) else { return };
        let is_open = self.process.record.state == RoundState::Open && !queue.is_closed;
        for batch in (0..self.limits.batches).filter(|batch| is_open && queue.present() >> batch & 1 == 0) {
            self.step(steps, format!("home {home} writes batch {batch}"), |world| {
                world.files(home).waiting |= 1 << batch;
                let run = world.run(home);
                run.fresh |= 1 << batch;
                run.written += 1;
                if !world.rules.covered {
                    world.acknowledge(home);
                }
                true
            });
        }
        if run.chain.asks().is_some() {
            self.step(steps, format!("home {home} asks for its session"), |world| world.settle(home));
            return;
        }
        let is_covered = run.chain.covers(run.written);
        if !is_covered {
            self.step(steps, format!("home {home} writes its next session"), |world| {
                world.homes[home].propose().is_some()
            });
            if self.rules.covered {
                return;
            }
        }
        match at.completion {
            Some(_) => self.step(steps, format!("home {home} says that it is complete"), |world| world.finish(home)),
            None => self.work(home, steps),
        }
    }

    fn work(&self, home: usize, steps: &mut Steps) {
        let at = &self.homes[home];
        let (Some(run), Some(queue)) = (&at.run, &at.queue) else { return };
        let is_closed = self.process.record.state == RoundState::Closed;
        if let Some((id, set)) = queue.outgoing.first().copied() {
            self.step(steps, format!("home {home} sends {set:#b}"), |world| world.send(home, id, set, true));
            self.step(steps, format!("home {home} sends {set:#b}, and does not hear of it"), |world| {
                world.send(home, id, set, false)
            });
        }
        if is_closed && !queue.is_closed {
            return self.step(steps, format!("home {home} closes its queue"), |world| {
                world.files(home).is_closed = true;
                true
            });
        }
        if !is_closed && !self.limits.early {
            return;
        }
        // What is handed over is claimed already, and nothing else is done with it.
        if let Some(to) = at.handed_to {
            return self.hand_over(home, to, steps);
        }
        let several = self.limits.proxies > 1;
        let unclaimed = if several { queue.waiting & !run.claimed } else { 0 };
        if unclaimed != 0 {
            self.step(steps, format!("home {home} claims {unclaimed:#b}"), |world| world.claims(home, unclaimed, true));
            if self.rules.stepped && self.limits.cuts > 0 {
                self.step(
                    steps,
                    format!("home {home} claims {unclaimed:#b}, and the database ends in its middle"),
                    |world| world.claims(home, unclaimed, false),
                );
            }
            return;
        }
        let leaving = if several { run.claimed & queue.waiting } else { queue.waiting };
        let is_enough = leaving.count_ones() >= self.limits.least;
        let record = &self.process.record;
        if is_closed && several {
            let rest = match leaving {
                0 => Rest::Nothing,
                _ if is_enough => Rest::Enough,
                _ => Rest::TooFew,
            };
            if !record.rests.contains_key(&at.place) {
                return self.step(steps, format!("home {home} says that it has {rest:?}"), |world| {
                    let (place, session) = (world.homes[home].place, world.session(home));
                    if let Err(refused) = world.holds(place, session) {
                        world.refuse(home, refused);
                        return true;
                    }
                    let session = world.last(place, session);
                    let done = world.change(|record| record.tell_rest(place, session, rest)).map(drop);
                    world.answer(home, done)
                });
            }
            if record.rests.len() < self.limits.proxies {
                return;
            }
            let (is_few, missing) =
                (|place: &usize| record.rests[place] == Rest::TooFew, record.missing(self.limits.proxies));
            match collector(&record.rests) {
                Some(place) if place != at.place && is_few(&at.place) && missing.contains(&place) => {
                    return self.step(steps, format!("home {home} begins to hand over"), |world| {
                        world.homes[home].handed_to = Some(place);
                        true
                    });
                }
                Some(place) if place == at.place && missing.iter().any(|other| *other != place && is_few(other)) => {
                    return;
                }
                _ => (),
            }
        }
        if leaving != 0 && is_enough {
            return self
                .step(steps, format!("home {home} shuffles {leaving:#b}"), |world| world.shuffle(home, leaving));
        }
        if is_closed && queue.outgoing.is_empty() {
            self.step(steps, format!("home {home} has sent all"), |world| world.complete(home));
        }
    }

    fn session(&self, home: usize) -> StateSession {
        let session = self.homes[home].run.as_ref().and_then(|run| run.chain.session());
        session.unwrap_or(StateSession { number: 0, name: [0; 16] })
    }

    /// The session that the database holds: where nothing is fenced, whatever was presented is taken for it.
    fn last(&self, place: usize, session: StateSession) -> StateSession {
        self.process.record.sessions.get(&place).copied().unwrap_or(session)
    }

    /// Notes that a request was refused; it was made in any case.
    fn answer(&mut self, home: usize, done: Result<(), Refused>) -> bool {
        if let Err(refused) = self.noted(done) {
            self.refuse(home, refused);
        }
        true
    }

    fn claims(&mut self, home: usize, wanted: Set, is_whole: bool) -> bool {
        let (place, session) = (self.homes[home].place, self.session(home));
        let step = if self.rules.stepped { self.homes[home].propose() } else { None };
        if let Err(refused) = self.holds(place, session) {
            self.refuse(home, refused);
            return true;
        }
        let own = self.claim(place, wanted);
        if !is_whole {
            self.limits.cuts -= 1;
            self.restart();
            return true;
        }
        if let Some(advance) = step {
            if let Err(refused) = self.advance(place, &advance) {
                self.refuse(home, refused);
                return true;
            }
            self.run(home).chain.held();
            // Acted on behind a session that follows it.
            self.homes[home].propose();
            self.settle(home);
            if self.run(home).is_refused {
                return true;
            }
        }
        self.run(home).claimed |= own;
        let others = wanted & !own;
        let files = self.files(home);
        files.waiting &= !others;
        files.marks |= others;
        files.elsewhere |= others;
        true
    }

    fn shuffle(&mut self, home: usize, leaving: Set) -> bool {
        let (slot, epoch) = (self.homes[home].slot, self.homes[home].epoch);
        let files = self.files(home);
        files.generation += 1;
        files.waiting &= !leaving;
        files.marks |= leaving;
        files.outgoing.push(([slot, epoch, files.generation as u8], leaving));
        self.run(home).written += 1;
        true
    }

    fn send(&mut self, home: usize, id: [u8; 3], set: Set, is_heard: bool) -> bool {
        let (place, session) = (self.homes[home].place, self.session(home));
        let taken = self.process.record.takes(place).and_then(|()| self.holds(place, session));
        if let Err(refused) = taken {
            self.refuse(home, refused);
            return true;
        }
        self.ingest(id, place, set);
        if is_heard {
            self.files(home).outgoing.remove(0);
        }
        true
    }

    fn hand_over(&self, home: usize, to: usize, steps: &mut Steps) {
        let at = &self.homes[home];
        let Some(queue) = &at.queue else { return };
        let waiting = queue.waiting;
        if waiting != 0 && self.process.record.without.contains(&to) {
            return self.step(steps, format!("home {home} discards what it was handing over"), |world| {
                world.homes[home].discarded += u64::from(waiting.count_ones());
                let files = world.files(home);
                files.waiting = 0;
                files.marks |= waiting;
                true
            });
        }
        if waiting == 0 && !queue.outgoing.is_empty() {
            return;
        }
        if waiting == 0 {
            return self.step(steps, format!("home {home} has sent all"), |world| world.complete(home));
        }
        // Any process of that proxy may be the one that answers.
        for other in (0..self.homes.len()).filter(|other| self.homes[*other].place == to) {
            let Some((run, files)) = self.homes[other].run.as_ref().zip(self.homes[other].queue.as_ref()) else {
                continue;
            };
            if self.homes[other].completion.is_some() {
                continue;
            }
            let missing = waiting & (!files.present() | files.elsewhere);
            if missing != 0 {
                self.step(steps, format!("home {other} takes {missing:#b} over"), |world| {
                    let files = world.files(other);
                    files.waiting |= missing;
                    files.marks &= !missing;
                    files.elsewhere &= !missing;
                    let run = world.run(other);
                    run.claimed |= missing;
                    run.fresh |= missing;
                    run.written += 1;
                    true
                });
            } else if (run.chain.covers(run.written) || !self.rules.covered) && !run.is_refused {
                self.step(steps, format!("home {home} hears that home {other} has it"), |world| {
                    let claimed = files.waiting & waiting;
                    world.run(other).claimed |= claimed;
                    let files = world.files(home);
                    files.waiting = 0;
                    files.marks |= waiting;
                    files.elsewhere |= waiting;
                    true
                });
            }
        }
    }

    /// Writes what the database is told at the end.
    fn complete(&mut self, home: usize) -> bool {
        let discarded = self.homes[home].discarded;
        let files = self.files(home);
        let entries = u64::from((files.marks & !files.elsewhere).count_ones()) - discarded;
        let is_stuck = files.waiting != 0;
        let queue = files.clone();
        let past = Past::of(&self.homes[home].lines);
        let present: BTreeSet<_> = each(queue.present()).map(name).collect();
        if self.rules.journaled && past.check(queue.generation, &present).is_err() {
            return false;
        }
        self.homes[home].completion = Some((entries, discarded, is_stuck));
        true
    }

    fn finish(&mut self, home: usize) -> bool {
        let (place, session) = (self.homes[home].place, self.session(home));
        let Some((entries, discarded, is_stuck)) = self.homes[home].completion else { return false };
        let completion = Completion { entries, discarded, unshufflable: is_stuck.then(|| "too few".into()) };
        if self.process.record.complete.get(&place) == Some(&completion) {
            return false;
        }
        if let Err(refused) = self.holds(place, session) {
            self.refuse(home, refused);
            return true;
        }
        let session = self.last(place, session);
        let done = self.change(|record| record.finish(place, session, &completion)).map(drop);
        self.answer(home, done)
    }
}
