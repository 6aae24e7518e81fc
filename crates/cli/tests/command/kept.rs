//! Tests that no learned result is lost: an output path that cannot take it is found before, or the result is kept
//! elsewhere.

use crate::common::{Home, Pair, files, tacita, text};

const TERMS: &str =
    "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"hospital\", \"insurer\"]\n[key]\ncolumns = [\"id\"]\n";

/// A pair of parties with two rows in common; the hospital's output is a link to a full device.
fn full(terms: &str) -> (Pair, String) {
    let pair = Pair::new(terms);
    pair.table("hospital", "id,x\n1,a\n2,b\n3,c\n");
    pair.table("insurer", "id,y\n2,d\n3,e\n4,f\n");
    let output = pair.home.at("full.csv");
    std::os::unix::fs::symlink("/dev/full", &output).unwrap();
    (pair, output)
}

#[test]
fn a_full_disk_loses_no_result() {
    let (pair, output) = full(TERMS);
    let report = pair.out("hospital", "report.json");
    let input = pair.home.at("hospital.csv");
    let hospital = pair.start_on("hospital", &["--input", &input, "--force", "--output", &output], &[]);
    let insurer = pair.start("insurer", &[]);
    let kept = pair.out("hospital", "kept-full.csv");
    hospital.end().failed(2, &["full.csv", "cannot be written", "the result is kept in", "kept-full.csv"]);
    insurer.end().well();
    assert_eq!(text(&kept), "id,x\n2,b\n3,c\n");
    assert_eq!(crate::common::json(&report)["result"]["rows"], 2);
}

/// On disk the work stays, and is all that the next attempt needs.
#[test]
fn a_full_disk_is_resumed_from_the_work() {
    let (pair, output) = full(TERMS);
    let work = pair.home.at("work");
    let input = pair.home.at("hospital.csv");
    let hospital = pair.start_on("hospital", &["--input", &input, "--work", &work], &["--force", "--output", &output]);
    let insurer = pair.start("insurer", &[]);
    hospital.end().failed(2, &["full.csv", "cannot be written", "--resume"]);
    insurer.end().well();
    let output = pair.home.at("rows.csv");
    pair.start_on("hospital", &["--input", &input, "--work", &work], &["--resume", "--force", "--output", &output])
        .end()
        .well();
    assert_eq!(text(&output), "id,x\n2,b\n3,c\n");
    assert_eq!(files(&work), [""; 0]);
}

#[test]
fn a_run_on_disk_wants_what_it_takes() {
    let (pair, _) = full(TERMS);
    for memory in ["1MiB", "12MiB", "67MiB"] {
        let work = pair.home.at("work");
        pair.start("hospital", &["--work", &work, "--memory", memory])
            .end()
            .failed(2, &["--memory", "64 MiB", "at least 68MiB"]);
    }
}

/// Rows that would go nowhere are asked about before anything is read.
#[test]
fn rows_want_a_place() {
    let home = Home::new();
    ["id", "peer"].into_iter().for_each(|name| drop(tacita(&["identity", "new", &home.at(name)]).well()));
    let pin = tacita(&["identity", "show", &home.at("peer")]).stdout;
    let table = home.file("a.csv", "id,items\n1,x\n");
    let options = ["--listen", "127.0.0.1:0", "--peer", pin.trim(), "--identity", &home.at("id"), "--input", &table];
    for (command, more, what) in [
        ("intersect", &["--key", "id", "--receiver", "me"][..], "rows"),
        ("intersect", &["--key", "id"], "rows"),
        ("intersect", &["--key", "id", "--receiver", "both"], "rows"),
        ("rules", &["--items", "items", "--min-support", "1"], "rules"),
    ] {
        let ended = tacita(&[&[command][..], &options, more].concat());
        ended.failed(2, &[&format!("learns {what}"), "--output FILE", "--output -"]);
    }
    // With a job file it is said, and goes on.
    let (pair, _) = full(TERMS);
    let job = pair.home.at("insurer.toml");
    let identity = pair.home.at("insurer");
    let input = pair.home.at("insurer.csv");
    let run = ["run", &job, "--as", "insurer", "--identity", &identity, "--input", &input, "--timeout", "1s"];
    let ended = tacita(&run);
    assert!(ended.stderr.contains("no --output FILE: the rows will be counted, and not kept"), "{}", ended.stderr);
}

/// Given texts have a bound that both agree on, and that hides how long the longest is.
#[test]
fn given_texts_have_a_bound() {
    let home = Home::new();
    let terms = |limit: &str| {
        let reveal = "reveal = \"payload\"\nreveal_to = [\"hospital\"]\ngives = { insurer = [\"y\"] }";
        format!(
            "job = \"intersect\"\nid = \"t\"\n{reveal}\n[key]\ncolumns = [\"id\"]\n{limit}\n[parties.hospital]\n[parties.insurer]\n"
        )
    };
    let run = |limit: &str, longest: usize| {
        let job = home.file("job.toml", &terms(limit));
        let a = format!("hospital={}", home.file("a.csv", "id\n1\n2\n"));
        let b = format!("insurer={}", home.file("b.csv", &format!("id,y\n1,x\n2,{}\n", "y".repeat(longest))));
        let (report, out) = (home.at("report.json"), home.at("out"));
        let ended =
            tacita(&["simulate", &job, "--input", &a, "--input", &b, "--report", &report, "--force", "--output", &out]);
        let said = std::fs::read_to_string(&report).unwrap_or_default();
        (ended, said, std::fs::read_to_string(home.at("out/hospital.csv")).unwrap_or_default())
    };
    let (ended, said, out) = run("[limits]\nmax_text = 10", 10);
    ended.well();
    assert!(!said.contains("longest text") && out.contains("2,yyyyyyyyyy\n"), "{said}");
    let (ended, said, _) = run("", 10);
    ended.well();
    assert!(said.contains("longest text"));
    run("[limits]\nmax_text = 10", 11).0.failed(2, &["b.csv, line 3", "\"y\" has 11 bytes", "limits.max_text is 10"]);
    run("[limits]\nmax_text = 0", 1).0.failed(2, &["limits.max_text: use 1 to 1048576"]);
    let rows = terms("[limits]\nmax_text = 10")
        .replace("\"payload\"", "\"rows\"")
        .replace("gives = { insurer = [\"y\"] }", "");
    let job = home.file("rows.toml", &rows);
    tacita(&["plan", &job, "--rows", "hospital=1", "--rows", "insurer=1"]).failed(2, &["limits.max_text", "payload"]);
}

/// With both files at hand a plan of rules counts what is frequent.
#[test]
fn a_plan_of_rules_counts_the_items() {
    let home = Home::new();
    let terms = "job = \"rules\"\nid = \"t\"\nmin_support = 2\nreveal_to = [\"hospital\", \"insurer\"]";
    let items = "items = { column = \"items\", separator = \" \" }";
    let job = home.file("job.toml", &format!("{terms}\n{items}\n[parties.hospital]\n[parties.insurer]\n"));
    let rows = |letters: [&str; 3]| format!("items\n{}\n", letters.join("\n"));
    let a = format!("hospital={}", home.file("a.csv", &rows(["a b c", "a b", "b d"])));
    let b = format!("insurer={}", home.file("b.csv", &rows(["x y", "x", "y z"])));
    let said = tacita(&["plan", &job, "--input", &a, "--input", &b]).well().stdout;
    assert!(said.contains("2 items of hospital and 2 of insurer are frequent"), "{said}");
    assert!(said.contains("4, it takes"), "{said}");
    // With one file there is nothing to say of the other.
    let said = tacita(&["plan", &job, "--input", &a, "--rows", "insurer=3"]).well().stdout;
    assert!(!said.contains("are frequent: with"), "{said}");
}
