//! `tacita inspect`: what is said of a table, and that a run says the same of its keys.

use std::io::Write;

use crate::common::{Home, Running, json, tacita};
use arrow_array::RecordBatch;
use flate2::Compression;
use flate2::write::GzEncoder;

const PATIENTS: &str = "name,born,mail,visits\n\
    \"DOE, Jane\",04/05/1980,jane@example.org,3\n\
    \"Smith, Bob\",13/05/1980,bob@example.org,12\n\
    \"DOE, Jane\",04/05/1980,,3\n\
    \"Miller, Ann\",,ann@example.org,\n\
    \"Roe, Rick\",31/02/1981,rick@example.org,7\n";

#[test]
fn columns_are_described_and_profiles_found() {
    let home = Home::new();
    let table = home.file("patients.csv", PATIENTS);
    let report = home.at("report.json");
    let said = tacita(&["inspect", &table, "--report", &report]).well().stdout;
    for words in [
        "CSV with commas between values, in UTF-8, lines end with LF",
        "5 rows, 4 columns",
        "date:DMY",
        "email",
        "integer",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("Jane") && !said.contains("1980"), "{said}");
    let report = json(report);
    let column = |place: usize| &report["columns"][place];
    assert_eq!(
        (&column(0)["distinct"], &column(0)["shortest"], &column(0)["longest"]),
        (&4.into(), &9.into(), &11.into())
    );
    assert_eq!((&column(1)["empty"], &column(1)["shape"]), (&1.into(), &"99/99/9999".into()));
    assert_eq!((&column(2)["profiles"][0], &column(3)["profiles"][0]), (&"email".into(), &"integer".into()));
    assert_eq!((&report["form"]["delimiter"], &report["rows"]), (&",".into(), &5.into()));
}

/// Numbers of telephones without blanks are integers too, and not meant as such.
#[test]
fn telephone_numbers_are_found() {
    let home = Home::new();
    let table = home.file("t.csv", "tel,n\n+41446681800,1\n+41446681801,2\n+41446681802,3\n");
    let report = home.at("report.json");
    tacita(&["inspect", &table, "--report", &report]).well();
    let column = |place: usize| json(&report)["columns"][place]["profiles"].clone();
    assert_eq!((column(0), column(1)), (serde_json::json!(["phone"]), serde_json::json!(["integer"])));
}

/// Checks that `inspect` counts keys to be matched as a run counts them, and shows values on the own terminal alone.
#[test]
fn keys_are_counted_as_a_run_counts_them() {
    let home = Home::new();
    let table = home.file("patients.csv", PATIENTS);
    let key = ["--key", "name,dob=born", "--normalize", "name,date:DMY"];
    let report = home.at("report.json");
    let said = tacita(&[&["inspect", &table, "--report", &report][..], &key].concat()).well();
    for words in [
        "5 rows = 1 without a key + 1 unreadable + 1 with a key seen before + 2 distinct keys",
        "line 2: doe jane | 1980-05-04",
        "repeated key is in line 4",
        "line 6, born: \"31/02/1981\"",
        "this file has 2 distinct keys, and nothing else",
    ] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
    let job = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\", \"dob\"]\n[parties.a]\n\
               normalize = [\"name\", \"date:DMY\"]\ncolumns = { dob = \"born\" }\n[parties.b]\n";
    let job = home.file("job.toml", job);
    let other = home.file("b.csv", "name,dob\nx,y\n");
    let out = home.at("run.json");
    tacita(&["simulate", &job, "--input", &format!("a={table}"), "--input", &format!("b={other}"), "--report", &out])
        .well();
    assert_eq!(json(&report)["key"]["rows"], json(out)["parties"]["a"]["rows"]);
    let text = crate::common::text(report);
    assert!(!text.to_lowercase().contains("jane") && !text.contains("1981"), "{text}");
    // A log that machines collect shows no value, nor does what is printed with it.
    let quiet = tacita(&[&["inspect", &table, "--log", "json"][..], &key].concat()).well();
    assert!(!(quiet.stdout + &quiet.stderr).contains("1981"));
}

#[test]
fn every_form_is_read() {
    let home = Home::new();
    let table = home.file("patients.tsv", &PATIENTS.replace(", ", " ").replace(',', "\t").replace('\n', "\r\n"));
    let said = tacita(&["inspect", &table]).well().stdout;
    assert!(said.contains("tabs between values") && said.contains("CR LF"), "{said}");
    let marked = home.file("marked.csv", &format!("\u{feff}{}", PATIENTS));
    assert!(tacita(&["inspect", &marked]).well().stdout.contains("with a byte order mark"));
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(PATIENTS.as_bytes()).unwrap();
    std::fs::write(home.at("p.csv.gz"), packer.finish().unwrap()).unwrap();
    assert!(tacita(&["inspect", &home.at("p.csv.gz")]).well().stdout.contains("compressed with gzip"));
    let mut piped = Running::start(&["inspect", "-", "--key", "name"]);
    piped.feed(PATIENTS);
    let said = piped.end().well().stdout;
    assert!(said.contains("standard input") && said.contains("4 distinct keys"), "{said}");
    let dat = home.file("baskets.dat", "1 2 3\n\n2\n");
    let said = tacita(&["inspect", &dat]).well().stdout;
    assert!(said.contains("3 baskets") && said.contains("3 distinct items"), "{said}");
    tacita(&["inspect", &dat, "--key", "a"]).failed(2, &["--key"]);
    let numbers: RecordBatch = RecordBatch::try_from_iter([
        ("id", std::sync::Arc::new(arrow_array::Int64Array::from(vec![1, 2, 2])) as arrow_array::ArrayRef),
        ("day", std::sync::Arc::new(arrow_array::Date32Array::from(vec![Some(0), None, Some(2)])) as _),
    ])
    .unwrap();
    let parquet = home.at("typed.parquet");
    let table = tacita_node::table::Table::new("t", numbers.schema(), vec![numbers]).unwrap();
    let selection = tacita_node::table::Selection::all(&table);
    for (name, form) in [("typed.parquet", "Parquet"), ("typed.arrow", "Arrow IPC")] {
        tacita_node::table::output::write(&selection, home.at(name).as_ref(), None).unwrap();
        let said = tacita(&["inspect", &home.at(name), "--key", "id"]).well().stdout;
        for words in [form, "Int64", "Date32", "row 1: 1", "repeated key is in row 3", "2 distinct keys"] {
            assert!(said.contains(words), "{name}, {words}: {said}");
        }
    }
    assert!(std::fs::metadata(parquet).is_ok());
}

#[test]
fn what_is_no_table_is_said_in_one_line() {
    let home = Home::new();
    let table = home.file("a.csv", PATIENTS);
    for (name, text, words) in [
        ("empty.csv", "", &["empty.csv", "is empty"][..]),
        ("blank.csv", "\n\n", &["is empty"]),
        ("twice.csv", "a,b,a\n", &["several columns are named \"a\""]),
        ("ragged.csv", "a,b\n1\n", &["line 2", "1 field instead of 2"]),
        ("sheet.xlsx", "PK", &["is text, despite its name"]),
        ("sheet.numbers", "PK", &["is a spreadsheet of Numbers"]),
        ("table.xyz", "PK", &["known endings are"]),
    ] {
        tacita(&["inspect", &home.file(name, text)]).failed(2, words);
    }
    tacita(&["inspect", &home.at("none.csv")]).failed(2, &["none.csv", "cannot be read"]);
    tacita(&["inspect", &home.directory("d.csv")]).failed(2, &["is a directory"]);
    tacita(&["inspect", &table, "--key", "nam"]).failed(2, &["\"nam\"", "did you mean \"name\"?"]);
    tacita(&["inspect", &table, "--columns", "nome"]).failed(2, &["\"nome\"", "did you mean"]);
    tacita(&["inspect", &table, "--key", "name,mail", "--normalize", "name"])
        .failed(2, &["1 profile for 2 key columns"]);
    tacita(&["inspect", &table, "--normalize", "name"]).failed(2, &["--key"]);
    tacita(&["inspect", &table, "--report", &table]).failed(2, &["both the table and the report"]);
    let header = tacita(&["inspect", &home.file("header.csv", "a;b\n"), "--key", "a"]).well().stdout;
    assert!(
        header.contains("0 rows, 2 columns") && header.contains("semicolons") && header.contains("but no rows"),
        "{header}"
    );
}

/// Only so much of a wide table is looked at, and of a long column counted.
#[test]
fn wide_tables_and_long_columns_are_bounded() {
    let home = Home::new();
    let names: Vec<_> = (0..3000).map(|place| format!("c{place}")).collect();
    let wide = home.file("wide.csv", &format!("{}\n{}\n", names.join(","), vec!["1"; 3000].join(",")));
    let said = tacita(&["inspect", &wide]).well().stdout;
    assert!(said.contains("1 row, 3,000 columns") && said.contains("2,900 more columns: --columns"), "{said}");
    assert!(said.lines().count() < 120);
    let said = tacita(&["inspect", &wide, "--columns", "c2999,c1"]).well().stdout;
    assert!(said.contains("c2999") && said.contains("1 row, 2 columns looked at") && !said.contains("more"), "{said}");
    let ids: String = (0..100_005).map(|id| format!("{id}\n")).collect();
    let long = home.file("long.csv", &format!("id\n{ids}"));
    let said = tacita(&["inspect", &long, "--key", "id"]).well().stdout;
    assert!(said.contains("> 100,000") && said.contains("100,005 distinct keys"), "{said}");
}

/// Nothing in the file acts upon the terminal.
#[test]
fn values_and_headers_are_printed_as_text() {
    let home = Home::new();
    let table = home.file("odd.csv", "na\u{1b}[31mme,when\n\u{1b}]0;x\u{7},\u{202e}1\n");
    let said = tacita(&["inspect", &table, "--key", "when", "--normalize", "date"]).well();
    assert!(!said.stdout.contains('\u{1b}') && !said.stdout.contains('\u{202e}'), "{:?}", said.stdout);
}

/// Checks that the most frequent values of a key's columns are shown on the own terminal alone, with those that may
/// stand for nothing.
#[test]
fn frequent_values_of_a_key_are_shown_with_what_they_may_stand_for() {
    let home = Home::new();
    let rows = "Doe,1980-05-04\nDoe,1981-05-04\nNULL,1900-01-01\nNULL,1982-05-04\nNULL,1983-05-04\nRoe,1900-01-01\n";
    let table = home.file("t.csv", &format!("name,born\n{rows}"));
    let report = home.at("report.json");
    let inspect = ["inspect", &table, "--key", "name,born", "--normalize", "name,date", "--report", &report];
    let said = tacita(&inspect).well();
    for words in [
        "6 rows = 3 without a key",
        "The most frequent values of `name`:\n  \"NULL\" in 3 rows, a null word (nulls)\n  \"Doe\" in 2 rows\n",
        "The most frequent values of `born`:\n  \"1900-01-01\" in 2 rows, a placeholder?",
    ] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
    assert!(said.stderr.contains("\"NULL\" (3 rows) are read as no value"), "{}", said.stderr);
    assert!(!json(&report).to_string().contains("1900"), "a report holds no value");
    let kept = tacita(&[&inspect[..], &["--nulls", ""]].concat()).well();
    assert!(kept.stdout.contains("6 rows = 0 without a key"), "{}", kept.stdout);
    let quiet = tacita(&[&inspect[..], &["--log", "json"]].concat()).well();
    assert!(!quiet.stdout.contains("Doe"), "{}", quiet.stdout);
}
