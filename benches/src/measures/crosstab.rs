//! Cross tables from file to file: as many categories of each party as are asked for, over generated rows, by position
//! and by ids of which nobody learns which are common. Both parties run in one process, TLS between them. Needs the
//! `tacita` program beside this one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::{Rng, SeedableRng};
use serde_json::Value;
use tacita_bench::{Repeat, Verdicts, about, median, tacita};

/// Seconds that 20 x 20 cells over so many rows by position may take, from file to file.
const TARGET: (u32, u32, f64) = (1_000_000, 20, 4.0);

#[derive(Parser)]
#[command(about = about(include_str!("crosstab.rs")))]
struct Arguments {
    /// Rows of each party
    #[arg(default_values_t = [1_000_000], value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    rows: Vec<u32>,
    /// Categories of each party
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=128))]
    categories: u32,
    /// Rows by ids, too, of which half are common
    #[arg(long)]
    hidden: bool,
    #[command(flatten)]
    repeat: Repeat<3>,
}

pub fn main() -> ExitCode {
    let Arguments { rows: sizes, categories, hidden, repeat: Repeat { runs } } =
        Arguments::parse_from(tacita_bench::arguments());
    let run = Run {
        program: tacita(),
        directory: std::env::temp_dir().join(format!("tacita-crosstab-{}", std::process::id())),
        categories,
        runs,
    };
    std::fs::create_dir_all(&run.directory).expect("a temporary directory");
    let mut verdicts = Verdicts::default();
    println!("| rows | aligned | cells | closed | seconds | of them protocol | CPU s of both | MB both ways | MiB of one |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for rows in sizes {
        let seconds = run.table(rows, false);
        if (rows, categories) == (TARGET.0, TARGET.1) {
            verdicts.at_most("seconds by position", seconds, TARGET.2);
        }
        if hidden {
            run.table(rows, true);
        }
    }
    let _ = std::fs::remove_dir_all(&run.directory);
    verdicts.end()
}

struct Run {
    program: PathBuf,
    directory: PathBuf,
    categories: u32,
    runs: u32,
}

impl Run {
    /// Makes a table of so many rows of each party, prints its line, and returns the seconds that it took.
    fn table(&self, rows: u32, hidden: bool) -> f64 {
        let text = format!(
            "job = \"crosstab\"\nid = \"bench\"\nreveal_to = [\"a\", \"b\"]\nrows = [\"x\"]\ncolumns = [\"y\"]\n{}[parties.a]\n[parties.b]\n",
            if hidden { "row_id = \"id\"\nalignment = \"hidden\"\n" } else { "" }
        );
        let (job, report) = (self.directory.join("job.toml"), self.directory.join("report.json"));
        std::fs::write(&job, text).expect("a job file");
        let inputs = [("a", "x", 0), ("b", "y", if hidden { rows / 2 } else { 0 })]
            .map(|(name, column, first)| format!("{name}={}", self.input(name, column, first, rows).display()));
        let (mut walls, mut reports) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            let mut simulate = Command::new(&self.program);
            simulate.arg("simulate").arg(&job).args(["--quiet", "--input", &inputs[0], "--input", &inputs[1]]);
            simulate.args(["--force", "--output"]).arg(self.directory.join("out")).arg("--report").arg(&report);
            let started = Instant::now();
            let output = simulate.output().expect("tacita starts");
            walls.push(started.elapsed().as_secs_f64());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let read = std::fs::read(&report).expect("a report");
            reports.push(serde_json::from_slice::<Value>(&read).expect("JSON"));
        }
        let of = |path: &str| {
            let numbers = reports.iter().map(|report| report["parties"].pointer(path).and_then(Value::as_f64));
            median(&numbers.map(|number| number.expect("a number of the report")).collect::<Vec<_>>())
        };
        let open = of("/a/result/cells");
        assert!(open <= f64::from(self.categories.pow(2)), "more cells than there are");
        println!(
            "| {rows} | {} | {open} | {} | {:.2} | {:.2} | {:.2} | {:.1} | {:.0} |",
            if hidden { "hidden" } else { "by position" },
            of("/a/result/closed"),
            median(&walls),
            of("/a/seconds/protocol"),
            of("/a/cpu_seconds") + of("/b/cpu_seconds"),
            (of("/a/bytes/sent") + of("/a/bytes/received")) / 1e6,
            of("/a/peak_memory").max(of("/b/peak_memory")) / 1048576.0
        );
        median(&walls)
    }

    /// A party's table: an id, and a category, of which the first is more frequent than the last.
    fn input(&self, name: &str, column: &str, first: u32, rows: u32) -> PathBuf {
        let mut rng = ChaCha20Rng::from_seed([name.as_bytes()[0]; 32]);
        let mut text = format!("id,{column}\n");
        for id in first..first + rows {
            let category = (rng.next_u32() % self.categories).min(rng.next_u32() % self.categories);
            writeln!(text, "{id},{column}{category}").expect("text grows");
        }
        let path = self.directory.join(Path::new(name).with_extension("csv"));
        std::fs::write(&path, text).expect("an input");
        path
    }
}
