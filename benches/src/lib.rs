//! Common parts of the measuring programs.

pub mod band;
pub mod pair;
pub mod switching;
pub mod timing;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tacita_core::primitive::paillier::KeySize;
use tacita_node::base::usage;

/// Exit code of a program that has missed a target. Errors end with 1, wrong arguments with 2, panics with 101.
pub const MISSED: u8 = 3;

/// The comment that a program's source begins with, for its `--help`.
pub fn about(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
}

/// Arguments of this process: the name of what is measured, in the place of a program's own, and those that follow.
pub fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1)
}

/// Number of times that each thing is measured.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Repeat<const DEFAULT: u32> {
    /// Runs of each measurement, of which the median counts
    #[arg(long, value_name = "N", default_value_t = DEFAULT, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
}

/// Whether everything is measured that docs/plots keeps of a paper.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct All {
    /// Everything that the documentation's tables and plots are made of, whatever other arguments select
    #[arg(long)]
    pub all: bool,
}

/// Destination of a program's rows beside the terminal.
#[derive(Debug, Clone, clap::Args)]
pub struct Json {
    /// File for lines of JSON, made anew
    #[arg(long = "json", value_name = "FILE")]
    pub path: Option<PathBuf>,
}

impl Json {
    /// The file, if one is asked for.
    pub fn file(&self) -> io::Result<Option<File>> {
        let Some(path) = &self.path else { return Ok(None) };
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        File::create(path).map(Some).map_err(named)
    }

    /// A [`Table`] that is written to it.
    pub fn table(&self) -> io::Result<Table> {
        Ok(Table::new(self.file()?))
    }
}

/// A length of keys in bits, as an argument.
pub fn key_size(text: &str) -> Result<KeySize, String> {
    let bits = text.parse().map_err(|_| "not a whole number".to_owned())?;
    KeySize::new(bits).map_err(|error| error.to_string())
}

/// The program `tacita`, which is built into the same directory. Without it this process ends.
pub fn tacita() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path").with_file_name("tacita");
    if !program.exists() {
        eprintln!("{} is missing: cargo build --release --locked -p tacita", program.display());
        std::process::exit(1);
    }
    program
}

/// Wall and CPU time of one run.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Wall time of the run.
    pub wall: Duration,
    /// CPU time of the whole process, all threads.
    pub cpu: Duration,
}

/// Runs `work` once and measures it.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Sample) {
    let (cpu, wall) = (usage::cpu_time(), Instant::now());
    let result = work();
    (result, Sample { wall: wall.elapsed(), cpu: usage::cpu_time() - cpu })
}

/// The median of some values (the upper one of two middle ones).
pub fn median<T: PartialOrd + Copy>(values: &[T]) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("measurements are comparable"));
    sorted[sorted.len() / 2]
}

/// One line of a table: what one primitive costs at one size.
#[derive(Debug, Clone)]
pub struct Row {
    /// Name of the primitive that is measured: `transpose`, `softspoken`.
    pub primitive: String,
    /// Form of the primitive: a back end, a parameter.
    pub variant: String,
    /// Number of things that it makes: blocks, products, transfers.
    pub n: usize,
    /// Number of threads per party.
    pub threads: usize,
    /// Wall time in milliseconds, the median of the runs.
    pub wall_ms: f64,
    /// CPU time of each party in milliseconds, the medians of the runs. One number for what has no parties.
    pub cpu_ms: Vec<f64>,
    /// Bytes that each party sends. Empty for what has no parties.
    pub bytes: Vec<u64>,
    /// The most memory that the process has held by then, in bytes; `None` where the system does not tell.
    pub peak_memory: Option<u64>,
}

impl Row {
    /// Millions of things a second of wall time.
    pub fn rate(&self) -> f64 {
        self.n as f64 / self.wall_ms / 1e3
    }

    /// The row as an object of JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "primitive": self.primitive,
            "variant": self.variant,
            "n": self.n,
            "threads": self.threads,
            "wall_ms": self.wall_ms,
            "cpu_ms": self.cpu_ms,
            "bytes": self.bytes,
            "peak_memory": self.peak_memory,
        })
    }
}

/// Rows that are printed as they come, and written as lines of JSON to a file if one is asked for.
#[derive(Debug)]
pub struct Table {
    json: Option<File>,
}

impl Table {
    /// A table whose heading is printed at once.
    fn new(json: Option<File>) -> Table {
        println!(
            "{:<16} {:<22} {:>9} {:>3} {:>10} {:>8} {:>15} {:>17} {:>9}",
            "primitive", "variant", "n", "thr", "wall ms", "M/s", "CPU ms", "bytes an item", "peak MiB"
        );
        Table { json }
    }

    /// Prints a row, and writes it.
    pub fn add(&mut self, row: &Row) -> io::Result<()> {
        let joined = |values: Vec<String>| if values.is_empty() { "-".into() } else { values.join(" + ") };
        println!(
            "{:<16} {:<22} {:>9} {:>3} {:>10.3} {:>8.1} {:>15} {:>17} {:>9}",
            row.primitive,
            row.variant,
            row.n,
            row.threads,
            row.wall_ms,
            row.rate(),
            joined(row.cpu_ms.iter().map(|ms| format!("{ms:.2}")).collect()),
            joined(row.bytes.iter().map(|bytes| format!("{:.3}", *bytes as f64 / row.n as f64)).collect()),
            row.peak_memory.map_or("-".into(), |bytes| format!("{:.0}", bytes as f64 / 1048576.0)),
        );
        match &mut self.json {
            Some(file) => writeln!(file, "{}", row.to_json()),
            None => Ok(()),
        }
    }
}

/// Results of measurements against their targets, which are for a machine that is otherwise idle.
#[derive(Debug, Default)]
pub struct Verdicts(Vec<(String, bool)>);

impl Verdicts {
    /// Adds one: what is said, and whether the target is met.
    pub fn add(&mut self, line: String, met: bool) {
        self.0.push((line, met));
    }

    /// Adds a value that may be as much as its target.
    pub fn at_most(&mut self, what: &str, value: f64, target: f64) {
        self.add(format!("{what}: {value:.2} (target {target})"), value <= target);
    }

    /// Prints them all. The status is [`MISSED`] if one is.
    pub fn end(&self) -> ExitCode {
        for (line, met) in &self.0 {
            println!("{line}{}", if *met { "" } else { "  MISSED" });
        }
        if self.0.iter().all(|(_, met)| *met) { ExitCode::SUCCESS } else { MISSED.into() }
    }
}
