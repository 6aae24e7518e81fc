//! Parquet output, as other programs read it.

use std::sync::Arc;

use arrow_array::builder::{Date64Builder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMillisecondType};
use arrow_array::*;
use arrow_schema::{DataType, Field, TimeUnit};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::LogicalType;
use tacita_core::Error;
use tacita_node::table::{ReadOptions, Selection, Table, output, read};

/// Types that Parquet lacks come back as dates and times, whoever reads the file, in lists and maps too; and from
/// Parquet input that says in Arrow's own schema what they were.
#[test]
fn times_of_whole_seconds_and_dates_of_milliseconds_stay_times_and_dates_in_parquet() {
    const DAY: i64 = 86_400_000;
    let directory = tempfile::tempdir().unwrap();
    let times = || TimestampSecondArray::from(vec![Some(-1), None]);
    let times_of = |lengths: &[usize]| arrow_buffer::OffsetBuffer::<i32>::from_lengths(lengths.iter().copied());
    let item = |kind: DataType| Arc::new(Field::new("item", kind, true));
    let mut entries = MapBuilder::new(None, StringBuilder::new(), Date64Builder::new());
    entries.keys().append_value("born");
    entries.values().append_value(-DAY);
    entries.append(true).unwrap();
    entries.append(false).unwrap();
    let born = Arc::new(Field::new("born", DataType::Date64, true));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("stamp", Arc::new(times())),
        ("utc", Arc::new(times().with_timezone("UTC"))),
        ("time", Arc::new(Time32SecondArray::from(vec![Some(3661), None]))),
        ("date", Arc::new(Date64Array::from(vec![Some(-DAY), None]))),
        (
            "list",
            Arc::new(ListArray::new(
                item(DataType::Timestamp(TimeUnit::Second, None)),
                times_of(&[2, 0]),
                Arc::new(times()),
                None,
            )),
        ),
        ("map", Arc::new(entries.finish())),
        (
            "nested",
            Arc::new(StructArray::from(vec![(born, Arc::new(Date64Array::from(vec![Some(-DAY), None])) as ArrayRef)])),
        ),
        (
            "code",
            Arc::new(DictionaryArray::<Int32Type>::new(
                vec![Some(0), None].into(),
                Arc::new(Date64Array::from(vec![DAY])),
            )),
        ),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    let table = Table::new("times", batch.schema(), vec![batch]).unwrap();
    let path = directory.path().join("t.parquet");
    output::write(&Selection::all(&table), &path, None).unwrap();
    // As a reader sees it that knows nothing of Arrow.
    let file = std::fs::File::open(&path).unwrap();
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap();
    let columns = reader.parquet_schema().columns().to_vec();
    for column in columns.iter().filter(|column| column.name() != "key") {
        let kind = column.logical_type_ref();
        assert!(
            matches!(kind, Some(LogicalType::Date | LogicalType::Time { .. } | LogicalType::Timestamp { .. })),
            "{}: {kind:?}",
            column.path()
        );
    }
    let mut back = reader.build().unwrap().next().unwrap().unwrap();
    let utc = back.remove_column(1);
    assert_eq!(utc.data_type(), &DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())));
    assert_eq!(utc.as_primitive::<TimestampMillisecondType>().value(0), -1000);
    let cells = |batch: &RecordBatch| -> Vec<Vec<String>> {
        let cell = |column: &ArrayRef, row| arrow_cast::display::array_value_to_string(column, row).unwrap();
        (0..2).map(|row| batch.columns().iter().map(|column| cell(column, row)).collect()).collect()
    };
    assert_eq!(
        cells(&back)[0],
        [
            "1969-12-31T23:59:59",
            "01:01:01",
            "1969-12-31",
            "[1969-12-31T23:59:59, ]",
            "{born: 1969-12-31}",
            "{born: 1969-12-31}",
            "1970-01-02"
        ]
    );
    // Once more through a file of ours.
    let again = directory.path().join("again.parquet");
    output::write(&Selection::all(&read(&path, &ReadOptions::default()).unwrap()), &again, None).unwrap();
    assert_eq!(std::fs::read(&again).unwrap().len(), std::fs::read(&path).unwrap().len());
    // What does not fit is an error, and no empty cell.
    let far =
        RecordBatch::try_from_iter([("s", Arc::new(TimestampSecondArray::from(vec![i64::MAX])) as ArrayRef)]).unwrap();
    let far = Table::new("far", far.schema(), vec![far]).unwrap();
    assert!(matches!(output::write(&Selection::all(&far), &path, None), Err(Error::Input(_))));
}
