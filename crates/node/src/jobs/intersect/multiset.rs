//! What tables as multisets of keys cannot be combined with.

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
            "duplicates = \"multiset\" is not there with key.any: a row would be counted among those of each of its keys: use \
             duplicates = \"all\", or one key",
        );
    }
    match &job.reveal {
        Reveal::Payload => {
            return bad(
                "duplicates = \"multiset\" is not there with reveal = \"payload\": which of several rows of a key would give its \
                 columns? Use duplicates = \"all\" or \"first\", or reveal = \"rows\"",
            );
        }
        Reveal::Sum(_) => {
            return bad(format!(
                "duplicates = \"multiset\" is not there with reveal = \"{}\": which of several rows of a key would be \
                 added? Use duplicates = \"all\" or \"first\", or reveal = \"count\"",
                job.reveal.kind()
            ));
        }
        _ => (),
    }
    if job.limits.max_queries.is_some() || job.limits.max_clients.is_some() {
        return bad(
            "limits.max_queries and max_clients are for a part that was prepared, which there is none of with duplicates = \
             \"multiset\": leave them out, or use duplicates = \"all\"",
        );
    }
    Ok(())
}

/// Refuses to prepare a part.
pub fn check_prepared(job: &JobSpec) -> Result<()> {
    match job.is_of_multisets() {
        true => bad(
            "--work: a part is prepared for distinct keys, and with duplicates = \"multiset\" each row is a key of its own: run it \
             without, or agree on duplicates = \"all\"",
        ),
        false => Ok(()),
    }
}
