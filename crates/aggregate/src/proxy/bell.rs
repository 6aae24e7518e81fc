//! Wakes a thread that waits for something to do.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::lock;

/// Rung when there is something to do.
#[derive(Default)]
pub(super) struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    pub(super) fn ring(&self) {
        *lock(&self.rung) = true;
        self.heard.notify_one();
    }

    /// Waits until it rings, or as long as this.
    pub(super) fn wait(&self, time: Duration) {
        let waited = self.heard.wait_timeout_while(lock(&self.rung), time, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}
