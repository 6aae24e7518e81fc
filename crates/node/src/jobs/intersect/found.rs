//! What a party has found, and how it is written.

use std::path::Path;

use serde_json::json;
use tacita_core::protocol::intersect::ecdh;
use tacita_core::protocol::intersect::entries::{Common, Payload};
use tacita_core::{Error, Result};

use crate::agreement::{JobSpec, Sizes};
use crate::jobs::answer::Told;
use crate::jobs::intersect::Brought;
use crate::jobs::intersect::sizes::peer_schema;
use crate::table::numbers::{decimal, to_json};
use crate::table::payload::PayloadSchema;
use crate::table::{Selection, output, select};

/// What a party has found in common with the other.
pub enum Found {
    /// It is not meant to learn anything.
    Nothing,
    /// Indices of its keys that are common.
    Rows(Vec<usize>),
    /// The same, on disk.
    OnDisk,
    /// The same, with the other party's rows, where it gave columns.
    Payload(Vec<usize>, Option<(PayloadSchema, Payload)>),
    /// How many keys are common.
    Count(u64),
    /// How many keys are common, and the sum of a column over their rows.
    Sum(ecdh::sum::Total),
}

pub(crate) fn found_payload(job: &JobSpec, me: &str, common: Common, peer_sizes: &Sizes) -> Result<Found> {
    let given = match common.payload {
        Some(rows) if !peer_sizes.schema.is_empty() => Some((peer_schema(job, job.peer_of(me), peer_sizes)?, rows)),
        _ => None,
    };
    Ok(Found::Payload(common.items, given))
}

impl Found {
    /// The table rows of the common keys, key by key: in the same order at both parties.
    pub fn rows_of(&self, brought: &Brought) -> Result<Vec<u32>> {
        match (self, brought) {
            (Found::Rows(common), Brought::Table(loaded)) => Ok(loaded.keys.rows_of(common)),
            _ => Err(Error::Internal("an alignment found no rows".into())),
        }
    }

    /// Writes the result where the user wants it, and says what it is.
    pub fn write(&self, job: &JobSpec, me: &str, brought: &Brought, path: Option<&Path>) -> Result<Told> {
        let loaded = match (self, brought) {
            (Found::Nothing, _) => return Ok(Told::nothing()),
            (_, Brought::Table(loaded)) => loaded,
            (Found::OnDisk, Brought::Disk(disk)) => return disk.write(path),
            (_, Brought::Disk(_)) => return Err(Error::Internal("a table on disk has found something else".into())),
            (_, Brought::Prepared(_)) => return Err(Error::Internal("a prepared sender learns nothing".into())),
        };
        match self {
            Found::Nothing | Found::OnDisk => Ok(Told::nothing()),
            Found::Count(count) => write_count(*count, job.limits.min_result, path),
            Found::Sum(total) => write_sum(*total, job.summed_decimals(), job.limits.min_result, path),
            Found::Rows(common) => write_rows(&Selection::of_rows(&loaded.table, loaded.keys.rows_of(common))?, path),
            Found::Payload(common, given) => {
                let joined = match given {
                    Some((schema, rows)) => vec![given_table(schema, rows, job.peer_of(me))?],
                    None => Vec::new(),
                };
                write_rows(&Selection::join(&loaded.table, &loaded.keys, common, &joined)?, path)
            }
        }
    }
}

/// The peer's rows for the common keys, as columns.
fn given_table(schema: &PayloadSchema, rows: &Payload, peer: &str) -> Result<select::Given> {
    let mut bytes = Vec::new();
    let mut offsets = vec![0];
    for item in 0..rows.items() {
        bytes.extend_from_slice(rows.item(item));
        offsets.push(offsets[item] + rows.rows_of(item));
    }
    Ok(select::Given { rows: schema.decode_rows(&bytes, peer)?, offsets })
}

fn write_rows(rows: &Selection, path: Option<&Path>) -> Result<Told> {
    if let Some(path) = path {
        output::write(rows, path, None)?;
    }
    Ok(told_rows(rows.rows()))
}

/// So many rows are common.
pub fn told_rows(rows: usize) -> Told {
    Told { json: json!({ "rows": rows }), line: Some(format!("rows {rows}")), written: Ok(()) }
}

fn write_count(count: u64, min_result: Option<u64>, path: Option<&Path>) -> Result<Told> {
    if let Some(limit) = min_result.filter(|limit| count < *limit) {
        return Told::below("count", limit, path);
    }
    Ok(Told {
        json: json!({ "count": count }),
        line: Some(format!("count {count}")),
        written: Told::write_numbers(&[("count", count.to_string())], path),
    })
}

/// Count and sum, or neither: who knows one of them knows something of the other.
fn write_sum(total: ecdh::sum::Total, decimals: u32, min_result: Option<u64>, path: Option<&Path>) -> Result<Told> {
    let below = |limit: u64| (total.count as u64) < limit || total.sum < i128::from(limit) * 10i128.pow(decimals);
    if let Some(limit) = min_result.filter(|limit| below(*limit)) {
        return Told::below("count or sum", limit, path);
    }
    let (count, sum) = (total.count.to_string(), decimal(total.sum, decimals));
    Ok(Told {
        json: json!({ "count": total.count, "sum": to_json(&sum) }),
        line: Some(format!("count {count}, sum {sum}")),
        written: Told::write_numbers(&[("count", count), ("sum", sum)], path),
    })
}
