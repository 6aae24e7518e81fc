//! Received rows, in the order of their keys.

use arrow_array::RecordBatch;
use tacita_core::{Error, Progress, Result};
use zeroize::Zeroizing;

use super::Disk;
use crate::agreement::JobSpec;
use crate::base::hex::unhex;
use crate::jobs::on_disk::rows::SortedRows;
use crate::jobs::on_disk::sort::{RowSorter, to_bytes};
use crate::jobs::on_disk::{RECEIVED, RUNS, THEIRS};
use crate::jobs::union::received::Form;
use crate::store::seal::damaged;
use crate::table::Origin;
use crate::table::key::build::{find_columns, read_pieces};

/// Divisor that gives the part of the run's memory for the rows decoded at once.
const DECODED_PART: usize = 64;

/// Rows decoded at once take between this many bytes ...
const MIN_DECODED: usize = 64 << 10;

/// ... and that many.
const MAX_DECODED: usize = 4 << 20;

/// Takes what this party lacked from what was received, and puts its rows into the order of their keys.
pub(super) fn by_key(disk: &Disk, job: &JobSpec, me: &str) -> Result<SortedRows> {
    let directory = disk.table.directory();
    RUNS.remove_all(directory)?;
    let agreed = disk.agreed()?;
    let (number, id) = agreed.received.ok_or_else(|| Error::Internal("nothing was received".into()))?;
    let name = RECEIVED.name(number);
    let mut received = directory.open_file(&name, &name)?;
    if unhex(&id).as_deref() != Some(&received.id()[..]) {
        return Err(damaged(&directory.path(&name)));
    }
    let form = Form::of(job, me, &agreed.theirs)?;
    let schema = form.schema.arrow(&form.peer);
    let columns = find_columns(&form.peer, &schema, &form.spec)?;
    let origin = Origin { source: &form.peer, lines: None, first: None };
    let mut sorter = RowSorter::new(directory, &schema, disk.memory as usize);
    let at_once = (disk.memory as usize / DECODED_PART).clamp(MIN_DECODED, MAX_DECODED);
    let mut rows = Zeroizing::new(Vec::new());
    let mut add = |rows: &mut Vec<u8>| -> Result<()> {
        let batch = form.schema.decode_rows(rows, &form.peer)?;
        rows.clear();
        let pieces = read_pieces(&batch, 0, &form.spec, &columns, origin);
        if pieces.iter().map(|piece| piece.keys().len()).sum::<usize>() != batch.num_rows() {
            return Err(form.without_key());
        }
        sorter.add(batch, 0, &pieces, |row| row as u64)
    };
    while let Some(chunk) = received.read_next()? {
        for record in chunk.chunks_exact(1 + form.bytes) {
            if record[0] == 0 {
                continue;
            }
            rows.extend_from_slice(form.rows(&record[1..])?);
            if rows.len() >= at_once {
                add(&mut rows)?;
            }
        }
    }
    if !rows.is_empty() {
        add(&mut rows)?;
    }
    let mut theirs = directory.create_file(THEIRS, THEIRS)?;
    // Columns are there even where there are no rows.
    theirs.write(to_bytes(&RecordBatch::new_empty(schema.clone()))?)?;
    sorter.merge(&Progress::default(), |chunk| {
        let all: Vec<_> = (0..chunk.rows()).collect();
        theirs.write(to_bytes(&chunk.select(&all, Vec::new(), &schema)?)?).map(drop)
    })?;
    theirs.end()?;
    SortedRows::plain(directory.clone(), THEIRS)
}
