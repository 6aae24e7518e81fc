//! Tables from and to whatever speaks Arrow's PyCapsule interface: pandas, polars, pyarrow, DuckDB. Buffers are shared
//! and never copied.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchOptions, RecordBatchReader, StructArray,
};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyException, PyImportError, PyKeyboardInterrupt, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use tacita_core::Error;
use tacita_node::base::cancel::Cancel;
use tacita_node::table::Table;
use tacita_node::table::columns::check_extension;

use crate::errors::raise;
use crate::stream::{Arrays, import as import_array};
use crate::work::{Shown, cancels, wait};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// The table that an object hands out, if it is one that does. Messages call it `source`.
pub fn import(object: &Bound<'_, PyAny>, source: &str) -> PyResult<Option<Table>> {
    let py = object.py();
    let Some(handed) = handed(object).map_err(|error| refusal(py, source, error))? else { return Ok(None) };
    let is_reader = object.hasattr("read_next_batch")?;
    let (source, cancel) = (source.to_owned(), Cancel::default());
    let stop = cancels(&cancel);
    // Whoever produces may compute only now, and for long.
    let read = move || {
        let read = catch_unwind(AssertUnwindSafe(|| handed.read(&cancel)));
        let read = read.unwrap_or_else(|_| Err(invalid("whoever made it does not keep to the interface")));
        let (schema, batches, in_dictionaries) = read.map_err(|error| {
            let what = match error {
                ArrowError::InvalidArgumentError(what) => what,
                error => error.to_string(),
            };
            Error::Input(format!("{source}: cannot be read as an Arrow table: {what}"))
        })?;
        if is_reader && batches.is_empty() {
            return Err(Error::Input(format!(
                "{source}: the reader is used up, or never had a row: a reader hands out its rows once. Give a new one, or what its read_all() gives"
            ))
            .into());
        }
        for (column, extension) in in_dictionaries {
            check_extension(&source, &column, &extension)?;
        }
        Ok(Table::new(source, schema, batches)?)
    };
    wait(py, stop, &Shown::default(), None, read).map(Some)
}

/// Object handed out by Python that has not been looked at.
enum Handed {
    Stream(FFI_ArrowArrayStream),
    Array(FFI_ArrowArray, FFI_ArrowSchema),
}

fn handed(object: &Bound<'_, PyAny>) -> PyResult<Option<Handed>> {
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds a valid stream, as the interface says; what is left there is a released one.
        return Ok(Some(Handed::Stream(unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) })));
    }
    if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
        let schema = pair.get_item(0)?.cast_into::<PyCapsule>()?;
        let array = pair.get_item(1)?.cast_into::<PyCapsule>()?;
        let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
        let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
        // SAFETY: capsules of these names hold a valid schema and array, as the interface says; what is left there are released ones.
        let (array, schema) =
            unsafe { (FFI_ArrowArray::from_raw(array.as_ptr()), FFI_ArrowSchema::from_raw(schema.as_ptr())) };
        return Ok(Some(Handed::Array(array, schema)));
    }
    Ok(None)
}

/// A schema and its batches; and, by column, extension types of values of dictionaries, of which a schema knows
/// nothing.
type Batches = (SchemaRef, Vec<RecordBatch>, Vec<(String, String)>);

impl Handed {
    fn read(self, cancel: &Cancel) -> Result<Batches, ArrowError> {
        match self {
            Handed::Stream(stream) => {
                let arrays = Arrays::of(stream)?;
                let in_dictionaries = in_dictionaries(arrays.schema())?;
                let schema = schema_of(&Field::try_from(arrays.schema())?)?;
                // Nobody waits for what is left of a stream whose reading was interrupted.
                let rest = arrays.take_while(|_| !cancel.is_cancelled());
                let batches = rest.map(|array| batch_of(&schema, &array?)).collect::<Result<_, _>>()?;
                Ok((schema, batches, in_dictionaries))
            }
            Handed::Array(array, schema) => {
                if array.is_released() || schema.release().is_none() {
                    return Err(invalid("it was taken before"));
                }
                let (field, in_dictionaries) = (Field::try_from(&schema)?, in_dictionaries(&schema)?);
                let schema = schema_of(&field)?;
                Ok((
                    schema.clone(),
                    vec![batch_of(&schema, &import_array(array, field.data_type())?)?],
                    in_dictionaries,
                ))
            }
        }
    }
}

/// The extension types of the values of dictionaries, at every depth, with the column that they are in.
fn in_dictionaries(table: &FFI_ArrowSchema) -> Result<Vec<(String, String)>, ArrowError> {
    let columns = table.children().map(|column| (column.name().unwrap_or_default(), column));
    let mut left: Vec<_> = columns.collect();
    let mut found = Vec::new();
    while let Some((column, field)) = left.pop() {
        if let Some(values) = field.dictionary() {
            let extension = values.metadata()?.get(EXTENSION_TYPE_NAME_KEY).cloned();
            found.extend(extension.map(|extension| (column.to_owned(), extension)));
            left.push((column, values));
        }
        left.extend(field.children().map(|field| (column, field)));
    }
    Ok(found)
}

fn schema_of(field: &Field) -> Result<SchemaRef, ArrowError> {
    match field.data_type() {
        DataType::Struct(fields) => Ok(Arc::new(Schema::new(fields.clone()).with_metadata(field.metadata().clone()))),
        _ => Err(invalid("it is a single column, and no table")),
    }
}

/// The rows of an array. Arrow's import takes lengths, offsets, keys of dictionaries and texts as they come, and what
/// relies on them would read elsewhere if they are wrong.
fn batch_of(schema: &SchemaRef, array: &ArrayRef) -> Result<RecordBatch, ArrowError> {
    array.to_data().validate_full()?;
    match array.as_any().downcast_ref::<StructArray>() {
        Some(rows) if rows.null_count() == 0 => {
            let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
            RecordBatch::try_new_with_options(schema.clone(), rows.columns().to_vec(), &options)
        }
        _ => Err(invalid("whole rows of it are null: leave them out")),
    }
}

fn invalid(what: &str) -> ArrowError {
    ArrowError::InvalidArgumentError(what.to_owned())
}

/// Converts the exception of a library that cannot make Arrow of its own table. The result is an error in that table,
/// with the exception as its cause.
fn refusal(py: Python<'_>, source: &str, error: PyErr) -> PyErr {
    // DuckDB looks for Ctrl-C by itself.
    if error.get_type(py).name().is_ok_and(|name| name == "InterruptException") {
        return PyKeyboardInterrupt::new_err(());
    }
    let others = error.is_instance_of::<PyImportError>(py) || error.is_instance_of::<PyMemoryError>(py);
    if others || !error.is_instance_of::<PyException>(py) {
        return error;
    }
    // Of several texts pyarrow's last one says where; the first may quote a cell.
    let last = || error.value(py).getattr("args")?.try_iter()?.last().transpose();
    let what = match last() {
        Ok(Some(text)) => text.to_string(),
        _ => error.to_string(),
    };
    let raised = raise(py, Error::Input(format!("{source}: cannot be handed out as an Arrow table: {what}")));
    raised.set_cause(py, Some(error));
    raised
}

/// A table for whatever reads Arrow.
#[pyclass(frozen, module = "tacita._tacita")]
pub struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl ArrowTable {
    /// Creates a table of batches of this schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> ArrowTable {
        ArrowTable { schema, batches }
    }
}

#[pymethods]
impl ArrowTable {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The types of the columns are what they are: another schema that is asked for is not tried.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader: Box<dyn RecordBatchReader + Send> =
            Box::new(RecordBatchIterator::new(batches, self.schema.clone()));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema =
            schema.map_err(|error| raise(py, Error::Internal(format!("a schema that Arrow lacks: {error}"))))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}
