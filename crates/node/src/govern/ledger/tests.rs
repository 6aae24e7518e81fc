mod answers;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::*;
use crate::agreement::JobSpec;
use crate::govern::time::Day;
use crate::identity::VALIDITY;

const PIN: &str = "SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

fn identity() -> Identity {
    let now = SystemTime::now();
    Identity::generate("a", now, now + VALIDITY).unwrap()
}

fn job(id: &str) -> JobSpec {
    let text = format!(
        "job = \"intersect\"\nid = \"{id}\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n[parties.a]\n[parties.b]\nidentity = \"{PIN}\"\n"
    );
    JobSpec::parse(&text, false).unwrap()
}

fn begun(id: &str) -> Begun {
    Begun::of(&job(id), "a", UtcTime::now())
}

/// Runs with noise are charged when they begin, and stay charged however they end, unless they were refused.
#[test]
fn losses_are_charged_before_anything_is_sent_and_never_returned() {
    let (home, identity) = (tempfile::tempdir().unwrap(), identity());
    let ledger = Ledger::open(home.path(), &identity).unwrap();
    let peer: crate::identity::Fingerprint = PIN.parse().unwrap();
    let text = format!(
        "job = \"dot\"\nid = \"n\"\nreveal_to = [\"b\"]\nnoise = {{ epsilon = 0.5, delta = 1e-9 }}\n[parties.a]\n[parties.b]\nidentity = \"{PIN}\"\n"
    );
    let begun = |me: &str| Begun::of(&JobSpec::parse(&text, false).unwrap(), me, UtcTime::now());
    let spent = || {
        let entries = ledger.read().unwrap().entries;
        let loss = entries.loss(Some(&peer), Some(Day::today()));
        assert_eq!(loss, entries.loss(None, None));
        assert_eq!(entries.loss(Some(&identity.fingerprint()), None), Default::default());
        assert_eq!(entries.loss(None, Some(Day::today().after(1))), Default::default());
        (loss.epsilon, loss.delta)
    };
    let failed = || Ended { time: UtcTime::now(), outcome: "failed".into(), ..Ended::default() };
    let first = ledger.begin(begun("a"), allowed).unwrap();
    assert_eq!(spent(), (500_000, 1_000_000_000));
    ledger.end(first.entry, failed()).unwrap();
    assert_eq!(spent(), (500_000, 1_000_000_000), "that it failed may tell something");
    ledger.begin(begun("a"), |_| Err(Error::Policy("no".into()))).unwrap_err();
    let second = ledger.begin(begun("a"), allowed).unwrap();
    ledger.agreed(second.entry, Receipts::default()).unwrap();
    ledger.end(second.entry, failed()).unwrap();
    assert_eq!(spent(), (1_000_000, 2_000_000_000));
    // What is being run counts for the next one.
    let seen = std::cell::Cell::new(0);
    ledger.begin(begun("a"), allowed).unwrap();
    let look = |history: &dyn History| {
        seen.set(history.loss(Some(&peer), None).epsilon);
        Ok(None)
    };
    ledger.begin(begun("a"), look).unwrap();
    assert_eq!((seen.get(), spent().0), (1_500_000, 2_000_000));
    let csv = export::csv(&ledger.read().unwrap().entries).unwrap();
    assert!(csv.contains("\"epsilon 0.5, delta 0.000000001, rho 0.0029"), "{csv}");
    // The party that alone learns loses nothing.
    assert_eq!(begun("b").loss, Some(ChargedLoss(Default::default())));
}

fn allowed(_: &dyn History) -> Result<Option<Allowed>> {
    Ok(None)
}

fn done() -> Ended {
    Ended { time: UtcTime::now(), outcome: "done".into(), ..Ended::default() }
}

/// A run that is entered, agreed on and ended.
fn enter(ledger: &Ledger, id: &str) -> EntryPlace {
    let place = ledger.begin(begun(id), allowed).unwrap();
    ledger.agreed(place.entry, Receipts::default()).unwrap();
    ledger.end(place.entry, done()).unwrap();
    place
}

fn refused(ledger: &Ledger, words: &str) {
    let error = ledger.read().err().expect(words).to_string();
    assert!(error.contains(words) && error.contains("put back ledger") && !error.contains('\n'), "{error}");
    // No run goes on where none can be entered.
    assert!(ledger.begin(begun("later"), allowed).is_err(), "{words}");
}

#[test]
fn every_run_is_entered_once_with_its_end() {
    let (home, identity) = (tempfile::tempdir().unwrap(), identity());
    let ledger = Ledger::open(home.path(), &identity).unwrap();
    assert!(ledger.read().err().unwrap().to_string().contains("nothing was run yet"));
    enter(&ledger, "first");
    let open = ledger.begin(begun("second"), allowed).unwrap();
    let no = |_: &dyn History| Err(Error::Policy("line 3".into()));
    assert_eq!(ledger.begin(begun("third"), no), Err(Error::Policy("line 3".into())));
    let contents = Ledger::open(home.path(), &identity).unwrap().read().unwrap();
    let told: Vec<_> = contents.entries.iter().map(|entry| (entry.entry, &*entry.begun.id, entry.outcome())).collect();
    assert_eq!(told, [(1, "first", "done"), (2, "second", "unfinished"), (3, "third", "refused")]);
    assert_eq!((open.entry, contents.torn, contents.mended), (2, 0, 0));
    assert_eq!(contents.entries[2].ended.as_ref().unwrap().why.as_deref(), Some("line 3"));
    // What was agreed on and what may yet be counts; what was refused does not.
    let peer = PIN.parse().unwrap();
    assert_eq!(contents.entries.runs_with(&peer, Day::today()), 2);
    assert_eq!(contents.entries.runs_with(&identity.fingerprint(), Day::today()), 0);
    let bytes = std::fs::read(home.path().join(LEDGER_FILE)).unwrap();
    assert!(!bytes.windows(6).any(|part| part == b"second"), "it is sealed");
}

/// Every byte of both files counts, every length of them, and the order of records.
#[test]
fn what_was_changed_cut_or_moved_is_noticed() {
    let (home, identity) = (tempfile::tempdir().unwrap(), identity());
    let ledger = Ledger::open(home.path(), &identity).unwrap();
    let path = home.path().join(LEDGER_FILE);
    let mut ends = vec![MAGIC.len()];
    for _ in 0..3 {
        ledger.begin(begun("x"), allowed).unwrap();
        ends.push(std::fs::metadata(&path).unwrap().len() as usize);
    }
    let (whole, mark) = (std::fs::read(&path).unwrap(), std::fs::read(home.path().join(MARK_FILE)).unwrap());
    for position in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
        let mut changed = whole.clone();
        changed[position] ^= 1;
        std::fs::write(&path, changed).unwrap();
        refused(&ledger, "changed, cut or moved");
    }
    for length in (0..whole.len()).step_by(11).chain(ends[..3].iter().copied()).chain([whole.len() - 1]) {
        std::fs::write(&path, &whole[..length]).unwrap();
        refused(&ledger, "changed, cut or moved");
    }
    let record = |number: usize| &whole[ends[number]..ends[number + 1]];
    for order in [[1, 0, 2], [0, 2, 1], [0, 0, 2]] {
        let moved = order.map(record).concat();
        std::fs::write(&path, [&whole[..MAGIC.len()], &moved].concat()).unwrap();
        refused(&ledger, "changed, cut or moved");
    }
    std::fs::write(&path, &whole).unwrap();
    std::fs::remove_file(home.path().join(MARK_FILE)).unwrap();
    refused(&ledger, "ledger.mark beside it is missing");
    std::fs::write(home.path().join(MARK_FILE), &mark[..mark.len() - 1]).unwrap();
    refused(&ledger, "ledger.mark beside it was changed");
    std::fs::write(home.path().join(MARK_FILE), &mark).unwrap();
    std::fs::remove_file(&path).unwrap();
    refused(&ledger, "changed, cut or moved");
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(ledger.read().unwrap().entries.len(), 3);
    // Of another identity nothing can be read, and no other history with as many records passes for this one.
    let other = Ledger::open(home.path(), &self::identity()).unwrap();
    refused(&other, "changed");
    let elsewhere = tempfile::tempdir().unwrap();
    let another = Ledger::open(elsewhere.path(), &identity).unwrap();
    for _ in 0..3 {
        another.begin(begun("x"), allowed).unwrap();
    }
    std::fs::copy(elsewhere.path().join(LEDGER_FILE), &path).unwrap();
    refused(&ledger, "not the ledger that was written last");
}

/// Remains of a last record, and of the mark, after a crash cost no entry that a run went on after.
#[test]
fn a_crash_leaves_a_ledger_that_goes_on() {
    let identity = identity();
    let states = || {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path(), &identity).unwrap();
        let states = (0..2).map(|_| {
            ledger.begin(begun("x"), allowed).unwrap();
            [LEDGER_FILE, MARK_FILE].map(|name| std::fs::read(home.path().join(name)).unwrap())
        });
        states.collect::<Vec<_>>()
    };
    let whole = states();
    let [first, second] = [&whole[0][0], &whole[1][0]];
    // The last record in part, with garbage or zeros for what did not reach the disk; and whole, without its mark.
    let lengths = (first.len()..=second.len()).step_by(37).chain([second.len() - 1, second.len()]);
    // Not so few bytes that the garbage could be right by chance.
    let by_chance = |length: usize| (1..8).contains(&(second.len() - length));
    let cases = lengths.flat_map(|length| [(length, 0), (length, if by_chance(length) { 0 } else { 40 })]);
    for (length, garbage) in cases {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path(), &identity).unwrap();
        std::fs::write(home.path().join(LEDGER_FILE), [&second[..length], &vec![0; garbage]].concat()).unwrap();
        std::fs::write(home.path().join(MARK_FILE), &whole[0][1]).unwrap();
        let contents = ledger.read().unwrap();
        let entries = if length == second.len() { 2 } else { 1 };
        let torn = length + garbage - if entries == 2 { second.len() } else { first.len() };
        assert_eq!((contents.entries.len(), contents.torn), (entries, torn as u64), "{length} {garbage}");
        enter(&ledger, "y");
        let contents = ledger.read().unwrap();
        assert_eq!((contents.entries.len(), contents.torn), (entries + 1, 0));
        assert_eq!(contents.mended, usize::from(torn > 0), "it is told");
    }
    // A second record of another ledger of this identity is none of this one.
    let other = states();
    let foreign = [&first[..], &other[1][0][other[0][0].len()..]].concat();
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(home.path(), &identity).unwrap();
    std::fs::write(home.path().join(LEDGER_FILE), &foreign).unwrap();
    std::fs::write(home.path().join(MARK_FILE), &whole[0][1]).unwrap();
    let contents = ledger.read().unwrap();
    assert_eq!((contents.entries.len(), contents.torn), (1, (foreign.len() - first.len()) as u64));
    // Of the very first record: nothing else was ever there.
    for length in (0..first.len()).step_by(23).chain([1, first.len() - 1]) {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path(), &identity).unwrap();
        // The mark is there before it.
        std::fs::write(home.path().join(LEDGER_FILE), &first[..length]).unwrap();
        if length > 0 {
            refused(&ledger, "beside it is missing");
        }
        ledger.put_mark(End::FIRST).unwrap();
        enter(&ledger, "y");
        assert_eq!(ledger.read().unwrap().entries.len(), 1, "{length}");
    }
    // More than a crash leaves of one record.
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(home.path(), &identity).unwrap();
    let much = vec![0; chain::MAX_SEALED_BYTES as usize + 1];
    std::fs::write(home.path().join(LEDGER_FILE), [first, &much[..]].concat()).unwrap();
    std::fs::write(home.path().join(MARK_FILE), &whole[0][1]).unwrap();
    refused(&ledger, "more stands at its end");
}

/// A ledger that was rotated goes on in a new file: all files are read, and each of them is needed.
#[test]
fn a_rotated_ledger_goes_on() {
    let (home, identity) = (tempfile::tempdir().unwrap(), identity());
    let ledger = Ledger::open(home.path(), &identity).unwrap();
    ledger.rotate().unwrap_err();
    let first = ledger.begin(begun("x"), allowed).unwrap();
    assert_eq!(ledger.rotate().unwrap(), "ledger.1");
    assert!(ledger.is_there() && !ledger.folder.has(LEDGER_FILE));
    assert_eq!(ledger.read().unwrap().entries.len(), 1);
    ledger.rotate().unwrap_err();
    // A run that began before it ends in the new file.
    ledger.end(first.entry, done()).unwrap();
    assert_eq!(ledger.begin(begun("y"), allowed).unwrap().entry, 2);
    assert_eq!(ledger.rotate().unwrap(), "ledger.2");
    enter(&ledger, "z");
    let contents = ledger.read().unwrap();
    let outcomes: Vec<_> = contents.entries.iter().map(|entry| (entry.begun.id.as_str(), entry.outcome())).collect();
    assert_eq!(outcomes, [("x", "done"), ("y", "unfinished"), ("z", "done")]);
    assert!(contents.verify().unwrap().contains("3 runs in 6 records, in 3 files"), "{:?}", contents.verify());

    let path = |name: &str| home.path().join(name);
    let whole = ["ledger.1", "ledger.2", LEDGER_FILE].map(|name| (path(name), std::fs::read(path(name)).unwrap()));
    for (place, (file, bytes)) in whole.iter().enumerate() {
        std::fs::remove_file(file).unwrap();
        refused(&ledger, "changed, cut or moved");
        std::fs::write(file, &whole[(place + 1) % 3].1).unwrap();
        refused(&ledger, "changed, cut or moved");
        let mut changed = bytes.clone();
        changed[40] ^= 1;
        std::fs::write(file, &changed).unwrap();
        refused(&ledger, "changed, cut or moved");
        std::fs::write(file, bytes).unwrap();
    }
    // What is behind the last record of a file that is not written any more is no crash's.
    ledger.rotate().unwrap();
    let third = path("ledger.3");
    std::fs::write(&third, [&whole[2].1[..], &[0; 9]].concat()).unwrap();
    refused(&ledger, "an earlier file of it has more than was written");
    std::fs::write(&third, &whole[2].1).unwrap();
    assert_eq!(ledger.read().unwrap().entries.len(), 3);
}

/// A ledger that is rotated while runs are entered loses none of them.
#[test]
fn a_ledger_is_rotated_between_runs() {
    let (home, identity) = (tempfile::tempdir().unwrap(), identity());
    let open = || Ledger::open(home.path(), &identity).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..8).for_each(|_| {
                    enter(&open(), "x");
                })
            });
        }
        scope.spawn(|| (0..8).for_each(|_| drop(open().rotate())));
    });
    let contents = open().read().unwrap();
    assert_eq!((contents.entries.len(), contents.records), (32, contents.records));
    assert!(contents.entries.iter().all(|entry| entry.outcome() == "done"));
}

/// Many at once: every run has an entry of its own, and none is counted before another that it should have seen.
#[test]
fn runs_at_the_same_time_are_entered_one_after_the_other() {
    at_once(8, 6);
}

#[test]
#[ignore = "slow: a thousand runs"]
fn a_thousand_runs_are_entered_one_after_the_other() {
    at_once(20, 50);
}

fn at_once(threads: u64, each: u64) {
    let (home, identity) = (tempfile::tempdir().unwrap(), identity());
    let most = threads * each / 2;
    let entered = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (home, identity, entered) = (home.path(), &identity, &entered);
            scope.spawn(move || {
                let ledger = Ledger::open(home, identity).unwrap();
                for run in 0..each {
                    let within = |history: &dyn History| {
                        let so_far = history.runs_with(&PIN.parse().unwrap(), Day::today());
                        if so_far < most { Ok(None) } else { Err(Error::Policy("enough".into())) }
                    };
                    let Ok(place) = ledger.begin(begun(&format!("{thread}-{run}")), within) else { continue };
                    entered.fetch_add(1, Ordering::Relaxed);
                    ledger.agreed(place.entry, Receipts::default()).unwrap();
                    ledger.end(place.entry, done()).unwrap();
                }
            });
        }
    });
    let contents = Ledger::open(home.path(), &identity).unwrap().read().unwrap();
    assert_eq!((entered.into_inner(), contents.entries.len() as u64, contents.torn), (most, threads * each, 0));
    let ids: std::collections::BTreeSet<_> = contents.entries.iter().map(|entry| &entry.begun.id).collect();
    assert_eq!(ids.len() as u64, threads * each);
    let outcomes = contents.entries.iter().filter(|entry| entry.outcome() == "done").count() as u64;
    assert_eq!(outcomes, most);
}

#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let (home, identity) = (tempfile::tempdir().unwrap(), identity());
    let ledger = Ledger::open(home.path(), &identity).unwrap();
    enter(&ledger, "x");
    let unwritten =
        Ledger { folder: Folder::unflushable(home.path()), ..Ledger::open(home.path(), &identity).unwrap() };
    let error = unwritten.begin(begun("y"), allowed).unwrap_err().to_string();
    assert!(error.contains("ledger") && error.contains("cannot be written"), "{error}");
    enter(&ledger, "z");
    let entries = ledger.read().unwrap().entries;
    // The record may have reached the disk: then the run that did not go on is an unfinished one.
    let told: Vec<_> = entries.iter().map(|entry| (&*entry.begun.id, entry.outcome())).collect();
    assert_eq!(told, [("x", "done"), ("y", "unfinished"), ("z", "done")]);
    // Without room for the mark, the record is taken back.
    let part = home.path().join(seal::part(MARK_FILE));
    std::fs::create_dir(&part).unwrap();
    ledger.begin(begun("u"), allowed).unwrap_err();
    std::fs::remove_dir(&part).unwrap();
    enter(&ledger, "v");
    let told: Vec<_> = ledger.read().unwrap().entries.iter().map(|entry| entry.begun.id.clone()).collect();
    assert_eq!(told, ["x", "y", "z", "v"]);
}
