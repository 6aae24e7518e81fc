//! Whole jobs from file to file: two CSV files, two processes, TLS between them, on several networks. Beside
//! intersections, on the same files, another program.
//!
//! Needs the `tacita` program beside this one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Parser;
use serde_json::Value;
use tacita_bench::{Repeat, about, median, tacita};

/// Networks by name, with what `tacita simulate` is told of them.
const NETWORKS: [(&str, &[&str]); 3] = [
    ("this machine", &[]),
    ("LAN: 1 Gbit/s, 0.1 ms", &["--bandwidth", "1Gbit", "--latency", "0.1ms"]),
    ("WAN: 100 Mbit/s, 50 ms", &["--bandwidth", "100Mbit", "--latency", "50ms"]),
];

#[derive(Parser)]
#[command(about = about(include_str!("files.rs")))]
struct Arguments {
    /// Rows of each table, as powers of two
    #[arg(default_values_t = [12, 16, 20], value_parser = clap::value_parser!(u32).range(1..=26))]
    log2_rows: Vec<u32>,
    /// The job, if not `intersect` and `dot`
    #[arg(long, value_parser = ["intersect", "dot", "ecdh"])]
    job: Option<String>,
    /// Another program for intersections. It is given the two files, and prints `cpu SECONDS wall SECONDS common N`
    /// (benches/beside_spu.py does that for SecretFlow's `spu`)
    #[arg(long, value_name = "COMMAND")]
    beside: Option<String>,
    #[command(flatten)]
    repeat: Repeat<5>,
}

pub fn main() {
    let Arguments { log2_rows, job, beside, repeat: Repeat { runs } } =
        Arguments::parse_from(tacita_bench::arguments());
    let program = tacita();
    let directory = std::env::temp_dir().join(format!("tacita-files-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    println!("| n | job | network | wall s | protocol s | CPU s of both | bytes a row | peak MiB of one |");
    println!("|---|---|---|---|---|---|---|---|");
    for log in log2_rows {
        let count = 1usize << log;
        let inputs = inputs(&directory, count);
        let jobs = JOBS.iter().filter(|(name, ..)| match &job {
            Some(word) => name.starts_with(word.as_str()),
            None => !name.starts_with("ecdh"),
        });
        for (name, terms, result) in jobs {
            for network in NETWORKS {
                run(&program, &directory, &inputs, (name, terms, result), count, network, runs);
            }
        }
        if let Some(command) = &beside {
            other(command, &inputs, count, runs);
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
}

/// Jobs by name, with their terms, and where in the report of `a` the result is: half of the rows, in all of them.
const JOBS: [(&str, &str, &str); 4] = [
    ("intersect, semi-honest", "job = \"intersect\"\nprotocol = \"vole\"", "/result/rows"),
    ("intersect, malicious", "job = \"intersect\"\nprotocol = \"vole\"\nsecurity = \"malicious\"", "/result/rows"),
    ("ecdh", "job = \"intersect\"\nprotocol = \"ecdh\"", "/result/rows"),
    ("dot", "job = \"dot\"\ncolumn = \"bit\"", "/result/value"),
];

/// Two files of `count` keys each, half of them common, with a bit in each row: all are set at the one party, every
/// other one at the other.
fn inputs(directory: &Path, count: usize) -> [PathBuf; 2] {
    [("a", 0), ("b", count / 2)].map(|(name, first)| {
        let path = directory.join(format!("{name}.csv"));
        let bit = |row: usize| if name == "a" { 1 } else { row % 2 };
        let line = |row: usize| format!("user{row:08}@example.com,{row},{}\n", bit(row));
        let rows: String = (first..first + count).map(line).collect();
        std::fs::write(&path, format!("id,row,bit\n{rows}")).expect("an input");
        path
    })
}

fn run(
    program: &Path,
    directory: &Path,
    inputs: &[PathBuf; 2],
    (name, terms, result): (&str, &str, &str),
    count: usize,
    (network, options): (&str, &[&str]),
    runs: u32,
) {
    let (job, report) = (directory.join("job.toml"), directory.join("report.json"));
    let key = if name.starts_with("dot") { "" } else { "[key]\ncolumns = [\"id\"]\n" };
    let text = format!("{terms}\nid = \"bench\"\nreveal_to = [\"a\"]\n{key}[parties.a]\n[parties.b]\n");
    std::fs::write(&job, text).expect("a job file");
    let files = ["a", "b"].map(|name| format!("{name}={}", inputs[usize::from(name == "b")].display()));
    let (mut walls, mut protocols, mut cpus, mut bytes, mut peak) = (Vec::new(), Vec::new(), Vec::new(), 0.0, 0f64);
    for _ in 0..runs {
        let mut simulate = Command::new(program);
        simulate.arg("simulate").arg(&job).args(["--quiet", "--input", &files[0], "--input", &files[1]]).args(options);
        let started = Instant::now();
        let output =
            simulate.args(["--force", "--output"]).arg(directory.join("out")).arg("--report").arg(&report).output();
        let output = output.expect("tacita starts");
        walls.push(started.elapsed().as_secs_f64());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("a report");
        let of = |name: &str, path: &str| report["parties"][name].pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
        assert_eq!(of("a", result) as usize, count - count / 2, "the result is wrong");
        protocols.push(of("a", "/seconds/protocol").max(of("b", "/seconds/protocol")));
        cpus.push(of("a", "/cpu_seconds") + of("b", "/cpu_seconds"));
        bytes = of("a", "/bytes/sent") + of("a", "/bytes/received");
        peak = peak.max(of("a", "/peak_memory")).max(of("b", "/peak_memory"));
    }
    println!(
        "| {count} | {name} | {network} | {:.2} | {:.3} | {:.2} | {:.1} | {:.0} |",
        median(&walls),
        median(&protocols),
        median(&cpus),
        bytes / count as f64,
        peak / 1048576.0
    );
}

/// Another program on the same files.
fn other(command: &str, inputs: &[PathBuf; 2], count: usize, runs: u32) {
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let mut words = command.split_whitespace();
        let output = Command::new(words.next().expect("a command")).args(words).args(inputs).output();
        let output = output.expect("the other program starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|line| line.starts_with("cpu ")).unwrap_or_else(|| {
            panic!("no result of the other program: {text}{}", String::from_utf8_lossy(&output.stderr))
        });
        let number = |at: usize| line.split_whitespace().nth(at).and_then(|word| word.parse::<f64>().ok());
        assert_eq!(number(5).map(|common| common as usize), Some(count - count / 2), "its intersection is wrong");
        cpus.push(number(1).expect("CPU seconds"));
        walls.push(number(3).expect("wall seconds"));
    }
    println!("| {count} | {command} | - | {:.2} | - | {:.2} | - | - |", median(&walls), median(&cpus));
}
