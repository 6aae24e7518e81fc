//! Background work of a database: it closes rounds when their time has come, counts and reveals them, and retries
//! operations whose failure may pass.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};

use super::round::Round;
use super::{Database, lock};
use crate::wire::rounds::RoundState;
use crate::wire::service::Service;

/// Interval between checks for work that is due. Tests play rounds by the hundred.
const POLL_INTERVAL: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 100 });

/// Interval at which stalled work is reported.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

impl Database {
    /// Whether anything is due of a round that stands so.
    fn is_due(&self, round: &Round) -> Result<bool> {
        let record = round.record();
        Ok(match record.state {
            RoundState::Open => {
                let due = self.setting.own()?.own.round.close_at;
                due.is_some_and(|moment| moment.system_time() <= std::time::SystemTime::now())
            }
            RoundState::Closed => self.waits_for(&round.name, &record).is_empty(),
            RoundState::Revealing => true,
            RoundState::Removed => !round.is_cleared(),
            _ => false,
        })
    }

    /// Does what is due of one round, unless another database is at it.
    fn look(&self, round: &Round) -> Result<()> {
        if !self.is_due(round)? || !self.has_work(&round.name)? {
            return Ok(());
        }
        // Another database may have done it, and a storage that has taken over may lack the last commits.
        self.take_up(&round.name)?;
        if !self.is_due(round)? {
            return Ok(());
        }
        let record = round.record();
        match record.state {
            RoundState::Open => self.close(round),
            RoundState::Closed => {
                let unshufflable = record
                    .complete
                    .iter()
                    .find_map(|(place, one)| one.unshufflable.as_ref().map(|reason| (*place, reason)));
                match unshufflable {
                    Some((place, reason)) => {
                        let proxy = self.setting.name(Service::Proxy(place))?;
                        self.fail(round, &Error::Terms(format!("{proxy} could not shuffle its reports: {reason}")))
                    }
                    None => self.count(round),
                }
            }
            RoundState::Revealing => self.reveal(round),
            RoundState::Removed => round.clear(&*self.storage),
            _ => Ok(()),
        }
    }

    /// Does what is due, again and again, until the database is to end.
    pub(super) fn work(&self) {
        let mut told: BTreeMap<String, Instant> = BTreeMap::new();
        while !self.cancel.is_cancelled() {
            self.admission.refresh();
            for round in self.all() {
                let _of = tracing::error_span!("house", round = round.name).entered();
                *lock(&self.at_work) = Some(round.name.clone());
                let done = self.look(&round);
                *lock(&self.at_work) = None;
                let error = match done {
                    Ok(()) => {
                        lock(&self.troubled).remove(&round.name);
                        continue;
                    }
                    Err(Error::Interrupted) => return,
                    Err(error) => error,
                };
                let since = self.trouble(&round.name, &error);
                // What may pass is tried again; whoever is to blame, or what cannot pass, ends the round.
                let may_pass = matches!(error, Error::Network { .. } | Error::NotReady(_) | Error::Input(_));
                let error = if may_pass && since.elapsed() < self.patience {
                    error
                } else {
                    match self.fail(&round, &error) {
                        Ok(()) => continue,
                        Err(error) => error,
                    }
                };
                if told.get(&round.name).is_none_or(|last| last.elapsed() > LOG_INTERVAL) {
                    told.insert(round.name.clone(), Instant::now());
                    tracing::warn!("round {}: {error}; trying again", round.name);
                }
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
