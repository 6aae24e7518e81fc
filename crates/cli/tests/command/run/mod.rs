//! Whole jobs by two processes that know nothing of each other but the job file: `tacita run` and `tacita intersect`.

mod alike;
mod endings;
mod numbers;
mod quality;
mod shown;

use std::time::Duration;

use crate::common::{NAMES, Pair, Running, data, examples, files, free_port, json, keys, tacita, text};
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
