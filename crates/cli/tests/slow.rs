//! Large sets, in whole processes: `make test-slow`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const JOB: &str =
    "job = \"intersect\"\nid = \"large\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"key\"]\n[parties.a]\n[parties.b]\n";

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
    let count = 1 << 20;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("job.toml"), JOB).unwrap();
    write_keys(&path("a.csv"), 0, count);
    write_keys(&path("b.csv"), count / 4, count);
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
    assert_eq!(report["parties"]["a"]["result"], serde_json::json!({ "rows": count - count / 4 }));
    assert_eq!(std::fs::read_to_string(path("out/a.csv")).unwrap().lines().count(), 1 + count - count / 4);
}
