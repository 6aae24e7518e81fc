//! Tests that every back end has to pass. `open` opens the same place each time that it is called, after the one before
//! is dropped.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::{Error, Result};

use super::{BatchOrigin, Ingested, OpenedReport, RowId, Storage, Stored, Totals};
use crate::wire::batch::{BatchId, ClaimId};

type Open<'a> = &'a dyn Fn() -> Box<dyn Storage>;
type Groups = BTreeMap<RowId, Vec<Stored>>;

/// Runs all of it.
pub(super) fn run(open: Open<'_>) {
    rows_come_back_in_groups(open);
    batches_are_ingested_once(open);
    batches_count_for_who_sent_them(open);
    concurrent_batches_are_ingested_once(open);
    reading_breaks_off_and_goes_on(open);
    errors_of_the_caller_come_back(open);
    what_comes_meanwhile_is_not_read(open);
    rounds_are_apart_and_go(open);
    batches_are_claimed_once(open);
    records_come_back(open);
    changes_are_made_on_what_was_read(open);
    a_sealed_round_takes_no_batches(open);
    what_comes_while_a_round_is_sealed_is_in_or_refused(open);
    a_round_that_is_cleared_is_its_name_and_a_record(open);
    fingerprints_tell_records_apart(open);
    a_lease_is_renewed_by_its_holder(open);
}

/// A row's first byte is `row`; the other bytes are random, and so are the contents.
pub(super) fn rows(rng: &mut ChaCha20Rng, count: usize, different: u32, sealed: usize) -> Vec<OpenedReport> {
    let one = |_| {
        let mut id = [7; 32];
        id[..4].copy_from_slice(&(rng.next_u32() % different).to_be_bytes());
        let mut stored = Stored { tag: [0; 32], value: rng.next_u32(), sealed: vec![0; sealed] };
        rng.fill_bytes(&mut stored.tag);
        rng.fill_bytes(&mut stored.sealed);
        OpenedReport { id, stored }
    };
    (0..count).map(one).collect()
}

pub(super) fn groups(storage: &dyn Storage, round: &str) -> Result<Groups> {
    let mut groups = Groups::new();
    let mut last = None;
    storage.groups(round, None, &mut |row, entries| {
        assert!(last.is_none_or(|last| last < *row), "in order, and once each");
        last = Some(*row);
        groups.insert(*row, entries.collect::<Result<_>>()?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(groups)
}

/// The same, of batches in order of their names.
fn expected<'a>(batches: impl IntoIterator<Item = &'a Vec<OpenedReport>>) -> Groups {
    let mut groups = Groups::new();
    for row in batches.into_iter().flatten() {
        groups.entry(row.id).or_default().push(row.stored.clone());
    }
    groups
}

fn rows_come_back_in_groups(open: Open<'_>) {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut batches: BTreeMap<BatchId, Vec<OpenedReport>> = BTreeMap::new();
    for (number, sealed) in [64, 0, 3, 64, 300].into_iter().enumerate() {
        let mut id = BatchId::default();
        rng.fill_bytes(&mut id);
        let rows = rows(&mut rng, 700 * number, 150, sealed);
        assert_eq!(open().ingest("groups", &id, &rows).unwrap(), Ingested::New);
        batches.insert(id, rows);
    }
    let storage = open();
    let expected = expected(batches.values());
    assert!(groups(&*storage, "groups").unwrap() == expected);
    assert_eq!(storage.totals("groups").unwrap(), Totals { batches: 5, reports: 7000, dropped: 0 });
    for (row, entries) in expected.iter().take(20) {
        assert!(storage.entries("groups", row, entries.len()).unwrap().as_ref() == Some(entries));
        assert!(storage.entries("groups", row, entries.len() - 1).unwrap().is_none());
    }
    assert_eq!(storage.entries("groups", &[0xee; 32], 5).unwrap(), Some(Vec::new()));
    // The first and the last id that there can be.
    let ends = [[0; 32], [0xff; 32]].map(|id| OpenedReport { id, ..rows(&mut rng, 1, 1, 9).remove(0) });
    storage.ingest("ends", &[0xff; 16], &ends).unwrap();
    assert_eq!(groups(&*storage, "ends").unwrap().into_keys().collect::<Vec<_>>(), [[0; 32], [0xff; 32]]);
    let mut none = |_: &RowId, _: &mut dyn Iterator<Item = Result<Stored>>| panic!("nothing is behind the last one");
    storage.groups("ends", Some(&[0xff; 32]), &mut none).unwrap();
    storage.remove("groups").unwrap();
    storage.remove("ends").unwrap();
}

fn batches_are_ingested_once(open: Open<'_>) {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let (one, other) = (rows(&mut rng, 50, 10, 64), rows(&mut rng, 50, 10, 64));
    let id = [1; 16];
    assert_eq!(open().ingest("once", &id, &one).unwrap(), Ingested::New);
    // Also after it was closed, and in another round.
    let storage = open();
    for _ in 0..3 {
        assert_eq!(storage.ingest("once", &id, &one).unwrap(), Ingested::Known);
    }
    let mut changed = one.clone();
    changed[49].stored.value ^= 1;
    let mut moved = one.clone();
    moved.swap(3, 4);
    for other in [&other, &changed, &moved, &one[..49].to_vec(), &Vec::new()] {
        assert_eq!(storage.ingest("once", &id, other).unwrap(), Ingested::Conflict);
    }
    assert_eq!(storage.ingest("once more", &id, &other).unwrap(), Ingested::New);
    assert!(groups(&*storage, "once").unwrap() == expected([&one]));
    assert!(groups(&*storage, "once more").unwrap() == expected([&other]));
    assert_eq!(storage.ingest("once", &[2; 16], &[]).unwrap(), Ingested::New);
    assert_eq!(storage.ingest("once", &[2; 16], &[]).unwrap(), Ingested::Known);
    storage.remove("once").unwrap();
    storage.remove("once more").unwrap();
}

fn batches_count_for_who_sent_them(open: Open<'_>) {
    let batch = rows(&mut ChaCha20Rng::seed_from_u64(10), 50, 10, 8);
    let bring = |proxy: u32, dropped: u64, name: u8| {
        open().ingest_from(BatchOrigin { proxy, dropped }, "sent", &[name; 16], &batch).unwrap()
    };
    for (proxy, dropped, name) in [(0, 0, 1), (2, 3, 2), (2, 1, 3)] {
        assert_eq!(bring(proxy, dropped, name), Ingested::New);
    }
    // Who brings it again changes nothing.
    assert_eq!(bring(1, 9, 3), Ingested::Known);
    open().ingest("sent", &[4; 16], &batch).unwrap();
    open().ingest_from(BatchOrigin { proxy: 1, dropped: 7 }, "sent", &[5; 16], &[]).unwrap();
    let storage = open();
    assert_eq!(storage.sent("sent").unwrap(), [(0, 50), (1, 7), (2, 104)].into());
    assert_eq!(storage.totals("sent").unwrap(), Totals { batches: 5, reports: 200, dropped: 11 });
    assert!(storage.sent("another").unwrap().is_empty());
    storage.remove("sent").unwrap();
    assert!(storage.sent("sent").unwrap().is_empty());
}

fn concurrent_batches_are_ingested_once(open: Open<'_>) {
    let storage = open();
    let batches: Vec<_> = (0..8).map(|seed| rows(&mut ChaCha20Rng::seed_from_u64(seed), 100, 20, 64)).collect();
    let new = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (storage, batches, new) = (&storage, &batches, &new);
            scope.spawn(move || {
                for turn in 0..batches.len() {
                    let number = (turn + thread) % batches.len();
                    let ingested = storage.ingest("threads", &[number as u8; 16], &batches[number]).unwrap();
                    assert_ne!(ingested, Ingested::Conflict);
                    new.fetch_add(usize::from(ingested == Ingested::New), std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(new.into_inner(), batches.len());
    assert!(groups(&*storage, "threads").unwrap() == expected(&batches));
    storage.remove("threads").unwrap();
}

fn reading_breaks_off_and_goes_on(open: Open<'_>) {
    let storage = open();
    let batch = rows(&mut ChaCha20Rng::seed_from_u64(3), 1000, 100, 8);
    storage.ingest("pages", &[3; 16], &batch).unwrap();
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let before = seen.len();
        storage
            .groups("pages", after.as_ref(), &mut |row, entries| {
                // Of some rows all is read, of others a part, or nothing.
                let read = entries.take(seen.len() % 3 * 2).collect::<Result<Vec<_>>>()?;
                assert!(read.len() <= 4);
                seen.push(*row);
                Ok(if seen.len() == before + 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })
            .unwrap();
        if seen.len() == before {
            break;
        }
        after = seen.last().copied();
    }
    assert_eq!(seen, expected([&batch]).into_keys().collect::<Vec<_>>());
    storage.remove("pages").unwrap();
}

fn errors_of_the_caller_come_back(open: Open<'_>) {
    let storage = open();
    storage.ingest("errors", &[4; 16], &rows(&mut ChaCha20Rng::seed_from_u64(4), 10, 10, 8)).unwrap();
    let mut calls = 0;
    let failed = storage.groups("errors", None, &mut |_, _| {
        calls += 1;
        Err(Error::Input("the caller's".into()))
    });
    assert_eq!((failed.unwrap_err(), calls), (Error::Input("the caller's".into()), 1));
    storage.remove("errors").unwrap();
}

fn what_comes_meanwhile_is_not_read(open: Open<'_>) {
    let storage = open();
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    // More than are fetched at once.
    let (first, second) = (rows(&mut rng, 5000, 1 << 30, 8), rows(&mut rng, 100, 1 << 30, 8));
    storage.ingest("meanwhile", &[6; 16], &first).unwrap();
    let mut read = 0;
    storage
        .groups("meanwhile", None, &mut |_, entries| {
            if read == 0 {
                assert_eq!(storage.ingest("meanwhile", &[7; 16], &second)?, Ingested::New);
            }
            read += entries.count();
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(read, first.len());
    assert!(groups(&*storage, "meanwhile").unwrap() == expected([&first, &second]));
    storage.remove("meanwhile").unwrap();
}

fn rounds_are_apart_and_go(open: Open<'_>) {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    // One's name begins another's, and some would be no names of files.
    let names = ["a", "ab", "../a", "a\0b", "ä/ö: \n", &"long ".repeat(200)];
    let batches: Vec<_> = names.iter().map(|_| rows(&mut rng, 200, 30, 64)).collect();
    let storage = open();
    for (name, batch) in names.iter().zip(&batches) {
        assert_eq!(storage.ingest(name, &[5; 16], batch).unwrap(), Ingested::New);
        storage.put(name, "state", name.as_bytes()).unwrap();
    }
    let mut sorted = names.map(str::to_owned);
    sorted.sort_unstable();
    assert_eq!(storage.rounds().unwrap(), sorted);
    storage.remove("a").unwrap();
    storage.remove("never").unwrap();
    drop(storage);
    let storage = open();
    for (name, batch) in names.iter().zip(&batches).skip(1) {
        assert!(groups(&*storage, name).unwrap() == expected([batch]));
        assert_eq!(storage.get(name, "state").unwrap().unwrap(), name.as_bytes());
    }
    assert_eq!(storage.rounds().unwrap().len(), names.len() - 1);
    assert!(groups(&*storage, "a").unwrap().is_empty());
    assert_eq!(storage.totals("a").unwrap(), Totals::default());
    assert_eq!(storage.get("a", "state").unwrap(), None);
    // A round of that name begins anew, and none of the old one comes back.
    assert_eq!(storage.ingest("a", &[5; 16], &batches[1]).unwrap(), Ingested::New);
    assert!(groups(&*storage, "a").unwrap() == expected([&batches[1]]));
    drop(storage);
    let storage = open();
    assert!(groups(&*storage, "a").unwrap() == expected([&batches[1]]));
    for name in names {
        storage.remove(name).unwrap();
    }
    assert!(storage.rounds().unwrap().is_empty());
}

fn batches_are_claimed_once(open: Open<'_>) {
    let name = |number: u8| [number; 16];
    let claim = |storage: &dyn Storage, round: &str, owner: u32, claims: &[ClaimId]| {
        storage.claim(round, owner, &[], claims).unwrap().unwrap()
    };
    assert_eq!(claim(&*open(), "claims", 0, &[name(1), name(2), name(1)]), [true; 3]);
    // Also after it was closed; whoever has one keeps it, and nobody else gets it.
    let storage = open();
    assert_eq!(claim(&*storage, "claims", 1, &[name(2), name(3), name(1), name(3)]), [false, true, false, true]);
    for _ in 0..2 {
        assert_eq!(claim(&*storage, "claims", 0, &[name(1), name(3), name(2)]), [true, false, true]);
    }
    assert_eq!(claim(&*storage, "claims", 1, &[]), [false; 0]);
    // What another one hands over is its own as well, and stays the other's.
    assert_eq!(
        storage.claim("claims", 5, &[7, 1], &[name(3), name(1), name(4)]).unwrap().unwrap(),
        [true, false, true]
    );
    assert_eq!(claim(&*storage, "claims", 1, &[name(3), name(4)]), [true, false]);
    // Another round's are others, and a claim is no batch.
    assert_eq!(claim(&*storage, "claims too", 1, &[name(1)]), [true]);
    assert_eq!(storage.totals("claims").unwrap(), Totals::default());
    assert_eq!(storage.rounds().unwrap(), ["claims", "claims too"]);
    std::thread::scope(|scope| {
        let storage = &storage;
        let all = [2, 3, 4].map(|owner| {
            scope.spawn(move || {
                (10..90).map(|number| claim(&**storage, "claims", owner, &[name(number)])[0]).collect::<Vec<_>>()
            })
        });
        let own = all.map(|one| one.join().unwrap());
        assert!((0..80).all(|place| own.iter().filter(|one| one[place]).count() == 1), "{own:?}");
    });
    // A round that is sealed takes none, and they go with it.
    storage.seal("claims too").unwrap();
    assert_eq!(storage.claim("claims too", 1, &[], &[name(1)]).unwrap(), None);
    storage.clear("claims too", "round", b"removed").unwrap();
    assert_eq!(storage.claim("claims too", 0, &[], &[name(1)]).unwrap(), None);
    storage.remove("claims").unwrap();
    assert_eq!(claim(&*storage, "claims", 1, &[name(1)]), [true]);
    storage.remove("claims").unwrap();
    storage.remove("claims too").unwrap();
}

fn records_come_back(open: Open<'_>) {
    let storage = open();
    assert_eq!(storage.get("records", "state").unwrap(), None);
    storage.put("records", "state", b"open").unwrap();
    storage.put("records", "state", b"closed").unwrap();
    storage.put("records", "state2", b"").unwrap();
    storage.put("record", "sstate", &[9; 100_000]).unwrap();
    drop(storage);
    let storage = open();
    assert_eq!(storage.get("records", "state").unwrap().unwrap(), b"closed");
    assert_eq!(storage.get("records", "state2").unwrap().unwrap(), b"");
    assert_eq!(storage.get("record", "sstate").unwrap().unwrap(), [9; 100_000]);
    assert_eq!(storage.get("record", "state").unwrap(), None);
    assert_eq!(storage.totals("records").unwrap(), Totals::default());
    assert_eq!(storage.rounds().unwrap(), ["record", "records"]);
    storage.remove("record").unwrap();
    storage.remove("records").unwrap();
}

fn changes_are_made_on_what_was_read(open: Open<'_>) {
    let storage = open();
    let change = |expected: Option<&[u8]>, new: &[u8], beside: &[(&str, &[u8])]| {
        storage.change("changes", "state", expected, new, beside).unwrap()
    };
    assert!(!change(Some(b""), b"x", &[]), "there is none");
    assert!(change(None, b"", &[("part", b"0")]));
    assert!(!change(None, b"x", &[("part", b"1")]) && !change(Some(b"x"), b"y", &[("part", b"1")]));
    assert_eq!(storage.get("changes", "part").unwrap().unwrap(), b"0", "all of it or nothing");
    assert!(change(Some(b""), b"1", &[("part", b"2"), ("other", b"3")]));
    storage.put("changes", "state", b"0").unwrap();
    let count = || {
        for _ in 0..25 {
            loop {
                let read = storage.get("changes", "state").unwrap().unwrap();
                let next = std::str::from_utf8(&read).unwrap().parse::<u32>().unwrap() + 1;
                if change(Some(&read), next.to_string().as_bytes(), &[]) {
                    break;
                }
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(count))));
    drop(storage);
    let storage = open();
    let read = |name| storage.get("changes", name).unwrap().unwrap();
    assert_eq!([read("state"), read("part"), read("other")], [&b"100"[..], b"2", b"3"]);
    storage.remove("changes").unwrap();
}

fn a_sealed_round_takes_no_batches(open: Open<'_>) {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let (one, other) = (rows(&mut rng, 50, 10, 64), rows(&mut rng, 50, 10, 64));
    assert_eq!(open().ingest("sealed", &[1; 16], &one).unwrap(), Ingested::New);
    open().seal("sealed").unwrap();
    open().seal("sealed without rows").unwrap();
    let storage = open();
    storage.seal("sealed").unwrap();
    assert_eq!(storage.ingest("sealed", &[2; 16], &other).unwrap(), Ingested::Sealed);
    assert_eq!(storage.ingest("sealed", &[1; 16], &one).unwrap(), Ingested::Known);
    assert_eq!(storage.ingest("sealed", &[1; 16], &other).unwrap(), Ingested::Conflict);
    assert_eq!(storage.ingest("sealed without rows", &[1; 16], &one).unwrap(), Ingested::Sealed);
    assert!(groups(&*storage, "sealed").unwrap() == expected([&one]));
    assert_eq!(storage.totals("sealed").unwrap(), Totals { batches: 1, reports: 50, dropped: 0 });
    // The seal goes with the round.
    storage.remove("sealed").unwrap();
    assert_eq!(storage.ingest("sealed", &[2; 16], &other).unwrap(), Ingested::New);
    storage.remove("sealed").unwrap();
    storage.remove("sealed without rows").unwrap();
}

fn what_comes_while_a_round_is_sealed_is_in_or_refused(open: Open<'_>) {
    let storage = open();
    let batch = rows(&mut ChaCha20Rng::seed_from_u64(8), 20, 10, 64);
    let taken = std::sync::Mutex::new(0);
    let sealed = std::thread::scope(|scope| {
        for thread in 0..3u8 {
            let (storage, batch, taken) = (&storage, &batch, &taken);
            scope.spawn(move || {
                let mut own = 0u64;
                let name = |own: u64| BatchId::try_from([[thread; 8], own.to_le_bytes()].concat()).unwrap();
                while storage.ingest("race", &name(own), batch).unwrap() == Ingested::New {
                    own += 1;
                }
                *taken.lock().unwrap() += own;
            });
        }
        while storage.totals("race").unwrap().batches < 6 {
            std::thread::yield_now();
        }
        storage.seal("race").unwrap();
        storage.totals("race").unwrap()
    });
    assert_eq!(storage.totals("race").unwrap(), sealed, "nothing comes after the seal");
    assert_eq!(sealed.batches, taken.into_inner().unwrap());
    storage.remove("race").unwrap();
}

fn a_round_that_is_cleared_is_its_name_and_a_record(open: Open<'_>) {
    let storage = open();
    let batch = rows(&mut ChaCha20Rng::seed_from_u64(9), 50, 10, 64);
    storage.ingest("cleared", &[1; 16], &batch).unwrap();
    ["state", "part"].iter().for_each(|name| storage.put("cleared", name, b"before").unwrap());
    for _ in 0..2 {
        storage.clear("cleared", "state", b"removed").unwrap();
    }
    storage.clear("never", "state", b"removed").unwrap();
    drop(storage);
    let storage = open();
    assert_eq!(storage.rounds().unwrap(), ["cleared", "never"]);
    assert_eq!(storage.get("cleared", "state").unwrap().unwrap(), b"removed");
    assert_eq!(storage.get("cleared", "part").unwrap(), None);
    assert!(groups(&*storage, "cleared").unwrap().is_empty());
    assert_eq!(storage.totals("cleared").unwrap(), Totals::default());
    assert_eq!(storage.ingest("cleared", &[1; 16], &batch).unwrap(), Ingested::Sealed);
    storage.remove("cleared").unwrap();
    storage.remove("never").unwrap();
}

fn fingerprints_tell_records_apart(open: Open<'_>) {
    let storage = open();
    storage.put("a", "state", b"1").unwrap();
    storage.put("b", "state", b"1").unwrap();
    storage.put("c", "other", b"1").unwrap();
    let versions = || storage.versions("state").unwrap().into_iter().collect::<BTreeMap<_, _>>();
    let before = versions();
    assert_eq!(before.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(versions(), before);
    assert!(storage.change("a", "state", Some(b"1"), b"2", &[]).unwrap());
    let after = versions();
    assert!(after["a"] != before["a"] && after["b"] == before["b"]);
    ["a", "b", "c"].iter().for_each(|round| storage.remove(round).unwrap());
}

fn a_lease_is_renewed_by_its_holder(open: Open<'_>) {
    let long = Duration::from_secs(600);
    for _ in 0..2 {
        assert!(open().lease("work", &[1; 16], long).unwrap());
    }
}
