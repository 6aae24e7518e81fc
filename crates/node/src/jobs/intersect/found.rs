//! Results of a party, and the answer that they make.

use std::sync::Arc;

use serde_json::json;
use tacita_core::protocol::intersect::ecdh;
use tacita_core::protocol::intersect::tag_exchange::{Matches, Payload};
use tacita_core::{Error, Result};

use crate::agreement::{Answer, Deferred, JobSpec, Sizes};
use crate::jobs::intersect::shown::Shown;
use crate::jobs::intersect::sizes::peer_schema;
use crate::jobs::intersect::sums;
use crate::jobs::intersect::{IntersectInput, Loaded};
use crate::table::payload::PayloadSchema;
use crate::table::{Selection, select};

/// Result of a party's intersection with the other.
pub enum IntersectResult {
    /// No result: the party is not meant to learn anything.
    Nothing,
    /// Indices of its keys that are common.
    Rows(Vec<usize>),
    /// The same, on disk.
    OnDisk,
    /// The same, with the other party's rows, where it gave columns.
    Payload(Vec<usize>, Option<(PayloadSchema, Payload)>),
    /// Number of common keys.
    Count(u64),
    /// Number of common keys, and the sums of columns over their rows.
    Sum(ecdh::sum::Total),
}

pub(crate) fn found_payload(job: &JobSpec, me: &str, common: Matches, peer_sizes: &Sizes) -> Result<IntersectResult> {
    let given = match common.payload {
        Some(rows) if !peer_sizes.schema.is_empty() => Some((peer_schema(job, job.peer_of(me), peer_sizes)?, rows)),
        _ => None,
    };
    Ok(IntersectResult::Payload(common.items, given))
}

impl IntersectResult {
    /// Whether this party learns that no key is common. Where small numbers are held back, so is this.
    pub(super) fn is_nothing_in_common(&self, job: &JobSpec) -> bool {
        match self {
            IntersectResult::Rows(common) | IntersectResult::Payload(common, _) => common.is_empty(),
            IntersectResult::Count(count) => *count == 0 && job.limits.min_result.is_none(),
            IntersectResult::Sum(total) => total.count == 0 && job.limits.min_result.is_none(),
            IntersectResult::Nothing | IntersectResult::OnDisk => false,
        }
    }

    /// The table rows of the common keys of a table in memory, key by key: in the same order at both parties.
    pub fn rows_of(&self, loaded: &Loaded) -> Result<Vec<u32>> {
        match self {
            IntersectResult::Rows(common) => Ok(loaded.keys.rows_of(common)),
            _ => Err(Error::Internal("an alignment found no rows".into())),
        }
    }

    /// The answer, of a party that brought this.
    pub(super) fn answer(self, job: &JobSpec, me: &str, brought: &IntersectInput) -> Deferred<Answer> {
        let min_result = job.limits.min_result;
        match (self, brought) {
            (IntersectResult::Nothing, _) => Box::new(|| Ok(Answer::Nothing)),
            (IntersectResult::Count(count), _) => Box::new(move || Ok(count_of(count, min_result))),
            (IntersectResult::Sum(total), _) => {
                let (job, peer) = (job.clone(), job.peer_of(me).to_owned());
                Box::new(move || sums::answer(&job, &peer, &total))
            }
            (IntersectResult::Rows(common), IntersectInput::Table(loaded)) => {
                let (loaded, shown) = (loaded.clone(), Shown::of(job, me));
                Box::new(move || shown.answer(&loaded, &common))
            }
            (IntersectResult::Payload(common, given), IntersectInput::Table(loaded)) => {
                let (loaded, peer) = (loaded.clone(), job.peer_of(me).to_owned());
                Box::new(move || {
                    let given = given.map(|(schema, rows)| given_table(&schema, &rows, &peer)).transpose()?;
                    let joined: Vec<_> = given.into_iter().collect();
                    Ok(Answer::rows(Selection::join(&loaded.table, &loaded.keys, &common, &joined)?))
                })
            }
            (IntersectResult::OnDisk, IntersectInput::Disk(disk)) => {
                let disk = disk.clone();
                Box::new(move || Ok(Answer::Rows(Box::new(disk.common()?))))
            }
            (_, IntersectInput::Table(_)) => {
                Box::new(|| Err(Error::Internal("a table in memory has found rows on disk".into())))
            }
            (_, IntersectInput::Disk(_)) => {
                Box::new(|| Err(Error::Internal("a table on disk has found something else".into())))
            }
            (_, IntersectInput::Prepared(_)) => {
                Box::new(|| Err(Error::Internal("a prepared sender learns nothing".into())))
            }
        }
    }
}

/// The answer with the own rows of these common keys, and what each of several parties gives for them.
pub(super) fn joined(
    loaded: Arc<Loaded>,
    shown: Shown,
    common: Vec<usize>,
    given: Vec<(String, PayloadSchema, Payload)>,
) -> Deferred<Answer> {
    Box::new(move || {
        if given.is_empty() {
            return shown.answer(&loaded, &common);
        }
        let joined = given.iter().map(|(giver, schema, rows)| given_table(schema, rows, giver));
        let joined = joined.collect::<Result<Vec<_>>>()?;
        Ok(Answer::rows(Selection::join(&loaded.table, &loaded.keys, &common, &joined)?))
    })
}

/// The peer's rows for the common keys, as columns.
fn given_table(schema: &PayloadSchema, rows: &Payload, peer: &str) -> Result<select::PeerRows> {
    let mut bytes = Vec::new();
    let mut offsets = vec![0];
    for item in 0..rows.items() {
        bytes.extend_from_slice(rows.item(item));
        offsets.push(offsets[item] + rows.rows_of(item));
    }
    Ok(select::PeerRows { rows: schema.decode_rows(&bytes, peer)?, offsets })
}

pub(super) fn count_of(count: u64, min_result: Option<u64>) -> Answer {
    match min_result.filter(|limit| count < *limit) {
        Some(limit) => Answer::below("count", limit),
        None => {
            Answer::numbers(json!({ "count": count }), format!("count {count}"), vec![("count", count.to_string())])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A party that is not told small numbers is not told that there is none.
    #[test]
    fn no_hint_tells_what_a_limit_holds_back() {
        let job = |limits: &str| {
            let text =
                "job = \"intersect\"\nid = \"t\"\nreveal = \"count\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n";
            JobSpec::parse(&format!("{text}{limits}\n[parties.a]\n[parties.b]\n"), false).unwrap()
        };
        let (open, held) = (job(""), job("[limits]\nmin_result = 3"));
        for none in [IntersectResult::Count(0), IntersectResult::Sum(ecdh::sum::Total { count: 0, sums: vec![0] })] {
            assert_eq!((none.is_nothing_in_common(&open), none.is_nothing_in_common(&held)), (true, false));
        }
        assert!(
            !IntersectResult::Count(1).is_nothing_in_common(&open)
                && !IntersectResult::Nothing.is_nothing_in_common(&open)
        );
        assert!(IntersectResult::Rows(Vec::new()).is_nothing_in_common(&held));
    }
}
