//! Result of a scalar product for a party.

use serde::Serialize;
use tacita_core::Result;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::{Shares, reveal};

use crate::agreement::{Answer, Deferred};
use crate::jobs::dot::noise;
use crate::jobs::dot::spec::DotJob;
use crate::jobs::numbers::{self, ShareFile, Value};

/// Result of a scalar product for a party.
pub struct DotResult {
    /// Rows that both parties have.
    pub(super) common: usize,
    pub(super) outcome: Outcome,
    pub(super) encryptions: Option<EncryptionCounts>,
}

pub(crate) enum Outcome {
    /// No value: the other party learns it.
    Nothing,
    /// The value, or a matrix of them.
    Values(Vec<i128>),
    /// Shares of the product values.
    Shares(Box<ShareFile>),
}

pub(crate) fn open(job: &DotJob<'_>, me: &str, shares: &Shares, channel: &mut Channel) -> Result<Outcome> {
    let (modulus, signed) = (shares.modulus(), job.integers()?.signed() || job.noise.is_some());
    let numbers = reveal(shares, job.learns(me), job.learns(job.peer_of(me)), channel)?;
    Ok(match numbers {
        None => Outcome::Nothing,
        Some(numbers) => Outcome::Values(numbers.into_iter().map(|residue| modulus.integer(residue, signed)).collect()),
    })
}

impl Outcome {
    /// The answer to the job.
    pub(super) fn answer(self, job: &DotJob<'_>) -> Deferred<Answer> {
        match self {
            Outcome::Nothing => Box::new(|| Ok(Answer::Nothing)),
            Outcome::Shares(file) => Box::new(move || Ok(Answer::Share { numbers: file.count(), file: file.text()? })),
            Outcome::Values(values) => {
                let (value, min_result) = (Value::of_job(job, values), job.limits.min_result);
                let within = noise::within(job);
                Box::new(move || {
                    Ok(match min_result.filter(|limit| value.is_below(*limit)) {
                        Some(limit) => Answer::below("value", limit),
                        None => numbers::answer(vec![value], within?),
                    })
                })
            }
        }
    }
}

/// Number of encryptions from each source, for the report.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct EncryptionCounts {
    /// Encryptions taken from the pool.
    pub pool: u64,
    /// Made when they were needed.
    pub live: u64,
}
