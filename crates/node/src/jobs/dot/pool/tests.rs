//! Crashes between any two steps of taking, and what is refused.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::{Error, Level, Result};

use super::fill::{Fill, fill};
use super::key::PoolKey;
use super::segment::{Segment, SegmentKind, SegmentWriter};
use super::{Disk, EncryptionPool, Facts, LOCK_FILE, Real, segments, status};
use crate::base::folder::Folder;

/// A pool with two segments of each kind, under a key of 1024 bits.
struct Home(tempfile::TempDir);

impl Home {
    fn new(ones: u64, zeros: u64) -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        for _ in 0..2 {
            home.fill(ones, zeros).unwrap();
        }
        home
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn fill(&self, ones: u64, zeros: u64) -> Result<super::PoolStatus> {
        let key_file = self.at("key");
        let wanted = Fill { directory: self.at("pool"), key_file, level: Some(Level::Paper80), ones, zeros };
        fill(&wanted, &mut ChaCha20Rng::from_seed(rand_seed()))
    }

    fn open(&self, directory: &Path) -> EncryptionPool {
        EncryptionPool { folder: Folder::open(directory).unwrap(), key: PoolKey::load(&self.at("key")).unwrap() }
    }
}

fn rand_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).unwrap();
    seed
}

/// The encryptions that a pool still gives: all of them, at most three at a time.
fn all(pool: &EncryptionPool) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    loop {
        let taken = pool.take(3, &mut Real).unwrap();
        if taken.integers.is_empty() {
            return found;
        }
        found.extend(taken.ciphertexts.to_bytes().chunks(256).map(<[u8]>::to_vec));
    }
}

fn copy(from: &Path, to: &Path) {
    Folder::make(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// The file system, with a copy of the pool before and after each step, and steps that fail from a given one on.
struct Watched<'a> {
    pool: &'a Path,
    /// Copies of what would be there if the process were killed, or the power failed, at that moment.
    crashed: Vec<PathBuf>,
    /// Whether something was cut off and not yet made to last.
    unsynced: bool,
    home: &'a Path,
    name: String,
    fails_at: usize,
    steps: usize,
}

impl Watched<'_> {
    fn keep(&mut self) {
        let kept = self.home.join(format!("{}-{}", self.name, self.crashed.len()));
        copy(self.pool, &kept);
        self.crashed.push(kept);
    }

    fn step(&mut self, done: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<()> {
        self.keep();
        self.steps += 1;
        if self.steps > self.fails_at {
            return Err(std::io::Error::other("the disk is gone"));
        }
        done()?;
        self.keep();
        Ok(())
    }
}

impl Disk for Watched<'_> {
    fn truncate(&mut self, file: &File, length: u64) -> std::io::Result<()> {
        self.unsynced = true;
        self.step(|| Real.truncate(file, length))
    }

    fn sync(&mut self, file: &File) -> std::io::Result<()> {
        self.step(|| Real.sync(file))?;
        self.unsynced = false;
        Ok(())
    }

    fn remove(&mut self, folder: &Folder, name: &str) -> std::io::Result<()> {
        self.step(|| Real.remove(folder, name))
    }
}

#[test]
fn nothing_that_was_given_comes_again_after_a_crash_at_any_step() {
    crashes_give_nothing_again(&[5, 12]);
}

#[test]
#[ignore = "slow: more numbers that are taken"]
fn nothing_that_was_given_comes_again_however_many_are_taken() {
    crashes_give_nothing_again(&[1, 5, 9, 12]);
}

fn crashes_give_nothing_again(counts: &[usize]) {
    let home = Home::new(3, 4);
    let key = || home.open(&home.at("pool"));
    let (mut given_in_all, mut crashes, mut pool) = (0, 0, key());
    for &count in counts {
        for fails_at in 0..13 {
            // The same pool again, under the same key.
            let directory = home.at(&format!("pool-{count}-{fails_at}"));
            copy(&home.at("pool"), &directory);
            pool.folder = Folder::open(&directory).unwrap();
            let entries = |taken: super::Taken| -> BTreeSet<Vec<u8>> {
                taken.ciphertexts.to_bytes().chunks(256).map(<[u8]>::to_vec).collect()
            };
            let mut given = entries(pool.take(2, &mut Real).unwrap());
            assert_eq!(given.len(), 2);
            let mut disk = Watched {
                pool: &directory,
                crashed: Vec::new(),
                unsynced: false,
                home: home.0.path(),
                name: format!("crash-{count}-{fails_at}"),
                fails_at,
                steps: 0,
            };
            let second = pool.take(count, &mut disk);
            // Whenever the process ended meanwhile: what was given before is not there, and what is there is there
            // once.
            for crashed in &disk.crashed {
                pool.folder = Folder::open(crashed).unwrap();
                let left = all(&pool);
                assert!(left.len() <= 12 && left.iter().all(|entry| !given.contains(entry)));
                assert_eq!(left.iter().collect::<BTreeSet<_>>().len(), left.len());
                crashes += 1;
            }
            pool.folder = Folder::open(&directory).unwrap();
            match second {
                Ok(taken) => {
                    // What is given is gone for good: no step is left that a failing power supply could undo.
                    assert!(!disk.unsynced);
                    let taken = entries(taken);
                    assert_eq!(taken.len(), count);
                    given_in_all += count;
                    given.extend(taken);
                    let left = all(&pool);
                    assert_eq!(left.len(), 12 - count);
                    assert!(left.iter().all(|entry| !given.contains(entry)));
                }
                Err(error) => assert!(error.to_string().contains("the disk is gone"), "{error}"),
            }
        }
    }
    assert!(given_in_all > 0 && crashes > 100, "{given_in_all} {crashes}");
}

/// The test above would notice a pool that gives before it cuts.
#[test]
fn a_pool_that_forgets_to_cut_is_noticed() {
    struct Lazy;
    impl Disk for Lazy {
        fn truncate(&mut self, _: &File, _: u64) -> std::io::Result<()> {
            Ok(())
        }
        fn sync(&mut self, _: &File) -> std::io::Result<()> {
            Ok(())
        }
        fn remove(&mut self, _: &Folder, _: &str) -> std::io::Result<()> {
            Ok(())
        }
    }
    let home = Home::new(2, 2);
    let pool = home.open(&home.at("pool"));
    let given = pool.take(3, &mut Lazy).unwrap().ciphertexts.to_bytes();
    let left = all(&pool);
    assert!(given.chunks(256).all(|entry| left.iter().any(|other| other == entry)));
}

#[test]
fn encryptions_hold_what_they_should_and_are_taken_in_proportion() {
    let home = Home::new(30, 10);
    let pool = home.open(&home.at("pool"));
    let key = pool.key.secret();
    for (count, zeros) in [(8, 2), (0, 0), (36, 9), (1, 0)] {
        let taken = pool.take(count, &mut Real).unwrap();
        assert_eq!(taken.integers.len(), count);
        assert_eq!(taken.integers.iter().filter(|&&integer| integer == 0).count(), zeros);
        let held = key.public().decode(&key.decrypt(&taken.ciphertexts)).unwrap();
        assert!(held.iter().zip(&taken.integers).all(|(held, integer)| *held == i128::from(*integer)));
    }
    let left = status(&home.at("pool")).unwrap();
    assert_eq!((left.ones, left.zeros), (60 - 34, 20 - 11));
    assert_eq!(all(&pool).len(), 35);
    let left = status(&home.at("pool")).unwrap();
    assert_eq!((left.ones, left.zeros), (0, 0));
    assert!(pool.take(5, &mut Real).unwrap().integers.is_empty());
    // Segments that are used up are gone.
    assert!(segments(&pool.folder).unwrap().is_empty());
}

#[test]
fn threads_share_a_pool_without_sharing_an_encryption() {
    let home = Home::new(40, 40);
    let directory = home.at("pool");
    let found: Vec<Vec<Vec<u8>>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..4).map(|_| scope.spawn(|| all(&home.open(&directory)))).collect();
        running.into_iter().map(|running| running.join().unwrap()).collect()
    });
    let all = found.concat();
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (160, 160));
}

#[test]
fn damaged_and_foreign_segments_are_refused_by_name_and_nothing_is_lost() {
    let (home, other) = (Home::new(3, 3), Home::new(1, 1));
    let directory = home.at("pool");
    let pool = home.open(&directory);
    let before = status(&directory).unwrap();
    let refused = |words: &[&str]| {
        let error = pool.take(12, &mut Real).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)) && !error.contains('\n'), "{error}");
        error
    };
    let name = segments(&pool.folder).unwrap()[0].name().to_owned();
    let victim = directory.join(&name);
    let whole = std::fs::read(&victim).unwrap();
    // In the magic, the kind, the length, the fingerprint, the id, the tag, the first and the last record.
    for byte in [0, 8, 9, 20, 50, 62, 80, whole.len() - 1] {
        let mut bad = whole.clone();
        bad[byte] ^= 1;
        std::fs::write(&victim, &bad).unwrap();
        refused(&[&name]);
    }
    for length in [0, 10, 77 + 100, whole.len() - 1] {
        std::fs::write(&victim, &whole[..length]).unwrap();
        refused(&[&name, "damaged"]);
    }
    // Records in another order are other records.
    let mut swapped = whole.clone();
    let (head, records) = swapped.split_at_mut(77);
    assert_eq!(head.len(), 77);
    records.rotate_left(272);
    std::fs::write(&victim, &swapped).unwrap();
    refused(&[&name, "damaged"]);
    std::fs::write(&victim, &whole).unwrap();
    let foreign = segments(&Folder::open(&other.at("pool")).unwrap()).unwrap()[0].name().to_owned();
    let there = directory.join(&foreign);
    std::fs::copy(other.at("pool").join(&foreign), &there).unwrap();
    refused(&[&foreign, "another key"]);
    std::fs::remove_file(&there).unwrap();
    assert_eq!(status(&directory).unwrap(), before);
    assert_eq!(all(&pool).len(), 12);
}

#[test]
fn a_segment_under_a_second_name_is_refused() {
    let home = Home::new(3, 0);
    let (directory, pool) = (home.at("pool"), home.open(&home.at("pool")));
    let name = segments(&pool.folder).unwrap()[0].name().to_owned();
    let refused = |words: &[&str]| {
        let errors = [
            pool.take(6, &mut Real).unwrap_err(),
            pool.take(0, &mut Real).unwrap_err(),
            status(&directory).unwrap_err(),
            home.fill(1, 0).unwrap_err(),
        ];
        for error in errors.map(|error| error.to_string()) {
            assert!(words.iter().all(|word| error.contains(word)) && !error.contains('\n'), "{error}");
        }
    };
    let zeros = name.replace("ones", "zeros");
    for second in ["ones-old.pool", "a.pool", &name.to_uppercase().replace(".POOL", ".pool"), &zeros] {
        std::fs::copy(directory.join(&name), directory.join(second)).unwrap();
        refused(&[second, &name, "a copy", "remove"]);
        std::fs::remove_file(directory.join(second)).unwrap();
        std::fs::hard_link(directory.join(&name), directory.join(second)).unwrap();
        refused(&["hard link", "remove"]);
        std::fs::remove_file(directory.join(second)).unwrap();
    }
    assert_eq!(all(&pool).iter().collect::<BTreeSet<_>>().len(), 6);
}

#[test]
fn two_segments_of_one_id_are_refused() {
    let home = Home::new(1, 0);
    let pool = home.open(&home.at("pool"));
    for kind in [SegmentKind::One, SegmentKind::Zero] {
        let (writer, name) = SegmentWriter::new(kind, &pool.key, &mut ChaCha20Rng::from_seed([1; 32])).unwrap();
        pool.folder.write(&name, writer.header()).unwrap();
    }
    for error in [pool.take(2, &mut Real).unwrap_err(), status(&home.at("pool")).unwrap_err()] {
        let error = error.to_string();
        assert!(error.contains("zeros-") && error.contains("the same id: remove both"), "{error}");
    }
}

#[test]
fn keys_are_private_files_that_are_never_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new(1, 1);
    let path = home.at("key");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(home.at("pool")).unwrap().permissions().mode() & 0o777, 0o700);
    let text = std::fs::read_to_string(&path).unwrap();
    let rng = &mut ChaCha20Rng::from_seed(rand_seed());
    assert!(PoolKey::create(&path, KeySize::new(512).unwrap(), rng).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let key = PoolKey::load(&path).unwrap();
    assert!(!format!("{key:?} {:?}", home.open(&home.at("pool"))).contains(&text[40..60]));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(PoolKey::load(&path).unwrap_err().to_string().contains("chmod 600"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    // A changed letter anywhere, a file that is cut off, no key at all: refused, and nothing of it said.
    let lines: Vec<_> = text.lines().collect();
    for line in 1..lines.len() - 1 {
        let mut changed: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
        let letter = if changed[line].starts_with('A') { "B" } else { "A" };
        changed[line].replace_range(0..1, letter);
        std::fs::write(&path, changed.join("\n")).unwrap();
        // The sealing key has nothing to be checked against but what it has sealed.
        match PoolKey::load(&path) {
            Ok(changed) => {
                let pool = EncryptionPool { folder: Folder::open(&home.at("pool")).unwrap(), key: changed };
                assert!(pool.take(1, &mut Real).unwrap_err().to_string().contains("damaged"), "line {line}");
            }
            Err(error) => assert!(matches!(&error, Error::Input(text) if !text.contains(lines[line])), "{error}"),
        }
    }
    for bad in ["", "key", &text[..text.len() / 2]] {
        std::fs::write(&path, bad).unwrap();
        assert!(matches!(PoolKey::load(&path), Err(Error::Input(_))));
    }
}

#[test]
fn leavings_of_a_killed_filling_are_removed_and_two_at_once_are_refused() {
    let home = Home::new(1, 1);
    let directory = home.at("pool");
    let left = directory.join(".tacita-x.part");
    std::fs::write(&left, "half a segment").unwrap();
    // A segment that was emptied, and not yet removed.
    let pool = home.open(&directory);
    let rng = &mut ChaCha20Rng::from_seed(rand_seed());
    let (writer, name) = SegmentWriter::new(SegmentKind::One, &pool.key, rng).unwrap();
    let empty = directory.join(&name);
    pool.folder.write(&name, writer.header()).unwrap();
    assert_eq!(Segment::read(&pool.folder, name).unwrap().records(), 0);
    assert_eq!(status(&directory).unwrap().ones, 2);
    home.fill(0, 1).unwrap();
    assert!(!left.exists() && !empty.exists());
    assert_eq!((status(&directory).unwrap().ones, status(&directory).unwrap().zeros), (2, 3));
    let busy = pool.folder.lock("fill.lock").unwrap();
    assert!(home.fill(1, 1).unwrap_err().to_string().contains("another process"));
    drop(busy);
    drop(pool.folder.lock(LOCK_FILE).unwrap());
    home.fill(1, 1).unwrap();
    assert_eq!(Facts::read(&pool.folder).unwrap().bits, 1024);
}
