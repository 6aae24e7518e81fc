//! What the database keeps of a round beside its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use crate::store::Storage;
use crate::wire::rounds::{Completion, Counts, Failure, Numbers, Rest, State};
use crate::wire::sessions::Session;
use crate::wire::signed::Signed;

/// The record's name in the storage.
pub(crate) const NAME: &str = "round";

/// What begins the names of results.
const RESULT: &str = "result";

/// A round as it stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) state: State,
    /// When it was opened, in seconds since 1970, and when it was closed.
    pub(crate) opened: u64,
    pub(crate) closed: Option<u64>,
    /// The public keys.
    pub(crate) database: Option<Signed>,
    pub(crate) proxy: Option<Signed>,
    /// What proxies have said at their end.
    pub(crate) complete: BTreeMap<usize, Completion>,
    /// What each of several proxies had when it had claimed what is its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) rests: BTreeMap<usize, Rest>,
    /// The last session of each proxy's state directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) sessions: BTreeMap<usize, Session>,
    /// Proxies without whose reports the operator has it go on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) without: BTreeSet<usize>,
    /// The condition, where the operator has raised it.
    pub(crate) reveal_when: Option<String>,
    pub(crate) numbers: Numbers,
    pub(crate) counts: Option<Counts>,
    pub(crate) failure: Option<Failure>,
    /// It was put back from a backup: the entries in that which each proxy had sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) put_back: Option<BTreeMap<usize, u64>>,
    /// How far the reveal is.
    pub(crate) revealed: Revealed,
    /// Written by versions of before.
    #[serde(default, skip_serializing, rename = "directories")]
    _directories: IgnoredAny,
    #[serde(default, skip_serializing, rename = "restored")]
    _restored: IgnoredAny,
}

/// How far a reveal is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Revealed {
    /// Parts of the result that are written.
    pub(crate) parts: u64,
    /// Keys in them.
    pub(crate) keys: u64,
    /// The last row that was looked at, in hexadecimal.
    pub(crate) after: Option<String>,
}

impl Record {
    /// Of a round that opens.
    pub(crate) fn new(opened: u64, database: Signed) -> Record {
        Record {
            state: State::Open,
            opened,
            closed: None,
            database: Some(database),
            proxy: None,
            complete: BTreeMap::new(),
            rests: BTreeMap::new(),
            sessions: BTreeMap::new(),
            without: BTreeSet::new(),
            reveal_when: None,
            numbers: Numbers::default(),
            counts: None,
            failure: None,
            put_back: None,
            revealed: Revealed::default(),
            _directories: IgnoredAny,
            _restored: IgnoredAny,
        }
    }

    /// What is left of a round that was removed: its name is not used again.
    pub(crate) fn removed(&self) -> Record {
        let signed = Signed { public: String::new(), by: String::new(), signature: String::new() };
        Record { state: State::Removed, database: None, closed: self.closed, ..Record::new(self.opened, signed) }
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::Internal(error.to_string()))
    }
}

/// A record as it was last seen in the storage.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) record: Arc<Record>,
    bytes: Arc<[u8]>,
}

impl Kept {
    /// That of a round, if there is one.
    pub(crate) fn load(storage: &dyn Storage, round: &str) -> Result<Option<Kept>> {
        let Some(bytes) = storage.get(round, NAME)? else { return Ok(None) };
        let record = serde_json::from_slice(&bytes).map_err(|_| {
            Error::Input(format!("the storage's record of round {round} is damaged: restore the storage from a backup"))
        })?;
        Ok(Some(Kept { record: Arc::new(record), bytes: bytes.into() }))
    }

    /// One that is in no storage yet.
    pub(crate) fn new(record: Record) -> Result<Kept> {
        Ok(Kept { bytes: record.to_bytes()?.into(), record: Arc::new(record) })
    }

    /// Writes it for a round that has none; whether it has none. On disk before this returns.
    pub(crate) fn create(&self, storage: &dyn Storage, round: &str) -> Result<bool> {
        storage.change(round, NAME, None, &self.bytes, &[])
    }

    /// Writes another in its place, and what belongs to that `beside` it; nothing, if somebody else has changed it. On disk before this returns.
    pub(crate) fn replaced(
        &self,
        storage: &dyn Storage,
        round: &str,
        record: Record,
        beside: &[(&str, &[u8])],
    ) -> Result<Option<Kept>> {
        let new = Kept::new(record)?;
        Ok(storage.change(round, NAME, Some(&self.bytes), &new.bytes, beside)?.then_some(new))
    }

    /// Removes all of a round but this.
    pub(crate) fn clear(&self, storage: &dyn Storage, round: &str) -> Result<()> {
        storage.clear(round, NAME, &self.bytes)
    }
}

/// The name of a part of a result.
pub(crate) fn part(number: u64) -> String {
    format!("{RESULT}-{number:08}")
}
