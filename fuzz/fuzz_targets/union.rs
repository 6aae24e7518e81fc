//! The rows that a peer gives for a key of a union: as many as it may give, in the form that was agreed, or none.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_node::jobs::union::given_rows;

fuzz_target!(|bytes: &[u8]| {
    let Some((&[counted, most, row_bytes], payload)) = bytes.split_first_chunk() else { return };
    let (counted, most, row_bytes) = (counted & 1 == 1, usize::from(most), usize::from(row_bytes));
    if let Ok(rows) = given_rows(payload, counted, most, row_bytes) {
        let (said, all) = if counted {
            payload.split_first_chunk().map(|(said, all)| (u32::from_le_bytes(*said) as usize, all)).unwrap()
        } else {
            (1, payload)
        };
        assert!((1..=most).contains(&said));
        let (own, filling) = all.split_at(said * row_bytes);
        assert_eq!(rows, own);
        assert!(filling.iter().all(|byte| *byte == 0));
    }
});
