use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;
use rand_core::Rng;
use tacita_core::Error;

use super::*;
use crate::agreement::{JobSpec, Source};
use crate::base::random::fresh_rng;
use crate::govern::ledger::{Begun, Ended, Ledger};
use crate::govern::policy::{History, NotCounted, Policy, PolicyQuestion};
use crate::govern::receipt::Receipts;
use crate::identity::{Identity, VALIDITY};
use crate::table::{ReadOptions, Table};

const PEER: &str = "SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const OTHER: &str = "SHA256:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE";

fn sketched(elements: &[u64], capacity: usize) -> Sketch {
    let mut sketch = Sketch::new(capacity);
    sketch.extend(elements);
    sketch
}

/// The difference of two multisets, counted.
fn plain(now: &[u64], then: &[u64]) -> Difference {
    let mut counts = BTreeMap::<u64, i64>::new();
    now.iter().for_each(|element| *counts.entry(*element).or_default() += 1);
    then.iter().for_each(|element| *counts.entry(*element).or_default() -= 1);
    let with = |sign: i64| counts.values().filter(|count| count.signum() == sign).count() as u64;
    Difference { added: with(1), removed: with(-1) }
}

fn random(number: usize) -> Vec<u64> {
    let mut rng = fresh_rng().unwrap();
    (0..number).map(|_| rng.next_u64()).collect()
}

/// A difference is exact up to the capacity, and more than that is told from it, whichever side it is on.
#[test]
fn a_difference_is_exact_up_to_the_capacity() {
    for capacity in [1, 2, 3, 20, 41] {
        let common = random(1000);
        for differing in [0, 1, 2, capacity - 1, capacity, capacity + 1, capacity + 2, 2 * capacity + 3, 5000] {
            for gone in [0, 1, differing / 2, differing] {
                let gone = gone.min(differing);
                let (old, new) = (random(gone), random(differing - gone));
                let [then, now] = [old, new].map(|more| [&common[..], &more].concat());
                let found = sketched(&now, capacity).since(&sketched(&then, capacity));
                let expected = plain(&now, &then);
                let expected = (expected.added + expected.removed <= capacity as u64).then_some(expected);
                assert_eq!(found, expected, "{capacity} {differing} {gone}");
            }
        }
    }
    // Nothing at all, and sketches of other capacities, of which the smaller one counts.
    assert_eq!(Sketch::new(2).since(&Sketch::new(2)), Some(Difference { added: 0, removed: 0 }));
    assert_eq!(sketched(&[7], 2).since(&Sketch::new(2)), Some(Difference { added: 1, removed: 0 }));
    assert_eq!(sketched(&random(4), 8).since(&Sketch::new(3)), None);
    assert_eq!(sketched(&random(3), 8).since(&Sketch::new(3)).unwrap().added, 3);
}

proptest! {
    /// Multisets with many equal elements, also those of which the hash is no residue.
    #[test]
    fn differences_are_those_of_the_plain_multisets(
        now in prop::collection::vec(prop_oneof![1u64..9, Just(u64::MAX), Just(u64::MAX - 1)], 0..60),
        then in prop::collection::vec(1u64..9, 0..60),
    ) {
        let found = sketched(&now, 12).since(&sketched(&then, 12));
        // 2^64 - 1 and 2^64 - 2 are residues of 2^32 - 2 and 2^32 - 3.
        prop_assert_eq!(found, Some(plain(&now, &then)));
    }

    #[test]
    fn any_text_is_a_sketch_or_none(text in "[0-9a-f]{0,70}|\\PC{0,9}") {
        if let Some(sketch) = Sketch::decode(&text) {
            prop_assert_eq!(Sketch::decode(&sketch.encode()), Some(sketch));
        }
    }
}

fn job(text: &str) -> JobSpec {
    let parties = format!("[parties.a]\n[parties.b]\nidentity = \"{PEER}\"\n");
    JobSpec::parse(&format!("id = \"t\"\n{text}{parties}"), false).unwrap()
}

fn count() -> JobSpec {
    job(
        "job = \"intersect\"\nreveal_to = [\"b\"]\nreveal = \"count\"\n[key]\ncolumns = [\"name\"]\nnormalize = [\"name\"]\n",
    )
}

fn identity() -> Identity {
    let now = SystemTime::now();
    Identity::generate("a", now, now + VALIDITY).unwrap()
}

fn key() -> RowKey {
    RowKey::of(&identity())
}

/// A table of names, each with a number, in columns of that order or the other.
fn table(rows: &[(String, i64)], numbers_first: bool) -> Table {
    let names: ArrayRef = Arc::new(rows.iter().map(|(name, _)| Some(name)).collect::<StringArray>());
    let numbers: ArrayRef = Arc::new(rows.iter().map(|(_, number)| *number).collect::<Int64Array>());
    let mut columns = vec![("name", names), ("cost", numbers)];
    if numbers_first {
        columns.reverse();
    }
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    Table::new("table", batch.schema(), vec![batch]).unwrap()
}

fn rows(number: usize) -> Vec<(String, i64)> {
    (0..number).map(|row| (format!("Ann {row}"), row as i64)).collect()
}

fn differing(job: &JobSpec, key: &RowKey, now: &Table, then: &Table) -> Option<u64> {
    let [now, then] = [now, then].map(|table| RowSketches::of_table(job, "a", table, key, 20));
    now.since(&then).map(Difference::rows)
}

/// Rows are found again by their key, or by all of their columns, whatever is between them.
#[test]
fn rows_are_compared_by_key_and_whole() {
    let (key, base) = (key(), rows(300));
    let then = table(&base, false);
    let changed = |change: &dyn Fn(usize, &mut (String, i64))| {
        let mut rows = base.clone();
        rows.iter_mut().enumerate().for_each(|(place, row)| change(place, row));
        rows
    };
    let reversed: Vec<_> = base.iter().rev().cloned().collect();
    let dot = job("job = \"dot\"\nreveal_to = [\"b\"]\ncolumn = \"cost\"\nbits = 16\n");
    for (rows, by_key, whole) in [
        (base.clone(), Some(0), Some(0)),
        (reversed, Some(0), Some(0)),
        (base[..299].to_vec(), Some(1), Some(1)),
        ([&base[..], &[("Bob".into(), 3)]].concat(), Some(1), Some(1)),
        (changed(&|place, row| row.1 += i64::from(place < 3)), Some(0), Some(3)),
        // Another column of all rows is another table to who looks at whole rows alone.
        (changed(&|_, row| row.1 += 1000), Some(0), None),
        (changed(&|_, row| row.0 = row.0.to_uppercase()), Some(0), None),
        (changed(&|_, row| row.0.push('x')), None, None),
        (base[..250].to_vec(), None, None),
        (Vec::new(), None, None),
    ] {
        for numbers_first in [false, true] {
            let now = table(&rows, numbers_first);
            assert_eq!(differing(&count(), &key, &now, &then), by_key, "{}", rows.len());
            assert_eq!(differing(&dot, &key, &now, &then), whole, "{}", rows.len());
        }
    }
}

/// Without the key of the ledger a sketch says nothing, not even whether two are of the same rows.
#[test]
fn a_sketch_cannot_be_read_without_the_key() {
    let same = table(&rows(50), false);
    let [one, other] = [key(), key()].map(|key| RowSketches::of_table(&count(), "a", &same, &key, 20));
    assert!(one.since(&other).is_none(), "of other keys");
    let guessed = blake3::hash(b"Ann 0");
    assert!(!serde_json::to_string(&one).unwrap().contains(&guessed.to_hex().to_string()[..16]));
    assert!(!format!("{one:?}").contains(|c: char| c.is_ascii_digit()));
    // In the ledger it is sealed, and neither shown nor exported.
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

/// Files in any form are the same rows, read into memory or not; what is no table says why.
#[test]
fn files_are_compared_in_any_form() {
    let (home, key) = (tempfile::tempdir().unwrap(), key());
    let file = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let source = |path| Source::File { path, options: ReadOptions::default(), allow_unreadable: false };
    let csv = source(file("t.csv", "name,cost\nAnn 0,0\nAnn 1,1\n"));
    let json = source(file("t.json", "[{\"cost\":0,\"name\":\"Ann 0\"},{\"cost\":1,\"name\":\"Ann 1\"}]"));
    let memory = Source::Table { table: table(&rows(2), true), allow_unreadable: false };
    let Source::File { path, options, .. } = csv.clone() else { panic!() };
    let prepared = Source::Prepared { directory: home.path().into(), check: Some((path, options)) };
    let sketches =
        [csv, json, memory, prepared].map(|source| match sketch(&count(), "a", &source, &key, 20).unwrap() {
            (_, ComparableRows::Sketched(sketches)) => sketches,
            _ => panic!("not compared"),
        });
    for other in &sketches[1..] {
        assert_eq!(sketches[0].since(other), Some(Difference { added: 0, removed: 0 }));
    }
    let unknown = |job: &JobSpec, source: &Source| match sketch(job, "a", source, &key, 20).unwrap().1 {
        ComparableRows::Unknown(why) => why,
        _ => panic!("compared"),
    };
    let rules = job("job = \"rules\"\nreveal_to = [\"a\", \"b\"]\nmin_support = 1\nmin_confidence = 0.5\n");
    assert!(unknown(&rules, &source(file("t.dat", "1 2\n3\n"))).contains("baskets in lines"));
    let prepared = Source::Prepared { directory: home.path().into(), check: None };
    assert!(unknown(&count(), &prepared).contains("prepared"));
    assert!(unknown(&count(), &source(home.path().join("none.csv"))).contains("cannot be read"));
    let shares = sketch(&count(), "a", &Source::Shares(Vec::new()), &key, 20).unwrap().1;
    assert!(matches!(shares, ComparableRows::None));
}

fn policy(keys: &str) -> Policy {
    let text = format!(
        "[[allow]]\npeers = [\"{PEER}\", \"{OTHER}\"]\n{keys}\n[groups]\ntogether = [\"{PEER}\", \"{OTHER}\"]\n"
    );
    Policy::parse(Path::new("p"), &text).unwrap()
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
    fn begin(&self, peer: &str, rows: &[(String, i64)]) -> Result<u64, String> {
        let sketches = RowSketches::of_table(&count(), "a", &table(rows, false), &RowKey::of(&self.identity), 20);
        self.begin_with(peer, ComparableRows::Sketched(sketches))
    }

    fn begin_with(&self, peer: &str, rows: ComparableRows) -> Result<u64, String> {
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

    fn run(&self, peer: &str, rows: &[(String, i64)]) -> Result<(), String> {
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

/// The warning tells the same rows from a few that differ, and says nothing of rows that are others.
#[test]
fn a_warning_says_which_case_it_is() {
    let base = rows(100);
    let key = key();
    let sketches = |rows: &[(String, i64)]| RowSketches::of_table(&count(), "a", &table(rows, false), &key, 20);
    let (then, told) = (sketches(&base), vec![PEER.to_owned()]);
    let time = UtcTime::default();
    let warning = |rows: &[(String, i64)]| {
        let earlier = EarlierAnswer { entry: 7, time, told: &told, rows: &then };
        let near = NearAnswers::find(&ComparableRows::Sketched(sketches(rows)), [earlier].into_iter());
        near.warning(&["insurer"], 10)
    };
    let same = warning(&base).unwrap();
    assert!(same.starts_with("the same rows as in run 7 of 1970-01-01") && same.contains("1 exact answer"), "{same}");
    let few = warning(&base[3..]).unwrap();
    assert!(few.starts_with("nearly the same rows as in run 7") && few.contains("(0 more, 3 fewer)"), "{few}");
    assert!(few.contains("tells about the 3 rows that differ"), "{few}");
    assert_eq!(warning(&base[10..]), None);
}

/// Time and bytes for a million rows.
#[test]
#[ignore = "slow: a million rows"]
fn a_million_rows_are_sketched() {
    let (key, million) = (key(), table(&rows(1_000_000), false));
    for near in [10, 100, 250] {
        let started = std::time::Instant::now();
        let sketches = RowSketches::of_table(&count(), "a", &million, &key, capacity(near));
        let seconds = started.elapsed().as_secs_f64();
        let bytes = serde_json::to_string(&sketches).unwrap().len();
        println!("min_difference = {near}: {seconds:.2} s, {bytes} bytes in the ledger");
        assert_eq!(sketches.since(&sketches).map(Difference::rows), Some(0));
    }
}
