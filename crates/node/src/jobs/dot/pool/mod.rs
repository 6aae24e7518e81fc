//! Pools: encryptions of 0 and of 1 under a party's own Paillier key, made when there is time, for runs of `paillier`.
//!
//! A pool is a directory with segments, which are files of sealed encryptions of one kind. What is taken is cut off
//! from a segment's end, and the file is flushed to disk, before anybody gets it: whenever the process ends, an
//! encryption is still there and was never used, or it is gone. A lock keeps other processes out meanwhile. What is
//! taken depends on how many encryptions are wanted, never on a column.
//!
//! The key is kept elsewhere. Two copies of a pool would give each encryption twice.

mod fill;
mod key;
mod segment;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use tacita_core::channel::Channel;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::dot::paillier::{Params, Stock, Store, Taken, Used, encrypt_over};
use tacita_core::protocol::dot::{Columns, Shares};
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use crate::agreement::{JobSpec, PoolPlace as Place};
use crate::base::folder::Folder;
use crate::base::text::{self, json};
use crate::jobs::dot::methods::paillier;
pub use fill::{Fill, fill};
use key::PoolKey;
use segment::{Segment, SegmentKind};

const FACTS_FILE: &str = "pool.json";
const LOCK_FILE: &str = "lock";

/// Public properties of a pool.
#[derive(Serialize, Deserialize)]
struct Facts {
    tacita_pool: u32,
    /// Fingerprint of the key.
    key: String,
    /// The length of N.
    bits: usize,
    /// Path at which the key is kept.
    key_file: PathBuf,
}

/// A pool with its key.
pub struct EncryptionPool {
    folder: Folder,
    key: PoolKey,
}

/// Remaining contents of a pool, and the key that they are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolStatus {
    /// Number of encryptions of 1 left.
    pub ones: u64,
    /// Number of encryptions of 0 left.
    pub zeros: u64,
    /// Fingerprint of the key.
    pub key: String,
    /// The length of N.
    pub bits: usize,
    /// Path at which the key is kept.
    pub key_file: PathBuf,
}

/// Operations that make encryptions disappear, step by step. Tests look at the directory before and after each.
trait Disk {
    /// Cuts a file off.
    fn truncate(&mut self, file: &File, length: u64) -> std::io::Result<()>;
    /// Makes what was done to a file last.
    fn sync(&mut self, file: &File) -> std::io::Result<()>;
    /// Removes a file from a folder.
    fn remove(&mut self, folder: &Folder, name: &str) -> std::io::Result<()>;
}

/// Disk of the real file system.
struct Real;

impl Disk for Real {
    fn truncate(&mut self, file: &File, length: u64) -> std::io::Result<()> {
        file.set_len(length)
    }

    fn sync(&mut self, file: &File) -> std::io::Result<()> {
        file.sync_all()
    }

    fn remove(&mut self, folder: &Folder, name: &str) -> std::io::Result<()> {
        folder.remove(name)
    }
}

/// Returns the remaining contents of a pool.
pub fn status(directory: &Path) -> Result<PoolStatus> {
    let folder = open(directory)?;
    let facts = Facts::read(&folder)?;
    let _lock = folder.lock(LOCK_FILE)?;
    let segments = segments(&folder)?;
    let left = |kind| segments.iter().filter(|segment| segment.kind() == kind).map(Segment::records).sum();
    let (ones, zeros) = (left(SegmentKind::One), left(SegmentKind::Zero));
    Ok(PoolStatus { ones, zeros, key: facts.key, bits: facts.bits, key_file: facts.key_file })
}

impl EncryptionPool {
    /// Opens a pool for a run of this job.
    ///
    /// Errors ([`Error::Input`]): the job does not encrypt, or under a key of another length; the pool is damaged, or
    /// another key's, or others can write to it.
    pub fn open(place: &Place, job: &JobSpec) -> Result<EncryptionPool> {
        if job.clients().is_some() {
            return Err(Error::Input("--pool is not available for jobs with several clients: leave it out".into()));
        }
        if job.protocol != paillier::PROTOCOL {
            return Err(Error::Input(
                "--pool is for job = \"dot\" with protocol = \"paillier\": leave it out, or agree on that protocol"
                    .into(),
            ));
        }
        let folder = open(&place.directory)?;
        let facts = Facts::read(&folder)?;
        let wanted = KeySize::of(job.level).bits();
        if facts.bits != wanted {
            return Err(fault(
                folder.path(),
                &format!(
                    "this pool is for a key of {} bits, and level = \"{}\" has {wanted}: use another pool",
                    facts.bits, job.level
                ),
            ));
        }
        let key = PoolKey::load(place.key_file.as_deref().unwrap_or(&facts.key_file))?;
        facts.check(folder.path(), &key)?;
        let pool = EncryptionPool { folder, key };
        let _lock = pool.folder.lock(LOCK_FILE)?;
        pool.segments()?;
        Ok(pool)
    }

    /// The encryptor's part of a scalar product, with what the pool has and else with encryptions that are made now.
    pub fn encrypt(
        &self,
        columns: &Columns,
        params: &Params,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<(Shares, Used)> {
        let mut stock = Stock::new(self.key.secret(), self, columns.count() * columns.rows(), rng);
        let shares = encrypt_over(columns, params, &mut stock, channel)?;
        let used = stock.used();
        let live = match used.live {
            0 => String::new(),
            live => format!(
                ", and it had no more: {} were made now; `tacita pool fill {}` makes some in advance",
                text::count(live),
                text::pasted(self.folder.path().display())
            ),
        };
        tracing::info!("{} from the pool{live}", text::counted(used.stored, "encryption"));
        Ok((shares, used))
    }

    /// Returns the pool's segments, checked under the key. The caller holds the lock.
    fn segments(&self) -> Result<Vec<Segment>> {
        let segments = segments(&self.folder)?;
        segments.iter().try_for_each(|segment| segment.check(&self.key))?;
        Ok(segments)
    }

    fn take(&self, count: usize, disk: &mut impl Disk) -> Result<Taken> {
        let _lock = self.folder.lock(LOCK_FILE)?;
        let segments = self.segments()?;
        let left = |kind| segments.iter().filter(|segment| segment.kind() == kind).map(Segment::records).sum::<u64>();
        let [zeros, all] = [left(SegmentKind::Zero), left(SegmentKind::Zero) + left(SegmentKind::One)];
        let count = all.min(count as u64);
        // As many of each as there are for each other.
        let of_zeros = (u128::from(count) * u128::from(zeros) / u128::from(all.max(1))) as u64;
        let length = self.key.secret().public().size().ciphertext_bytes();
        // All the room at once: what grows leaves copies behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(count as usize * length));
        let (mut integers, mut cuts) = (Vec::new(), Vec::new());
        for (kind, mut wanted) in [(SegmentKind::Zero, of_zeros), (SegmentKind::One, count - of_zeros)] {
            for segment in segments.iter().filter(|segment| segment.kind() == kind) {
                let some = wanted.min(segment.records());
                if some > 0 {
                    let file = self
                        .folder
                        .change(segment.name())
                        .map_err(|error| segment.fault(&format!("cannot be opened: {error}")))?;
                    bytes.extend_from_slice(&segment.read_last(&file, some, &self.key)?);
                    integers.extend(std::iter::repeat_n(kind.integer(), some as usize));
                    cuts.push((segment, file, segment.records() - some));
                    wanted -= some;
                }
            }
        }
        let ciphertexts = self.key.secret().public().read(&bytes);
        let ciphertexts =
            ciphertexts.map_err(|invalid| fault(self.folder.path(), &format!("a segment holds {invalid}")))?;
        // Only now is it known that all can be used; and from here on none of them can be taken again.
        for (segment, file, records) in cuts {
            let failed = |error: std::io::Error| segment.fault(&format!("cannot take out encryptions: {error}"));
            disk.truncate(&file, segment.length_of(records)).map_err(failed)?;
            disk.sync(&file).map_err(failed)?;
            if records == 0 {
                disk.remove(&self.folder, segment.name()).map_err(failed)?;
            }
        }
        Ok(Taken { ciphertexts, integers })
    }
}

impl Store for &EncryptionPool {
    fn take(&mut self, count: usize) -> Result<Taken> {
        EncryptionPool::take(self, count, &mut Real)
    }
}

/// Formats only the location and the key's fingerprint.
impl std::fmt::Debug for EncryptionPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({}, {})", self.folder.path().display(), self.key.fingerprint())
    }
}

impl Facts {
    fn read(folder: &Folder) -> Result<Facts> {
        let path = folder.at(FACTS_FILE);
        let text = folder.read(FACTS_FILE).and_then(std::io::read_to_string);
        let text = text.map_err(|error| fault(&path, &format!("cannot read: {error}")))?;
        let facts: Option<Facts> = serde_json::from_str(&text).ok();
        facts.filter(|facts| facts.tacita_pool == 1).ok_or_else(|| {
            fault(
                &path,
                "damaged, or of another version: remove the directory, and make a new pool with `tacita pool fill`",
            )
        })
    }

    fn write(&self, folder: &Folder) -> Result<()> {
        let text = json(serde_json::to_string_pretty(self))?;
        folder.write(FACTS_FILE, format!("{text}\n").as_bytes())
    }

    /// Refuses another key than the pool's.
    fn check(&self, directory: &Path, key: &PoolKey) -> Result<()> {
        match (self.key == key.fingerprint().to_string(), key.secret().public().size().bits() == self.bits) {
            (true, true) => Ok(()),
            _ => Err(fault(
                directory,
                &format!(
                    "this pool is for the key {}, and {} holds {}: give the file of that key",
                    text::shown(&self.key),
                    key.path().display(),
                    key.fingerprint()
                ),
            )),
        }
    }
}

/// The directory of a pool that is there.
fn open(directory: &Path) -> Result<Folder> {
    match directory.join(FACTS_FILE).symlink_metadata() {
        Err(_) => Err(fault(directory, "no pool: `tacita pool fill` makes one")),
        Ok(_) => Folder::open(directory),
    }
}

/// The segments in a directory that hold something, in the order of their names.
fn segments(folder: &Folder) -> Result<Vec<Segment>> {
    let mut names = folder.names()?;
    names.retain(|name| segment::is_name(name));
    names.sort();
    let segments = names.into_iter().map(|name| Segment::read(folder, name)).collect::<Result<Vec<_>>>()?;
    // Two of one id are sealed under the same nonces: a machine that was cloned while it filled the pool makes such.
    let mut ids = BTreeSet::new();
    if let Some(second) = segments.iter().find(|segment| !ids.insert(segment.id())) {
        return Err(second.fault("another segment has the same id: remove both of them"));
    }
    Ok(segments.into_iter().filter(|segment| segment.records() > 0).collect())
}

fn fault(path: &Path, what: &str) -> Error {
    Error::Input(format!("{}: {what}", path.display()))
}
