//! Large sets, in whole processes: `make test-slow`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const TERMS: &str = "id = \"large\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"key\"]\n[parties.a]\n[parties.b]\n";

const COUNT: usize = 1 << 20;

fn write_keys(path: &Path, first: usize, count: usize) {
    let mut text = String::from("key\n");
    for key in first..first + count {
        writeln!(text, "{key:032x}").unwrap();
    }
    std::fs::write(path, text).unwrap();
}

#[test]
#[ignore = "two million keys take minutes"]
fn a_million_with_a_million_stay_below_two_gibibytes_a_party() {
    check("intersect", COUNT - COUNT / 4);
}

#[test]
#[ignore = "two million keys take minutes"]
fn a_million_and_a_million_more_stay_below_two_gibibytes_a_party() {
    check("union", COUNT + COUNT / 4);
}

/// Three quarters of a million keys of each party are common.
fn check(job: &str, rows: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("job.toml"), format!("job = \"{job}\"\n{TERMS}")).unwrap();
    write_keys(&path("a.csv"), 0, COUNT);
    write_keys(&path("b.csv"), COUNT / 4, COUNT);
    let status = Command::new(env!("CARGO_BIN_EXE_tacita"))
        .arg("simulate")
        .arg(path("job.toml"))
        .args(["--input", &format!("a={}", path("a.csv").display())])
        .args(["--input", &format!("b={}", path("b.csv").display())])
        .arg("--output")
        .arg(path("out"))
        .arg("--report")
        .arg(path("report.json"))
        .status()
        .unwrap();
    assert!(status.success());
    let report: Value = serde_json::from_slice(&std::fs::read(path("report.json")).unwrap()).unwrap();
    for party in ["a", "b"] {
        let report = &report["parties"][party];
        println!(
            "{party}: {} s, {} s of CPU, {} bytes of memory",
            report["seconds"]["total"], report["cpu_seconds"], report["peak_memory"]
        );
        assert!(report["peak_memory"].as_u64().is_none_or(|bytes| bytes < 2 << 30), "{party} takes too much memory");
    }
    assert_eq!(report["parties"]["a"]["result"], serde_json::json!({ "rows": rows }));
    let found = std::fs::read_to_string(path("out/a.csv")).unwrap();
    let expected = match job {
        "union" => 0..COUNT + COUNT / 4,
        _ => COUNT / 4..COUNT,
    };
    assert!(found.lines().skip(1).eq(expected.map(|key| format!("{key:032x}"))), "other keys than there should be");
}
