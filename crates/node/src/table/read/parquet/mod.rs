//! Parquet. The decoder of values is the library's; what it is given, the footer and the pages, is checked here first.

mod footer;
mod head;
mod lengths;
mod pages;
mod thrift;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader, RowGroups};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::LogicalType;
use parquet::column::page::{PageIterator, PageReader};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::schema::types::{SchemaDescriptor, TypePtr};
use tacita_core::Result;

use self::pages::{Allowance, Column, Pages};
use super::columnar::{Batches, Columnar, check_types, guarded};
use super::unreadable;
use crate::table::budget::Budget;
use crate::table::{BATCH_ROWS, too_many_rows};

/// Magic bytes at the end of a Parquet file, after the length of its footer.
const MAGIC: &[u8; 4] = b"PAR1";

/// Opens a file. A row group's rows are cut so that a batch takes about `batch_bytes` at most.
pub(super) fn open(file: File, name: &str, batch_bytes: usize, budget: &Budget) -> Result<(SchemaRef, Columnar)> {
    guarded(name, || {
        let file_bytes = file.metadata().map_err(|error| unreadable(name, error))?.len();
        check_footer(&file, file_bytes, budget).map_err(|what| unreadable(name, what))?;
        let decoded = ArrowReaderMetadata::load(&file, Default::default()).map_err(|error| unreadable(name, error))?;
        check_types(decoded.schema());
        let metadata = decoded.metadata().clone();
        let all = check_row_groups(&metadata, file_bytes).map_err(|what| unreadable(name, what))?;
        if all > budget.rows as u64 {
            return Err(too_many_rows(name));
        }
        let columns: Vec<_> =
            metadata.file_metadata().schema_descr().columns().iter().map(|c| Column::new(c)).collect();
        let rows = batch_rows(&metadata, &columns, batch_bytes);
        let allowance = Arc::new(Allowance::default());
        let columns = columns.into_iter().map(Arc::new).collect();
        let checked = Checked { file: Arc::new(file), metadata, columns, allowance: allowance.clone(), rows };
        let levels = parquet_to_arrow_field_levels(
            checked.metadata.file_metadata().schema_descr(),
            ProjectionMask::all(),
            Some(decoded.schema().fields()),
        );
        let reader = levels
            .and_then(|levels| ParquetRecordBatchReader::try_new_with_row_groups(&levels, &checked, rows, None))
            .map_err(|error| unreadable(name, error))?;
        let batches = Box::new(Reader { reader, allowance });
        let schema = with_uuids(decoded.schema(), checked.metadata.file_metadata().schema_descr());
        Ok((schema, Columnar::new(name, batches, (file_bytes, Some(all)), batch_bytes)))
    })
}

/// The schema in which columns that Parquet calls UUIDs are such, whether Arrow has written them or not.
fn with_uuids(schema: &SchemaRef, descriptor: &SchemaDescriptor) -> SchemaRef {
    let field = |(field, parquet): (&FieldRef, &TypePtr)| {
        let is_uuid = matches!(parquet.get_basic_info().logical_type_ref(), Some(LogicalType::Uuid));
        let mut metadata = field.metadata().clone();
        if is_uuid && !metadata.contains_key(EXTENSION_TYPE_NAME_KEY) {
            metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), "arrow.uuid".to_owned());
        }
        field.as_ref().clone().with_metadata(metadata)
    };
    let fields = schema.fields().iter().zip(descriptor.root_schema().get_fields()).map(field);
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

/// Reader of the batches that the library decodes from checked pages.
struct Reader {
    reader: ParquetRecordBatchReader,
    allowance: Arc<Allowance>,
}

impl Batches for Reader {
    fn next(&mut self, name: &str, memory: u64) -> Result<Option<arrow_array::RecordBatch>> {
        self.allowance.set(memory);
        self.reader.next().transpose().map_err(|error| unreadable(name, error))
    }
}

/// Checks what a footer claims before it is decoded.
fn check_footer(file: &File, file_bytes: u64, budget: &Budget) -> std::result::Result<(), String> {
    let mut tail = [0; 8];
    let Some(end) = file_bytes.checked_sub(tail.len() as u64) else { return Ok(()) };
    file.read_exact_at(&mut tail, end).map_err(|error| error.to_string())?;
    let [length @ .., m0, m1, m2, m3] = tail;
    if [m0, m1, m2, m3] == *ENCRYPTED_MAGIC {
        return Err(IS_ENCRYPTED.into());
    }
    if [m0, m1, m2, m3] != *MAGIC {
        // The library says what else it is.
        return Ok(());
    }
    let length = u64::from(u32::from_le_bytes(length));
    footer::check_length(length, end, budget.bytes())?;
    let mut footer = vec![0; length as usize];
    file.read_exact_at(&mut footer, end - length).map_err(|error| error.to_string())?;
    footer::check_schema(&footer)?;
    if footer::names_encryption(&footer) { Err(IS_ENCRYPTED.into()) } else { Ok(()) }
}

/// Magic bytes at the end of a file with an encrypted footer.
const ENCRYPTED_MAGIC: &[u8; 4] = b"PARE";

const IS_ENCRYPTED: &str = "is encrypted, which is not read: write the file without encryption";

/// Checks that the row groups are in the file, and adds up their rows.
fn check_row_groups(metadata: &ParquetMetaData, file_bytes: u64) -> std::result::Result<u64, String> {
    let mut all = 0u64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let rows = u64::try_from(group.num_rows()).map_err(|_| format!("row group {number} has fewer than no rows"))?;
        all = all.saturating_add(rows);
        for chunk in group.columns() {
            let (start, length) = chunk.byte_range();
            if start.checked_add(length).is_none_or(|end| end > file_bytes) {
                return Err(format!("row group {number} reaches beyond the end of the file; write it again"));
            }
        }
    }
    Ok(all)
}

/// Returns the number of rows with which a batch takes about `batch_bytes`, as far as the footer tells.
fn batch_rows(metadata: &ParquetMetaData, columns: &[Column], batch_bytes: usize) -> usize {
    let widest = metadata
        .row_groups()
        .iter()
        .map(|group| group.total_byte_size().max(0) as usize / (group.num_rows().max(1) as usize))
        .max();
    let fixed = columns.iter().fold(0usize, |sum, column| sum.saturating_add(column.width()));
    (batch_bytes / widest.unwrap_or(0).max(fixed).max(1)).clamp(1, BATCH_ROWS)
}

/// The row groups of a file, with pages that are checked.
struct Checked {
    file: Arc<File>,
    metadata: Arc<ParquetMetaData>,
    columns: Vec<Arc<Column>>,
    allowance: Arc<Allowance>,
    rows: usize,
}

impl RowGroups for Checked {
    fn num_rows(&self) -> usize {
        self.metadata.row_groups().iter().map(|group| group.num_rows() as usize).sum()
    }

    fn column_chunks(&self, column: usize) -> ParquetResult<Box<dyn PageIterator>> {
        Ok(Box::new(Chunks {
            file: self.file.clone(),
            metadata: self.metadata.clone(),
            column: (column, self.columns[column].clone()),
            allowance: self.allowance.clone(),
            rows: self.rows,
            next: 0,
        }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// One column in all row groups.
struct Chunks {
    file: Arc<File>,
    metadata: Arc<ParquetMetaData>,
    column: (usize, Arc<Column>),
    allowance: Arc<Allowance>,
    rows: usize,
    next: usize,
}

impl Iterator for Chunks {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.metadata.row_groups().get(self.next)?;
        self.next += 1;
        let (position, column) = &self.column;
        let pages = Pages::new(&self.file, column, group.column(*position), &self.allowance, self.rows);
        Some(Ok(Box::new(pages)))
    }
}

impl PageIterator for Chunks {}
