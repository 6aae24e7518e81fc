//! Arrow files, and tables that parts share memory in.

use tacita_core::protocol::dot::Integers;
use tacita_node::table::numbers;

use super::*;

/// A long text that a dictionary holds once and shows in every row is refused where it is first seen, as a number.
#[test]
fn a_long_number_is_refused_in_its_first_row() {
    for digit in ["1", "x"] {
        let texts = StringArray::from(vec![digit.repeat(1 << 20)]);
        let column: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(vec![0; 100_000].into(), Arc::new(texts)));
        let table =
            Table::new("t", batch(vec![("n", column.clone())]).schema(), vec![batch(vec![("n", column)])]).unwrap();
        let started = Instant::now();
        let read = numbers::columns(
            &table,
            &[("n".into(), "n".into())],
            Integers::BINARY,
            numbers::NumberForm::default(),
            |_| true,
        );
        let text = read.err().unwrap().to_string();
        assert!(text.contains("no number") && started.elapsed() < SOON, "{:?}: {text}", started.elapsed());
    }
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
    KeySpec {
        columns: vec![column],
        duplicates: Duplicates::All,
        nulls: Nulls::Skip,
        words: NullWords::default(),
        allow_unreadable: false,
    }
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
        let Err(Error::Input(text)) = TableKeys::build(&table, &spec()) else { panic!("keys of 600 GB were built") };
        assert!(text.contains("t.arrow") && text.contains("memory"), "{text}");
    }
    for column in shared("Jane", 200_000) {
        let [bytes, _] = ipc(&[batch(vec![("k", column)])], IpcWriteOptions::default());
        let (keys, _) = TableKeys::build(&read_bytes(&bytes, "arrow").unwrap(), &spec()).unwrap();
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
    let values: Vec<String> = (0..1000).map(|n| format!("{n}{}", "x".repeat(20_000))).collect();
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
    // The library that writes such a file recurses, and takes more than a thread's stack without optimisation.
    let written = std::thread::Builder::new().stack_size(64 << 20).spawn(move || nested(500)).unwrap().join().unwrap();
    written.iter().for_each(|bytes| refused(bytes, "arrow", &["cannot be read"]));
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

#[test]
fn views_are_texts_of_their_own() {
    let views = StringViewArray::from_iter([Some("Ann"), None, Some("a text that does not fit into a view")]);
    let [bytes, _] = ipc(&[batch(vec![("k", Arc::new(views))])], IpcWriteOptions::default());
    let (keys, _) = TableKeys::build(&read_bytes(&bytes, "arrow").unwrap(), &spec()).unwrap();
    assert_eq!(keys.len(), 2);
}
