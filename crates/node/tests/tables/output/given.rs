//! Columns that one party gives, as another one gets them, and joins of them.

use std::sync::Arc;

use arrow_array::*;
use proptest::prelude::*;
use tacita_core::Error;
use tacita_node::table::output;
use tacita_node::table::{PayloadEncoder, PayloadSchema, PeerRows, Selection, Table, TableKeys};

use super::{csv, keys, typed};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// The rows that one party gives, as another one gets them.
fn give(table: &Table, keys: &TableKeys, columns: &[&str], common: &[usize]) -> PeerRows {
    let pairs: Vec<_> = columns.iter().map(|name| (name.to_string(), name.to_string())).collect();
    let encoder = PayloadEncoder::new(table, keys, &pairs, None).unwrap();
    let schema = PayloadSchema::decode(&encoder.schema().encode(), "insurer", &names(columns)).unwrap();
    assert_eq!(&schema, encoder.schema());
    let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
    for &key in common {
        keys.rows(key).iter().for_each(|&row| encoder.encode_row(row, &mut bytes));
        offsets.push(bytes.len() / schema.row_bytes());
    }
    PeerRows { rows: schema.decode_rows(&bytes, "insurer").unwrap(), offsets }
}

#[test]
fn given_columns_keep_types_and_absent_values() {
    let table = typed();
    let columns = ["text", "integer", "unsigned", "number", "boolean", "date", "local", "utc", "decimal"];
    let given = give(&table, &keys(&table, "k"), &columns, &[1, 0]);
    for (i, name) in columns.iter().enumerate() {
        let theirs = given.rows.column(i);
        assert_eq!(given.rows.schema().field(i).name(), &format!("insurer.{name}"));
        let ours = table.batches()[0].column_by_name(name).unwrap();
        let ours = arrow_cast::cast(ours, theirs.data_type()).unwrap();
        assert_eq!(theirs.slice(1, 1).as_ref(), ours.slice(0, 1).as_ref(), "{name}");
        assert_eq!((theirs.null_count(), theirs.is_null(0)), (1, true), "{name}");
        if *name != "text" {
            assert_eq!(theirs.data_type(), table.schema().field_with_name(name).unwrap().data_type());
        }
    }
}

#[test]
fn any_time_zone_is_given_as_utc() {
    let stamps = TimestampSecondArray::from(vec![5]).with_timezone("Europe/Zurich");
    let columns: [(&str, ArrayRef); 2] = [("k", Arc::new(StringArray::from(vec!["a"]))), ("t", Arc::new(stamps))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let table = Table::new("t", batch.schema(), vec![batch]).unwrap();
    let given = give(&table, &keys(&table, "k"), &["t"], &[0]);
    let expected = TimestampSecondArray::from(vec![5]).with_timezone("UTC");
    assert_eq!(given.rows.column(0).as_ref(), &expected as &dyn Array);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.json");
    output::write(&Selection::all(&table), &path, None).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "[{\"k\":\"a\",\"t\":\"1970-01-01T00:00:05Z\"}]\n");
}

/// The text of a number is the same at both parties, and no time of day is lost on the way.
#[test]
fn what_is_given_keeps_its_meaning() {
    let table = |column: ArrayRef| {
        let columns: [(&str, ArrayRef); 2] = [("k", Arc::new(StringArray::from(vec!["a", "b"]))), ("v", column)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        Table::new("t", batch.schema(), vec![batch]).unwrap()
    };
    let floats = table(Arc::new(Float32Array::from(vec![0.1, 16777216.0])));
    let given = give(&floats, &keys(&floats, "k"), &["v"], &[0, 1]);
    assert_eq!(given.rows.column(0).as_ref(), &Float64Array::from(vec![0.1, 16777216.0]) as &dyn Array);
    let day = 86_400_000;
    let dates = table(Arc::new(Date64Array::from(vec![day, -day])));
    let given = give(&dates, &keys(&dates, "k"), &["v"], &[0, 1]);
    assert_eq!(given.rows.column(0).as_ref(), &Date32Array::from(vec![1, -1]) as &dyn Array);
    let times = table(Arc::new(Date64Array::from(vec![day, day + 1])));
    let error = PayloadEncoder::new(&times, &keys(&times, "k"), &[("v".into(), "v".into())], None).unwrap_err();
    assert!(error.to_string().contains("row 2, column \"v\": a date with a time of day"), "{error}");
}

#[test]
fn joins_have_a_line_for_each_pair() {
    let own = csv("id,name\n1,b\n2,a\n3,A\n4,z\n");
    let theirs = csv("name,cost\na,10\nc,20\nB,30\nA,40\n");
    let (own_keys, their_keys) = (keys(&own, "name"), keys(&theirs, "name"));
    let given = give(&theirs, &their_keys, &["cost"], &[0, 1]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    let joined = Selection::join(&own, &own_keys, &[0, 1], std::slice::from_ref(&given)).unwrap();
    output::write(&joined, &path, None).unwrap();
    let expected = "id,name,insurer.cost\n2,a,10\n2,a,40\n3,A,10\n3,A,40\n1,b,30\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    // Two givers: every combination, the last one fastest.
    let schema = PayloadSchema::decode(
        &PayloadEncoder::new(&theirs, &their_keys, &[("cost".into(), "cost".into())], None).unwrap().schema().encode(),
        "bank",
        &names(&["cost"]),
    )
    .unwrap();
    let mut bytes = Vec::new();
    let encoder = PayloadEncoder::new(&theirs, &their_keys, &[("cost".into(), "cost".into())], None).unwrap();
    their_keys.rows(0).iter().for_each(|&row| encoder.encode_row(row, &mut bytes));
    let bank = PeerRows { rows: schema.decode_rows(&bytes, "bank").unwrap(), offsets: vec![0, 2, 2] };
    let joined = Selection::join(&own, &own_keys, &[0, 1], &[given.clone(), bank]).unwrap();
    output::write(&joined, &path, None).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().nth(2), Some("2,a,10,40"));
    assert_eq!(text.lines().count(), 1 + 2 * 2 * 2, "b has no row at the bank");

    assert!(Selection::join(&own, &own_keys, &[0], std::slice::from_ref(&given)).is_err(), "offsets that do not fit");
    let twice = [given.clone(), given];
    assert!(Selection::join(&own, &own_keys, &[0, 1], &twice).unwrap_err().to_string().contains("insurer.cost"));
}

#[test]
fn only_rows_with_keys_decide_the_length() {
    let table = csv(&format!("name,note\na,xy\n,{}\n", "x".repeat(1000)));
    let keys = keys(&table, "name");
    let encoder = PayloadEncoder::new(&table, &keys, &[("note".into(), "note".into())], None).unwrap();
    assert_eq!(encoder.schema().row_bytes(), 1 + 4 + 2);
    let table = csv(&format!("name,note\na,{}\n", "x".repeat(2 << 20)));
    let keys = self::keys(&table, "name");
    let error = PayloadEncoder::new(&table, &keys, &[("note".into(), "note".into())], None).unwrap_err();
    assert!(error.to_string().contains("\"note\""), "{error}");
    let days = Date32Array::from(vec![i32::MAX]);
    let columns: [(&str, ArrayRef); 2] = [("k", Arc::new(StringArray::from(vec!["a"]))), ("d", Arc::new(days))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let table = Table::new("t", batch.schema(), vec![batch]).unwrap();
    let keys = self::keys(&table, "k");
    let error = PayloadEncoder::new(&table, &keys, &[("d".into(), "d".into())], None).unwrap_err();
    assert!(error.to_string().starts_with("t, row 1: the date"), "{error}");
}

/// A schema of one column, byte by byte.
fn schema_bytes(code: [u8; 3], bytes: u32, name: &[u8]) -> Vec<u8> {
    let mut out = vec![1, 1, 0];
    out.extend(code);
    out.extend(bytes.to_le_bytes());
    out.extend((name.len() as u16).to_le_bytes());
    out.extend(name);
    out
}

#[test]
fn hostile_schemas_are_refused() {
    let decode = |bytes: &[u8]| PayloadSchema::decode(bytes, "insurer", &names(&["cost"]));
    let good = schema_bytes([2, 0, 0], 8, b"cost");
    assert_eq!(decode(&good).unwrap().encode(), good);
    let mut bad: Vec<Vec<u8>> = (0..good.len()).map(|n| good[..n].to_vec()).collect();
    bad.push([&good[..], b"x"].concat());
    bad.push([&[2][..], &good[1..]].concat());
    bad.push([&[1, 0xFF, 0xFF][..], &good[3..]].concat());
    bad.push([&[1, 2, 0][..], &good[3..], &good[3..]].concat());
    bad.push(vec![1, 0, 0]);
    for (code, bytes) in [
        ([0, 0, 0], 8),
        ([9, 0, 0], 8),
        ([2, 1, 0], 8),
        ([2, 0, 0], 9),
        ([1, 0, 0], 3),
        ([1, 0, 0], u32::MAX),
        ([1, 0, 0], 1 << 20),
        ([7, 4, 0], 8),
        ([7, 0, 2], 8),
        ([8, 0, 0], 16),
        ([8, 39, 0], 16),
        ([8, 5, 6], 16),
        ([8, 5, 0x80], 16),
    ] {
        bad.push(schema_bytes(code, bytes, b"cost"));
    }
    let long = [b'x'; 300];
    for name in [&b""[..], b"other", b"c\xFFst", b"co\x1b[31mst", "co\u{202e}st".as_bytes(), &long] {
        bad.push(schema_bytes([2, 0, 0], 8, name));
    }
    for bytes in bad {
        match decode(&bytes) {
            Err(Error::Protocol { peer, .. }) => assert_eq!(peer, "insurer"),
            other => panic!("{bytes:?} gave {other:?}"),
        }
    }
    // Names that cannot be shown are refused also where the terms have them.
    let name = "co\u{202e}st";
    assert!(PayloadSchema::decode(&schema_bytes([2, 0, 0], 8, name.as_bytes()), "insurer", &names(&[name])).is_err());
}

#[test]
fn hostile_rows_are_refused() {
    let refused = |code: [u8; 3], row: &[u8]| {
        let bytes = schema_bytes(code, row.len() as u32 - 1, b"cost");
        let schema = PayloadSchema::decode(&bytes, "insurer", &names(&["cost"])).unwrap();
        matches!(schema.decode_rows(row, "insurer"), Err(Error::Protocol { .. }))
    };
    let text = |present: u8, length: u32, bytes: &[u8]| [&[present][..], &length.to_le_bytes(), bytes].concat();
    assert!(!refused([1, 0, 0], &text(1, 1, b"a\0\0")));
    assert!(!refused([1, 0, 0], &text(0, 0, b"\0\0\0")));
    for row in [
        text(2, 1, b"a\0\0"),
        text(0, 1, b"a\0\0"),
        text(0, 0, b"a\0\0"),
        text(1, 4, b"aaa"),
        text(1, u32::MAX, b"aaa"),
        text(1, 1, b"aa\0"),
        text(1, 1, b"\xFF\0\0"),
    ] {
        assert!(refused([1, 0, 0], &row), "{row:?}");
    }
    assert!(refused([5, 0, 0], &[1, 2]));
    let number = |bytes: &[u8]| [&[1][..], bytes].concat();
    assert!(refused([6, 0, 0], &number(&i32::MIN.to_le_bytes())));
    for unit in 0..4 {
        let refuses = |value: i64| refused([7, unit, 1], &number(&value.to_le_bytes()));
        assert_eq!((refuses(i64::MIN), refuses(i64::MAX), refuses(0)), (unit < 3, unit < 3, false), "{unit}");
    }
    assert!(refused([8, 3, 0], &number(&1000i128.to_le_bytes())));
    assert!(!refused([8, 3, 0], &number(&(-999i128).to_le_bytes())));
    let schema = PayloadSchema::decode(&schema_bytes([2, 0, 0], 8, b"cost"), "insurer", &names(&["cost"])).unwrap();
    assert!(schema.decode_rows(&[0; 10], "insurer").is_err());
    assert_eq!(schema.decode_rows(&[], "insurer").unwrap().num_rows(), 0);
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..40),
        rows in prop::collection::vec(0u8..3, 0..64),
        code in 1u8..9,
        width in 0u32..20,
    ) {
        let _ = PayloadSchema::decode(&bytes, "p", &names(&["cost"]));
        bytes.splice(0..0, schema_bytes([code, 0, 0], width, b"cost"));
        let _ = PayloadSchema::decode(&bytes, "p", &names(&["cost"]));
        if let Ok(schema) = PayloadSchema::decode(&schema_bytes([code, 3, 0], width, b"cost"), "p", &names(&["cost"])) {
            let _ = schema.decode_rows(&rows, "p");
        }
    }

    #[test]
    fn any_text_is_given(values in prop::collection::vec(prop::option::of(".{0,6}"), 1..20)) {
        let ids: StringArray = (0..values.len()).map(|n| Some(format!("{n:03}"))).collect();
        let column: StringArray = values.iter().map(|value| value.as_deref()).collect();
        let columns: [(&str, ArrayRef); 2] = [("k", Arc::new(ids)), ("v", Arc::new(column.clone()))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let table = Table::new("t", batch.schema(), vec![batch]).unwrap();
        let all: Vec<_> = (0..values.len()).collect();
        let given = give(&table, &keys(&table, "k"), &["v"], &all);
        let back = arrow_cast::cast(given.rows.column(0), column.data_type()).unwrap();
        prop_assert_eq!(back.as_ref(), &column as &dyn Array);
    }
}

/// The rows of 25 parties for one key are combined as they are written: at once, the lines would take 3.3 GiB.
#[test]
fn combinations_take_no_memory_until_they_are_written() {
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:").map(str::to_owned));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default()
    };
    let own = csv("name\na\n");
    let given = |giver: usize| {
        let rows: ArrayRef = Arc::new(Int64Array::from(vec![0, 1]));
        let name = format!("p{giver}.n");
        PeerRows { rows: RecordBatch::try_from_iter([(name, rows)]).unwrap(), offsets: vec![0, 2] }
    };
    let givers: Vec<PeerRows> = (0..25).map(given).collect();
    let joined = Selection::join(&own, &keys(&own, "name"), &[0], &givers).unwrap();
    assert_eq!(joined.rows(), 1 << 25);
    // The last party's rows vary fastest: the line's number in binary.
    let batch = joined.batches().nth(2).unwrap().unwrap();
    let first = 2 * batch.num_rows();
    let number = |row: usize| {
        batch.columns()[1..].iter().fold(0, |number, column| {
            let column = column.as_any().downcast_ref::<Int64Array>().unwrap();
            2 * number + column.value(row) as usize
        })
    };
    assert!((0..batch.num_rows()).all(|row| number(row) == first + row));
    assert!(peak() < 1 << 20, "{} kB", peak());
    let more: Vec<PeerRows> = (0..27).map(given).collect();
    let error = Selection::join(&own, &keys(&own, "name"), &[0], &more).unwrap_err().to_string();
    assert!(error.contains("more than 100000000 rows"), "{error}");
}

/// One long row among short ones, beside many own rows: a batch is bounded by that row, not by the average.
#[test]
fn a_batch_is_bounded_by_the_longest_row_that_is_given() {
    const LONG: usize = 1 << 20;
    let own = csv(&format!("name\n{}b\n", "a\n".repeat(1000)));
    let rows: ArrayRef = Arc::new(StringArray::from_iter_values(
        std::iter::once("x".repeat(LONG)).chain((0..4095).map(|number| number.to_string())),
    ));
    let rows = RecordBatch::try_from_iter([("p.text", rows)]).unwrap();
    let joined =
        Selection::join(&own, &keys(&own, "name"), &[0, 1], &[PeerRows { rows, offsets: vec![0, 1, 4096] }]).unwrap();
    assert_eq!(joined.rows(), 1000 + 4095);
    let first = joined.batches().next().unwrap().unwrap();
    assert!(first.num_rows() * LONG <= 128 << 20, "{} rows", first.num_rows());
}
