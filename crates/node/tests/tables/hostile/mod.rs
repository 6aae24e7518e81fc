//! Files that claim, or become, more than they are: each ends with one line, soon, and without the memory that it asks
//! for.

mod arrow;
mod parquet;

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::thrift::*;
use arrow_array::builder::BinaryViewBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, NullArray, RecordBatch, RunArray, StringArray};
use arrow_array::{BinaryViewArray, FixedSizeBinaryArray, StringViewArray, StructArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use flate2::Compression;
use flate2::write::GzEncoder;
use tacita_core::{Error, Result};
use tacita_node::table::baskets::{Between, read_lines};
use tacita_node::table::{
    Budget, Duplicates, KeyColumn, KeySpec, NullWords, Nulls, Profile, ReadOptions, Table, TableKeys, read,
};

/// Memory that a table may take here.
const MEMORY: u64 = 256 << 20;

/// Time limit for a refusal, on a machine with much else to do.
const SOON: Duration = Duration::from_secs(60);

fn options(bytes: u64) -> ReadOptions {
    ReadOptions { budget: Budget { bytes: Some(bytes), ..Budget::default() }, ..ReadOptions::default() }
}

fn read_bytes(bytes: &[u8], ending: &str) -> Result<Table> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(format!("t.{ending}"));
    std::fs::write(&path, bytes).unwrap();
    read(&path, &options(MEMORY))
}

/// Checks that a table is refused, soon, in one line with these words.
#[track_caller]
fn refused(bytes: &[u8], ending: &str, words: &[&str]) {
    let start = Instant::now();
    let result = read_bytes(bytes, ending);
    let Err(Error::Input(text)) = result else { panic!("{result:?} should have been refused") };
    assert!(!text.contains('\n') && text.contains(&format!("t.{ending}")), "{text}");
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

fn gzip(fill: impl FnOnce(&mut dyn Write)) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    fill(&mut packer);
    packer.finish().unwrap()
}

/// Writes this number of MiB of one byte.
fn mebibytes(out: &mut dyn Write, byte: u8, count: usize) {
    let block = vec![byte; 1 << 20];
    (0..count).for_each(|_| out.write_all(&block).unwrap());
}

// Parquet.

// Arrow.

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
}

// Text.

#[test]
fn records_have_an_end() {
    // A record may have 64 MiB.
    records_end(96);
}

#[test]
#[ignore = "slow: gigabytes"]
fn records_have_an_end_in_large_files() {
    records_end(1 << 10);
}

/// Records that go on for so many MiB.
fn records_end(count: usize) {
    let endless = gzip(|out| {
        out.write_all(b"k\nAnn\n").unwrap();
        mebibytes(out, b'x', count);
    });
    refused(&endless, "csv.gz", &["line 3", "longer than a record may be"]);
    let quoted = gzip(|out| {
        out.write_all(b"k\nAnn\n\"").unwrap();
        let block = b"x,y\n\n\n\n\n\n\n\n\n".repeat(1 << 16);
        (0..1 << 7).for_each(|_| out.write_all(&block).unwrap());
    });
    refused(&quoted, "csv.gz", &["line 3", "a quote left open"]);
    refused(&gzip(|out| mebibytes(out, b'\n', count)), "csv.gz", &["line 1"]);
    refused(&gzip(|out| mebibytes(out, b',', count)), "csv.gz", &["line 1", "header 16 MiB"]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.dat.gz");
    std::fs::write(&path, gzip(|out| mebibytes(out, b' ', count))).unwrap();
    let Err(Error::Input(text)) = read_lines(&path, Between::Blanks, &ReadOptions::default()) else {
        panic!("an endless line was read")
    };
    assert!(text.contains("line 1") && text.contains("longer than a line may be"), "{text}");
}

#[test]
fn texts_are_no_larger_than_the_memory() {
    let rows = gzip(|out| {
        out.write_all(b"k\n").unwrap();
        let block = b"a\n".repeat(1 << 19);
        (0..50).for_each(|_| out.write_all(&block).unwrap());
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv.gz");
    std::fs::write(&path, rows).unwrap();
    let text = read(&path, &options(MEMORY / 4)).unwrap_err().to_string();
    assert!(text.contains("t.csv.gz") && text.contains(" of memory allowed here"), "{text}");
    let header: Vec<_> = (0..100_001).map(|column| column.to_string()).collect();
    refused(header.join(",").as_bytes(), "csv", &["more than 100000 columns"]);
    let table = read_bytes(header[1..].join(",").as_bytes(), "csv").unwrap();
    assert_eq!((table.schema().fields().len(), table.rows()), (100_000, 0));
    let budget = Budget { rows: 2, ..Budget::default() };
    let options = ReadOptions { budget, ..ReadOptions::default() };
    assert!(read::read_csv(&b"k\n1\n2\n"[..], "t.csv", &options).is_ok());
    assert!(read::read_csv(&b"k\n1\n2\n3\n"[..], "t.csv", &options).is_err());
}
