//! Association rules from file to file, level by level: two processes, TLS between them. Beside each level stands what
//! the published protocol (Dong and Chen, PAKDD 2014) would need for its products by the paper's own formula. Needs the
//! `tacita` program beside this one.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use clap::Parser;
use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};
use crypto_bigint::{Odd, Random, U512, U1024};
use rand_core::{Rng, SeedableRng};
use serde_json::Value;
use tacita_bench::{Repeat, about, measure, median, tacita};

/// Public sets with supports and confidences.
const PUBLIC: [(&str, &str, &str); 6] = [
    ("groceries", "0.01", "0.5"),
    ("groceries", "0.006", "0.25"),
    ("mushroom", "0.4", "0.9"),
    ("mushroom", "0.25", "0.99"),
    ("retail", "0.01", "0.5"),
    ("retail", "0.005", "0.5"),
];

/// The part of the rows that the most frequent item is in: the published protocol's bound d for the density.
type Density = f64;

#[derive(Parser)]
#[command(about = about(include_str!("rules.rs")))]
struct Arguments {
    /// Rows of generated baskets, of 100 items of each party, at a support of 1 %
    #[arg(default_values_t = [100_000], value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    rows: Vec<u32>,
    /// Directory of the larger public data sets; those in DIR/association_rules come first. By default that in
    /// TACITA_DATA, if it is set
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Aligns rows by their ids and hides which are common. By default they are aligned by position
    #[arg(long)]
    hidden: bool,
    /// The protocol for products
    #[arg(long, default_value = "auto", value_parser = ["auto", "ot", "lattice"])]
    protocol: String,
    #[command(flatten)]
    repeat: Repeat<3>,
}

pub fn main() {
    let Arguments { rows: sizes, data, hidden, protocol, repeat: Repeat { runs } } =
        Arguments::parse_from(tacita_bench::arguments());
    let data = data.or_else(|| std::env::var_os("TACITA_DATA").map(PathBuf::from));
    let program = tacita();
    let directory = std::env::temp_dir().join(format!("tacita-rules-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    let published = Published::measure();
    println!(
        "Published protocol: 1024-bit modulus, k = 80; here a modular multiplication takes {:.2} us, a Legendre symbol {:.2} us, a hash \
         {:.3} us.\n",
        published.multiplication * 1e6,
        published.symbol * 1e6,
        published.hash * 1e6
    );
    println!(
        "| data | rows | items in a set | products | protocol | seconds | MB both ways | published: CPU s | published: MB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let run =
        Run { program: &program, directory: &directory, hidden, protocol: &protocol, published: &published, runs };
    if let Some(data) = data {
        for (name, support, confidence) in PUBLIC {
            let inputs = ["A", "B"].map(|party| {
                let file = |ending| {
                    let file = format!("association_rules/vertical/{name}.2party_{party}.{ending}");
                    data.join(file)
                };
                [file("csv"), file("csv.gz")].into_iter().find(|path| path.exists()).expect("the public data")
            });
            run.job(name, &inputs, support, confidence);
        }
    }
    for rows in sizes {
        let inputs = generate(&directory, rows as usize, hidden);
        run.job("generated", &inputs, "0.01", "0.5");
    }
    let _ = std::fs::remove_dir_all(&directory);
}

/// CPU seconds of one of `count` steps: the median of five tries.
fn each(count: usize, mut step: impl FnMut()) -> f64 {
    let tries: Vec<f64> =
        (0..5).map(|_| measure(|| (0..count).for_each(|_| step())).1.cpu.as_secs_f64() / count as f64).collect();
    median(&tries)
}

/// Cost of the published protocol's operations here, in seconds, on one thread.
struct Published {
    multiplication: f64,
    symbol: f64,
    hash: f64,
}

impl Published {
    const K: f64 = 80.0;
    const MODULUS_BYTES: f64 = 128.0;

    fn measure() -> Published {
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        let modulus = Odd::new(U1024::random_from_rng(&mut rng) | U1024::ONE).expect("it is odd");
        let params = FixedMontyParams::new(modulus);
        let factor = FixedMontyForm::new(&U1024::random_from_rng(&mut rng).rem_vartime(modulus.as_nz_ref()), &params);
        let mut product = factor;
        let multiplication = each(20_000, || product *= black_box(&factor));
        // Ciphertexts are decrypted modulo one of the two primes; it is secret, so this takes the same time for all.
        let prime = Odd::new(U512::random_from_rng(&mut rng) | U512::ONE).expect("it is odd");
        let symbol = each(500, || {
            black_box(black_box(product.retrieve().resize::<8>()).jacobi_symbol(&prime));
        });
        let mut block = [0; 32];
        let hash = each(50_000, || block = *blake3::hash(black_box(&block)).as_bytes());
        Published { multiplication, symbol, hash }
    }

    /// CPU seconds of both parties for one product, on one thread: 3n modular multiplications, n Legendre symbols, and
    /// 2dkn (1 + log2 e) hashes (section 3.4).
    fn seconds(&self, rows: f64, density: Density) -> f64 {
        let hashes = 2.0 * density * Self::K * (1.0 + std::f64::consts::LOG2_E);
        rows * (3.0 * self.multiplication + self.symbol + hashes * self.hash)
    }

    /// Bytes of one product: 2n elements, and 2dkn log2 e strings of k bits (section 3.4).
    fn bytes(rows: f64, density: Density) -> f64 {
        rows * 2.0 * (Self::MODULUS_BYTES + density * Self::K * std::f64::consts::LOG2_E * Self::K / 8.0)
    }
}

/// Baskets of two parties with 100 items each: of an item in 30 % of the rows down to one in 1.2 %; and ten groups of
/// two items here and two there that are bought together. With ids if rows are aligned by them.
fn generate(directory: &Path, rows: usize, with_ids: bool) -> [PathBuf; 2] {
    const ITEMS: usize = 100;
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let threshold = |part: f64| (part * 2f64.powi(32)) as u32;
    let parts: Vec<u32> = (0..ITEMS).map(|item| threshold(0.3 / (1.0 + item as f64 / 4.1))).collect();
    let together = threshold(0.012);
    let (header, separator, ending) = if with_ids { ("tid,items\n", "|", "csv") } else { ("", " ", "dat") };
    let mut texts = [header.to_owned(), header.to_owned()];
    for row in 0..rows {
        let mut held = [[false; ITEMS]; 2];
        for held in &mut held {
            held.iter_mut().zip(&parts).for_each(|(held, part)| *held = rng.next_u32() < *part);
        }
        for group in 0..10 {
            if rng.next_u32() < together {
                held.iter_mut().for_each(|held| held[5 * group..5 * group + 2].fill(true));
            }
        }
        for (text, held) in texts.iter_mut().zip(&held) {
            let items = (0..ITEMS).filter(|item| held[*item]).map(|item| item.to_string());
            let items = items.collect::<Vec<_>>().join(separator);
            let id = if with_ids { format!("{row},") } else { String::new() };
            writeln!(text, "{id}{items}").expect("text grows");
        }
    }
    let paths = ["a", "b"].map(|name| directory.join(format!("{name}.{ending}")));
    paths.iter().zip(texts).for_each(|(path, text)| std::fs::write(path, text).expect("an input"));
    paths
}

struct Run<'a> {
    program: &'a Path,
    directory: &'a Path,
    hidden: bool,
    protocol: &'a str,
    published: &'a Published,
    runs: u32,
}

impl Run<'_> {
    fn job(&self, name: &str, inputs: &[PathBuf; 2], support: &str, confidence: &str) {
        let (job, report, out) =
            (self.directory.join("job.toml"), self.directory.join("report.json"), self.directory.join("out"));
        let text = format!(
            "job = \"rules\"\nid = \"bench\"\nprotocol = \"{}\"\nreveal_to = [\"a\", \"b\"]\nmin_support = {support}\n\
             min_confidence = {confidence}\nitems = {{ column = \"items\", separator = \"|\" }}\n{}[parties.a]\n[parties.b]\n",
            self.protocol,
            if self.hidden { "row_id = \"tid\"\nalignment = \"hidden\"\n" } else { "" }
        );
        std::fs::write(&job, text).expect("a job file");
        let files = ["a", "b"].map(|name| format!("{name}={}", inputs[usize::from(name == "b")].display()));
        let (mut reports, mut walls) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            let mut simulate = Command::new(self.program);
            simulate.arg("simulate").arg(&job).args(["--quiet", "--input", &files[0], "--input", &files[1]]);
            let started = Instant::now();
            let output = simulate.args(["--force", "--output"]).arg(&out).arg("--report").arg(&report).output();
            walls.push(started.elapsed().as_secs_f64());
            let output = output.expect("tacita starts");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
            reports.push(report);
        }
        let of = |path: &str| -> Vec<f64> {
            let numbers = reports.iter().map(|report| report["parties"].pointer(path).and_then(Value::as_f64));
            numbers.map(|number| number.unwrap_or(0.0)).collect()
        };
        let rows = of("/a/rows/read")[0];
        let itemsets = std::fs::read_to_string(out.join("a.itemsets.csv")).expect("itemsets");
        // The first one is the most frequent item.
        let density = itemsets.lines().nth(1).and_then(|line| line.rsplit(',').next()?.parse().ok()).unwrap_or(0.0);
        let levels = reports[0]["parties"]["a"]["levels"].as_array().cloned().unwrap_or_default();
        let mut all = (0.0, 0.0);
        let title = format!("{name}, {support}");
        for (level, first) in levels.iter().enumerate() {
            let text = |key: &str| first[key].to_string();
            let number = |key: &str| median(&of(&format!("/a/levels/{level}/{key}")));
            let products = number("products");
            let published =
                (products * self.published.seconds(rows, density), products * Published::bytes(rows, density));
            all = (all.0 + published.0, all.1 + published.1);
            println!(
                "| {title} | {rows} | {} | {products} | {} | {:.3} | {:.2} | {:.0} | {:.0} |",
                text("length"),
                text("protocol").trim_matches('"'),
                number("seconds"),
                (number("sent") + number("received")) / 1e6,
                published.0,
                published.1 / 1e6
            );
        }
        println!(
            "| {title} | {rows} | all: {} itemsets, {} rules | {} | | {:.2}, of them protocol {:.2}; CPU of both {:.2}; peak {:.0} MiB of one | \
             {:.1} | {:.0} | {:.0} |",
            of("/a/result/itemsets")[0],
            of("/a/result/rules")[0],
            (0..levels.len()).map(|level| of(&format!("/a/levels/{level}/products"))[0]).sum::<f64>(),
            median(&walls),
            median(&of("/a/seconds/protocol")),
            median(&of("/a/cpu_seconds")) + median(&of("/b/cpu_seconds")),
            of("/a/peak_memory").into_iter().chain(of("/b/peak_memory")).fold(0.0, f64::max) / 1048576.0,
            (median(&of("/a/bytes/sent")) + median(&of("/a/bytes/received"))) / 1e6,
            all.0,
            all.1 / 1e6
        );
    }
}
