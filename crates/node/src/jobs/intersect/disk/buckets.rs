//! Location of a party's buckets during a bucketed run: on disk, or in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tacita_core::primitive::items::items_of;
use tacita_core::protocol::intersect::buckets::{BucketSource, bucket_of};
use tacita_core::{ITEM_BYTES, Item, Progress, Result, Role};

use crate::jobs::on_disk::directory::{Directory, Sorted};
use crate::jobs::on_disk::prepare::SortedKeys;
use crate::jobs::on_disk::{BUCKETS, RESULT};
use crate::store::seal::{Readable, RecordOffset};
use crate::table;

/// An item on disk, with the number of its key.
const ENTRY_BYTES: usize = ITEM_BYTES + 4;

/// Maximum number of bytes that one bucket buffers before they are written.
const MAX_BUFFER_BYTES: usize = 1800 * ENTRY_BYTES;

/// Buckets in a file, one for all of them.
pub struct DiskBuckets<'a> {
    directory: &'a Directory,
    /// Run for which results are sealed.
    run: &'a str,
    file: Readable,
    /// Places of the parts of each bucket.
    places: Vec<Vec<RecordOffset>>,
    /// The numbers of the keys of the buckets that are being done.
    loaded: Mutex<BTreeMap<usize, Vec<u32>>>,
}

impl<'a> DiskBuckets<'a> {
    /// Hashes the keys of a sorted table, and sorts their items into buckets.
    pub fn make(
        directory: &'a Directory,
        run: &'a str,
        sorted: &Sorted,
        item_key: &[u8; 32],
        buckets: usize,
        memory: usize,
        progress: &Progress,
    ) -> Result<DiskBuckets<'a>> {
        progress.start("hashing", sorted.counts.items);
        directory.note_needed(sorted.counts.items as u64 * (ENTRY_BYTES as u64 + 4));
        let mut keys = SortedKeys::open(directory)?;
        let mut file = directory.create_file(BUCKETS, BUCKETS)?;
        let room = (memory / buckets).clamp(ENTRY_BYTES, MAX_BUFFER_BYTES);
        let mut buffers: Vec<Vec<u8>> = vec![Vec::new(); buckets];
        let mut places = vec![Vec::new(); buckets];
        let mut number = 0u32;
        while let Some(items) = keys.next(|key| Item::new(item_key, key))? {
            for item in &items {
                let bucket = bucket_of(item, buckets);
                let buffer = &mut buffers[bucket];
                buffer.extend_from_slice(&item.0);
                buffer.extend_from_slice(&number.to_le_bytes());
                number += 1;
                if buffer.len() >= room {
                    places[bucket].push(file.write(std::mem::take(buffer))?);
                }
            }
            progress.advance(items.len());
        }
        for (buffer, places) in buffers.into_iter().zip(&mut places) {
            if !buffer.is_empty() {
                places.push(file.write(buffer)?);
            }
        }
        Ok(DiskBuckets { directory, run, file: file.readable()?, places, loaded: Mutex::default() })
    }
}

impl BucketSource for DiskBuckets<'_> {
    fn load(&self, bucket: usize) -> Result<Vec<Item>> {
        let (mut items, mut numbers) = (Vec::new(), Vec::new());
        for place in &self.places[bucket] {
            let record = self.file.read(*place)?;
            for entry in record.chunks_exact(ENTRY_BYTES) {
                let (item, number) = entry.split_at(ITEM_BYTES);
                items.push(Item(std::array::from_fn(|index| item[index])));
                numbers.push(u32::from_le_bytes(std::array::from_fn(|index| number[index])));
            }
        }
        lock(&self.loaded).insert(bucket, numbers);
        Ok(items)
    }

    fn finish(&self, bucket: usize, common: Option<&[usize]>) -> Result<()> {
        let numbers = lock(&self.loaded).remove(&bucket).unwrap_or_default();
        let common = common.unwrap_or_default().iter().flat_map(|&index| numbers[index].to_le_bytes()).collect();
        self.directory.put(&result_name(bucket), &result_purpose(self.run, bucket), common)
    }
}

fn result_name(bucket: usize) -> String {
    RESULT.name(bucket)
}

fn result_purpose(run: &str, bucket: usize) -> String {
    format!("result {bucket} of {run}")
}

/// The buckets that are finished in a run, ascending.
pub fn finished(directory: &Directory) -> Result<Vec<usize>> {
    let mut buckets: Vec<_> = RESULT.numbers(directory)?;
    buckets.sort_unstable();
    Ok(buckets)
}

/// The numbers of the keys that are common, as far as buckets are finished: a bit for each of `items` keys.
pub fn common(directory: &Directory, run: &str, items: usize) -> Result<Vec<u64>> {
    let mut bits = vec![0u64; items.div_ceil(64)];
    for bucket in finished(directory)? {
        let name = result_name(bucket);
        let record = directory.open_file(&name, &result_purpose(run, bucket))?.only()?;
        for number in record.chunks_exact(4) {
            let number = u32::from_le_bytes(std::array::from_fn(|index| number[index])) as usize;
            let word = bits.get_mut(number / 64).ok_or_else(|| crate::store::seal::damaged(&directory.path(&name)))?;
            *word |= 1 << (number % 64);
        }
    }
    Ok(bits)
}

/// Buckets in memory: of a party whose table is there, too.
pub struct MemoryBuckets {
    items: Vec<Item>,
    /// Numbers of the keys, bucket by bucket, and where each bucket starts.
    order: Vec<u32>,
    starts: Vec<usize>,
    common: Mutex<Vec<usize>>,
}

impl MemoryBuckets {
    /// Sorts the items of these keys into buckets.
    pub fn make(keys: &table::TableKeys, item_key: &[u8; 32], buckets: usize) -> MemoryBuckets {
        let items = items_of(item_key, keys.len(), |index| keys.key(index));
        let mut starts = vec![0; buckets + 1];
        items.iter().for_each(|item| starts[bucket_of(item, buckets) + 1] += 1);
        (0..buckets).for_each(|bucket| starts[bucket + 1] += starts[bucket]);
        let (mut next, mut order) = (starts.clone(), vec![0; items.len()]);
        for (number, item) in items.iter().enumerate() {
            let next = &mut next[bucket_of(item, buckets)];
            order[*next] = number as u32;
            *next += 1;
        }
        MemoryBuckets { items, order, starts, common: Mutex::default() }
    }

    /// The numbers of the keys that are common, ascending.
    pub fn common(self) -> Vec<usize> {
        let mut common = self.common.into_inner().unwrap_or_else(PoisonError::into_inner);
        common.sort_unstable();
        common
    }

    fn numbers(&self, bucket: usize) -> &[u32] {
        &self.order[self.starts[bucket]..self.starts[bucket + 1]]
    }
}

impl BucketSource for MemoryBuckets {
    fn load(&self, bucket: usize) -> Result<Vec<Item>> {
        Ok(self.numbers(bucket).iter().map(|&number| self.items[number as usize]).collect())
    }

    fn finish(&self, bucket: usize, common: Option<&[usize]>) -> Result<()> {
        let numbers = self.numbers(bucket);
        lock(&self.common).extend(common.unwrap_or_default().iter().map(|&index| numbers[index] as usize));
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The role of a party.
pub fn role(receives: bool) -> Role {
    if receives { Role::Receiver } else { Role::Sender }
}
