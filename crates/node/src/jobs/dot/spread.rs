//! Scalar products that are spread over many machines: each bucket leaves shares of its products, which add up to shares of all.

use tacita_core::channel::Channel;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::found::{Outcome, open};
use super::methods::ot;
use super::spec::Spec;
use crate::agreement::{Answer, JobSpec, Reveal};
use crate::jobs::numbers::ShareFile;

/// The job of one bucket, which tells nobody anything.
pub fn in_buckets(job: &Spec<'_>) -> Result<JobSpec> {
    let bad = |text: &str| Err(Error::Input(format!("this job runs on one machine of each party: {text}")));
    if job.clients().is_some() {
        return bad("several have the rows of one side (role, slice)");
    }
    if !job.protocol.is_auto() && job.protocol != ot::PROTOCOL {
        return bad(&format!(
            "protocol = \"{}\" hides numbers only nearly, which would add up over buckets: leave it out, or use \"{}\"",
            job.protocol.name(),
            ot::PROTOCOL.name()
        ));
    }
    let mut one = JobSpec { reveal: Reveal::Shares, protocol: ot::PROTOCOL, ..job.spec.clone() };
    // What is small is known when all is added up.
    one.limits.min_result = None;
    Ok(one)
}

/// Adds up the shares of all buckets, and opens the sum as far as the job says.
///
/// Errors ([`Error::Input`]): they are not shares of one run of this job; the modulus may not hold the sum.
pub fn add_up(job: &Spec<'_>, me: &str, shares: &[Zeroizing<String>], channel: &mut Channel) -> Result<Answer> {
    let parts = shares.iter().map(|text| ShareFile::parse(text)).collect::<Result<Vec<_>>>()?;
    let sum = ShareFile::sum(job, me, &parts)?;
    if job.reveal == Reveal::Shares {
        return Ok(Answer::Share { numbers: sum.count(), file: sum.text()? });
    }
    let shares = sum.shares()?;
    if !sum.fits(&shares.modulus()) {
        return Err(Error::Input(format!(
            "modulus = {} does not hold every product of so many rows, and the value would be wrong without a word: leave `modulus` out",
            shares.modulus()
        )));
    }
    let outcome: Outcome = open(job, me, &shares, channel)?;
    outcome.answer(job)()
}
