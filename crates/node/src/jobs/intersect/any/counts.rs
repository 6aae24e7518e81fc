//! Counts of rows from which several keys are read: a row counts as one without a key if it has none of them.

use std::path::Path;

use arrow_array::RecordBatch;
use tacita_core::{Error, Result};

use crate::agreement::{JobSpec, Nulls};
use crate::table::key::build::{find_columns, read_pieces};
use crate::table::{KeySpec, Lines, Origin, ReadOptions, RowCounts, Table, read};

/// The counts of a table.
pub fn of_table(job: &JobSpec, me: &str, table: &Table) -> Result<RowCounts> {
    let mut counts = Counts::new(job, me, table.source(), table.schema())?;
    let mut row = 0;
    for batch in table.batches() {
        counts.add(batch, row, table.origin())?;
        row += batch.num_rows();
    }
    Ok(counts.rows)
}

/// The counts of a table that is read once more for them, batch by batch.
pub fn of_file(job: &JobSpec, me: &str, path: &Path, options: &ReadOptions) -> Result<RowCounts> {
    const BATCH_BYTES: usize = 1 << 20;
    let mut stream = read::open(path, options, BATCH_BYTES)?;
    let source = stream.source().to_owned();
    let mut counts = Counts::new(job, me, &source, stream.schema())?;
    let mut row = 0;
    while let Some(batch) = stream.next_batch()? {
        let lines: Option<Lines> = stream.lines().map(|lines| {
            lines.forget_before(row);
            lines.clone()
        });
        counts.add(&batch, row, Origin { source: &source, lines: lines.as_ref(), first: None })?;
        row += batch.num_rows();
    }
    Ok(counts.rows)
}

/// Counts up to a row.
struct Counts {
    /// Each key, with where its columns are.
    keys: Vec<(KeySpec, Vec<usize>)>,
    nulls: Nulls,
    rows: RowCounts,
}

impl Counts {
    fn new(job: &JobSpec, me: &str, source: &str, schema: &arrow_schema::Schema) -> Result<Counts> {
        let key = |job: &JobSpec| -> Result<(KeySpec, Vec<usize>)> {
            let spec = job.key_spec(me, true)?;
            let columns = find_columns(source, schema, &spec)?;
            Ok((spec, columns))
        };
        Ok(Counts {
            keys: job.alternatives().iter().map(key).collect::<Result<_>>()?,
            nulls: job.key.as_ref().map_or_else(Nulls::default, |key| key.nulls),
            rows: RowCounts::default(),
        })
    }

    fn add(&mut self, batch: &RecordBatch, first: usize, origin: Origin<'_>) -> Result<()> {
        let pieces = |(spec, columns): &(KeySpec, Vec<usize>)| read_pieces(batch, first, spec, columns, origin);
        let of_keys: Vec<_> = self.keys.iter().map(pieces).collect();
        for (place, piece) in of_keys[0].iter().enumerate() {
            self.rows.read += piece.rows();
            let mut lacking = piece.lacking().to_vec();
            for other in &of_keys[1..] {
                lacking = both(&lacking, other[place].lacking());
            }
            for (row, unreadable) in lacking.iter().copied() {
                if unreadable {
                    self.rows.unreadable += 1
                } else if self.nulls == Nulls::Error {
                    return Err(Error::Input(format!(
                        "{}, {}: no value for any of the keys; fill one in, remove the row, or agree on nulls = \"skip\"",
                        origin.source,
                        origin.place(origin.number(row as usize)),
                    )));
                } else {
                    self.rows.nulls += 1
                }
            }
            self.rows.items += piece.rows() - lacking.len();
        }
        Ok(())
    }
}

/// The rows of both lists, which are ascending, and whether one of them has something unreadable there.
fn both(a: &[(u32, bool)], b: &[(u32, bool)]) -> Vec<(u32, bool)> {
    let mut rest = b.iter().copied().peekable();
    let find = |&(row, unreadable): &(u32, bool)| {
        while rest.next_if(|(other, _)| *other < row).is_some() {}
        rest.next_if(|(other, _)| *other == row).map(|(_, other)| (row, unreadable || other))
    };
    a.iter().filter_map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::both;

    #[test]
    fn a_row_lacks_a_key_if_it_lacks_all() {
        assert_eq!(
            both(&[(1, false), (3, true), (7, false)], &[(0, true), (3, false), (7, false), (9, true)]),
            [(3, true), (7, false)]
        );
        assert!(both(&[], &[(1, true)]).is_empty() && both(&[(1, true)], &[]).is_empty());
    }
}
