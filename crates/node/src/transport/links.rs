//! A party's connections, which end together: whatever ends one of them ends the job for all parties.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tacita_core::channel::Handle;
use tacita_core::{Error, Result};

use crate::base::cancel::Cancel;

/// Interval at which connections are checked while a job runs. A failure that is seen twice ends them. The job itself,
/// which waits on one of them, thus comes first with what it knows.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// The connections of one run.
#[derive(Default)]
pub struct Links {
    state: Mutex<State>,
    cancel: Cancel,
}

#[derive(Default)]
struct State {
    handles: Vec<Handle>,
    ended: Option<Error>,
}

impl Links {
    /// Connections that end when `cancel` says so.
    pub fn new(cancel: Cancel) -> Links {
        Links { cancel, ..Links::default() }
    }

    /// Takes a new connection. It ends at once if the others have.
    pub fn add(&self, handle: Handle) {
        self.cancel.tell(handle.clone());
        let mut state = self.lock();
        if let Some(error) = &state.ended {
            handle.end(error);
        }
        state.handles.push(handle);
    }

    /// Returns the number of connections.
    pub fn len(&self) -> usize {
        self.lock().handles.len()
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the reason why one of the connections has ended, if one has.
    pub fn failure(&self) -> Option<Error> {
        self.lock().handles.iter().find_map(Handle::failure)
    }

    /// Ends all because of `error`: its own peer is told that, the others that the job cannot go on. The first error
    /// counts.
    pub fn end(&self, error: &Error) {
        let mut state = self.lock();
        if state.ended.is_none() {
            state.ended = Some(error.clone());
            state.handles.iter().for_each(|handle| handle.end(error));
        }
    }

    /// Runs `work`, which waits on one connection at a time, and ends all when one ends. The error is the first one.
    pub fn guard<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let done = std::thread::scope(|scope| {
            // Dropped when the work is done, also if it panics.
            let (working, ended) = std::sync::mpsc::channel::<()>();
            if self.len() > 1 {
                scope.spawn(move || {
                    let mut seen = false;
                    while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(POLL_INTERVAL) {
                        match self.failure() {
                            Some(error) if seen => return self.end(&error),
                            failure => seen = failure.is_some(),
                        }
                    }
                });
            }
            let done = work();
            drop(working);
            done
        });
        done.map_err(|error| {
            self.end(&error);
            self.lock().ended.clone().unwrap_or(error)
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tacita_core::channel::{Channel, Label};

    use super::*;

    /// The first error counts, for connections that are there and for those that come later; their peers hear of it.
    #[test]
    fn all_connections_end_with_the_first_error() {
        let links = Links::default();
        let ends = || Channel::pair("me", "peer");
        let ((one, mut far_one), (other, mut far_other), (late, mut far_late)) = (ends(), ends(), ends());
        links.add(one.handle());
        links.add(other.handle());
        assert_eq!(links.failure(), None);
        let first = Error::Input("no such table".into());
        let second = Error::Network { peer: "peer".into(), what: "went away".into() };
        links.end(&first);
        assert_eq!(links.guard(|| Err::<(), _>(second)), Err(first.clone()));
        links.add(late.handle());
        for (channel, far) in [(&one, &mut far_one), (&other, &mut far_other), (&late, &mut far_late)] {
            assert_eq!(channel.handle().failure(), Some(first.clone()));
            let told = far.receive(Label::new(1, "data"), 1).unwrap_err();
            assert!(matches!(told, Error::Peer { kind: tacita_core::ErrorKind::Input, .. }), "{told:?}");
        }
    }
}
