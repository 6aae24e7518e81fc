//! The columns that a peer gives: their schema, and rows of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_node::table::PayloadSchema;

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (schema, rows) = input;
    let expected = ["cost".to_owned(), "payer".to_owned()];
    for expected in [&expected[..], &expected[..1]] {
        let Ok(decoded) = PayloadSchema::decode(&schema, "peer", expected) else { continue };
        assert_eq!(decoded.encode(), schema);
        let Ok(batch) = decoded.decode_rows(&rows, "peer") else { continue };
        assert_eq!(batch.num_rows() * decoded.row_bytes(), rows.len());
    }
});
