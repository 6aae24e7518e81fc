//! A round in one sealed file: its key, its records and its rows, for a database whose storage is lost.
//!
//! A round can be saved as long as no report reaches the database any more, or none has yet. In between, a copy would
//! lack what comes after it, and a batch whose name it does not hold would count twice when the proxy brings it again.

mod file;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tacita_core::{Error, Result};
use tacita_node::base::hex::hex;
use tacita_node::identity::Identity;

use self::file::{BATCH_BYTES, Header, Part, Saved, Saving, row_bytes};
use super::record::{Kept, Record, part};
use super::round::Round;
use super::{check_storage, open_storage};
use crate::keys::{self, StateKeys};
use crate::setting::ServiceConfig;
use crate::store::{Ingested, OpenedReport, Storage};
use crate::wire::batch::BatchId;
use crate::wire::rounds::{RoundState, check_name};
use crate::wire::signed::KeyRole;

/// Round that is saved or restored, and its location.
pub struct Where {
    /// Setting of the job.
    pub setting: ServiceConfig,
    /// The database's identity, under which the file is sealed.
    pub identity: Identity,
    /// The database's state directory, which no process uses meanwhile.
    pub state: PathBuf,
    /// URL of the storage that keeps rows; if absent, they are kept in the state directory.
    pub storage: Option<String>,
    /// Name of the round.
    pub round: String,
}

/// Amount that was saved or restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Number of reports in the backup.
    pub reports: u64,
    /// Parts of the result.
    pub parts: u64,
}

/// Resources that are open while a round is saved or restored.
struct Opened {
    storage: Box<dyn Storage>,
    keys: StateKeys,
    _lock: std::fs::File,
}

impl Where {
    /// Refuses what can be no database's.
    fn check(&self) -> Result<()> {
        check_name(&self.round)?;
        self.setting.place_of("database", &self.identity)?;
        check_storage(self.setting.count("database")?, self.storage.as_deref())
    }

    fn open(&self, make: bool) -> Result<Opened> {
        if !make && !self.state.is_dir() {
            return Err(Error::Input(format!(
                "{}: no such directory: name the one that the database has as --state",
                self.state.display()
            )));
        }
        let (folder, lock) = keys::lock(&self.state, Some("database"))?;
        let storage = open_storage(self.storage.as_deref(), &self.state)?;
        Ok(Opened { storage, keys: StateKeys::new(folder, &self.identity, KeyRole::Database), _lock: lock })
    }

    fn header(&self) -> Header {
        Header { version: file::VERSION, round: self.round.clone(), agreement: hex(&self.setting.agreement) }
    }

    /// Whether all of a round that a copy has to hold is there.
    fn check_complete(&self, record: &Record, storage: &dyn Storage) -> Result<()> {
        let not_yet = |why: &str| Err(Error::NotReady(format!("round {} {why}", self.round)));
        match record.state {
            // A proxy that had its claims granted before would not claim again, and another one be granted the same.
            RoundState::Open if self.setting.count("proxy")? > 1 => not_yet(
                "is open, and its proxies are sorting out duplicates: save it after it has closed and all reports have arrived",
            ),
            RoundState::Open if self.setting.own()?.own.round.batch_size.is_some() => {
                not_yet("is open, and still receives batches: save it after it has closed and all reports have arrived")
            }
            RoundState::Open if storage.totals(&self.round)?.reports > 0 => {
                not_yet("is open, and still receives reports: save it after it has closed and all reports have arrived")
            }
            RoundState::Closed if record.complete.len() + record.without.len() < self.setting.count("proxy")? => {
                not_yet("has closed, and its proxies have not sent all yet: it can be saved when they have")
            }
            RoundState::Removed => {
                Err(Error::Input(format!("round {} was removed: nothing of it is left", self.round)))
            }
            _ => Ok(()),
        }
    }
}

/// Saves a round in a file that is not there yet.
///
/// Errors: [`Error::Input`] if there is no such round, the file is there, or something cannot be read or written;
/// [`Error::NotReady`] if reports of the round are on their way.
pub fn back_up(at: &Where, to: &Path) -> Result<Size> {
    at.check()?;
    let Opened { storage, keys, _lock } = at.open(false)?;
    let none = || Error::Input(format!("there is no round {} in this storage", at.round));
    let record = Kept::load(&*storage, &at.round)?.ok_or_else(none)?.record;
    at.check_complete(&record, &*storage)?;
    let key = keys.load(&at.round)?.ok_or_else(|| keys.none(&at.round))?;

    let mut saving = Saving::create(to, &at.identity)?;
    let mut fill = || {
        saving.header(&at.header())?;
        saving.key(&key)?;
        saving.record(&saved_record(&record, &*storage, &at.round)?.to_bytes()?)?;
        for number in 0..record.revealed.parts {
            let gone = || Error::Input(format!("round {}: part {number} of the result is gone", at.round));
            saving.result(&storage.get(&at.round, &part(number))?.ok_or_else(gone)?)?;
        }
        storage.groups(&at.round, None, &mut |id, entries| {
            for stored in entries {
                saving.row(&OpenedReport { id: *id, stored: stored? })?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    };
    if let Err(error) = fill() {
        saving.abandon();
        return Err(error);
    }
    let reports = saving.finish()?;
    Ok(Size { reports, parts: record.revealed.parts })
}

/// Puts a round back from a file, into a storage that does not have it. All of the file is read before anything is
/// changed; if this is cut off, it is begun again.
///
/// Errors: [`Error::Input`] if the file is no backup of this round and identity, or damaged, or the round is there;
/// [`Error::Terms`] if it was saved on other terms.
pub fn restore(at: &Where, from: &Path) -> Result<Size> {
    at.check()?;
    let record = verify(at, from)?;
    let Opened { storage, keys, _lock } = at.open(true)?;
    if let Some(there) = Kept::load(&*storage, &at.round)? {
        let state = there.record.state.name();
        return Err(Error::Input(format!("round {} is in this storage, {state}, and stays as it is", at.round)));
    }
    // What an attempt before has left.
    storage.remove(&at.round)?;

    let mut saved = Saved::open(from, &at.identity)?;
    let id = saved.id();
    let (mut size, mut rows, mut bytes, mut batches) = (Size { reports: 0, parts: 0 }, Vec::new(), 0, 0u64);
    let mut flush = |rows: &mut Vec<OpenedReport>| {
        let batch = batch(&id, batches);
        batches += 1;
        let ingested = storage.ingest(&at.round, &batch, rows)?;
        rows.clear();
        match ingested {
            Ingested::New => Ok(()),
            _ => Err(Error::Internal("a batch that was put back was there".into())),
        }
    };
    while let Some(next) = saved.read_next()? {
        match next {
            Part::Key(key) => match keys.load(&at.round)? {
                None => keys.keep(&at.round, &key)?,
                Some(there) if there == key => (),
                Some(_) => {
                    return Err(Error::Input(format!(
                        "{}: it holds another key of round {}, which is not replaced",
                        at.state.display(),
                        at.round
                    )));
                }
            },
            Part::Result(bytes) => {
                storage.put(&at.round, &part(size.parts), &bytes)?;
                size.parts += 1;
            }
            Part::Rows(more) => {
                for row in more {
                    bytes += row_bytes(&row);
                    size.reports += 1;
                    rows.push(row);
                    if bytes >= BATCH_BYTES {
                        flush(&mut rows)?;
                        bytes = 0;
                    }
                }
            }
            Part::Header(_) | Part::Record(_) | Part::End(_) => (),
        }
    }
    if !rows.is_empty() {
        flush(&mut rows)?;
    }
    keys.use_up(&at.round)?;
    let kept = Kept::new(record)?;
    let round = Round::new(&at.setting, at.round.clone(), kept.clone())?;
    if !keys.load(&at.round)?.is_some_and(|key| round.take_secret(&key)) {
        return Err(saved.damaged());
    }
    // With it the round is there.
    if kept.create(&*storage, &at.round)? {
        Ok(size)
    } else {
        Err(Error::Input(format!("round {} was opened meanwhile in this storage, and stays as it is", at.round)))
    }
}

/// The record that goes into a file: it knows what each proxy has sent, as rows are put back in other batches than
/// those that came.
fn saved_record(record: &Record, storage: &dyn Storage, round: &str) -> Result<Record> {
    let mut saved = record.clone();
    let kept = saved.put_back.get_or_insert_default();
    for (place, entries) in storage.sent(round)? {
        *kept.entry(place as usize).or_default() += entries;
    }
    saved.numbers.dropped += storage.totals(round)?.dropped;
    Ok(saved)
}

/// Reads all of a file; its round's record, if nothing is wrong.
fn verify(at: &Where, from: &Path) -> Result<Record> {
    let mut saved = Saved::open(from, &at.identity)?;
    let wrong = |what: String| Error::Input(format!("{}: {what}", from.display()));
    match saved.read_next()? {
        Some(Part::Header(header)) if header.version != file::VERSION => {
            return Err(wrong(format!(
                "a backup of version {}, and this program reads {}",
                header.version,
                file::VERSION
            )));
        }
        Some(Part::Header(header)) if header.round != at.round => {
            return Err(wrong(format!("a backup of round {}, and not of {}", header.round, at.round)));
        }
        Some(Part::Header(header)) if header.agreement != hex(&at.setting.agreement) => {
            return Err(Error::Terms(format!(
                "{}: round {} was saved under other terms than the job file's: use the job file of that time",
                from.display(),
                at.round
            )));
        }
        Some(Part::Header(_)) => (),
        _ => return Err(saved.damaged()),
    }
    let (mut record, mut key, mut parts, mut reports, mut end) = (None, false, 0, 0, None);
    while let Some(part) = saved.read_next()? {
        match part {
            Part::Record(bytes) => record = serde_json::from_slice::<Record>(&bytes).ok(),
            Part::Key(_) => key = true,
            Part::Result(_) => parts += 1,
            Part::Rows(rows) => reports += rows.len() as u64,
            Part::End(count) => end = Some(count),
            Part::Header(_) => return Err(saved.damaged()),
        }
    }
    match record {
        Some(record) if key && end == Some(reports) && record.revealed.parts == parts && record.put_back.is_some() => {
            Ok(record)
        }
        _ => Err(saved.damaged()),
    }
}

/// The name of a batch that is put back: it need not be that of any that was brought.
fn batch(id: &[u8], number: u64) -> BatchId {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 batch of a backup");
    hasher.update(id).update(&number.to_le_bytes());
    let mut name = [0; 16];
    hasher.finalize_xof().fill(&mut name);
    name
}
