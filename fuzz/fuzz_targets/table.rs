//! CSV as a user may hand it in: a table, or an error of one line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_core::Error;
use tacita_node::table::ReadOptions;
use tacita_node::table::read::read_csv;

fuzz_target!(|input: (Option<u8>, &[u8])| {
    let (delimiter, bytes) = input;
    let delimiter = delimiter.filter(|byte| byte.is_ascii_punctuation() && *byte != b'"');
    match read_csv(bytes, "fuzzed.csv", &ReadOptions { delimiter, ..ReadOptions::default() }) {
        Ok(table) => assert!(table.rows() <= bytes.len()),
        Err(Error::Input(text)) => assert!(!text.contains('\n'), "{text}"),
        Err(error) => panic!("{error}"),
    }
});
