//! Databases of one job that share a storage: each follows what the others do with rounds, and one at a time does what
//! is due of a round.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tacita_core::Result;

use super::record::{Kept, NAME};
use super::round::Round;
use super::{Database, lock};
use crate::wire::rounds::RoundState;

/// Interval at which the actions of other databases are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Lease on the work of a round, and the interval at which it is renewed during the work.
const LEASE: Duration = Duration::from_secs(6);
const RENEW: Duration = Duration::from_millis(1500);

impl Database {
    /// Follows the storage until the database is to end, and renews what this one has to itself.
    pub(super) fn keep_up(&self) {
        let mut renewed = Instant::now();
        while !self.cancel.is_cancelled() {
            if let Err(error) = self.follow() {
                tracing::debug!("the rounds of others cannot be seen: {error}");
            }
            if renewed.elapsed() > RENEW {
                renewed = Instant::now();
                let at = lock(&self.at_work).clone();
                // Who has lost it finds that out when it is to write something.
                at.iter().for_each(|round| drop(self.has_work(round)));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Takes up what other databases have done with rounds.
    pub(super) fn follow(&self) -> Result<()> {
        if !self.has_peers() {
            return Ok(());
        }
        let mut seen = lock(&self.seen);
        for (name, version) in self.storage.versions(NAME)? {
            if seen.get(&name) != Some(&version) {
                let _of = tracing::error_span!("follow", round = name).entered();
                match self.take_up(&name) {
                    Ok(()) => (),
                    // A round that does not fit the job file is told once.
                    Err(error @ tacita_core::Error::Terms(_)) => tracing::error!("{error}"),
                    // What passes is tried again; the other rounds go on.
                    Err(error) => {
                        if self.trouble(&name, &error).elapsed() < POLL_INTERVAL {
                            tracing::warn!("round {name} cannot be taken up: {error}; trying again");
                        }
                        continue;
                    }
                }
                seen.insert(name, version);
            }
        }
        Ok(())
    }

    /// Takes up how a round stands in the storage, if it is there.
    pub(super) fn take_up(&self, name: &str) -> Result<()> {
        let round = match self.round(name) {
            Some(round) => {
                round.refresh(&*self.storage)?;
                round
            }
            None => {
                let Some(kept) = Kept::load(&*self.storage, name)? else { return Ok(()) };
                self.add(Round::new(&self.setting, name.to_owned(), kept)?)
            }
        };
        self.settle(&round)
    }

    /// Adds a round, unless it is there; the one that then is.
    pub(super) fn add(&self, round: Round) -> Arc<Round> {
        let mut rounds = lock(&self.rounds);
        rounds.entry(round.name.clone()).or_insert_with(|| Arc::new(round)).clone()
    }

    /// Does here what the state of a round asks for: keys come and go with it.
    pub(super) fn settle(&self, round: &Round) -> Result<()> {
        if round.record().state == RoundState::Removed {
            round.drop_secret();
            return if self.keys.has(&round.name) { self.keys.forget(&round.name) } else { Ok(()) };
        }
        round.learn_kept(&self.setting)?;
        match round.secret() {
            Some(_) => Ok(()),
            None => self.find_secret(round),
        }
    }

    /// Whether this is one of several databases.
    pub(super) fn has_peers(&self) -> bool {
        !self.peers.is_empty()
    }

    /// Whether this database does what is due of a round, for some seconds from now: another one may be at it.
    pub(super) fn has_work(&self, round: &str) -> Result<bool> {
        Ok(!self.has_peers() || self.storage.lease(&format!("work {round}"), &self.holder, LEASE)?)
    }
}
