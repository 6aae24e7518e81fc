//! Ledger of a party: every run that it began, also those that were refused or have failed.
//!
//! The file `ledger` in the identity's directory grows only at its end (`chain`). Each record is on disk before the run
//! goes on. The file is locked while it is read and written, so that runs of any number of processes are entered one
//! after the other. A mark beside it, in a sealed file of its own, says how many records there were last, and their
//! head:
//!
//! - What stands before the mark and does not open was changed, cut or moved. Nothing is entered behind it, and no run goes on.
//! - What stands behind the mark and does not open is what a crash or a full disk has left of the last record. No run went on after it, so
//!   the next one removes it, and says so in a record.
//!
//! A ledger that is rotated goes on in a new file: the one before gets a number (`ledger.1`), and is not written any
//! more. All files are one chain, and all are read.
//!
//! An older ledger that was put back together with its mark is not noticed here: the receipts that peers hold name a
//! later entry.

mod chain;
mod entry;
pub mod export;
mod loss;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use chacha20poly1305::XChaCha20Poly1305;
use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use self::chain::{Chain, End, MAGIC};
use self::entry::{OtherEntries, REFUSED, Record, entries};
use crate::base::folder::Folder;
use crate::base::hex::hex;
use crate::base::text::{counted, json};
use crate::govern::difference::{ComparableRows, KnownDifferences, NearAnswers};
use crate::govern::policy::{Allowed, History};
use crate::govern::receipt::Receipts;
use crate::govern::time::UtcTime;
use crate::identity::Identity;
use crate::store::seal::{self, SealKey, SealedReader};

pub use entry::{Begun, Change, Ended, LedgerEntry};
pub use loss::ChargedLoss;

/// Name of the ledger in the directory of an identity.
pub const LEDGER_FILE: &str = "ledger";

/// Name of the mark beside it.
pub const MARK_FILE: &str = "ledger.mark";

/// Ledgers are read up to this size.
const MAX_FILE_BYTES: u64 = 1 << 32;

/// The ledger of an identity.
pub struct Ledger {
    folder: Folder,
    cipher: XChaCha20Poly1305,
    mark_key: SealKey,
}

/// Place of an entry in the ledger, for whoever goes on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryPlace {
    /// Number of the entry, from 1 on.
    pub entry: u64,
    /// Head of the chain behind its first record.
    pub head: [u8; 32],
}

/// Everything that a ledger holds.
pub struct Contents {
    /// Entries, in the order in which they began.
    pub entries: Vec<LedgerEntry>,
    /// Number of records so far.
    pub records: u64,
    /// Number of bytes at the end that are a part of a record.
    pub torn: u64,
    /// Records that were cut off by a crash, and removed.
    pub mended: usize,
    /// Number of files that were written before the last one.
    pub earlier_files: u64,
    end: End,
}

/// Mark of how far a ledger has come.
#[derive(Serialize, Deserialize)]
struct Mark {
    records: u64,
    head: String,
}

/// Name of the file that was the ledger before it was rotated, from 1 on.
fn earlier_file(number: u64) -> String {
    format!("{LEDGER_FILE}.{number}")
}

/// A ledger that is locked and was read.
struct Locked {
    file: File,
    contents: Contents,
}

impl Ledger {
    /// Opens the ledger of an identity in a directory, where there need not be one yet.
    ///
    /// Errors ([`Error::Input`]): it is no directory of this user alone.
    pub fn open(directory: &Path, identity: &Identity) -> Result<Ledger> {
        let folder = Folder::open(directory)?;
        let cipher = chain::cipher(&identity.derive("ledger", b""));
        Ok(Ledger { folder, cipher, mark_key: SealKey::new(identity.derive("ledger mark", b"")) })
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        self.folder.has(LEDGER_FILE) || self.folder.has(&earlier_file(1))
    }

    /// Begins a new file, and returns the name that the last one has from now on.
    ///
    /// Errors ([`Error::Input`]): the last one is new itself.
    pub fn rotate(&self) -> Result<String> {
        let locked = self.lock()?;
        if locked.file.metadata().map_err(|error| self.cannot_write(&error))?.len() == 0 {
            return Err(Error::Input("the ledger has nothing yet that a new file could go on from".into()));
        }
        let name = earlier_file(locked.contents.earlier_files + 1);
        self.folder.rename(LEDGER_FILE, &name).map_err(|error| self.cannot_write(&error))?;
        Ok(name)
    }

    /// Enters a run, if it is allowed; on disk before this returns. `allow` sees all entries before it, while no other
    /// run is entered. A run that is not allowed is entered with its end.
    pub fn begin(
        &self,
        mut begun: Begun,
        allow: impl FnOnce(&dyn History) -> Result<Option<Allowed>>,
    ) -> Result<EntryPlace> {
        let mut locked = self.lock()?;
        let entry = locked.contents.entries.len() as u64 + 1;
        let allowed = allow(&locked.contents.entries);
        let time = begun.time;
        if let Ok(Some(allowed)) = &allowed {
            begun.permit(allowed.clone());
        }
        self.append(&mut locked, Record::Begun(Box::new(begun)))?;
        let place = EntryPlace { entry, head: locked.contents.end.head };
        if let Err(error) = allowed {
            let ended = Ended { time, ..Ended::failed(&error) };
            self.append(&mut locked, Record::Ended { entry, ended: Box::new(ended) })?;
            return Err(error);
        }
        Ok(place)
    }

    /// Compares the rows of a run that has begun with those of other runs, and keeps their sketches, if it is still
    /// allowed; on disk before this returns. `allow` sees the entries before it, of approvals also what later ones use,
    /// and all answers about nearly the same rows, while no other run is entered or compared. `told` are the identities
    /// of those who learn something exact.
    pub fn compare(
        &self,
        entry: u64,
        rows: ComparableRows,
        told: Vec<String>,
        allow: impl FnOnce(&dyn History, &NearAnswers) -> Result<Option<Allowed>>,
    ) -> Result<NearAnswers> {
        // Comparing takes longer than other runs are to wait: what is there by now is compared without the lock.
        let known = {
            let before = self.locked()?.contents;
            KnownDifferences::find(&rows, before.entries.iter().filter_map(LedgerEntry::answer))
        };
        let mut locked = self.lock()?;
        let entries = std::mem::take(&mut locked.contents.entries);
        let near = NearAnswers::find(&rows, entries.iter().filter_map(LedgerEntry::answer), &known);
        let allowed = allow(&OtherEntries::of(entries, entry), &near);
        let comparison = near.comparison(told);
        let sketches = match rows {
            ComparableRows::Sketched(sketches) if allowed.is_ok() => Some(sketches),
            _ => None,
        };
        let permission = allowed.as_ref().ok().cloned().flatten();
        self.append(&mut locked, Record::Compared { entry, comparison, sketches, allowed: permission })?;
        allowed.map(|_| near)
    }

    /// Notes that the parties have agreed, and their receipts; on disk before this returns.
    pub fn agreed(&self, entry: u64, receipts: Receipts) -> Result<()> {
        self.append(&mut self.lock()?, Record::Agreed { entry, receipts })
    }

    /// Notes a change of what a run serves; on disk before this returns.
    pub fn changed(&self, entry: u64, change: Change) -> Result<()> {
        self.append(&mut self.lock()?, Record::Changed { entry, change })
    }

    /// Ends the entry of a run; on disk before this returns.
    pub fn end(&self, entry: u64, ended: Ended) -> Result<()> {
        self.append(&mut self.lock()?, Record::Ended { entry, ended: Box::new(ended) })
    }

    /// Reads everything.
    ///
    /// Errors ([`Error::Input`]): an entry was changed, cut or moved; the text says where.
    pub fn read(&self) -> Result<Contents> {
        if !self.is_there() && !self.folder.has(MARK_FILE) {
            let none = self.folder.at(LEDGER_FILE);
            return Err(Error::Input(format!("{}: there is no ledger: nothing was run yet", none.display())));
        }
        Ok(self.locked()?.contents)
    }

    /// Locks the ledger, and mends its end, if a crash has left a part of a record there.
    fn lock(&self) -> Result<Locked> {
        let mut locked = self.locked()?;
        let bytes = locked.contents.torn;
        if bytes > 0 {
            let length = locked.file.metadata().map_err(|error| self.cannot_write(&error))?.len();
            locked.file.set_len(length - bytes).map_err(|error| self.cannot_write(&error))?;
            locked.contents.torn = 0;
            self.append(&mut locked, Record::Mended { bytes })?;
        }
        Ok(locked)
    }

    fn locked(&self) -> Result<Locked> {
        let mut file = self.folder.lock(LEDGER_FILE)?;
        let failed = |name: &str, error: std::io::Error| {
            Error::Input(format!("{}: cannot be read: {error}", self.folder.at(name).display()))
        };
        let read = |name: &str, file: &mut File| -> Result<Vec<u8>> {
            let length = file.metadata().map_err(|error| failed(name, error))?.len();
            if length > MAX_FILE_BYTES {
                return Err(self.damaged("it is longer than any ledger"));
            }
            let mut bytes = Vec::with_capacity(length as usize);
            file.read_to_end(&mut bytes).map_err(|error| failed(name, error))?;
            Ok(bytes)
        };
        let earlier = (1..).map(earlier_file).take_while(|name| self.folder.has(name));
        let open = |name: String| read(&name, &mut self.folder.read(&name).map_err(|error| failed(&name, error))?);
        let mut files = earlier.map(open).collect::<Result<Vec<_>>>()?;
        files.push(read(LEDGER_FILE, &mut file)?);
        let contents = self.contents(&files)?;
        Ok(Locked { file, contents })
    }

    /// Reads what is in the files, of which the last one is written.
    fn contents(&self, files: &[Vec<u8>]) -> Result<Contents> {
        let chain = Chain::read(&self.cipher, files);
        let (whole, end) = (chain.records.len() as u64, chain.end());
        match self.mark()? {
            Some(mark) if mark.records > whole => {
                let what = format!("record {} of {} was changed, cut or moved", whole + 1, mark.records);
                return Err(self.damaged(&what));
            }
            Some(mark) if hex(&chain.heads[mark.records as usize]) != mark.head => {
                return Err(self.damaged("it is not the ledger that was written last"));
            }
            // The mark is there before the first record.
            None if files.iter().any(|bytes| !bytes.is_empty()) => {
                return Err(self.damaged(&format!("{MARK_FILE} beside it is missing")));
            }
            _ if chain.is_broken => return Err(self.damaged("an earlier file of it has more than was written")),
            _ => {}
        }
        let read = |(place, record): (usize, &Zeroizing<Vec<u8>>)| serde_json::from_slice(record).map_err(|_| place);
        let records: std::result::Result<Vec<Record>, usize> = chain.records.iter().enumerate().map(read).collect();
        let entered = records.and_then(|records| Ok((entries(&records)?, records)));
        let (entries, records) = entered
            .map_err(|place| self.damaged(&format!("record {} is of another version of this program", place + 1)))?;
        let mended = records.iter().filter(|record| matches!(record, Record::Mended { .. })).count();
        let torn = (files.last().map_or(0, Vec::len) - chain.whole) as u64;
        if torn > chain::MAX_SEALED_BYTES {
            return Err(self.damaged("more stands at its end than a crash leaves of one record"));
        }
        let earlier_files = files.len() as u64 - 1;
        Ok(Contents { entries, records: whole, torn, mended, earlier_files, end })
    }

    /// Returns the mark; none if there is none.
    fn mark(&self) -> Result<Option<Mark>> {
        if !self.folder.has(MARK_FILE) {
            return Ok(None);
        }
        let read = SealedReader::open(&self.folder, MARK_FILE, &self.mark_key, MARK_FILE).and_then(SealedReader::only);
        let mark = read.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        mark.map(Some)
            .ok_or_else(|| self.damaged(&format!("{MARK_FILE} beside it was changed, or is of another identity")))
    }

    fn append(&self, locked: &mut Locked, record: Record) -> Result<()> {
        let contents = json(serde_json::to_vec(&record))?;
        let mut end = locked.contents.end;
        let sealed = end.seal(&self.cipher, &contents)?;
        if locked.contents.end == End::FIRST && !self.folder.has(MARK_FILE) {
            self.put_mark(End::FIRST)?;
        }
        let length = locked.file.metadata().map_err(|error| self.cannot_write(&error))?.len();
        let mut write = || -> std::io::Result<()> {
            let first = length == 0;
            let bytes = if first { [&MAGIC[..], &sealed].concat() } else { sealed.clone() };
            locked.file.seek(SeekFrom::End(0))?;
            locked.file.write_all(&bytes)?;
            locked.file.sync_data()?;
            if first { self.folder.flush() } else { Ok(()) }
        };
        write().map_err(|error| self.cannot_write(&error))?;
        if let Err(error) = self.put_mark(end) {
            // A record without its mark would count, though what it stands for does not happen. The mark may be there.
            if self.mark()?.is_some_and(|mark| mark.records < end.records) {
                let taken_back = locked.file.set_len(length).and_then(|()| locked.file.sync_data());
                taken_back.map_err(|error| self.cannot_write(&error))?;
            }
            return Err(error);
        }
        locked.contents.end = end;
        Ok(())
    }

    /// Writes the mark of how far the ledger has come.
    fn put_mark(&self, end: End) -> Result<()> {
        let mark = Mark { records: end.records, head: hex(&end.head) };
        let mark = json(serde_json::to_vec(&mark))?;
        let advice = "make room, then run the command again".into();
        seal::put(&self.folder, MARK_FILE, &self.mark_key, MARK_FILE, mark, advice).map(drop)
    }

    fn damaged(&self, what: &str) -> Error {
        Error::Input(format!(
            "{}: {what}: put back {LEDGER_FILE} and {MARK_FILE} as they were, or set both aside, which begins a new ledger",
            self.folder.at(LEDGER_FILE).display()
        ))
    }

    fn cannot_write(&self, error: &std::io::Error) -> Error {
        seal::cannot_write(&self.folder.at(LEDGER_FILE), error, "make room, then run the command again")
    }
}

impl Contents {
    /// Returns how much a whole ledger holds, in words.
    ///
    /// Errors ([`Error::Input`]): it ends in a part of a record.
    pub fn verify(&self) -> Result<String> {
        if self.torn > 0 {
            return Err(Error::Input(format!(
                "the ledger ends in {} that are a part of a record: it was cut there, or a crash has left them, which the next run mends",
                counted(self.torn, "byte")
            )));
        }
        let mended = match self.mended {
            0 => String::new(),
            times => format!("; an unfinished record at its end was removed {}", counted(times as u64, "time")),
        };
        let (runs, records) = (counted(self.entries.len() as u64, "run"), counted(self.records, "record"));
        let files = match self.earlier_files {
            0 => String::new(),
            earlier => format!(", in {} files", earlier + 1),
        };
        Ok(format!("the ledger is whole: {runs} in {records}{files}{mended}"))
    }

    /// Returns the entry of this number, from 1 on.
    ///
    /// Errors ([`Error::Input`]): there is none.
    pub fn entry(&self, number: u64) -> Result<&LedgerEntry> {
        let known = number.checked_sub(1).and_then(|at| self.entries.get(usize::try_from(at).ok()?));
        let there = counted(self.entries.len() as u64, "run");
        known.ok_or_else(|| Error::Input(format!("there is no entry {number}: the ledger holds {there}")))
    }
}

impl Ended {
    /// The end of a run that was refused or has failed.
    pub fn failed(error: &Error) -> Ended {
        let outcome = if matches!(error, Error::Policy(_)) { REFUSED } else { "failed" };
        Ended { time: UtcTime::now(), outcome: outcome.into(), why: Some(error.to_string()), ..Ended::default() }
    }
}

#[cfg(test)]
mod tests;
