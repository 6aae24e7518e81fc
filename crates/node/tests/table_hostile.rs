//! Files that claim, or become, more than they are: each ends with one line, soon, and without the memory that it asks for.

mod common {
    pub mod thrift;
}

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::builder::BinaryViewBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, NullArray, RecordBatch, RunArray, StringArray};
use arrow_array::{BinaryViewArray, FixedSizeBinaryArray, StringViewArray, StructArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use common::thrift::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use tacita_core::{Error, Result};
use tacita_node::table::baskets::read_dat;
use tacita_node::table::{Budget, Duplicates, KeyColumn, KeySpec, Keys, Nulls, Profile, ReadOptions, Table, read};

/// Memory that a table may take here.
const MEMORY: u64 = 256 << 20;

/// How long a refusal may take, on a machine with much else to do.
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

/// So many MiB of one byte.
fn mebibytes(out: &mut dyn Write, byte: u8, count: usize) {
    let block = vec![byte; 1 << 20];
    (0..count).for_each(|_| out.write_all(&block).unwrap());
}

// Parquet.

/// A schema of groups in groups, down to one column.
fn deep(levels: usize) -> Vec<u8> {
    let footer = Thrift::structure(|footer| {
        footer.i32(1, 1);
        footer.list(2, 12, levels + 1, |schema| {
            for level in 0..levels {
                schema.open();
                if level > 0 {
                    schema.i32(3, OPTIONAL);
                }
                schema.text(4, "g");
                schema.i32(5, 1);
                schema.close();
            }
            schema.open();
            schema.i32(1, INT64);
            schema.i32(3, REQUIRED);
            schema.text(4, "k");
            schema.close();
        });
        footer.i64(3, 0);
        footer.list(4, 12, 0, |_| ());
    });
    with_footer(&[], &footer)
}

#[test]
fn a_schema_has_a_bounded_depth() {
    for levels in [65, 500, 100_000] {
        refused(&deep(levels), "parquet", &["levels deep"]);
    }
    // On a small stack, as threads have.
    let read = std::thread::Builder::new().stack_size(1 << 20).spawn(|| read_bytes(&deep(64), "parquet")).unwrap();
    assert_eq!(read.join().unwrap().unwrap().rows(), 0);
}

#[test]
fn a_schema_has_what_it_claims() {
    let claims = |children: i32, more: fn(&mut Thrift)| {
        let footer = Thrift::structure(|footer| {
            footer.i32(1, 1);
            footer.list(2, 12, 2, |schema| {
                schema.open();
                schema.text(4, "g");
                schema.i32(5, children);
                more(schema);
                schema.close();
                schema.open();
                schema.i32(1, INT64);
                schema.i32(3, REQUIRED);
                schema.text(4, "k");
                schema.close();
            });
            footer.i64(3, 0);
            footer.list(4, 12, 0, |_| ());
        });
        with_footer(&[], &footer)
    };
    assert_eq!(read_bytes(&claims(1, |_| ()), "parquet").unwrap().rows(), 0);
    refused(&claims(i32::MAX, |_| ()), "parquet", &["2147483647 parts"]);
    refused(&claims(-1, |_| ()), "parquet", &["-1 parts"]);
    // A field of another type than its number's: the library would read on elsewhere than the check.
    refused(&claims(1, |schema| schema.text(6, "\x0a\x15\x02")), "parquet", &["corrupt"]);
    // A footer that is not there.
    let mut bytes = claims(1, |_| ());
    let at = bytes.len() - 8;
    bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    refused(&bytes, "parquet", &["footer", "more than the file has"]);
}

/// Indices into a dictionary: the first value, so many times.
fn first_of_dictionary(times: u64) -> Vec<u8> {
    let mut indices = Thrift::default();
    indices.bytes.push(1);
    indices.varint(times << 1);
    indices.bytes.push(0);
    indices.bytes
}

#[test]
fn a_value_of_a_dictionary_is_weighed_in_every_row() {
    let value = 10 << 20;
    let dictionary = gzip(|out| {
        out.write_all(&(value as u32).to_le_bytes()).unwrap();
        mebibytes(out, b'x', value >> 20);
    });
    let file = |rows: u64| {
        let indices = gzip(|out| out.write_all(&first_of_dictionary(rows)).unwrap());
        let file = File { codec: GZIP, ..File::new(BYTE_ARRAY, rows as i64) };
        let unpacked = first_of_dictionary(rows).len();
        file.dictionary(1, value + 4, &dictionary).data(rows as i32, DICTIONARY, unpacked, &indices).bytes()
    };
    assert_eq!(read_bytes(&file(5), "parquet").unwrap().rows(), 5);
    refused(&file(60_000), "parquet", &["\"k\"", "629 GB"]);
}

#[test]
fn a_beginning_that_values_share_is_weighed_in_every_value() {
    // A value, then values that share all of it; blocks of eight differences each.
    let values = |length: u64, count: u64| {
        let mut page = Vec::new();
        // Shared: 0, then `length` for ever.
        let mut shared = Thrift::default();
        [8, 1, count, 0].into_iter().for_each(|number| shared.varint(number));
        shared.varint(0);
        shared.bytes.push(32);
        shared.bytes.extend((length as u32).to_le_bytes());
        shared.bytes.extend([0; 28]);
        (9..count).step_by(8).for_each(|_| shared.bytes.extend([0, 0]));
        page.extend(shared.bytes);
        // Own: `length`, then 0 for ever. The least difference is -length, and the others add it again.
        let mut own = Thrift::default();
        [8, 1, count, length << 1].into_iter().for_each(|number| own.varint(number));
        own.varint((length << 1) - 1);
        own.bytes.push(32);
        own.bytes.extend([0; 4]);
        (1..8).for_each(|_| own.bytes.extend((length as u32).to_le_bytes()));
        (9..count).step_by(8).for_each(|_| own.bytes.extend([0, 0]));
        page.extend(own.bytes);
        page.extend(vec![b'x'; length as usize]);
        page
    };
    let file = |length, count| {
        let page = values(length, count);
        File::new(BYTE_ARRAY, count as i64).data(count as i32, DELTA, page.len(), &page).bytes()
    };
    let table = read_bytes(&file(3, 20), "parquet").unwrap();
    let column = arrow_cast::cast(table.batches()[0].column(0), &DataType::Utf8).unwrap();
    assert_eq!(column.as_any().downcast_ref::<StringArray>().unwrap(), &StringArray::from(vec!["xxx"; 20]));
    refused(&file(1 << 20, 60_000), "parquet", &["\"k\"", "at once"]);
}

#[test]
fn pages_are_what_they_claim() {
    // Lengths of 2^40 values in a page of one.
    let mut lengths = Thrift::default();
    [128, 4, 1 << 40, 0].into_iter().for_each(|number| lengths.varint(number));
    let lengths = lengths.bytes;
    refused(&File::new(BYTE_ARRAY, 1).data(1, DELTA_LENGTH, lengths.len(), &lengths).bytes(), "parquet", &["corrupt"]);
    // A GiB in a page of eight bytes.
    let bomb = gzip(|out| mebibytes(out, 0, 1 << 10));
    let file = File { codec: GZIP, ..File::new(INT64, 1) };
    refused(&file.data(1, PLAIN, 8, &bomb).bytes(), "parquet", &["packed block is corrupt"]);
    // Two GiB in ten bytes.
    let file = File { codec: GZIP, ..File::new(INT64, 1) };
    refused(&file.data(1, PLAIN, i32::MAX as usize, &[0; 10]).bytes(), "parquet", &["2.1 GB"]);
    // A dictionary of so many values in eight bytes.
    for kind in [INT64, BYTE_ARRAY] {
        let file = File::new(kind, 1).dictionary(i32::MAX, 8, &[0; 8]).data(1, DICTIONARY, 2, &[1, 2]);
        refused(&file.bytes(), "parquet", &["corrupt"]);
    }
    // Pages beyond the end, before the beginning, and longer than their column.
    for claimed in [1 << 40, i64::MAX, -1] {
        let file = File { claimed: Some(claimed), ..File::new(INT64, 1) };
        refused(&file.data(1, PLAIN, 8, &[0; 8]).bytes(), "parquet", &["write it again"]);
    }
    let file = File { claimed: Some(30), ..File::new(INT64, 100) };
    refused(&file.data(100, PLAIN, 800, &[0; 800]).bytes(), "parquet", &["longer than its column"]);
}

/// Definition levels: so many values that are absent.
fn absent(count: u64) -> Vec<u8> {
    let mut levels = Thrift::default();
    levels.varint(count << 1);
    levels.bytes.push(0);
    [&(levels.bytes.len() as u32).to_le_bytes()[..], &levels.bytes].concat()
}

#[test]
fn rows_take_something() {
    for rows in [1 << 50, i64::MAX] {
        let file = File::new(INT64, rows).data(1, PLAIN, 8, &[0; 8]);
        refused(&file.bytes(), "parquet", &["more than 4294967295 rows"]);
    }
    refused(&File::new(INT64, -1).data(1, PLAIN, 8, &[0; 8]).bytes(), "parquet", &["fewer than no rows"]);
    // Absent numbers are numbers once they are read.
    let rows = i32::MAX;
    let levels = absent(rows as u64);
    let file = File { repetition: OPTIONAL, ..File::new(INT64, rows.into()) };
    refused(&file.data(rows, PLAIN, levels.len(), &levels).bytes(), "parquet", &["t.parquet"]);
    let levels = absent(100_000);
    let file = File { repetition: OPTIONAL, ..File::new(INT64, 100_000) };
    assert_eq!(
        read_bytes(&file.data(100_000, PLAIN, levels.len(), &levels).bytes(), "parquet").unwrap().rows(),
        100_000
    );
    // And values of a fixed length have it where they are absent.
    let file = File { repetition: OPTIONAL, width: i32::MAX, ..File::new(FIXED, 100_000) };
    refused(&file.data(100_000, PLAIN, absent(100_000).len(), &absent(100_000)).bytes(), "parquet", &["\"k\""]);
    // A list of so many values in one row.
    let mut levels = Vec::new();
    for level in [1u8, 1] {
        let mut run = Thrift::default();
        run.varint((i32::MAX as u64) << 1);
        run.bytes.push(level);
        levels.extend((run.bytes.len() as u32).to_le_bytes());
        levels.extend(run.bytes);
    }
    let file = File { repetition: REPEATED, ..File::new(INT64, 1) };
    refused(&file.data(i32::MAX, PLAIN, levels.len(), &levels).bytes(), "parquet", &["\"k\"", "at once"]);
}

// Arrow.

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
}

/// The batches as a file, in both forms.
fn ipc(batches: &[RecordBatch], options: IpcWriteOptions) -> [Vec<u8>; 2] {
    let (mut file, mut stream) = (Vec::new(), Vec::new());
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(&mut file, &schema, options.clone()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    let mut writer = StreamWriter::try_new_with_options(&mut stream, &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    drop(writer);
    [file, stream]
}

/// The bytes with another number of 64 bits wherever the one stands.
#[track_caller]
fn with_number(bytes: &[u8], from: i64, to: i64) -> Vec<u8> {
    let (mut changed, mut at, mut times) = (bytes.to_vec(), 0, 0);
    while at + 8 <= changed.len() {
        if changed[at..at + 8] == from.to_le_bytes() {
            changed[at..at + 8].copy_from_slice(&to.to_le_bytes());
            times += 1;
        }
        at += 1;
    }
    assert!(times > 0);
    changed
}

#[test]
fn rows_without_bytes_are_counted() {
    let nulls = batch(vec![("k", Arc::new(NullArray::new(1_234_567)))]);
    for bytes in ipc(&[nulls], IpcWriteOptions::default()) {
        assert_eq!(read_bytes(&bytes, "arrow").unwrap().rows(), 1_234_567);
        refused(&with_number(&bytes, 1_234_567, 1 << 50), "arrow", &["more than 4294967295 rows"]);
        refused(&with_number(&bytes, 1_234_567, -1), "arrow", &["rows"]);
        refused(&with_number(&bytes, 1_234_567, 1 << 31), "arrow", &["more rows than a file of its length"]);
    }
}

#[test]
fn packed_buffers_and_messages_are_as_long_as_they_claim() {
    let column = || StringArray::from_iter_values((0..777).map(|row| format!("{row:011}")));
    let text = 777 * 11;
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
        for bytes in ipc(&[batch(vec![("k", Arc::new(column()))])], options) {
            assert_eq!(read_bytes(&bytes, "arrow").unwrap().rows(), 777);
            refused(&with_number(&bytes, text, 1 << 42), "arrow", &["memory"]);
            refused(&with_number(&bytes, text, -2), "arrow", &["fewer than no bytes"]);
            refused(&with_number(&bytes, text, text - 1), "arrow", &["cannot be read"]);
        }
    }
    for bytes in ipc(&[batch(vec![("k", Arc::new(column()))])], IpcWriteOptions::default()) {
        // The length of a text in its message; that of a message; where the file form has its blocks.
        let body = bytes.windows(8).map(|word| i64::from_le_bytes(word.try_into().unwrap()));
        let body = body.filter(|number| (text + 4..text + 4096).contains(number) && number % 64 == 0).max().unwrap();
        for claimed in [1 << 42, i64::MAX, -1] {
            refused(&with_number(&bytes, text, claimed), "arrow", &["t.arrow"]);
            refused(&with_number(&bytes, body, claimed), "arrow", &["t.arrow"]);
        }
    }
}

fn spec() -> KeySpec {
    let column = KeyColumn { name: "k".into(), header: "k".into(), profile: Profile::None };
    KeySpec { columns: vec![column], duplicates: Duplicates::All, nulls: Nulls::Skip, allow_unreadable: false }
}

/// Columns that hold a value once for all of so many rows.
fn shared(value: &str, rows: usize) -> Vec<ArrayRef> {
    let values: ArrayRef = Arc::new(StringArray::from(vec![value]));
    let dictionary = DictionaryArray::new(Int32Array::from(vec![0; rows]), values.clone());
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![rows as i32]), &values).unwrap();
    vec![Arc::new(dictionary), Arc::new(runs)]
}

#[test]
fn a_value_that_is_kept_once_is_weighed_in_every_key() {
    for column in shared(&"x".repeat(10 << 20), 60_000) {
        let [bytes, _] = ipc(&[batch(vec![("k", column)])], IpcWriteOptions::default());
        let table = read_bytes(&bytes, "arrow").unwrap();
        assert_eq!(table.rows(), 60_000);
        // No batch has more of it than one that was read from text.
        assert!(table.batches().iter().all(|batch| batch.num_rows() <= 6));
        let Err(Error::Input(text)) = Keys::build(&table, &spec()) else { panic!("keys of 600 GB were built") };
        assert!(text.contains("t.arrow") && text.contains("memory"), "{text}");
    }
    for column in shared("Jane", 200_000) {
        let [bytes, _] = ipc(&[batch(vec![("k", column)])], IpcWriteOptions::default());
        let (keys, _) = Keys::build(&read_bytes(&bytes, "arrow").unwrap(), &spec()).unwrap();
        assert_eq!((keys.len(), keys.rows(0).len()), (1, 200_000));
    }
}

/// Views of one value in so many rows.
fn views(value: &str, rows: usize) -> BinaryViewArray {
    let mut views = BinaryViewBuilder::new();
    let block = views.append_block(value.as_bytes().to_vec().into());
    (0..rows).for_each(|_| views.try_append_view(block, 0, value.len() as u32).unwrap());
    views.finish()
}

#[test]
fn what_views_show_is_weighed_in_every_row() {
    for codec in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let options = || IpcWriteOptions::default().try_with_compression(codec).unwrap();
        let in_list = |views: BinaryViewArray| {
            let field = Arc::new(Field::new("v", DataType::BinaryView, true));
            StructArray::try_new(vec![field].into(), vec![Arc::new(views)], None).unwrap()
        };
        let value = "x".repeat(1 << 20);
        for column in [Arc::new(views(&value, 60_000)) as ArrayRef, Arc::new(in_list(views(&value, 60_000)))] {
            for bytes in ipc(&[batch(vec![("a", Arc::new(NullArray::new(60_000))), ("k", column)])], options()) {
                refused(&bytes, "arrow", &["more than the 268 MB of memory"]);
            }
        }
        let ten = Arc::new(views(&value, 10));
        for bytes in ipc(&[batch(vec![("k", ten)])], options()) {
            assert_eq!(read_bytes(&bytes, "arrow").unwrap().rows(), 10);
        }
    }
}

#[test]
fn adding_to_a_dictionary_has_an_end() {
    let values: Vec<String> = (0..3000).map(|n| format!("{n}{}", "x".repeat(20_000))).collect();
    let part = |count: usize| -> RecordBatch {
        let values = StringArray::from_iter_values(&values[..count]);
        let keys = Int32Array::from(vec![count as i32 - 1]);
        batch(vec![("k", Arc::new(DictionaryArray::new(keys, Arc::new(values))))])
    };
    let handling = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    let stream = |steps: usize| {
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new_with_options(&mut bytes, &part(1).schema(), handling.clone()).unwrap();
        (1..=steps).for_each(|count| writer.write(&part(count)).unwrap());
        writer.finish().unwrap();
        drop(writer);
        bytes
    };
    assert_eq!(read_bytes(&stream(20), "arrow").unwrap().rows(), 20);
    // Whoever does not keep the batches has it copied all the same.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.arrow");
    std::fs::write(&path, stream(1000)).unwrap();
    let mut stream = read::open(&path, &options(MEMORY / 4), 1 << 20).unwrap();
    let end = std::iter::from_fn(|| stream.next_batch().transpose()).find_map(Result::err);
    let Some(Error::Input(text)) = end else { panic!("{end:?} should have been a refusal") };
    assert!(text.contains("adds to its dictionaries too often"), "{text}");
}

#[test]
fn types_are_bounded() {
    let nested = |levels: usize| {
        let inner = Field::new("k", DataType::Int32, true);
        let field = (0..levels).fold(inner, |inner, _| Field::new("s", DataType::Struct(vec![inner].into()), true));
        let batch = RecordBatch::new_empty(Arc::new(Schema::new_with_metadata(vec![field], HashMap::new())));
        ipc(&[batch], IpcWriteOptions::default())
    };
    nested(20).iter().for_each(|bytes| assert_eq!(read_bytes(bytes, "arrow").unwrap().rows(), 0));
    nested(40).iter().for_each(|bytes| refused(bytes, "arrow", &["levels deep"]));
    nested(500).iter().for_each(|bytes| refused(bytes, "arrow", &["cannot be read"]));
    // Bytes of a negative length.
    let fixed = batch(vec![("k", Arc::new(FixedSizeBinaryArray::new_null(12_345, 0)))]);
    for mut bytes in ipc(&[fixed], IpcWriteOptions::default()) {
        assert_eq!(read_bytes(&bytes, "arrow").unwrap().rows(), 0);
        let mut at = 0;
        while let Some(found) = bytes[at..].windows(4).position(|word| word == 12_345i32.to_le_bytes()) {
            at += found;
            bytes[at..at + 4].copy_from_slice(&(-12_345i32).to_le_bytes());
        }
        refused(&bytes, "arrow", &["t.arrow"]);
    }
    let view = DataType::ListView(Arc::new(Field::new("item", DataType::Int32, true)));
    let empty = RecordBatch::new_empty(Arc::new(Schema::new(vec![Field::new("k", view, true)])));
    ipc(&[empty], IpcWriteOptions::default()).iter().for_each(|bytes| refused(bytes, "arrow", &["list view"]));
}

// Text.

#[test]
fn records_have_an_end() {
    let endless = gzip(|out| {
        out.write_all(b"k\nAnn\n").unwrap();
        mebibytes(out, b'x', 1 << 10);
    });
    refused(&endless, "csv.gz", &["line 3", "longer than a record may be"]);
    let quoted = gzip(|out| {
        out.write_all(b"k\nAnn\n\"").unwrap();
        (0..1 << 23).for_each(|_| out.write_all(b"x,y\n\n\n\n\n\n\n\n\n").unwrap());
    });
    refused(&quoted, "csv.gz", &["line 3", "a quote left open"]);
    refused(&gzip(|out| mebibytes(out, b'\n', 1 << 10)), "csv.gz", &["line 1"]);
    refused(&gzip(|out| mebibytes(out, b',', 1 << 10)), "csv.gz", &["line 1", "header 16 MiB"]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.dat.gz");
    std::fs::write(&path, gzip(|out| mebibytes(out, b' ', 1 << 10))).unwrap();
    let Err(Error::Input(text)) = read_dat(&path) else { panic!("an endless line was read") };
    assert!(text.contains("line 1") && text.contains("longer than a line may be"), "{text}");
}

#[test]
fn texts_are_no_larger_than_the_memory() {
    let rows = gzip(|out| {
        out.write_all(b"k\n").unwrap();
        let block = b"a\n".repeat(1 << 19);
        (0..200).for_each(|_| out.write_all(&block).unwrap());
    });
    refused(&rows, "csv.gz", &["more than the 268 MB of memory"]);
    let header: Vec<_> = (0..100_001).map(|column| column.to_string()).collect();
    refused(header.join(",").as_bytes(), "csv", &["more than 100000 columns"]);
    let table = read_bytes(header[1..].join(",").as_bytes(), "csv").unwrap();
    assert_eq!((table.schema().fields().len(), table.rows()), (100_000, 0));
    let budget = Budget { rows: 2, ..Budget::default() };
    let options = ReadOptions { budget, ..ReadOptions::default() };
    assert!(read::read_csv(&b"k\n1\n2\n"[..], "t.csv", &options).is_ok());
    assert!(read::read_csv(&b"k\n1\n2\n3\n"[..], "t.csv", &options).is_err());
}

#[test]
fn views_are_texts_of_their_own() {
    let views = StringViewArray::from_iter([Some("Ann"), None, Some("a text that does not fit into a view")]);
    let [bytes, _] = ipc(&[batch(vec![("k", Arc::new(views))])], IpcWriteOptions::default());
    let (keys, _) = Keys::build(&read_bytes(&bytes, "arrow").unwrap(), &spec()).unwrap();
    assert_eq!(keys.len(), 2);
}
