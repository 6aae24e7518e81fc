//! Columns of a party's own table that a job uses, by what it does with them.

use std::collections::BTreeSet;

use crate::agreement::{JobSpec, Reveal};

/// Columns of one party, by the headers of its own table.
pub struct UsedColumns {
    /// Columns by which rows are matched or aligned.
    pub keys: BTreeSet<String>,
    /// Columns that others may see, or whose sums they learn.
    pub gives: BTreeSet<String>,
    /// Columns that are multiplied, mined or counted.
    pub computes: BTreeSet<String>,
    /// Whether the job computes on columns that it does not name, such as all of the table.
    pub unnamed: bool,
}

impl UsedColumns {
    /// Returns the columns that a job uses of the table of `me`.
    pub fn of(job: &JobSpec, me: &str) -> UsedColumns {
        let alignment = job.job.alignment(job);
        let keys = [job.key.as_ref(), alignment.as_ref().and_then(|alignment| alignment.key.as_ref())];
        let keys: BTreeSet<_> = keys.into_iter().flatten().flat_map(|key| &key.columns).collect();
        // The columns of a job begin with its ids. One that is there again is computed on, too.
        let mut ids = alignment
            .as_ref()
            .and_then(|alignment| alignment.key.as_ref())
            .map_or(Vec::new(), |key| key.columns.clone());
        let mut is_id = |column: &String| {
            let place = ids.iter().position(|id| id == column);
            place.map(|place| ids.swap_remove(place)).is_some()
        };
        let computes = job.job.columns(job, me).into_iter().filter(|column| !is_id(column));
        let headers =
            |columns: BTreeSet<&String>| columns.into_iter().map(|name| job.header(me, name).to_owned()).collect();
        let computes: BTreeSet<_> = computes.map(|name| job.header(me, &name).to_owned()).collect();
        let mut gives: BTreeSet<String> = headers(job.given_by(me).iter().collect());
        let keys = headers(keys);
        match job.job.name() {
            // Others learn names of categories and sums of the measure, and names of frequent items.
            "crosstab" | "rules" => gives.extend(computes.iter().cloned()),
            // Others see keys as they are written.
            "union" if job.reveal == Reveal::Rows && job.others(me).iter().any(|name| job.learns(name)) => {
                gives.extend(keys.iter().cloned());
            }
            "aggregate" => gives.extend(keys.iter().chain(&computes).cloned()),
            _ => {}
        }
        UsedColumns { unnamed: job.job.name() == "rules" && computes.is_empty(), computes, gives, keys }
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> BTreeSet<String> {
        self.keys.iter().chain(&self.gives).chain(&self.computes).cloned().collect()
    }
}
