//! A uniformly random order of more records than fit in memory.
//!
//! Each record goes to a bucket chosen uniformly and independently, and each bucket, which fits, is put into a
//! uniformly random order in memory. One bucket after the other, all of them are in a uniformly random order: it is
//! that of independent uniformly random numbers, of which the bucket is the leading part.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use rand_core::Rng;
use tacita_core::primitive::shuffle::random_order;
use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::random::fresh_rng;
use tacita_node::store::seal::{SealKey, SealedWriter};

use super::files::{self, BUCKET, CHUNK_BYTES, begin_segment, read_segment};
use super::{QueueBatchId, note, step};

/// Memory that a bucket takes while it is filled: its chunk, and its file's buffer.
const FILLING_BYTES: u64 = CHUNK_BYTES as u64 + (1 << 16) + (1 << 12);

/// Expected records of a bucket, at least: that one has twice as many has probability below e^-341.
const MIN_RECORDS: u64 = 1024;

/// A folder, and what opens its files.
#[derive(Clone, Copy)]
pub(super) struct Sealed<'a> {
    pub(super) folder: &'a Folder,
    pub(super) key: &'a SealKey,
    pub(super) record_bytes: usize,
}

/// File from which records are read.
pub(super) struct Source {
    pub(super) name: String,
    /// A mark stands before its segments.
    pub(super) marked: bool,
    /// Total number of records.
    pub(super) records: u64,
}

impl Sealed<'_> {
    /// Calls `each` with every record of a file, and the participant that it is of.
    pub(super) fn read(&self, source: &Source, each: &mut dyn FnMut(u32, &[u8]) -> Result<()>) -> Result<()> {
        let Sealed { folder, key, record_bytes } = *self;
        let name = &source.name;
        let damaged = || files::damaged(folder, name);
        note("read");
        let mut reader = files::open(folder, name, key)?;
        if source.marked {
            files::next(&mut reader, folder, name)?;
        }
        let mut all = source.records;
        while all > 0 {
            let segment = files::next(&mut reader, folder, name)?;
            let (participant, records) = read_segment(&segment).ok_or_else(damaged)?;
            all = all.checked_sub(records).ok_or_else(damaged)?;
            let mut left = records;
            while left > 0 {
                let chunk = files::next(&mut reader, folder, name)?;
                if chunk.is_empty() || chunk.len() % record_bytes != 0 {
                    return Err(damaged());
                }
                left = left.checked_sub((chunk.len() / record_bytes) as u64).ok_or_else(damaged)?;
                chunk.chunks_exact(record_bytes).try_for_each(|record| each(participant, record))?;
            }
        }
        files::end(&mut reader, folder, name)
    }
}

/// Returns the number of buckets that are needed for this many records in `memory` bytes.
///
/// Errors ([`Error::Input`]): that is too little.
pub(super) fn buckets(records: u64, record_bytes: usize, memory: u64) -> Result<u64> {
    // First half of it goes to the buckets that are filled, then half to one that is twice as large as expected, with
    // its order.
    let bytes = records.saturating_mul(record_bytes as u64 + size_of::<u32>() as u64);
    let buckets = bytes.div_ceil((memory / 4).max(1)).max(1).min((records / MIN_RECORDS).max(1));
    if buckets > 1 && buckets.saturating_mul(FILLING_BYTES) > memory / 2 {
        let needed = (8.0 * bytes as f64 * FILLING_BYTES as f64).sqrt() as u64;
        return Err(Error::Input(format!(
            "a shuffle of {records} reports needs {} MiB of memory, and {} MiB are allowed: allow more",
            (needed >> 20) + 1,
            memory >> 20
        )));
    }
    Ok(buckets)
}

/// Buckets that are being filled, or full.
pub(super) struct Buckets<'a> {
    sealed: Sealed<'a>,
    open: Vec<Bucket>,
    rng: ChaCha20Rng,
}

struct Bucket {
    source: Source,
    writer: SealedWriter,
    chunk: Vec<u8>,
}

impl<'a> Buckets<'a> {
    pub(super) fn new(sealed: Sealed<'a>, count: u64) -> Result<Buckets<'a>> {
        let bucket = |number: u64| {
            let name = format!("{BUCKET}{number}");
            let writer = files::create(sealed.folder, &name, sealed.key)?;
            Ok(Bucket { source: Source { name, marked: false, records: 0 }, writer, chunk: Vec::new() })
        };
        Ok(Buckets { sealed, open: (0..count).map(bucket).collect::<Result<_>>()?, rng: fresh_rng()? })
    }

    /// Puts a record into one of them.
    pub(super) fn add(&mut self, record: &[u8]) -> Result<()> {
        let place = below(self.open.len() as u64, &mut self.rng) as usize;
        let Some(bucket) = self.open.get_mut(place) else { return Ok(()) };
        bucket.chunk.extend_from_slice(record);
        bucket.source.records += 1;
        if bucket.chunk.len() >= files::chunk(self.sealed.record_bytes) {
            bucket.flush(self.sealed.record_bytes)
        } else {
            Ok(())
        }
    }

    /// Calls `each` with all records in a uniformly random order.
    pub(super) fn empty(self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Buckets { sealed, open, mut rng } = self;
        let end = |mut bucket: Bucket| {
            bucket.flush(sealed.record_bytes)?;
            bucket.writer.end()?;
            Ok(bucket.source)
        };
        let full = open.into_iter().map(end).collect::<Result<Vec<Source>>>()?;
        for bucket in full {
            let size = sealed.record_bytes;
            let mut records = Vec::with_capacity(bucket.records as usize * size);
            sealed.read(&bucket, &mut |_, record| {
                records.extend_from_slice(record);
                Ok(())
            })?;
            sealed
                .folder
                .remove(&bucket.name)
                .map_err(|error| files::cannot_write(sealed.folder, &bucket.name, &error))?;
            for place in random_order(bucket.records as usize, &mut rng) {
                let at = place as usize * size;
                each(&records[at..at + size])?;
            }
        }
        Ok(())
    }
}

impl Bucket {
    fn flush(&mut self, record_bytes: usize) -> Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        begin_segment(&mut self.writer, 0, (self.chunk.len() / record_bytes) as u64)?;
        // In place of its memory, which is sealed and goes.
        let chunk = std::mem::take(&mut self.chunk);
        self.writer.write(chunk).map(drop)
    }
}

/// Batches that leave, of one length but the last, under random names.
pub(super) struct Leaving<'a> {
    sealed: Sealed<'a>,
    generation: u64,
    batch_records: usize,
    batch: Vec<u8>,
    rng: ChaCha20Rng,
    pub(super) written: BTreeMap<QueueBatchId, (String, u64)>,
}

impl<'a> Leaving<'a> {
    pub(super) fn new(sealed: Sealed<'a>, generation: u64, batch_records: usize) -> Result<Leaving<'a>> {
        Ok(Leaving {
            sealed,
            generation,
            batch_records,
            batch: Vec::new(),
            rng: fresh_rng()?,
            written: BTreeMap::new(),
        })
    }

    pub(super) fn add(&mut self, record: &[u8]) -> Result<()> {
        self.batch.extend_from_slice(record);
        if self.batch.len() / self.sealed.record_bytes >= self.batch_records { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut id = QueueBatchId::default();
        self.rng.fill_bytes(&mut id);
        let name = files::outgoing(self.generation, &id);
        step("out")?;
        let mut writer = files::create(self.sealed.folder, &name, self.sealed.key)?;
        writer.write(std::mem::take(&mut self.batch))?;
        let (_, length) = writer.finish()?;
        step("out written")?;
        self.written.insert(id, (name, files::on_disk(length)));
        Ok(())
    }
}

/// Takes `taken` of `all` records, of which each subset is equally likely (Knuth vol. 2, algorithm 3.4.2 S).
pub(super) struct Draw<R> {
    rng: R,
    taken: u64,
    all: u64,
}

impl<R: Rng> Draw<R> {
    pub(super) fn new(rng: R, taken: u64, all: u64) -> Draw<R> {
        Draw { rng, taken, all }
    }

    /// Whether the next record is taken.
    pub(super) fn next(&mut self) -> bool {
        if self.all == 0 {
            return false;
        }
        let take = below(self.all, &mut self.rng) < self.taken;
        self.all -= 1;
        self.taken -= u64::from(take);
        take
    }
}

/// A uniformly random number below `bound`, which is not zero.
pub(super) fn below(bound: u64, rng: &mut impl Rng) -> u64 {
    let threshold = bound.wrapping_neg() % bound;
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(bound);
        if product as u64 >= threshold {
            return (product >> 64) as u64;
        }
    }
}
