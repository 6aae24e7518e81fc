//! An intersection from file to file: two CSV files, two processes, TLS between them, on several networks. Beside it, on
//! the same files, another program.
//!
//! `files [--beside COMMAND] [LOG2_ITEMS ...]`, by default 12, 16 and 20. COMMAND is given the two files; it prints
//! `cpu SECONDS wall SECONDS common N` (`benches/beside_spu.py` does that for SecretFlow's `spu`). Needs the `tacita`
//! program beside this one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use tacita_bench::median;

const RUNS: usize = 5;

/// Networks by name, with what `tacita simulate` is told of them.
const NETWORKS: [(&str, &[&str]); 3] = [
    ("this machine", &[]),
    ("LAN: 1 Gbit/s, 0.1 ms", &["--bandwidth", "1Gbit", "--latency", "0.1ms"]),
    ("WAN: 100 Mbit/s, 50 ms", &["--bandwidth", "100Mbit", "--latency", "50ms"]),
];

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let beside = arguments.iter().position(|argument| argument == "--beside").map(|place| {
        arguments.remove(place);
        arguments.remove(place)
    });
    let mut sizes: Vec<u32> = arguments.iter().map(|text| text.parse().expect("sizes are whole numbers")).collect();
    if sizes.is_empty() {
        sizes = vec![12, 16, 20];
    }
    let program = std::env::current_exe().expect("this program has a path").with_file_name("tacita");
    assert!(program.exists(), "{} is missing: cargo build --release -p tacita", program.display());
    let directory = std::env::temp_dir().join(format!("tacita-files-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    println!("| n | security | network | wall s | CPU s of both | bytes an item | peak MiB of one |");
    println!("|---|---|---|---|---|---|---|");
    for &log in &sizes {
        let count = 1usize << log;
        let inputs = inputs(&directory, count);
        for security in ["semi-honest", "malicious"] {
            for network in NETWORKS {
                run(&program, &directory, &inputs, count, security, network);
            }
        }
        if let Some(command) = &beside {
            other(command, &inputs, count);
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
}

/// Two files of `count` keys each, half of them common.
fn inputs(directory: &Path, count: usize) -> [PathBuf; 2] {
    [("a", 0), ("b", count / 2)].map(|(name, first)| {
        let path = directory.join(format!("{name}.csv"));
        let rows: String = (first..first + count).map(|row| format!("user{row:08}@example.com,{row}\n")).collect();
        std::fs::write(&path, format!("id,row\n{rows}")).expect("an input");
        path
    })
}

fn run(
    program: &Path,
    directory: &Path,
    inputs: &[PathBuf; 2],
    count: usize,
    security: &str,
    (network, options): (&str, &[&str]),
) {
    let (job, report) = (directory.join("job.toml"), directory.join("report.json"));
    let text = format!(
        "job = \"intersect\"\nid = \"bench\"\nprotocol = \"vole\"\nsecurity = \"{security}\"\nreveal_to = [\"a\"]\n\
         [key]\ncolumns = [\"id\"]\n[parties.a]\n[parties.b]\n"
    );
    std::fs::write(&job, text).expect("a job file");
    let files = ["a", "b"].map(|name| format!("{name}={}", inputs[usize::from(name == "b")].display()));
    let (mut walls, mut cpus, mut bytes, mut peak) = (Vec::new(), Vec::new(), 0.0, 0f64);
    for _ in 0..RUNS {
        let mut simulate = Command::new(program);
        simulate.arg("simulate").arg(&job).args(["--quiet", "--input", &files[0], "--input", &files[1]]).args(options);
        let started = Instant::now();
        let output = simulate.arg("--output").arg(directory.join("out")).arg("--report").arg(&report).output();
        let output = output.expect("tacita starts");
        walls.push(started.elapsed().as_secs_f64());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("a report");
        let of = |name: &str, path: &str| report["parties"][name].pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
        assert_eq!(of("a", "/result/rows") as usize, count - count / 2, "the intersection is wrong");
        cpus.push(of("a", "/cpu_seconds") + of("b", "/cpu_seconds"));
        bytes = of("a", "/bytes/sent") + of("a", "/bytes/received");
        peak = peak.max(of("a", "/peak_memory")).max(of("b", "/peak_memory"));
    }
    println!(
        "| {count} | {security} | {network} | {:.2} | {:.2} | {:.1} | {:.0} |",
        median(&walls),
        median(&cpus),
        bytes / count as f64,
        peak / 1048576.0
    );
}

/// Another program on the same files.
fn other(command: &str, inputs: &[PathBuf; 2], count: usize) {
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
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
    println!("| {count} | - | {command} | {:.2} | {:.2} | - | - |", median(&walls), median(&cpus));
}
