//! Everything that can happen to a small round, in every order: proxies that take, claim, shuffle, hand over and send,
//! a database, crashes, and copies of directories, queues and storages that are put back, started beside each other, or
//! take over while the database runs. The database's part is the rules of `progress.rs` themselves, a directory's part
//! those of `proxy/journal.rs`; what a queue does on disk has tests of its own.
//!
//! In a round that is revealed no report counts twice, and none that was acknowledged is missing unless its operator
//! went on without the proxy that had it. Each rule that is left out breaks this, and the search says how.

mod batches;
mod database;
mod home;
mod process;
mod proxy;
mod world;

use std::collections::{HashSet, VecDeque};
use std::hash::{Hash, Hasher};

use self::world::{Limits, Rules, World};

/// Result of a search.
struct Found {
    states: usize,
    /// Number of these states that are revealed rounds.
    revealed: usize,
    /// Sequence of steps that leads to a round that is revealed and wrong.
    wrong: Option<Vec<String>>,
}

/// The bytes that a state is told apart by. The hasher of the standard library, which is generic, would be compiled
/// here without optimisation, and take most of the time.
struct StateBytes(Vec<u8>);

impl Hasher for StateBytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("all of the bytes are hashed, elsewhere")
    }
}

/// Goes through all states that follow from the first, those first that take fewest steps.
fn search(limits: Limits, rules: Rules) -> Found {
    // Two states of one fingerprint of 128 bits are one.
    let fingerprint = |world: &World| {
        let mut bytes = StateBytes(Vec::with_capacity(1 << 10));
        world.hash(&mut bytes);
        *blake3::hash(&bytes.0).as_bytes().first_chunk::<16>().expect("32 bytes")
    };
    let first = World::new(limits, rules);
    let mut seen = HashSet::from([fingerprint(&first)]);
    // Where each state came from, so that a counterexample can be told.
    let mut steps: Vec<(usize, String)> = vec![(0, String::new())];
    let mut open = VecDeque::from([(first, 0)]);
    let mut found = Found { states: 1, revealed: 0, wrong: None };
    while let Some((world, place)) = open.pop_front() {
        for (step, next) in world.next() {
            if !seen.insert(fingerprint(&next)) {
                continue;
            }
            found.states += 1;
            found.revealed += usize::from(next.is_revealed());
            steps.push((place, step));
            let here = steps.len() - 1;
            if let Some(wrong) = next.wrong() {
                let mut path = vec![wrong];
                let mut at = here;
                while at > 0 {
                    path.push(steps[at].1.clone());
                    at = steps[at].0;
                }
                path.reverse();
                found.wrong = Some(path);
                return found;
            }
            if !next.is_over() {
                open.push_back((next, here));
            }
        }
    }
    found
}

#[track_caller]
fn holds(name: &str, limits: Limits) {
    let found = search(limits, Rules::ALL);
    println!("{name}: {} states, {} of them revealed rounds", found.states, found.revealed);
    if let Some(path) = found.wrong {
        panic!("{name}:\n  {}", path.join("\n  "));
    }
    assert!(found.revealed > 0, "{name}: no round comes to its end");
}

/// Without a rule something goes wrong.
#[track_caller]
fn breaks(name: &str, limits: Limits, rules: Rules) {
    let found = search(limits, rules);
    let path = found.wrong.unwrap_or_else(|| panic!("{name}: nothing goes wrong in {} states", found.states));
    println!("{name}: {} states, then\n  {}", found.states, path.join("\n  "));
}

/// Two proxies, and no fault.
const PLAIN: Limits = Limits {
    proxies: 2,
    batches: 2,
    least: 1,
    early: false,
    crashes: 0,
    cuts: 0,
    copies: 0,
    queues: 0,
    storages: 0,
    standbys: 0,
    without: false,
};
const SMALL: Limits = Limits { batches: 1, cuts: 1, ..PLAIN };
const ALONE: Limits = Limits { proxies: 1, ..PLAIN };
const COPIES: Limits = Limits { copies: 1, ..SMALL };
const STORAGES: Limits = Limits { storages: 1, ..SMALL };
const STANDBYS: Limits = Limits { standbys: 1, ..SMALL };
const QUEUES: Limits = Limits { queues: 1, ..ALONE };

#[test]
fn with_crashes_every_report_counts_once() {
    holds("two proxies", PLAIN);
    holds("two proxies that hand over", Limits { least: 2, ..PLAIN });
    holds("two proxies, a batch, a crash", Limits { crashes: 1, ..SMALL });
    holds("two proxies, a batch that is handed over, a crash", Limits { crashes: 1, least: 2, ..SMALL });
    holds("one proxy, three batches, a crash", Limits { batches: 3, crashes: 1, ..ALONE });
}

#[test]
fn with_copies_of_directories_every_report_counts_once_or_somebody_is_told() {
    holds("a directory of two copied, put back or started beside", COPIES);
    holds("a directory copied, and batches leave early", Limits { early: true, copies: 1, ..ALONE });
}

#[test]
fn with_queues_that_are_lost_every_report_counts_once_or_somebody_is_told() {
    holds("a queue lost, or an older one", QUEUES);
    holds("a queue of two lost, or an older one", Limits { queues: 1, ..SMALL });
}

#[test]
fn with_storages_that_are_put_back_every_report_counts_once_or_somebody_is_told() {
    holds("a storage put back", STORAGES);
    holds("a storage of one proxy put back, and batches leave early", Limits { storages: 1, early: true, ..ALONE });
}

#[test]
fn with_standbys_that_lack_the_last_commits_every_report_counts_once_or_somebody_is_told() {
    holds("a standby takes over", STANDBYS);
    holds(
        "a standby takes over from one proxy's storage, and batches leave early",
        Limits { standbys: 1, early: true, ..ALONE },
    );
}

#[test]
fn with_proxies_that_are_given_up_nothing_else_is_missing() {
    holds("a proxy given up", Limits { without: true, ..PLAIN });
    holds("a proxy given up while reports are handed over", Limits { least: 2, without: true, ..PLAIN });
}

#[test]
#[ignore = "minutes: larger sizes"]
fn larger_rounds() {
    holds("a directory copied, twice", Limits { copies: 2, ..ALONE });
    holds("a queue lost, batches leave early, and a crash", Limits { early: true, crashes: 1, ..QUEUES });
    holds("a storage put back, and a crash", Limits { crashes: 1, cuts: 0, ..STORAGES });
    holds("a storage put back, a crash, and batches leave early", Limits { crashes: 1, early: true, ..STORAGES });
    holds("a crash, and claims that are cut off", Limits { crashes: 1, cuts: 2, ..PLAIN });
    holds("a crash, and batches leave early", Limits { crashes: 1, early: true, ..PLAIN });
    holds("a crash while reports are handed over", Limits { crashes: 1, least: 2, ..PLAIN });
    holds("a directory copied", Limits { batches: 2, ..COPIES });
    holds("a directory of one copied, twice, and a crash", Limits { copies: 2, crashes: 1, ..ALONE });
    holds(
        "a directory of one copied, a crash, and batches leave early",
        Limits { early: true, copies: 1, crashes: 1, ..ALONE },
    );
    holds("a directory copied, a crash, a proxy given up", Limits { crashes: 1, without: true, ..COPIES });
    holds("a storage put back", Limits { batches: 2, ..STORAGES });
    holds("a standby takes over", Limits { batches: 2, ..STANDBYS });
    holds("a standby takes over, a crash, and batches leave early", Limits { crashes: 1, early: true, ..STANDBYS });
}

#[test]
fn each_rule_is_needed() {
    let all = Rules::ALL;
    breaks("any directory is let in", COPIES, Rules { fenced: false, ..all });
    breaks("acknowledged before it is covered", COPIES, Rules { covered: false, ..all });
    breaks("claims without a session of their own", STORAGES, Rules { stepped: false, ..all });
    breaks("reports are not compared with what was sent", STORAGES, Rules { summed: false, ..all });
    breaks("a storage that is behind is taken for whole", STORAGES, Rules { whole: false, ..all });
    breaks("rows are counted by a record of before", STANDBYS, Rules { rechecked: false, ..all });
    breaks("what was read before is not compared again", STANDBYS, Rules { resummed: false, ..all });
    breaks("a queue that is gone is made anew", QUEUES, Rules { journaled: false, ..all });
}
