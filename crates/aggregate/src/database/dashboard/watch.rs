//! Memory of the dashboard while the program runs: the rate of reports, the times at which rounds entered their states,
//! and whether oracles answer. Everything in it is bounded, and gone with the program.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tacita_serve::clock;

use super::super::Database;
use crate::transport::{ApiRequest, Persistence};
use crate::wire::rounds::RoundState;

/// Interval at which rounds are checked.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Over how long a rate is taken, in looks.
pub(super) const POLLS_EACH: u64 = 5;

/// Rates that are kept: ten minutes.
pub(super) const KEPT: usize = 120;

/// Intervals at which oracles are asked whether they are there: the usual one, and the one while an oracle is not.
const MEET: Duration = Duration::from_secs(15);
const MEET_AGAIN: Duration = Duration::from_secs(3);

/// Bytes of what a service says of itself.
const MAX_BYTES: usize = 1 << 14;

/// Observations since the program was started.
#[derive(Default)]
pub(super) struct Watch(Mutex<Seen>);

/// Outcome of the attempts to reach an oracle.
#[derive(Debug, Clone, Default)]
pub(super) struct Contact {
    /// Time of the last answer.
    pub(super) last: Option<Instant>,
    /// Error of the last attempt, if there was one.
    pub(super) problem: Option<String>,
}

#[derive(Default)]
struct Seen {
    /// Reports a second, the latest last.
    rates: VecDeque<f64>,
    /// Number of reports at the time of the latest rate.
    taken: Option<(Instant, BTreeMap<String, u64>)>,
    /// State of each round, and the time at which it began, in seconds since 1970. There is no time if the round was in
    /// that state from the beginning.
    states: BTreeMap<String, (RoundState, Option<u64>)>,
    oracles: Vec<Contact>,
}

impl Watch {
    /// Begins to watch a database, until that is gone.
    pub(super) fn start(database: &Arc<Database>) -> Arc<Watch> {
        let watch = Arc::new(Watch::default());
        watch.lock().oracles = vec![Contact::default(); database.oracles.len()];
        watch.note(&states(database));
        let (looking, meeting) = (watch.clone(), watch.clone());
        let (looked_at, met) = (Arc::downgrade(database), Arc::downgrade(database));
        std::thread::spawn(move || looking.look(&looked_at));
        std::thread::spawn(move || meeting.meet(&met));
        watch
    }

    fn look(&self, database: &Weak<Database>) {
        for looks in 0_u64.. {
            match database.upgrade() {
                Some(database) if !database.cancel.is_cancelled() => {
                    self.note(&states(&database));
                    if looks.is_multiple_of(POLLS_EACH) {
                        let (had, grow) = (self.had(), growing(&database));
                        self.measure(Instant::now(), reports(&database, had.union(&grow)), &grow);
                    }
                }
                _ => return,
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Asks oracles whether they are there: nobody else does before a reveal.
    fn meet(&self, database: &Weak<Database>) {
        let mut asked: Option<Instant> = None;
        loop {
            match database.upgrade() {
                Some(database) if !database.cancel.is_cancelled() => {
                    let pause =
                        if self.lock().oracles.iter().any(|one| one.problem.is_some()) { MEET_AGAIN } else { MEET };
                    if asked.is_none_or(|asked| asked.elapsed() >= pause) {
                        for (place, oracle) in database.oracles.iter().enumerate() {
                            let once = Persistence { silence: Duration::ZERO, busy: Duration::ZERO };
                            let answer = oracle.ask(&ApiRequest::get("/v1/here", MAX_BYTES), once);
                            let mut seen = self.lock();
                            let Some(contact) = seen.oracles.get_mut(place) else { continue };
                            match answer {
                                Ok(_) => *contact = Contact { last: Some(Instant::now()), problem: None },
                                Err(error) => contact.problem = Some(error.to_string()),
                            }
                        }
                        asked = Some(Instant::now());
                    }
                }
                _ => return,
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Notes in which state each round is now.
    fn note(&self, now: &[(String, RoundState)]) {
        let mut seen = self.lock();
        let first = seen.states.is_empty();
        for (round, state) in now {
            match seen.states.get(round) {
                Some((known, _)) if known == state => (),
                _ => {
                    let since = (!first).then(clock::now);
                    seen.states.insert(round.clone(), (*state, since));
                }
            }
        }
    }

    /// Rounds that might grow when the latest rate was taken.
    fn had(&self) -> BTreeSet<String> {
        self.lock().taken.iter().flat_map(|(_, had)| had.keys().cloned()).collect()
    }

    /// Takes a rate from how many reports each round has now that may grow, or might when the rate before was taken.
    fn measure(&self, now: Instant, mut reports: BTreeMap<String, u64>, grow: &BTreeSet<String>) {
        let mut seen = self.lock();
        if let Some((before, had)) = &seen.taken {
            // What was there when a round was first seen came at no known time.
            let came: u64 = reports.iter().map(|(round, now)| now - (*had.get(round).unwrap_or(now)).min(*now)).sum();
            let rate = came as f64 / now.duration_since(*before).as_secs_f64().max(0.001);
            seen.rates.push_back(rate);
            while seen.rates.len() > KEPT {
                seen.rates.pop_front();
            }
        }
        reports.retain(|round, _| grow.contains(round));
        seen.taken = Some((now, reports));
    }

    /// Reports a second, the latest last.
    pub(super) fn rates(&self) -> Vec<f64> {
        self.lock().rates.iter().copied().collect()
    }

    /// Returns the time since which a round is in a state, if the change was observed.
    pub(super) fn since(&self, round: &str, state: RoundState) -> Option<u64> {
        self.lock().states.get(round).filter(|(known, _)| *known == state).and_then(|(_, since)| *since)
    }

    pub(super) fn oracles(&self) -> Vec<Contact> {
        self.lock().oracles.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn states(database: &Database) -> Vec<(String, RoundState)> {
    database.all().iter().map(|round| (round.name.clone(), round.record().state)).collect()
}

/// Rounds that may still grow.
fn growing(database: &Database) -> BTreeSet<String> {
    let all = database.all();
    let grow = all.iter().filter(|round| matches!(round.record().state, RoundState::Open | RoundState::Closed));
    grow.map(|round| round.name.clone()).collect()
}

fn reports<'a>(database: &Database, rounds: impl Iterator<Item = &'a String>) -> BTreeMap<String, u64> {
    rounds.filter_map(|round| Some((round.clone(), database.storage.totals(round).ok()?.reports))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn had(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|(round, reports)| ((*round).to_owned(), *reports)).collect()
    }

    #[test]
    fn rates_are_of_what_came_and_no_more_are_kept_than_are_shown() {
        let (watch, began) = (Watch::default(), Instant::now());
        let measure = |seconds: u64, pairs: &[(&str, u64)], grow: &[&str]| {
            let grow = grow.iter().map(|round| (*round).to_owned()).collect();
            watch.measure(began + Duration::from_secs(seconds), had(pairs), &grow);
        };
        measure(0, &[("a", 100)], &["a"]);
        assert!(watch.rates().is_empty(), "one look is no rate");
        measure(5, &[("a", 150), ("b", 1000)], &["a", "b"]);
        // The last reports of a come, and it is counted, between two looks.
        measure(10, &[("a", 170), ("b", 1010)], &["b"]);
        assert_eq!(watch.had().into_iter().collect::<Vec<_>>(), ["b"]);
        measure(15, &[("b", 10)], &["b"]);
        assert_eq!(watch.rates(), [10.0, 6.0, 0.0], "what is removed, or was there before, came at no time");
        (0..200).for_each(|look| measure(20 + 5 * look, &[("b", 10 + look)], &["b"]));
        assert_eq!(watch.rates().len(), KEPT);
    }

    #[test]
    fn a_state_is_known_since_it_was_seen_to_begin() {
        let watch = Watch::default();
        watch.note(&[("a".into(), RoundState::Open)]);
        assert_eq!(watch.since("a", RoundState::Open), None);
        watch.note(&[("a".into(), RoundState::Closed)]);
        assert!(watch.since("a", RoundState::Closed).is_some_and(|since| since + 5 > clock::now()));
        assert_eq!(watch.since("a", RoundState::Open), None);
    }
}
