//! The embedded storage: all that a storage has to do, and what only a directory can suffer.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::Result;

use crate::testing;

use super::embedded::{SIZES, Sizes};
use super::suite::{self, groups, rows};
use super::{Embedded, Ingested, Storage, Totals};

/// Opens what another one of this process has had open.
fn open(path: &Path) -> Result<Embedded> {
    testing::patient(|| Embedded::open(path))
}

fn refused(path: &Path) -> String {
    Embedded::open(path).unwrap_err().to_string()
}

#[test]
fn it_does_what_every_storage_does() {
    let home = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}", home.path().join("rows").display());
    suite::run(&|| testing::patient(|| super::open(&url)).unwrap());
}

#[test]
fn a_second_process_is_refused_and_nobody_else_gets_to_the_files() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("rows");
    let storage = open(&path).unwrap();
    assert!(refused(&path).contains("another process has this storage open"));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join("storage"))), (0o700, 0o700));
    drop(storage);
    std::fs::set_permissions(path.join("storage"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    open(&path).unwrap();
    assert_eq!(mode(&path.join("storage")), 0o700);
}

/// A directory that a process left half made, before anything was in it, is made anew.
#[test]
fn an_unfinished_directory_is_made_anew() {
    let home = tempfile::tempdir().unwrap();
    drop(open(home.path()).unwrap());
    std::fs::rename(home.path().join("storage"), home.path().join("storage.part")).unwrap();
    std::fs::remove_file(home.path().join("storage.part/version")).unwrap();
    let storage = open(home.path()).unwrap();
    assert_eq!(
        storage.ingest("r", &[1; 16], &rows(&mut ChaCha20Rng::seed_from_u64(1), 5, 5, 5)).unwrap(),
        Ingested::New
    );
    assert!(!home.path().join("storage.part").exists());
}

#[test]
fn where_little_room_is_left_nothing_is_taken_and_what_is_there_stays() {
    let home = tempfile::tempdir().unwrap();
    let batch = rows(&mut ChaCha20Rng::seed_from_u64(2), 100, 10, 64);
    let storage = open(home.path()).unwrap();
    storage.ingest("r", &[1; 16], &batch).unwrap();
    drop(storage);
    let storage = testing::patient(|| Embedded::sized(home.path(), Sizes { reserve: u64::MAX, ..SIZES })).unwrap();
    for failed in [storage.ingest("r", &[2; 16], &batch).unwrap_err(), storage.put("r", "state", b"x").unwrap_err()] {
        let error = failed.to_string();
        assert!(error.contains("the disk is full") && error.contains("make room"), "{error}");
    }
    assert_eq!(storage.ingest("r", &[1; 16], &batch).unwrap(), Ingested::Known);
    assert_eq!(storage.totals("r").unwrap(), Totals { batches: 1, reports: 100, dropped: 0 });
    // A round can still be closed, and have its removal noted; results wait for room.
    let change = |beside: &[(&str, &[u8])], from: Option<&[u8]>, to| storage.change("r", "state", from, to, beside);
    assert!(change(&[], None, b"closed").unwrap());
    assert!(change(&[("result", b"x")], Some(b"closed"), b"revealed").unwrap_err().to_string().contains("make room"));
    assert!(change(&[], Some(b"closed"), b"removed").unwrap());
    // Removal gives room, and needs none.
    storage.remove("r").unwrap();
    drop(storage);
    assert_eq!(open(home.path()).unwrap().rounds().unwrap(), [""; 0]);
}

/// Between the two steps of a removal a process may end: the next one ends it, and nothing of it is in a round of the
/// same name.
#[test]
fn a_removal_that_was_cut_off_is_ended_at_the_start() {
    let home = tempfile::tempdir().unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let (before, after) = (rows(&mut rng, 100, 10, 64), rows(&mut rng, 7, 10, 64));
    let storage = open(home.path()).unwrap();
    storage.ingest("r", &[1; 16], &before).unwrap();
    storage.begin_removal("r").unwrap();
    drop(storage);
    let storage = open(home.path()).unwrap();
    assert_eq!(storage.rounds().unwrap(), [""; 0]);
    assert_eq!(storage.ingest("r", &[1; 16], &after).unwrap(), Ingested::New);
    assert_eq!(groups(&storage, "r").unwrap().values().map(Vec::len).sum::<usize>(), 7);
}

fn size(path: &Path) -> u64 {
    let facts = std::fs::symlink_metadata(path).unwrap();
    let inside = if facts.is_dir() {
        std::fs::read_dir(path).unwrap().map(|entry| size(&entry.unwrap().path())).sum()
    } else {
        0
    };
    inside + 512 * facts.blocks()
}

#[test]
fn removal_gives_the_space_back() {
    let home = tempfile::tempdir().unwrap();
    let storage = open(home.path()).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    for number in 0..12u8 {
        // More than its memory takes, so that there are tables.
        storage.ingest("r", &[number; 16], &rows(&mut rng, 5000, 1 << 30, 1000)).unwrap();
    }
    let full = size(home.path());
    storage.remove("r").unwrap();
    drop(storage);
    drop(open(home.path()).unwrap());
    assert!(full > 60 << 20, "{full}");
    // The journal goes as it is written on; until then it is bounded.
    assert!(size(&home.path().join("storage/keyspaces")) < 1 << 20);
}

/// A file in which a byte is another: an error, or what was there up to some batch; never other rows, and no panic.
#[test]
fn damage_is_told_and_invents_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (whole, damaged) = (home.path().join("whole"), home.path().join("damaged"));
    let storage = open(&whole).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    for number in 0..8u8 {
        storage.ingest("r", &[number; 16], &rows(&mut rng, 3000, 1 << 20, 1000)).unwrap();
    }
    let mut last = (storage.totals("r").unwrap(), groups(&storage, "r").unwrap());
    drop(storage);
    let mut files = Vec::new();
    find(&whole, &mut files);
    let mut told = 0;
    let (mut tried, mut kept) = (0, 0);
    for file in files.iter().filter(|file| std::fs::metadata(file).unwrap().len() > 0) {
        for _ in 0..3 {
            let _ = std::fs::remove_dir_all(&damaged);
            copy(&whole, &damaged);
            let path = damaged.join(file.strip_prefix(&whole).unwrap());
            let mut bytes = std::fs::read(&path).unwrap();
            let used = bytes.iter().rposition(|byte| *byte != 0).unwrap_or_default() + 1;
            let place = rng.next_u32() as usize % used;
            bytes[place] ^= 1 << (rng.next_u32() % 8);
            std::fs::write(&path, bytes).unwrap();
            tried += 1;
            let read = open(&damaged).and_then(|storage| Ok((storage.totals("r")?, groups(&storage, "r")?)));
            match read {
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.contains("damaged") && !error.contains('\n'), "{error}");
                    told += 1;
                }
                Ok((totals, found)) => {
                    kept += usize::from(totals == last.0);
                    assert!(totals.batches <= last.0.batches && totals.reports == totals.batches * 3000, "{totals:?}");
                    assert_eq!(
                        found.values().map(Vec::len).sum::<usize>() as u64,
                        totals.reports,
                        "{}",
                        path.display()
                    );
                    for (row, entries) in found {
                        let there = last.1.get_mut(&row).expect("a row that was there");
                        assert!(entries.iter().all(|entry| there.contains(entry)));
                    }
                }
            }
        }
    }
    println!("of {tried} damaged files, {told} were told, {kept} did no harm");
    assert!(told > 0);
}

fn find(path: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { find(&path, files) } else { files.push(path) }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &to) } else { std::fs::copy(&path, to).map(drop).unwrap() }
    }
}

const CHILD: &str = "TACITA_TEST_STORAGE";
const BATCHES: u8 = 30;

/// Ingests batches of a round, of which each is noted when it is acknowledged; removes another round after the other.
#[test]
#[ignore = "the process that is killed"]
fn child() {
    let Ok(home) = std::env::var(CHILD) else { return };
    let home = Path::new(&home);
    let storage = open(&home.join("rows")).unwrap();
    for number in 0..BATCHES {
        let told = home.join(format!("told-{number}"));
        let ingested = ingest(&storage, "r", number).unwrap();
        assert!(ingested == Ingested::Known || ingested == Ingested::New && !told.exists(), "{number}: {ingested:?}");
        std::fs::write(told, "").unwrap();
        if home.join("removed").exists() {
            assert!(!storage.rounds().unwrap().contains(&"passing".into()));
            std::fs::remove_file(home.join("removed")).unwrap();
        }
        ingest(&storage, "passing", number).unwrap();
        storage.remove("passing").unwrap();
        std::fs::write(home.join("removed"), "").unwrap();
    }
    println!("complete");
}

fn ingest(storage: &Embedded, round: &str, number: u8) -> Result<Ingested> {
    storage.ingest(round, &[number; 16], &rows(&mut ChaCha20Rng::seed_from_u64(u64::from(number)), 500, 200, 64))
}

fn kill_at_random(kills: u32) {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).unwrap();
    println!("seed {seed:?}");
    let mut rng = ChaCha20Rng::seed_from_u64(u64::from_le_bytes(seed));
    let command = |home: &Path| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "store::tests::child", "--nocapture", "--ignored"]).env(CHILD, home);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut killed = 0;
    while killed < kills {
        let home = tempfile::tempdir().unwrap();
        for _ in 0..6 {
            let mut child = command(home.path()).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_micros(u64::from(rng.next_u32() % 250_000)));
            child.kill().unwrap();
            killed += u32::from(!child.wait().unwrap().success());
        }
        let output = command(home.path()).output().unwrap();
        let texts = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
        assert!(output.status.success() && texts.contains("complete"), "{texts}");
        let storage = open(&home.path().join("rows")).unwrap();
        assert_eq!(storage.totals("r").unwrap(), Totals { batches: 30, reports: 15_000, dropped: 0 });
        assert_eq!(groups(&storage, "r").unwrap().values().map(Vec::len).sum::<usize>(), 15_000);
        assert_eq!(storage.rounds().unwrap(), ["r"]);
    }
}

#[test]
fn killed_at_random_times_every_batch_is_there_once() {
    kill_at_random(5);
}

#[test]
#[ignore = "minutes"]
fn killed_a_hundred_times_every_batch_is_there_once() {
    kill_at_random(100);
}
