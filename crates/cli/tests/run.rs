//! Whole jobs by two processes that know nothing of each other but the job file: `tacita run` and `tacita intersect`.

mod common;

use std::time::Duration;

use common::{NAMES, Pair, Running, data, examples, files, free_port, json, keys, tacita, text};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Both learn their rows.
const TERMS: &str = "job = \"intersect\"\nid = \"test\"\nreveal_to = [\"hospital\", \"insurer\"]\n\
                     [key]\ncolumns = [\"name\"]\nnormalize = [\"name\"]\n[limits]\nmax_rows = 200_000\n";

const PATIENTS: &str = "name,ward\n\"Doe, Jane\",3\nJohn Roe,1\nMary Major,2\n";
const INSURED: &str = "payer,name\nacme,jane doe\nacme,Nobody Else\n\"b,c\",MAJOR Mary\n";
const COMMON_PATIENTS: &str = "name,ward\n\"Doe, Jane\",3\nMary Major,2\n";
const COMMON_INSURED: &str = "payer,name\nacme,jane doe\n\"b,c\",MAJOR Mary\n";

fn small() -> Pair {
    let pair = Pair::new(TERMS);
    pair.table("hospital", PATIENTS);
    pair.table("insurer", INSURED);
    pair
}

/// Enough keys that the protocol takes seconds.
fn large() -> Pair {
    let pair = Pair::new(&TERMS.replace("reveal_to", "protocol = \"ecdh\"\nreveal_to"));
    for (name, first) in [("hospital", 0), ("insurer", 1000)] {
        let lines: String = (first..first + 100_000).map(|number| format!("person {number}\n")).collect();
        pair.table(name, &format!("name\n{lines}"));
    }
    pair
}

/// Checks that neither party has left a file in its directory for output, not even a hidden one.
#[track_caller]
fn assert_nothing_written(pair: &Pair) {
    for name in NAMES {
        assert_eq!(files(&pair.home.at(&format!("{name}.out"))), [""; 0], "{name}");
    }
}

#[test]
fn either_party_may_start_first() {
    for first in NAMES {
        let pair = small();
        let mut one = pair.start(first, &[]);
        one.until_it_says(if first == "hospital" { "waiting for insurer" } else { "dialing hospital" });
        std::thread::sleep(Duration::from_millis(250));
        let other = pair.start(if first == "hospital" { "insurer" } else { "hospital" }, &[]);
        for ended in [one.end().well(), other.end().well()] {
            assert_eq!(ended.stdout, "rows 2\n");
        }
        assert_eq!(text(pair.out("hospital", "rows.csv")), COMMON_PATIENTS);
        assert_eq!(text(pair.out("insurer", "rows.csv")), COMMON_INSURED);
        assert_eq!(files(&pair.home.at("insurer.out")), ["report.json", "rows.csv"]);
    }
}

/// Runs a job of two parties whose tables are files, and compares the results of those who learn with the files
/// `expected/NAME.csv`.
#[track_caller]
fn run_and_compare(terms: &str, parties: [&str; 2], tables: [&str; 2], expected: [Option<&str>; 2]) {
    let pair = Pair::new(terms);
    let running = [0, 1].map(|i| {
        let key_pair = NAMES[i];
        let job = pair.home.at("hospital.toml");
        let output = pair.out(key_pair, "rows.csv");
        let identity = pair.home.at(key_pair);
        Running::start(&[
            "run",
            &job,
            "--as",
            parties[i],
            "--identity",
            &identity,
            "--input",
            tables[i],
            "--output",
            &output,
        ])
    });
    for ended in running.map(Running::end) {
        ended.well();
    }
    for (name, expected) in NAMES.into_iter().zip(expected) {
        match expected {
            Some(expected) => assert!(text(pair.out(name, "rows.csv")) == *expected, "{parties:?}"),
            None => assert_eq!(files(&pair.home.at(&format!("{name}.out"))), [""; 0]),
        }
    }
}

/// A job file of the examples or made by [`medical`], with identities and an address.
fn connected(job: &str, parties: [&str; 2]) -> String {
    let [one, two] = parties.map(|name| format!("[parties.{name}]\n"));
    job.replace(&one, &format!("{one}address = \"ADDRESS\"\nidentity = \"HOSPITAL\"\n"))
        .replace(&two, &format!("{two}identity = \"INSURER\"\n"))
}

#[test]
fn the_examples_give_the_same_as_in_a_simulation() {
    let cases = [
        ("intersect", "job", ["hospital", "insurer"]),
        ("intersect", "count", ["hospital", "insurer"]),
        ("intersect", "sum", ["hospital", "insurer"]),
        ("intersect", "payload", ["hospital", "insurer"]),
        ("intersect", "formats", ["hospital", "fire_department"]),
        ("watchlist", "payload", ["authority", "airline"]),
    ];
    for (set, job, parties) in cases {
        let set = examples().join(set);
        let terms = connected(&text(set.join(format!("{job}.toml"))), parties);
        let tables = parties.map(|name| set.join(format!("{name}.csv")).to_str().unwrap().to_owned());
        let expected = parties.map(|name| std::fs::read_to_string(set.join(format!("expected/{job}/{name}.csv"))).ok());
        run_and_compare(&terms, parties, [&tables[0], &tables[1]], [expected[0].as_deref(), expected[1].as_deref()]);
    }
}

#[test]
fn medical_pairs_give_the_same_as_in_a_simulation() {
    let Some(data) = data("medical") else { return };
    let profiles = |name| if name == "fire_department" { "date:DMY" } else { "date" };
    for parties in [["hospital", "fire_department"], ["hospital", "insurer"], ["fire_department", "insurer"]] {
        let [one, two] =
            parties.map(|name| format!("[parties.{name}]\nnormalize = [\"name\", \"{}\"]\n", profiles(name)));
        let job = format!(
            "job = \"intersect\"\nid = \"medical\"\nreveal_to = {parties:?}\n[key]\ncolumns = [\"name\", \"dob\"]\n\
             normalize = [\"name\", \"date\"]\n{one}{two}"
        );
        let tables = parties.map(|name| data.join(format!("synthea/{name}.csv")).to_str().unwrap().to_owned());
        let home = common::Home::new();
        let (file, out) = (home.file("job.toml", &job), home.at("out"));
        let inputs = [0, 1].map(|i| format!("{}={}", parties[i], tables[i]));
        tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1], "--output", &out]).well();
        let expected = parties.map(|name| text(home.at(&format!("out/{name}.csv"))));
        assert!(expected.iter().all(|text| text.lines().count() > 380));
        let terms = connected(&job, parties);
        run_and_compare(&terms, parties, [&tables[0], &tables[1]], [Some(&expected[0]), Some(&expected[1])]);
    }
}

#[test]
fn the_report_has_the_keys_of_the_contract() {
    let pair = small();
    pair.table("hospital", &format!("{PATIENTS}Jane Doe,9\n,4\n"));
    let running = NAMES.map(|name| pair.start(name, &[]));
    let ended = running.map(|running| running.end().well());
    assert_eq!(ended.map(|ended| ended.stdout), ["rows 3\n", "rows 2\n"]);
    let [hospital, insurer] = NAMES.map(|name| json(pair.out(name, "report.json")));
    for report in [&hospital, &insurer] {
        let names = "job id protocol security level agreement version party peers rows result learned bytes rounds \
                     seconds cpu_seconds peak_memory choice";
        assert_eq!(keys(report), names.split(' ').collect::<Vec<_>>());
        assert_eq!(keys(&report["rows"]), ["read", "nulls", "unreadable", "duplicates", "items"]);
        assert_eq!(keys(&report["bytes"]), ["sent", "received"]);
        assert_eq!(keys(&report["seconds"]), ["load", "connect", "setup", "protocol", "output", "total"]);
        assert!(report["seconds"].as_object().unwrap().values().all(|time| time.as_f64().unwrap() >= 0.0));
        assert!(report["seconds"]["total"].as_f64().unwrap() > 0.0);
        assert!(report["cpu_seconds"].as_f64().unwrap() > 0.0);
        assert!(report["peak_memory"].as_u64().unwrap() > 1 << 20);
        assert!(report["rounds"].as_u64().unwrap() >= 5);
        let agreement = report["agreement"].as_str().unwrap();
        assert!(agreement.len() == 64 && agreement.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
        let learned = report["learned"].as_array().unwrap();
        assert!(!learned.is_empty() && learned.iter().all(|sentence| sentence.as_str().unwrap().ends_with('.')));
        for (key, value) in [
            ("job", "intersect"),
            ("id", "test"),
            ("protocol", "ecdh"),
            ("security", "semi-honest"),
            ("level", "bits128"),
            ("version", env!("CARGO_PKG_VERSION")),
        ] {
            assert_eq!(report[key], value);
        }
    }
    assert_eq!((&hospital["party"], &hospital["peers"]), (&json!("hospital"), &json!(["insurer"])));
    assert_eq!((&insurer["party"], &insurer["peers"]), (&json!("insurer"), &json!(["hospital"])));
    assert_eq!(hospital["agreement"], insurer["agreement"]);
    assert_eq!(hospital["bytes"]["sent"], insurer["bytes"]["received"]);
    assert_eq!(hospital["bytes"]["received"], insurer["bytes"]["sent"]);
    assert_eq!(hospital["rounds"], insurer["rounds"]);
    assert_eq!(hospital["rows"], json!({"read": 5, "nulls": 1, "unreadable": 0, "duplicates": 1, "items": 3}));
    assert_eq!((&hospital["result"], &insurer["result"]), (&json!({"rows": 3}), &json!({"rows": 2})));
}

#[test]
fn a_job_file_may_be_json_and_its_agreement_is_the_same() {
    let pair = small();
    let job = json!({
        "job": "intersect",
        "id": "test",
        "reveal_to": ["hospital", "insurer"],
        "key": {"columns": ["name"], "normalize": ["name"]},
        "limits": {"max_rows": 200_000},
        "parties": {
            "hospital": {"address": pair.address, "identity": pair.fingerprint("hospital")},
            "insurer": {"identity": pair.fingerprint("insurer")},
        },
    });
    let file = pair.home.file("job.json", &job.to_string());
    let (input, identity) = (pair.home.at("insurer.csv"), pair.home.at("insurer"));
    let insurer = Running::start(&["run", &file, "--as", "insurer", "--input", &input, "--identity", &identity]);
    let hospital = pair.start("hospital", &[]);
    insurer.end().well();
    hospital.end().well();
    assert_eq!(text(pair.out("hospital", "rows.csv")), COMMON_PATIENTS);
}

#[test]
fn flags_alone_describe_a_job_of_two() {
    let pair = small();
    pair.table("insurer", &INSURED.replace("name\n", "insured\n"));
    let at = |name: &str| pair.home.at(name);
    // The receiver, and what the two get.
    let cases = [("me", "peer", true, false), ("peer", "me", false, true), ("both", "both", true, true)];
    for (hospital_says, insurer_says, hospital_learns, insurer_learns) in cases {
        let address = format!("127.0.0.1:{}", free_port());
        let outputs = [at("a.csv"), at("b.csv")];
        for output in &outputs {
            // What an earlier case has left.
            let _ = std::fs::remove_file(output);
        }
        let listener = Running::start(&[
            "intersect",
            "--listen",
            &address,
            "--peer",
            pair.fingerprint("insurer"),
            "--identity",
            &at("hospital"),
            "--input",
            &at("hospital.csv"),
            "--key",
            "name",
            "--normalize",
            "name",
            "--receiver",
            hospital_says,
            "--output",
            &outputs[0],
            "--report",
            &at("report.json"),
        ]);
        let dialer = Running::start(&[
            "intersect",
            "--connect",
            &address,
            "--peer",
            pair.fingerprint("hospital"),
            "--identity",
            &at("insurer"),
            "--input",
            &at("insurer.csv"),
            "--key",
            "name=insured",
            "--normalize",
            "name",
            "--receiver",
            insurer_says,
            "--output",
            &outputs[1],
        ]);
        let ended = [listener.end().well(), dialer.end().well()];
        assert_eq!(ended[0].stdout, if hospital_learns { "rows 2\n" } else { "" });
        assert_eq!(ended[1].stdout, if insurer_learns { "rows 2\n" } else { "" });
        let read = |path: &String| std::fs::read_to_string(path).ok();
        assert_eq!(read(&outputs[0]).as_deref(), hospital_learns.then_some(COMMON_PATIENTS));
        let insured = COMMON_INSURED.replace("name\n", "insured\n");
        assert_eq!(read(&outputs[1]), insurer_learns.then_some(insured));
        let report = json(at("report.json"));
        assert_eq!(
            (&report["id"], &report["party"], &report["peers"]),
            (&json!("adhoc"), &json!("listener"), &json!(["dialer"]))
        );
    }
}

#[test]
fn flags_that_do_not_fit_differ_in_terms() {
    let pair = small();
    let at = |name: &str| pair.home.at(name);
    let listener = Running::start(&[
        "intersect",
        "--listen",
        &pair.address,
        "--peer",
        pair.fingerprint("insurer"),
        "--identity",
        &at("hospital"),
        "--input",
        &at("hospital.csv"),
        "--key",
        "name",
        "--receiver",
        "me",
    ]);
    let dialer = Running::start(&[
        "intersect",
        "--connect",
        &pair.address,
        "--peer",
        pair.fingerprint("hospital"),
        "--identity",
        &at("insurer"),
        "--input",
        &at("insurer.csv"),
        "--key",
        "name",
        "--receiver",
        "me",
    ]);
    listener.end().failed(5, &["reveal_to"]);
    dialer.end().failed(5, &["reveal_to"]);
}

#[test]
fn results_go_to_standard_output_and_input_comes_from_standard_input() {
    let pair = small();
    let mut hospital = pair.start_on("hospital", &["--input", "-", "--output", "-"], &[]);
    let insurer = pair.start("insurer", &[]);
    hospital.feed(PATIENTS);
    assert_eq!(hospital.end().well().stdout, COMMON_PATIENTS, "the table and nothing else");
    insurer.end().well();
}

#[test]
fn a_count_goes_to_a_file_and_stays_hidden_below_its_limit() {
    for (limit, line, row, result) in
        [(2, "count 2\n", "count\n2\n", json!({"count": 2})), (3, "count below 3\n", "below\n3\n", json!({"below": 3}))]
    {
        let terms = TERMS
            .replace("[key]", "reveal = \"count\"\n[key]")
            .replace("[limits]", &format!("[limits]\nmin_result = {limit}"));
        let pair = Pair::new(&terms);
        pair.table("hospital", PATIENTS);
        pair.table("insurer", INSURED);
        let running = NAMES.map(|name| pair.start(name, &[]));
        for (name, ended) in NAMES.into_iter().zip(running.map(Running::end)) {
            assert_eq!(ended.well().stdout, line);
            assert_eq!(text(pair.out(name, "rows.csv")), row);
            assert_eq!(json(pair.out(name, "report.json"))["result"], result);
        }
    }
}

/// Terms of a sum of the insurer's `cost`.
fn sum_terms(head: &str, limits: &str) -> String {
    TERMS
        .replace(
            "[key]",
            &format!("reveal = \"sum:cost\"\ngives = {{ insurer = [\"cost\", \"payer\"] }}\n{head}\n[key]"),
        )
        .replace("[limits]", &format!("[limits]\n{limits}"))
}

/// Two rows of one key, one of them negative; an absent number; a row without a key, and rows that are not common, of which
/// one has a large number.
const COSTS: &str =
    "name,payer,cost\njane doe,acme,12.50\nJANE DOE,b,-0.125\nMajor Mary,c,\n,d,junk\nNobody,e,1000000000000\n";

#[test]
fn a_sum_is_exact_over_all_rows_of_common_keys() {
    for (more, limits, line, row, result) in [
        ("", "", "count 2, sum 12.375\n", "count,sum\n2,12.375\n", json!({"count": 2, "sum": 12.375})),
        (
            "scale = 3",
            "pad_to = 9",
            "count 2, sum 12.375\n",
            "count,sum\n2,12.375\n",
            json!({"count": 2, "sum": 12.375}),
        ),
        ("first", "", "count 2, sum 12.5\n", "count,sum\n2,12.5\n", json!({"count": 2, "sum": 12.5})),
        ("", "min_result = 2", "count 2, sum 12.375\n", "count,sum\n2,12.375\n", json!({"count": 2, "sum": 12.375})),
        ("", "min_result = 3", "count or sum below 3\n", "below\n3\n", json!({"below": 3})),
    ] {
        let terms = match more {
            "first" => sum_terms("", limits).replace("normalize", "duplicates = \"first\"\nnormalize"),
            more => sum_terms(more, limits),
        };
        let pair = Pair::new(&terms);
        // Two rows of one key count once.
        pair.table("hospital", &format!("{PATIENTS}Jane Doe,9\n"));
        pair.table("insurer", COSTS);
        let running = NAMES.map(|name| pair.start(name, &[]));
        for (name, ended) in NAMES.into_iter().zip(running.map(Running::end)) {
            let ended = ended.well();
            assert_eq!(ended.stdout, line);
            let warned = ended.stderr.contains("1 row with a key adds nothing to the sum");
            assert_eq!(warned, name == "insurer", "{}", ended.stderr);
            assert_eq!(text(pair.out(name, "rows.csv")), row);
            let report = json(pair.out(name, "report.json"));
            assert_eq!((&report["result"], &report["protocol"]), (&result, &json!("ecdh")));
        }
    }
}

#[test]
fn a_small_sum_is_hidden_as_a_small_count_is_and_only_learners_hear_of_either() {
    for (cost, line) in [("2", "count or sum below 2\n"), ("2.25", "count 2, sum 2\n")] {
        let terms = sum_terms("", "min_result = 2")
            .replace("reveal_to = [\"hospital\", \"insurer\"]", "reveal_to = [\"hospital\"]");
        let pair = Pair::new(&terms);
        pair.table("hospital", PATIENTS);
        pair.table("insurer", &format!("name,cost\njane doe,{cost}\nmary major,-0.25\n"));
        let running = NAMES.map(|name| pair.start(name, &[]));
        let [hospital, insurer] = running.map(|running| running.end().well().stdout);
        assert_eq!((hospital.as_str(), insurer.as_str()), (line, ""));
        assert_eq!(files(&pair.home.at("insurer.out")), ["report.json"]);
        assert_eq!(json(pair.out("insurer", "report.json"))["result"], Value::Null);
    }
}

#[test]
fn numbers_that_cannot_be_added_end_both_sides_with_a_line_that_shows_none() {
    for (more, cost, words) in [
        ("", "12,5", ["line 2", "no number"]),
        ("scale = 1", "12.75", ["line 2", "scale"]),
        ("", "0.12345678901", ["line 2", "round it"]),
        ("", "99999999999999999999", ["line 2", "too large"]),
    ] {
        let pair = Pair::new(&sum_terms(more, ""));
        pair.table("hospital", PATIENTS);
        pair.table("insurer", &format!("name,cost\njane doe,\"{cost}\"\n"));
        let running = NAMES.map(|name| pair.start(name, &[]));
        let [hospital, insurer] = running.map(Running::end);
        let line = insurer.failed(2, &[&["insurer.csv", "\"cost\""][..], &words].concat());
        assert!(!line.contains(cost), "{line}");
        let line = hospital.failed(3, &["insurer"]);
        assert!(!line.contains("cost"), "{line}");
        assert!(!hospital.stderr.contains(cost), "{}", hospital.stderr);
    }
}

#[test]
fn flags_alone_describe_a_sum() {
    let pair = small();
    pair.table("insurer", COSTS);
    let at = |name: &str| pair.home.at(name);
    let common = |me: &str, peer: &str| {
        let (identity, input) = (at(me), at(&format!("{me}.csv")));
        let words = ["--peer", pair.fingerprint(peer), "--identity", &identity, "--input", &input, "--key", "name"];
        let more = ["--normalize", "name", "--reveal", "sum:cost"];
        words.into_iter().chain(more).map(str::to_owned).collect::<Vec<_>>()
    };
    let start = |common: &[String], own: &[&str]| {
        let words: Vec<_> = ["intersect"].into_iter().chain(common.iter().map(String::as_str)).collect();
        Running::start(&[&words, own].concat())
    };
    let (one, other) = (common("hospital", "insurer"), common("insurer", "hospital"));
    let listener = start(&one, &["--listen", &pair.address, "--receiver", "me", "--peer-gives", "cost"]);
    let dialer = start(&other, &["--connect", &pair.address, "--receiver", "peer", "--gives", "cost"]);
    assert_eq!(listener.end().well().stdout, "count 2, sum 12.375\n");
    assert_eq!(dialer.end().well().stdout, "");
}

#[test]
fn quiet_says_nothing_and_json_lines_are_json() {
    let pair = small();
    let running = [pair.start("hospital", &["--quiet"]), pair.start("insurer", &["--log", "json"])];
    let [hospital, insurer] = running.map(|running| running.end().well());
    assert_eq!(hospital.stderr, "");
    assert!(insurer.stderr.lines().count() >= 3);
    for line in insurer.stderr.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["message"].is_string() && line["level"] == "INFO", "{line}");
    }
    let failed = tacita(&["run", "absent.toml", "--as", "x", "--identity", "y", "--input", "z", "--log", "json"]);
    assert_eq!(failed.code, 2);
    let line: Value = serde_json::from_str(failed.stderr.trim_end()).unwrap();
    assert!(line["level"] == "ERROR" && line["message"].as_str().unwrap().contains("absent.toml"), "{line}");
}

#[test]
fn a_peer_that_is_killed_is_missed_and_nothing_is_written() {
    for (killed, left) in [("insurer", "hospital"), ("hospital", "insurer")] {
        let pair = large();
        let [victim, mut witness] = [killed, left].map(|name| pair.start(name, &[]));
        witness.until_it_says("agreed with");
        std::thread::sleep(Duration::from_millis(300));
        let killing = std::time::Instant::now();
        victim.signal(Signal::KILL);
        assert_eq!(victim.end().code, -1);
        let ended = witness.end();
        assert!(killing.elapsed() < Duration::from_secs(15));
        ended.failed(3, &[killed]);
        assert_nothing_written(&pair);
    }
}

#[test]
fn a_peer_that_falls_silent_is_missed_within_15_seconds() {
    let pair = large();
    let [victim, mut witness] = ["insurer", "hospital"].map(|name| pair.start(name, &[]));
    witness.until_it_says("agreed with");
    let stopping = std::time::Instant::now();
    victim.signal(Signal::STOP);
    let ended = witness.end();
    assert!(stopping.elapsed() < Duration::from_secs(15), "{:?}", stopping.elapsed());
    ended.failed(3, &["insurer"]);
    assert_nothing_written(&pair);
}

#[test]
fn an_interrupted_party_ends_with_130_and_tells_its_peer() {
    for signal in [Signal::INT, Signal::TERM] {
        let pair = large();
        let [mut interrupted, mut peer] = ["hospital", "insurer"].map(|name| pair.start(name, &[]));
        interrupted.until_it_says("agreed with");
        peer.until_it_says("agreed with");
        interrupted.signal(signal);
        interrupted.end().failed(130, &["interrupted"]);
        peer.end().failed(3, &["hospital was interrupted by its user"]);
        assert_nothing_written(&pair);
    }
}

#[test]
fn waiting_can_be_interrupted() {
    for name in NAMES {
        let pair = small();
        let mut waiting = pair.start(name, &[]);
        waiting.until_it_says(if name == "hospital" { "waiting for" } else { "dialing" });
        waiting.signal(Signal::INT);
        waiting.end().failed(130, &["interrupted"]);
    }
}

#[test]
fn a_peer_that_waits_is_told_of_bad_input() {
    for waits in NAMES {
        let pair = small();
        let other = NAMES.into_iter().find(|name| *name != waits).unwrap();
        let mut waiting = pair.start(waits, &[]);
        waiting.until_it_says(if waits == "hospital" { "waiting for" } else { "dialing" });
        pair.home.file(&format!("{other}.csv"), "colour\nred\n");
        pair.start(other, &[]).end().failed(2, &["no column"]);
        let told = waiting.end();
        told.failed(3, &[other, "stopped"]);
        assert!(told.took < Duration::from_secs(10), "it waited for {:?}", told.took);
    }
}

#[test]
fn an_interrupted_simulation_ends_its_parties() {
    let pair = large();
    let inputs = NAMES.map(|name| format!("{name}={}", pair.home.at(&format!("{name}.csv"))));
    let out = pair.home.at("out");
    let simulation = Running::start(&[
        "simulate",
        &pair.home.at("hospital.toml"),
        "--input",
        &inputs[0],
        "--input",
        &inputs[1],
        "--output",
        &out,
    ]);
    std::thread::sleep(Duration::from_millis(700));
    simulation.signal(Signal::TERM);
    simulation.end().failed(130, &["interrupted"]);
    assert!(files(&out).is_empty());
}
