//! Record of arrivals in a queue, for a journal that is kept elsewhere.

use std::collections::BTreeSet;
use std::path::Path;

use super::files::{MarkKey, STATE};
use super::{Queue, lock};

/// Batches that have come since they were last asked for.
pub struct Fresh {
    /// Batches that have come.
    pub batches: Vec<MarkKey>,
    /// Number of writes up to these batches.
    pub written: u64,
    /// Number of shuffles so far.
    pub generation: u64,
}

impl Queue {
    /// Whether there is a queue in a directory.
    pub fn is_there(path: &Path) -> bool {
        path.join(STATE).exists()
    }

    /// Returns the number of times that a batch has come, or a shuffle let some leave, since the queue was opened.
    pub fn written(&self) -> u64 {
        lock(&self.held).written
    }

    /// Returns the number of shuffles so far, and the batches that were taken, wherever they are now.
    pub fn present(&self) -> (u64, BTreeSet<MarkKey>) {
        let held = lock(&self.held);
        (held.state.generation, held.present())
    }

    /// Returns the batches that have come since the last call.
    pub fn take_fresh(&self) -> Fresh {
        let mut held = lock(&self.held);
        Fresh { batches: std::mem::take(&mut held.fresh), written: held.written, generation: held.state.generation }
    }

    /// Gives batches back that could not be noted elsewhere.
    pub fn put_back(&self, batches: Vec<MarkKey>) {
        lock(&self.held).fresh.extend(batches);
    }

    /// Takes these batches for such that have come since, and so something for written.
    pub fn note_new(&self, batches: impl Iterator<Item = MarkKey>) {
        let mut held = lock(&self.held);
        held.fresh.extend(batches);
        held.written += 1;
    }
}
