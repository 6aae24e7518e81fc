//! The tables and figures of Miyaji, Nakasho & Nishida, "Privacy-Preserving Integration of Medical Data", measured with
//! `outsourced-bloom`, `outsourced` and `kissner-song`, beside the numbers that the paper prints.
//!
//! Every role is a process of its own, with one thread for computing unless more are asked for, and reaches the depot,
//! which the first process keeps, over TCP. What counts is each process's CPU, all of its threads, from the time when
//! parties have met: waiting is left out, as in tables 3 to 6. *party* is the slowest one. Wall times are those of all
//! roles on this machine's cores together, where the paper had a machine for each.
//!
//! A run that is expected to take longer than the budget is left out. One that takes less than 20 seconds is repeated.

mod depot;
mod paper;
mod role;

use std::hint::black_box;
use std::io::{self, Write};
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::{Parser, ValueEnum};
use rand_core::SeedableRng;
use serde_json::{Value, json};
use tacita_bench::{All, Json, Repeat, Verdicts, about, measure, median};
use tacita_core::Level;
use tacita_core::primitive::elgamal::threshold::PartyOrder;
use tacita_core::primitive::kernel::backend;
use tacita_core::primitive::paillier::{KeySize, PaillierSecretKey};
use tacita_core::protocol::published::intersect::kissner_song::Strategy;

use role::{GROUPS, In, Protocol, Setting, Taken};

/// Runs that take longer are measured once.
const REPEATED_BELOW: f64 = 20.0;

const PAPERS: In = In::ModP(Level::Paper80);

#[derive(Parser)]
#[command(about = about(include_str!("mod.rs")))]
struct Arguments {
    /// Selection of the measurements
    #[arg(value_enum, default_value_t = What::Some)]
    what: What,
    /// The smallest sets, as a power of two
    #[arg(long, value_name = "LOG2", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=16))]
    least: u32,
    /// The largest sets, as a power of two
    #[arg(long, value_name = "LOG2", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=16))]
    most: u32,
    /// Sizes grow by so many powers of two
    #[arg(long, value_name = "LOG2", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=8))]
    step: u32,
    /// Numbers of parties
    #[arg(long, value_delimiter = ',', default_value = "4,8,16", value_parser = clap::value_parser!(u8).range(2..=64))]
    parties: Vec<u8>,
    /// CPU seconds of all roles that one run may be expected to take
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    budget: f64,
    /// Filter: only groups that have this in their names, as in "mod p" and "ristretto"; of `beside` protocols
    #[arg(long, value_name = "WORDS", default_value = "")]
    only: String,
    #[command(flatten)]
    repeat: Repeat<3>,
    #[command(flatten)]
    all: All,
    #[command(flatten)]
    json: Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Complete set of measurements, without the marks
    Some,
    /// Table 3, figures 2 and 3: sizes, at 80 bits and on a curve of 128
    Sizes,
    /// Tables 4 to 6, figures 4 and 5: levels, and the parts of a run
    Levels,
    /// Table 7, figure 6: one core and two
    Cores,
    /// Table 8, figures 7 to 9: beside Kissner & Song's protocol
    Beside,
    /// Minimum time of that protocol on Paillier's cryptosystem, from single operations
    Paillier,
    /// Table 1: who learns, in which order, and what a party has to do for more parties
    Orders,
    /// `outsourced`, the sound form
    Sound,
    /// Sizes of the goals: 2^14 items at 80 and 128 bits, 2^16 by `outsourced`, one receiver
    Marks,
}

/// Function that measures one of them.
type Measured = fn(&mut Bench) -> io::Result<()>;

/// Destination of the rows, and the extent of the measurements.
struct Bench {
    json: Option<std::fs::File>,
    sizes: Vec<u32>,
    parties: Vec<usize>,
    budget: f64,
    only: String,
    runs: u32,
}

pub fn main() -> io::Result<ExitCode> {
    let mut arguments = std::env::args().skip(2);
    if let (Some(role::ROLE), Some(setting)) = (arguments.next().as_deref(), arguments.next()) {
        role::play(&setting);
        return Ok(ExitCode::SUCCESS);
    }
    let Arguments { what, least, most, step, parties, budget, only, repeat: Repeat { runs }, all: All { all }, json } =
        Arguments::parse_from(tacita_bench::arguments());
    let budget = if all { 600.0 } else { budget };
    let sizes = (least.min(most)..=most).step_by(step as usize).collect();
    let parties = parties.into_iter().map(usize::from).collect();
    let mut bench = Bench { json: json.file()?, sizes, parties, budget, only, runs };
    println!("Kernels: {}. {} cores.", backend::chosen().name(), std::thread::available_parallelism()?);
    let tables: [(What, Measured); 7] = [
        (What::Sizes, table_3),
        (What::Levels, tables_4_to_6),
        (What::Cores, table_7),
        (What::Beside, table_8),
        (What::Paillier, on_paillier),
        (What::Orders, table_1),
        (What::Sound, sound),
    ];
    for (one, table) in tables {
        if what == one || what == What::Some || all {
            if all {
                bench.sizes = sizes_of(one);
            }
            table(&mut bench)?;
        }
    }
    if what == What::Marks || all { marks(&mut bench) } else { Ok(ExitCode::SUCCESS) }
}

/// The sizes of what the documentation has, as powers of two: those of the paper, and smaller ones where protocols
/// change places.
fn sizes_of(what: What) -> Vec<u32> {
    match what {
        What::Levels => vec![6],
        What::Orders => vec![8],
        What::Beside => vec![2, 3, 4, 6, 8, 10, 12, 14],
        _ => vec![6, 8, 10, 12, 14],
    }
}

impl Bench {
    fn keep(&mut self, value: &Value) -> io::Result<()> {
        self.json.as_mut().map_or(Ok(()), |file| writeln!(file, "{value}"))
    }

    /// The run of which the slowest party's CPU is the median.
    fn run(&mut self, table: u32, setting: Setting) -> io::Result<Taken> {
        let mut all = vec![role::run(&setting)];
        while all[0].wall < REPEATED_BELOW && all.len() < self.runs as usize {
            all.push(role::run(&setting));
        }
        let runs = all.len();
        all.sort_by(|a, b| a.party().total_cmp(&b.party()));
        let walls: Vec<f64> = all.iter().map(|taken| taken.wall).collect();
        let helpers: Vec<f64> = all.iter().map(|taken| taken.helper).collect();
        let mut taken = all.swap_remove(runs / 2);
        (taken.wall, taken.helper) = (median(&walls), median(&helpers));
        let mut row = setting.to_json();
        row["table"] = json!(table);
        row["runs"] = json!(runs);
        row["party_cpu"] = json!(taken.party());
        row["helper_cpu"] = json!(taken.helper);
        row["all_cpu"] = json!(taken.all());
        row["wall"] = json!(taken.wall);
        if setting.in_turns {
            row["parts"] = json!(taken.parts);
        }
        row["memory"] = json!(taken.memory);
        row["bytes"] = json!(taken.bytes);
        self.keep(&row)?;
        Ok(taken)
    }

    fn has(&self, name: &str) -> bool {
        name.contains(&self.only)
    }
}

fn heading(columns: &str) {
    println!("\n{columns}\n|{}", "---|".repeat(columns.matches('|').count() - 1));
}

fn or_dash(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or("-".into(), |value| format!("{value}"))
}

/// Returns the maximum factor by which a run of the next size takes longer, for costs that grow with it.
fn growth(bench: &Bench, power: i32) -> f64 {
    bench.sizes.windows(2).map(|pair| f64::from(1u32 << (pair[1] - pair[0])).powi(power)).fold(1.0, f64::max)
}

/// Table 3: seconds of CPU by size.
fn table_3(bench: &mut Bench) -> io::Result<()> {
    heading(
        "| table 3 | n | items | helper | paper | party | paper | wall, all | MB of a party | MiB, party | helper |",
    );
    for group in [PAPERS, In::Ristretto255].into_iter().filter(|group| bench.has(&group.name())).collect::<Vec<_>>() {
        for parties in bench.parties.clone() {
            let paper = paper::TABLE_3.iter().find(|row| row.0 == parties && group == PAPERS);
            let mut last = 0.0;
            for log2 in bench.sizes.clone() {
                if last * growth(bench, 1) > bench.budget {
                    break;
                }
                let taken = bench.run(3, Setting::new(Protocol::Bloom, group, parties, log2))?;
                last = taken.all();
                let printed = |row: Option<&[f64; 5]>| or_dash(row.and_then(|row| paper::at(row, log2)));
                println!(
                    "| {} | {parties} | 2^{log2} | {:.3} | {} | {:.3} | {} | {:.2} | {:.2} | {:.0} | {:.0} |",
                    group.name(),
                    taken.helper,
                    printed(paper.map(|row| &row.1)),
                    taken.party(),
                    printed(paper.map(|row| &row.2)),
                    taken.wall,
                    taken.bytes[0] as f64 / 1e6,
                    taken.memory[0] as f64 / 1048576.0,
                    taken.memory[1] as f64 / 1048576.0,
                );
            }
        }
    }
    Ok(())
}

/// Tables 4 to 6 for the smallest size: levels of security, and the parts of a run. A party encrypts all before it
/// decrypts.
fn tables_4_to_6(bench: &mut Bench) -> io::Result<()> {
    let log2 = bench.sizes[0];
    heading(
        "| tables 4 to 6 | n | helper (A) | paper | party | paper | (B) encrypt | paper | (C) decrypt | paper | (D) ms |",
    );
    for parties in bench.parties.clone() {
        for group in GROUPS.into_iter().filter(|group| bench.has(&group.name())).collect::<Vec<_>>() {
            // The most expensive groups are left out of small budgets.
            let hard = matches!(group, In::ModP(Level::Bits192 | Level::Bits256));
            if hard && bench.budget < 20.0 {
                continue;
            }
            let taken =
                bench.run(4, Setting { in_turns: true, ..Setting::new(Protocol::Bloom, group, parties, log2) })?;
            let level = [80, 112, 128, 192, 256].iter().position(|bits| *bits == group.bits()).expect("a level");
            let known = matches!(group, In::ModP(_)) && log2 == 6;
            let place = paper::TABLE_4.iter().position(|row| row.0 == parties && known);
            let parts = match (place, level) {
                (Some(0), _) => Some(paper::TABLE_5[level]),
                (Some(place), 0) => Some(paper::TABLE_6[place]),
                _ => None,
            };
            println!(
                "| {} | {parties} | {:.3} | {} | {:.3} | {} | {:.3} | {} | {:.3} | {} | {:.2} |",
                group.name(),
                taken.helper,
                or_dash(place.map(|place| paper::TABLE_4[place].1[level])),
                taken.party(),
                or_dash(place.map(|place| paper::TABLE_4[place].2[level])),
                taken.parts[0],
                or_dash(parts.map(|parts| parts[1])),
                taken.parts[1],
                or_dash(parts.map(|parts| parts[2])),
                1e3 * taken.parts[2],
            );
        }
    }
    Ok(())
}

/// Table 7: threads of each role. All roles share the cores of this machine, so more threads cannot make all of them
/// faster: a machine for each role would take what its CPU is divided by its cores, at least.
fn table_7(bench: &mut Bench) -> io::Result<()> {
    heading("| table 7 | threads | items | wall, all roles here | slowest role's CPU | by threads | paper, wall |");
    for threads in [1, 2] {
        let mut last = 0.0;
        for log2 in bench.sizes.clone() {
            if last * growth(bench, 1) > bench.budget {
                break;
            }
            let taken = bench.run(7, Setting { threads, ..Setting::new(Protocol::Bloom, PAPERS, 4, log2) })?;
            last = taken.all();
            let slowest = taken.party().max(taken.helper);
            let paper = paper::TABLE_7.iter().find(|row| row.0 == threads);
            println!(
                "| n = 4 | {threads} | 2^{log2} | {:.3} | {slowest:.3} | {:.3} | {} |",
                taken.wall,
                slowest / threads as f64,
                or_dash(paper.and_then(|row| paper::at(&row.1, log2))),
            );
        }
    }
    Ok(())
}

/// Table 8: both protocols, by size and number of parties. The slowest role's CPU stands for a time with a machine for
/// each.
fn table_8(bench: &mut Bench) -> io::Result<()> {
    heading("| table 8 | n | items | slowest role | wall, all | paper | MB of a party |");
    let protocols = [
        (Protocol::Bloom, 1),
        (Protocol::KissnerSong(Strategy::Schoolbook), 2),
        (Protocol::KissnerSong(Strategy::Toom3), 2),
        (Protocol::KissnerSong(Strategy::Points), 2),
    ];
    for group in [PAPERS, In::Ristretto255] {
        for parties in bench.parties.clone() {
            for (protocol, power) in protocols {
                let name = format!("{}, {}", protocol.name(), group.name());
                if !bench.has(&name) {
                    continue;
                }
                let paper = paper::TABLE_8.iter().find(|row| row.0 == parties && group == PAPERS);
                let paper = paper.map(|row| if power == 1 { row.2 } else { row.1 });
                let mut last = 0.0;
                for log2 in bench.sizes.clone() {
                    if last * growth(bench, power) > bench.budget {
                        break;
                    }
                    let taken = bench.run(8, Setting::new(protocol, group, parties, log2))?;
                    last = taken.all();
                    println!(
                        "| {name} | {parties} | 2^{log2} | {:.3} | {:.3} | {} | {:.2} |",
                        taken.party().max(taken.helper),
                        taken.wall,
                        or_dash(paper.as_ref().and_then(|row| paper::at(row, log2))),
                        taken.bytes[0] as f64 / 1e6,
                    );
                }
            }
        }
    }
    Ok(())
}

/// There is no threshold Paillier here. What a party would have to do is a sum of operations that there are: 3 w + 1
/// encryptions, (n - 1)(w + 1)^2 powers with random numbers as exponents, each taken alone, as many products, and its
/// part of 2 w + 1 decryptions, which are powers with exponents of twice the length. Everything else is left out,
/// proofs too.
fn on_paillier(bench: &mut Bench) -> io::Result<()> {
    const COUNT: usize = 256;
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let key = PaillierSecretKey::generate(KeySize::new(1024).expect("a length of keys"), &mut rng);
    let public = key.public();
    let [some, exponents] = [(); 2].map(|()| public.random(COUNT, &mut rng));
    let ciphertexts = public.encrypt(&some, &mut rng);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    let runs = bench.runs;
    let each = |work: &mut (dyn FnMut() + Send)| {
        let once = |work: &mut (dyn FnMut() + Send)| pool.install(|| measure(work)).1.cpu.as_secs_f64() / COUNT as f64;
        let all: Vec<f64> = (0..runs).map(|_| once(work)).collect();
        median(&all)
    };
    let encryption = each(&mut || drop(black_box(public.encrypt(&some, &mut rng))));
    let power = each(&mut || drop(black_box(public.multiply(&ciphertexts, &exponents))));
    let product = each(&mut || drop(black_box(public.add(&ciphertexts, &ciphertexts))));
    println!(
        "\nPaillier, 1024 bits, microseconds: encryption {:.1}, power {:.1}, product {:.2}.",
        1e6 * encryption,
        1e6 * power,
        1e6 * product
    );
    bench.keep(&json!({ "paillier": 1024, "encryption": encryption, "power": power, "product": product }))?;
    heading("| estimate on Paillier | n | items | party | paper | paper, microseconds for each (n - 1) w^2 |");
    for (parties, paper, _) in paper::TABLE_8 {
        for (log2, paper) in paper::SIZES.into_iter().zip(paper) {
            let w = f64::from(1u32 << log2);
            let products = (parties as f64 - 1.0) * (w + 1.0).powi(2);
            let party = (3.0 * w + 1.0) * encryption + products * (power + product) + (2.0 * w + 1.0) * 2.0 * power;
            let each = or_dash(Some((1e7 * paper / products).round() / 10.0));
            println!("| 1024 bits | {parties} | 2^{log2} | {party:.1} | {} | {each} |", or_dash(Some(paper)));
            bench.keep(&json!({ "estimate": "paillier", "parties": parties, "log2": log2, "party_cpu": party }))?;
        }
    }
    Ok(())
}

/// Table 1: what grows with the number of parties, by who learns and in which order they decrypt.
fn table_1(bench: &mut Bench) -> io::Result<()> {
    let log2 = bench.sizes[bench.sizes.len() - 1];
    heading(
        "| table 1 | who learns | order | n | party | all parties' mean | helper | wall, all | MB, party | helper |",
    );
    for group in [PAPERS, In::Ristretto255].into_iter().filter(|group| bench.has(&group.name())).collect::<Vec<_>>() {
        for (all_learn, order) in [false, true].into_iter().flat_map(|all| PartyOrder::ALL.map(|order| (all, order))) {
            for parties in bench.parties.clone() {
                let setting = Setting::new(Protocol::Bloom, group, parties, log2);
                let taken = bench.run(1, Setting { all_learn, order, ..setting })?;
                println!(
                    "| {}, 2^{log2} | {} | {order:?} | {parties} | {:.3} | {:.3} | {:.3} | {:.2} | {:.2} | {:.2} |",
                    group.name(),
                    if all_learn { "all" } else { "one" },
                    taken.party(),
                    taken.parties.iter().sum::<f64>() / parties as f64,
                    taken.helper,
                    taken.wall,
                    taken.bytes[0] as f64 / 1e6,
                    taken.bytes[1] as f64 / 1e6,
                );
            }
        }
    }
    Ok(())
}

/// Measures the protocol that one runs instead.
fn sound(bench: &mut Bench) -> io::Result<()> {
    heading("| outsourced, rows | n | items | leader | another | helper | wall, all | MiB, party | helper |");
    for parties in bench.parties.clone() {
        let mut last = 0.0;
        for log2 in bench.sizes.clone() {
            if last * growth(bench, 1) > bench.budget {
                break;
            }
            last = sound_row(bench, parties, log2)?.all();
        }
    }
    Ok(())
}

fn sound_row(bench: &mut Bench, parties: usize, log2: u32) -> io::Result<Taken> {
    let taken = bench.run(0, Setting::new(Protocol::Sound, In::Ristretto255, parties, log2))?;
    println!(
        "| ristretto255 | {parties} | 2^{log2} | {:.3} | {:.3} | {:.3} | {:.2} | {:.0} | {:.0} |",
        taken.parties[0],
        taken.parties[1..].iter().copied().fold(0.0, f64::max),
        taken.helper,
        taken.wall,
        taken.memory[0] as f64 / 1048576.0,
        taken.memory[1] as f64 / 1048576.0,
    );
    Ok(taken)
}

/// Goals: a tenth of the paper's times at its own level, a twentieth on a curve of 128 bits.
fn marks(bench: &mut Bench) -> io::Result<ExitCode> {
    let mut verdicts = Verdicts::default();
    for (group, party) in [(PAPERS, 21.0), (In::Ristretto255, 10.7)] {
        let taken = bench.run(3, Setting::new(Protocol::Bloom, group, 4, 14))?;
        let name = group.name();
        verdicts.at_most(&format!("{name}: a party's CPU, 4 parties, 2^14 items, s"), taken.party(), party);
        verdicts.at_most(&format!("{name}: the helper's"), taken.helper, 15.0);
        verdicts.at_most(&format!("{name}: of the clock, all roles on this machine"), taken.wall, 297.0);
    }
    let taken = bench.run(0, Setting::new(Protocol::Sound, In::Ristretto255, 4, 16))?;
    verdicts.at_most("outsourced: of the clock, 4 parties, 2^16 items, s", taken.wall, 60.0);
    let mut parties = Vec::new();
    for n in [4, 8, 16] {
        let setting = Setting::new(Protocol::Bloom, In::Ristretto255, n, 10);
        let taken = bench.run(1, Setting { all_learn: false, order: PartyOrder::Chain, ..setting })?;
        parties.push(taken.party());
    }
    let [least, most] = [f64::min, f64::max].map(|which| parties.iter().copied().reduce(which).expect("three"));
    verdicts.at_most("one receiver: the most CPU of a party for n = 4, 8, 16 by the least", most / least, 1.1);
    Ok(verdicts.end())
}
