//! Arrow as a partner may hand it in, file or stream: a table, or an error of one line, within the memory that it may
//! take.

#![no_main]

use libfuzzer_sys::fuzz_target;

mod file;

fuzz_target!(|bytes: &[u8]| file::check(bytes, "arrow"));
