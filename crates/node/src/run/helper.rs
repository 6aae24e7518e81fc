//! The way of a party to its helper, where it leaves and collects what the protocol says.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};

use super::connect::Ready;
use super::connections::Connections;
use super::prepare::Loader;
use crate::agreement::{JobSpec, Terms};
use crate::run::party::PartyRun;
use crate::transport::depot::{self, DepotClient};

/// Interval at which a party that loads its table checks whether it was interrupted.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl PartyRun {
    /// Loads the table and goes to the helper, at the same time. What was `checked` before in vain is said there.
    pub(super) fn load_and_arrive(&self, place: depot::HelperAddress, load: Loader) -> Result<Ready> {
        let me = self.job.parties.position(&self.me).unwrap_or_default();
        tracing::info!("going to {} at {}", place.helper.name, place.address);
        let times = [self.timeout, self.patience];
        let helped = self.job.job.capabilities().helped;
        let helped = helped.ok_or_else(|| Error::Internal("a helper, and a job that has none".into()))?;
        let (identity, ways) = (self.identity.clone(), (self.meeting.shape, helped.expected(&self.job, me)?));
        let client = DepotClient::new(place, me, identity, terms(&self.job), times, ways, self.cancel.clone())?;
        let started = Instant::now();
        let (loaded, reported) = mpsc::channel();
        let loaded_and_there = || {
            // Left to itself when the helper cannot be reached: nobody waits for a table that is no longer needed.
            std::thread::spawn(move || loaded.send((load(), started.elapsed())));
            client.arrive()?;
            let connect = started.elapsed();
            loop {
                match reported.recv_timeout(POLL_INTERVAL) {
                    Ok((part, load)) => return Ok((part?, load, connect)),
                    Err(RecvTimeoutError::Timeout) if self.cancel.is_cancelled() => return Err(Error::Interrupted),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Error::Internal("loading ended without a word".into()));
                    }
                }
            }
        };
        let (part, load, connect) = loaded_and_there().inspect_err(|error| client.end(error))?;
        let connections = Connections::Helper(Box::new(client));
        Ok(Ready { part, load, connect, greeted: Vec::new(), round_trip: Duration::ZERO, connections })
    }
}

/// Returns the terms that the helper compares.
pub fn terms(job: &JobSpec) -> depot::DepotTerms {
    let terms = Terms::of(job);
    depot::DepotTerms { id: job.id.clone(), text: terms.canonical(), agreement: terms.agreement_bytes(), differences }
}

fn differences(ours: &str, theirs: &[u8]) -> Option<Vec<String>> {
    let [ours, theirs] = [ours.as_bytes(), theirs].map(|text| serde_json::from_slice(text).ok());
    Some(Terms::from_peer(&ours?).differences(&Terms::from_peer(&theirs?)))
}
