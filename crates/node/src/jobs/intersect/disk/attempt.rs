//! An attempt at a run in buckets, between two parties or among several: what is kept of it, and where its items are
//! meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rand_core::CryptoRng;
use tacita_core::protocol::intersect::buckets::{self, BucketSource, BucketsRun};
use tacita_core::{Error, Progress, Result};

use super::buckets::{DiskBuckets, MemoryBuckets};
use super::{Disk, DiskAgreement};
use crate::agreement::{self, JobSpec, Sizes};
use crate::base::hex::{hex, unhex};
use crate::base::text::{advised, count, counted};
use crate::jobs::intersect::{IntersectResult, Loaded};
use crate::jobs::on_disk::RESULT;
use crate::jobs::on_disk::memory::for_buckets;

/// Location of a party's table.
pub enum TablePlace<'a> {
    /// Table that is on disk.
    Disk(&'a Arc<Disk>),
    /// Table that is in memory.
    Memory(&'a Arc<Loaded>),
}

/// An attempt, with whoever takes part in it.
pub trait Attempt {
    /// Returns the name of the protocol.
    fn protocol(&self) -> &'static str;

    /// Returns the number of buckets.
    fn buckets(&self) -> usize;

    /// Returns the number of buckets processed at a time.
    fn at_once(&self) -> usize;

    /// Whether all go on with a run that they have kept.
    fn resumes(&self) -> bool;

    /// Returns the progress to be shown meanwhile.
    fn progress(&self) -> &Progress;

    /// Returns a source of secret random bytes.
    fn rng(&mut self) -> &mut dyn CryptoRng;

    /// Agrees on a fresh run, or on resuming the one that is kept.
    fn agree(&mut self, commitment: &[u8; 32], kept: Option<buckets::KeptRun<'_>>) -> Result<buckets::BucketAgreement>;

    /// Does the buckets that remain.
    fn run(&mut self, remaining: &[usize], source: &dyn BucketSource) -> Result<()>;
}

/// Adds to an error of parties that do not agree on what to resume what they can do.
fn at_odds(error: Error) -> Error {
    advised(
        error,
        "resume the same run everywhere (--resume, with its directory), or start anew everywhere, without --resume",
    )
}

/// Runs all buckets that are left. Returns the rows that the party has in common with the others, if it learns them.
pub fn run_attempt(party: TablePlace<'_>, learns: bool, mut attempt: impl Attempt) -> Result<IntersectResult> {
    let found = match party {
        TablePlace::Disk(disk) => {
            disk.run_attempt(attempt)?;
            IntersectResult::OnDisk(disk.clone())
        }
        TablePlace::Memory(loaded) => {
            // Nothing of this run is ever resumed by a party that keeps nothing: it is committed to nothing.
            let mut commitment = [0; 32];
            attempt.rng().fill_bytes(&mut commitment);
            let agreed = attempt.agree(&commitment, None).map_err(at_odds)?;
            let source = MemoryBuckets::make(&loaded.keys, &agreed.run.item_key(), attempt.buckets());
            attempt.run(&agreed.remaining, &source)?;
            IntersectResult::Rows(loaded.clone(), source.common())
        }
    };
    Ok(if learns { found } else { IntersectResult::Nothing })
}

/// The run that parties of these sizes go on with: all have kept it.
pub fn resumed<'a>(own: &'a Sizes, others: impl IntoIterator<Item = &'a Sizes>) -> Option<&'a agreement::ResumableRun> {
    let own = kept(own)?;
    others.into_iter().all(|theirs| kept(theirs).is_some_and(|theirs| same(own, theirs))).then_some(own)
}

/// Whether these are one run: its fingerprint is of the other two, but a peer can say what it likes.
fn same(own: &agreement::ResumableRun, theirs: &agreement::ResumableRun) -> bool {
    (&own.run, own.buckets, &own.protocol) == (&theirs.run, theirs.buckets, &theirs.protocol)
}

fn kept(sizes: &Sizes) -> Option<&agreement::ResumableRun> {
    sizes.work.as_ref()?.kept.as_ref()
}

/// Refuses to begin anew what one party has done a part of, unless another keeps nothing. `others` are all but `me`, by
/// name.
pub fn check_fresh(job: &JobSpec, me: &str, own: &Sizes, others: &[(&str, &Sizes)]) -> Result<()> {
    // What is finished at who learns nothing is of no worth to anybody.
    let done = |name: &str, sizes: &Sizes| job.learns(name) && kept(sizes).is_some_and(|kept| kept.finished > 0);
    if let Some((keeps_nothing, _)) = others.iter().find(|(_, sizes)| sizes.work.is_none()) {
        if done(me, own) {
            tracing::info!("{keeps_nothing} keeps nothing on disk: all buckets are done again");
        }
        return Ok(());
    }
    if own.work.is_none() {
        return Ok(());
    }
    let all = || std::iter::once((me, own)).chain(others.iter().copied());
    let one_run =
        |own: &Sizes, theirs: &Sizes| kept(own).zip(kept(theirs)).is_some_and(|(own, theirs)| same(own, theirs));
    // Whether a party has kept a run of which a part is done, here or elsewhere.
    let resumes = |sizes: &Sizes| all().any(|(name, theirs)| done(name, theirs) && one_run(sizes, theirs));
    let differs = |(peer, theirs): &(&str, &Sizes)| match (resumes(own), resumes(theirs)) {
        _ if one_run(own, theirs) => None,
        (false, false) => None,
        (true, false) => Some(format!(
            "this run is resumed, but {peer} begins a new one: let {peer} use --resume, too, or {} remove their directories and \
             start again",
            both(others)
        )),
        (false, true) => Some(format!(
            "{peer} resumes a run, but this one is new: use --resume and its --work here, too, or {} remove their directories \
             and start again",
            both(others)
        )),
        (true, true) => Some(format!(
            "{peer} resumes a different run: use the directories of one run, or {} remove them and start again",
            both(others)
        )),
    };
    others.iter().find_map(differs).map_or(Ok(()), |text| Err(Error::Terms(text)))
}

/// The word for all parties of a job, which are this one and `others`.
fn both(others: &[(&str, &Sizes)]) -> &'static str {
    if others.len() == 1 { "both" } else { "all" }
}

impl Disk {
    fn run_attempt(&self, mut attempt: impl Attempt) -> Result<()> {
        let commitment = self.commitment()?;
        let (kept, finished) = self.kept(attempt.resumes())?;
        let kept = kept.as_ref().map(|run| buckets::KeptRun { run, finished: &finished });
        let agreed = attempt.agree(&commitment, kept).map_err(at_odds)?;
        let (run, buckets) = (hex(&agreed.run.to_bytes()), attempt.buckets());
        self.keep(DiskAgreement { run: run.clone(), protocol: attempt.protocol().into(), buckets })?;
        tracing::info!(
            "{} of {} left, {} at a time",
            count(agreed.remaining.len() as u64),
            counted(buckets as u64, "bucket"),
            attempt.at_once()
        );
        let room = (self.memory - for_buckets(self.memory)) as usize;
        let (directory, sorted, item_key) = (self.table.directory(), self.table.sorted(), agreed.run.item_key());
        let source = DiskBuckets::make(directory, &run, sorted, &item_key, buckets, room, attempt.progress())?;
        attempt.run(&agreed.remaining, &source)?;
        self.done.store(agreed.remaining.len(), Ordering::Relaxed);
        Ok(())
    }

    /// Returns a commitment to the table. The others see nothing of the table, but that it is the same as before.
    fn commitment(&self) -> Result<[u8; 32]> {
        let parts = unhex(&self.table.state().nonce).zip(unhex(&self.table.sorted().digest));
        let (nonce, digest) = parts.ok_or_else(|| Error::Internal("a table without a digest".into()))?;
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 work commitment");
        hasher.update(&nonce).update(&digest);
        Ok(hasher.finalize().into())
    }

    /// The run that is resumed, and its finished buckets. What is kept of one that is not resumed goes.
    fn kept(&self, resumes: bool) -> Result<(Option<BucketsRun>, Vec<usize>)> {
        let directory = self.table.directory();
        if !resumes {
            let keeps = self.table.state().run.is_some();
            if keeps {
                self.table.note(|state| state.run = None)?;
            }
            RESULT.remove_all(directory)?;
            return Ok((None, Vec::new()));
        }
        let state = self.table.state();
        let run = state.run.as_ref().and_then(|kept| unhex(&kept.run)).and_then(|bytes| BucketsRun::from_bytes(&bytes));
        let run = run.ok_or_else(|| Error::Internal("no run is kept".into()))?;
        Ok((Some(run), super::buckets::finished(directory)?))
    }

    /// Keeps the run that was agreed on.
    fn keep(&self, run: DiskAgreement) -> Result<()> {
        self.table.note(|state| state.run = Some(run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::DiskRun;

    const NAMES: [&str; 3] = ["a", "b", "c"];

    fn on_disk(kept: Option<(char, u64, u64)>) -> Sizes {
        let kept = kept.map(|(run, finished, buckets)| agreement::ResumableRun {
            run: run.into(),
            finished,
            buckets,
            protocol: "star".into(),
        });
        Sizes { items: 9, work: Some(DiskRun { memory: 1 << 30, kept }), ..Sizes::default() }
    }

    /// Whatever each has kept, all come to the same: they resume, begin anew, or end with an error that names another.
    #[test]
    fn all_come_to_the_same() {
        let job = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\n[key]\ncolumns = [\"k\"]\n[parties.a]\n[parties.b]\n[parties.c]\n";
        let job = JobSpec::parse(job, false).unwrap();
        let states =
            [None, Some(('x', 0, 4)), Some(('x', 2, 4)), Some(('y', 0, 4)), Some(('y', 2, 4)), Some(('x', 2, 8))];
        let states: Vec<Sizes> =
            std::iter::once(Sizes { items: 9, ..Sizes::default() }).chain(states.map(on_disk)).collect();
        let (mut resume, mut refused, mut anew) = (0, 0, 0);
        for number in 0..states.len().pow(3) {
            let place = |party: u32| number / states.len().pow(party) % states.len();
            let sizes = [0, 1, 2].map(|party| &states[place(party)]);
            let others = |me: usize| (0..3).filter(move |other| *other != me);
            let resumes = [0, 1, 2].map(|me| resumed(sizes[me], others(me).map(|other| sizes[other])).is_some());
            let errors = [0, 1, 2].map(|me| {
                let others: Vec<_> = others(me).map(|other| (NAMES[other], sizes[other])).collect();
                check_fresh(&job, NAMES[me], sizes[me], &others).err().map(|error| error.to_string())
            });
            assert!(resumes.iter().all(|one| *one == resumes[0]), "{sizes:?}");
            assert!(errors.iter().all(|error| error.is_some() == errors[0].is_some()), "{sizes:?}: {errors:?}");
            for (me, error) in errors.iter().enumerate() {
                let named = |name: &&str| error.as_ref().is_some_and(|error| error.contains(&format!("{name} ")));
                assert!(error.is_none() || others(me).any(|other| named(&NAMES[other])), "{error:?}");
            }
            // Nothing that a learner has finished is thrown away while all keep their work on disk, and nothing else is
            // in the way.
            let worth = (0..2).any(|learner| kept(sizes[learner]).is_some_and(|kept| kept.finished > 0));
            let all_on_disk = sizes.iter().all(|sizes| sizes.work.is_some());
            assert_eq!(errors[0].is_some(), worth && all_on_disk && !resumes[0], "{sizes:?}: {errors:?}");
            match (resumes[0], errors[0].is_some()) {
                (true, _) => resume += 1,
                (_, true) => refused += 1,
                _ => anew += 1,
            }
        }
        assert!(resume == 17 && refused > 50 && anew > 50, "{resume}, {refused}, {anew}");
    }
}
