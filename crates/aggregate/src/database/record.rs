//! Data that the database keeps of a round beside its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use super::noise_seed::NoiseSeed;
use crate::store::Storage;
use crate::wire::rounds::{Completion, Numbers, ReportCounts, Rest, RoundFailure, RoundState};
use crate::wire::sessions::StateSession;
use crate::wire::signed::Signed;
use tacita_node::base::text::json;

/// The record's name in the storage.
pub(crate) const NAME: &str = "round";

/// Prefix of the names of results.
const RESULT: &str = "result";

/// A round as it stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) state: RoundState,
    /// Time at which the round was opened, in seconds since 1970, and time at which it was closed.
    pub(crate) opened: u64,
    pub(crate) closed: Option<u64>,
    /// Public keys of the round.
    pub(crate) database: Option<Signed>,
    pub(crate) proxy: Option<Signed>,
    /// Reports of the proxies at their end.
    pub(crate) complete: BTreeMap<usize, Completion>,
    /// Amount of reports that each of several proxies held once it had claimed its own batches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) rests: BTreeMap<usize, Rest>,
    /// The last session of each proxy's state directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) sessions: BTreeMap<usize, StateSession>,
    /// Proxies without whose reports the operator has it go on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) without: BTreeSet<usize>,
    /// The condition, where the operator has raised it.
    pub(crate) reveal_when: Option<String>,
    pub(crate) numbers: Numbers,
    pub(crate) counts: Option<ReportCounts>,
    pub(crate) failure: Option<RoundFailure>,
    /// Number of entries from each proxy in the backup, if the round was restored from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) put_back: Option<BTreeMap<usize, u64>>,
    /// Progress of the reveal.
    pub(crate) revealed: Revealed,
    /// Seed of its noise, in a job with some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) noise: Option<NoiseSeed>,
    /// Written by versions of before.
    #[serde(default, skip_serializing, rename = "directories")]
    _directories: IgnoredAny,
    #[serde(default, skip_serializing, rename = "restored")]
    _restored: IgnoredAny,
}

/// Progress of a reveal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Revealed {
    /// Parts of the result that are written.
    pub(crate) parts: u64,
    /// Number of keys in these parts.
    pub(crate) keys: u64,
    /// The last row that was looked at, in hexadecimal.
    pub(crate) after: Option<String>,
}

impl Record {
    /// Creates the record of a round that opens.
    pub(crate) fn new(opened: u64, database: Signed) -> Record {
        Record {
            state: RoundState::Open,
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
            noise: None,
            _directories: IgnoredAny,
            _restored: IgnoredAny,
        }
    }

    /// The same with this seed of its noise.
    pub(crate) fn with_noise(mut self, noise: Option<NoiseSeed>) -> Record {
        self.noise = noise;
        self
    }

    /// Returns the remains of a round that was removed: its name is not used again.
    pub(crate) fn removed(&self) -> Record {
        let signed = Signed { public: String::new(), by: String::new(), signature: String::new() };
        Record { state: RoundState::Removed, database: None, closed: self.closed, ..Record::new(self.opened, signed) }
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        json(serde_json::to_vec(self))
    }
}

/// A record as it was last seen in the storage.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) record: Arc<Record>,
    bytes: Arc<[u8]>,
}

impl Kept {
    /// Loads the record of a round, if there is one.
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

    /// Writes another in its place, and what belongs to that `beside` it; nothing, if somebody else has changed it. On
    /// disk before this returns.
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
