//! A run that is to end before its time: the peers are told, and nothing half-written stays.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tacita_core::Error;
use tacita_core::channel::Handle;

/// Ends a run from outside: whoever holds a copy may call [`Cancel::cancel`], from any thread.
#[derive(Clone, Default)]
pub struct Cancel(Arc<State>);

#[derive(Default)]
struct State {
    cancelled: AtomicBool,
    writing: AtomicBool,
    channels: Mutex<Vec<Handle>>,
}

impl Cancel {
    /// Ends the run, unless it is writing its result, which will be whole in a moment. Returns whether it ends, and
    /// whether there are peers that are being told.
    pub fn cancel(&self) -> Cancelled {
        if self.0.writing.load(Ordering::Acquire) {
            return Cancelled::Writing;
        }
        self.0.cancelled.store(true, Ordering::Release);
        let channels = self.0.channels.lock().unwrap_or_else(PoisonError::into_inner).clone();
        channels.iter().for_each(|channel| channel.interrupt(Error::Interrupted));
        if channels.is_empty() { Cancelled::Alone } else { Cancelled::Telling }
    }

    /// Whether the run is to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Has the peer of this channel told when the run is cancelled.
    pub(crate) fn tell(&self, channel: Handle) {
        self.0.channels.lock().unwrap_or_else(PoisonError::into_inner).push(channel);
    }

    /// Runs something that must not be cut off: writing the result.
    pub(crate) fn without_cancel<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.writing.store(true, Ordering::Release);
        let result = write();
        self.0.writing.store(false, Ordering::Release);
        result
    }
}

/// Effect of a call to [`Cancel::cancel`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// No effect: the result is being written.
    Writing,
    /// The run ends, and has no peers yet.
    Alone,
    /// The run ends, and its peers are being told.
    Telling,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever interrupts a party that writes its result does not have the peers told that it has none.
    #[test]
    fn what_is_being_written_is_not_cut_off() {
        let cancel = Cancel::default();
        assert_eq!(cancel.without_cancel(|| cancel.cancel()), Cancelled::Writing);
        assert!(!cancel.is_cancelled());
        assert_eq!(cancel.cancel(), Cancelled::Alone);
        assert!(cancel.is_cancelled());
    }
}
