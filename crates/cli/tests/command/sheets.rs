//! Tables in spreadsheets and in archives, as offices send them.

use std::io::{Cursor, Write};

use crate::common::{Home, json, tacita, text};
use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A workbook with a hidden sheet, one with a title, a date, a number, a boolean, an error, merged cells and a formula
/// that nobody has calculated, and an older one.
fn workbook() -> Vec<u8> {
    let mut workbook = Workbook::new();
    workbook.add_worksheet().set_name("Lists").unwrap().set_hidden(true).write_string(0, 0, "secret").unwrap();
    let sheet = workbook.add_worksheet();
    let title = Format::new().set_bold();
    let (date, zip) = (Format::new().set_num_format("dd.mm.yyyy"), Format::new().set_num_format("00000"));
    sheet.set_name("Kunden").unwrap().set_active(true).merge_range(0, 0, 0, 3, "Kunden 2025", &title).unwrap();
    for (column, header) in ["name", "born", "zip", "note"].into_iter().enumerate() {
        sheet.write_string(1, column as u16, header).unwrap();
    }
    for (row, (name, (year, month, day), code)) in
        [("Ann", (1980, 1, 31), 1067.0), ("Bob", (1900, 1, 1), 80331.0), ("Cid", (1999, 12, 31), 10115.0)]
            .into_iter()
            .enumerate()
    {
        let row = row as u32 + 2;
        sheet.write_string(row, 0, name).unwrap();
        sheet.write_with_format(row, 1, ExcelDateTime::from_ymd(year, month, day).unwrap(), &date).unwrap();
        sheet.write_number_with_format(row, 2, code, &zip).unwrap();
    }
    sheet.write_formula(2, 3, Formula::new("=1/0").set_result("#DIV/0!")).unwrap();
    sheet.write_formula(3, 3, Formula::new("=A1").set_result("")).unwrap();
    sheet.merge_range(5, 0, 6, 0, "Dan", &title).unwrap();
    let old = workbook.add_worksheet();
    old.set_name("Old").unwrap();
    for (row, cells) in [["name", "born", "zip"], ["Eve", "1970-01-01", "04109"]].iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            old.write_string(row as u32, column as u16, *cell).unwrap();
        }
    }
    workbook.save_to_buffer().unwrap()
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

const JOB: &str = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"b\"]\n[key]\ncolumns = [\"name\", \"born\", \"zip\"]\n[parties.a]\nskip = 1\n[parties.b]\n";

#[test]
fn a_spreadsheet_meets_the_csv_of_somebody_else() {
    let home = Home::new();
    let (a, b) = (
        home.bytes("a.xlsx", &workbook()),
        home.file("b.csv", "name,born,zip\nCid,1999-12-31,10115\nAnn,1980-01-31,01067\nEve,1970-01-01,04109\n"),
    );
    let job = home.file("job.toml", JOB);
    let simulate = |more: &[&str]| {
        let (a, b) = (format!("a={a}"), format!("b={b}"));
        let fixed = ["simulate", &job, "--force", "--output", &home.at("out"), "--input", &a, "--input", &b];
        tacita(&[&fixed[..], more].concat())
    };
    let ended = simulate(&[]).well();
    assert_eq!(text(home.at("out/b.csv")), "name,born,zip\nAnn,1980-01-31,01067\nCid,1999-12-31,10115\n");
    for words in [
        r#"sheet "Kunden" is read, of "Lists" (hidden), "Kunden", "Old""#,
        r#"a.xlsx, sheet "Kunden": 1 cell with an error in place of a value, the first is D3 (#DIV/0!)"#,
        "1 area of merged cells, the first is A6:A7",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    // Another sheet, as an option and in the job file.
    simulate(&["--sheet", "a=Old", "--skip", "a=0"]).failed(2, &["\"name\""]);
    let named = JOB.replace("skip = 1", "sheet = \"Old\"");
    home.file("job.toml", &named);
    simulate(&[]).well();
    assert_eq!(text(home.at("out/b.csv")), "name,born,zip\nEve,1970-01-01,04109\n");
    simulate(&["--sheet", "a=New"]).failed(2, &["a.xlsx: no sheet \"New\"; its sheets are \"Lists\" (hidden)"]);
    simulate(&["--sheet", "b=New"]).failed(2, &["b.csv: has no sheets"]);
}

#[test]
fn inspect_names_the_sheet_and_places_are_its_rows() {
    let home = Home::new();
    let file = home.bytes("a.xlsx", &workbook());
    let report = home.at("report.json");
    let options = ["--key", "born", "--normalize", "date", "--skip", "1", "--report", &report];
    let said = tacita(&[&["inspect", &file][..], &options].concat()).well().stdout;
    for words in
        ["spreadsheet, sheet \"Kunden\"", "4 rows, 4 columns", "row 3: 1980-01-31", "born    text", "1 without a key"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(
        (&json(&report)["form"]["name"], &json(report)["form"]["sheet"]),
        (&"spreadsheet".into(), &"Kunden".into())
    );
    let old = tacita(&["inspect", &file, "--sheet", "Old", "--key", "name"]).well().stdout;
    assert!(old.contains("row 2: Eve"), "{old}");
    for (name, words) in
        [("a.xls", "old kind (.xls): save it as .xlsx"), ("a.ods", "OpenDocument"), ("a.xlsb", "binary form")]
    {
        tacita(&["inspect", &home.bytes(name, b"x")]).failed(2, &[words]);
    }
    tacita(&["inspect", &home.bytes("a.csv", &workbook())]).failed(2, &["a.csv: is a spreadsheet: name it .xlsx"]);
}

#[test]
fn an_archive_is_read_as_its_one_member() {
    let home = Home::new();
    let parquet = home.at("t.parquet");
    let table = home.file("t.csv", "id\n1\n2\n");
    tacita(&["simulate", &home.file("job.toml", "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"id\"]\n[parties.a]\n[parties.b]\n"),
        "--format", "parquet", "--output", &home.at("out"), "--input", &format!("a={table}"), "--input", &format!("b={table}")]).well();
    std::fs::copy(home.at("out/a.parquet"), &parquet).unwrap();
    let parquet = std::fs::read(parquet).unwrap();
    let look = |name: &str, members: &[(&str, &[u8])]| {
        tacita(&["inspect", &home.bytes(name, &archive(members)), "--key", "id"])
    };
    for (member, content, form) in [
        ("t.csv", &b"id\n1\n2\n"[..], "CSV with commas"),
        ("a/T.JSONL", b"{\"id\": 1}\n{\"id\": 2}\n", "JSON"),
        ("t.parquet", &parquet, "Parquet"),
    ] {
        let said = look("t.zip", &[(member, content), ("__MACOSX/x", b"")]).well().stdout;
        assert!(
            said.contains(form) && said.contains("compressed with zip") && said.contains("2 distinct keys"),
            "{said}"
        );
    }
    let sheet = home.bytes("s.zip", &archive(&[("k.xlsx", &workbook())]));
    let said = tacita(&["inspect", &sheet, "--skip", "1"]).well().stdout;
    assert!(said.contains("spreadsheet, sheet \"Kunden\", compressed with zip"), "{said}");
    let list = home.bytes("l.zip", &archive(&[("l.list", b"a\nb\n")]));
    assert!(tacita(&["inspect", &list, "--format", "list", "--key", "key"]).well().stdout.contains("2 distinct keys"));
    look("t.zip", &[("a.csv", b""), ("b.csv", b"")])
        .failed(2, &["t.zip: is a ZIP archive with several files, \"a.csv\", \"b.csv\""]);
    look("t.zip", &[("a.pdf", b"")]).failed(2, &["t.zip: not a known kind of table"]);
}

/// Checks that two keys that share a column give only one warning on that column.
#[test]
fn what_two_keys_have_in_common_is_warned_of_once() {
    let home = Home::new();
    let rows: String = (0..40)
        .map(|row| {
            format!("n{row},1980-01-{:02},{}\n", row % 28 + 1, if row < 4 { "?".into() } else { row.to_string() })
        })
        .collect();
    let table = home.file("a.csv", &format!("name,born,nhs\n{rows}"));
    let job = home.file(
        "job.toml",
        "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\nany = [[\"name\", \"nhs\"], [\"born\", \"nhs\"]]\n\
         normalize = { nhs = \"integer\" }\n[parties.a]\n[parties.b]\n",
    );
    let (a, b) = (format!("a={table}"), format!("b={table}"));
    let ended = tacita(&["simulate", &job, "--output", &home.at("out"), "--input", &a, "--input", &b]).well();
    let lines: Vec<_> = ended.stderr.lines().filter(|line| line.contains("a.csv") && line.contains("nhs")).collect();
    // Each party once.
    assert_eq!(lines.len(), 2, "{lines:#?}");
}
