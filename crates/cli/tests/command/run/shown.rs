//! Tests of the rows that a party's own output shows: all of its rows, those that are not common, and keys as they were
//! compared.

use super::*;

/// Runs the small pair with options of the hospital; returns what both have.
fn shown(pair: &Pair, hospital: &[&str]) -> [String; 2] {
    let running = [pair.start("hospital", hospital), pair.start("insurer", &[])];
    for ended in running.map(Running::end) {
        assert_eq!(ended.well().stdout, "rows 2\n");
    }
    NAMES.map(|name| text(pair.out(name, "rows.csv")))
}

#[test]
fn a_party_keeps_the_rows_that_it_wants() {
    let others = "name,ward\nJohn Roe,1\n";
    let all = "name,ward,common\n\"Doe, Jane\",3,true\nJohn Roe,1,false\nMary Major,2,true\n";
    let keys = "name,ward,key.name\n\"Doe, Jane\",3,doe jane\nMary Major,2,major mary\n";
    for (options, expected) in [
        (&["--keep", "common"][..], COMMON_PATIENTS),
        (&["--keep", "all"], all),
        (&["--keep", "others"], others),
        (&["--with-key"], keys),
        (&["--keep", "others", "--with-key"], "name,ward,key.name\nJohn Roe,1,john roe\n"),
    ] {
        // The other party's rows are what they are without.
        assert_eq!(shown(&small(), options), [expected, COMMON_INSURED], "{options:?}");
    }
}

#[test]
fn the_job_file_says_it_too_and_a_column_of_that_name_stays() {
    let parties = "[parties.hospital]\naddress = \"ADDRESS\"\nidentity = \"HOSPITAL\"\nshow = { rows = \"all\", key = true }\n\
                   [parties.insurer]\nidentity = \"INSURER\"\n";
    let pair = Pair::new(&format!("{TERMS}{parties}"));
    // A row without a key has none, and is not common.
    pair.table("hospital", "name,common\nMary Major,x\n,y\nJane Doe,z\n");
    pair.table("insurer", INSURED);
    let expected = "name,common,key.name,common_\nMary Major,x,major mary,true\n,y,,false\nJane Doe,z,doe jane,true\n";
    assert_eq!(shown(&pair, &[])[0], expected);
    // What is asked for on the command line goes before what the file says.
    let expected = "name,common,key.name\n,y,\n";
    assert_eq!(shown(&pair, &["--keep", "others"])[0], expected);
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let refused = |terms: &str, options: &[&str], words: &[&str]| {
        let pair = Pair::new(terms);
        pair.table("hospital", PATIENTS);
        pair.start("hospital", options).end().failed(2, words);
        assert_nothing_written(&pair);
    };
    let count = TERMS.replace("[key]", "reveal = \"count\"\n[key]");
    refused(&count, &["--keep", "all"], &["parties.hospital.show", "reveal = \"rows\""]);
    let any = TERMS.replace("columns = [\"name\"]\nnormalize = [\"name\"]", "any = [[\"name\"], [\"ward\"]]");
    refused(&any, &["--with-key"], &["parties.hospital.show", "key.any"]);
    refused(TERMS, &["--keep", "some"], &["rows = \"some\" is unknown", "others"]);
    let dot = "job = \"dot\"\nid = \"test\"\ncolumn = \"ward\"\nbits = 8\nreveal_to = [\"hospital\"]\n";
    refused(dot, &["--keep", "all"], &["parties.NAME.show is for job", "\"intersect\" or \"rules\""]);
    let work = Pair::new(TERMS);
    work.table("hospital", PATIENTS);
    let directory = work.home.at("work");
    let ended = work.start("hospital", &["--keep", "all", "--work", &directory]).end();
    ended.failed(2, &["--work", "show"]);
}
