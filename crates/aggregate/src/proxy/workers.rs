//! Work on rounds: done by a fixed number of threads, in the order in which it became due.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Threads that work on rounds. Each may have the memory of a shuffle.
pub(super) const WORKERS: usize = 8;

/// Rounds that wait for a thread, and those that are worked on.
#[derive(Default)]
pub(super) struct Workers {
    due: Mutex<Due>,
    changed: Condvar,
}

#[derive(Default)]
struct Due {
    waiting: VecDeque<String>,
    /// Rounds that wait, and rounds that are being worked on.
    known: BTreeSet<String>,
    ended: bool,
}

/// Has the threads end when it goes.
pub(super) struct Ending<'a>(&'a Workers);

impl Workers {
    /// Adds a round, unless it waits or is worked on.
    pub(super) fn add(&self, round: &str) {
        let mut due = self.lock();
        if due.known.insert(round.to_owned()) {
            due.waiting.push_back(round.to_owned());
            self.changed.notify_one();
        }
    }

    /// Works on one round after the other, until the work is to end. Several threads do this at the same time; none of
    /// two on the same round.
    pub(super) fn work(&self, on: impl Fn(&str)) {
        while let Some(round) = self.next() {
            on(&round);
            self.lock().known.remove(&round);
        }
    }

    /// Returns a guard that ends all threads when it is dropped: those that are at work when they are done with that.
    pub(super) fn ending(&self) -> Ending<'_> {
        Ending(self)
    }

    fn next(&self) -> Option<String> {
        let mut due = self.lock();
        loop {
            if due.ended {
                return None;
            }
            if let Some(round) = due.waiting.pop_front() {
                return Some(round);
            }
            due = self.changed.wait(due).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Due> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Thousands of rounds are worked on by as many threads as there are, each once, and what is added meanwhile waits
    /// behind the others.
    #[test]
    fn many_rounds_are_worked_on_by_few_threads() {
        const ROUNDS: usize = 5000;
        let (workers, done, at_work) = (Workers::default(), Mutex::new(BTreeMap::new()), AtomicUsize::new(0));
        let (all, enough) = (Barrier::new(WORKERS + 1), AtomicUsize::new(0));
        let name = |place: usize| format!("round-{place}");
        (0..ROUNDS).for_each(|place| workers.add(&name(place)));
        (0..ROUNDS).for_each(|place| workers.add(&name(place)));
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    workers.work(|round| {
                        assert!(at_work.fetch_add(1, Ordering::SeqCst) < WORKERS);
                        // The first ones are held until all threads are at work.
                        if enough.fetch_add(1, Ordering::SeqCst) < WORKERS {
                            all.wait();
                        }
                        *done.lock().unwrap().entry(round.to_owned()).or_insert(0) += 1;
                        at_work.fetch_sub(1, Ordering::SeqCst);
                    });
                });
            }
            all.wait();
            let _ending = workers.ending();
            while done.lock().unwrap().len() < ROUNDS {
                std::thread::yield_now();
            }
        });
        let done = done.into_inner().unwrap();
        assert!(done.len() == ROUNDS && done.values().all(|times| *times == 1));
    }

    /// Rounds that wait when the work is to end are left.
    #[test]
    fn what_waits_at_the_end_is_left() {
        let workers = Workers::default();
        ["a", "b", "c"].iter().for_each(|round| workers.add(round));
        let done = Mutex::new(Vec::new());
        workers.work(|round| {
            done.lock().unwrap().push(round.to_owned());
            workers.add("a");
            drop(workers.ending());
        });
        assert_eq!(*done.lock().unwrap(), ["a"]);
        // What was worked on can be due again.
        assert!(!workers.lock().known.contains("a"));
    }
}
