use std::io::{Cursor, Write};

use arrow_array::cast::AsArray;
use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook, Worksheet};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::table::{Budget, Table};

/// A file of a workbook with these sheets.
fn file_of(sheets: Vec<Worksheet>) -> File {
    let mut workbook = Workbook::new();
    sheets.into_iter().for_each(|sheet| workbook.push_worksheet(sheet));
    file(&workbook.save_to_buffer().unwrap())
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}

fn sheet(rows: &[&[&str]]) -> Worksheet {
    let mut sheet = Worksheet::new();
    for (row, cells) in rows.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            sheet.write_string(row as u32, column as u16, *cell).unwrap();
        }
    }
    sheet
}

/// The table: columns, and rows with their places.
fn read_with(file: File, options: &ReadOptions, batch_bytes: usize) -> Result<(Vec<String>, Vec<String>)> {
    let (schema, mut sheet) = open(file, "t.xlsx", options, batch_bytes)?;
    let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut batches = Vec::new();
    while let Some(batch) = sheet.next_batch(u64::MAX)? {
        batches.push(batch);
    }
    let lines = sheet.lines().map(std::mem::take);
    let table = Table::with_lines("t.xlsx".into(), schema, batches, lines)?;
    let mut rows = Vec::new();
    for batch in table.batches() {
        for row in 0..batch.num_rows() {
            let texts: Vec<_> = batch.columns().iter().map(|column| column.as_string::<i32>().value(row)).collect();
            rows.push(format!("{}: {}", table.place(rows.len()), texts.join("|")));
        }
    }
    Ok((columns, rows))
}

fn read(file: File, options: &ReadOptions) -> Result<(Vec<String>, Vec<String>)> {
    read_with(file, options, 1 << 20)
}

fn refusal(file: File, options: &ReadOptions) -> String {
    read(file, options).unwrap_err().to_string()
}

#[test]
fn cells_are_the_text_of_a_csv_export() {
    let mut sheet = sheet(&[&["id", "zip", "born", "paid", "member", "total", "note"]]);
    sheet.write_number(1, 0, 17.0).unwrap();
    sheet.write_number_with_format(1, 1, 1067.0, &Format::new().set_num_format("00000")).unwrap();
    let date = Format::new().set_num_format("dd.mm.yyyy");
    let born = ExcelDateTime::from_ymd(1980, 1, 31).unwrap();
    sheet.write_datetime_with_format(1, 2, &born, &date).unwrap();
    let paid = ExcelDateTime::from_ymd(2025, 10, 13).unwrap().and_hms(13, 45, 7).unwrap();
    sheet
        .write_datetime_with_format(1, 3, &paid, &Format::new().set_num_format(r#"[$-407]d. mmm yy "um" h:mm"#))
        .unwrap();
    sheet.write_boolean(1, 4, true).unwrap();
    sheet.write_formula(1, 5, Formula::new("=A2*1.1").set_result("18.700000000000003")).unwrap();
    sheet.write_string(1, 6, "007").unwrap();
    sheet.write_number_with_format(2, 0, 0.5, &Format::new().set_num_format("0 %")).unwrap();
    sheet.write_number_with_format(2, 5, 1234.5, &Format::new().set_num_format("#,##0.00")).unwrap();
    sheet.write_blank(5, 3, &date).unwrap();
    let (columns, rows) = read(file_of(vec![sheet]), &ReadOptions::default()).unwrap();
    assert_eq!(columns, ["id", "zip", "born", "paid", "member", "total", "note"]);
    assert_eq!(rows, ["row 2: 17|01067|1980-01-31|2025-10-13T13:45:07|TRUE|18.7|007", "row 3: 0.5|||||1234.5|"]);
}

#[test]
fn rows_have_the_numbers_of_the_sheet_and_empty_ones_at_the_end_are_none() {
    let rows: [&[&str]; 7] = [&["A title"], &[], &["id", "", "note"], &["1"], &[], &["2", "", "", "beside"], &["3"]];
    let skip = ReadOptions { skip: 1, ..ReadOptions::default() };
    let expected = ["row 4: 1|||", "row 5: |||", "row 6: 2|||beside", "row 7: 3|||"];
    for batch_bytes in [1, 1 << 20] {
        let (columns, found) = read_with(file_of(vec![sheet(&rows)]), &skip, batch_bytes).unwrap();
        assert_eq!(columns, ["id", "column_2", "note", "column_4"]);
        assert_eq!(found, expected);
    }
    let headless = ReadOptions { skip: 2, no_header: true, ..ReadOptions::default() };
    let (columns, found) = read(file_of(vec![sheet(&rows)]), &headless).unwrap();
    assert_eq!(columns, ["column_1", "column_2", "column_3", "column_4"]);
    assert_eq!((found.len(), found[0].as_str()), (5, "row 3: id||note|"));
    let twice = refusal(file_of(vec![sheet(&[&["id", "id"]])]), &ReadOptions::default());
    assert!(twice.contains("id") && twice.contains("t.xlsx"), "{twice}");
    let empty = refusal(file_of(vec![sheet(&[])]), &ReadOptions::default());
    assert!(empty.contains("the sheet is empty; its first row must name the columns"), "{empty}");
}

#[test]
fn the_first_sheet_that_is_not_hidden_is_read_unless_one_is_named() {
    let workbook = || {
        let mut hidden = sheet(&[&["secret"], &["x"]]);
        hidden.set_name("Lists").unwrap().set_hidden(true);
        let mut first = sheet(&[&["id"], &["1"]]);
        first.set_name("Kunden 2025").unwrap().set_active(true);
        let mut second = sheet(&[&["id"], &["2"]]);
        second.set_name("Old").unwrap();
        file_of(vec![hidden, first, second])
    };
    let named = |sheet: Option<&str>| ReadOptions { sheet: sheet.map(Arc::from), ..ReadOptions::default() };
    for (wanted, expected) in [(None, "row 2: 1"), (Some("Old"), "row 2: 2"), (Some("Lists"), "row 2: x")] {
        assert_eq!(read(workbook(), &named(wanted)).unwrap().1, [expected], "{wanted:?}");
    }
    let message = refusal(workbook(), &named(Some("kunden")));
    assert!(
        message.contains(r#"no sheet "kunden"; its sheets are "Lists" (hidden), "Kunden 2025", "Old""#),
        "{message}"
    );
}

#[test]
fn dates_are_counted_from_1904_where_the_workbook_says_so() {
    let part = |name: &str| {
        match name {
        "xl/workbook.xml" => Some(
            r#"<workbook xmlns:r="r"><workbookPr date1904="1"/><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#
                .to_owned(),
        ),
        _ => None,
    }
    };
    let sheet = r#"<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>d</t></is></c></row>
        <row r="2"><c r="A2" s="1"><v>44481</v></c></row></sheetData></worksheet>"#;
    assert_eq!(read(workbook(sheet, part), &ReadOptions::default()).unwrap().1, ["row 2: 2025-10-13"]);
}

/// A workbook by hand, with this sheet; `part` may replace the others.
fn workbook(sheet: &str, part: impl Fn(&str) -> Option<String>) -> File {
    let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let of = |kind: &str, target: &str, id: &str| {
        format!(r#"<Relationship Id="{id}" Type="{relations}/{kind}" Target="{target}"/>"#)
    };
    let list = |all: String| format!("<Relationships>{all}</Relationships>");
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, usual) in [
        ("_rels/.rels", list(of("officeDocument", "xl/workbook.xml", "rId1"))),
        ("xl/_rels/workbook.xml.rels", list(of("worksheet", "worksheets/sheet1.xml", "rId1"))),
        (
            "xl/workbook.xml",
            r#"<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#.to_owned(),
        ),
        (
            "xl/styles.xml",
            r#"<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#.to_owned(),
        ),
        ("xl/sharedStrings.xml", "<sst><si><t>id</t></si></sst>".to_owned()),
        ("xl/worksheets/sheet1.xml", sheet.to_owned()),
    ] {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(part(name).unwrap_or(usual).as_bytes()).unwrap();
    }
    file(&writer.finish().unwrap().into_inner())
}

/// A sheet with a header, and these rows.
fn with_rows(rows: &str) -> String {
    format!(r#"<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row>{rows}</sheetData></worksheet>"#)
}

#[test]
fn what_claims_or_unpacks_to_more_than_there_is_room_for_ends_in_one_line() {
    let no_part = |_: &str| None;
    let small = ReadOptions { budget: Budget { bytes: Some(1 << 20), ..Budget::default() }, ..ReadOptions::default() };
    assert_eq!(read(workbook(&with_rows(""), no_part), &small).unwrap().0, ["id"]);
    // A million rows that are not there.
    let far = with_rows(r#"<row r="1048576"><c r="A1048576"><v>1</v></c></row>"#);
    let message = refusal(workbook(&far, no_part), &small);
    assert!(message.contains("of memory allowed here"), "{message}");
    for (cell, words) in
        [("A1048577", "outside the bounds of a sheet"), ("XFE2", "outside"), ("A99999999999", "corrupt")]
    {
        let message =
            refusal(workbook(&with_rows(&format!(r#"<row><c r="{cell}"><v>1</v></c></row>"#)), no_part), &small);
        assert!(message.contains(words), "{cell}: {message}");
    }
    // Texts that are claimed, and texts that are there.
    for strings in [
        r#"<sst count="1" uniqueCount="99999999999999"><si><t>id</t></si></sst>"#.to_owned(),
        format!("<sst>{}</sst>", "<si/>".repeat(50_000)),
        format!("<sst><si><t>{}</t></si></sst>", "<r/>".repeat(400_000)),
    ] {
        let part = |name: &str| (name == "xl/sharedStrings.xml").then(|| strings.clone());
        let message = refusal(workbook(&with_rows(""), part), &small);
        assert!(message.contains("of memory allowed here"), "{message}");
    }
    // A cell of two million characters.
    let long = with_rows(&format!(r#"<row r="2"><c r="A2" t="str"><v>{}</v></c></row>"#, "x".repeat(2 << 20)));
    let message = refusal(workbook(&long, no_part), &ReadOptions::default());
    assert!(message.contains("a cell is longer than any may be"), "{message}");
}

#[test]
fn cells_out_of_order_and_files_of_other_kinds_are_refused() {
    for (rows, words) in [
        (
            r#"<row r="3"><c r="A3"><v>1</v></c></row><row r="2"><c r="A2"><v>1</v></c></row>"#,
            "cell A2 stands below a later row",
        ),
        (r#"<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>"#, "cell A2 is given twice"),
        (r#"<row r="2"><c r="A2" t="s"><v>7</v></c></row>"#, "cannot be read"),
    ] {
        let message = refusal(workbook(&with_rows(rows), |_| None), &ReadOptions::default());
        assert!(message.contains(words), "{message}");
    }
    for (bytes, words) in [
        (&b""[..], "is empty"),
        (b"id\n1\n", "is no .xlsx file"),
        (b"\xD0\xCF\x11\xE0\xA1\xB1", "locked with a password"),
        (b"PK\x03\x04 and so on", "cannot be read"),
    ] {
        let message = refusal(file(bytes), &ReadOptions::default());
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn formulas_without_a_value_merged_cells_and_errors_are_found() {
    let sheet = r#"<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row>
        <row r="2"><c r="A2"><f>1+1</f><v></v></c><c r="B2" t="e"><v>#N/A</v></c></row>
        <row r="3"><c r="A3"><f>1+1</f><v>2</v></c></row></sheetData><mergeCells><mergeCell ref="A2:A3"/></mergeCells></worksheet>"#;
    let parts = Parts::weigh(workbook(sheet, |_| None), "t", u64::MAX).unwrap();
    assert!(parts.merged && parts.formulas && parts.memory > 0);
    let plain = Parts::weigh(workbook(&with_rows(""), |_| None), "t", u64::MAX).unwrap();
    assert!(!plain.merged && !plain.formulas);
    let (columns, rows) = read(workbook(sheet, |_| None), &ReadOptions::default()).unwrap();
    assert_eq!(columns, ["id", "column_2"]);
    assert_eq!(rows, ["row 2: |", "row 3: 2|"]);
}
