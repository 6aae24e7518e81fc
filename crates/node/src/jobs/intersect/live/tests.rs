//! Tests of how rows of a list, and queries for it, are read.

use std::collections::BTreeMap;
use std::io::Cursor;

use super::*;
use crate::table::read::read_csv;
use crate::table::{ReadOptions, Table};

/// A list by these keys, whose column `year` is that of `dob`.
fn live(key: &str) -> Live {
    let text = format!(
        "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"desk\"]\n[clients]\nallow = \"desks.txt\"\n[key]\n{key}\n[limits]\npad_to = \
         100\ndaily_queries = 10\nmax_clients = 5\n[parties.list]\n[parties.desk]\n"
    );
    let columns = if key.contains("year") { "columns = { year = \"dob\" }\n" } else { "" };
    let text = text.replace("[parties.desk]\n", &format!("{columns}[parties.desk]\n{columns}"));
    Live::of(JobSpec::parse(&text, false).unwrap(), "desk").unwrap()
}

const SOFT: &str = "any = [[\"name\", \"dob\"], { columns = [\"name\", \"year\"], verdict = \"possible\" }]\n\
    normalize = { name = \"name\", dob = \"date\", year = \"year\" }";
const STRICT: &str = "any = [[\"name\", \"dob\"], [\"nhs\"]]\nnormalize = { name = \"name\", dob = \"date\" }";

fn table(text: &str) -> Table {
    read_csv(Cursor::new(text.to_owned()), "t.csv", &ReadOptions::default()).unwrap()
}

#[test]
fn a_value_that_one_profile_reads_makes_the_keys_that_it_can() {
    let live = live(SOFT);
    let reader = KeyReader::new(&live, "desk").unwrap();
    assert_eq!(live.verdicts(), [KeyVerdict::Match, KeyVerdict::Possible]);
    assert_eq!(reader.fields().len(), 2, "one field for both columns of one header");
    let rows = table("name,dob\nA,1948-05-21\nA,1948\nA,spring\nA,\n,\n");
    let rows = reader.read_table(&rows, &BTreeMap::new(), None).unwrap();
    let seen: Vec<_> = rows
        .iter()
        .map(|(asked, _)| {
            let has: Vec<bool> = asked.keys.iter().map(Option::is_some).collect();
            (has, asked.can_be_asked(), asked.why_not())
        })
        .collect();
    let expected = [
        (vec![true, true], true, ""),
        (vec![false, true], true, ""),
        (vec![false, false], false, "cannot be read: dob"),
        (vec![false, false], false, "no value: dob"),
        (vec![false, false], false, "no value: name, dob"),
    ];
    assert_eq!(seen, expected.map(|(has, can, why)| (has, can, why.to_owned())));
    // The year of a date and a year alone are one key.
    assert_eq!(rows[0].0.keys[1], rows[1].0.keys[1]);
}

#[test]
fn columns_of_another_name_are_read_and_references_have_to_be_there() {
    let live = live(SOFT);
    let reader = KeyReader::new(&live, "desk").unwrap();
    let (rows, names) = (table("who,born,pnr\nA,1948,r1\n"), [("name", "who"), ("dob", "born")]);
    let names = names.map(|(header, own)| (header.to_owned(), own.to_owned())).into();
    assert_eq!(reader.read_table(&rows, &names, Some("pnr")).unwrap()[0].1, "r1");
    let missing = reader.read_table(&rows, &names, Some("ref")).unwrap_err().to_string();
    assert_eq!(missing, "t.csv: no column \"ref\" for references; its columns are \"who\", \"born\", \"pnr\"");
}

#[test]
fn rows_that_cannot_be_found_are_told_with_their_lines() {
    let rows = table("name,dob\n\"A\nB\",1948-05-21\nC,1939\nD,spring\nE,\nF,1950-01-01\n");
    let read = Roll::read(&live(SOFT), &rows, false).unwrap();
    assert_eq!((read.rows.len(), read.read, read.lost, read.partial), (3, 5, 2, 1));
    assert_eq!(
        read.shortfall("t.csv"),
        [
            "t.csv: 2 of 5 rows CANNOT BE FOUND, as they have no key that can be read:",
            "t.csv, line 5: cannot be read: dob",
            "t.csv, line 6: no value: dob",
            "t.csv: 1 of 5 rows can be found by some of the keys alone, the first in line 4: by name + year",
        ]
    );
    let many = table(&format!("name,dob\n{}", "A,\n".repeat(MANY)));
    let told = Roll::read(&live(SOFT), &many, false).unwrap().shortfall("t.csv");
    assert_eq!((told.len(), told[21].as_str()), (22, "and 4 more"));
    assert_eq!(Roll::read(&live(SOFT), &table("name,dob\nA,1948-05-21\n"), false).unwrap().shortfall("t.csv"), [""; 0]);
}

/// More rows without a key than are told one by one.
const MANY: usize = 24;

/// A year alone is nothing to be mended where a key reads it; a profile that reads hardly any value is.
#[test]
fn values_that_no_profile_reads_end_it_if_they_are_most() {
    let years = table("name,dob\nA,1948\nB,1949\nC,1950\n");
    assert_eq!(Roll::read(&live(SOFT), &years, false).unwrap().rows.len(), 3);
    let odd = table("name,dob,nhs\nA,05/06/1948,1\nB,06/05/1949,2\nC,07/08/1950,3\nD,1950-01-01,4\n");
    let error = Roll::read(&live(STRICT), &odd, false).unwrap_err().to_string();
    for words in ["3 of 4 values in column \"dob\" cannot be read as date", "date:DMY", "--allow-unreadable"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(!error.contains("05/06/1948"), "{error}");
    assert_eq!(Roll::read(&live(STRICT), &odd, true).unwrap().rows.len(), 4);
}
