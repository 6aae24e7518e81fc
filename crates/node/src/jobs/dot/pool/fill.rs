//! Command to fill a pool.

use std::path::PathBuf;

use rand_core::CryptoRng;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::{Error, Level, Result};

use super::key::{PoolKey, check_level};
use super::segment::{SegmentKind, SegmentWriter};
use super::{FACTS_FILE, Facts, PoolStatus, fault, segments, status};
use crate::base::folder::{Folder, LEFT_BEHIND};
use crate::base::text;

/// Locked while a pool is filled: keeps two processes from filling one pool at once: the second would take the first
/// one's unfinished files for leavings.
const LOCK_FILE: &str = "fill.lock";

/// Encryptions of a segment: what is lost if filling is interrupted, and what is looked through to take the last ones.
const SEGMENT_RECORDS: u64 = 1 << 16;

/// Encryptions that are made at once.
const BATCH: u64 = 1 << 12;

/// Options for filling a pool.
pub struct Fill {
    /// The pool's directory, which is made if need be.
    pub directory: PathBuf,
    /// The key's file; likewise.
    pub key_file: PathBuf,
    /// The level of a new key; of an old one, what it must be.
    pub level: Option<Level>,
    /// Encryptions of 1 to be added.
    pub ones: u64,
    /// Encryptions of 0 to be added.
    pub zeros: u64,
}

/// Fills a pool, and says what it holds then.
pub fn fill(fill: &Fill, rng: &mut impl CryptoRng) -> Result<PoolStatus> {
    let directory = &fill.directory;
    let folder = &Folder::make(directory)?;
    let _lock = folder
        .try_lock(LOCK_FILE)?
        .ok_or_else(|| fault(directory, "another process is filling this pool: wait until it ends"))?;
    remove_leavings(folder)?;
    let key = open(fill, folder, rng)?;
    let mut left = [(SegmentKind::Zero, fill.zeros), (SegmentKind::One, fill.ones)];
    while left.iter().any(|(_, count)| *count > 0) {
        for (kind, left) in left.iter_mut().filter(|(_, count)| *count > 0) {
            let count = SEGMENT_RECORDS.min(*left);
            write(folder, &key, *kind, count, rng)?;
            *left -= count;
            tracing::info!("{} {} made, {} to go", text::count(count), kind.name(), text::count(*left));
        }
    }
    status(directory)
}

/// The pool's key: read, or made with the pool.
fn open(fill: &Fill, folder: &Folder, rng: &mut impl CryptoRng) -> Result<PoolKey> {
    let (directory, path) = (&fill.directory, &fill.key_file);
    let known = folder.has(FACTS_FILE).then(|| Facts::read(folder)).transpose()?;
    let size = fill.level.map(KeySize::of);
    let key = match (path.exists(), &known) {
        (true, _) => PoolKey::load(path)?,
        (false, Some(facts)) => {
            return Err(fault(
                path,
                &format!(
                    "no such file, and the pool {} needs the key {}: name that key's file, or another directory",
                    directory.display(),
                    text::shown(&facts.key)
                ),
            ));
        }
        (false, None) => {
            let key = PoolKey::create(path, size.unwrap_or(KeySize::of(Level::Bits128)), rng)?;
            tracing::info!("{}: new key {}; nobody else may have it", path.display(), key.fingerprint());
            key
        }
    };
    if let Some(size) = size {
        check_level(path, &key, size)?;
    }
    if let Some(known) = &known {
        known.check(directory, &key)?;
    }
    let key_file = std::fs::canonicalize(path).map_err(|error| fault(path, &error.to_string()))?;
    let facts = Facts {
        tacita_pool: 1,
        key: key.fingerprint().to_string(),
        bits: key.secret().public().size().bits(),
        key_file,
    };
    facts.write(folder)?;
    Ok(key)
}

/// Writes one segment, which appears whole or not at all.
fn write(folder: &Folder, key: &PoolKey, kind: SegmentKind, count: u64, rng: &mut impl CryptoRng) -> Result<()> {
    let (mut writer, name) = SegmentWriter::new(kind, key, rng)?;
    let path = folder.at(&name);
    folder.write_streamed(&name, |file| {
        let failed = |error: std::io::Error| fault(&path, &format!("cannot be written: {error}"));
        file.write_all(writer.header()).map_err(failed)?;
        let mut left = count;
        while left > 0 {
            let some = BATCH.min(left);
            let integers = vec![i128::from(kind.integer()); some as usize];
            let encrypted = key.secret().encrypt(&key.secret().public().encode(&integers), rng);
            writer.write(&encrypted.to_bytes(), file).map_err(failed)?;
            left -= some;
        }
        Ok(())
    })
}

/// Removes what interrupted processes have left: unfinished files, and segments that are used up.
fn remove_leavings(folder: &Folder) -> Result<()> {
    let _lock = folder.lock(super::LOCK_FILE)?;
    let full = segments(folder)?;
    let is_full = |name: &str| full.iter().any(|segment| segment.name() == name);
    for name in folder.names()? {
        if name.starts_with(LEFT_BEHIND) || super::segment::is_name(&name) && !is_full(&name) {
            folder.remove(&name).map_err(|error| fault(&folder.at(&name), &format!("cannot clean up: {error}")))?;
        }
    }
    Ok(())
}

impl Fill {
    /// Refuses what protects nothing any more, unless the user allows it.
    pub fn check_secure(&self, allow_insecure: bool) -> Result<()> {
        match self.level {
            Some(level) if level.is_insecure() && !allow_insecure => Err(Error::Input(format!(
                "--level {level}: it is not secure, and is meant for comparisons only: use bits128, or --allow-insecure"
            ))),
            _ => Ok(()),
        }
    }
}
