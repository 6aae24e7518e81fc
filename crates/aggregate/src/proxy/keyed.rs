//! Whether the database has a round under the keys that it has here. A database that has lost what it kept, and was
//! started again with the same command, opens the round anew under another key: what was reported under the old one is
//! worth nothing there. Nothing more is taken then, and nothing of it leaves, until the database has the keys of before
//! again, or its operator removes the round.

use std::time::Instant;

use tacita_core::{Error, Result};

use super::asking::{LOG_INTERVAL, MAX_BYTES};
use super::round::{Differing, Round};
use super::{Proxy, lock};
use crate::transport::ApiRequest;
use crate::wire::reply::{ApiError, RefusalReason};
use crate::wire::rounds::{RoundState, RoundStatus};
use crate::wire::same_keys::ADVICE;

impl Round {
    /// Compares the keys of the round with those that the database has for it now; whether they differ.
    pub(super) fn compare(&self, status: &RoundStatus) -> bool {
        let theirs = match (&status.keys, &status.database) {
            _ if status.state == RoundState::Removed => None,
            (Some(keys), _) if *keys == self.fingerprint => None,
            (Some(keys), _) => Some(keys.short()),
            // It has opened the round under its key of before, and waits for that of the proxies.
            (None, Some(database)) if database.holds_point_of(&self.open.database, &self.params) => None,
            (None, _) => Some("others, not all of which are known yet,".to_owned()),
        };
        let mut differing = lock(&self.differing);
        let what = theirs.map(|theirs| {
            let own = self.fingerprint.short();
            format!("round {} has the keys {own} here, and {theirs} at the database: {ADVICE}", self.name)
        });
        if differing.as_ref().map(|differing| &differing.what) != what.as_ref() {
            *differing = what.map(|what| Differing { what, told: None });
        }
        differing.is_some()
    }

    /// Returns the message while the database has other keys of the round.
    pub(super) fn differs(&self) -> Option<String> {
        lock(&self.differing).as_ref().map(|differing| differing.what.clone())
    }

    /// Whether the database is to be told now under which keys the round is here; it is not again for a while.
    pub(super) fn is_to_tell(&self) -> bool {
        let differing = lock(&self.differing);
        differing.as_ref().is_some_and(|differing| differing.told.is_none_or(|last| last.elapsed() > LOG_INTERVAL))
    }

    /// Notes that the database is told now.
    fn note_told(&self) {
        if let Some(differing) = lock(&self.differing).as_mut() {
            differing.told = Some(Instant::now());
        }
    }
}

impl Proxy {
    /// Returns the reply to a participant about a round that the database has under other keys, if that is so.
    pub(super) fn is_differing(&self, round: &str) -> Option<ApiError> {
        let what = self.round(round)?.differs()?;
        Some(ApiError::new(RefusalReason::OtherKeys, what).again_in(2))
    }

    /// Tells the database under which keys a round is here, so that its operator sees it.
    ///
    /// Errors ([`Error::Input`]): they are others than there.
    pub(super) fn tell_keys(&self, round: &Round) -> Result<()> {
        round.note_told();
        let path = round.fingerprint.on(&format!("/v1/rounds/{}", round.name));
        let (answer, _) = self.database.once(&ApiRequest::get(path, MAX_BYTES))?;
        if answer.is_ok() {
            Ok(())
        } else {
            Err(Error::Input(round.differs().unwrap_or_else(|| answer.told().message)))
        }
    }
}
