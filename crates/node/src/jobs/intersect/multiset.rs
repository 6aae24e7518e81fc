//! Settings that cannot be combined with tables as multisets of keys.

use tacita_core::Result;

use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Reveal};

/// Checks a job whose tables may be multisets.
pub fn check(job: &JobSpec) -> Result<()> {
    if !job.is_of_multisets() {
        return Ok(());
    }
    if job.key.as_ref().is_some_and(|key| !key.any.is_empty()) {
        return bad(
            "duplicates = \"multiset\" is not available with key.any, because a row would be counted once for each of its keys: \
             use duplicates = \"all\", or one key",
        );
    }
    match &job.reveal {
        Reveal::Payload => {
            return bad(
                "duplicates = \"multiset\" is not available with reveal = \"payload\", because rows of one key may have \
                 different columns. Use duplicates = \"all\" or \"first\", or reveal = \"rows\"",
            );
        }
        Reveal::Sum(_) => {
            return bad(format!(
                "duplicates = \"multiset\" is not available with reveal = \"{}\", because rows of one key may have different \
                 numbers. Use duplicates = \"all\" or \"first\", or reveal = \"count\"",
                job.reveal.kind()
            ));
        }
        _ => (),
    }
    if job.limits.max_queries.is_some() || job.limits.max_clients.is_some() {
        return bad(
            "limits.max_queries and max_clients need a prepared part, which is not available with duplicates = \"multiset\": \
             leave them out, or use duplicates = \"all\"",
        );
    }
    Ok(())
}

/// Refuses to prepare a part.
pub fn check_prepared(job: &JobSpec) -> Result<()> {
    if job.is_of_multisets() {
        bad(
            "--work: a prepared part is not available with duplicates = \"multiset\": leave --work out, or agree on duplicates = \
             \"all\"",
        )
    } else {
        Ok(())
    }
}
