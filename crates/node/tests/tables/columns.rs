//! Columns that are more, or less, than they seem: the index of pandas, and types beyond Arrow's own, on every way into
//! a table.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, Int64Builder, ListBuilder};
use arrow_array::*;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use tacita_core::Error;
use tacita_node::table::baskets::all_columns;
use tacita_node::table::columns::is_index;
use tacita_node::table::inspect::{InspectOptions, look};
use tacita_node::table::{
    Duplicates, KeyColumn, KeySpec, NullWords, Nulls, PayloadEncoder, Profile, ReadOptions, Selection, Table,
    TableKeys, output, read,
};

/// A table on each way: in memory, and from files of each typed form.
fn ways(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Vec<(&'static str, tacita_core::Result<Table>)> {
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str| home.path().join(name);
    let create = |name: &str| File::create(file(name)).unwrap();
    let mut parquet = ArrowWriter::try_new(create("t.parquet"), schema.clone(), None).unwrap();
    parquet.write(&batch).unwrap();
    parquet.close().unwrap();
    let mut arrow = FileWriter::try_new(create("t.arrow"), schema).unwrap();
    arrow.write(&batch).unwrap();
    arrow.finish().unwrap();
    let mut stream = StreamWriter::try_new(create("s.arrow"), schema).unwrap();
    stream.write(&batch).unwrap();
    stream.finish().unwrap();
    let from = |name: &str| read(&file(name), &ReadOptions::default());
    vec![
        ("memory", Table::new("t", schema.clone(), vec![batch])),
        ("Parquet", from("t.parquet")),
        ("Arrow file", from("t.arrow")),
        ("Arrow stream", from("s.arrow")),
    ]
}

fn texts(texts: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

fn of_pandas(names: &[&str], index: &str) -> SchemaRef {
    let columns = names.iter().map(|name| format!("{{\"name\": null, \"field_name\": {name:?}}}"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let pandas = format!("{{\"index_columns\": {index}, \"columns\": [{columns}], \"pandas_version\": \"3.1.1\"}}");
    let fields: Vec<_> = names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect();
    Arc::new(Schema::new_with_metadata(fields, HashMap::from([("pandas".to_owned(), pandas)])))
}

fn key(header: &str) -> KeySpec {
    let column = KeyColumn { name: "k".into(), header: header.into(), profile: Profile::None };
    KeySpec {
        columns: vec![column],
        duplicates: Duplicates::All,
        nulls: Nulls::Skip,
        words: NullWords::default(),
        allow_unreadable: false,
    }
}

fn keys(table: &Table, header: &str) -> Vec<String> {
    let keys = TableKeys::build(table, &key(header)).unwrap().0;
    keys.iter().map(|key| String::from_utf8_lossy(&key[4..]).into_owned()).collect()
}

fn refused<T: std::fmt::Debug>(result: tacita_core::Result<T>, words: &[&str], about: &str) {
    let Err(Error::Input(error)) = result else { panic!("{about}: {result:?}") };
    assert!(words.iter().all(|word| error.contains(word)) && !error.contains('\n'), "{about}: {error}");
}

#[test]
fn an_index_of_pandas_is_no_column_of_a_job() {
    let cases: [(&[&str], &str, &[&str]); 5] = [
        (&["id", "customer"], r#"["customer"]"#, &["customer"]),
        (&["id", "__index_level_0__"], r#"["__index_level_0__"]"#, &["__index_level_0__"]),
        (&["q", "id", "__index_level_1__"], r#"["q", "__index_level_1__"]"#, &["q", "__index_level_1__"]),
        // What has been through a program that keeps no metadata.
        (&["id", "__index_level_0__"], "[]", &["__index_level_0__"]),
        (&["", "id"], r#"[""]"#, &["column_1"]),
    ];
    for (names, index, expected) in cases {
        let columns = names.iter().map(|name| texts(&[&format!("{name}-1"), &format!("{name}-2")])).collect();
        for (way, table) in ways(&of_pandas(names, index), columns) {
            let (table, about) = (table.unwrap(), format!("{way}: {names:?}"));
            assert_eq!(all_columns(&table, &BTreeSet::new()), ["id"], "{about}");
            let marked = table.schema().fields().iter().filter(|field| is_index(field)).map(|field| field.name());
            assert_eq!(marked.collect::<Vec<_>>(), expected, "{about}");
            for name in expected {
                let words = ["is an index of pandas", "reset_index()", name];
                refused(table.column(name, "x"), &words, &about);
                refused(TableKeys::build(&table, &key(name)), &words, &about);
                let gives = [((*name).to_owned(), (*name).to_owned())];
                let keys = TableKeys::build(&table, &key("id")).unwrap().0;
                refused(PayloadEncoder::new(&table, &keys, &gives, None), &words, &about);
            }
            // It stays beside the own rows.
            assert_eq!(table.schema().fields().len(), names.len(), "{about}");
        }
    }
}

#[test]
fn a_range_is_no_column_and_labels_no_rows() {
    let index = r#"[{"kind": "range", "name": null, "start": 3, "stop": 5, "step": 1}]"#;
    for (way, table) in ways(&of_pandas(&["id"], index), vec![texts(&["b", "a"])]) {
        let table = table.unwrap();
        assert_eq!(all_columns(&table, &BTreeSet::new()), ["id"], "{way}");
        let sorted = Selection::of_rows(&table, vec![1, 0]).unwrap();
        let pandas: serde_json::Value = serde_json::from_str(&sorted.schema().metadata()["pandas"]).unwrap();
        assert_eq!(pandas["index_columns"], serde_json::json!([]), "{way}");
        assert_eq!(pandas["pandas_version"], "3.1.1", "{way}");
    }
}

/// Typed files have the index as pandas reads it, files of text have none without a name; nothing of ours is in any of
/// them.
#[test]
fn what_is_written_has_the_index_where_it_is_one() {
    let home = tempfile::tempdir().unwrap();
    let schema = of_pandas(&["id", "customer", "__index_level_1__"], r#"["customer", "__index_level_1__"]"#);
    let columns = ["a", "b", "c"].map(|text| texts(&[text])).to_vec();
    let table = Table::new("t", schema.clone(), vec![RecordBatch::try_new(schema, columns).unwrap()]).unwrap();
    let written = |name: &str| {
        let path = home.path().join(name);
        output::write(&Selection::all(&table), &path, None).unwrap();
        path
    };
    let text = |name: &str| std::fs::read_to_string(written(name)).unwrap();
    assert_eq!(text("t.csv"), "id,customer\na,b\n");
    assert_eq!(text("t.json"), "[{\"id\":\"a\",\"customer\":\"b\"}]\n");
    for name in ["t.parquet", "t.arrow"] {
        let path = written(name);
        let again = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(all_columns(&again, &BTreeSet::new()), ["id"], "{name}");
        assert_eq!(again.schema().fields().len(), 3, "{name}");
        let bytes = std::fs::read(&path).unwrap();
        let holds = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
        assert!(name == "t.parquet" || holds(b"index_columns"), "{name}");
        assert!(!holds(b"tacita:mark"), "{name}");
    }
}

#[test]
fn a_column_without_a_name_is_for_who_names_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("t.csv");
    std::fs::write(&path, ",id,__index_level_0__\n0,a,5\n1,b,6\n").unwrap();
    let table = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(all_columns(&table, &BTreeSet::new()), ["id"]);
    assert_eq!(keys(&table, "column_1"), ["0", "1"]);
    refused(table.column("__index_level_0__", "x"), &["is an index of pandas"], "CSV");
    let looked = look(&path, &ReadOptions::default(), &InspectOptions::default()).unwrap();
    assert_eq!(looked.columns.iter().map(|column| column.is_index).collect::<Vec<_>>(), [false, false, true]);
}

fn with_extension(field: Field, name: &str) -> Field {
    field.with_metadata(HashMap::from([("ARROW:extension:name".to_owned(), name.to_owned())]))
}

/// The stored data of these types says nothing, or something else. The same holds inside lists, structures and
/// dictionaries.
#[test]
fn unknown_extension_types_are_refused_on_every_way() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 1]));
    let mut lists = ListBuilder::new(Int64Builder::new());
    lists.append_value([Some(1)]);
    lists.append_value([Some(2)]);
    let lists: ArrayRef = Arc::new(lists.finish());
    let words: ArrayRef = Arc::new(vec!["a", "b"].into_iter().collect::<DictionaryArray<types::Int32Type>>());
    for extension in
        ["pandas.period", "pandas.interval", "arrow.opaque", "ray.data.arrow_pickled_object", "some\nthing"]
    {
        let inner = Arc::new(with_extension(Field::new("item", DataType::Int64, true), extension));
        let in_list = cast_to(&lists, &DataType::List(inner.clone()));
        let in_struct: ArrayRef = Arc::new(StructArray::from(vec![(inner.clone(), numbers.clone())]));
        for column in [numbers.clone(), words.clone(), in_list, in_struct] {
            let field = Field::new("odd", column.data_type().clone(), true);
            let field = match column.data_type() {
                DataType::Int64 | DataType::Dictionary(..) => with_extension(field, extension),
                _ => field,
            };
            let about = format!("{extension} as {}", column.data_type());
            let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Utf8, true), field]));
            for (way, table) in ways(&schema, vec![texts(&["a", "b"]), column]) {
                let quoted = format!("{extension:?}");
                refused(table, &["column \"odd\"", &quoted, "leave it out"], &format!("{way}: {about}"));
            }
        }
    }
}

/// The same values under another type of the same form.
fn cast_to(lists: &ArrayRef, to: &DataType) -> ArrayRef {
    make_array(lists.to_data().into_builder().data_type(to.clone()).build().unwrap())
}

#[test]
fn known_extension_types_are_what_they_stand_for() {
    let uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let bytes: Vec<u8> =
        (0..16).map(|at| u8::from_str_radix(&uuid.replace('-', "")[2 * at..2 * at + 2], 16).unwrap()).collect();
    let mut uuids = FixedSizeBinaryBuilder::new(16);
    uuids.append_value(&bytes).unwrap();
    uuids.append_null();
    let columns: Vec<ArrayRef> =
        vec![Arc::new(uuids.finish()), Arc::new(Int8Array::from(vec![Some(1), Some(0)])), texts(&["{}", "[1]"])];
    let schema = Arc::new(Schema::new(vec![
        with_extension(Field::new("u", DataType::FixedSizeBinary(16), true), "arrow.uuid"),
        with_extension(Field::new("b", DataType::Int8, true), "arrow.bool8"),
        with_extension(Field::new("j", DataType::Utf8, true), "arrow.json"),
    ]));
    for (way, table) in ways(&schema, columns) {
        let table = table.unwrap();
        let found = ["u", "b", "j"].map(|column| keys(&table, column));
        assert_eq!(found[0], [uuid], "{way}");
        assert_eq!(found[1], ["false", "true"], "{way}");
        assert_eq!(found[2], ["[1]", "{}"], "{way}");
    }
}

/// Parquet has a type of its own for UUIDs, which needs nothing of Arrow.
#[test]
fn uuids_of_parquet_are_text() {
    use parquet::data_type::{ByteArray, FixedLenByteArray, FixedLenByteArrayType};
    use parquet::file::writer::SerializedFileWriter;
    let home = tempfile::tempdir().unwrap();
    let path: &Path = &home.path().join("t.parquet");
    let message = "message m { required fixed_len_byte_array(16) u (UUID); required fixed_len_byte_array(16) f; }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        let value = FixedLenByteArray::from(ByteArray::from(vec![0xab; 16]));
        column.typed::<FixedLenByteArrayType>().write_batch(&[value], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let table = read(path, &ReadOptions::default()).unwrap();
    assert_eq!(keys(&table, "u"), ["abababab-abab-abab-abab-abababababab"]);
    assert_eq!(keys(&table, "f"), ["ab".repeat(16)]);
}
