//! Progress of a protocol, for observers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts that a protocol writes and a display reads; cheap enough to update once a chunk.
#[derive(Debug, Default)]
pub struct Progress {
    phase: Mutex<&'static str>,
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Starts a phase of `total` units (rows, unless the phase's name says otherwise).
    pub fn start(&self, phase: &'static str, total: usize) {
        let mut current = self.phase.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *current = phase;
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total as u64, Ordering::Relaxed);
    }

    /// Adds `units` to what the current phase has done.
    pub fn advance(&self, units: usize) {
        self.done.fetch_add(units as u64, Ordering::Relaxed);
    }

    /// The phase, the units done and the units in all.
    pub fn read(&self) -> (&'static str, u64, u64) {
        let phase = *self.phase.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        (phase, self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
