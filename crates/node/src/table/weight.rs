//! Lengths of values, independent of how they are stored. A dictionary's value may occur in every row, a run has one
//! value for many rows, and views may show the same bytes.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, downcast_run_array};
use arrow_schema::DataType;

/// Returns the number of rows of a batch, from its first, whose texts have at most `bytes` together. It is one at
/// least, if there are any.
pub(super) fn rows_within(batch: &RecordBatch, bytes: usize) -> usize {
    let rows = batch.num_rows();
    let columns: Vec<_> = batch.columns().iter().filter_map(shared_lengths).collect();
    if columns.is_empty() {
        return rows;
    }
    let mut left = bytes as u64;
    for row in 0..rows {
        let length = columns.iter().fold(0u64, |sum, lengths| sum.saturating_add(lengths[row]));
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return row.max(1),
        }
    }
    rows
}

/// Bytes that the values of a column take once each row has its own, if it may keep them once for several rows.
pub(super) fn shared_bytes(column: &ArrayRef) -> u64 {
    shared_lengths(column).into_iter().flatten().fold(0, u64::saturating_add)
}

/// The length of each row's value in a column that may keep it once for several rows.
fn shared_lengths(column: &ArrayRef) -> Option<Vec<u64>> {
    match column.data_type() {
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => {
            let (places, values) = places(column)?;
            Some(places.into_iter().map(|place| place.map_or(0, |place| length(&values, place))).collect())
        }
        DataType::Utf8View | DataType::BinaryView => Some((0..column.len()).map(|row| length(column, row)).collect()),
        _ => None,
    }
}

/// Returns the index of each row's value among the values of a dictionary or a column of runs. It is `None` where the
/// value is absent.
pub(super) fn places(column: &ArrayRef) -> Option<(Vec<Option<usize>>, ArrayRef)> {
    if let DataType::RunEndEncoded(..) = column.data_type() {
        let column = column.as_ref();
        return downcast_run_array!(
            column => {
                let rows: Vec<u64> = (0..column.len() as u64).collect();
                let places = column.get_physical_indices(&rows).ok()?;
                Some((places.into_iter().map(Some).collect(), column.values().clone()))
            },
            _ => None
        );
    }
    let dictionary = column.as_any_dictionary_opt()?;
    let nulls = dictionary.nulls();
    let values = dictionary.values();
    // What stands in the place of an absent value is any number.
    let place = |(row, place): (usize, usize)| {
        (place < values.len() && nulls.is_none_or(|nulls| nulls.is_valid(row))).then_some(place)
    };
    let keys = if values.is_empty() { vec![usize::MAX; dictionary.len()] } else { dictionary.normalized_keys() };
    Some((keys.into_iter().enumerate().map(place).collect(), values.clone()))
}

/// Bytes of a value.
fn length(values: &ArrayRef, row: usize) -> u64 {
    let bytes = match values.data_type() {
        _ if values.is_null(row) => 0,
        DataType::Utf8 => values.as_string::<i32>().value_length(row) as usize,
        DataType::LargeUtf8 => values.as_string::<i64>().value_length(row) as usize,
        DataType::Binary => values.as_binary::<i32>().value_length(row) as usize,
        DataType::LargeBinary => values.as_binary::<i64>().value_length(row) as usize,
        DataType::Utf8View => values.as_string_view().value(row).len(),
        DataType::BinaryView => values.as_binary_view().value(row).len(),
        DataType::FixedSizeBinary(width) => *width as usize,
        _ => 16,
    };
    bytes as u64
}
