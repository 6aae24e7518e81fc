//! What the database keeps of a round beside its rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use crate::aggregate::rounds::{Completion, Counts, Failure, Numbers, State};
use crate::aggregate::signed::Signed;
use crate::aggregate::store::Storage;

/// The record's name in the storage.
const NAME: &str = "round";

/// What begins the names of results.
const RESULT: &str = "result";

/// A round as it stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) state: State,
    /// When it was opened, in seconds since 1970, and when it was closed.
    pub(super) opened: u64,
    pub(super) closed: Option<u64>,
    /// The public keys.
    pub(super) database: Option<Signed>,
    pub(super) proxy: Option<Signed>,
    /// What proxies have said at their end.
    pub(super) complete: BTreeMap<usize, Completion>,
    /// The condition, where the operator has raised it.
    pub(super) reveal_when: Option<String>,
    pub(super) numbers: Numbers,
    pub(super) counts: Option<Counts>,
    pub(super) failure: Option<Failure>,
    /// It was put back from a backup, which may lack what came after.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) restored: bool,
    /// How far the reveal is.
    pub(super) revealed: Revealed,
}

/// How far a reveal is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revealed {
    /// Parts of the result that are written.
    pub(super) parts: u64,
    /// Keys in them.
    pub(super) keys: u64,
    /// The last row that was looked at, in hexadecimal.
    pub(super) after: Option<String>,
}

impl Record {
    /// Of a round that opens.
    pub(super) fn new(opened: u64, database: Signed) -> Record {
        Record {
            state: State::Open,
            opened,
            closed: None,
            database: Some(database),
            proxy: None,
            complete: BTreeMap::new(),
            reveal_when: None,
            numbers: Numbers::default(),
            counts: None,
            failure: None,
            restored: false,
            revealed: Revealed::default(),
        }
    }

    /// What is left of a round that was removed: its name is not used again.
    pub(super) fn removed(&self) -> Record {
        let signed = Signed { public: String::new(), by: String::new(), signature: String::new() };
        Record { state: State::Removed, database: None, closed: self.closed, ..Record::new(self.opened, signed) }
    }

    /// Writes it; on disk before this returns.
    pub(super) fn save(&self, storage: &dyn Storage, round: &str) -> Result<()> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::Internal(error.to_string()))?;
        storage.put(round, NAME, &bytes)
    }

    /// The record of a round, if there is one.
    pub(super) fn load(storage: &dyn Storage, round: &str) -> Result<Option<Record>> {
        let Some(bytes) = storage.get(round, NAME)? else { return Ok(None) };
        let record = serde_json::from_slice(&bytes).map_err(|_| {
            Error::Input(format!("the storage's record of round {round} is damaged: restore the storage from a backup"))
        })?;
        Ok(Some(record))
    }
}

/// The name of a part of a result.
pub(super) fn part(number: u64) -> String {
    format!("{RESULT}-{number:08}")
}
