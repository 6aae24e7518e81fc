//! Records of one length, in files: sorted in bounded memory, and read by their places.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use tacita_core::Result;
use tacita_core::protocol::union;
use zeroize::Zeroizing;

use super::RUNS;
use super::directory::Directory;
use super::heap::{self, Heap};
use crate::store::seal::{Readable, RecordOffset, SealedReader, SealedWriter};

/// Runs that are merged at a time, at most.
const FAN_IN: usize = 64;

/// A chunk takes between this many bytes ...
const MIN_CHUNK_BYTES: usize = 8 << 10;

/// ... and that many, where records are not longer.
const MAX_CHUNK_BYTES: usize = 1 << 20;

/// Overhead of a record in bytes while it is sorted.
const ENTRY_BYTES: usize = size_of::<(u64, u32)>();

/// Label under which the files of runs are sealed.
const RUN: &str = "records";

/// Bytes of a chunk, of which as many as runs are merged are in memory at once, and of one record at least.
pub fn chunk_bytes(memory: usize, record_bytes: usize) -> usize {
    let bytes = (memory / (4 * FAN_IN)).clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES);
    (bytes / record_bytes).max(1) * record_bytes
}

/// A directory as the place where records are put in order, in about so many bytes of memory.
pub struct DiskSortSpace<'a> {
    /// Directory in which runs are written.
    pub directory: &'a Directory,
    /// Memory limit in bytes.
    pub memory: usize,
}

impl union::SortSpace for DiskSortSpace<'_> {
    fn sorter(&self, bytes: usize) -> Result<Box<dyn union::Sorter + '_>> {
        Ok(Box::new(self.records(bytes, 0)))
    }
}

impl<'a> DiskSortSpace<'a> {
    /// Puts records of `bytes` bytes in order, of which about `count` will come.
    pub fn records(&self, bytes: usize, count: usize) -> Records<'a> {
        let most = (self.memory / 2 / (bytes + ENTRY_BYTES)).max(1);
        let chunk_bytes = chunk_bytes(self.memory, bytes);
        Records {
            directory: self.directory,
            bytes,
            run_bytes: most * bytes,
            chunk_bytes,
            fan_in: (self.memory / 2 / chunk_bytes).clamp(2, FAN_IN),
            filling: Zeroizing::new(Vec::with_capacity(most.min(count) * bytes)),
            runs: Vec::new(),
            made: 0,
        }
    }
}

/// Records on their way into order, as strings of bytes.
pub struct Records<'a> {
    directory: &'a Directory,
    bytes: usize,
    run_bytes: usize,
    chunk_bytes: usize,
    fan_in: usize,
    /// The run that is being filled.
    filling: Zeroizing<Vec<u8>>,
    runs: Vec<String>,
    made: usize,
}

impl Records<'_> {
    /// The records of the run that is being filled, in order, a chunk at a time.
    fn in_order(&self, take: &mut dyn FnMut(Vec<u8>) -> Result<()>) -> Result<()> {
        let record = |&(_, place): &(u64, u32)| &self.filling[place as usize * self.bytes..][..self.bytes];
        let records = self.filling.par_chunks_exact(self.bytes).enumerate();
        let mut order: Vec<_> = records.map(|(place, record)| (prefix(record), place as u32)).collect();
        order.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| record(a).cmp(record(b))));
        let mut chunks = order.chunks(self.chunk_bytes / self.bytes);
        chunks.try_for_each(|some| take(some.iter().flat_map(record).copied().collect()))
    }

    fn write_run(&mut self) -> Result<()> {
        if self.filling.is_empty() {
            return Ok(());
        }
        let mut writer = self.begin_run()?;
        self.in_order(&mut |chunk| writer.write(chunk).map(drop))?;
        self.filling.clear();
        self.end_run(writer)
    }

    fn begin_run(&self) -> Result<SealedWriter> {
        self.directory.create_file(&RUNS.name(self.made), RUN)
    }

    fn end_run(&mut self, writer: SealedWriter) -> Result<()> {
        writer.end()?;
        self.runs.push(RUNS.name(self.made));
        self.made += 1;
        Ok(())
    }

    /// Merges runs, and hands their records on in order.
    fn merge(&self, runs: &[String], take: &mut dyn FnMut(Vec<u8>) -> Result<()>) -> Result<()> {
        let mut sources = Vec::new();
        for name in runs {
            sources.extend(Run::open(self.directory, name, self.bytes)?);
        }
        let mut heap = Heap::new(&sources);
        let mut chunk = Vec::with_capacity(self.chunk_bytes);
        while let Some(top) = heap.top() {
            chunk.extend_from_slice(sources[top].record());
            let ended = !sources[top].advance()?;
            heap.settle(&sources, ended);
            if chunk.len() == self.chunk_bytes {
                take(std::mem::replace(&mut chunk, Vec::with_capacity(self.chunk_bytes)))?;
            }
        }
        if chunk.is_empty() { Ok(()) } else { take(chunk) }
    }

    fn remove(&self, runs: &[String]) -> Result<()> {
        runs.iter().try_for_each(|name| self.directory.remove(name))
    }
}

impl union::Sorter for Records<'_> {
    fn add(&mut self, mut records: &[u8]) -> Result<()> {
        while !records.is_empty() {
            let (some, rest) = records.split_at(records.len().min(self.run_bytes - self.filling.len()));
            self.filling.extend_from_slice(some);
            if self.filling.len() == self.run_bytes {
                self.write_run()?;
            }
            records = rest;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, take: &mut (dyn FnMut(&[u8]) -> Result<()> + Send)) -> Result<()> {
        let mut take = |chunk: Vec<u8>| take(&Zeroizing::new(chunk));
        if self.runs.is_empty() {
            return self.in_order(&mut take);
        }
        self.write_run()?;
        self.filling = Zeroizing::default();
        while self.runs.len() > self.fan_in {
            let some: Vec<_> = self.runs.drain(..).collect();
            for group in some.chunks(self.fan_in) {
                let mut writer = self.begin_run()?;
                self.merge(group, &mut |chunk| writer.write(chunk).map(drop))?;
                self.end_run(writer)?;
                self.remove(group)?;
            }
        }
        self.merge(&self.runs, &mut take)?;
        self.remove(&self.runs)
    }
}

/// The first bytes of a record, so that most comparisons need no look at it.
fn prefix(record: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = record.len().min(8);
    bytes[..length].copy_from_slice(&record[..length]);
    u64::from_be_bytes(bytes)
}

/// A run that is being read.
struct Run {
    reader: SealedReader,
    chunk: Zeroizing<Vec<u8>>,
    bytes: usize,
    at: usize,
}

impl Run {
    /// None at its end.
    fn open(directory: &Directory, name: &str, bytes: usize) -> Result<Option<Run>> {
        let mut reader = directory.open_file(name, RUN)?;
        Ok(reader.read_next()?.map(|chunk| Run { reader, chunk, bytes, at: 0 }))
    }

    fn record(&self) -> &[u8] {
        &self.chunk[self.at..self.at + self.bytes]
    }

    fn advance(&mut self) -> Result<bool> {
        self.at += self.bytes;
        if self.at == self.chunk.len() {
            let Some(chunk) = self.reader.read_next()? else { return Ok(false) };
            (self.chunk, self.at) = (chunk, 0);
        }
        Ok(true)
    }
}

impl heap::OrderedSource for Run {
    fn order(&self, other: &Run) -> Ordering {
        self.record().cmp(other.record())
    }
}

/// A file of records that is being written, whose order is theirs.
pub struct FileWriter {
    writer: SealedWriter,
    bytes: usize,
    chunk_bytes: usize,
    count: usize,
    buffer: Vec<u8>,
}

impl FileWriter {
    /// Begins a file of this name, of records of `bytes` bytes.
    pub fn create(directory: &Directory, name: &str, bytes: usize, memory: usize) -> Result<FileWriter> {
        let writer = directory.create_file(name, name)?;
        let chunk_bytes = chunk_bytes(memory, bytes);
        Ok(FileWriter { writer, bytes, chunk_bytes, count: 0, buffer: Vec::with_capacity(chunk_bytes) })
    }

    /// Adds a record that comes next, in parts.
    pub fn add(&mut self, parts: &[&[u8]]) -> Result<()> {
        parts.iter().for_each(|part| self.buffer.extend_from_slice(part));
        self.count += 1;
        if self.buffer.len() == self.chunk_bytes { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(self.chunk_bytes));
        self.writer.write(chunk).map(drop)
    }

    /// Ends the file; on disk before this returns. Returns its random name.
    pub fn finish(mut self) -> Result<[u8; crate::store::seal::ID_BYTES]> {
        if !self.buffer.is_empty() {
            self.write()?;
        }
        Ok(self.writer.finish()?.0)
    }

    /// Ends the writing of a file that nobody misses after a crash.
    pub fn readable(mut self) -> Result<ByPlace> {
        if !self.buffer.is_empty() {
            self.write()?;
        }
        let (bytes, in_chunk, count) = (self.bytes, self.chunk_bytes / self.bytes, self.count);
        Ok(ByPlace { file: self.writer.readable()?, bytes, in_chunk, count, last: Mutex::default() })
    }
}

/// A file of records that are read by their places.
pub struct ByPlace {
    file: Readable,
    bytes: usize,
    /// Records in a chunk.
    in_chunk: usize,
    count: usize,
    /// The chunk that was read last, and its number.
    last: Mutex<Option<(usize, Zeroizing<Vec<u8>>)>>,
}

impl ByPlace {
    /// Returns the number of records.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The records of a range, one after the other.
    pub fn read(&self, range: Range<usize>) -> Result<Vec<u8>> {
        let mut records = Vec::with_capacity(range.len() * self.bytes);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = range.start;
        while next < range.end {
            let number = next / self.in_chunk;
            let first = number * self.in_chunk;
            let end = range.end.min(first + self.in_chunk);
            let chunk = match last.take().filter(|(known, _)| *known == number) {
                Some((_, chunk)) => chunk,
                None => {
                    let there = self.in_chunk.min(self.count - first) * self.bytes;
                    self.file.read(RecordOffset::of(
                        number as u64,
                        (self.in_chunk * self.bytes) as u32,
                        there as u32,
                    ))?
                }
            };
            records.extend_from_slice(&chunk[(next - first) * self.bytes..(end - first) * self.bytes]);
            *last = Some((number, chunk));
            next = end;
        }
        Ok(records)
    }
}
