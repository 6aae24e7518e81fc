//! A count over many machines: each bucket leaves the sender elements and tags, and the drivers send those of all
//! buckets together, so that no bucket tells a number. See `tacita_core::protocol::intersect::ecdh::pooled`.
//!
//! 1. In a bucket ([`run`]) the receiver's machine sends its items, blinded; the sender's evaluates them, and keeps them with its own tags.
//! 2. The drivers send and receive the pool, part by part ([`send`], [`receive`]), from files to files.
//! 3. The receiver's machines make tags of the elements of a part ([`open`]), and look which the sender has, too ([`matches()`]).
//! 4. The sender is told the count ([`tell`], [`hear`]), if it learns.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::channel::labels::handshake::DRIVERS;
use tacita_core::primitive::oprf::OprfKey;
use tacita_core::protocol::intersect::ecdh::pooled::{self, PoolRemainder, TagPool};
use tacita_core::{Error, Result};

use super::found::{IntersectResult, count_of};
use super::methods::{MethodContext, ecdh};
use crate::agreement::{Answer, Bucket, JobSpec, Pooled};
use crate::base::files::write_whole_private;
use crate::base::random::fresh_rng;

/// One side of a bucket. The sender has its file when this returns; nobody has found anything.
pub fn run(run: &MethodContext<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<IntersectResult> {
    let (bucket, own) = own_of(run.job)?;
    let key = key(run.job, own)?;
    let params = ecdh::params(run.params, run.job.level);
    if run.receives() {
        pooled::ask(&run.items, &key, &params, channel, rng)?;
        return Ok(IntersectResult::Nothing);
    }
    let pool = pool(run.job, &bucket.bounds, bucket.of)?;
    let answered = pooled::answer(&run.items, &key, &tag_key(own), &pool, &params, channel, rng)?;
    write_parts(&own.place, answered.elements.iter().chain(&answered.tags))?;
    Ok(IntersectResult::Nothing)
}

/// Whether the receiver has the count already, of a meeting that was cut off: then the pool is not sent again.
pub fn has_counted(job: &JobSpec, me: &str, counted: bool, channel: &mut Channel) -> Result<bool> {
    let theirs = channel.exchange(DRIVERS, vec![counted.into()], 1)?;
    match (me == job.receiver(), &theirs[..]) {
        (true, _) => Ok(counted),
        (false, [said @ (0 | 1)]) => Ok(*said == 1),
        _ => Err(channel.violation(format!("`{}` is neither yes nor no", DRIVERS.name))),
    }
}

/// The sender's driver: the pool, from what the buckets have left.
pub fn send(job: &JobSpec, bounds: &BTreeMap<String, u64>, files: &[PathBuf], channel: &mut Channel) -> Result<()> {
    let pool = pool(job, bounds, files.len())?;
    let mut rng = fresh_rng()?;
    for part in 0..pool.parts() {
        let elements = together(files, 2 * pool.parts(), part)?;
        let tags = together(files, 2 * pool.parts(), pool.parts() + part)?;
        pooled::send(elements, tags, &pool, channel, &mut rng)?;
    }
    Ok(())
}

/// The receiver's driver: the pool, in two files of each part. Returns how many parts there are.
pub fn receive(
    job: &JobSpec,
    bounds: &BTreeMap<String, u64>,
    buckets: usize,
    place: &Path,
    channel: &mut Channel,
) -> Result<usize> {
    let pool = pool(job, bounds, buckets)?;
    let mut left = PoolRemainder::all(&pool);
    for part in 0..pool.parts() {
        let (elements, tags) = pooled::receive(&pool, &mut left, channel)?;
        write_whole_private(&place.join(format!("{ELEMENTS}-{part}")), &elements)?;
        write_whole_private(&place.join(format!("{THEIRS}-{part}")), &tags)?;
    }
    left.check(channel)?;
    Ok(pool.parts())
}

/// File names for a part: elements of the receiver, their tags, and the sender's tags.
const ELEMENTS: &str = "elements";
const OWN: &str = "own-tags";
const THEIRS: &str = "their-tags";

/// A machine of the receiver: tags of the elements of a part, in a file. `job` is that of any bucket.
pub fn open(job: &JobSpec, me: &str, place: &Path, part: usize) -> Result<()> {
    let (bucket, own) = own_of(job)?;
    let pool = pool(job, &bucket.bounds, bucket.of)?;
    let elements = read(&place.join(format!("{ELEMENTS}-{part}")))?;
    let tags = pooled::open(&elements, &key(job, own)?, &tag_key(own), &pool)
        .map_err(|error| blame(job, me, format!("the pool {error}")))?;
    write_parts(&place.join(format!("{OWN}-{part}")), tags.iter())
}

/// A machine of the receiver: how many of its tags of a part the sender has, too, when all parts are open.
pub fn matches(job: &JobSpec, me: &str, place: &Path, part: usize) -> Result<u64> {
    let (bucket, _) = own_of(job)?;
    let pool = pool(job, &bucket.bounds, bucket.of)?;
    let files: Vec<PathBuf> = (0..pool.parts()).map(|part| place.join(format!("{OWN}-{part}"))).collect();
    let own = together(&files, pool.parts(), part)?;
    let theirs = read(&place.join(format!("{THEIRS}-{part}")))?;
    pooled::matches(&own, &theirs, part, &pool).map_err(|wrong| blame(job, me, format!("the pool: {wrong}")))
}

/// Tells the sender what was counted, if it learns. What the receiver learns, as the job has it told.
pub fn tell(
    job: &JobSpec,
    me: &str,
    sizes: &BTreeMap<String, u64>,
    count: u64,
    channel: &mut Channel,
) -> Result<Answer> {
    if count > most(sizes) {
        return Err(blame(job, me, "the pool matches more items than there are".into()));
    }
    if job.learns(job.peer_of(me)) {
        pooled::tell(count, channel)?;
    }
    Ok(count_of(count, job.limits.min_result))
}

/// Receives the result that the sender is told.
pub fn hear(job: &JobSpec, me: &str, sizes: &BTreeMap<String, u64>, channel: &mut Channel) -> Result<Answer> {
    if job.learns(me) {
        Ok(count_of(pooled::hear(most(sizes), channel)?, job.limits.min_result))
    } else {
        Ok(Answer::Nothing)
    }
}

/// More keys than the party with the fewest rows has nobody has in common.
fn most(sizes: &BTreeMap<String, u64>) -> u64 {
    sizes.values().min().copied().unwrap_or(0)
}

fn own_of(job: &JobSpec) -> Result<(&Bucket, &Pooled)> {
    let bucket = job.bucket();
    let own = bucket.and_then(|bucket| Some((bucket, bucket.pooled.as_ref()?)));
    own.ok_or_else(|| Error::Internal("a count of one bucket alone".into()))
}

fn pool(job: &JobSpec, bounds: &BTreeMap<String, u64>, buckets: usize) -> Result<TagPool> {
    let receiver = job.receiver();
    let total = |name: &str| bounds.get(name).and_then(|bound| bound.checked_mul(buckets as u64));
    match (total(receiver), total(job.peer_of(receiver))) {
        (Some(asked), Some(sent)) => Ok(TagPool::new(ecdh::suite(job.level), asked, sent)),
        _ => Err(Error::Internal("a pool of buckets without bounds".into())),
    }
}

/// The own exponent, for all buckets of the run.
fn key(job: &JobSpec, own: &Pooled) -> Result<OprfKey> {
    OprfKey::derive(ecdh::suite(job.level), &own.secret, b"tacita 1 spread count")
}

fn tag_key(own: &Pooled) -> [u8; 32] {
    blake3::derive_key("tacita 1 spread count tag", &*own.item_key)
}

fn blame(job: &JobSpec, me: &str, check: String) -> Error {
    Error::Protocol { peer: job.peer_of(me).to_owned(), check }
}

/// Writes parts one after the other, and before them how long each is.
fn write_parts<'a>(path: &Path, parts: impl Iterator<Item = &'a Vec<u8>> + Clone) -> Result<()> {
    let mut bytes = Vec::new();
    parts.clone().for_each(|part| bytes.extend((part.len() as u64).to_le_bytes()));
    parts.for_each(|part| bytes.extend_from_slice(part));
    write_whole_private(path, &bytes)
}

/// Concatenates one part from all files of so many parts.
fn together(files: &[PathBuf], parts: usize, part: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for path in files {
        read_part(path, parts, part, &mut bytes).map_err(|error| unreadable(path, &error))?;
    }
    Ok(bytes)
}

fn read_part(path: &Path, parts: usize, part: usize, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut lengths = vec![0; 8 * parts];
    file.read_exact(&mut lengths)?;
    let length = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let lengths: Vec<u64> = lengths.chunks_exact(8).map(length).collect();
    let before = lengths[..part].iter().fold(8 * parts as u64, |sum, length| sum.saturating_add(*length));
    file.seek(SeekFrom::Start(before))?;
    let read = file.take(lengths[part]).read_to_end(bytes)?;
    if read as u64 == lengths[part] { Ok(()) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::Input(format!("{}: cannot be read: {error}: start anew", path.display()))
}
