//! A shuffle: which records leave, in a random order, and the mark behind which they have left.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::Result;
use zeroize::Zeroizing;

use super::conditions::{Conditions, Decision, RecordCounts};
use super::files::{self, Mark, MarkKey, Run, begin_segment, extend_runs};
use super::mix::{Buckets, Draw, Leaving, Sealed, Source, buckets};
use super::state::State;
use super::{Queue, ShuffleOutcome, step};
use tacita_node::base::random::fill_random;

/// Records that wait, as they are when a shuffle begins.
pub(super) struct Waiting {
    pub(super) sources: Vec<Source>,
    /// Owners of these records, in their order.
    pub(super) runs: Vec<Run>,
    pub(super) marks: BTreeMap<MarkKey, Mark>,
    pub(super) counts: RecordCounts,
    pub(super) state: State,
}

/// Records that leave, and records that stay.
struct Drawn {
    taken: u64,
    /// Seed that determines which records are taken.
    seed: Zeroizing<[u8; 32]>,
    /// Owners of the records that stay, in their order.
    left: Vec<Run>,
}

impl Queue {
    /// Lets records leave, if the conditions are met: a random order of them is on disk as batches of
    /// [`super::QueueLimits::batch_records`] under random names when this returns, for [`Queue::next_outgoing`]. What
    /// is taken meanwhile, or not claimed, waits for the next time.
    ///
    /// Takes about `memory` bytes of memory, and disk space for all records twice.
    ///
    /// Errors ([`tacita_core::Error::Input`]): the disk is full or fails, a file is damaged, or `memory` is too little.
    /// Nothing has left then, and the next time begins anew.
    pub fn shuffle(&self, conditions: &Conditions, memory: u64) -> Result<ShuffleOutcome> {
        let _one = super::lock(&self.shuffling);
        let waiting = self.waiting(|one| one.claimed)?;
        let records = waiting.counts.values().sum::<u64>();
        if records == 0 {
            return Ok(ShuffleOutcome::Nothing);
        }
        let closed = waiting.state.closed;
        let none = |why: String| if closed { ShuffleOutcome::Unshufflable(why) } else { ShuffleOutcome::Waiting(why) };
        let drawn = match conditions.decide(&waiting.counts, closed) {
            Decision::None(why) => return Ok(none(why)),
            Decision::All => Drawn { taken: records, seed: Zeroizing::default(), left: Vec::new() },
            Decision::Some(taken) => match self.draw(&waiting, conditions, taken)? {
                Ok(drawn) => drawn,
                Err(why) => return Ok(none(why)),
            },
        };
        let taken = drawn.taken;
        let generation = waiting.state.generation + 1;
        let left = self
            .mix(&waiting, &drawn, memory, generation)
            .and_then(|(batches, bytes)| self.count(waiting, drawn, batches, bytes));
        // What an attempt leaves behind would go at the next start; the disk may be full now.
        left.inspect_err(|_| self.clear_attempt(generation))?;
        Ok(ShuffleOutcome::Left { records: taken })
    }

    /// Draws which records leave: none of them is read.
    fn draw(
        &self,
        waiting: &Waiting,
        conditions: &Conditions,
        taken: u64,
    ) -> Result<std::result::Result<Drawn, String>> {
        let mut seed = Zeroizing::new([0; 32]);
        fill_random(&mut *seed)?;
        let mut draw = draw(waiting, taken, &seed);
        let (mut leaving, mut staying, mut left) = (RecordCounts::new(), RecordCounts::new(), Vec::new());
        for (participant, records) in &waiting.runs {
            let leave = (0..*records).filter(|_| draw.next()).count() as u64;
            *leaving.entry(*participant).or_default() += leave;
            if *records > leave {
                *staying.entry(*participant).or_default() += records - leave;
                extend_runs(&mut left, *participant, records - leave);
            }
        }
        let checked = conditions.check(&leaving).map_err(|why| format!("of a batch drawn at random, {why}"));
        let checked = checked.and_then(|()| {
            conditions
                .check(&staying)
                .map_err(|why| format!("of the reports that a random batch would leave behind, {why}"))
        });
        Ok(checked.map(|()| Drawn { taken, seed, left }))
    }

    /// Writes batches that leave, and what stays. Returns the batches, and what the rest takes on disk.
    // The pair of what leaves and what stays is used once; a type of its own would only be taken apart again.
    #[allow(clippy::type_complexity)]
    fn mix(
        &self,
        waiting: &Waiting,
        drawn: &Drawn,
        memory: u64,
        generation: u64,
    ) -> Result<(BTreeMap<super::QueueBatchId, (String, u64)>, u64)> {
        let sealed = self.sealed();
        let mut buckets = Buckets::new(sealed, buckets(drawn.taken, sealed.record_bytes, memory)?)?;
        let mut draw = draw(waiting, drawn.taken, &drawn.seed);
        let mut rest = if drawn.left.is_empty() {
            None
        } else {
            Some(files::create(sealed.folder, &files::left(generation), sealed.key)?)
        };
        for source in &waiting.sources {
            step("bucket")?;
            let mut stay = Stay::default();
            sealed.read(source, &mut |participant, record| {
                if draw.next() {
                    return buckets.add(record);
                }
                let Some(rest) = &mut rest else { return Ok(()) };
                stay.add(rest, participant, record, sealed.record_bytes)
            })?;
            if let Some(rest) = &mut rest {
                stay.flush(rest, sealed.record_bytes)?;
            }
        }
        let rest_bytes = match rest {
            Some(rest) => {
                step("left")?;
                let (_, length) = rest.finish()?;
                files::on_disk(length)
            }
            None => 0,
        };
        let mut leaving = Leaving::new(sealed, generation, self.limits.batch_records)?;
        buckets.empty(&mut |record| leaving.add(record))?;
        leaving.flush()?;
        Ok((leaving.written, rest_bytes))
    }

    pub(super) fn sealed(&self) -> Sealed<'_> {
        Sealed { folder: &self.folder, key: &self.key, record_bytes: self.limits.record_bytes }
    }
}

/// Draws the waiting records that are taken, which the seed determines.
fn draw(waiting: &Waiting, taken: u64, seed: &[u8; 32]) -> Draw<ChaCha20Rng> {
    Draw::new(ChaCha20Rng::from_seed(*seed), taken, waiting.counts.values().sum())
}

/// Records of a participant that stay, until there are enough to be sealed together.
#[derive(Default)]
struct Stay {
    participant: u32,
    chunk: Vec<u8>,
}

impl Stay {
    fn add(
        &mut self,
        rest: &mut tacita_node::store::seal::SealedWriter,
        participant: u32,
        record: &[u8],
        record_bytes: usize,
    ) -> Result<()> {
        if self.participant != participant || self.chunk.len() >= files::chunk(record_bytes) {
            self.flush(rest, record_bytes)?;
            self.participant = participant;
        }
        self.chunk.extend_from_slice(record);
        Ok(())
    }

    fn flush(&mut self, rest: &mut tacita_node::store::seal::SealedWriter, record_bytes: usize) -> Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        begin_segment(rest, self.participant, (self.chunk.len() / record_bytes) as u64)?;
        rest.write(std::mem::take(&mut self.chunk)).map(drop)
    }
}

impl Queue {
    /// Writes the mark behind which a shuffle counts, and removes what it has made obsolete.
    fn count(
        &self,
        waiting: Waiting,
        drawn: Drawn,
        batches: BTreeMap<super::QueueBatchId, (String, u64)>,
        rest_bytes: u64,
    ) -> Result<()> {
        let Waiting { sources, marks, mut state, .. } = waiting;
        state.generation += 1;
        state.marks.extend(&marks);
        self.write_state(&state)?;
        let mut held = super::lock(&self.held);
        held.waiting.retain(|key, _| !marks.contains_key(key));
        held.left = drawn.left;
        held.changes += 1;
        held.left_bytes = rest_bytes;
        held.outgoing.extend(batches);
        held.written += 1;
        held.state = state;
        held.count_bytes();
        drop(held);
        self.remove_obsolete(&sources);
        Ok(())
    }
}
