//! Reading: every dialect and format, and what is said about files that are no tables.

use std::io::Write;
use std::path::Path;

use arrow_array::cast::AsArray;
use proptest::prelude::*;
use tacita_core::Error;
use tacita_node::table::{ReadOptions, Selection, Table, output, read};

fn csv(text: &[u8]) -> Result<Table, Error> {
    read::read_csv(text, "people.csv", &ReadOptions::default())
}

fn cells(table: &Table) -> Vec<Vec<String>> {
    let mut rows = vec![table.schema().fields().iter().map(|field| field.name().clone()).collect()];
    for batch in table.batches() {
        for row in 0..batch.num_rows() {
            rows.push(batch.columns().iter().map(|column| column.as_string::<i32>().value(row).to_string()).collect());
        }
    }
    rows
}

fn message(result: Result<Table, Error>) -> String {
    match result {
        Err(Error::Input(text)) => {
            assert!(!text.contains('\n'), "one line: {text}");
            text
        }
        other => panic!("{other:?} should have been bad input"),
    }
}

#[test]
fn dialects() {
    let expected = [["name", "town"], ["Ann, A.", "Bern"], ["", "x\ny"]];
    let texts: [&[u8]; 8] = [
        b"name,town\n\"Ann, A.\",Bern\n,\"x\ny\"\n",
        b"name,town\r\n\"Ann, A.\",Bern\r\n,\"x\ny\"\r\n",
        b"name,town\n\"Ann, A.\",\"Bern\"\n\"\",\"x\ny\"",
        b"\xEF\xBB\xBFname,town\n\"Ann, A.\",Bern\n,\"x\ny\"\n",
        b"name;town\nAnn, A.;Bern\n;\"x\ny\"\n",
        b"name\ttown\nAnn, A.\tBern\n\t\"x\ny\"\n",
        b"name|town\nAnn, A.|Bern\n|\"x\ny\"\n",
        b"\n\"name\",\"town\"\n\n\"Ann, A.\",Bern\n\n,\"x\ny\"\n\n",
    ];
    for text in texts {
        assert_eq!(cells(&csv(text).unwrap()), expected, "{}", String::from_utf8_lossy(text));
    }
    let options = ReadOptions { delimiter: Some(b'#'), ..ReadOptions::default() };
    let table = read::read_csv(&b"a,b#c\n1#2\n"[..], "people.csv", &options).unwrap();
    assert_eq!(cells(&table), [["a,b", "c"], ["1", "2"]]);
    // Delimiters in quotes are no delimiters.
    assert_eq!(cells(&csv(b"\"a,b,c\";d\n1;2\n").unwrap()), [["a,b,c", "d"], ["1", "2"]]);
    assert_eq!(cells(&csv(b"a,b\n\"say \"\"hi\"\"\",2\n").unwrap())[1], ["say \"hi\"", "2"]);
    // What marks the end of the input may stand in it.
    let mark = "\x1c\x1dend of input\x1d\x1c";
    let table = csv(format!("a\n{mark}\n{mark}").as_bytes()).unwrap();
    assert_eq!(cells(&table), [["a"], [mark], [mark]]);
    // As read: blanks stay.
    assert_eq!(cells(&csv(b"a,b\n 1 ,2\n").unwrap())[1], [" 1 ", "2"]);
    assert_eq!(csv(b"a,b\n").unwrap().rows(), 0);
    assert_eq!(csv(b"a,b").unwrap().rows(), 0);
}

#[test]
fn lines_are_named_rightly() {
    let texts: [&[u8]; 6] = [
        b"a,b\n1,2\n3,4\n5\n7,8\n",
        b"a,b\r\n1,2\r\n3,4\r\n5\r\n7,8\r\n",
        b"a,b\n1,2\n\n5\n7,8\n",
        b"a,b\r\n1,2\r\n\r\n5\r\n7,8\r\n",
        b"a,b\n\"1\n1\",2\n5",
        b"a,b\r\n\"1\r\n1\",2\r\n5",
    ];
    for text in texts {
        let message = message(csv(text));
        assert!(message.starts_with("people.csv, line 4: 1 field instead of 2"), "{message}");
    }
    for text in ["a\n1\n\"2\n2\"\n\n4\n5", "a\r\n1\r\n\"2\r\n2\"\r\n\r\n4\r\n5\r\n"] {
        let table = csv(text.as_bytes()).unwrap();
        let places: Vec<_> = (0..4).map(|row| table.place(row)).collect();
        assert_eq!(places, ["line 2", "line 3", "line 6", "line 7"]);
    }
}

#[test]
fn files_that_are_no_tables() {
    let cases: [(&[u8], &str); 25] = [
        (b"", "is empty"),
        (b"\xEF\xBB\xBF\n\n", "is empty"),
        (b"a,b,a\n", "several columns are named \"a\""),
        (b"a,b\n1,2,3\n", "line 2: 3 fields instead of 2; if all lines have one more"),
        (b"a,b\n1,2\n1,2,3\n", "line 3: 3 fields instead of 2; put quotes"),
        (b"a,b\n1,2,\n", "line 2: 3 fields instead of 2; it ends with a delimiter"),
        (b"a,b\n1, \"2, 3\"\n", "line 2: 3 fields instead of 2; remove the blank before the quote"),
        (b"a,b\n1,2\n\"x\" y,2\n", "line 3: text follows the closing quote"),
        (b"sep=;\na;b\n1;2\n\"x\"y;2\n", "line 4: text follows the closing quote"),
        (b"a,b\n1;2\n", "line 2: 1 field instead of 2; is it another delimiter"),
        (
            b"a,b\n\"1,2\n3,4\n5,\"6\n",
            "line 4: text follows the closing quote of a value, which began in line 2, perhaps with a quote that is left",
        ),
        (
            b"a,b\n\"1,2\n3,4\n5,\"\n",
            "line 2: 1 field instead of 2; the record spans several lines: is a quote left open?",
        ),
        (b"a,b\n1,2\n3,\"4\n5,6\n", "line 3: a quote is opened here or below and never closed"),
        (b"a\n1\n\"4", "line 3: a quote is opened here or below and never closed"),
        (b"a,b\n1,2\nM\xFCller,3\n", "line 3, column 1 (\"a\"): byte 0xFC is not UTF-8"),
        (b"n\xE4me,b\n", "line 1, column 1"),
        (b"\xFF\xFEa\0,\0b\0\n\0\0\xD8\n\0", "line 2: this is not valid text in UTF-16LE"),
        (b"a\0\0\0,\0\0\0b\0\0\0", "UTF-32"),
        (b"PAR1....", "Parquet"),
        (b"ARROW1..", "Arrow"),
        (b"PK\x03\x04[Content_Types].xml", "is a spreadsheet: name it .xlsx"),
        (
            b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            "OpenDocument spreadsheet: save it as .xlsx",
        ),
        (b"PK\x03\x04a.csv", "is a ZIP archive: name it .zip"),
        (b"\xD0\xCF\x11\xE0", "old kind (.xls)"),
        (b"\x1f\x8b\x08", "gzip"),
    ];
    for (text, expected) in cases {
        let message = message(csv(text));
        assert!(message.contains(expected), "{message} should contain {expected}");
        assert!(message.starts_with("people.csv"), "{message}");
    }
}

/// Formats that spreadsheets, databases and pandas write, and nobody thinks about.
#[test]
fn everyday_dialects() {
    let utf_16 = |text: &str, big: bool| -> Vec<u8> {
        text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let text = "name;town\r\nJosé;Łódź\r\n";
    let expected = [["name", "town"], ["José", "Łódź"]];
    let texts = [
        utf_16(text, false),
        utf_16(text, true),
        utf_16(&format!("\u{feff}{text}"), false),
        utf_16(&format!("\u{feff}{text}"), true),
        utf_16(&format!("\u{feff}sep=;\r\n{text}"), false),
        format!("sep=;\r\n{text}").into(),
        format!("\u{feff}\"sep=;\"\n{text}").into(),
    ];
    for text in texts {
        assert_eq!(cells(&csv(&text).unwrap()), expected, "{}", String::from_utf8_lossy(&text));
    }
    let latin = ReadOptions { encoding: Some("latin1".parse().unwrap()), ..ReadOptions::default() };
    let table = read::read_csv(&b"name,town\nJos\xE9,K\xF6ln\n"[..], "people.csv", &latin).unwrap();
    assert_eq!(cells(&table)[1], ["José", "Köln"]);
    let error = message(read::read_csv(&b"\xEF\xBB\xBFname\n"[..], "people.csv", &latin));
    assert!(error.contains("begins with the mark of UTF-8, and --encoding says windows-1252"), "{error}");
    // Names that are missing are made up, and lines are counted with the one that names the delimiter.
    let table = csv(b"sep=;\n;name;;column_3\n0;Ann;x;y\n\n1;Bob;x;y\n").unwrap();
    assert_eq!(cells(&table)[0], ["column_1", "name", "column_3_", "column_3"]);
    assert_eq!((table.place(0), table.place(1)), ("line 3".to_owned(), "line 5".to_owned()));
    // What is given counts more than what the file says.
    let comma = ReadOptions { delimiter: Some(b','), ..ReadOptions::default() };
    let table = read::read_csv(&b"sep=;\na,b\n1,2\n"[..], "people.csv", &comma).unwrap();
    assert_eq!(cells(&table), [["a", "b"], ["1", "2"]]);
    // Old Macintosh line ends.
    assert_eq!(cells(&csv(b"a,b\r1,2\r3,4\r").unwrap()), [["a", "b"], ["1", "2"], ["3", "4"]]);
    // A quote that is a part of its value stays.
    assert_eq!(cells(&csv(b"a,b\n5\" pipe,2\n").unwrap())[1], ["5\" pipe", "2"]);
}

fn sample() -> Table {
    csv("name,count\n\"Ann, A.\",1\nBéa,\n\"two\nlines\",3\n".as_bytes()).unwrap()
}

#[test]
fn every_ending() {
    let directory = tempfile::tempdir().unwrap();
    let table = sample();
    for ending in ["csv", "parquet", "arrow", "ipc", "feather", "CSV", "Parquet"] {
        let path = directory.path().join(format!("t.{ending}"));
        output::write(&Selection::all(&table), &path, None).unwrap();
        let back = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(cells(&back), cells(&table), "{ending}");
        assert_eq!(back.source(), path.display().to_string());
    }
    let text = std::fs::read(directory.path().join("t.csv")).unwrap();
    for ending in ["csv.gz", "txt.gz", "tsv.gz"] {
        let path = directory.path().join(format!("t.{ending}"));
        let file = std::fs::File::create(&path).unwrap();
        let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        packer.write_all(&text).unwrap();
        packer.finish().unwrap();
        assert_eq!(cells(&read(&path, &ReadOptions::default()).unwrap()), cells(&table), "{ending}");
        let packed = std::fs::read(&path).unwrap();
        std::fs::write(&path, &packed[..packed.len() - 12]).unwrap();
        assert!(message(read(&path, &ReadOptions::default())).contains("cannot be read"));
    }
    let path = directory.path().join("one.tsv");
    std::fs::write(&path, "last, first\nLee, Ann\n").unwrap();
    assert_eq!(cells(&read(&path, &ReadOptions::default()).unwrap()).len(), 2);
    let path = directory.path().join("one.tsv");
    std::fs::write(&path, "name\nLee, Ann\n").unwrap();
    assert_eq!(cells(&read(&path, &ReadOptions::default()).unwrap()), [["name"], ["Lee, Ann"]]);

    // The stream form of Arrow IPC.
    let path = directory.path().join("stream.arrow");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(file, table.schema()).unwrap();
    table.batches().iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    assert_eq!(cells(&read(&path, &ReadOptions::default()).unwrap()), cells(&table));
}

/// A table may end with whatever its reader puts behind the end.
#[test]
fn the_last_value_is_any_text() {
    for end in ["\n", "\r\n", ""] {
        for (header, last) in [("id", "EndOfInput"), ("id,x", "1,EndOfInput"), ("id", "\"EndOfInput\"")] {
            let text = format!("{header}{end}{last}{end}", end = if end.is_empty() { "\n" } else { end });
            let text = if end.is_empty() { text.trim_end() } else { &text };
            let table = read::read_csv(text.as_bytes(), "t.csv", &ReadOptions::default()).unwrap();
            assert_eq!(cells(&table).len(), 2, "{text:?}");
        }
    }
    let open = read::read_csv(&b"id\n1\n\"EndOfInput\n"[..], "t.csv", &ReadOptions::default());
    assert!(message(open).contains("line 3: a quote is opened"));
}

#[test]
fn absent_and_corrupt_files() {
    let directory = tempfile::tempdir().unwrap();
    let options = ReadOptions::default();
    for name in ["absent.csv", "absent.parquet", "absent.arrow"] {
        assert!(message(read(&directory.path().join(name), &options)).contains("No such file"));
    }
    for name in ["x.docx", "x", "x.parquet.gz", "x.gz", "x.xlsx.zst"] {
        assert!(message(read(Path::new(name), &options)).contains("No such file"), "{name}");
        let path = directory.path().join(name);
        std::fs::write(&path, "a\n").unwrap();
        assert!(message(read(&path, &options)).contains("known endings"), "{name}");
    }
    std::fs::create_dir(directory.path().join("d.csv")).unwrap();
    assert!(message(read(&directory.path().join("d.csv"), &options)).contains("directory"));
    for ending in ["parquet", "arrow"] {
        let path = directory.path().join(format!("t.{ending}"));
        output::write(&Selection::all(&sample()), &path, None).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(7) {
            std::fs::write(&path, &whole[..length]).unwrap();
            let text = message(read(&path, &options));
            assert!(text.contains("cannot be read") || text.contains("empty"), "{text}");
        }
        // Wrong bytes give an error or another table, never a panic.
        for at in (0..whole.len()).step_by(3) {
            let mut wrong = whole.clone();
            wrong[at] ^= 0xA5;
            std::fs::write(&path, &wrong).unwrap();
            if let Err(error) = read(&path, &options) {
                assert!(matches!(error, Error::Input(_)), "{error}");
            }
        }
    }
}

#[test]
fn batches_are_bounded() {
    let mut text = String::from("n\n");
    (0..200_000).for_each(|n| text += &format!("{n}\n"));
    let table = csv(text.as_bytes()).unwrap();
    assert_eq!(table.rows(), 200_000);
    assert_eq!(
        table.batches().iter().map(|batch| batch.num_rows()).collect::<Vec<_>>(),
        [65_536, 65_536, 65_536, 3392]
    );
    assert_eq!(table.place(150_000), "line 150002");
}

#[test]
fn values_are_not_printed() {
    let text = format!("{:?} {:?}", sample(), Selection::all(&sample()));
    assert!(!text.contains("Ann") && text.contains("name"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn any_text_survives_csv(rows in prop::collection::vec(prop::array::uniform3("(\\PC|[\",;|\r\n\t'#]){0,8}"), 0..12)) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["a", "b", "c"]).unwrap();
        rows.iter().for_each(|row| writer.write_record(row).unwrap());
        let table = csv(&writer.into_inner().unwrap()).unwrap();
        prop_assert_eq!(&cells(&table)[1..], &rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>()[..]);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        output::write(&Selection::all(&table), &path, None).unwrap();
        prop_assert_eq!(cells(&read(&path, &ReadOptions::default()).unwrap()), cells(&table));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = csv(&bytes) {
            prop_assert!(matches!(error, Error::Input(_)));
        }
    }
}
