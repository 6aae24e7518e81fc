//! Inputs from everyday work, a folder each: tables and lists as other programs write them, and what has to come of
//! them.

mod siblings;

use std::path::PathBuf;

use crate::common::{Ended, Home, tacita, text};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/cases");

/// Simulates the job of a case with its inputs, after `change` has been made to the job file; results go into `out`.
fn simulate(home: &Home, case: &str, change: (&str, &str), more: &[&str]) -> Ended {
    let folder = PathBuf::from(FOLDER).join(case);
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let (jobs, tables): (Vec<_>, Vec<_>) = inputs.into_iter().partition(|path| name(path).starts_with("job."));
    let job = if change.0.is_empty() {
        jobs[0].to_str().unwrap().to_owned()
    } else {
        let job = text(&jobs[0]);
        assert!(job.contains(change.0), "{case}: {job}");
        home.file("job.toml", &job.replacen(change.0, change.1, 1))
    };
    let party = |path: &PathBuf| format!("{}={}", name(path).split('.').next().unwrap(), path.display());
    let mut inputs: Vec<String> = tables.iter().map(party).collect();
    if case == "job-json-bom" {
        inputs.push(inputs[0].replacen('a', "b", 1));
    }
    let output = home.at("out");
    let mut arguments = vec!["simulate", &job, "--force", "--output", &output];
    for input in &inputs {
        arguments.extend(["--input", input]);
    }
    tacita(&[&arguments[..], more].concat())
}

/// Runs the case as it is in the folder, with `change`, and returns the rows that the first party learns, without the
/// header.
fn rows(case: &str, change: (&str, &str)) -> Vec<String> {
    let home = Home::new();
    simulate(&home, case, change, &[]).well();
    learned(&home)
}

/// The rows in `out` that the first party learns, without the header.
fn learned(home: &Home) -> Vec<String> {
    let output = ["a.csv", "p1.csv"]
        .map(|file| home.at(&format!("out/{file}")))
        .into_iter()
        .find(|path| PathBuf::from(path).exists());
    let mut rows: Vec<String> = text(output.expect("a result")).lines().skip(1).map(str::to_owned).collect();
    rows.sort();
    rows
}

/// Checks that the case is refused, and that the one line of error holds all of `words`.
fn refused(case: &str, words: &[&str]) {
    simulate(&Home::new(), case, AS_IT_IS, &[]).failed(2, words);
}

const AS_IT_IS: (&str, &str) = ("", "");

#[test]
fn lists_of_addresses_are_read_whatever_their_lines() {
    // The lists of several cases, one of each participant: how many have an address says who was read rightly.
    let home = Home::new();
    let lists = [
        "netset-cr/p1.txt",
        "netset-comment-without-blank/p1.txt",
        "netset-hyphen-range-first/p1.txt",
        "netset-dshield/p1.txt",
        "csv-slash-32/p1.csv",
    ];
    let inputs: Vec<String> =
        lists.iter().zip(1..).map(|(list, number)| format!("p{number}={FOLDER}/{list}")).collect();
    let (job, out) = (format!("{FOLDER}/netset-cr/job.toml"), home.at("out"));
    let mut arguments = vec!["simulate", &job, "--output", &out];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    tacita(&arguments).well();
    assert_eq!(learned(&home), ["192.0.2.1,4", "192.0.2.2,4", "198.51.100.1,4"]);
    // Whoever has nothing to report is no participant.
    assert_eq!(rows("netset-only-comments", ("min_participants = 3", "min_participants = 2")), [""; 0]);
    refused("netset-two-on-a-line", &["p1.txt, line 1", "two addresses"]);
    refused("misp-own-output", &["p1.misp.json, line 1", "MISP's warning lists", "are not read"]);
    assert!(rows("value-2.0", AS_IT_IS).iter().any(|row| row.starts_with("192.0.2.1,")));
}

#[test]
fn baskets_end_with_cr_too() {
    let home = Home::new();
    simulate(&home, "dat-cr", AS_IT_IS, &[]).well();
    let itemsets = text(home.at("out/a.itemsets.csv"));
    let support =
        itemsets.lines().find(|line| line.starts_with("2,")).map(|line| line.split(',').nth(2).unwrap().to_owned());
    assert_eq!(support.as_deref().map(|support| &support[..5]), Some("0.333"), "{itemsets}");
}

#[test]
fn what_nobody_sees_separates_no_keys() {
    assert_eq!(rows("invisible-text", AS_IT_IS).len(), 4);
    assert_eq!(rows("invisible-email", AS_IT_IS).len(), 3);
    assert_eq!(rows("phone-bidi", AS_IT_IS).len(), 4);
}

#[test]
fn values_have_one_form_in_every_format() {
    assert_eq!(rows("decimal-csv-parquet", ("[\"id\"]", "[\"id\"]\nnormalize = [\"decimal\"]")).len(), 2);
    assert_eq!(
        rows("timestamp-csv-parquet", ("[\"id\",\"t\"]", "[\"id\",\"t\"]\nnormalize = [\"none\", \"timestamp\"]"))
            .len(),
        2
    );
    assert_eq!(rows("float16-key", AS_IT_IS), ["0.1", "1.5"]);
    assert_eq!(rows("uuid-parquet", AS_IT_IS).len(), 2);
}

#[test]
fn tables_without_a_header_or_with_lines_above_it_are_read_where_that_is_said() {
    refused("no-header", &["no column \"id\"", "--no-header"]);
    let headless = ("[parties.a]", "[parties.a]\nheader = false\ncolumns = { id = \"column_1\" }");
    assert_eq!(rows("no-header", headless), ["k1,5"]);
    refused("title-line", &["no column \"id\"", "--skip N"]);
    assert_eq!(rows("title-line", ("[parties.a]", "[parties.a]\nskip = 1")), ["k1,p"]);
    refused("comment-line", &["line 2", "a comment", "--skip N"]);
    let home = Home::new();
    simulate(&home, "comment-line", AS_IT_IS, &["--skip", "a=1"]).well();
    assert_eq!(text(home.at("out/a.csv")), "id,x\nk1,p\n");
}

#[test]
fn what_is_wrong_is_said() {
    refused("encrypted-parquet", &["a.parquet", "is encrypted, which is not read"]);
    refused("gz-garbage", &["a.csv.gz", "follows the end of the compressed data"]);
    let line = simulate(&Home::new(), "control-in-hint", AS_IT_IS, &[]).failed(2, &["no column \"id\""]);
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!line.contains(acts), "{line:?}");
    let home = Home::new();
    let table = home.file("a.csv", "x\u{202e}di\u{61c}\u{1b}[31m,y\n1,2\n");
    let shown = tacita(&["inspect", &table, "--key", "id"]).failed(2, &["no column \"id\""]);
    assert!(!shown.contains(acts) && shown.contains("202e"), "{shown:?}");
    let two = simulate(&Home::new(), "two-sums", AS_IT_IS, &[]).well();
    assert!(two.stdout.contains("count 1, sum of v 1, sum of w 2"), "{}", two.stdout);
    let ended = simulate(&Home::new(), "null-keys-silent", AS_IT_IS, &[]).well();
    assert!(ended.stderr.contains("50 of 50 rows have no value in the key"), "{}", ended.stderr);
    simulate(&Home::new(), "job-json-bom", AS_IT_IS, &[]).well();
}

/// Words for an unknown value on both sides are no persons, and are said; whoever says that they are values has them.
#[test]
fn words_for_no_value_match_nothing() {
    let home = Home::new();
    let both = "name,born\nNULL,1900-01-01\nunknown,1900-01-01\nN/A,1900-01-01\n-,1900-01-01\nNull,1980-02-03\nDoe,1900-01-01\n";
    let inputs = ["a", "b"].map(|name| format!("{name}={}", home.file(&format!("{name}.csv"), both)));
    let simulate = |nulls: &str| {
        let home = Home::new();
        let terms = format!(
            "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\", \"born\"]\nnormalize = [\"name\", \"date\"]\n\
             [parties.a]\n{nulls}\n[parties.b]\n{nulls}\n"
        );
        let (job, out) = (home.file("job.toml", &terms), home.at("out"));
        let ended = tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--output", &out]).well();
        let rows: Vec<String> = text(home.at("out/a.csv")).lines().skip(1).map(str::to_owned).collect();
        (rows, ended.stderr)
    };
    let (rows, said) = simulate("");
    assert_eq!(rows, ["Doe,1900-01-01", "Null,1980-02-03"]);
    for words in [
        "column \"name\": \"NULL\" (1 row), \"N/A\" (1 row) and \"unknown\" (1 row) are read as no value",
        "nulls = [] in [parties.X]",
        "column \"born\": \"1900-01-01\" (5 rows)",
        "nulls = [\"NULL\", \"N/A\", \"unknown\", \"1900-01-01\", \"Null\"]",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // Dates are the word in any form.
    let (rows, said) = simulate("nulls = [\"NULL\", \"unknown\", \"N/A\", \"-\", \"1900-01-01\"]");
    assert_eq!(rows, ["Null,1980-02-03"]);
    assert!(!said.contains("are read as no value"), "{said}");
    let (rows, said) = simulate("nulls = []");
    assert_eq!(rows.len(), 5, "a name of nothing but a hyphen cannot be read: {rows:?}");
    assert!(!said.contains("nulls"), "{said}");
}
