//! Intersections that are spread over many machines: of which it can be done, and why not of others.

use tacita_core::{Error, Result, Security};

use super::live;
use super::methods::{self, IntersectPairMethod, ecdh};
use crate::agreement::{JobSpec, Reveal, Topology};

/// The same job, if it can be done bucket by bucket.
pub fn in_buckets(job: &JobSpec) -> Result<JobSpec> {
    let bad = |text: &str| Err(Error::Input(format!("this job runs on one machine of each party: {text}")));
    live::refuse_run(job)?;
    if job.security != Security::SemiHonest {
        return bad(
            "a cheating party could fill the spare room of buckets with further keys; use security = \"semi-honest\"",
        );
    }
    if !methods::of(job).is_spread() {
        return bad("it goes through a helper, or by a published protocol for comparisons");
    }
    if !matches!(job.reveal, Reveal::Rows | Reveal::Payload | Reveal::Count) {
        return bad(&format!("reveal = \"{}\" would be told of each bucket, and nearly of each row", job.reveal));
    }
    if job.is_of_multisets() || job.key.as_ref().is_some_and(|key| !key.any.is_empty()) {
        return bad("duplicates = \"multiset\" and key.any are not available on many machines");
    }
    if job.reveal != Reveal::Count {
        return Ok(job.clone());
    }
    if job.topology() == Topology::Mesh {
        return bad("a count among more than two");
    }
    if !job.protocol.is_auto() && job.protocol != ecdh::PROTOCOL {
        return bad(&format!(
            "protocol = \"{}\" would reveal the count of each bucket: leave it out, or use \"{}\", which counts all of them together",
            job.protocol.name(),
            ecdh::PROTOCOL.name()
        ));
    }
    let one = JobSpec { protocol: ecdh::PROTOCOL, ..job.clone() };
    ecdh::Ecdh.check(&one)?;
    Ok(one)
}
