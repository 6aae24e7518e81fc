//! Tables from and to whatever speaks Arrow's PyCapsule interface: pandas, polars, pyarrow, DuckDB. Buffers are shared and never copied.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use tacita_core::Error;
use tacita_node::table::Table;

use crate::errors::raise;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// The table that an object hands out, if it is one that does. Messages call it `source`.
pub fn import(object: &Bound<'_, PyAny>, source: &str) -> PyResult<Option<Table>> {
    let py = object.py();
    let read = if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds a valid stream, as the interface says; what is left there is a released one.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        // Whoever produces may compute only now.
        py.detach(|| from_stream(stream))
    } else if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
        let schema = pair.get_item(0)?.cast_into::<PyCapsule>()?;
        let array = pair.get_item(1)?.cast_into::<PyCapsule>()?;
        let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
        let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
        // SAFETY: capsules of these names hold a valid schema and array, as the interface says; the array that is left there is a released
        // one, the schema stays its owner's.
        unsafe { from_array(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) }
    } else {
        return Ok(None);
    };
    let table = read
        .map_err(|error| Error::Input(format!("{source}: cannot be read as an Arrow table: {error}")))
        .and_then(|(schema, batches)| Table::new(source, schema, batches));
    table.map(Some).map_err(|error| raise(py, error))
}

type Batches = (SchemaRef, Vec<RecordBatch>);

fn from_stream(stream: FFI_ArrowArrayStream) -> Result<Batches, ArrowError> {
    let reader = RecordBatchStreamReader::try_new(stream)?;
    Ok((reader.schema(), reader.collect::<Result<_, _>>()?))
}

/// # Safety
///
/// The array is one of this schema.
unsafe fn from_array(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> Result<Batches, ArrowError> {
    // SAFETY: as the caller says.
    let data = unsafe { from_ffi(array, schema) }?;
    let batch = RecordBatch::from(StructArray::from(data));
    Ok((Arc::new(Schema::try_from(schema)?), vec![batch]))
}

/// A table for whatever reads Arrow.
#[pyclass(frozen, module = "tacita._tacita")]
pub struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl ArrowTable {
    /// Of batches of this schema.
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
