//! Batches that other queues may have as well: each leaves the one that has claimed it, and is dropped by the others.

use std::collections::BTreeSet;
use std::time::SystemTime;

use tacita_core::{Error, Result};

use super::conditions::{Conditions, Decision};
use super::files::{self, Mark, MarkKey};
use super::held::InQueue;
use super::mix::Source;
use super::{Queue, Submission, lock};
use crate::wire::rounds::Rest;

impl Queue {
    /// Batches that wait, and that it is not known of whether this queue has claimed them. It is not known after a
    /// start, either.
    pub fn unclaimed(&self) -> Vec<MarkKey> {
        let held = lock(&self.held);
        held.waiting.iter().filter(|(_, one)| !one.claimed).map(|(key, _)| *key).collect()
    }

    /// Whether a shuffle is due if all batches that wait are this queue's: what is not, is not claimed yet, since when
    /// something is claimed says when it came.
    pub fn is_due(&self, conditions: &Conditions) -> bool {
        let mut held = lock(&self.held);
        let now = Some((held.changes, *conditions));
        if !held.state.closed && held.unfit == now {
            return false;
        }
        let counts = held.counts(|_| true);
        if counts.is_empty() || held.state.closed {
            return !counts.is_empty();
        }
        let is_unfit = matches!(conditions.decide(&counts, false), Decision::None(_));
        if is_unfit {
            held.unfit = now;
        }
        !is_unfit
    }

    /// Returns the state of the claims in a closed round: nothing, enough for a shuffle, or too little.
    pub fn rest(&self, conditions: &Conditions) -> Rest {
        let counts = lock(&self.held).counts(|one| one.claimed);
        match (counts.is_empty(), conditions.check(&counts)) {
            (true, _) => Rest::Nothing,
            (_, Ok(())) => Rest::Enough,
            (_, Err(_)) => Rest::TooFew,
        }
    }

    /// Batches that have been claimed and wait as they came.
    pub fn claimed(&self) -> Vec<MarkKey> {
        let held = lock(&self.held);
        held.waiting.iter().filter(|(_, one)| one.claimed).map(|(key, _)| *key).collect()
    }

    /// The fingerprint and the records of a batch that waits.
    ///
    /// Errors ([`Error::Input`]): it cannot be read, or is damaged.
    pub fn batch(&self, key: &MarkKey) -> Result<([u8; 32], Vec<u8>)> {
        let mark = self.sound()?.waiting.get(key).map(|one| one.mark);
        let mark = mark.ok_or_else(|| Error::Internal("a batch that does not wait".into()))?;
        let mut all = Vec::new();
        let source = Source { name: files::incoming(key), marked: true, records: mark.records };
        self.sealed().read(&source, &mut |_, record| {
            all.extend_from_slice(record);
            Ok(())
        })?;
        Ok((mark.digest, all))
    }

    /// Takes a batch over that another queue has claimed and does not let leave; also after the close, and if this one
    /// had left it to the other. It is on disk when this returns.
    ///
    /// Errors ([`Error::Input`]): the disk is full or fails; trying again takes it once.
    pub fn take_over(&self, submission: &Submission<'_>) -> Result<()> {
        let Submission { participant, batch, digest, records } = *submission;
        if records.is_empty() || records.len() % self.limits.record_bytes != 0 {
            return Err(Error::Internal("a part of a record in a batch".into()));
        }
        let key = (participant, batch);
        let mark = Mark { digest, records: (records.len() / self.limits.record_bytes) as u64 };
        let _one = lock(&self.shuffling);
        let is_elsewhere = {
            let mut held = self.sound()?;
            if let Some(one) = held.waiting.get_mut(&key) {
                one.claimed = true;
                return Ok(());
            }
            if held.state.marks.contains_key(&key) && !held.state.elsewhere.contains(&key) {
                return Ok(());
            }
            held.state.elsewhere.contains(&key)
        };
        self.write_incoming(&key, submission)?;
        // Until the mark is gone, the batch does not count.
        if is_elsewhere {
            let mut state = self.sound()?.state.clone();
            state.elsewhere.remove(&key);
            state.marks.remove(&key);
            self.write_state(&state)?;
            lock(&self.held).state = state;
        }
        let mut held = lock(&self.held);
        let bytes = files::incoming_bytes(records.len() as u64);
        held.insert(key, InQueue { mark, bytes, since: SystemTime::now(), claimed: true });
        held.bytes += bytes;
        Ok(())
    }

    /// Settles claims: batches of `own` may leave from here, and those of `others` leave elsewhere. The latter are
    /// dropped, but for their marks: a participant that sends one again is told that it is there. Durable when this
    /// returns.
    ///
    /// Errors ([`tacita_core::Error::Input`]): the disk is full or fails. None is dropped then, and none may leave that
    /// could not before.
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
