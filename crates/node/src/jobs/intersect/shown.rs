//! The rows of its table that a learner's own output shows, and what stands beside them.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use tacita_core::{Error, Result};

use super::Loaded;
use crate::agreement::words::bad;
use crate::agreement::{Answer, JobSpec, OwnRows, Reveal, Show};
use crate::table::Duplicates;
use crate::table::key::parts;
use crate::table::output::RowSource;
use crate::table::{Selection, Table};

/// Refuses to show what a job does not have.
pub(super) fn check(job: &JobSpec) -> Result<()> {
    for (name, party) in &job.parties.0 {
        let bad = |why: &str| bad(format!("parties.{name}.show: {why}"));
        let key = job.key.as_ref();
        match &party.show {
            show if *show == Show::default() => (),
            show if !show.is_of_rows() => {
                return bad("job = \"intersect\" has `rows` and `key` in it, and nothing else");
            }
            _ if job.reveal != Reveal::Rows => return bad("it is available with reveal = \"rows\" only: leave it out"),
            _ if key.is_some_and(|key| !key.any.is_empty()) => {
                return bad("it is not available with key.any: leave it out");
            }
            _ if !job.learns(name) => return bad("this party learns nothing: leave it out"),
            show if show.rows != OwnRows::Common && key.is_some_and(|key| key.duplicates == Duplicates::First) => {
                return bad(
                    "with duplicates = \"first\" further rows of a common key are no part of the job, and would be shown as not common: \
                     use \"all\"",
                );
            }
            _ if job.spread.is_some() => return bad("it is not available on many machines: leave it out"),
            _ => (),
        }
    }
    Ok(())
}

/// Options for what a learner's output shows.
pub(super) struct Shown {
    show: Show,
    /// The logical names of the key's columns.
    names: Vec<String>,
}

impl Shown {
    /// Returns the options that the job sets for party `me`.
    pub fn of(job: &JobSpec, me: &str) -> Shown {
        let show = job.parties.get(me).map(|party| party.show.clone()).unwrap_or_default();
        Shown { show, names: job.key.as_ref().map(|key| key.columns.clone()).unwrap_or_default() }
    }

    /// The answer of rows, of which those of the keys `common` are common.
    pub fn answer(&self, loaded: &Loaded, common: &[usize]) -> Result<Answer> {
        let table = if self.show.key { self.with_key(loaded)? } else { loaded.table.clone() };
        let rows = loaded.keys.rows_of(common);
        if self.show.rows == OwnRows::Common {
            return Ok(Answer::rows(Selection::of_rows(&table, rows)?));
        }
        let mut is_common = vec![false; table.rows()];
        rows.iter().for_each(|&row| is_common[row as usize] = true);
        let selection = if self.show.rows == OwnRows::All {
            let flags: ArrayRef = Arc::new(BooleanArray::from(is_common));
            Selection::all(&table.with_column("common", flags)?)
        } else {
            let others = (0..table.rows() as u32).filter(|&row| !is_common[row as usize]);
            Selection::of_rows(&table, others.collect())?
        };
        Ok(Answer::Rows(Box::new(WithOthers { selection, common: rows.len() })))
    }

    /// The table with the canonical form of each key column; rows without a key have none.
    fn with_key(&self, loaded: &Loaded) -> Result<Table> {
        let keys = &loaded.keys;
        let mut of_rows = vec![None; loaded.table.rows()];
        (0..keys.len()).for_each(|key| keys.rows(key).iter().for_each(|&row| of_rows[row as usize] = Some(key)));
        self.names.iter().enumerate().try_fold(loaded.table.clone(), |table, (place, name)| {
            let text = |key: &Option<usize>| {
                let part = parts(keys.key((*key)?)).nth(place)?;
                Some(String::from_utf8_lossy(part).into_owned())
            };
            let texts: StringArray = of_rows.iter().map(text).collect();
            table.with_column(&format!("key.{name}"), Arc::new(texts))
        })
    }
}

/// Rows of which some are not common. What is counted are the others.
struct WithOthers {
    selection: Selection,
    common: usize,
}

impl RowSource for WithOthers {
    fn schema(&self) -> &SchemaRef {
        self.selection.schema()
    }

    fn batches(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + '_> {
        Box::new(self.selection.batches())
    }

    fn count(&self) -> Result<usize> {
        Ok(self.common)
    }
}

impl Table {
    /// The same with one column more, called `name`, or `name_` if there is a column of this name.
    fn with_column(&self, name: &str, values: ArrayRef) -> Result<Table> {
        let failed = |error| Error::Internal(format!("a column cannot be added: {error}"));
        let mut name = name.to_owned();
        while self.schema().column_with_name(&name).is_some() {
            name.push('_');
        }
        let field = arrow_schema::Field::new(name, values.data_type().clone(), true);
        let fields = self.schema().fields().iter().cloned().chain([Arc::new(field)]).collect::<Vec<_>>();
        let schema: SchemaRef =
            Arc::new(arrow_schema::Schema::new_with_metadata(fields, self.schema().metadata().clone()));
        let mut from = 0;
        let batch = |batch: &RecordBatch| {
            let part = values.slice(from, batch.num_rows());
            from += batch.num_rows();
            let columns = batch.columns().iter().cloned().chain([part]).collect();
            RecordBatch::try_new(schema.clone(), columns).map_err(failed)
        };
        let batches = self.batches().iter().map(batch).collect::<Result<_>>()?;
        Table::new(self.source(), schema, batches)
    }
}
