//! Putting records in order, in memory or elsewhere.

use rayon::prelude::*;

use crate::error::Result;

/// Storage in which records are sorted: memory, or a disk.
pub trait SortSpace: Sync {
    /// A sorter of records of `bytes` bytes each. Nothing is taken for records that have not come.
    fn sorter(&self, bytes: usize) -> Result<Box<dyn Sorter + '_>>;
}

/// Puts records of one length in order, as strings of bytes.
pub trait Sorter: Send {
    /// Adds records, one after the other.
    fn add(&mut self, records: &[u8]) -> Result<()>;

    /// Hands all of them to `take`, in order, some at a time.
    fn finish(self: Box<Self>, take: &mut (dyn FnMut(&[u8]) -> Result<()> + Send)) -> Result<()>;
}

/// Storage of records in memory.
pub struct MemorySpace;

impl SortSpace for MemorySpace {
    fn sorter(&self, bytes: usize) -> Result<Box<dyn Sorter + '_>> {
        Ok(Box::new(Records { bytes, records: Vec::new() }))
    }
}

/// Records of one length, in memory.
struct Records {
    bytes: usize,
    records: Vec<u8>,
}

/// Records that are handed on at a time.
const HANDED: usize = 1 << 12;

impl Sorter for Records {
    fn add(&mut self, records: &[u8]) -> Result<()> {
        self.records.extend_from_slice(records);
        Ok(())
    }

    fn finish(self: Box<Self>, take: &mut (dyn FnMut(&[u8]) -> Result<()> + Send)) -> Result<()> {
        let mut order: Vec<&[u8]> = self.records.chunks_exact(self.bytes).collect();
        order.par_sort_unstable();
        order.chunks(HANDED).try_for_each(|some| take(&some.concat()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_in_order() {
        for count in [0, 1, 2, HANDED, HANDED + 1] {
            let mut records: Vec<[u8; 3]> =
                (0..count as u32).map(|i| (i * 7_919 % 65_537).to_be_bytes()[1..].try_into().unwrap()).collect();
            let mut sorter = MemorySpace.sorter(3).unwrap();
            records.chunks(5).for_each(|some| sorter.add(some.as_flattened()).unwrap());
            let mut sorted = Vec::new();
            let mut take = |some: &[u8]| {
                sorted.extend_from_slice(some);
                Ok(())
            };
            sorter.finish(&mut take).unwrap();
            records.sort_unstable();
            assert_eq!(sorted, records.concat());
        }
    }
}
