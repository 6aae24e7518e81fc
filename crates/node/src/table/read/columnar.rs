//! Parquet and Arrow IPC.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tacita_core::{Error, Result};

use super::{Source, unreadable};
use crate::table::{BATCH_ROWS, Lines};

/// A typed file that is being read.
pub(super) struct Columnar {
    name: String,
    batches: Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + Send>,
    /// What is left of a batch of the file that is larger than ours.
    rest: Option<RecordBatch>,
    /// Rows in all, where the file says.
    rows: Option<u64>,
    done: u64,
}

/// A row group's rows are cut so that a batch takes about `batch_bytes` at most.
pub(super) fn open_parquet(file: File, name: &str, batch_bytes: usize) -> Result<(SchemaRef, Columnar)> {
    guarded(name, || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| unreadable(name, error))?;
        let widest = builder
            .metadata()
            .row_groups()
            .iter()
            .map(|group| group.total_byte_size().max(0) as usize / (group.num_rows().max(1) as usize));
        let rows = (batch_bytes / widest.max().unwrap_or(0).max(1)).clamp(1, BATCH_ROWS);
        let builder = builder.with_batch_size(rows);
        let all = builder.metadata().file_metadata().num_rows().max(0) as u64;
        let schema = builder.schema().clone();
        let reader = builder.build().map_err(|error| unreadable(name, error))?;
        Ok((schema, Columnar { rows: Some(all), ..Columnar::new(name, reader) }))
    })
}

/// Both forms of IPC: the file form begins with `ARROW1`, everything else is taken for a stream.
pub(super) fn open_ipc(mut file: File, name: &str) -> Result<(SchemaRef, Columnar)> {
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
            Ok((reader.schema(), Columnar::new(name, reader)))
        }
        _ => {
            let reader = StreamReader::try_new(file, None).map_err(|error| unreadable(name, error))?;
            Ok((reader.schema(), Columnar::new(name, reader)))
        }
    })
}

impl Columnar {
    fn new(
        name: &str,
        batches: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + Send + 'static,
    ) -> Columnar {
        Columnar { name: name.to_owned(), batches: Box::new(batches), rest: None, rows: None, done: 0 }
    }
}

impl Columnar {
    /// Rows in all, where the file says.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }
}

impl Source for Columnar {
    /// The batches, cut to at most [`BATCH_ROWS`] rows.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Columnar { name, batches, rest, done, .. } = self;
        let batch = match rest.take() {
            Some(batch) => batch,
            None => match guarded(name, || batches.next().transpose().map_err(|error| unreadable(name, error)))? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let rows = batch.num_rows().min(BATCH_ROWS);
        *done += rows as u64;
        if rows < batch.num_rows() {
            *rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        Ok(Some(batch.slice(0, rows)))
    }

    fn lines(&mut self) -> Option<&mut Lines> {
        None
    }

    fn done(&self) -> u64 {
        self.done
    }
}

/// Runs a decoder of a library that panics on some corrupt files, and makes that the same error as any other.
fn guarded<T>(name: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(unreadable(name, "the file is corrupt; write it again")))
}
