//! Exact answers about nearly the same rows, as a ledger counts them and a policy limits them.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::govern::difference::tests::{OTHER, PEER, count, identity, key, rows, table};
use crate::govern::difference::{ComparableRows, RowKey, RowSketches};
use crate::govern::policy::{Answers, NotCounted, Policy, PolicyQuestion};

/// Sketches are sealed in the ledger, and neither shown nor exported.
#[test]
fn sketches_are_not_shown() {
    let one = RowSketches::of_table(&count(), "a", &table(&rows(50), false), &key(), 20);
    let (home, identity) = (tempfile::tempdir().unwrap(), identity());
    let (ledger, text) = (Ledger::open(home.path(), &identity).unwrap(), serde_json::to_string(&one).unwrap());
    let place = ledger.begin(Begun::of(&count(), "a", UtcTime::now()), |_| Ok(None)).unwrap();
    ledger.compare(place.entry, ComparableRows::Sketched(one), vec![PEER.into()], |_, _| Ok(None)).unwrap();
    let part = &text.as_bytes()[20..60];
    let bytes = std::fs::read(home.path().join("ledger")).unwrap();
    assert!(!bytes.windows(part.len()).any(|window| window == part));
    let shown = serde_json::to_string(&ledger.read().unwrap().entries).unwrap();
    assert!(shown.contains("comparison") && !shown.contains(&text[20..60]), "{shown}");
}

fn policy(keys: &str) -> Policy {
    let text = format!(
        "[[allow]]\npeers = [\"{PEER}\", \"{OTHER}\"]\n{keys}\n[groups]\ntogether = [\"{PEER}\", \"{OTHER}\"]\n"
    );
    Policy::parse(Path::new("p"), &text).unwrap()
}

/// A run that is asked about again does not take an approval that a later run has got since.
#[test]
fn approvals_are_not_taken_from_later_runs() {
    let (home, identity) = (tempfile::tempdir().unwrap(), identity());
    let ledger = Ledger::open(home.path(), &identity).unwrap();
    let begin = |approval: &str| {
        let allowed = Allowed { approvals: vec![approval.into()], ..Allowed::default() };
        ledger.begin(Begun::of(&count(), "a", UtcTime::now()), |_| Ok(Some(allowed))).unwrap().entry
    };
    let (first, second) = (begin("one"), begin("other"));
    ledger.end(first, Ended::failed(&Error::Interrupted)).unwrap();
    begin("one");
    let seen = ledger.compare(second, ComparableRows::None, Vec::new(), |history, _| {
        assert_eq!(["one", "other"].map(|approval| history.runs_approved_by(approval)), [1, 0]);
        Ok(None)
    });
    seen.unwrap();
}

/// A ledger with a policy, whose runs are those of one peer or the other.
struct Runs {
    home: tempfile::TempDir,
    identity: Identity,
    policy: Policy,
}

impl Runs {
    fn new(keys: &str) -> Runs {
        Runs { home: tempfile::tempdir().unwrap(), identity: identity(), policy: policy(keys) }
    }

    fn ledger(&self) -> Ledger {
        Ledger::open(self.home.path(), &self.identity).unwrap()
    }

    /// Begins a run with a peer, and compares its rows; returns its entry, or the refusal.
    fn begin(&self, peer: &str, rows: &[(String, i64)]) -> std::result::Result<u64, String> {
        let sketches = RowSketches::of_table(&count(), "a", &table(rows, false), &RowKey::of(&self.identity), 20);
        self.begin_with(peer, ComparableRows::Sketched(sketches))
    }

    fn begin_with(&self, peer: &str, rows: ComparableRows) -> std::result::Result<u64, String> {
        let (ledger, mut job) = (self.ledger(), count());
        job.parties.get_mut("b").unwrap().identity = Some(peer.parse().unwrap());
        let now = UtcTime::now();
        let allow = |history: &dyn History, answers: &dyn Answers| {
            let question =
                PolicyQuestion { job: &job, me: "a", now: now.timestamp(), history, approvals: &[], answers };
            self.policy.allow(&question).map(Some)
        };
        let begun = Begun::of(&job, "a", now);
        let place = ledger.begin(begun, |history| allow(history, &NotCounted)).map_err(|error| error.to_string())?;
        let compared = ledger.compare(place.entry, rows, vec![peer.into()], |history, near| allow(history, near));
        match compared {
            Ok(_) => Ok(place.entry),
            Err(error) => {
                ledger.end(place.entry, Ended::failed(&error)).unwrap();
                Err(error.to_string())
            }
        }
    }

    fn run(&self, peer: &str, rows: &[(String, i64)]) -> std::result::Result<(), String> {
        let (entry, ledger) = (self.begin(peer, rows)?, self.ledger());
        ledger.agreed(entry, Receipts::default()).unwrap();
        ledger.end(entry, Ended { outcome: "done".into(), ..Ended::default() }).unwrap();
        Ok(())
    }
}

/// Answers are counted by peer, by group and in all, about rows that differ by fewer than `min_difference`.
#[test]
fn exact_answers_are_limited() {
    let (base, far) = (rows(100), rows(200));
    for (limits, same_peer, other_peer) in [
        ("2", 2, 2),
        ("{ all = 2 }", 2, 2),
        ("{ peer = 2 }", 2, 4),
        ("{ group = 3 }", 3, 3),
        ("{ peer = 2, group = 3 }", 2, 3),
        ("{ peer = 2, all = 3 }", 2, 3),
    ] {
        let runs = Runs::new(&format!("exact_answers = {limits}\n"));
        let times = |peer: &str, rows: &[(String, i64)]| (0..9).take_while(|_| runs.run(peer, rows).is_ok()).count();
        // 0 rows, then 9, which are nearly the same.
        assert_eq!(times(PEER, &base), same_peer, "{limits}");
        assert_eq!(times(PEER, &base[9..]), 0, "{limits}");
        assert_eq!(same_peer + times(OTHER, &base[..99]), other_peer, "{limits}");
        // Ten rows fewer are others, and so are a hundred more.
        assert!(runs.run(PEER, &base[10..]).is_ok(), "{limits}");
        assert!(runs.run(PEER, &far).is_ok(), "{limits}");
    }
    let runs = Runs::new("min_difference = 3\nexact_answers = 1\n");
    runs.run(PEER, &base).unwrap();
    let error = runs.run(PEER, &base[2..]).unwrap_err();
    assert_eq!(
        error,
        "p, line 4: refused by policy: exact_answers: b had 1 answer about these rows, or about rows that differ by fewer than 3"
    );
    runs.run(PEER, &base[3..]).unwrap();
    // None at all, which is known before the rows are; and rows that cannot be compared.
    let error = Runs::new("exact_answers = 0\n").run(PEER, &base).unwrap_err();
    assert!(error.contains("b had 0 answers"), "{error}");
    let error =
        Runs::new("exact_answers = 1\n").begin_with(PEER, ComparableRows::Unknown("they are hidden")).unwrap_err();
    assert!(error.ends_with("cannot be compared with those of earlier runs: they are hidden"), "{error}");
    Runs::new("").begin_with(PEER, ComparableRows::Unknown("they are hidden")).unwrap();
}

/// A run that was refused, or failed before the parties agreed, told nobody anything; one under way may yet.
#[test]
fn only_runs_that_may_tell_something_count() {
    let (runs, base) = (Runs::new("exact_answers = 1\n"), rows(20));
    let failed = runs.begin(PEER, &base).unwrap();
    assert!(runs.begin(PEER, &base).is_err(), "the first is under way");
    runs.ledger().end(failed, Ended::failed(&Error::Interrupted)).unwrap();
    let second = runs.begin(PEER, &base).unwrap();
    runs.ledger().agreed(second, Receipts::default()).unwrap();
    runs.ledger().end(second, Ended::failed(&Error::Interrupted)).unwrap();
    assert!(runs.begin(PEER, &base).is_err(), "they had agreed");
}

/// Another rule may allow what one has had enough of; the entry names the one that did.
#[test]
fn rules_are_asked_again_when_the_rows_are_known() {
    let mut runs = Runs::new("exact_answers = 1\n");
    let text = format!(
        "[[allow]]\npeers = [\"{PEER}\"]\nexact_answers = 1\n[[allow]]\npeers = [\"{PEER}\"]\nexact_answers = 2\n"
    );
    runs.policy = Policy::parse(Path::new("p"), &text).unwrap();
    let outcomes: Vec<_> = (0..3).map(|_| runs.run(PEER, &rows(9)).is_ok()).collect();
    assert_eq!(outcomes, [true, true, false]);
    let entries = runs.ledger().read().unwrap().entries;
    let rules: Vec<_> = entries.iter().map(|entry| entry.begun.policy.clone().unwrap()).collect();
    assert_eq!(rules[..2], ["p, line 2", "p, line 5"]);
    let near = |entry: usize| -> Vec<_> {
        entries[entry].comparison.as_ref().unwrap().near.iter().map(|near| (near.entry, near.rows)).collect()
    };
    assert_eq!((near(0), near(1)), (vec![], vec![(1, 0)]));
}

/// Runs at the same time reserve their answers one after the other.
#[test]
fn answers_of_runs_at_the_same_time_are_counted() {
    let (runs, allowed) = (Runs::new("exact_answers = { peer = 3, all = 5 }\n"), AtomicU64::new(0));
    let base = rows(30);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (runs, allowed, base) = (&runs, &allowed, &base);
            scope.spawn(move || {
                for run in 0..4 {
                    let peer = if thread % 2 == 0 { PEER } else { OTHER };
                    allowed.fetch_add(u64::from(runs.run(peer, &base[..30 - run]).is_ok()), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(allowed.into_inner(), 5);
    let entries = runs.ledger().read().unwrap().entries;
    let done = entries.iter().filter(|entry| entry.outcome() == "done");
    let told: Vec<_> = done.map(|entry| &entry.comparison.as_ref().unwrap().told[0]).collect();
    assert_eq!((entries.len(), told.len()), (32, 5));
    assert!([PEER, OTHER].iter().all(|peer| told.iter().filter(|pin| **pin == peer).count() <= 3));
}
