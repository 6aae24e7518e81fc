//! Tests of refusals, and of how a run ends.

use super::*;

#[test]
fn jobs_that_make_no_sense_are_refused_with_what_would() {
    let home = Home::new();
    let a = table(&home, "a.csv", [1, 0, 1]);
    for (rest, words) in [
        ("security = \"malicious\"", ["malicious", "semi-honest"]),
        ("protocol = \"vole\"", ["\"vole\"", "\"ot\""]),
        ("protocol = \"outsourced\"", ["outsourced", "\"ot\""]),
        ("reveal = \"rows\"", ["\"rows\"", "\"shares\""]),
        ("bits = 33", ["bits = 33", "1 to 32"]),
        ("bits = 0", ["bits = 0", "1 to 32"]),
        ("scale = 100", ["scale = 100", "decimals"]),
        ("modulus = \"1\"", ["modulus", "2 to 2^127"]),
        ("modulus = \"3\"", ["modulus = 3", "leave `modulus` out"]),
        ("extension = \"kkrt\"", ["kkrt", "softspoken"]),
        ("operation = \"open\"", ["operation", "\"shares\""]),
        ("row_id = []", ["row_id", "1 to"]),
        ("row_id = [\"x\", \"x\"]", ["row_id", "twice"]),
        ("level = \"bits192\"", ["bits192", "bits128"]),
        ("gives = { a = [\"x\"] }", ["gives", "\"intersect\""]),
        ("limits = { pad_to = 10 }", ["pad_to", "position"]),
        ("protocol = \"lattice\"\nextension = \"silent\"", ["extension", "lattice"]),
        ("key = { columns = [\"x\"] }", ["[key]", "row_id"]),
        ("density = 0.1", ["density", "gm-bloom"]),
        ("reveal = \"shares\"\nlimits = { min_result = 3 }", ["min_result", "opens"]),
        ("row_id = \"x\"\nkey = { columns = [\"y\"] }", ["key.columns", "row_id"]),
    ] {
        let file = home.file("bad.toml", &job(rest));
        let inputs = [format!("a={a}"), format!("b={a}")];
        let ended = tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1]]);
        ended.failed(2, &words);
    }
}

#[test]
fn bad_tables_end_in_one_line_that_says_where() {
    let home = Home::new();
    let good = table(&home, "good.csv", [1, 0, 1]);
    let run = |rest: &str, bad: &str| {
        let file = home.file("job.toml", &job(rest));
        let inputs = [format!("a={good}"), format!("b={bad}")];
        tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1]])
    };
    let short = table(&home, "short.csv", [1, 0]);
    run("", &short).failed(5, &["3", "2", "position", "row_id"]);
    run("", &table(&home, "word.csv", ["1", "seven", "0"])).failed(2, &["word.csv", "line 3", "\"x\""]);
    run("", &table(&home, "large.csv", [1, 0, 9])).failed(2, &["line 4", "bits = 4"]);
    run("", &table(&home, "half.csv", ["1", "0.5", "0"])).failed(2, &["line 3", "scale"]);
    run("", &home.file("none.csv", "y\n1\n1\n1\n")).failed(2, &["no column \"x\""]);
    run("row_id = \"x\"", &table(&home, "twice.csv", [1, 0, 1])).failed(2, &["same key"]);
    // A blank line may stand for a row; at the end it does not.
    for (text, line) in [
        ("x\n1\n\n0\n", "line 3"),
        ("x\n\n1\n0\n", "line 2"),
        ("x\r\n1\n\r\n0\r\n1\r\n", "line 3"),
        ("x\r1\r\r0\r1\r", "line 3"),
        ("x\n\"1\"\r\n0\n\n1\n", "line 4"),
    ] {
        run("", &home.file("blank.csv", text)).failed(2, &["blank.csv", line, "blank"]);
    }
    run("", &home.file("mixed.csv", "x\r\n1\r\n0\n1\r\n")).well();
    run("", &home.file("end.csv", "x\n1\n1\n0\n\n\n")).well();
    run("limits = { max_rows = 2 }", &good).failed(2, &["3 rows, and limits.max_rows"]);
    // Bytes are no numbers, though they have a text.
    let bytes: arrow_array::ArrayRef = std::sync::Arc::new(arrow_array::BinaryArray::from(vec![&b"1"[..], b"0", b"1"]));
    let batch = arrow_array::RecordBatch::try_from_iter([("x", bytes)]).unwrap();
    let bytes = tacita_node::table::Table::new("bytes", batch.schema(), vec![batch]).unwrap();
    let file = home.at("bytes.parquet");
    tacita_node::table::output::write(&tacita_node::table::Selection::all(&bytes), Path::new(&file), None).unwrap();
    run("bits = 8", &file).failed(2, &["bytes.parquet", "no number"]);
}

#[test]
fn a_number_that_cannot_be_kept_is_printed() {
    let pair = Pair::new("job = \"dot\"\nid = \"test\"\nreveal_to = [\"hospital\"]\ncolumn = \"x\"\n");
    NAMES.iter().for_each(|name| pair.table(name, "x\n1\n1\n"));
    std::os::unix::fs::symlink("/dev/full", pair.home.at("full.csv")).unwrap();
    let (input, full) = (pair.home.at("hospital.csv"), pair.home.at("full.csv"));
    let one = pair.start_on("hospital", &["--input", &input, "--force", "--output", &full], &[]);
    let other = pair.start("insurer", &[]);
    let ended = one.end();
    ended.failed(2, &["full.csv"]);
    assert_eq!(ended.stdout, "value 2\n");
    other.end().well();
    let choice = json(pair.out("hospital", "report.json"))["choice"].to_string();
    assert!(choice.starts_with("\"ot softspoken-"), "{choice}");
}

#[test]
fn names_of_columns_stay_as_they_are() {
    let home = Home::new();
    let file = home.file("t.csv", "007,01\n1,1\n0,1\n");
    let job = job("").replace("\"x\"", "[\"007\", \"01\"]");
    simulate(&home, &job, [&file, &file], "out", &[]);
    assert_eq!(text(home.at("out/a.csv")), "a,b,value\n007,007,1\n007,01,1\n01,007,1\n01,01,2\n");
}

#[test]
fn two_parties_without_a_job_file() {
    for (reveal, expected) in [("value", "value 2\n"), ("shares", "shares 1\n")] {
        let pair = Pair::new("");
        pair.table("hospital", "who,sick\nann,1\nbob,1\ncy,0\ndee,1\n");
        pair.table("insurer", "person,claims\ndee,1\nEve,1\nBob,1\nann,0\n");
        let address = format!("127.0.0.1:{}", free_port());
        let at = |name: &str| pair.home.at(name);
        let start = |me: &str, peer: &str, how: &str, column: &str, id: &str| {
            Running::start(&[
                "dot",
                how,
                &address,
                "--peer",
                pair.fingerprint(peer),
                "--identity",
                &at(me),
                "--input",
                &at(&format!("{me}.csv")),
                "--column",
                column,
                "--row-id",
                id,
                "--normalize",
                "name",
                "--receiver",
                "both",
                "--reveal",
                reveal,
                "--force",
                "--output",
                &pair.out(me, if reveal == "value" { "value.csv" } else { "share.json" }),
            ])
        };
        // The parties learn in the order in which each names itself first.
        let one = start("hospital", "insurer", "--listen", "sick", "id=who");
        let other = start("insurer", "hospital", "--connect", "claims", "id=person");
        for ended in [one.end().well(), other.end().well()] {
            assert_eq!(ended.stdout, expected);
        }
    }
}

#[test]
fn small_values_are_reported_as_below_the_limit() {
    let home = Home::new();
    let inputs = [table(&home, "a.csv", [1, 1, 1]), table(&home, "b.csv", [1, 1, 0])];
    let limited = job("limits = { min_result = 3 }");
    let report = simulate(&home, &limited, [&inputs[0], &inputs[1]], "out", &[]);
    assert_eq!(report["parties"]["a"]["result"], json!({"below": 3}));
    assert_eq!(text(home.at("out/a.csv")), "below\n3\n");
    let enough = job("limits = { min_result = 2 }");
    let report = simulate(&home, &enough, [&inputs[0], &inputs[1]], "out", &[]);
    assert_eq!(report["parties"]["a"]["result"], json!({"value": 2}));
}

#[test]
fn a_killed_peer_ends_the_job_and_leaves_nothing() {
    let terms = "job = \"dot\"\nid = \"test\"\nreveal_to = [\"hospital\", \"insurer\"]\ncolumn = \"x\"\nbits = 32\n";
    let pair = Pair::new(terms);
    let lines: String = (0..600_000).map(|number| format!("{number}\n")).collect();
    for name in NAMES {
        pair.table(name, &format!("x\n{lines}"));
    }
    let mut one = pair.start("hospital", &[]);
    let other = pair.start("insurer", &[]);
    one.until_it_says("agreed with insurer");
    other.signal(Signal::KILL);
    one.end().failed(3, &["insurer"]);
    assert_eq!(files(&pair.home.at("hospital.out")), [""; 0]);
}
