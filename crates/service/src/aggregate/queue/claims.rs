//! Batches that other queues may have as well: each leaves the one that has claimed it, and is dropped by the others.

use std::collections::BTreeSet;

use tacita_core::Result;

use super::conditions::{Conditions, Decision};
use super::files::{self, MarkKey};
use super::mix::Source;
use super::{Queue, lock};

impl Queue {
    /// Batches that wait, and that it is not known of whether this queue has claimed them. It is not known after a start, either.
    pub fn unclaimed(&self) -> Vec<MarkKey> {
        let held = lock(&self.held);
        held.waiting.iter().filter(|(_, one)| !one.claimed).map(|(key, _)| *key).collect()
    }

    /// Whether a shuffle is due if all batches that wait are this queue's: what is not, is not claimed yet, since when something is claimed says when
    /// it came.
    pub fn is_due(&self, conditions: &Conditions) -> bool {
        let held = lock(&self.held);
        let counts = held.counts(|_| true);
        !counts.is_empty() && (held.state.closed || !matches!(conditions.decide(&counts, false), Decision::None(_)))
    }

    /// What has become of claims: batches of `own` may leave from here, and those of `others` leave elsewhere. These are dropped, but for
    /// their marks: whoever sends one again is told that it is there. Durable when this returns.
    ///
    /// Errors ([`tacita_core::Error::Input`]): the disk is full or fails. None is dropped then, and none may leave that could not before.
    pub fn settle(&self, own: &[MarkKey], others: &[MarkKey]) -> Result<()> {
        let _one = lock(&self.shuffling);
        let mut dropped = Vec::new();
        if !others.is_empty() {
            let others: BTreeSet<_> = others.iter().collect();
            let held = self.sound()?;
            let mut state = held.state.clone();
            for (key, one) in held.waiting.iter().filter(|(key, _)| others.contains(key)) {
                state.is_elsewhere(*key, one.mark);
                dropped.push((*key, Source { name: files::incoming(key), marked: true, records: one.mark.records }));
            }
            drop(held);
            self.write_state(&state)?;
            lock(&self.held).state = state;
        }
        // From here on it has happened, whatever fails.
        let mut held = lock(&self.held);
        dropped.iter().for_each(|(key, _)| held.drop_batch(key));
        for key in own {
            if let Some(one) = held.waiting.get_mut(key) {
                one.claimed = true;
            }
        }
        held.count_bytes();
        drop(held);
        self.remove_obsolete(&dropped.into_iter().map(|(_, source)| source).collect::<Vec<_>>());
        Ok(())
    }
}
