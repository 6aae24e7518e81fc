//! The key exchange that two parties take, and who says which it was.

use crate::common::{NAMES, Pair, Running, json};
use serde_json::json;

const TERMS: &str = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"hospital\"]\n[key]\ncolumns = [\"name\"]\n";

const CLASSICAL: [(&str, &str); 1] = [("TACITA_KEY_EXCHANGE", "classical")];

fn pair() -> Pair {
    let pair = Pair::new(TERMS);
    pair.table("hospital", "name\nann\nbob\n");
    pair.table("insurer", "name\nbob\ncid\n");
    pair
}

/// Runs both with `command`, the insurer in this environment, and returns what each has said.
fn both(pair: &Pair, command: &str, insurer: &[(&str, &str)]) -> [String; 2] {
    let running = NAMES.map(|name| {
        let at = |suffix: &str| pair.home.at(&format!("{name}{suffix}"));
        let (job, identity, input, report) = (at(".toml"), at(""), at(".csv"), at(".out/report.json"));
        let mut arguments = vec![command, &job, "--as", name, "--identity", &identity, "--timeout", "20s"];
        match command {
            "run" => arguments.extend(["--input", &input, "--report", &report]),
            _ => arguments.push("--meet"),
        }
        Running::start_with(&arguments, if name == "insurer" { insurer } else { &[] })
    });
    running.map(|party| party.end().well().stdout)
}

#[test]
fn reports_and_doctors_name_the_post_quantum_key_exchange() {
    let pair = pair();
    both(&pair, "run", &[]);
    for name in NAMES {
        let report = json(pair.out(name, "report.json"));
        assert_eq!(report["tls"], json!({ "version": "1.3", "key_exchange": "X25519MLKEM768" }));
    }
    for said in both(&pair, "doctor", &[]) {
        assert!(said.contains("ok    meet       TLS 1.3 with X25519MLKEM768"), "{said}");
    }
}

#[test]
fn one_party_without_it_is_met_and_told_of_at_both() {
    let pair = pair();
    let [hospital, _] = both(&pair, "run", &CLASSICAL);
    assert_eq!(hospital, "rows 1\n");
    for name in NAMES {
        let report = json(pair.out(name, "report.json"));
        assert_eq!(report["tls"], json!({ "version": "1.3", "key_exchange": "X25519" }));
    }
    let [hospital, insurer] = both(&pair, "doctor", &CLASSICAL);
    for (said, why) in [(hospital, "insurer offers nothing newer"), (insurer, "TACITA_KEY_EXCHANGE asks for that here")]
    {
        let line = said.lines().find(|line| line.contains("TLS 1.3 with")).unwrap();
        assert!(line.starts_with("note  meet       TLS 1.3 with X25519, ") && line.contains(why), "{said}");
    }
}

#[test]
fn other_values_of_the_variable_are_refused() {
    let pair = pair();
    let (job, identity, input) =
        (pair.home.at("hospital.toml"), pair.home.at("hospital"), pair.home.at("hospital.csv"));
    let run = ["run", &job, "--as", "hospital", "--identity", &identity, "--input", &input, "--timeout", "20s"];
    let ended = Running::start_with(&run, &[("TACITA_KEY_EXCHANGE", "quantum")]).end();
    ended.failed(2, &["TACITA_KEY_EXCHANGE", "quantum", "`classical`"]);
}
