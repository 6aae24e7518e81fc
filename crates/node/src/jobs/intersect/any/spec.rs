//! What several keys cannot be combined with.

use tacita_core::Result;

use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Reveal};

/// Checks a job that may have several keys.
pub fn check(job: &JobSpec) -> Result<()> {
    if job.key.as_ref().is_none_or(|key| key.any.is_empty()) {
        return Ok(());
    }
    match &job.reveal {
        Reveal::Count => {
            return bad(
                "reveal = \"count\" is not there with key.any: the counts by each key do not tell how many rows have any of them in \
                 common, because a row may have two: use reveal = \"rows\", or one key",
            );
        }
        Reveal::Sum(_) => {
            return bad(format!(
                "reveal = \"{}\" is not there with key.any: a row that has two keys in common would be added twice: use \
                 reveal = \"payload\", or one key",
                job.reveal.kind()
            ));
        }
        _ => (),
    }
    if job.clients.is_none() && (job.limits.max_queries.is_some() || job.limits.max_clients.is_some()) {
        return bad(
            "limits.max_queries and max_clients are for a part that was prepared, which there is none of by several keys \
             (key.any): leave them out, or agree on one key",
        );
    }
    Ok(())
}
