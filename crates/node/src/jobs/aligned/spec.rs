//! Settings in job files on rows that both parties have.

use std::sync::Arc;

use tacita_core::Result;

use super::{Blur, RowAlignment};
use crate::agreement::check::MAX_COLUMNS;
use crate::agreement::words::{bad, check_distinct};
use crate::agreement::{AlignWay, Duplicates, JobSpec, Limits, MatchKey, Names, Nulls, Profiles};
use crate::jobs::intersect::Intersect;
use crate::table::Profile;

/// The way in which a job aligns rows by `row_id`, if it does. Each id stands for one row.
pub fn alignment(job: &JobSpec, row_id: Option<&Names>) -> Option<RowAlignment> {
    let columns = row_id?.all().to_vec();
    let profiles = |of_key: Vec<Profile>| -> Profiles {
        let position = |name| job.key.as_ref().and_then(|key| key.columns.iter().position(|column| column == name));
        Profiles::List(columns.iter().map(|name| position(name).map_or(Profile::None, |at| of_key[at])).collect())
    };
    let agreed = job.key.as_ref().filter(|key| key.normalize.is_some()).map(|key| profiles(key.profiles()));
    let mut parties = job.parties.clone();
    for (name, party) in &mut parties.0 {
        party.normalize = party.normalize.is_some().then(|| profiles(job.profiles(name)));
        party.columns.retain(|logical, _| columns.contains(logical));
        party.items = None;
    }
    let ids = JobSpec {
        security: job.security,
        level: job.level,
        reveal_to: job.parties.names().into_iter().map(str::to_owned).collect(),
        key: Some(MatchKey {
            normalize: agreed,
            duplicates: Duplicates::Error,
            nulls: job.key.as_ref().map_or(Nulls::default(), |key| key.nulls),
            columns,
            ..MatchKey::default()
        }),
        limits: Limits { min_rows: None, min_cell: None, blur: None, ..job.limits.clone() },
        spread: job.spread.clone(),
        ..JobSpec::new(Arc::new(Intersect::default()), &job.id, parties)
    };
    // Job files whose dummies cannot be used are refused.
    let blur = job.limits.blur.and_then(|dummies| Blur::new(dummies).ok());
    Some(RowAlignment { ids, way: job.align_way(), blur })
}

/// Refuses rows that are hidden on many machines: the union of each bucket would show how many of its rows are common.
pub(crate) fn refuse_hidden_in_buckets(alignment: Option<&RowAlignment>) -> Result<()> {
    match alignment {
        Some(RowAlignment { way: AlignWay::Hidden, .. }) => bad(
            "this job runs on one machine of each party: over many, alignment = \"hidden\" would show how many rows of each bucket are \
             common. Agree on alignment = \"rows\", which shows both parties which rows are common, or run it on one machine",
        ),
        _ => Ok(()),
    }
}

/// Checks the columns by which rows are aligned.
pub(crate) fn check_alignment(job: &JobSpec, row_id: Option<&Names>) -> Result<()> {
    if job.key.as_ref().is_some_and(|key| !key.any.is_empty()) {
        return bad(
            "key.any: with several keys, one row could be aligned with two: agree on one key, or find the common rows first (job \
             = \"intersect\")",
        );
    }
    if let Some(dummies) = job.limits.blur {
        Blur::new(dummies)?;
        if row_id.is_none() || job.align_way() == AlignWay::Rows {
            return bad(
                "limits.blur: it blurs the number of common rows that alignment = \"hidden\" tells: align rows by row_id in that way, or \
                 leave it out",
            );
        }
    }
    match (row_id, &job.key) {
        (Some(names), _) if names.all().is_empty() || names.all().len() > MAX_COLUMNS => {
            return bad(format!("row_id: name 1 to {MAX_COLUMNS} columns"));
        }
        (Some(names), Some(key)) if key.columns.iter().any(|column| !names.all().contains(column)) => {
            return bad(format!(
                "key.columns: it may name columns of row_id only, which are {}: leave the others out",
                names.all().join(", ")
            ));
        }
        (Some(names), _) => check_distinct("row_id", names.all())?,
        (None, Some(_)) => {
            return bad(
                "[key] needs row_id in this job: name the columns that align rows, as row_id = [\"name\"], or leave out \
                        [key] to align them by position",
            );
        }
        (None, None) if job.alignment.is_some() => {
            return bad(
                "alignment: it says how rows are aligned by row_id, and the job has none: name the columns, as row_id = [\"name\"], or \
                 leave it out",
            );
        }
        (None, None) if job.limits.pad_to.is_some() => {
            return bad(
                "limits.pad_to: rows aligned by position are equally many at both parties, so there is nothing to hide: leave it out",
            );
        }
        (None, None) => (),
    }
    if let Some(key) = &job.key {
        if matches!(key.duplicates, Duplicates::First | Duplicates::Multiset) {
            return bad(format!(
                "key.duplicates = \"{}\" is not available for this job: give each row a distinct id",
                key.duplicates.name()
            ));
        }
        job.check_key()?;
    }
    match alignment(job, row_id) {
        Some(alignment) => alignment.ids.check(),
        None => Ok(()),
    }
}
