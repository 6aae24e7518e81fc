//! What has come to a queue, for whoever keeps a journal of it elsewhere.

use std::collections::BTreeSet;
use std::path::Path;

use super::files::{MarkKey, STATE};
use super::{Queue, lock};

/// What has come since it was asked for last.
pub struct Fresh {
    /// Batches that have come.
    pub batches: Vec<MarkKey>,
    /// How often something was written, up to these.
    pub written: u64,
    /// How many shuffles there have been.
    pub generation: u64,
}

impl Queue {
    /// Whether there is a queue in a directory.
    pub fn is_there(path: &Path) -> bool {
        path.join(STATE).exists()
    }

    /// How often a batch has come, or a shuffle let some leave, since the queue was opened.
    pub fn written(&self) -> u64 {
        lock(&self.held).written
    }

    /// How many shuffles there have been, and the batches that were taken, wherever they are now.
    pub fn present(&self) -> (u64, BTreeSet<MarkKey>) {
        let held = lock(&self.held);
        (held.state.generation, held.present())
    }

    /// What has come since it was asked for last.
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
