//! Output: formats, joins, given columns, and files that appear whole or not at all.

mod given;

use std::path::Path;
use std::sync::Arc;

use arrow_array::*;
use arrow_schema::DataType;
use tacita_core::Error;
use tacita_node::table::output::{self, Format};
use tacita_node::table::{
    Duplicates, KeyColumn, KeySpec, NullWords, Nulls, ReadOptions, Selection, Table, TableKeys, read,
};

fn csv(text: &str) -> Table {
    read::read_csv(text.as_bytes(), "people.csv", &ReadOptions::default()).unwrap()
}

fn keys(table: &Table, header: &str) -> TableKeys {
    let column = KeyColumn { name: header.into(), header: header.into(), profile: "text".parse().unwrap() };
    let spec = KeySpec {
        columns: vec![column],
        duplicates: Duplicates::All,
        nulls: Nulls::Skip,
        words: NullWords::default(),
        allow_unreadable: false,
    };
    TableKeys::build(table, &spec).unwrap().0
}

/// A table with a column of every type that can be given, and two rows of which the second is absent.
fn typed() -> Table {
    let stamps = TimestampMicrosecondArray::from(vec![Some(1_500_000), None]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("k", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("text", Arc::new(StringViewArray::from(vec![Some("é\n"), None]))),
        ("integer", Arc::new(Int64Array::from(vec![Some(-5), None]))),
        ("unsigned", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
        ("number", Arc::new(Float64Array::from(vec![Some(0.1), None]))),
        ("boolean", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("date", Arc::new(Date32Array::from(vec![Some(-1), None]))),
        ("local", Arc::new(stamps.clone())),
        ("utc", Arc::new(stamps.with_timezone("UTC"))),
        ("decimal", Arc::new(Decimal128Array::from(vec![Some(-1250), None]).with_precision_and_scale(9, 2).unwrap())),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    Table::new("typed", batch.schema(), vec![batch]).unwrap()
}

#[test]
fn typed_tables_keep_their_schema() {
    let directory = tempfile::tempdir().unwrap();
    let table = typed();
    for ending in ["parquet", "arrow"] {
        let path = directory.path().join(format!("t.{ending}"));
        output::write(&Selection::of_rows(&table, vec![1, 0]).unwrap(), &path, None).unwrap();
        let back = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(back.schema().fields(), table.schema().fields(), "{ending}");
        let again = Selection::of_rows(&back, vec![1, 0]).unwrap().to_table().unwrap();
        assert_eq!(again.batches(), table.batches(), "{ending}");
    }
    let path = directory.path().join("t.csv");
    output::write(&Selection::all(&table), &path, None).unwrap();
    let expected = "k,text,integer,unsigned,number,boolean,date,local,utc,decimal\n\
                    a,\"é\n\",-5,18446744073709551615,0.1,true,1969-12-31,1970-01-01T00:00:01.5,1970-01-01T00:00:01.5Z,-12.5\n\
                    b,,,,,,,,,\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    let path = directory.path().join("t.json");
    output::write(&Selection::all(&table), &path, None).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!((&json[0]["integer"], &json[0]["boolean"], &json[1]["text"]), (&(-5).into(), &true.into(), &().into()));
    assert_eq!((&json[0]["date"], json.as_array().map(Vec::len)), (&"1969-12-31".into(), Some(2)));
    assert_eq!(json[0]["utc"], "1970-01-01T00:00:01.5Z");
    // No rows are a table too.
    for ending in ["csv", "parquet", "arrow", "json"] {
        let path = directory.path().join(format!("none.{ending}"));
        output::write(&Selection::of_rows(&table, vec![]).unwrap(), &path, None).unwrap();
        let text = std::fs::read(&path).unwrap();
        match ending {
            "json" => assert_eq!(text, b"[]\n"),
            _ => assert_eq!(read(&path, &ReadOptions::default()).unwrap().rows(), 0),
        }
    }
}

/// No digit is lost of numbers that most readers of JSON would round.
#[test]
fn long_numbers_are_text_in_json() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("signed", Arc::new(Int64Array::from(vec![Some((1 << 53) - 1), Some(1 << 53), Some(i64::MIN), None]))),
        ("unsigned", Arc::new(UInt64Array::from(vec![Some(7), Some(u64::MAX), None, Some(0)]))),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from(vec![Some(-125), Some(12_345_678_901_234_567), Some(5), None])
                    .with_precision_and_scale(20, 2)
                    .unwrap(),
            ),
        ),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<types::Int64Type, _, _>([
                Some(vec![Some(1), Some(i64::MAX)]),
                None,
                None,
                None,
            ])),
        ),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    let table = Table::new("t", batch.schema(), vec![batch]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.json");
    output::write(&Selection::all(&table), &path, None).unwrap();
    let expected = "[{\"signed\":9007199254740991,\"unsigned\":7,\"decimal\":-1.25,\"list\":[1,\"9223372036854775807\"]},\
        {\"signed\":\"9007199254740992\",\"unsigned\":\"18446744073709551615\",\"decimal\":\"123456789012345.67\",\"list\":null},\
        {\"signed\":\"-9223372036854775808\",\"unsigned\":null,\"decimal\":0.05,\"list\":null},\
        {\"signed\":null,\"unsigned\":0,\"decimal\":null,\"list\":null}]\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn text_can_be_packed() {
    let directory = tempfile::tempdir().unwrap();
    let table = csv("a,b\n1,x\n2,\"y,z\"\n");
    for ending in ["csv", "json"] {
        let (plain, packed) =
            (directory.path().join(format!("t.{ending}")), directory.path().join(format!("t.{ending}.gz")));
        for path in [&plain, &packed] {
            output::write(&Selection::all(&table), path, None).unwrap();
        }
        let mut text = String::new();
        let file = std::fs::File::open(&packed).unwrap();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
        assert_eq!(text, std::fs::read_to_string(&plain).unwrap());
    }
    assert_eq!(read(&directory.path().join("t.csv.gz"), &ReadOptions::default()).unwrap().rows(), 2);
    let wrong = output::write(&Selection::all(&table), &directory.path().join("t.parquet.gz"), None);
    assert!(matches!(wrong, Err(Error::Input(text)) if text.contains("(each also .gz)")));
}

#[test]
fn columns_without_a_name_are_kept_in_typed_files() {
    let column = |name: &str| (name.to_owned(), Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef, true);
    let batch = RecordBatch::try_from_iter_with_nullable([column(""), column("a")]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let names = |table: &Table| table.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    let path = directory.path().join("t.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let table = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(names(&table), ["column_1", "a"]);
    assert_eq!(names(&Table::new("t", batch.schema(), vec![batch]).unwrap()), ["column_1", "a"]);
    let again = directory.path().join("again.arrow");
    output::write(&Selection::of_rows(&table, vec![1]).unwrap(), &again, None).unwrap();
    assert_eq!(names(&read(&again, &ReadOptions::default()).unwrap()), ["column_1", "a"]);
}

#[test]
fn csv_is_as_it_was_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    let text = "a,b\n\" x \",\"say \"\"hi\"\"\"\n\"1,5\",\n";
    output::write(&Selection::all(&csv(text)), &path, None).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text.replace("\" x \"", " x "));
    // One empty value is not a blank line.
    output::write(&Selection::all(&csv("a\n\"\"\nx\n")), &path, None).unwrap();
    assert_eq!(read(&path, &ReadOptions::default()).unwrap().rows(), 2);
    output::write(
        &Selection::all(
            &output::numbers(&[("count", "756".into()), ("sum", "1237940039285380274899124224".into())]).unwrap(),
        ),
        &path,
        None,
    )
    .unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "count,sum\n756,1237940039285380274899124224\n");
}

#[test]
fn files_appear_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    let left = || std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(output::check_writable(&path, None).unwrap(), Format::Csv);
    assert_eq!(left(), 0, "a check leaves nothing");
    std::fs::write(&path, "before").unwrap();
    // A list in a Parquet file is fine, but an Arrow union cannot be written there: the writing fails half-way.
    let lists = ListArray::from_iter_primitive::<types::Int8Type, _, _>([Some([Some(1)])]);
    let batch = RecordBatch::try_from_iter([("k", Arc::new(lists) as ArrayRef)]).unwrap();
    let table = Table::new("t", batch.schema(), vec![batch]).unwrap();
    output::write(&Selection::all(&table), &path, None).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "k\n[1]\n");
    let intervals: ArrayRef =
        Arc::new(IntervalMonthDayNanoArray::from(vec![types::IntervalMonthDayNano::new(1, 2, 3)]));
    let batch = RecordBatch::try_from_iter([("k", intervals)]).unwrap();
    let table = Table::new("t", batch.schema(), vec![batch]).unwrap();
    let error = output::write(&Selection::all(&table), &path, Some(Format::Parquet)).unwrap_err();
    assert!(matches!(error, Error::Input(_)), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "k\n[1]\n", "the old file is untouched");
    assert_eq!(left(), 1, "nothing is left behind");

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let plain = directory.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
        let link = directory.path().join("link.csv");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        output::write(&Selection::all(&csv("a\n1\n")), &link, None).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\n1\n");
        output::write(&Selection::all(&csv("a\n1\n")), Path::new("/dev/null"), Some(Format::Csv)).unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
    for (path, expected) in [
        (directory.path().join("absent/t.csv"), "there is no directory"),
        (directory.path().join("t.ods"), "known endings are .csv and .json"),
        (directory.path().join("t.parquet.gz"), "known endings"),
        (directory.path().to_path_buf(), "is a directory; name a file in it"),
    ] {
        let text = output::check_writable(&path, None).unwrap_err().to_string();
        assert!(text.contains(expected) && !text.contains('\n'), "{text}");
    }
    assert!(output::check_writable(directory.path(), Some(Format::Csv)).is_err());
    assert_eq!(output::check_writable(Path::new("/dev/null"), None).unwrap(), Format::Csv);
    assert!("xml".parse::<Format>().is_err());
}

/// Parquet has no decimals of tens and hundreds.
#[test]
fn decimals_of_hundreds_are_stored_as_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    let decimal = |values: Vec<i128>, precision, scale| {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap()) as ArrayRef
    };
    for (precision, kind) in [(10, DataType::Decimal128(12, 0)), (38, DataType::Decimal256(40, 0))] {
        let batch = RecordBatch::try_from_iter([("d", decimal(vec![12, -3], precision, -2))]).unwrap();
        let table = Table::new("t", batch.schema(), vec![batch]).unwrap();
        output::write(&Selection::all(&table), &path, None).unwrap();
        let stored = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(stored.schema().field(0).data_type(), &kind);
        let csv = directory.path().join("t.csv");
        output::write(&Selection::all(&stored), &csv, None).unwrap();
        assert_eq!(std::fs::read_to_string(&csv).unwrap(), "d\n1200\n-300\n");
    }
}
