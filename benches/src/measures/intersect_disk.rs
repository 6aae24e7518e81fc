//! Intersections on disk: two CSV files, two processes with `--work`, little memory. Each party has as many rows, half
//! of which are common, in an order that has nothing to do with that of the keys; the result is compared line by line.
//! Needs the `tacita` program beside this one, and room for some ten times the files in the directory for temporary
//! files (`TMPDIR`).

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::Parser;
use serde_json::Value;
use tacita_bench::{about, tacita};

const PARTIES: [&str; 2] = ["a", "b"];

const FULL: u64 = 100_000_000;

/// Interval at which the directories are checked for the disk space that they take.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Parser)]
#[command(about = about(include_str!("intersect_disk.rs")))]
struct Arguments {
    /// Rows of each party, as powers of two; `full` is 100,000,000 rows
    #[arg(default_values = ["20", "22"], value_parser = rows)]
    log2_rows: Vec<u64>,
    /// `--memory` of each party
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    memory: String,
}

fn rows(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        _ if text == "full" => Ok(FULL),
        Ok(log2 @ 1..=28) => Ok(1 << log2),
        _ => Err("1 to 28, or `full`"),
    }
}

pub fn main() {
    let Arguments { log2_rows, memory } = Arguments::parse_from(tacita_bench::arguments());
    let program = tacita();
    println!(
        "| rows of each | party | wall s | sort s | protocol s | write s | CPU s | peak MiB | peak disk MiB | bytes a row | CPU a row, relative |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut first = [None; 2];
    for rows in log2_rows {
        let bench = Bench::new(&program, rows);
        let reports = bench.run(&memory);
        bench.check();
        for ((party, (report, disk)), first) in PARTIES.iter().zip(&reports).zip(&mut first) {
            let cpu = number(report, "/cpu_seconds") / rows as f64;
            let relative = cpu / *first.get_or_insert(cpu);
            let seconds =
                ["total", "load", "protocol", "output"].map(|phase| number(report, &format!("/seconds/{phase}")));
            let mebibytes = |bytes: f64| bytes / f64::from(1 << 20);
            println!(
                "| {rows} | {party} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} | {:.1} | {relative:.2} |",
                seconds[0],
                seconds[1],
                seconds[2],
                seconds[3],
                number(report, "/cpu_seconds"),
                mebibytes(number(report, "/peak_memory")),
                mebibytes(*disk as f64),
                number(report, "/bytes/sent") / rows as f64,
            );
        }
        let _ = std::fs::remove_dir_all(&bench.directory);
    }
}

/// A job of two parties, with their files.
struct Bench {
    program: PathBuf,
    directory: PathBuf,
    rows: u64,
}

impl Bench {
    fn new(program: &Path, rows: u64) -> Bench {
        let directory = std::env::temp_dir().join(format!("tacita-large-{}-{rows}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a temporary directory");
        let bench = Bench { program: program.to_owned(), directory, rows };
        let identities = PARTIES.map(|party| {
            let made =
                Command::new(program).args(["identity", "new"]).arg(bench.at(party)).output().expect("an identity");
            String::from_utf8(made.stdout).expect("a fingerprint").trim().to_owned()
        });
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port();
        let job = format!(
            "job = \"intersect\"\nid = \"large\"\nprotocol = \"vole\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"id\"]\n\
             [parties.a]\naddress = \"127.0.0.1:{port}\"\nidentity = \"{}\"\n[parties.b]\nidentity = \"{}\"\n",
            identities[0], identities[1]
        );
        std::fs::write(bench.at("job.toml"), job).expect("a job file");
        for (party, first) in PARTIES.iter().zip([0, rows / 2]) {
            let mut file =
                BufWriter::with_capacity(1 << 20, File::create(bench.at(&format!("{party}.csv"))).expect("a table"));
            writeln!(file, "id,row,party").expect("a row");
            for row in 0..rows {
                // The step has no factor in common with the number of rows.
                file.write_all(line(first + row * 1_000_000_007 % rows, party).as_bytes()).expect("a row");
            }
        }
        bench
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Runs both parties. Returns their reports, and the most bytes that each had on disk.
    fn run(&self, memory: &str) -> [(Value, u64); 2] {
        let mut children = PARTIES.map(|party| self.start(party, memory));
        let mut disk = [0; 2];
        while children.iter_mut().any(|child| child.try_wait().expect("a party").is_none()) {
            for (party, most) in PARTIES.iter().zip(&mut disk) {
                *most = (*most).max(bytes_in(&self.at(&format!("{party}.work"))));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        for mut child in children {
            assert!(child.wait().expect("a party").success());
        }
        [0, 1].map(|party| {
            let text = std::fs::read(self.at(&format!("{}.json", PARTIES[party]))).expect("a report");
            (serde_json::from_slice(&text).expect("a report"), disk[party])
        })
    }

    fn start(&self, party: &str, memory: &str) -> Child {
        Command::new(&self.program)
            .args(["--quiet", "run"])
            .arg(self.at("job.toml"))
            .args(["--as", party, "--memory", memory, "--identity"])
            .arg(self.at(party))
            .arg("--input")
            .arg(self.at(&format!("{party}.csv")))
            .arg("--work")
            .arg(self.at(&format!("{party}.work")))
            .arg("--report")
            .arg(self.at(&format!("{party}.json")))
            .args(
                (party == "a")
                    .then(|| ["--force".into(), "--output".into(), self.at("common.csv")])
                    .into_iter()
                    .flatten(),
            )
            .stdout(Stdio::null())
            .spawn()
            .expect("a party")
    }

    /// Checks that the result is the common half, in order.
    fn check(&self) {
        let file = BufReader::new(File::open(self.at("common.csv")).expect("a result"));
        let mut lines = file.lines().map(|line| line.expect("a line"));
        assert_eq!(lines.next().as_deref(), Some("id,row,party"));
        for row in self.rows / 2..self.rows {
            let found = lines.next().expect("as many rows as are common");
            assert!(found == line(row, "a").trim_end(), "row {row} is another");
        }
        assert!(lines.next().is_none(), "rows that are not common");
    }
}

fn line(row: u64, party: &str) -> String {
    format!("user{row:010}@example.com,{row},{party}\n")
}

/// Bytes of the files in a directory; none if it is not there.
fn bytes_in(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|facts| facts.len()).sum()
}

fn number(report: &Value, pointer: &str) -> f64 {
    report.pointer(pointer).and_then(Value::as_f64).unwrap_or_default()
}
