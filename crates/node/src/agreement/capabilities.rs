//! Capabilities of jobs: small traits for what only some of them can do.

use std::path::Path;

use serde_json::Value;
use tacita_core::channel::Channel;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::{Answer, Chosen, Gathered, JobSpec, Levels, Names, PartyInput, Protocol, RunResult, Source};
use crate::table::Table;
use crate::transport::depot::Expected;

/// Capabilities of a job: what it can do that not every job can.
#[derive(Default)]
pub struct Capabilities<'a> {
    /// Aligns its rows by ids.
    pub aligned: Option<&'a dyn Aligned>,
    /// Runs on many machines of each party.
    pub distributed: Option<&'a dyn Distributed>,
    /// Adds up shares that buckets leave.
    pub sums: Option<&'a dyn BucketSums>,
    /// Counts repeatedly in buckets.
    pub counts: Option<&'a dyn RepeatedCounts>,
    /// Uses what a party has prepared.
    pub prepared: Option<&'a dyn Prepared>,
    /// Resumes an interrupted run.
    pub resumable: Option<&'a dyn Resumable>,
    /// Runs through a helper.
    pub helped: Option<&'a dyn Helped>,
}

impl JobSpec {
    /// Returns the methods for running the job distributed over many machines. Errors ([`Error::Input`]): it is not.
    pub fn distributed(&self) -> Result<&dyn Distributed> {
        let missing = || Error::Input(format!("job \"{}\" runs on one machine of each party", self.job.name()));
        self.job.capabilities().distributed.ok_or_else(missing)
    }

    /// Returns the methods for adding up the shares of its buckets. Errors ([`Error::Input`]): they are not.
    pub fn sums(&self) -> Result<&dyn BucketSums> {
        let missing = || Error::Input(format!("job \"{}\" leaves no shares that add up", self.job.name()));
        self.distributed()?;
        self.job.capabilities().sums.ok_or_else(missing)
    }

    /// Returns the methods for counting repeatedly in its buckets. Errors ([`Error::Input`]): they are not.
    pub fn repeated_counts(&self) -> Result<&dyn RepeatedCounts> {
        let missing = || Error::Input(format!("job \"{}\" counts once", self.job.name()));
        self.distributed()?;
        self.job.capabilities().counts.ok_or_else(missing)
    }
}

/// A job that can align its rows by ids.
pub trait Aligned {
    /// The columns of the ids, if it does.
    fn row_id(&self) -> Option<&Names>;

    /// The intersection of ids by which it aligns rows before: how they are read, whether their rows are shown or not.
    fn alignment(&self, spec: &JobSpec) -> Option<JobSpec>;
}

/// A job that can be done on many machines of each party, bucket by bucket.
pub trait Distributed {
    /// The job that is done in each bucket; the error says why there is none.
    fn in_buckets(&self, spec: &JobSpec) -> Result<JobSpec>;

    /// Returns the facts in one part of `me`'s table on how the other parts are read.
    ///
    /// Errors: the part cannot be used.
    fn facts(&self, _spec: &JobSpec, _me: &str, _table: &Table) -> Result<Value> {
        Ok(Value::Null)
    }

    /// Joins the facts of all parts. Errors: they do not go together.
    fn join_facts(&self, _spec: &JobSpec, _me: &str, _facts: Vec<Value>) -> Result<Value> {
        Ok(Value::Null)
    }
}

/// A job whose buckets leave shares that add up.
pub trait BucketSums {
    /// Puts together the shares that buckets have left, as the text of their files, with the peer's driver. `opens`
    /// hears what stands for the shares before they are opened; if it fails, they are not.
    fn add_up(
        &self,
        spec: &JobSpec,
        me: &str,
        shares: &[Zeroizing<String>],
        channel: &mut Channel,
        opens: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<Answer>;
}

/// A job whose buckets are counted in again and again.
pub trait RepeatedCounts {
    /// The items of a bucket's rows, where rows go by their position.
    fn partition(&self, spec: &JobSpec, me: &str, source: &Source) -> Result<Answer>;

    /// Begins to count candidates, level by level.
    fn levels(&self, spec: &JobSpec, me: &str, gathered: Gathered, channel: &mut Channel) -> Result<Box<dyn Levels>>;
}

/// A job of which a party can prepare its part.
pub trait Prepared {
    /// Whether what was chosen can use such a part.
    fn serves(&self, chosen: &Chosen) -> bool;
}

/// A job of which a run that was cut off can be gone on with.
pub trait Resumable {
    /// Whether a directory holds a run that was cut off.
    fn holds_run(&self, directory: &Path) -> bool;

    /// A run that was cut off when so much was done that all that is left is to write the result.
    fn left(
        &self,
        spec: &JobSpec,
        me: &str,
        source: &Source,
        done: ResumePoint,
    ) -> Result<Option<(Box<dyn PartyInput>, RunResult)>>;
}

/// A job that its parties can run through a helper.
pub trait Helped {
    /// The protocol for it, for messages.
    fn protocol(&self) -> Protocol;

    /// Returns what the party at this place of the job file leaves at the helper, and what it collects there.
    fn expected(&self, spec: &JobSpec, place: usize) -> Result<Expected>;
}

/// Progress of a run that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumePoint {
    /// Both parties have everything that they need from each other.
    Ended,
    /// A party that learns, this one, has everything that it needs from the other.
    Complete,
}
