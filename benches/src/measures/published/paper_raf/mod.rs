//! The figures and tables of Ringberg, Applebaum, Freedman, Caesar & Rexford, "Collaborative, privacy-preserving data
//! aggregation at scale", measured with `naor-reingold` beside the numbers that the paper prints.
//!
//! Rates are keys a second of one core, from a role's CPU time: waiting for others is left out. In `stages`, `parts`
//! and `marks`, participant and proxy talk to each other in one process, with a thread each; in `clients`, `replicas`
//! and `loads` roles are processes of `tacita` on this machine, each with one core, and participants threads of this
//! one. All of the extended protocol is on, where the paper measured without re-randomisation, proofs, and the oracle's
//! check; and tags, which are beyond the paper, unless a line says that they are not.
//!
//! Keys of 32 bits are the paper's; 1024 bits with an order of 160 is its group.

mod clients;
mod cores;
mod counting;
mod dh;
mod loads;
mod paper;
mod replicas;
mod run;
mod service;
mod traces;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use tacita_bench::{All, Json, Repeat, Verdicts, about, median};
use tacita_core::Level;
use tacita_core::primitive::group::{Embedding, ModP, Ristretto255};
use tacita_core::primitive::kernel::backend;
use tacita_core::protocol::published::aggregate::naor_reingold::{TransferForm, memory_of_stage};

use run::{Round, Taken, Transfers, products};

/// Values of the domain, as of grades.
const VALUES: u32 = 10;

/// The protocols of jobs: the published one, and ours.
const PROTOCOLS: [&str; 2] = ["naor-reingold", "dh"];

/// Most keys whose transfers are made each by itself.
const SINGLE: usize = 10;

#[derive(Parser)]
#[command(about = about(include_str!("mod.rs")))]
struct Arguments {
    /// Selection of the measurements
    #[arg(value_enum, default_value_t = What::All)]
    what: What,
    /// Keys of a stage
    #[arg(long, value_delimiter = ',', default_value = "10,100,1000,5000",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    keys: Vec<u32>,
    /// Participants of figure 3b
    #[arg(long, value_delimiter = ',', default_value = "2,4,8,16,32",
        value_parser = clap::value_parser!(u32).range(2..=512))]
    clients: Vec<u32>,
    /// Keys of each of them, and of those of figure 3c
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=2000))]
    each: u32,
    /// Protocols of the service, for figures 3b and 3c and section 5.2
    #[arg(long, value_delimiter = ',', default_values = PROTOCOLS, value_parser = PROTOCOLS)]
    protocols: Vec<String>,
    /// Factor on the usual number of participants of section 5.2, which stays within what the paper speaks of
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The most reports of one of them
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    most: u32,
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
    All,
    /// Figure 3a: rates by the keys that go through transfers together, or each by itself, and of many keys in stages
    Stages,
    /// Figure 3b: rates by the number of participants, over the service
    Clients,
    /// Figure 3c: one replica and two, each on a core of its own
    Replicas,
    /// Section 5.2: traces of its applications over the service, beside what `tacita plan --load` says
    Loads,
    /// Tables 2 and 3: where the time goes
    Parts,
    /// Section 3.4: exponentiations a key
    Products,
    /// Rates with the most keys beside five times the paper's
    Marks,
}

struct Bench {
    json: Option<std::fs::File>,
    keys: Vec<usize>,
    clients: Vec<usize>,
    each: usize,
    protocols: Vec<&'static str>,
    scale: f64,
    most: usize,
    runs: u32,
}

/// Function that measures one of them.
type Measured = fn(&mut Bench) -> io::Result<()>;

/// A group with a name, and a length of keys in bytes.
struct Setting<G> {
    name: &'static str,
    group: fn() -> G,
    key_bytes: usize,
}

const PAPERS: Setting<ModP> = Setting { name: "mod p, 1024/160", group: || ModP::of(Level::Paper80), key_bytes: 4 };
const BITS_112: Setting<ModP> = Setting { name: "mod p, 2048/224", group: || ModP::of(Level::Bits112), key_bytes: 4 };
const SHORT: Setting<Ristretto255> = Setting { name: "ristretto255", group: || Ristretto255, key_bytes: 4 };
const LONG: Setting<Ristretto255> = Setting { name: "ristretto255", group: || Ristretto255, key_bytes: 16 };

pub fn main() -> io::Result<ExitCode> {
    let mut arguments = std::env::args().skip(2);
    if let (Some(replicas::DATABASE), Some(keys)) = (arguments.next().as_deref(), arguments.next()) {
        replicas::play(keys.parse().map_err(io::Error::other)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let arguments = Arguments::parse_from(tacita_bench::arguments());
    let Arguments { keys, clients, each, protocols, scale, most, repeat: Repeat { runs }, json, .. } = arguments;
    let what = if arguments.all.all { What::All } else { arguments.what };
    let numbers = |all: Vec<u32>| all.into_iter().map(|number| number as usize).collect();
    let mut bench = Bench {
        json: json.file()?,
        keys: numbers(keys),
        clients: numbers(clients),
        each: each as usize,
        protocols: PROTOCOLS.into_iter().filter(|one| protocols.iter().any(|asked| asked == one)).collect(),
        scale,
        most: most as usize,
        runs,
    };
    println!("Kernels: {}. One core a role.", backend::chosen().name());
    let tables: [(What, Measured); 6] = [
        (What::Stages, figure_3a),
        (What::Parts, tables_2_and_3),
        (What::Products, exponentiations),
        (What::Clients, clients::figure_3b),
        (What::Replicas, replicas::figure_3c),
        (What::Loads, loads::section_5_2),
    ];
    for (one, table) in tables {
        if what == one || what == What::All {
            table(&mut bench)?;
        }
    }
    if matches!(what, What::Marks | What::All) { marks(&mut bench) } else { Ok(ExitCode::SUCCESS) }
}

fn heading(columns: &str) {
    println!("\n{columns}\n|{}", "---|".repeat(columns.matches('|').count() - 1));
}

fn rate(keys: usize, milliseconds: f64) -> f64 {
    1e3 * keys as f64 / milliseconds
}

impl Bench {
    fn keep(&mut self, value: &Value) -> io::Result<()> {
        self.json.as_mut().map_or(Ok(()), |file| writeln!(file, "{value}"))
    }

    /// A run of all roles by the published protocol, and the memory of a stage.
    fn run<G: Embedding + Sync>(
        &mut self,
        setting: &Setting<G>,
        distinct: bool,
        (keys, stage): (usize, usize),
        transfers: Transfers,
    ) -> io::Result<(Taken, u64)> {
        let round = Round::new((setting.group)(), setting.key_bytes, distinct);
        let taken = self.median(|| round.run(keys, stage, transfers));
        self.keep(&taken.to_json(json!({
            "figure": "3a", "protocol": "naor-reingold", "group": setting.name, "bits": 8 * setting.key_bytes, "distinct": distinct,
            "keys": keys, "stage": stage, "amortised": transfers == Transfers::Amortised, "runs": self.runs,
        })))?;
        Ok((taken, memory_of_stage(&round.params, stage)))
    }

    /// The median of each number of several runs.
    fn median(&self, run: impl Fn() -> Taken) -> Taken {
        let all: Vec<Taken> = (0..self.runs).map(|_| run()).collect();
        let of = |number: &dyn Fn(&Taken) -> f64| median(&all.iter().map(number).collect::<Vec<_>>());
        Taken {
            setup: [0, 1].map(|role| of(&|taken| taken.setup[role])),
            proxy: of(&|taken| taken.proxy),
            participant: of(&|taken| taken.participant),
            database: of(&|taken| taken.database),
            asking: of(&|taken| taken.asking),
            oracle: of(&|taken| taken.oracle),
            bytes: all[0].bytes,
        }
    }
}

/// Rates with transfers include what they are set up with.
fn figure_3a(bench: &mut Bench) -> io::Result<()> {
    heading(
        "| figure 3a | bits | keys | in stages of | transfers | proxy | paper | participant | database | paper | database, asking \
         | oracle | kB a key | MiB of a stage |",
    );
    stages(bench, &PAPERS)?;
    stages(bench, &SHORT)?;
    stages(bench, &LONG)?;
    for setting in [SHORT, LONG] {
        for keys in bench.keys.clone() {
            let taken = bench.median(|| dh::run(setting.key_bytes, keys));
            bench.keep(&taken.to_json(json!({
                "figure": "3a", "protocol": "dh", "group": setting.name, "bits": 8 * setting.key_bytes, "distinct": true, "keys": keys,
                "runs": bench.runs,
            })))?;
            row(&setting, (keys, keys), ("none: dh", "".into()), &taken, "".into());
        }
    }
    Ok(())
}

/// Keys that go through one stage, then the most keys in stages of fewer.
fn stages<G: Embedding + Sync>(bench: &mut Bench, setting: &Setting<G>) -> io::Result<()> {
    let most = bench.keys.iter().copied().max().unwrap_or(1);
    let whole = bench.keys.iter().map(|keys| (*keys, *keys));
    let sizes: Vec<_> =
        whole.chain(bench.keys.iter().filter(|stage| **stage < most).map(|stage| (most, *stage))).collect();
    for (keys, stage) in sizes {
        for transfers in [Transfers::Single, Transfers::Amortised] {
            if transfers == Transfers::Single && keys > SINGLE {
                continue;
            }
            let (taken, memory) = bench.run(setting, true, (keys, stage), transfers)?;
            let words = match transfers {
                Transfers::Amortised => ("amortised", format!("{:.0} to {:.0}", paper::PROXY[1], paper::PROXY[0])),
                Transfers::Single => ("single", format!("below {:.0}", paper::NOT_AMORTISED)),
            };
            row(setting, (keys, stage), words, &taken, format!("{:.1}", memory as f64 / 1048576.0));
        }
    }
    Ok(())
}

/// A line of figure 3a.
fn row<G>(
    setting: &Setting<G>,
    (keys, stage): (usize, usize),
    (word, papers): (&str, String),
    taken: &Taken,
    memory: String,
) {
    println!(
        "| {} | {} | {keys} | {stage} | {word} | {:.0} | {papers} | {:.0} | {:.0} | {:.0} to {:.0} | {:.0} | {:.0} | {:.1} | {memory} |",
        setting.name,
        8 * setting.key_bytes,
        rate(keys, taken.proxy + taken.setup[0]),
        rate(keys, taken.participant + taken.setup[1]),
        rate(keys, taken.database),
        paper::DATABASE[1],
        paper::DATABASE[0],
        rate(keys, taken.database + taken.asking),
        rate(keys, taken.oracle),
        taken.bytes.iter().sum::<u64>() as f64 / 1e3 / keys as f64,
    );
}

/// Measures tables 2 and 3 for both groups.
fn tables_2_and_3(bench: &mut Bench) -> io::Result<()> {
    parts(bench, &PAPERS)?;
    parts(bench, &SHORT)?;
    parts(bench, &LONG)
}

/// Tables 2 and 3, for the most keys. Transfers are what is left of a run without the other steps, which are measured
/// alone.
fn parts<G: Embedding + Sync>(bench: &mut Bench, setting: &Setting<G>) -> io::Result<()> {
    let keys = bench.keys.iter().copied().max().unwrap_or(1);
    let (taken, memory) = bench.run(setting, true, (keys, keys), Transfers::Amortised)?;
    let run::Parts { proxy, participant } = Round::new((setting.group)(), setting.key_bytes, true).parts(keys);
    heading(&format!(
        "| {}, {} bits, {keys} keys | us a key | share | in the paper's tables 2 and 3, without waiting |",
        setting.name,
        8 * setting.key_bytes
    ));
    let all = [taken.proxy + taken.setup[0], taken.participant + taken.setup[1]];
    let [offer, blinds, reports, powers] = proxy;
    let [evaluate, power, report] = participant;
    let of_paper = |role: usize, parts: &[usize]| {
        let shares = paper::SHARES[role];
        let busy = 100 - shares[0] - shares[2];
        format!("{} %", 100 * parts.iter().map(|part| shares[*part]).sum::<u32>() / busy)
    };
    let rows = [
        ("proxy: base transfers, trees", 0, taken.setup[0], of_paper(0, &[7])),
        ("proxy: extension, hiding of messages", 0, (taken.proxy - offer - reports).max(0.0), of_paper(0, &[4, 6])),
        ("proxy: u and s u", 0, offer - blinds, of_paper(0, &[5])),
        ("proxy: blinds", 0, blinds, of_paper(0, &[3])),
        ("proxy: powers of 1 / r", 0, powers, "in the line above".into()),
        ("proxy: proofs, tags, re-randomisation", 0, reports - powers, of_paper(0, &[1])),
        ("participant: base transfers, trees", 1, taken.setup[1], of_paper(1, &[7])),
        ("participant: extension, messages", 1, (taken.participant - evaluate - report).max(0.0), of_paper(1, &[4, 6])),
        ("participant: products of messages", 1, evaluate - power, of_paper(1, &[5])),
        ("participant: powers of blinds", 1, power, of_paper(1, &[3])),
        ("participant: encryption, proofs", 1, report, of_paper(1, &[1])),
    ];
    for (what, role, milliseconds, papers) in rows {
        bench
            .keep(&json!({
                "table": if role == 0 { 2 } else { 3 }, "group": setting.name, "bits": 8 * setting.key_bytes, "keys": keys, "part": what,
                "ms": milliseconds, "share": milliseconds / all[role],
            }))?;
        println!(
            "| {what} | {:.1} | {:.0} % | {papers} |",
            1e3 * milliseconds / keys as f64,
            100.0 * milliseconds / all[role]
        );
    }
    let [proxy, participant] = taken.bytes.map(|bytes| bytes as f64 / keys as f64);
    println!("\nbytes a key: the proxy sends {proxy:.0}, the participant {participant:.0}");
    println!(
        "memory of a stage: {:.0} bytes a key; the paper's formula: {:.0}",
        memory as f64 / keys as f64,
        paper::MEMORY
    );
    Ok(())
}

/// Section 3.4. A product in a sum that is computed at once takes a fraction of one alone.
fn exponentiations(bench: &mut Bench) -> io::Result<()> {
    heading("| section 3.4, a key of one point | basic | paper | extended | in sums | paper | with tags | in sums |");
    let basic = products(Ristretto255, 4, false, TransferForm::Plain);
    let extended = products(Ristretto255, 4, false, TransferForm::Blinded);
    let tags = products(Ristretto255, 4, true, TransferForm::Blinded);
    for (role, name) in ["participant", "proxy", "database"].into_iter().enumerate() {
        let papers = paper::EXPONENTIATIONS[role];
        println!(
            "| {name} | {:.1} | {} | {:.1} | {:.1} | {} | {:.1} | {:.1} |",
            basic[role][0], papers[0], extended[role][0], extended[role][1], papers[1], tags[role][0], tags[role][1]
        );
        bench.keep(&json!({ "section": "3.4", "role": name, "basic": basic[role], "extended": extended[role], "tags": tags[role] }))?;
    }
    Ok(())
}

/// Five times the paper's rates on Ristretto255, all on; beside the group modulo p.
fn marks(bench: &mut Bench) -> io::Result<ExitCode> {
    let keys = bench.keys.iter().copied().max().unwrap_or(1);
    let mut verdicts = Verdicts::default();
    let mut add = |name: String, taken: &Taken| {
        let [proxy, database] = [taken.proxy + taken.setup[0], taken.database].map(|taken| rate(keys, taken));
        for (role, rate, papers) in [("proxy", proxy, paper::PROXY[0]), ("database", database, paper::DATABASE[0])] {
            let target = 5.0 * papers;
            verdicts.add(format!("{name}, {role}: {rate:.0} keys/s a core (target {target:.0})"), rate >= target);
        }
    };
    println!();
    for setting in [SHORT, LONG] {
        let (taken, _) = bench.run(&setting, true, (keys, keys), Transfers::Amortised)?;
        add(format!("{}, {} bits", setting.name, 8 * setting.key_bytes), &taken);
    }
    for setting in [PAPERS, BITS_112] {
        let (taken, _) = bench.run(&setting, false, (keys, keys), Transfers::Amortised)?;
        println!(
            "{}, 32 bits, without tags: proxy {:.0}, database {:.0} keys/s a core",
            setting.name,
            rate(keys, taken.proxy + taken.setup[0]),
            rate(keys, taken.database)
        );
    }
    Ok(verdicts.end())
}
