//! The power fails at any write of the embedded storage: what was acknowledged is there, what was under way is there
//! whole or not at all.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::Result;

use super::embedded::{SIZES, Sizes};
use super::suite::{groups, rows};
use super::{BatchOrigin, Embedded, Ingested, Storage};
use crate::crashes::{Cuts, Recording, Syncs, tell, told};
use crate::testing;

const CHILD: &str = "TACITA_TEST_POWER";
const LONG: &str = "TACITA_TEST_POWER_LONG";

/// Something to do, of which nothing is done twice if it is begun again.
type Step = fn(&Embedded) -> Result<()>;

fn batch(storage: &Embedded, round: &str, number: u8, count: usize) -> Result<()> {
    let rows = rows(&mut ChaCha20Rng::seed_from_u64(u64::from(number)), count, 9, 40);
    let ingested = storage.ingest_from(BatchOrigin { proxy: 3, dropped: 1 }, round, &[number; 16], &rows)?;
    assert!(matches!(ingested, Ingested::New | Ingested::Known), "{ingested:?}");
    Ok(())
}

/// Each of what a storage does.
const SCRIPT: [Step; 14] = [
    |storage| batch(storage, "one", 1, 30),
    |storage| storage.put("one", "state", b"open"),
    |storage| batch(storage, "one", 2, 0),
    |storage| batch(storage, "passing", 3, 20),
    |storage| storage.claim("one", 0, &[], &[[1; 16], [2; 16]]).map(drop),
    |storage| batch(storage, "one", 4, 25),
    |storage| storage.remove("passing"),
    |storage| batch(storage, "two", 5, 7),
    |storage| storage.change("one", "state", Some(b"open"), b"closed", &[("beside", b"b")]).map(drop),
    |storage| storage.seal("one"),
    |storage| batch(storage, "two", 6, 11),
    |storage| storage.clear("two", "state", b"cleared"),
    |storage| storage.put("one", "result", &[7; 3000]),
    |storage| storage.claim("three", 1, &[], &[[1; 16]]).map(drop),
];

/// Script that is long enough for trees to be written to tables.
const LONG_SCRIPT: [Step; 11] = [
    |storage| batch(storage, "one", 1, 200),
    |storage| batch(storage, "one", 2, 200),
    |storage| batch(storage, "passing", 3, 200),
    |storage| batch(storage, "one", 4, 200),
    |storage| storage.remove("passing"),
    |storage| batch(storage, "one", 5, 200),
    |storage| batch(storage, "one", 6, 200),
    |storage| batch(storage, "two", 7, 100),
    |storage| batch(storage, "one", 8, 200),
    |storage| batch(storage, "one", 9, 200),
    |storage| storage.seal("one"),
];

const LITTLE: Sizes = Sizes { reserve: 0, memory: 16 << 10 };

fn open(path: &Path, sizes: Sizes) -> Result<Embedded> {
    testing::patient(|| Embedded::sized(path, sizes))
}

/// Computes a digest of everything that can be seen of a storage.
fn look(storage: &Embedded) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for round in storage.rounds().unwrap() {
        let seen = (storage.totals(&round).unwrap(), storage.sent(&round).unwrap());
        hasher.update(format!("{round} {seen:?}").as_bytes());
        for record in ["state", "beside", "result"] {
            hasher.update(format!("{record} {:?}", storage.get(&round, record).unwrap()).as_bytes());
        }
        for (row, entries) in groups(storage, &round).unwrap() {
            hasher.update(&row).update(&(entries.len() as u64).to_le_bytes());
            for one in entries {
                hasher.update(&one.tag).update(&one.value.to_le_bytes()).update(&one.sealed);
            }
        }
    }
    *hasher.finalize().as_bytes()
}

/// Returns the digest of a storage after each number of steps of a script.
fn expected(script: &[Step]) -> Vec<[u8; 32]> {
    let home = tempfile::tempdir().unwrap();
    let storage = open(home.path(), SIZES).unwrap();
    let mut all = vec![look(&storage)];
    for step in script {
        step(&storage).unwrap();
        all.push(look(&storage));
    }
    all
}

fn play(home: &Path, script: &[Step], sizes: Sizes) {
    let storage = open(&home.join("rows"), sizes).unwrap();
    for (place, step) in script.iter().enumerate() {
        step(&storage).unwrap();
        tell(home, "step", place + 1);
    }
}

#[test]
#[ignore = "the process that is recorded"]
fn child() {
    let Ok(home) = std::env::var(CHILD) else { return };
    play(Path::new(&home), &SCRIPT, Sizes { reserve: 0, ..SIZES });
}

#[test]
#[ignore = "the process that is recorded"]
fn long_child() {
    let Ok(home) = std::env::var(LONG) else { return };
    play(Path::new(&home), &LONG_SCRIPT, LITTLE);
}

/// Checks that the storage shows the effect of the acknowledged steps, or of one more, and that the script can be
/// completed. Returns whether it is so. If a last batch lacks blocks between its ends, the crate says that it is
/// damaged.
fn goes_on(home: &Path, script: &[Step], expected: &[[u8; 32]]) -> bool {
    let steps = told(home, "step");
    let storage = match open(&home.join("rows"), LITTLE) {
        Ok(storage) => storage,
        Err(error) if error.to_string().contains("damaged (FjallError: JournalRecovery(ChecksumMismatch))") => {
            return false;
        }
        Err(error) => panic!("{error}"),
    };
    let seen = look(&storage);
    assert!(expected[steps..].iter().take(2).any(|known| *known == seen), "something else than after {steps} steps");
    script[steps..].iter().for_each(|step| step(&storage).unwrap());
    assert!(look(&storage) == *expected.last().unwrap(), "another end");
    assert_eq!(storage.ingest("one", &[99; 16], &[]).unwrap(), Ingested::Sealed);
    if script.len() == SCRIPT.len() {
        assert_eq!(storage.claim("three", 2, &[], &[[1; 16], [2; 16]]).unwrap(), Some(vec![false, true]));
    }
    true
}

fn hold(what: &str, cuts: &Cuts, script: &[Step]) {
    let (expected, refused) = (expected(script), AtomicUsize::new(0));
    cuts.keep(what, |home| {
        refused.fetch_add(usize::from(!goes_on(home, script, &expected)), Ordering::Relaxed);
    });
    let (refused, all) = (refused.into_inner(), cuts.found.len());
    println!("{what}: {refused} of {all} are refused as damaged");
    assert!(refused <= all / 100, "{refused} of {all} are refused");
}

fn small() -> &'static Recording {
    static RECORDED: OnceLock<Recording> = OnceLock::new();
    RECORDED.get_or_init(|| Recording::of("store::power::child", CHILD))
}

/// Some of what may be found.
#[test]
fn wherever_the_power_fails_what_was_acknowledged_is_there() {
    hold("storage", &small().cuts("rows", Syncs::All).thinned(8), &SCRIPT);
}

#[test]
#[ignore = "a minute"]
fn wherever_the_power_fails_whatever_is_found() {
    hold("storage, all", &small().cuts("rows", Syncs::All), &SCRIPT);
}

#[test]
fn a_storage_that_does_not_wait_for_the_disk_is_noticed() {
    let expected = expected(&SCRIPT);
    for syncs in [Syncs::None, Syncs::OfFiles, Syncs::OfDirectories] {
        let wrong = small().cuts("rows", syncs).wrong(1, |home| assert!(goes_on(home, &SCRIPT, &expected)));
        assert!(!wrong.is_empty(), "{syncs:?}");
    }
}

#[test]
#[ignore = "minutes"]
fn wherever_the_power_fails_while_trees_are_written() {
    let recording = Recording::of("store::power::long_child", LONG);
    assert!(recording.made("rows/storage/keyspaces/2/tables/") > 3, "no tables of the first round");
    hold("tables", &recording.cuts("rows", Syncs::All), &LONG_SCRIPT);
}
