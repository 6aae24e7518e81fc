//! Settings that several keys cannot be combined with.

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
                "reveal = \"count\" is not available with key.any, because a row that matches by two keys would be counted \
                 twice: use reveal = \"rows\", or one key",
            );
        }
        Reveal::Sum(_) => {
            return bad(format!(
                "reveal = \"{}\" is not available with key.any, because a row that matches by two keys would be added twice: use \
                 reveal = \"payload\", or one key",
                job.reveal.kind()
            ));
        }
        _ => (),
    }
    if job.clients.is_none() && (job.limits.max_queries.is_some() || job.limits.max_clients.is_some()) {
        return bad(
            "limits.max_queries and max_clients need a prepared part, which is not available with key.any: leave them out, or \
             agree on one key",
        );
    }
    Ok(())
}
