//! Work of the helper itself in a job: it takes what was left for it, and leaves what it makes of that.

use std::sync::PoisonError;
use std::time::Instant;

use tacita_core::depot::DepotParty;
use tacita_core::{ErrorKind, Result};
use zeroize::Zeroizing;

use super::super::Numbers;
use super::super::files::Key;
use super::super::run::Over;
use super::HelperJob;

impl HelperJob {
    /// The run in which there is work for the helper, once there is one after the run `last`: its number, how many
    /// parts are done, and from what its randomness follows.
    pub(in crate::helper) fn work(&self, last: Option<u64>, until: Instant) -> Option<(u64, u32, Zeroizing<[u8; 32]>)> {
        let mut state = self.lock();
        loop {
            if let Some(run) = state.run.as_ref().filter(|run| run.has_begun() && Some(run.number) != last) {
                return Some((run.number, run.record.helped, run.record.seed.clone()));
            }
            let left = until.checked_duration_since(Instant::now())?;
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A part for the helper, once it is there; nothing if that run is over.
    pub(in crate::helper) fn take(&self, run: u64, key: &Key) -> Result<Option<Vec<u8>>> {
        let mut state = self.lock();
        loop {
            match state.run.as_ref().filter(|now| now.number == run) {
                None => return Ok(None),
                Some(run) if run.held.contains_key(key) => break,
                Some(_) => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
        drop(state);
        self.files.part(key).map(Some)
    }

    /// Keeps a part that the helper has made; whether that run is still under way.
    pub(in crate::helper) fn give(&self, run: u64, key: Key, part: &[u8]) -> Result<bool> {
        self.files.keep(&key, part)?;
        let mut state = self.lock();
        let Some(run) = state.run.as_mut().filter(|now| now.number == run) else {
            self.files.forget(&key);
            return Ok(false);
        };
        run.held.insert(key, part.len() as u64);
        drop(state);
        self.changed.notify_all();
        Ok(true)
    }

    /// One part more of the helper's work is done: what it was made of is needed no more.
    pub(in crate::helper) fn helped(&self, run: u64, part: u32) -> Result<()> {
        let mut state = self.lock();
        let Some(run) = state.run.as_mut().filter(|now| now.number == run) else { return Ok(()) };
        run.record.helped = part + 1;
        self.files.record(&run.record)?;
        let used = run.held.keys().filter(|key| key.to == DepotParty::Helper && key.part == part);
        used.for_each(|key| self.files.forget(key));
        Ok(())
    }

    /// The helper ends a run.
    pub(in crate::helper) fn end(&self, run: u64, kind: ErrorKind, culprit: Option<DepotParty>, numbers: &Numbers) {
        let mut state = self.lock();
        if state.run.as_ref().is_some_and(|now| now.number == run) {
            self.end_run(&mut state, Over::Ended { by: DepotParty::Helper, kind, culprit }, numbers);
        }
    }
}
