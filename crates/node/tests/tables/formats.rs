//! Parquet as programs write it: every codec and encoding, of every type, gives the rows that were written.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, Int32Builder, ListBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use tacita_node::table::{ReadOptions, Table, read};

const ROWS: i64 = 3000;

/// Columns of many types, with absent values, lists and long texts.
fn sample() -> RecordBatch {
    let some = |row: i64| (row % 7 != 3).then_some(row);
    let long = "long ".repeat(500);
    let text = |row: i64| match row % 100 {
        50 => long.clone(),
        _ => format!("person {}", row / 3),
    };
    let mut fixed = FixedSizeBinaryBuilder::new(6);
    let mut numbers = ListBuilder::new(Int32Builder::new());
    let mut words = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for row in 0..ROWS {
        match some(row) {
            Some(row) => fixed.append_value(&row.to_be_bytes()[2..]).unwrap(),
            None => fixed.append_null(),
        }
        (0..row % 5).for_each(|value| numbers.values().append_option(some(value + row).map(|value| value as i32)));
        numbers.append(row % 11 != 0);
        for inner in 0..row % 3 {
            (0..inner + 1).for_each(|value| words.values().values().append_value(format!("w{}", (row + value) % 13)));
            words.values().append(true);
        }
        words.append(row % 4 != 1);
    }
    let dictionary: DictionaryArray<Int32Type> =
        (0..ROWS).map(|row| some(row).map(|row| ["red", "green", "blue"][row as usize % 3])).collect();
    let decimals = Decimal128Array::from_iter((0..ROWS).map(|row| some(row).map(|row| i128::from(row) * 1_000_003)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("int", Arc::new(Int64Array::from_iter((0..ROWS).map(some)))),
        ("small", Arc::new(Int16Array::from_iter_values((0..ROWS).map(|row| row as i16)))),
        ("flag", Arc::new(BooleanArray::from_iter((0..ROWS).map(|row| some(row).map(|row| row % 2 == 0))))),
        ("float", Arc::new(Float64Array::from_iter((0..ROWS).map(|row| some(row).map(|row| row as f64 / 3.0))))),
        ("text", Arc::new(StringArray::from_iter((0..ROWS).map(|row| some(row).map(text))))),
        ("large", Arc::new(LargeStringArray::from_iter_values((0..ROWS).map(text)))),
        ("view", Arc::new(StringViewArray::from_iter((0..ROWS).map(|row| some(row).map(text))))),
        ("bytes", Arc::new(BinaryArray::from_iter((0..ROWS).map(|row| some(row).map(|row| row.to_le_bytes()))))),
        ("fixed", Arc::new(fixed.finish())),
        ("decimal", Arc::new(decimals.with_precision_and_scale(38, 4).unwrap())),
        ("day", Arc::new(Date32Array::from_iter((0..ROWS).map(|row| some(row).map(|row| row as i32))))),
        ("dictionary", Arc::new(dictionary)),
        ("nothing", Arc::new(NullArray::new(ROWS as usize))),
        ("numbers", Arc::new(numbers.finish())),
        ("words", Arc::new(words.finish())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
}

#[track_caller]
fn assert_read(path: &Path, sample: &RecordBatch, what: &str) {
    let table: Table = read(path, &ReadOptions::default()).unwrap();
    let back = concat_batches(table.schema(), table.batches()).unwrap();
    assert_eq!(back.num_columns(), sample.num_columns());
    for (column, field) in sample.schema().fields().iter().enumerate() {
        assert_eq!(back.column(column), sample.column(column), "{what}: {}", field.name());
    }
}

#[test]
fn parquet_in_every_codec_and_encoding() {
    let (sample, directory) = (sample(), tempfile::tempdir().unwrap());
    let path = directory.path().join("t.parquet");
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    // Dictionaries of a few values, dictionaries that are given up, and none: each with both versions, and one of them
    // with each codec and version.
    let dictionaries = [Some(1 << 20), Some(1 << 10), None];
    for (number, codec) in codecs.into_iter().enumerate() {
        for (place, version) in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0].into_iter().enumerate() {
            let some = if number == 0 { &dictionaries[..] } else { &dictionaries[(number + place) % 3..][..1] };
            for &dictionary_bytes in some {
                let properties = WriterProperties::builder()
                    .set_compression(codec)
                    .set_writer_version(version)
                    .set_dictionary_enabled(dictionary_bytes.is_some())
                    .set_dictionary_page_size_limit(dictionary_bytes.unwrap_or(1))
                    .set_data_page_size_limit(4096)
                    .set_write_batch_size(64)
                    .set_max_row_group_row_count(Some(1100))
                    .build();
                let file = File::create(&path).unwrap();
                let mut writer = ArrowWriter::try_new(file, sample.schema(), Some(properties)).unwrap();
                writer.write(&sample).unwrap();
                writer.close().unwrap();
                assert_read(&path, &sample, &format!("{codec:?}, {version:?}, {dictionary_bytes:?}"));
            }
        }
    }
    for encoding in [Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::PLAIN] {
        let texts = sample.project(&[4, 5, 6, 7]).unwrap();
        let builder = WriterProperties::builder().set_dictionary_enabled(false).set_encoding(encoding);
        let file = File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, texts.schema(), Some(builder.build())).unwrap();
        writer.write(&texts).unwrap();
        writer.close().unwrap();
        assert_read(&path, &texts, &format!("{encoding:?}"));
    }
    for encoding in [Encoding::DELTA_BYTE_ARRAY, Encoding::BYTE_STREAM_SPLIT] {
        let fixed = sample.project(&[8]).unwrap();
        let builder = WriterProperties::builder().set_dictionary_enabled(false).set_encoding(encoding);
        let file = File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, fixed.schema(), Some(builder.build())).unwrap();
        writer.write(&fixed).unwrap();
        writer.close().unwrap();
        assert_read(&path, &fixed, &format!("fixed, {encoding:?}"));
    }
}

#[test]
fn arrow_in_both_forms_and_every_codec() {
    let (sample, directory) = (sample(), tempfile::tempdir().unwrap());
    let path = directory.path().join("t.arrow");
    for codec in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let options = || IpcWriteOptions::default().try_with_compression(codec).unwrap();
        let file = File::create(&path).unwrap();
        let mut writer = FileWriter::try_new_with_options(file, &sample.schema(), options()).unwrap();
        writer.write(&sample).unwrap();
        writer.write(&sample.slice(5, 700)).unwrap();
        writer.finish().unwrap();
        let both = concat_batches(&sample.schema(), [&sample, &sample.slice(5, 700)]).unwrap();
        assert_read(&path, &both, &format!("file, {codec:?}"));
        let file = File::create(&path).unwrap();
        let mut writer = StreamWriter::try_new_with_options(file, &sample.schema(), options()).unwrap();
        writer.write(&sample).unwrap();
        writer.finish().unwrap();
        assert_read(&path, &sample, &format!("stream, {codec:?}"));
    }
}
