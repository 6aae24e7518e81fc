//! The evaluation of Dong & Chen, "A fast secure dot product protocol with application to privacy preserving
//! association rule mining" (PAKDD 2014): tables 1 and 2, figures 2 and 3, and the bandwidth below which Paillier is
//! faster. Measured with this program's `gm-bloom` and `paillier`, beside the numbers that the paper's text gives.
//!
//! Both parties are in this process, with nothing between them. The paper's two machines had 4 and 12 cores; what needs
//! more cores than this machine has is printed as not measured. Keys are made in the runs.

use std::hint::black_box;
use std::io::{Result, Write};
use std::path::Path;
use std::process::Command;

use chacha20::ChaCha20Rng;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, ValueEnum};
use crypto_bigint::BoxedUint;
use rand_core::SeedableRng;
use serde_json::{Value, json};
use tacita_bench::pair::Pair;
use tacita_bench::{All, Json, Repeat, about, measure, median, tacita};
use tacita_core::primitive::kernel::backend;
use tacita_core::primitive::kernel::montgomery::{LANES, Montgomery};
use tacita_core::primitive::kernel::power::power;
use tacita_core::primitive::ot::Choices;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::primitive::published::goldwasser_micali;
use tacita_core::primitive::shuffle::random_order;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::{Columns, Integers, Shape, lattice, ot, paillier};
use tacita_core::protocol::published::dot::gm_bloom;
use tacita_core::session::{Session, Transcript};
use tacita_core::{Level, Side};

/// Cores of the paper's two machines together, where it says "parallel".
const PAPER_CORES: usize = 16;

/// Table 2: rows, and seconds of its protocol and of Goethals et al.'s, at density 1.
const TABLE_2: [(usize, f64, f64); 4] =
    [(1_000, 0.27, 5.06), (10_000, 2.25, 49.58), (100_000, 22.01, 509.0), (1_000_000, 238.37, 5039.0)];

/// Figure 2's text: density in per cent, and seconds with one thread and in parallel, for a million rows.
const FIGURE_2: [(u32, f64, f64); 2] = [(10, 34.1, 18.9), (100, 238.0, 57.0)];

/// Figure 3's text: megabytes of Goethals et al., and how many times as many its protocol takes, for a million rows.
const FIGURE_3_MB: f64 = 266.0;
const FIGURE_3: [(u32, f64); 2] = [(10, 1.9), (100, 9.5)];

/// The paper's estimate of the bandwidth in Mbit/s below which Paillier is faster, for a million rows.
const CROSS_OVER: [(u32, f64); 2] = [(10, 0.4), (100, 3.8)];

#[derive(Parser)]
#[command(about = about(include_str!("paper_dc.rs")))]
struct Arguments {
    /// Selection of the measurements
    #[arg(value_enum, default_value_t = What::Some)]
    what: What,
    /// Leave out what has more rows than this
    #[arg(long, value_name = "ROWS", default_value_t = 10_000_000,
        value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    most: u32,
    /// Repetitions of the operations and over slow lines; each point is one run
    #[command(flatten)]
    repeat: Repeat<5>,
    #[command(flatten)]
    all: All,
    #[command(flatten)]
    json: Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The tables and figures, with some of their points
    Some,
    /// The tables and figures with all points, up to a million rows
    Full,
    /// Comparison of both protocols over lines around the computed bandwidth, as whole processes: needs the `tacita`
    /// program beside this one
    SlowLine,
    /// Comparison of all protocols of `dot` at 128 bits of security, up to ten million rows
    Beside,
}

pub fn main() -> Result<()> {
    let Arguments { what, most, repeat: Repeat { runs }, all: All { all }, json } =
        Arguments::parse_from(tacita_bench::arguments());
    let what = if all { What::Full } else { what };
    let most = most as usize;
    if json.path.is_some() && !matches!(what, What::Some | What::Full) {
        let text = "`--json` is for the points of `some` and `full`";
        Arguments::command().error(ErrorKind::ArgumentConflict, text).exit();
    }
    match what {
        What::SlowLine => return slow_line(most, runs),
        What::Beside => {
            beside(most);
            return Ok(());
        }
        What::Some | What::Full => {}
    }
    let mut json = json.file()?;
    let cores = std::thread::available_parallelism()?.get();
    println!("Kernels: {}. {cores} cores for both parties.\n", backend::chosen().name());
    for (operation, microseconds) in table_1(runs) {
        if let Some(file) = &mut json {
            writeln!(file, "{}", json!({ "table": 1, "operation": operation, "us": microseconds }))?;
        }
    }
    let mut points = Vec::new();
    println!("\n| protocol | level | rows | density | threads a party | seconds | CPU of P_1 + P_2 | MB |");
    println!("|{}", "---|".repeat(8));
    for wanted in wanted(what == What::Full, most) {
        let point = run(wanted);
        point.print();
        if let Some(file) = &mut json {
            writeln!(file, "{}", point.to_json())?;
        }
        points.push(point);
    }
    table_2(&points);
    figures(&points, cores);
    cross_over(&points);
    Ok(())
}

/// A run that is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Wanted {
    protocol: Protocol,
    level: Level,
    rows: usize,
    /// Density of both columns, which is agreed on: in per cent.
    density: u32,
    threads: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    GmBloom,
    Paillier,
    Ot,
    Lattice,
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Protocol::GmBloom => "gm-bloom",
            Protocol::Paillier => "paillier",
            Protocol::Ot => "ot",
            Protocol::Lattice => "lattice",
        }
    }
}

/// Returns all points, or some, with at most this many rows.
fn wanted(full: bool, limit: usize) -> Vec<Wanted> {
    use Level::{Bits128, Paper80};
    use Protocol::{GmBloom, Paillier};
    let mut all = Vec::new();
    let mut add = |protocol, level, rows, density, threads| {
        all.push(Wanted { protocol, level, rows, density, threads });
    };
    let most = limit.min(if full { 1_000_000 } else { 100_000 });
    // Table 2.
    for rows in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|rows| *rows <= most) {
        add(GmBloom, Paper80, rows, 100, 1);
    }
    for rows in [1_000, 5_000, 10_000, 50_000, 100_000]
        .into_iter()
        .filter(|rows| *rows <= limit.min(if full { 100_000 } else { 10_000 }))
    {
        add(Paillier, Paper80, rows, 100, 1);
    }
    // Figures 2 and 3.
    let densities: &[u32] = if full { &[10, 20, 30, 40, 50, 60, 70, 80, 90] } else { &[10, 50] };
    for &density in densities {
        add(GmBloom, Paper80, most, density, 1);
    }
    for &density in densities.iter().chain(&[100]) {
        add(GmBloom, Paper80, most, density, 2);
    }
    // The same with keys and strings of today.
    let most = limit.min(if full { 100_000 } else { 10_000 });
    for density in [10, 50, 100] {
        add(GmBloom, Bits128, most, density, 1);
    }
    add(Paillier, Bits128, limit.min(if full { 10_000 } else { 1_000 }), 100, 1);
    all
}

/// Measurements of one run.
struct Point {
    of: Wanted,
    /// Time from the first message to the value.
    seconds: f64,
    /// CPU seconds of P_1, who has the key and learns, and of P_2.
    cpu: [f64; 2],
    bytes: u64,
}

impl Point {
    fn print(&self) {
        let Wanted { protocol, level, rows, density, threads } = self.of;
        println!(
            "| {} | {} | {rows} | {:.1} | {threads} | {:.3} | {:.3} + {:.3} | {:.2} |",
            protocol.name(),
            level.name(),
            f64::from(density) / 1e2,
            self.seconds,
            self.cpu[0],
            self.cpu[1],
            self.bytes as f64 / 1e6
        );
    }

    fn to_json(&self) -> Value {
        let Wanted { protocol, level, rows, density, threads } = self.of;
        json!({
            "protocol": protocol.name(),
            "level": level.name(),
            "rows": rows,
            "density": f64::from(density) / 1e2,
            "threads": threads,
            "seconds": self.seconds,
            "cpu": self.cpu,
            "bytes": self.bytes,
        })
    }
}

/// Runs a protocol once, and checks the product.
fn run(of: Wanted) -> Point {
    let ones = of.rows as u64 * u64::from(of.density) / 100;
    let [mine, theirs] = [1, 2].map(|seed| vector(of.rows, ones as usize, seed));
    let expected = mine.iter().zip(theirs.iter()).filter(|(mine, theirs)| mine & theirs).count() as u128;
    let shape = Shape { rows: of.rows, first: 1, second: 1, integers: Integers::BINARY };
    let [mine, theirs] = [mine, theirs].map(|bits| {
        let mut columns = Columns::new(Integers::BINARY, of.rows);
        columns.push_bits(bits);
        columns
    });
    let mut pair = Pair::new(of.threads);
    let (first, second) = (&mut rng(3), &mut rng(4));
    let modulus = shape.value_modulus().expect("the rows are possible");
    let session = Session::new(Transcript::new("bench"));
    let ((shares, others), wall, [p_1, p_2]) = match of.protocol {
        Protocol::GmBloom => {
            let bound = of.rows * of.density as usize / 100;
            let lengths = gm_bloom::Lengths::of(of.level).expect("a level that there is");
            let params = gm_bloom::Params::new(shape, modulus, lengths, bound, Some(Side::First));
            let params = params.expect("the shape is possible");
            pair.run(
                |channel| gm_bloom::run(Side::First, &mine, &params, &session, channel, first),
                |channel| gm_bloom::run(Side::Second, &theirs, &params, &session, channel, second),
            )
        }
        Protocol::Paillier => {
            let params = paillier::Params::new(shape, modulus, KeySize::of(of.level), Some(Side::First));
            let params = params.expect("the shape is possible");
            pair.run(
                |channel| paillier::run(Side::First, &mine, &params, channel, first),
                |channel| paillier::run(Side::Second, &theirs, &params, channel, second),
            )
        }
        Protocol::Ot => {
            let params = ot::Params::new(shape, modulus, Extension::SoftSpoken(4), Some(Side::First));
            let params = params.expect("the shape is possible");
            pair.run(
                |channel| ot::run(Side::First, &mine, &params, &session, channel, first),
                |channel| ot::run(Side::Second, &theirs, &params, &session, channel, second),
            )
        }
        Protocol::Lattice => {
            let params = lattice::Params::new(shape, modulus, Some(Side::First)).expect("the shape is possible");
            pair.run(
                |channel| lattice::run(Side::First, &mine, &params, &session, channel, first),
                |channel| lattice::run(Side::Second, &theirs, &params, &session, channel, second),
            )
        }
    };
    assert_eq!(shares.open(&others), [expected], "the product is wrong");
    Point { of, seconds: wall / 1e3, cpu: [p_1 / 1e3, p_2 / 1e3], bytes: pair.bytes().iter().sum() }
}

/// A column with so many ones, anywhere.
fn vector(rows: usize, ones: usize, seed: u8) -> Choices {
    let mut bits = vec![false; rows];
    random_order(rows, &mut rng(seed))[..ones].iter().for_each(|row| bits[*row as usize] = true);
    Choices::from_bits(bits)
}

/// Operations in microseconds of CPU time, on one thread, by the names of docs/papers.toml.
fn table_1(runs: u32) -> Vec<(&'static str, f64)> {
    println!("| operation, 80 bits of security | paper, us | here, us |\n|---|---|---|");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread starts");
    let mut measured = Vec::new();
    let mut line = |name: &'static str, what: &str, paper: f64, count: usize, work: &mut (dyn FnMut() + Send)| {
        let seconds: Vec<f64> = (0..runs).map(|_| pool.install(|| measure(&mut *work).1.cpu.as_secs_f64())).collect();
        let microseconds = 1e6 * median(&seconds) / count as f64;
        println!("| {what} | {paper} | {microseconds:.3} |");
        measured.push((name, microseconds));
    };
    let count = 1 << 16;
    line("hash", "a hash (paper: SHA-1; here: BLAKE3)", 0.2, count, &mut || {
        (0..count as u64).for_each(|number| {
            black_box(blake3::hash(&black_box(number).to_le_bytes()));
        });
    });
    let modulus = |bits: usize| BoxedUint::max(bits as u32).into_odd().expect("an odd number");
    let field = Montgomery::new(&modulus(1024));
    let (mut a, mut product) = (field.radix(), field.one());
    line("product", "a product modulo 1024 bits", 0.8, count, &mut || {
        for _ in 0..count / LANES {
            field.multiply_into(black_box(&a), black_box(&a), &mut product);
            std::mem::swap(&mut a, &mut product);
        }
    });
    let mut random = rng(1);
    let key = goldwasser_micali::GmSecretKey::generate(KeySize::of(Level::Paper80), &mut random);
    let public = key.public();
    let bits: Vec<bool> = Choices::random(count, &mut random).iter().collect();
    let some = public.encrypt(&bits, &mut random);
    line("Legendre symbol", "a Legendre symbol modulo 512 bits, with the product before it", 5.4, count, &mut || {
        black_box(key.decrypt(&some));
    });
    // Modulo N^2: what the paper's figure for Paillier is made of.
    let field = Montgomery::new(&modulus(2048));
    let exponent = [u64::MAX; 1024 / 64].as_slice();
    line(
        "power",
        "a power modulo 2048 bits, exponent of 1024 (paper: 80 bits of security)",
        3700.0,
        LANES,
        &mut || {
            black_box(power(&field, &field.radix(), &[exponent; LANES], 1024));
        },
    );
    // What the protocol is made of here.
    println!();
    println!("| of gm-bloom, 1024 bits, one thread | us a row |\n|---|---|");
    let line = |what: &str, work: &mut (dyn FnMut() + Send)| {
        let seconds: Vec<f64> = (0..runs).map(|_| pool.install(|| measure(&mut *work).1.cpu.as_secs_f64())).collect();
        println!("| {what} | {:.3} |", 1e6 * median(&seconds) / count as f64);
    };
    let bytes = some.as_bytes();
    let order = random_order(count, &mut random);
    let mut random = rng(2);
    line("encrypting", &mut || drop(black_box(public.encrypt(&bits, &mut random))));
    line("checking ciphertexts: a Jacobi symbol modulo N", &mut || drop(black_box(public.read(bytes))));
    line("re-randomising, in another order", &mut || {
        drop(black_box(public.rerandomize(&some, &order, &mut random)));
    });
    line("checking and decrypting: Legendre symbols modulo p and q", &mut || drop(black_box(key.open(bytes))));
    measured
}

/// Table 2: density 1, one thread a party.
fn table_2(points: &[Point]) {
    println!("\nTable 2: seconds, density 1, one thread a party, 80 bits of security.\n");
    println!("| rows | gm-bloom, paper | here | ratio | paillier, paper | here | ratio |\n|{}", "---|".repeat(7));
    for (rows, gm_bloom, paillier) in TABLE_2 {
        let cell = |protocol, paper: f64| {
            let wanted = Wanted { protocol, level: Level::Paper80, rows, density: 100, threads: 1 };
            match find(points, wanted) {
                Some(point) => format!("{paper} | {:.2} | {:.0}", point.seconds, paper / point.seconds),
                None => format!("{paper} | - | -"),
            }
        };
        println!("| {rows} | {} | {} |", cell(Protocol::GmBloom, gm_bloom), cell(Protocol::Paillier, paillier));
    }
}

/// Figures 2 and 3: a million rows, by density.
fn figures(points: &[Point], cores: usize) {
    let most = points.iter().filter(|point| point.of.protocol == Protocol::GmBloom).map(|point| point.of.rows).max();
    let rows = most.unwrap_or(0);
    println!(
        "\nFigures 2 and 3: {rows} rows (paper: a million), 80 bits of security. {PAPER_CORES} cores, as the paper's"
    );
    println!("parallel form had, are {}.\n", if cores < PAPER_CORES { "not here: not measured" } else { "here" });
    println!(
        "| density | one thread a party, paper | here | parallel, paper: {PAPER_CORES} cores | here: {cores} cores | MB, paper | here |"
    );
    println!("|{}", "---|".repeat(7));
    for density in (10..=100).step_by(10) {
        let here = |threads| {
            let wanted = Wanted { protocol: Protocol::GmBloom, level: Level::Paper80, rows, density, threads };
            find(points, wanted)
        };
        let (Some(one), Some(all)) = (here(1), here(2)) else { continue };
        let paper = FIGURE_2.iter().find(|(of, ..)| *of == density);
        let [alone, parallel] = [paper.map(|(_, alone, _)| alone), paper.map(|(.., parallel)| parallel)]
            .map(|seconds| seconds.map_or("-".into(), |seconds| format!("{seconds}")));
        let bytes = FIGURE_3.iter().find(|(of, _)| *of == density);
        let bytes = bytes.map_or("-".into(), |(_, times)| format!("{:.0}", times * FIGURE_3_MB));
        println!(
            "| {:.1} | {alone} | {:.2} | {parallel} | {:.2} | {bytes} | {:.0} |",
            f64::from(density) / 1e2,
            one.seconds,
            all.seconds,
            one.bytes as f64 / 1e6
        );
    }
}

/// The bandwidth at which both protocols take equally long, if computing and sending follow each other.
fn cross_over(points: &[Point]) {
    println!("\nPaillier is faster on lines below, computed from seconds and bytes (one thread a party):\n");
    println!("| level | rows | density | paper: a million rows, Mbit/s | here, Mbit/s |\n|{}", "---|".repeat(5));
    for point in points.iter().filter(|point| point.of.protocol == Protocol::GmBloom && point.of.threads == 1) {
        let same = |other: &&Point| other.of.protocol == Protocol::Paillier && other.of.level == point.of.level;
        // Paillier's cost is the rows'.
        let Some(other) = points.iter().filter(same).max_by_key(|other| other.of.rows) else { continue };
        let times = point.of.rows as f64 / other.of.rows as f64;
        let bits = 8.0 * (point.bytes as f64 - times * other.bytes as f64);
        let seconds = times * other.seconds - point.seconds;
        let paper =
            CROSS_OVER.iter().find(|(density, _)| *density == point.of.density && point.of.level == Level::Paper80);
        println!(
            "| {} | {} | {:.1} | {} | {} |",
            point.of.level.name(),
            point.of.rows,
            f64::from(point.of.density) / 1e2,
            paper.map_or("-".into(), |(_, rate)| format!("{rate}")),
            if seconds > 0.0 { format!("{:.1}", bits / seconds / 1e6) } else { "always".into() }
        );
    }
}

fn find(points: &[Point], wanted: Wanted) -> Option<&Point> {
    points.iter().find(|point| point.of == wanted)
}

/// Compares all protocols at 128 bits of security: rows that are run, and those for which the cost follows from the
/// largest run.
fn beside(limit: usize) {
    println!(
        "128 bits of security, two threads a party, one run each; ~ computed from the largest run before, row by row.\n"
    );
    println!("| protocol | rows | seconds | CPU of both | MB |\n|{}", "---|".repeat(5));
    let protocols = [
        (Protocol::Ot, 100, 10_000_000),
        (Protocol::Lattice, 100, 10_000_000),
        (Protocol::GmBloom, 10, 100_000),
        (Protocol::GmBloom, 100, 100_000),
        (Protocol::Paillier, 100, 10_000),
    ];
    for (protocol, density, most) in protocols {
        let mut last: Option<Point> = None;
        for rows in
            std::iter::successors(Some(limit.min(1000)), |rows| Some(10 * rows)).take_while(|rows| *rows <= limit)
        {
            if rows <= most {
                last = Some(run(Wanted { protocol, level: Level::Bits128, rows, density, threads: 2 }));
            }
            let Some(point) = &last else { continue };
            let times = rows as f64 / point.of.rows as f64;
            let name = match protocol {
                Protocol::GmBloom => format!("{}, density {:.1}", protocol.name(), f64::from(density) / 1e2),
                _ => protocol.name().into(),
            };
            println!(
                "| {name} | {rows} | {}{:.3} | {:.3} | {:.2} |",
                if times > 1.0 { "~" } else { "" },
                times * point.seconds,
                times * (point.cpu[0] + point.cpu[1]),
                times * point.bytes as f64 / 1e6
            );
        }
    }
}

/// Whole runs of 10,000 rows, or fewer, over lines of several speeds: processes, TLS, keys and all.
fn slow_line(most: usize, runs: u32) -> Result<()> {
    let program = tacita();
    let directory = std::env::temp_dir().join(format!("tacita-dc-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let rows = most.min(10_000);
    println!(
        "{rows} rows, 80 bits of security, one thread a party, medians of {runs}: seconds of the protocol phase.\n"
    );
    println!("| density | Mbit/s | gm-bloom | paillier |\n|---|---|---|---|");
    for (density, rates) in SLOW_LINES {
        for (name, seed) in [("a", 1), ("b", 2)] {
            let bits = vector(rows, rows * density / 100, seed);
            let lines: String = bits.iter().map(|bit| format!("{}\n", u8::from(bit))).collect();
            std::fs::write(directory.join(format!("{name}.csv")), format!("bit\n{lines}"))?;
        }
        for rate in rates {
            let seconds = [Protocol::GmBloom, Protocol::Paillier].map(|protocol| {
                let seconds = (0..runs).map(|_| over_line(&program, &directory, protocol, density, rate));
                median(&seconds.collect::<Vec<_>>())
            });
            println!("| {:.1} | {rate} | {:.2} | {:.2} |", density as f64 / 1e2, seconds[0], seconds[1]);
        }
    }
    std::fs::remove_dir_all(&directory)
}

/// Densities in per cent, with rates in Mbit/s around that at which both protocols are equal.
const SLOW_LINES: [(usize, [u32; 3]); 2] = [(10, [3, 12, 48]), (100, [32, 128, 512])];

/// Seconds of the protocol phase of one run over a line of `rate` Mbit/s.
fn over_line(program: &Path, directory: &Path, protocol: Protocol, density: usize, rate: u32) -> f64 {
    let bound = match protocol {
        Protocol::GmBloom => format!("density = {}\n", density as f64 / 1e2),
        _ => String::new(),
    };
    let terms = format!("job = \"dot\"\nid = \"line\"\nprotocol = \"{}\"\nlevel = \"paper80\"\n", protocol.name());
    let text = format!("{terms}{bound}reveal_to = [\"a\"]\ncolumn = \"bit\"\n[parties.a]\n[parties.b]\n");
    let (job, report) = (directory.join("job.toml"), directory.join("report.json"));
    std::fs::write(&job, text).expect("a job file");
    let input = |name: &str| format!("{name}={}", directory.join(format!("{name}.csv")).display());
    let output = Command::new(program)
        .args(["simulate", "--quiet", "--allow-insecure", "--threads", "1"])
        .args(["--bandwidth", &format!("{rate}Mbit"), "--input", &input("a"), "--input", &input("b")])
        .arg("--report")
        .args([&report, &job])
        .output()
        .expect("tacita starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("a report");
    report["parties"]["a"]["seconds"]["protocol"].as_f64().expect("the report has seconds")
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}
