//! Parquet and Arrow IPC.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tacita_core::{Error, Result};

use super::unreadable;
use crate::table::{BATCH_ROWS, Table};

pub(super) fn read_parquet(file: File, name: &str) -> Result<Table> {
    guarded(name, || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(|error| unreadable(name, error))?
            .with_batch_size(BATCH_ROWS);
        let schema = builder.schema().clone();
        let reader = builder.build().map_err(|error| unreadable(name, error))?;
        Table::new(name, schema, collect(reader, name)?)
    })
}

/// Both forms of IPC: the file form begins with `ARROW1`, everything else is taken for a stream.
pub(super) fn read_ipc(mut file: File, name: &str) -> Result<Table> {
    let mut magic = [0; 6];
    let mut begins = |file: &mut File| -> std::io::Result<usize> {
        let n = file.take(6).read(&mut magic)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(n)
    };
    let n = begins(&mut file).map_err(|error| unreadable(name, error))?;
    if n == 0 {
        return Err(Error::Input(format!("{name}: is empty; an Arrow file at least names its columns")));
    }
    if magic.starts_with(b"FEA1") {
        return Err(Error::Input(format!("{name}: Feather version 1 is not read; write it as Feather version 2")));
    }
    let file = BufReader::with_capacity(1 << 16, file);
    guarded(name, || match &magic {
        b"ARROW1" => {
            let reader = FileReader::try_new(file, None).map_err(|error| unreadable(name, error))?;
            Table::new(name, reader.schema(), collect(reader, name)?)
        }
        _ => {
            let reader = StreamReader::try_new(file, None).map_err(|error| unreadable(name, error))?;
            Table::new(name, reader.schema(), collect(reader, name)?)
        }
    })
}

/// The batches, cut to at most [`BATCH_ROWS`] rows.
fn collect(
    reader: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
    name: &str,
) -> Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|error| unreadable(name, error))?;
        for start in (0..batch.num_rows()).step_by(BATCH_ROWS) {
            batches.push(batch.slice(start, BATCH_ROWS.min(batch.num_rows() - start)));
        }
    }
    Ok(batches)
}

/// Runs a decoder of a library that panics on some corrupt files, and makes that the same error as any other.
fn guarded(name: &str, read: impl FnOnce() -> Result<Table>) -> Result<Table> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(unreadable(name, "the file is corrupt; write it again")))
}
