//! Arrays of Arrow's C interface: what a stream hands out, one after the other, and what some producers say of columns
//! without a value.

use std::ffi::{CStr, c_int};
use std::mem::offset_of;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, make_array};
use arrow_schema::{ArrowError, DataType};

/// A stream of arrays of one type.
pub struct Arrays {
    stream: FFI_ArrowArrayStream,
    schema: FFI_ArrowSchema,
    data_type: DataType,
}

impl Arrays {
    /// Reads the schema of a stream that nobody has looked at. Errors: it was taken before; it fails to say what it
    /// holds.
    pub fn of(mut stream: FFI_ArrowArrayStream) -> Result<Arrays, ArrowError> {
        let get_schema = stream.get_schema().filter(|_| stream.release().is_some());
        let get_schema = get_schema
            .ok_or_else(|| ArrowError::CDataInterface("the stream is released: it was taken before".into()))?;
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the stream is not released, and may be asked as often as one likes.
        let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        if code != 0 {
            return Err(failure(&mut stream, code));
        }
        let data_type = DataType::try_from(&schema)?;
        Ok(Arrays { stream, schema, data_type })
    }

    /// The schema as it was handed out.
    pub fn schema(&self) -> &FFI_ArrowSchema {
        &self.schema
    }
}

impl Iterator for Arrays {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let get_next = self.stream.get_next()?;
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: the stream is not released.
        let code = unsafe { get_next(&raw mut self.stream, &raw mut array) };
        match (code, array.is_released()) {
            (0, true) => None,
            (0, false) => Some(import(array, &self.data_type)),
            _ => Some(Err(failure(&mut self.stream, code))),
        }
    }
}

/// Takes an array of this type.
pub fn import(mut array: FFI_ArrowArray, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    leave_out_null_buffers(&mut array, data_type);
    // SAFETY: the array is one of this type, as the interface says.
    unsafe { from_ffi_and_data_type(array, data_type.clone()) }.map(make_array)
}

fn failure(stream: &mut FFI_ArrowArrayStream, code: c_int) -> ArrowError {
    let text = stream.get_last_error().and_then(|get_last_error| {
        // SAFETY: the last operation on the stream, which is not released, has failed; the text is valid until the next one.
        let text = unsafe { get_last_error(stream) };
        // SAFETY: as above.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    });
    ArrowError::CDataInterface(text.unwrap_or_else(|| format!("its producer failed, with code {code}")))
}

/// The first members of an array, as the interface lays them out; the library keeps them to itself.
#[repr(C)]
struct Head {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const std::ffi::c_void,
    children: *mut *mut FFI_ArrowArray,
    dictionary: *mut FFI_ArrowArray,
}

// Both are laid out as the interface says.
const _: () = assert!(offset_of!(Head, dictionary) + size_of::<*mut FFI_ArrowArray>() <= size_of::<FFI_ArrowArray>());

/// A column of the type null has no buffers. Producers there are, polars among them, that say it has one, a missing
/// bitmap of what is null.
fn leave_out_null_buffers(array: &mut FFI_ArrowArray, data_type: &DataType) {
    let head = std::ptr::from_mut(array).cast::<Head>();
    // SAFETY: an array begins with these members.
    let head = unsafe { &mut *head };
    if *data_type == DataType::Null {
        // What its producer frees does not go by this: it is in the private data.
        head.n_buffers = 0;
        return;
    }
    let child = |place: usize| {
        let there = i64::try_from(place).is_ok_and(|place| place < head.n_children) && !head.children.is_null();
        // SAFETY: there are so many children, each a valid array that nobody else has.
        there.then(|| unsafe { (*head.children.add(place)).as_mut() }).flatten()
    };
    match data_type {
        DataType::Dictionary(_, values) => {
            // SAFETY: the dictionary is a valid array that nobody else has, or null.
            if let Some(dictionary) = unsafe { head.dictionary.as_mut() } {
                leave_out_null_buffers(dictionary, values);
            }
        }
        DataType::Struct(fields) => fields.iter().enumerate().for_each(|(place, field)| {
            child(place).into_iter().for_each(|child| leave_out_null_buffers(child, field.data_type()));
        }),
        DataType::Union(fields, _) => fields.iter().enumerate().for_each(|(place, (_, field))| {
            child(place).into_iter().for_each(|child| leave_out_null_buffers(child, field.data_type()));
        }),
        DataType::RunEndEncoded(_, values) => {
            child(1).into_iter().for_each(|child| leave_out_null_buffers(child, values.data_type()));
        }
        DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::ListView(inner)
        | DataType::LargeListView(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::Map(inner, _) => {
            child(0).into_iter().for_each(|child| leave_out_null_buffers(child, inner.data_type()));
        }
        _ => (),
    }
}
