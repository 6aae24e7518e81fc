use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;
use rand_core::Rng;

use super::*;
use crate::agreement::{JobSpec, Source};
use crate::base::random::fresh_rng;
use crate::identity::{Identity, VALIDITY};
use crate::table::{ReadOptions, Table};

pub(in crate::govern) const PEER: &str = "SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
pub(in crate::govern) const OTHER: &str = "SHA256:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE";

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

pub(in crate::govern) fn count() -> JobSpec {
    job(
        "job = \"intersect\"\nreveal_to = [\"b\"]\nreveal = \"count\"\n[key]\ncolumns = [\"name\"]\nnormalize = [\"name\"]\n",
    )
}

pub(in crate::govern) fn identity() -> Identity {
    let now = SystemTime::now();
    Identity::generate("a", now, now + VALIDITY).unwrap()
}

pub(in crate::govern) fn key() -> RowKey {
    RowKey::of(&identity())
}

/// A table of names, each with a number, in columns of that order or the other.
pub(in crate::govern) fn table(rows: &[(String, i64)], numbers_first: bool) -> Table {
    let names: ArrayRef = Arc::new(rows.iter().map(|(name, _)| Some(name)).collect::<StringArray>());
    let numbers: ArrayRef = Arc::new(rows.iter().map(|(_, number)| *number).collect::<Int64Array>());
    let mut columns = vec![("name", names), ("cost", numbers)];
    if numbers_first {
        columns.reverse();
    }
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    Table::new("table", batch.schema(), vec![batch]).unwrap()
}

pub(in crate::govern) fn rows(number: usize) -> Vec<(String, i64)> {
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

/// Rows of few values are told by how often each is there.
#[test]
fn rows_that_repeat_count_each_time() {
    let column =
        |ones: usize| table(&(0..100).map(|row| ("x".into(), i64::from(row < ones))).collect::<Vec<_>>(), false);
    let dot = job("job = \"dot\"\nreveal_to = [\"b\"]\ncolumn = \"cost\"\nbits = 1\n");
    let key = key();
    for ones in [40, 41, 60] {
        assert_eq!(differing(&dot, &key, &column(ones), &column(40)), Some(ones as u64 - 40));
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
        [csv, json, memory, prepared].map(|source| match sketch(&count(), "a", &source, &key, 20, true).unwrap() {
            (_, ComparableRows::Sketched(sketches)) => sketches,
            _ => panic!("not compared"),
        });
    for other in &sketches[1..] {
        assert_eq!(sketches[0].since(other), Some(Difference { added: 0, removed: 0 }));
    }
    let unknown = |job: &JobSpec, source: &Source| match sketch(job, "a", source, &key, 20, false).unwrap().1 {
        ComparableRows::Unknown(why) => why,
        _ => panic!("compared"),
    };
    let rules = job("job = \"rules\"\nreveal_to = [\"a\", \"b\"]\nmin_support = 1\nmin_confidence = 0.5\n");
    assert!(unknown(&rules, &source(file("t.dat", "1 2\n3\n"))).contains("baskets in lines"));
    let prepared = Source::Prepared { directory: home.path().into(), check: None };
    assert!(unknown(&count(), &prepared).contains("prepared"));
    let none = source(home.path().join("none.csv"));
    assert!(unknown(&count(), &none).contains("cannot be read"));
    assert!(sketch(&count(), "a", &none, &key, 20, true).is_err(), "a table that cannot be read is no refusal");
    let shares = sketch(&count(), "a", &Source::Shares(Vec::new()), &key, 20, true).unwrap().1;
    assert!(matches!(shares, ComparableRows::None));
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
        let near = NearAnswers::find(
            &ComparableRows::Sketched(sketches(rows)),
            [earlier].into_iter(),
            &KnownDifferences::default(),
        );
        near.warning(&["insurer"], 10)
    };
    let same = warning(&base).unwrap();
    assert!(same.starts_with("the same rows as in run 7 of 1970-01-01") && same.contains("1 exact answer"), "{same}");
    let few = warning(&base[3..]).unwrap();
    assert!(few.starts_with("nearly the same rows as in run 7") && few.contains("(0 more, 3 fewer)"), "{few}");
    assert!(few.contains("can learn about the 3 rows that differ"), "{few}");
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
