//! Whether plans come true: bytes and time of `tacita plan` against a run of the same job on this machine.
//! Needs the `tacita` program beside this one.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use serde_json::Value;
use tacita_bench::{Repeat, Verdicts, about, median, tacita};

/// A plan's bytes must be this near to the run's.
const BYTES_TOLERANCE: f64 = 0.05;

/// A plan's time must be within this factor of the run's.
const TIME_FACTOR: f64 = 2.0;

#[derive(Parser)]
#[command(about = about(include_str!("plan.rs")))]
struct Arguments {
    /// Items of each party, as powers of two
    #[arg(default_values_t = [12, 14, 16], value_parser = clap::value_parser!(u32).range(1..=24))]
    log2_items: Vec<u32>,
    #[command(flatten)]
    repeat: Repeat<5>,
}

pub fn main() -> ExitCode {
    let Arguments { log2_items, repeat: Repeat { runs } } = Arguments::parse_from(tacita_bench::arguments());
    let program = tacita();
    let directory = std::env::temp_dir().join(format!("tacita-plan-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");

    println!("| n | bytes planned | bytes sent | time planned | time taken (median of {runs}) |");
    println!("|---|---|---|---|---|");
    let mut verdicts = Verdicts::default();
    for log in log2_items {
        let kept = compare(&program, &directory, log, runs);
        let within = format!("bytes within {:.0} %, time within a factor of {TIME_FACTOR}", 100.0 * BYTES_TOLERANCE);
        verdicts.add(format!("2^{log}: {within}"), kept);
    }
    let _ = std::fs::remove_dir_all(&directory);
    verdicts.end()
}

fn compare(program: &Path, directory: &Path, log: u32, runs: u32) -> bool {
    let count = 1usize << log;
    let job = directory.join("job.toml");
    let text = "job = \"intersect\"\nid = \"bench\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"key\"]\n[parties.a]\n[parties.b]\n";
    std::fs::write(&job, text).expect("a job file");
    let inputs: Vec<PathBuf> = ["a", "b"]
        .iter()
        .enumerate()
        .map(|(party, name)| {
            let path = directory.join(format!("{name}.csv"));
            let rows: String = (0..count).map(|row| format!("{}\n", row + party * count / 2)).collect();
            std::fs::write(&path, format!("key\n{rows}")).expect("an input");
            path
        })
        .collect();
    let of = |name: &str, value: &str| format!("{name}={value}");
    let files = [of("a", &inputs[0].display().to_string()), of("b", &inputs[1].display().to_string())];

    let number = |value: &Value| value.as_f64().expect("a number");
    let (mut planned, mut taken) = (Vec::new(), Vec::new());
    let (mut planned_bytes, mut sent) = (0.0, 0.0);
    for _ in 0..runs {
        let rows = [of("a", &count.to_string()), of("b", &count.to_string())];
        let mut plan = Command::new(program);
        plan.arg("plan").arg(&job).args(["--json", "--rows", &rows[0], "--rows", &rows[1]]);
        let plan = output(&mut plan);
        let plan: Value = serde_json::from_slice(&plan).expect("a plan");
        planned.push(number(&plan["seconds_together"]));
        planned_bytes = ["a", "b"].iter().map(|name| number(&plan["parties"][name]["bytes_sent"])).sum();

        let report = directory.join("report.json");
        let mut simulate = Command::new(program);
        simulate.arg("simulate").arg(&job).args(["--quiet", "--input", &files[0], "--input", &files[1], "--report"]);
        output(simulate.arg(&report));
        let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("a report");
        let party = &report["parties"]["a"];
        taken.push(number(&party["seconds"]["setup"]) + number(&party["seconds"]["protocol"]));
        sent = number(&party["bytes"]["sent"]) + number(&party["bytes"]["received"]);
    }
    let (planned, taken) = (median(&planned), median(&taken));
    println!("| 2^{log} | {planned_bytes:.0} | {sent:.0} | {planned:.2} s | {taken:.2} s |");
    let ratio = planned / taken;
    (planned_bytes / sent - 1.0).abs() <= BYTES_TOLERANCE && (1.0 / TIME_FACTOR..=TIME_FACTOR).contains(&ratio)
}

fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("tacita starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
