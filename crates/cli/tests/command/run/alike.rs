//! Two processes find what a simulation finds, by a job file or by flags alone.

use super::*;

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
            "--force",
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
        ("patients", "job", ["hospital", "insurer"]),
        ("patients", "count", ["hospital", "insurer"]),
        ("patients", "sum", ["hospital", "insurer"]),
        ("patients", "payload", ["hospital", "insurer"]),
        ("patients", "formats", ["hospital", "fire_department"]),
        ("do-not-fly", "payload", ["authority", "airline"]),
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
        let home = crate::common::Home::new();
        let (file, out) = (home.file("job.toml", &job), home.at("out"));
        let inputs = [0, 1].map(|i| format!("{}={}", parties[i], tables[i]));
        tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out]).well();
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
        let names = "job id protocol security level agreement version party peers rows result learned bytes tls rounds \
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
            "--force",
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
            "--force",
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
        "--force",
        "--output",
        &at("hospital.common.csv"),
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
        "--force",
        "--output",
        &at("insurer.common.csv"),
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
    let mut hospital = pair.start_on("hospital", &["--input", "-", "--force", "--output", "-"], &[]);
    let insurer = pair.start("insurer", &[]);
    hospital.feed(PATIENTS);
    assert_eq!(hospital.end().well().stdout, COMMON_PATIENTS, "the table and nothing else");
    insurer.end().well();
}
