//! What the measuring programs share.

pub mod band;
pub mod pair;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tacita::usage;

/// Wall and CPU time of one run.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Wall time.
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
    /// What is measured: `transpose`, `softspoken`.
    pub primitive: String,
    /// In which form: a back end, a parameter.
    pub variant: String,
    /// How many things it makes: blocks, products, transfers.
    pub n: usize,
    /// Threads a party.
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
    /// A table whose heading is printed at once. `json` is the file for lines of JSON, which is made anew.
    pub fn new(json: Option<&Path>) -> io::Result<Table> {
        println!(
            "{:<16} {:<22} {:>9} {:>3} {:>10} {:>8} {:>15} {:>17} {:>9}",
            "primitive", "variant", "n", "thr", "wall ms", "M/s", "CPU ms", "bytes an item", "peak MiB"
        );
        Ok(Table { json: json.map(File::create).transpose()? })
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

/// The file named after `--json` among the program's arguments, and the arguments without both.
pub fn arguments() -> (Option<PathBuf>, Vec<String>) {
    let mut others: Vec<_> = std::env::args().skip(1).collect();
    let json = others.iter().position(|argument| argument == "--json").map(|place| {
        others.remove(place);
        assert!(place < others.len(), "`--json` is followed by a file");
        PathBuf::from(others.remove(place))
    });
    (json, others)
}
