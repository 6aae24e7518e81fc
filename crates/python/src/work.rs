//! Work that takes time: it is done on a thread of its own with the interpreter released, while the calling thread
//! looks for Ctrl-C and tells how far it is.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use tacita_core::Error;
use tacita_node::base::cancel::Cancel;
use tacita_node::watch::{ProgressSink, ProgressView, Snapshot};

use crate::errors::Failure;

/// Polling interval of the calling thread.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Time allowed for interrupted work to tell the peers.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);

/// Progress of work, for each party that it is of.
#[derive(Debug, Clone, Default)]
pub struct Shown(Arc<Mutex<BTreeMap<String, Snapshot>>>);

impl Shown {
    /// The screen of a party.
    pub fn of(&self, party: &str) -> Arc<dyn ProgressSink> {
        Arc::new(Place { shown: self.clone(), party: party.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Snapshot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `progress` with what is new since the last time.
    fn tell(&self, progress: &Bound<'_, PyAny>) -> PyResult<()> {
        let new = std::mem::take(&mut *self.lock());
        for (party, now) in new {
            progress.call1((party, now.phase, now.done, now.total, now.sent, now.received))?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
struct Place {
    shown: Shown,
    party: String,
}

impl ProgressSink for Place {
    fn open(&self, _name: Option<&str>) -> Box<dyn ProgressView> {
        Box::new(self.clone())
    }
}

impl ProgressView for Place {
    fn show(&mut self, now: &Snapshot) {
        self.shown.lock().insert(self.party.clone(), now.clone());
    }
}

/// The process whose threads compute.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Does `work`, and raises what fails. Ctrl-C, or an exception of `progress`, cancels it and is raised within a second,
/// whatever it is doing.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    stop: impl Fn() + Sync,
    shown: &Shown,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    if *PROCESS.get_or_init(std::process::id) != std::process::id() {
        // It would wait for them for ever.
        let advice = "start processes with multiprocessing's \"spawn\" or \"forkserver\", or compute in these alone";
        let what = "this process is a fork of one that has computed, and threads do not come along";
        return Err(Failure::from(Error::Input(format!("{what}: {advice}"))).raise(py));
    }
    let (done, mut ended) = mpsc::channel();
    std::thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(work));
        // Nobody waits for work that was interrupted.
        let _ = done.send(result.unwrap_or_else(|_| Err(Error::Internal("a thread has panicked".into()).into())));
    });
    let look = |ended: mpsc::Receiver<_>, time| py.detach(move || (ended.recv_timeout(time), ended));
    loop {
        let result;
        (result, ended) = look(ended, POLL_INTERVAL);
        let told = py.check_signals().and_then(|()| progress.map_or(Ok(()), |progress| shown.tell(progress)));
        match result {
            Ok(result) => return told.and_then(|()| result.map_err(|failure: Failure| failure.raise(py))),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::from(Error::Internal("work ended without a word".into())).raise(py));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = told {
                    py.detach(&stop);
                    drop(look(ended, SHUTDOWN_GRACE));
                    return Err(interrupt);
                }
            }
        }
    }
}

/// Returns the function that cancels work.
pub fn cancels(cancel: &Cancel) -> impl Fn() + use<> {
    let cancel = cancel.clone();
    move || {
        let _ = cancel.cancel();
    }
}
