//! The tables and figures of Kim & Kim, "An experimental study of encrypted polynomial arithmetics for private set
//! operations", measured with this program's `polynomial`, beside the numbers that the paper prints.
//!
//! Both parties are in this process, with one thread each, unless more are asked for, and nothing between them. What
//! counts are the CPU seconds of both together, with encoding and decoding; their transfer is computed at the paper's
//! 100 Mbit/s. The paper took the time of day, of two machines that work in turns.
//!
//! A point that is expected to take longer than the budget is left out, as are longer ones of its curve: the dashes of
//! table 3. One that takes less than 20 seconds is repeated.

use std::hint::black_box;
use std::io::Write;

use chacha20::ChaCha20Rng;
use clap::{Parser, ValueEnum};
use crypto_bigint::BoxedUint;
use rand_core::SeedableRng;
use rayon::ThreadPool;
use serde_json::{Value, json};
use tacita_bench::pair::Pair;
use tacita_bench::{All, Json, Repeat, about, measure, median};
use tacita_core::primitive::elgamal::{self, ElGamalSecretKey};
use tacita_core::primitive::group::{Group, ModP, Ristretto255, ScalarField, safe_prime};
use tacita_core::primitive::kernel::backend;
use tacita_core::primitive::published::Pallas;
use tacita_core::primitive::published::polynomial::{
    self, CountingModule, EncryptedModule, Module, Points, Scalars, evaluate, evaluate_in_groups, evaluate_one, expand,
    multiply,
};
use tacita_core::protocol::published::intersect::polynomial::{
    Params, PolynomialRequest, PolynomialReveal, Strategy, rows,
};
use tacita_core::protocol::published::union;
use tacita_core::protocol::union::ShuffledItems;
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Item, Level};

const LINK_BITS_PER_SECOND: f64 = 100e6;

/// Points that take longer are measured once.
const REPEATED_BELOW: f64 = 20.0;

/// Table 1: t, and seconds of key generation. The general-purpose one is in the text.
const TABLE_1: [(u32, f64); 4] = [(10, 92.452), (11, 143.784), (12, 94.630), (13, 112.158)];
const GENERAL_KEY: f64 = 31.728;

type InTables = (u32, [f64; 2], [f64; 2], [f64; 2]);

/// Tables 3 to 5: log2 of k; seconds in all, of the programs, and of transmission; by Karatsuba and by the FFT. NaN: a
/// dash.
const TABLES: [InTables; 11] = [
    (7, [98.769, 105.105], [3.81492, 10.10092], [0.147, 0.211]),
    (8, [240.920, 255.564], [11.18280, 25.72680], [0.311, 0.430]),
    (9, [256.322, 366.618], [96.11820, 206.21420], [0.581, 0.769]),
    (10, [317.130, 1_088.117], [223.47640, 994.06140], [1.192, 1.724]),
    (11, [1_001.345, 1_332.306], [855.156, 1_185.316], [2.425, 3.216]),
    (12, [2_651.158, 2_881.258], [2_551.718, 2_780.214], [4.781, 6.119]),
    (13, [7_743.503, 5_786.149], [7_621.725, 5_661.165], [9.411, 12.811]),
    (14, [23_006.365, 15_031.275], [22_772.382, 14_790.879], [17.739, 26.004]),
    (15, [68_184.805, 33_778.607], [68_054.006, 33_634.982], [f64::NAN; 2]),
    (16, [203_750.917, 76_351.447], [203_403.827, 75_978.705], [f64::NAN; 2]),
    (17, [608_286.039, 170_566.976], [f64::NAN; 2], [f64::NAN; 2]),
];

/// The text on table 6: where the FFT becomes faster than Karatsuba's way.
const CUT_OFF: &str = "4326, in other runs 4316 to 4346";

/// Remark 3: how many times as fast as Karatsuba's way Toom's is.
const TOOM_3: &str = "2.17 to 4.13";

#[derive(Parser)]
#[command(about = about(include_str!("paper_kk.rs")))]
struct Arguments {
    /// Selection of the measurements
    #[arg(value_enum, default_value_t = What::Some)]
    what: What,
    /// The smallest sets, as a power of two, or as the largest ones
    #[arg(long, value_name = "LOG2", default_value_t = 7, value_parser = clap::value_parser!(u32).range(3..=18))]
    least: u32,
    /// The largest sets, as a power of two
    #[arg(long, value_name = "LOG2", default_value_t = 8, value_parser = clap::value_parser!(u32).range(3..=18))]
    most: u32,
    /// CPU seconds that one run may be expected to take
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    budget: f64,
    /// Filter on the name of group and strategy, as in "Pallas fft", for tables 3 to 5 and figures 3 and 4. For table 6
    /// it is on "Pallas product", "mod p product" and "Pallas runs"
    #[arg(long, value_name = "WORDS", default_value = "")]
    only: String,
    /// Threads of each party in tables 3 to 5
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// Length of the paper's primes
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(512..=2048))]
    bits: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
    #[command(flatten)]
    all: All,
    #[command(flatten)]
    json: Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Complete set of measurements
    Some,
    /// Table 1, figure 2
    Keys,
    /// Tables 3 to 5 in the paper's groups, with one bin
    Paper,
    /// Tables 3 to 5 on curves, with one bin
    Curves,
    /// Tables 3 to 5 with as many bins as take least work
    Bins,
    /// Figures 3 and 4
    Parts,
    /// Table 6 and remark 3
    CutOff,
    /// Proposition 3: negations
    Negations,
    /// Proposition 2: evaluation by algorithm 2, beside sums of products and the tree of middle products
    Evaluation,
    /// Section VI: unions, in coefficients and at points
    Unions,
}

/// Destination of the rows, and the extent of the measurements.
struct Bench {
    json: Option<std::fs::File>,
    pool: ThreadPool,
    least: u32,
    most: u32,
    only: String,
    budget: f64,
    threads: u32,
    runs: u32,
    bits: u32,
}

pub fn main() -> std::io::Result<()> {
    let Arguments { what, least, most, budget, only, threads, bits, repeat: Repeat { runs }, all: All { all }, json } =
        Arguments::parse_from(tacita_bench::arguments());
    let (what, least, most, budget) = if all { (What::Some, 7, 16, 150.0) } else { (what, least, most, budget) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread starts");
    let mut bench = Bench { json: json.file()?, pool, least: least.min(most), most, only, budget, threads, runs, bits };
    println!("Kernels: {}. {} cores.", backend::chosen().name(), std::thread::available_parallelism()?);
    let wanted = |one| what == one || what == What::Some;
    let mut keys = None;
    if wanted(What::Keys) {
        keys = Some(table_1(&mut bench)?);
    }
    let without_groups = [What::Keys, What::Negations, What::Evaluation, What::Unions];
    let groups = (!without_groups.contains(&what)).then(|| Groups::new(bits, most + 2));
    if let Some(groups) = &groups {
        let mut points = Vec::new();
        for (one, all) in [(What::Paper, &PAPER[..]), (What::Curves, &CURVES), (What::Bins, &BINS)] {
            if wanted(one) {
                points.extend(tables_4_and_5(&mut bench, groups, all)?);
            }
        }
        if let Some(keys) = keys {
            table_3(&points, keys);
        }
        if !points.is_empty() {
            remark_3(&points);
        }
        if wanted(What::Parts) {
            figures_3_and_4(&mut bench, groups, keys.unwrap_or_default())?;
        }
        if wanted(What::CutOff) {
            table_6(&mut bench, groups)?;
        }
    }
    if wanted(What::Negations) {
        proposition_3(&mut bench)?;
    }
    if wanted(What::Evaluation) {
        proposition_2(&mut bench)?;
    }
    if wanted(What::Unions) {
        unions(&mut bench)?;
    }
    Ok(())
}

impl Bench {
    fn keep(&mut self, value: &Value) -> std::io::Result<()> {
        self.json.as_mut().map_or(Ok(()), |file| writeln!(file, "{value}"))
    }

    /// CPU seconds of `work` on one thread.
    fn seconds<T: Send>(&self, mut work: impl FnMut() -> T + Send) -> f64 {
        let mut once = || self.pool.install(|| measure(|| black_box(work()))).1.cpu.as_secs_f64();
        // The first is for the caches, where it takes so little that they matter.
        let first = once();
        let more = match first {
            0.0..0.1 => self.runs,
            0.1..REPEATED_BELOW => self.runs - 1,
            _ => 0,
        };
        let mut all: Vec<f64> = (0..more).map(|_| once()).collect();
        if first >= 0.1 {
            all.push(first);
        }
        median(&all)
    }
}

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Key generation: medians of seconds with any prime, and with Fourier primes of all t.
fn table_1(bench: &mut Bench) -> std::io::Result<[f64; 2]> {
    println!("\n| table 1: t | paper, s | here, median | mean | least | most |\n|---|---|---|---|---|---|");
    let runs = 3 * bench.runs;
    let mut all = Vec::new();
    let settings = TABLE_1.map(|(t, paper)| (t, paper)).into_iter().chain([(1, GENERAL_KEY)]);
    let mut medians = Vec::new();
    for (t, paper) in settings {
        let key = |run| {
            let (p, q) =
                safe_prime(bench.bits, t, &mut rng(u64::from(1000 * t + run))).expect("the length is possible");
            let group = ModP::new(&p, &q, &BoxedUint::from(4u64)).expect("primes that were found");
            ElGamalSecretKey::generate(&group, &mut rng(1)).public(&group).to_bytes(&group)
        };
        let seconds: Vec<f64> =
            (0..runs).map(|run| bench.pool.install(|| measure(|| black_box(key(run))).1.cpu.as_secs_f64())).collect();
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let (least, most) = seconds.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &s| (a.min(s), b.max(s)));
        let what = if t == 1 { "any (general-purpose)".to_owned() } else { t.to_string() };
        println!("| {what} | {paper} | {:.2} | {mean:.2} | {least:.2} | {most:.2} |", median(&seconds));
        bench.keep(&json!({ "figure": 2, "t": t, "paper": paper, "seconds": seconds, "median": median(&seconds) }))?;
        medians.push(median(&seconds));
        if t > 1 {
            all.extend(seconds);
        }
    }
    println!("\nKey generation as tables 3, 4 and 5 leave it: seconds of the paper by log2 of k.");
    for (log2, total, running, transfer) in TABLES.iter().filter(|(.., transfer)| !transfer[0].is_nan()) {
        println!(
            "| {log2} | {:.1} | {:.1} |",
            total[0] - running[0] - transfer[0],
            total[1] - running[1] - transfer[1]
        );
    }
    Ok([medians[medians.len() - 1], median(&all)])
}

/// Groups of the paper.
struct Groups {
    general: ModP,
    fourier: ModP,
}

impl Groups {
    fn new(bits: u32, two_adicity: u32) -> Groups {
        let group = |two_adicity: u32| {
            let (p, q) = safe_prime(bits, two_adicity, &mut rng(1)).expect("the length is possible");
            ModP::new(&p, &q, &BoxedUint::from(4u64)).expect("primes that were found")
        };
        Groups { general: group(1), fourier: group(two_adicity.max(10)) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum In {
    /// Modulo a safe prime of the paper's length.
    General,
    /// One with roots of unity.
    Fourier,
    Ristretto255,
    Pallas,
}

impl In {
    fn name(self) -> &'static str {
        match self {
            In::General => "mod p",
            In::Fourier => "mod p, Fourier",
            In::Ristretto255 => "ristretto255",
            In::Pallas => "Pallas",
        }
    }
}

/// One curve of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Series {
    group: In,
    strategy: Strategy,
    /// 1 in the published form.
    bins: Option<usize>,
}

const fn series(group: In, strategy: Strategy, bins: Option<usize>) -> Series {
    Series { group, strategy, bins }
}

const PAPER: [Series; 5] = [
    series(In::General, Strategy::Karatsuba, Some(1)),
    series(In::Fourier, Strategy::Fft, Some(1)),
    series(In::General, Strategy::Toom3, Some(1)),
    series(In::General, Strategy::Schoolbook, Some(1)),
    series(In::General, Strategy::Points, Some(1)),
];
const CURVES: [Series; 5] = [
    series(In::Ristretto255, Strategy::Karatsuba, Some(1)),
    series(In::Ristretto255, Strategy::Toom3, Some(1)),
    series(In::Pallas, Strategy::Fft, Some(1)),
    series(In::Ristretto255, Strategy::Schoolbook, Some(1)),
    series(In::Ristretto255, Strategy::Points, Some(1)),
];
const BINS: [Series; 6] = [
    series(In::General, Strategy::Karatsuba, None),
    series(In::Fourier, Strategy::Fft, None),
    series(In::Ristretto255, Strategy::Karatsuba, None),
    series(In::Ristretto255, Strategy::Toom3, None),
    series(In::Ristretto255, Strategy::Points, None),
    series(In::Pallas, Strategy::Fft, None),
];

impl Series {
    fn is_wanted(&self, bench: &Bench) -> bool {
        format!("{} {}", self.group.name(), self.strategy).contains(&bench.only)
    }

    fn params(&self, count: usize) -> Params {
        let (strategy, bins) = (Some(self.strategy), self.bins);
        let wanted =
            PolynomialRequest { level: Level::Bits128, reveal: PolynomialReveal::Rows, strategy, bins, runs: 1 };
        Params::new(wanted, count, count).expect("the parameters are possible")
    }

    /// Returns the maximum factor by which the time grows for twice as many.
    fn growth(&self) -> f64 {
        match self.strategy {
            _ if self.bins.is_none() => 2.4,
            // A third of the budget is enough to see where they go.
            Strategy::Schoolbook | Strategy::Points => 12.0,
            Strategy::Karatsuba => 3.05,
            Strategy::Toom3 => 3.1,
            Strategy::Fft => 2.5,
        }
    }

    /// The column of the paper's tables.
    fn column(&self) -> Option<usize> {
        match self.strategy {
            Strategy::Karatsuba => Some(0),
            Strategy::Fft => Some(1),
            _ => None,
        }
    }
}

/// One or more runs: medians.
struct Point {
    of: Series,
    log2: u32,
    bins: usize,
    runs: u32,
    threads: u32,
    /// CPU seconds of the receiver (the client) and of the sender (the server).
    cpu: [f64; 2],
    /// Measured on this machine, without a network.
    wall: f64,
    /// Number of bytes that each party sends.
    bytes: [u64; 2],
}

impl Point {
    fn seconds(&self) -> f64 {
        self.cpu[0] + self.cpu[1]
    }

    fn transfer(&self) -> f64 {
        self.bytes.iter().sum::<u64>() as f64 * 8.0 / LINK_BITS_PER_SECOND
    }

    /// Numbers of tables 3, 4 and 5.
    fn paper(&self) -> Option<[f64; 3]> {
        let (_, total, running, transfer) = TABLES.iter().find(|(log2, ..)| *log2 == self.log2)?;
        self.of.column().map(|column| [total[column], running[column], transfer[column]])
    }

    fn print(&self) {
        let paper = self.paper();
        let dash =
            |value: Option<f64>| value.filter(|value| !value.is_nan()).map_or("-".into(), |value| format!("{value}"));
        let ratio = paper.map(|paper| paper[1] / self.seconds()).filter(|ratio| !ratio.is_nan());
        println!(
            "| 2^{} | {} | {} | {} | {} | {:.3} + {:.3} | {:.3} | {} | {} | {:.3} | {:.2} + {:.2} | {:.3} | {} |",
            self.log2,
            self.of.group.name(),
            self.of.strategy,
            self.bins,
            self.runs,
            self.cpu[0],
            self.cpu[1],
            self.seconds(),
            dash(paper.map(|paper| paper[1])),
            ratio.map_or("-".into(), |ratio| format!("{ratio:.1}")),
            self.wall,
            self.bytes[0] as f64 / 1e6,
            self.bytes[1] as f64 / 1e6,
            self.transfer(),
            dash(paper.map(|paper| paper[2])),
        );
    }

    fn to_json(&self) -> Value {
        let paper = self.paper().map(|paper| paper.map(|value| (!value.is_nan()).then_some(value)));
        json!({
            "table": 4,
            "group": self.of.group.name(),
            "strategy": self.of.strategy.name(),
            "published": self.of.bins == Some(1),
            "bins": self.bins,
            "log2": self.log2,
            "runs": self.runs,
            "threads": self.threads,
            "cpu": self.cpu,
            "seconds": self.seconds(),
            "wall": self.wall,
            "bytes": self.bytes,
            "transfer": self.transfer(),
            "paper": paper,
        })
    }
}

/// Sets with half of their elements in common.
fn items(count: usize) -> [Vec<Item>; 2] {
    let make = |first: usize| (first..first + count).map(|number| Item::new(&[1; 32], &number.to_le_bytes())).collect();
    [make(0), make(count / 2)]
}

/// CPU seconds of receiver and sender, wall seconds, bytes of both.
type Run = ([f64; 2], f64, [u64; 2]);

/// Runs the protocol once, and checks what is found.
fn run(groups: &Groups, series: &Series, count: usize, threads: u32) -> Run {
    let params = series.params(count);
    let [mine, theirs] = items(count);
    let mut pair = Pair::new(threads as usize);
    let (found, wall, [sender, receiver]) = match (series.group, series.strategy) {
        (In::General, _) => run_in(&groups.general, &mine, &theirs, &params, &mut pair),
        (In::Fourier, _) => run_in(&groups.fourier, &mine, &theirs, &params, &mut pair),
        // Not the curve of the parameters.
        (In::Pallas, strategy) if strategy != Strategy::Fft => run_in(&Pallas, &mine, &theirs, &params, &mut pair),
        (In::Ristretto255 | In::Pallas, _) => {
            let (sender, receiver) = (&mut rng(2), &mut rng(3));
            let (((), found), wall, cpu) = pair.run(
                |channel| rows::send(&theirs, &params, channel, sender),
                |channel| rows::receive(&mine, &params, channel, receiver),
            );
            (found, wall, cpu)
        }
    };
    assert!(found.into_iter().eq(count / 2..count), "the intersection is wrong");
    let [from_sender, from_receiver] = pair.bytes();
    ([receiver / 1e3, sender / 1e3], wall / 1e3, [from_receiver, from_sender])
}

fn run_in<G: Group + Sync>(
    group: &G,
    mine: &[Item],
    theirs: &[Item],
    params: &Params,
    pair: &mut Pair,
) -> (Vec<usize>, f64, [f64; 2]) {
    let send = |channel: &mut Channel| rows::send_in(group, theirs, params, channel, rng(2));
    let receive = |channel: &mut Channel| rows::receive_in(group, mine, params, channel, rng(3));
    let (((), found), wall, cpu) = pair.run(send, receive);
    (found, wall, cpu)
}

/// The medians of some runs.
fn point(bench: &Bench, groups: &Groups, series: Series, log2: u32) -> Point {
    let count = 1 << log2;
    let mut all = vec![run(groups, &series, count, bench.threads)];
    if all[0].0.iter().sum::<f64>() < REPEATED_BELOW {
        all.extend((1..bench.runs).map(|_| run(groups, &series, count, bench.threads)));
    }
    let of = |value: &dyn Fn(&Run) -> f64| median(&all.iter().map(value).collect::<Vec<_>>());
    Point {
        of: series,
        log2,
        bins: series.params(count).bins(),
        runs: all.len() as u32,
        threads: bench.threads,
        cpu: [of(&|run| run.0[0]), of(&|run| run.0[1])],
        wall: of(&|run| run.1),
        bytes: all[0].2,
    }
}

fn tables_4_and_5(bench: &mut Bench, groups: &Groups, all: &[Series]) -> std::io::Result<Vec<Point>> {
    println!(
        "\n| tables 4 and 5: k | group | strategy | bins | runs | receiver + sender, CPU s | both | paper | ratio | wall | MB | s at 100 Mbit/s | paper |"
    );
    println!("|{}", "---|".repeat(13));
    let mut points: Vec<Point> = Vec::new();
    for &series in all.iter().filter(|series| series.is_wanted(bench)).collect::<Vec<_>>() {
        let mut expected = 0.0;
        for log2 in bench.least..=bench.most {
            if expected > bench.budget {
                break;
            }
            let point = point(bench, groups, series, log2);
            point.print();
            bench.keep(&point.to_json())?;
            expected = series.growth() * point.seconds();
            points.push(point);
        }
    }
    Ok(points)
}

/// Prints table 3, with keys of the general-purpose and of the special-purpose setting.
fn table_3(points: &[Point], [general, special]: [f64; 2]) {
    println!(
        "\n| table 3: k | group | strategy | keys | programs | transfer | all, s | paper | ratio |\n|{}",
        "---|".repeat(9)
    );
    for point in points.iter().filter(|point| point.of.bins == Some(1)) {
        let Some([paper, ..]) = point.paper() else { continue };
        let keys = match point.of.group {
            In::General => general,
            In::Fourier => special,
            _ => 0.0,
        };
        let all = keys + point.seconds() + point.transfer();
        println!(
            "| 2^{} | {} | {} | {keys:.2} | {:.2} | {:.2} | {all:.2} | {paper} | {:.1} |",
            point.log2,
            point.of.group.name(),
            point.of.strategy,
            point.seconds(),
            point.transfer(),
            paper / all
        );
    }
}

/// Whole runs by Karatsuba's and by Toom's way.
fn remark_3(points: &[Point]) {
    println!("\n| remark 3: k | group | Karatsuba / Toom-3, whole runs | paper |\n|---|---|---|---|");
    for toom in points.iter().filter(|point| (point.of.strategy, point.of.bins) == (Strategy::Toom3, Some(1))) {
        let same =
            |point: &&Point| (point.of, point.log2) == (Series { strategy: Strategy::Karatsuba, ..toom.of }, toom.log2);
        if let Some(other) = points.iter().find(same) {
            let ratio = other.seconds() / toom.seconds();
            println!("| 2^{} | {} | {ratio:.2} | {TOOM_3} |", toom.log2, toom.of.group.name());
        }
    }
}

/// CPU seconds of what a run consists of.
struct Parts {
    /// φ, and its encryption.
    encrypted: f64,
    /// CPU seconds of γ1 φ.
    product: f64,
    /// γ2 ψ, encrypted and added.
    known: f64,
    /// Encoding and decoding, by both.
    encoding: f64,
    decrypted: f64,
    evaluated: f64,
    bytes: u64,
}

fn parts<G: Group + Sync>(bench: &Bench, group: &G, strategy: polynomial::MultiplyStrategy, count: usize) -> Parts {
    let mut random = rng(4);
    let secret = ElGamalSecretKey::generate(group, &mut random);
    let public =
        elgamal::ElGamalPublicKey::from_bytes(group, &secret.public(group).to_bytes(group)).expect("its own key");
    let (roots, factor) = (group.random_scalars(count, &mut random), group.random_scalars(count + 1, &mut random));
    let fastest = polynomial::MultiplyStrategy::fastest(&Scalars(group), count + 1, count + 1);
    let phi = expand(group, fastest, &roots);
    let ciphertexts = bench.pool.install(|| secret.encrypt(group, &phi, &mut rng(5)));
    let encrypted = bench.seconds(|| secret.encrypt(group, &expand(group, fastest, &roots), &mut rng(5)));
    let mut answers = Vec::new();
    let product = bench.seconds(|| answers = multiply(&EncryptedModule(group), strategy, &factor, &ciphertexts));
    let known = bench.seconds(|| {
        let product = multiply(&Scalars(group), fastest, &factor, &expand(group, fastest, &roots));
        EncryptedModule(group).add(&answers, &public.encrypt(group, &product, &mut rng(6)))
    });
    let mut bytes = 0;
    let encoding = bench.seconds(|| {
        let messages = [elgamal::encode(group, &ciphertexts[..count]), elgamal::encode(group, &answers)];
        bytes = messages.iter().map(|message| message.len() as u64).sum();
        messages.map(|message| elgamal::decode(group, &message).expect("its own encodings").len())
    });
    let mut opened = Vec::new();
    let decrypted = bench.seconds(|| opened = secret.decrypt(group, &answers));
    let evaluated = bench.seconds(|| evaluate(&Points(group), strategy, &opened, &roots));
    Parts { encrypted, product, known, encoding, decrypted, evaluated, bytes }
}

fn figures_3_and_4(bench: &mut Bench, groups: &Groups, [general, special]: [f64; 2]) -> std::io::Result<()> {
    println!(
        "\nCPU seconds, one thread, and the shares of all with keys (if they were measured) and transfer at 100 Mbit/s. The paper's: its tables 3 to 5."
    );
    println!(
        "\n| figures 3, 4: k | group | strategy | keys | expand, encrypt | server's product | server's other | encode, decode | transfer | decrypt | evaluate | shares: keys / programs / transfer | paper |"
    );
    println!("|{}", "---|".repeat(13));
    use polynomial::MultiplyStrategy::{Fft, Karatsuba, Toom3};
    let all = [
        (series(In::General, Strategy::Karatsuba, Some(1)), Karatsuba),
        (series(In::Fourier, Strategy::Fft, Some(1)), Fft),
        (series(In::Ristretto255, Strategy::Karatsuba, Some(1)), Karatsuba),
        (series(In::Ristretto255, Strategy::Toom3, Some(1)), Toom3),
        (series(In::Pallas, Strategy::Fft, Some(1)), Fft),
    ];
    for (series, strategy) in all {
        if !series.is_wanted(bench) {
            continue;
        }
        let mut expected = 0.0;
        for log2 in bench.least..=bench.most {
            if expected > bench.budget {
                break;
            }
            let (count, keys, parts) = match series.group {
                In::General => (1 << log2, general, parts(bench, &groups.general, strategy, 1 << log2)),
                In::Fourier => (1 << log2, special, parts(bench, &groups.fourier, strategy, 1 << log2)),
                In::Ristretto255 => (1 << log2, 0.0, parts(bench, &Ristretto255, strategy, 1 << log2)),
                In::Pallas => (1 << log2, 0.0, parts(bench, &Pallas, strategy, 1 << log2)),
            };
            let Parts { encrypted, product, known, encoding, decrypted, evaluated, bytes } = parts;
            let transfer = bytes as f64 * 8.0 / LINK_BITS_PER_SECOND;
            let programs = encrypted + product + known + encoding + decrypted + evaluated;
            let total = keys + programs + transfer;
            let shares = [keys, programs, transfer].map(|part| 100.0 * part / total);
            let paper = TABLES.iter().find(|row| row.0 == log2).zip(series.column()).map(|(row, column)| {
                let (all, running, transfer) = (row.1[column], row.2[column], row.3[column]);
                [all - running - transfer, running, transfer].map(|part| 100.0 * part / all)
            });
            let shown = |shares: [f64; 3]| format!("{:.1} / {:.1} / {:.2} %", shares[0], shares[1], shares[2]);
            println!(
                "| 2^{log2} | {} | {} | {keys:.2} | {encrypted:.4} | {product:.4} | {known:.4} | {encoding:.4} | {transfer:.4} | {decrypted:.4} | {evaluated:.4} | {} | {} |",
                series.group.name(),
                series.strategy,
                shown(shares),
                paper.filter(|paper| !paper[2].is_nan()).map_or("-".into(), shown),
            );
            bench.keep(&json!({
                "figure": 3, "group": series.group.name(), "strategy": series.strategy.name(), "k": count, "log2": log2,
                "encrypted": encrypted, "product": product, "known": known, "encoding": encoding,
                "decrypted": decrypted, "evaluated": evaluated, "transfer": transfer,
            }))?;
            expected = series.growth() * programs;
        }
    }
    Ok(())
}

/// Measures the k from which on the FFT is faster than the others: in the same group, the product alone and whole runs.
fn table_6(bench: &mut Bench, groups: &Groups) -> std::io::Result<()> {
    let most = 1 << bench.most;
    cut_off_of_products(bench, "Pallas", &Pallas, most)?;
    cut_off_of_products(bench, "mod p", &groups.fourier, most)?;
    if !"Pallas runs".contains(&bench.only) {
        return Ok(());
    }
    let run = |strategy, k| {
        let series = series(In::Pallas, strategy, Some(1));
        let once = |_| run(groups, &series, k, 1).0.iter().sum::<f64>();
        let first = once(0);
        let more = if first < REPEATED_BELOW { bench.runs - 1 } else { 0 };
        median(&(0..more).map(once).chain([first]).collect::<Vec<_>>())
    };
    let times = |k| [Strategy::Karatsuba, Strategy::Toom3, Strategy::Fft].map(|strategy| run(strategy, k));
    let rows = cut_off(bench, "Pallas, whole runs", times);
    bench.keep(&json!({ "table": 6, "what": "Pallas, whole runs", "rows": rows }))
}

fn cut_off_of_products<G: Group + Sync>(bench: &mut Bench, name: &str, group: &G, most: usize) -> std::io::Result<()> {
    use polynomial::MultiplyStrategy::{Fft, Karatsuba, Toom3};
    if !format!("{name} product").contains(&bench.only) {
        return Ok(());
    }
    let factors = group.random_scalars(most + 1, &mut rng(7));
    let halves = [8, 9].map(|seed| bench.pool.install(|| group.random_points(most + 1, &mut rng(seed))));
    let [first, second] = halves;
    let ciphertexts: Vec<[G::Point; 2]> =
        first.into_iter().zip(second).map(|(first, second)| [first, second]).collect();
    let times = |k: usize| {
        let time = |strategy| {
            bench.seconds(|| multiply(&EncryptedModule(group), strategy, &factors[..=k], &ciphertexts[..=k]))
        };
        [Karatsuba, Toom3, Fft].map(time)
    };
    let what = format!("{name}, the server's product");
    let rows = cut_off(bench, &what, times);
    bench.keep(&json!({ "table": 6, "what": what, "rows": rows }))
}

/// Seconds by Karatsuba, Toom-3 and FFT: at a few places of each doubling, and in smaller steps around where the FFT
/// becomes faster for good.
fn cut_off(bench: &Bench, what: &str, times: impl Fn(usize) -> [f64; 3]) -> Vec<(usize, [f64; 3])> {
    println!("\n| table 6: {what}: k | Karatsuba | Toom-3 | FFT | Karatsuba / Toom-3 |\n|---|---|---|---|---|");
    let log2 = bench.least.saturating_sub(2).max(3)..=bench.most;
    let quarters = log2.flat_map(|log2| (4usize..8).map(move |quarters| quarters << (log2 - 2)));
    let mut rows: Vec<(usize, [f64; 3])> = Vec::new();
    for k in quarters.take_while(|&k| k <= 1 << bench.most) {
        if rows.last().is_some_and(|(_, times)| 1.5 * times.iter().sum::<f64>() > bench.budget) {
            break;
        }
        rows.push((k, times(k)));
    }
    // The last place where the FFT is slower, for each of the others, and the next one.
    for other in [0, 1] {
        let slower = |row: &(usize, [f64; 3])| row.1[2] > row.1[other];
        if let Some((from, to)) = rows.iter().rposition(slower).and_then(|at| Some((rows[at].0, rows.get(at + 1)?.0))) {
            let step = ((to - from) / 6).max(1);
            let between = (from + step..to).step_by(step).filter(|k| rows.iter().all(|row| row.0 != *k));
            let between: Vec<_> = between.map(|k| (k, times(k))).collect();
            rows.extend(between);
            rows.sort_by_key(|row| row.0);
        }
    }
    for (k, [karatsuba, toom, fft]) in &rows {
        println!("| {k} | {karatsuba:.4} | {toom:.4} | {fft:.4} | {:.2} |", karatsuba / toom);
    }
    for (other, name) in ["Karatsuba", "Toom-3"].into_iter().enumerate() {
        let slower: Vec<_> = rows.iter().filter(|row| row.1[2] > row.1[other]).map(|row| row.0).collect();
        let first = rows.iter().find(|row| row.1[2] <= row.1[other]).map_or("-".into(), |row| row.0.to_string());
        let last = slower.last().and_then(|last| rows.iter().find(|row| row.0 > *last)).map(|row| row.0.to_string());
        let last = if slower.is_empty() { rows.first().map(|row| row.0.to_string()) } else { last };
        let paper = if other == 0 { CUT_OFF } else { "-" };
        let last = last.unwrap_or("beyond".into());
        println!("FFT faster than {name}: first at {first}, from {last} on (paper: {paper}).");
    }
    rows
}

/// The multiplications by -1 in Karatsuba's way for k = 2^m coefficients. M(k) = 3 M(k / 2) + 2 = k^log2(3) - 1, which
/// the paper counts, are those of polynomials, (i) and (ii) in its equation 1. They have k - 1 coefficients each: of
/// ciphertexts there are N(k) = 3 N(k / 2) + 2 (k - 1), which is 3 k^log2(3) - 4 k + 1. Down to 8 coefficients instead
/// of 1, where all is multiplied as in school: (k / 8)^log2(3) - 1 and 31 (k / 8)^log2(3) - 4 k + 1.
fn proposition_3(bench: &mut Bench) -> std::io::Result<()> {
    println!(
        "\n| proposition 3: k | paper: k^log2(3) - 1 | of coefficients, 3 k^log2(3) - 4 k + 1 | cut at 8: polynomials | counted | coefficients | counted |"
    );
    println!("|{}", "---|".repeat(7));
    for log2 in 3..=bench.most.max(7) {
        let k = 1u64 << log2;
        let counting = CountingModule::new(Scalars(&Ristretto255), 8);
        let scalars = Ristretto255.random_scalars(k as usize, &mut rng(10));
        multiply(&counting, polynomial::MultiplyStrategy::Karatsuba, &scalars, &scalars);
        let counted = [counting.counts().polynomials, counting.counts().differences];
        let (power, cut) = (3u64.pow(log2), 3u64.pow(log2 - 3));
        let expected = [cut - 1, 31 * cut + 1 - 4 * k];
        assert_eq!(counted, expected, "the formulas are wrong");
        println!(
            "| 2^{log2} | {} | {} | {} | {} | {} | {} |",
            power - 1,
            3 * power + 1 - 4 * k,
            expected[0],
            counted[0],
            expected[1],
            counted[1]
        );
        bench.keep(&json!({ "proposition": 3, "k": k, "paper": power - 1, "polynomials": counted[0], "coefficients": counted[1] }))?;
    }
    println!(
        "\n| microseconds of CPU | a sum | a difference | times -1, as any scalar | times a random scalar |\n|---|---|---|---|---|"
    );
    negation(bench, "ristretto255", &Ristretto255)?;
    negation(bench, "Pallas", &Pallas)?;
    let (p, q) = safe_prime(bench.bits, 1, &mut rng(1)).expect("the length is possible");
    let group = ModP::new(&p, &q, &BoxedUint::from(4u64)).expect("primes that were found");
    negation(bench, &format!("mod p, {} bits", bench.bits), &group)
}

/// Evaluation of 2 k coefficients at k points: products, counted, and CPU seconds on Ristretto255. Algorithm 2 with its
/// best size of a group, for which the formula of proposition 2 has k^0.28.
fn proposition_2(bench: &mut Bench) -> std::io::Result<()> {
    use polynomial::MultiplyStrategy::{Karatsuba, Toom3};
    println!(
        "\n| proposition 2: k | paper: k^1.28 | algorithm 2: points a group | products | s | sums: products | s \
         | tree: products | s |"
    );
    println!("|{}", "---|".repeat(9));
    let module = Points(&Ristretto255);
    for log2 in bench.least.min(5)..=bench.most.min(9) {
        let k = 1usize << log2;
        let random = |count, seed| Ristretto255.random_scalars(count, &mut rng(seed));
        let (points, exponents) = (random(k, 14), random(2 * k, 15));
        let polynomial = bench.pool.install(|| Ristretto255.random_points(2 * k, &mut rng(16)));
        let count = |work: &dyn Fn(&CountingModule<Scalars<'_, Ristretto255>>)| {
            let counting = CountingModule::new(Scalars(&Ristretto255), 8);
            work(&counting);
            counting.counts().products
        };
        let in_groups =
            |size| count(&|counting| drop(evaluate_in_groups(counting, Karatsuba, &exponents, &points, size)));
        let sizes = (2..=log2).map(|log2| 1usize << log2);
        let (products, size) = sizes.map(|size| (in_groups(size), size)).min().expect("a size");
        let tree = count(&|counting| drop(evaluate(counting, Toom3, &exponents, &points)));
        let seconds = [
            bench.seconds(|| evaluate_in_groups(&module, Karatsuba, &polynomial, &points, size)),
            bench.seconds(|| points.iter().map(|point| evaluate_one(&module, &polynomial, point)).collect::<Vec<_>>()),
            bench.seconds(|| evaluate(&module, Toom3, &polynomial, &points)),
        ];
        println!(
            "| 2^{log2} | {:.0} | {size} | {products} | {:.4} | {} | {:.4} | {tree} | {:.4} |",
            (k as f64).powf(1.28),
            seconds[0],
            2 * k * k,
            seconds[1],
            seconds[2]
        );
        bench.keep(&json!({
            "proposition": 2, "k": k, "size": size, "products": [products, 2 * (k * k) as u64, tree], "seconds": seconds,
        }))?;
    }
    Ok(())
}

/// Unions by encrypted polynomials: φ ψ in coefficients and at points, and the form by oblivious transfer, which tells
/// less; beside the intersection's rows by the same strategy.
fn unions(bench: &mut Bench) -> std::io::Result<()> {
    println!(
        "\n| unions: k | form | strategy | bins | CPU s, both | MB | intersection, CPU s |\n|{}",
        "---|".repeat(7)
    );
    let forms = [
        ("published", Strategy::Karatsuba, Some(1)),
        ("published", Strategy::Toom3, Some(1)),
        ("published", Strategy::Points, Some(1)),
        ("published", Strategy::Points, None),
        ("transfers", Strategy::Points, None),
    ];
    for (form, strategy, bins) in forms {
        let mut expected = 0.0;
        for log2 in bench.least..=bench.most {
            if expected > bench.budget {
                break;
            }
            let (wanted, k) = (series(In::Ristretto255, strategy, bins), 1usize << log2);
            let request = PolynomialRequest {
                level: Level::Bits128,
                reveal: PolynomialReveal::Rows,
                strategy: Some(strategy),
                bins,
                runs: 1,
            };
            let ([receiver, sender], bytes, used) = match form {
                "published" => published_union(request, k),
                _ => union_by_transfers(request, k),
            };
            let rows = run_on_curve(&wanted, k);
            let seconds = receiver + sender;
            println!(
                "| 2^{log2} | {form} | {strategy} | {used} | {seconds:.3} | {:.3} | {rows:.3} |",
                bytes as f64 / 1e6
            );
            bench.keep(&json!({
                "union": form, "strategy": strategy.name(), "published": bins == Some(1), "bins": used, "log2": log2, "cpu": [receiver, sender],
                "seconds": seconds, "bytes": bytes, "intersection": rows,
            }))?;
            expected = wanted.growth() * seconds;
        }
    }
    Ok(())
}

/// CPU seconds of receiver and sender, bytes of both, and the bins of a run.
type UnionRun = ([f64; 2], u64, usize);

/// The receiver brings all items of both parties as candidates.
fn published_union(request: PolynomialRequest, k: usize) -> UnionRun {
    let [mine, theirs] = items(k);
    let params = union::polynomial::Params::new(request, k, k).expect("the parameters are possible");
    let candidates = [&mine[..], &theirs[k - k / 2..]].concat();
    let mut pair = Pair::new(1);
    let (((), found), _, [sender, receiver]) = pair.run(
        |channel| union::polynomial::send(&theirs, &params, channel, &mut rng(2)),
        |channel| union::polynomial::receive(&mine, &candidates, &params, channel, &mut rng(3)),
    );
    assert_eq!(found.len(), candidates.len(), "the union is wrong");
    ([receiver / 1e3, sender / 1e3], pair.bytes().iter().sum(), params.polynomials().bins())
}

fn union_by_transfers(request: PolynomialRequest, k: usize) -> UnionRun {
    let [mine, theirs] = items(k);
    let params = union::polynomial_ot::Params::new(request, k, k, 32).expect("the parameters are possible");
    let session = Session::new(Transcript::new("bench"));
    let mut pair = Pair::new(1);
    let ((_, (common, missing)), _, [sender, receiver]) = pair.run(
        |channel| {
            let given = |_: usize, out: &mut Vec<u8>| out.resize(out.len() + 32, 7);
            let given = ShuffledItems::new(&theirs, &given, &mut rng(4))?;
            union::polynomial_ot::send(&given, &session, &params, channel, &mut rng(2))
        },
        |channel| {
            let mut missing = 0;
            let mut take = |_: &[u8]| {
                missing += 1;
                Ok(())
            };
            let common = union::polynomial_ot::receive(&mine, &session, &params, channel, &mut rng(3), &mut take)?;
            Ok((common, missing))
        },
    );
    assert_eq!((common, missing), (k - k / 2, k / 2), "the union is wrong");
    ([receiver / 1e3, sender / 1e3], pair.bytes().iter().sum(), params.polynomials().bins())
}

/// CPU seconds of both in an intersection on Ristretto255.
fn run_on_curve(series: &Series, k: usize) -> f64 {
    let ([mine, theirs], params) = (items(k), series.params(k));
    let mut pair = Pair::new(1);
    let (((), found), _, cpu) = pair.run(
        |channel| rows::send(&theirs, &params, channel, &mut rng(2)),
        |channel| rows::receive(&mine, &params, channel, &mut rng(3)),
    );
    assert_eq!(found.len(), k - k / 2, "the intersection is wrong");
    cpu.iter().sum::<f64>() / 1e3
}

fn negation<G: Group + Sync>(bench: &mut Bench, name: &str, group: &G) -> std::io::Result<()> {
    const COUNT: usize = 512;
    let [a, b] = [11, 12].map(|seed| bench.pool.install(|| group.random_points(COUNT, &mut rng(seed))));
    let minus = vec![group.minus(&group.scalar(0), &group.scalar(1)); COUNT];
    let random = group.random_scalars(COUNT, &mut rng(13));
    let each = |seconds: f64| 1e6 * seconds / COUNT as f64;
    let times = [
        bench.seconds(|| group.add(&a, &b)),
        bench.seconds(|| group.subtract(&a, &b)),
        bench.seconds(|| group.multiply_each(&a, &minus)),
        bench.seconds(|| group.multiply_each(&a, &random)),
    ]
    .map(each);
    println!("| {name} | {:.3} | {:.3} | {:.1} | {:.1} |", times[0], times[1], times[2], times[3]);
    bench.keep(&json!({ "negation": name, "sum": times[0], "difference": times[1], "minus_one": times[2], "random": times[3] }))
}
