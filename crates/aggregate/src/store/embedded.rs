//! Rounds in a directory of one process: a log-structured merge tree for each round's reports, one for marks.
//!
//! A report's key is its row, batch and place in the batch, so that reading a tree in order groups it by rows. A
//! batch's mark and reports are one atomic write to the journal, flushed before a call returns.
//!
//! The files show what the database's operator sees: which reports have a key in common, their values, and which are of
//! one participant within a row. Neither keys nor participants follow from them without a secret of the proxy. They are
//! not sealed, since the order of rows would show most of this: the directory is its owner's alone; encrypt its disk.

mod disk;
mod key;
mod mark;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, FilterPolicy};
use fjall::{Database, Guard, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;

use self::disk::{create, damaged, fault, keep_trees, make_private, open_trees};
use self::key::{CLAIM, MARK, RECORD, REMOVED, ROUND, Round, SEALED};
use self::mark::{read_mark, write_mark};
use super::rows::{DIGEST_BYTES, digest, group};
use super::{BatchOrigin, GroupVisitor, Holder, Ingested, NO_PROXY, OpenedReport, RowId, Storage, Stored, Totals};
use crate::wire::batch::{BatchId, ClaimId};

const LOCK: &str = "storage.lock";
const TREES: &str = "storage";
/// The same until it is whole.
const UNFINISHED: &str = "storage.part";
/// The tree of marks and records.
const STATE: &str = "state";

const ROW_BYTES: usize = size_of::<RowId>();
const PLACE_BYTES: usize = size_of::<BatchId>() + size_of::<u32>();
const TAG_BYTES: usize = 32;
const VALUE_BYTES: usize = size_of::<u32>();

const CACHE_BYTES: u64 = 16 << 20;
/// Maximum amount to be read again when the storage is opened, in bytes.
const JOURNAL_BYTES: u64 = 128 << 20;
const BLOCK_BYTES: u32 = 16 << 10;
const TABLE_BYTES: u64 = 64 << 20;
const THREADS: usize = 2;

/// Disk space that is left free for merging tables, up to so much of what there is.
const MERGE_BYTES: u64 = 768 << 20;
/// Part of `MERGE_BYTES` left free for changes of a round's state: closing or removing a round gives room.
const STATE_RESERVE_BYTES: u64 = 16 << 20;
/// Tables and memory tables that may wait to be merged or written before a writer has to wait.
const MAX_UNMERGED: usize = 18;
const MAX_UNWRITTEN: usize = 2;
const WAIT: Duration = Duration::from_millis(10);

/// Rounds in a directory that this process alone has open.
pub struct Embedded {
    path: PathBuf,
    database: Database,
    state: Keyspace,
    /// One thread writes at a time: a batch's mark is looked up and written without another's in between.
    writing: Mutex<()>,
    sizes: Sizes,
    _lock: std::fs::File,
}

/// Bytes that a storage deals with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Disk space that is left free for the memory that is still to be written.
    pub(super) reserve: u64,
    /// Memory for what a round's tree has not written to its tables yet; up to five of these are full at once.
    pub(super) memory: u64,
}

pub(super) const SIZES: Sizes = Sizes { reserve: 256 << 20, memory: 32 << 20 };

impl Embedded {
    /// Opens a directory, which is made if it is not there. Errors ([`Error::Input`]): others can write to it; another
    /// process has it open; its files are damaged, or not of this version.
    pub fn open(path: &Path) -> Result<Embedded> {
        Embedded::sized(path, SIZES)
    }

    pub(super) fn sized(path: &Path, sizes: Sizes) -> Result<Embedded> {
        let folder = Folder::make(path)?;
        let lock = folder.try_lock(LOCK)?.ok_or_else(|| {
            Error::Input(format!(
                "{}: another process has this storage open: stop it, or name another directory",
                path.display()
            ))
        })?;
        let trees = folder.at(TREES);
        if !folder.has(TREES) {
            create(&folder).map_err(|error| fault(path, &error))?;
        }
        // Its files have the modes that the process gives by default: nobody else gets to them.
        make_private(&trees)?;
        let database = open_trees(&trees).map_err(|error| fault(path, &error))?;
        // A process that was killed may not have waited for them.
        keep_trees(&trees).map_err(|error| fault(path, &error))?;
        let state = database.keyspace(STATE, KeyspaceCreateOptions::default).map_err(|error| fault(path, &error))?;
        let storage = Embedded { path: path.to_owned(), database, state, writing: Mutex::new(()), sizes, _lock: lock };
        storage.finish_removals()?;
        Ok(storage)
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        // It guards no data: a thread that panicked left none half changed.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tree of a round, if it has one.
    fn reports(&self, round: &Round) -> Result<Option<Keyspace>> {
        if self.database.keyspace_exists(&round.tree()) { self.create_reports(round).map(Some) } else { Ok(None) }
    }

    fn create_reports(&self, round: &Round) -> Result<Keyspace> {
        let options = || {
            let merging = Leveled::default().with_table_target_size(TABLE_BYTES);
            // They are read in order, and never looked up: filters would not help.
            KeyspaceCreateOptions::default()
                .max_memtable_size(self.sizes.memory)
                .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
                .filter_policy(FilterPolicy::disabled())
                .compaction_strategy(Arc::new(merging))
        };
        let is_there = self.database.keyspace_exists(&round.tree());
        let reports = self.database.keyspace(&round.tree(), options).map_err(|error| self.fault(error))?;
        if !is_there {
            keep_trees(&self.path.join(TREES)).map_err(|error| self.fault(error))?;
        }
        Ok(reports)
    }

    /// Refuses a write that the disk has no room for: one that fails halfway would stop all others.
    fn check_room(&self) -> Result<()> {
        let used = self.database.disk_space().map_err(|error| self.fault(error))?;
        self.check_free(self.sizes.reserve.saturating_add(used.min(MERGE_BYTES)))
    }

    fn check_free(&self, needed: u64) -> Result<()> {
        let facts = rustix::fs::statvfs(&self.path)
            .map_err(|error| Error::Input(format!("{}: cannot be looked at: {error}", self.path.display())))?;
        let free = facts.f_bavail.saturating_mul(facts.f_frsize);
        if free < needed {
            return Err(Error::Input(format!(
                "{}: the disk is full: {} MiB are free, and {} MiB have to be: make room; nothing was taken, and nothing is lost",
                self.path.display(),
                free >> 20,
                needed >> 20
            )));
        }
        Ok(())
    }

    /// Waits until what is written before has been merged. (The trees would not notice that their disk has failed.)
    fn wait_for_merging(&self, reports: &Keyspace) -> Result<()> {
        while reports.l0_table_count() > MAX_UNMERGED || reports.sealed_memtable_count() > MAX_UNWRITTEN {
            self.database.persist(PersistMode::Buffer).map_err(|error| self.fault(error))?;
            std::thread::sleep(WAIT);
        }
        Ok(())
    }

    fn is_sealed(&self, round: &Round) -> Result<bool> {
        self.state.contains_key(round.key(SEALED, b"")).map_err(|error| self.fault(error))
    }

    /// Removes what was left of rounds whose removal had begun.
    fn finish_removals(&self) -> Result<()> {
        let _writing = self.writing();
        let begun = self.state.prefix([REMOVED]).map(|entry| entry.key());
        for key in begun.collect::<fjall::Result<Vec<_>>>().map_err(|error| self.fault(error))? {
            let round = key[1..].try_into().map(Round).map_err(|_| self.damaged())?;
            self.remove_reports(&round)?;
        }
        Ok(())
    }

    /// Removes all that is kept of a round beside its tree, and marks it as removed.
    pub(super) fn begin_removal(&self, round: &str) -> Result<()> {
        let key = Round::new(round);
        let mut writes = self.database.batch().durability(Some(PersistMode::SyncAll));
        writes.insert(&self.state, key.key(REMOVED, b""), b"");
        for kind in [ROUND, MARK, CLAIM, RECORD, SEALED] {
            for entry in self.state.prefix(key.key(kind, b"")) {
                writes.remove(&self.state, entry.key().map_err(|error| self.fault(error))?);
            }
        }
        writes.commit().map_err(|error| self.fault(error))
    }

    /// Removes the tree of a round that has been marked as removed, and the mark.
    fn remove_reports(&self, round: &Round) -> Result<()> {
        if let Some(reports) = self.reports(round)? {
            self.database.delete_keyspace(reports).map_err(|error| self.fault(error))?;
        }
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncAll));
        batch.remove(&self.state, round.key(REMOVED, b""));
        batch.commit().map_err(|error| self.fault(error))
    }

    /// Goes through the batches of a round: the reports of each, and where it came from.
    fn marks(&self, round: &str, mut each: impl FnMut(u64, BatchOrigin)) -> Result<()> {
        for mark in self.state.prefix(Round::new(round).key(MARK, b"")) {
            let mark = mark.value().map_err(|error| self.fault(error))?;
            let (reports, origin) = mark.get(DIGEST_BYTES..).and_then(read_mark).ok_or_else(|| self.damaged())?;
            each(reports, origin);
        }
        Ok(())
    }

    fn stored(&self, value: &[u8]) -> Result<Stored> {
        let (tag, rest) = value.split_first_chunk::<TAG_BYTES>().ok_or_else(|| self.damaged())?;
        let (value, sealed) = rest.split_first_chunk::<VALUE_BYTES>().ok_or_else(|| self.damaged())?;
        Ok(Stored { tag: *tag, value: u32::from_le_bytes(*value), sealed: sealed.to_vec() })
    }

    /// A report and its row.
    fn report(&self, entry: Guard) -> Result<(RowId, Stored)> {
        let (key, value) = entry.into_inner().map_err(|error| self.fault(error))?;
        let row = key.first_chunk().filter(|_| key.len() == ROW_BYTES + PLACE_BYTES).ok_or_else(|| self.damaged())?;
        Ok((*row, self.stored(&value)?))
    }

    fn fault(&self, error: fjall::Error) -> Error {
        fault(&self.path, &error)
    }

    fn damaged(&self) -> Error {
        damaged(&self.path, "an entry has not the length that it was written with")
    }
}

impl Storage for Embedded {
    fn is_shared(&self) -> bool {
        false
    }

    fn ingest_from(
        &self,
        origin: BatchOrigin,
        round: &str,
        batch: &BatchId,
        rows: &[OpenedReport],
    ) -> Result<Ingested> {
        let key = Round::new(round);
        let mark = key.key(MARK, batch);
        let digest = digest(rows);
        let _writing = self.writing();
        if let Some(known) = self.state.get(&mark).map_err(|error| self.fault(error))? {
            return match known.first_chunk::<DIGEST_BYTES>() {
                Some(known) if *known == digest => Ok(Ingested::Known),
                Some(_) => Ok(Ingested::Conflict),
                None => Err(self.damaged()),
            };
        }
        if self.is_sealed(&key)? {
            return Ok(Ingested::Sealed);
        }
        self.check_room()?;
        let reports = self.create_reports(&key)?;
        self.wait_for_merging(&reports)?;
        let mut writes = self.database.batch().durability(Some(PersistMode::SyncAll));
        writes.insert(&self.state, key.key(ROUND, b""), round.as_bytes());
        writes.insert(&self.state, mark, [&digest[..], &write_mark(rows.len() as u64, origin)].concat());
        for (place, row) in (0u32..).zip(rows) {
            let key = [&row.id[..], batch, &place.to_be_bytes()].concat();
            let Stored { tag, value, sealed } = &row.stored;
            writes.insert(&reports, key, [&tag[..], &value.to_le_bytes(), sealed].concat());
        }
        writes.commit().map_err(|error| self.fault(error))?;
        Ok(Ingested::New)
    }

    fn groups(&self, round: &str, after: Option<&RowId>, each: &mut GroupVisitor<'_>) -> Result<()> {
        use std::ops::Bound::{Excluded, Unbounded};
        let Some(reports) = self.reports(&Round::new(round))? else { return Ok(()) };
        let from = after.map_or(Unbounded, |row| Excluded([&row[..], &[u8::MAX; PLACE_BYTES]].concat()));
        // What comes meanwhile is not in it.
        let snapshot = self.database.snapshot();
        group(snapshot.range::<Vec<u8>, _>(&reports, (from, Unbounded)).map(|entry| self.report(entry)), each)
    }

    fn entries(&self, round: &str, row: &RowId, limit: usize) -> Result<Option<Vec<Stored>>> {
        let Some(reports) = self.reports(&Round::new(round))? else { return Ok(Some(Vec::new())) };
        let mut found = Vec::new();
        for entry in reports.prefix(row) {
            if found.len() == limit {
                return Ok(None);
            }
            found.push(self.report(entry)?.1);
        }
        Ok(Some(found))
    }

    fn claim(&self, round: &str, owner: u32, handed: &[u32], claims: &[ClaimId]) -> Result<Option<Vec<bool>>> {
        let key = Round::new(round);
        let _writing = self.writing();
        if self.is_sealed(&key)? {
            return Ok(None);
        }
        let own = owner.to_le_bytes();
        let mut new = BTreeSet::new();
        let mut answers = Vec::with_capacity(claims.len());
        for claim in claims {
            let known = self.state.get(key.key(CLAIM, claim)).map_err(|error| self.fault(error))?;
            if known.is_none() {
                new.insert(claim);
            }
            let is_own = |known: &[u8]| known == own || handed.iter().any(|other| known == other.to_le_bytes());
            answers.push(known.is_none_or(|known| is_own(&known)));
        }
        if !new.is_empty() {
            self.check_room()?;
            let mut writes = self.database.batch().durability(Some(PersistMode::SyncAll));
            writes.insert(&self.state, key.key(ROUND, b""), round.as_bytes());
            new.into_iter().for_each(|claim| writes.insert(&self.state, key.key(CLAIM, claim), &own[..]));
            writes.commit().map_err(|error| self.fault(error))?;
        }
        Ok(Some(answers))
    }

    fn totals(&self, round: &str) -> Result<Totals> {
        let mut totals = Totals::default();
        self.marks(round, |reports, origin| {
            totals.batches += 1;
            totals.reports += reports;
            totals.dropped += origin.dropped;
        })?;
        Ok(totals)
    }

    fn sent(&self, round: &str) -> Result<BTreeMap<u32, u64>> {
        let mut sent = BTreeMap::new();
        self.marks(round, |reports, origin| *sent.entry(origin.proxy).or_default() += reports + origin.dropped)?;
        sent.remove(&NO_PROXY);
        Ok(sent)
    }

    fn seal(&self, round: &str) -> Result<()> {
        let key = Round::new(round);
        let _writing = self.writing();
        let mut writes = self.database.batch().durability(Some(PersistMode::SyncAll));
        writes.insert(&self.state, key.key(ROUND, b""), round.as_bytes());
        writes.insert(&self.state, key.key(SEALED, b""), b"");
        writes.commit().map_err(|error| self.fault(error))
    }

    fn put(&self, round: &str, name: &str, value: &[u8]) -> Result<()> {
        let key = Round::new(round);
        let _writing = self.writing();
        self.check_room()?;
        let mut writes = self.database.batch().durability(Some(PersistMode::SyncAll));
        writes.insert(&self.state, key.key(ROUND, b""), round.as_bytes());
        writes.insert(&self.state, key.key(RECORD, name.as_bytes()), value);
        writes.commit().map_err(|error| self.fault(error))
    }

    fn get(&self, round: &str, name: &str) -> Result<Option<Vec<u8>>> {
        let value = self.state.get(Round::new(round).key(RECORD, name.as_bytes()));
        Ok(value.map_err(|error| self.fault(error))?.map(|value| value.to_vec()))
    }

    fn change(
        &self,
        round: &str,
        name: &str,
        expected: Option<&[u8]>,
        new: &[u8],
        beside: &[(&str, &[u8])],
    ) -> Result<bool> {
        let key = Round::new(round);
        let _writing = self.writing();
        if self.get(round, name)?.as_deref() != expected {
            return Ok(false);
        }
        match beside {
            [] => self.check_free(self.sizes.reserve.min(STATE_RESERVE_BYTES))?,
            _ => self.check_room()?,
        }
        let mut writes = self.database.batch().durability(Some(PersistMode::SyncAll));
        writes.insert(&self.state, key.key(ROUND, b""), round.as_bytes());
        for (name, value) in beside.iter().chain([&(name, new)]) {
            writes.insert(&self.state, key.key(RECORD, name.as_bytes()), *value);
        }
        writes.commit().map_err(|error| self.fault(error))?;
        Ok(true)
    }

    fn versions(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let mut found = Vec::new();
        for round in self.rounds()? {
            if let Some(record) = self.get(&round, name)? {
                found.push((round, blake3::hash(&record).as_bytes().to_vec()));
            }
        }
        Ok(found)
    }

    fn rounds(&self) -> Result<Vec<String>> {
        let names = self.state.prefix([ROUND]).map(|entry| {
            let name = entry.value().map_err(|error| self.fault(error))?;
            String::from_utf8(name.to_vec()).map_err(|_| self.damaged())
        });
        let mut names = names.collect::<Result<Vec<_>>>()?;
        names.sort_unstable();
        Ok(names)
    }

    fn remove(&self, round: &str) -> Result<()> {
        let _writing = self.writing();
        self.begin_removal(round)?;
        self.remove_reports(&Round::new(round))
    }

    fn clear(&self, round: &str, name: &str, value: &[u8]) -> Result<()> {
        let key = Round::new(round);
        let _writing = self.writing();
        let mut writes = self.database.batch().durability(Some(PersistMode::SyncAll));
        writes.insert(&self.state, key.key(REMOVED, b""), b"");
        for kind in [MARK, CLAIM, RECORD] {
            for entry in self.state.prefix(key.key(kind, b"")) {
                writes.remove(&self.state, entry.key().map_err(|error| self.fault(error))?);
            }
        }
        writes.insert(&self.state, key.key(ROUND, b""), round.as_bytes());
        writes.insert(&self.state, key.key(SEALED, b""), b"");
        // After the removal of the record of before: the last write of a batch counts.
        writes.insert(&self.state, key.key(RECORD, name.as_bytes()), value);
        writes.commit().map_err(|error| self.fault(error))?;
        self.remove_reports(&key)
    }

    /// Grants every lease: this process has everything to itself.
    fn lease(&self, _: &str, _: &Holder, _: Duration) -> Result<bool> {
        Ok(true)
    }
}

impl std::fmt::Debug for Embedded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Embedded({})", self.path.display())
    }
}
