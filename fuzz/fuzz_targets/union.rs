//! The rows that a peer gives for a key of a union: as many as it may give, in the form that was agreed, or none.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_node::jobs::union::given_rows;

fuzz_target!(|bytes: &[u8]| {
    let Some((&[counted, most, row_bytes], payload)) = bytes.split_first_chunk() else { return };
    let (counted, most, row_bytes) = (counted & 1 == 1, usize::from(most), usize::from(row_bytes));
    if let Ok(rows) = given_rows(payload, counted, most, row_bytes) {
        assert!(rows.len() <= most * row_bytes);
        let count = if counted { (rows.len() / row_bytes.max(1)) as u32 } else { 1 };
        assert!(row_bytes == 0 || count as usize * row_bytes == rows.len());
        assert!(payload.windows(rows.len().max(1)).any(|part| part == rows) || rows.is_empty());
    }
});
