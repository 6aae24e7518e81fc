//! Figure 3c: one replica and two, each on a core of its own.

use std::io::{BufRead, BufReader, Error, Result, Write};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Instant;

use serde_json::json;
use tacita_bench::{measure, median};
use tacita_core::primitive::group::Ristretto255;

use crate::measures::published::paper_raf::clients::different;
use crate::measures::published::paper_raf::cores::{cores, pinned};
use crate::measures::published::paper_raf::run::Round;
use crate::measures::published::paper_raf::service::{Service, Terms};
use crate::measures::published::paper_raf::{Bench, VALUES, heading, paper, rate};

/// The first argument of a database's process. The second is its number of keys.
pub const DATABASE: &str = "database";

/// Number of times that each process opens its entries.
const PASSES: usize = 3;

/// Participants of these rounds.
const PARTICIPANTS: usize = 32;

/// Proxies of one service, which share its participants, and databases that work beside each other.
pub fn figure_3c(bench: &mut Bench) -> Result<()> {
    heading(
        "| figure 3c, ristretto255, 32 bits | replicas | keys/s of CPU, of all | a replica | paper, a core | shares of keys, or wall |",
    );
    let replicas = 1..=cores().min(2);
    for protocol in bench.protocols.clone() {
        for proxies in replicas.clone() {
            tell_proxies(bench, protocol, proxies)?;
        }
    }
    replicas.into_iter().try_for_each(|databases| tell_databases(bench, databases))
}

/// A line of so many proxies.
fn tell_proxies(bench: &mut Bench, protocol: &'static str, proxies: usize) -> Result<()> {
    let runs = (0..bench.runs).map(|_| proxies_of(protocol, proxies, bench.each)).collect::<Result<Vec<_>>>()?;
    let keys = (PARTICIPANTS * bench.each * proxies) as f64;
    let rate = median(&runs.iter().map(|cpu| keys / cpu.iter().sum::<f64>()).collect::<Vec<_>>());
    let whole: f64 = runs[0].iter().sum();
    let shares = runs[0].iter().map(|cpu| format!("{:.0} %", 100.0 * cpu / whole)).collect::<Vec<_>>().join(", ");
    let one = rate / proxies as f64;
    println!("| proxies, {protocol} | {proxies} | {rate:.0} | {one:.0} | {:.0} | {shares} |", paper::PROXY[0]);
    bench.keep(&json!({
        "figure": "3c", "role": "proxy", "protocol": protocol, "replicas": proxies, "rate": rate, "cpu": runs, "runs": bench.runs,
    }))
}

/// A line of so many databases.
fn tell_databases(bench: &mut Bench, databases: usize) -> Result<()> {
    let keys = bench.keys.iter().copied().max().unwrap_or(1);
    let runs = (0..bench.runs).map(|_| databases_of(databases, keys)).collect::<Result<Vec<_>>>()?;
    let [cpu, wall] = [0, 1].map(|which| median(&runs.iter().map(|rates| rates[which]).collect::<Vec<_>>()));
    let one = cpu / databases as f64;
    println!("| databases | {databases} | {cpu:.0} | {one:.0} | {:.0} | {wall:.0} of wall time |", paper::DATABASE[1]);
    bench.keep(&json!({
        "figure": "3c", "role": "database", "replicas": databases, "rate": cpu, "rate_wall": wall, "runs": bench.runs,
    }))
}

/// CPU seconds of each proxy for one round.
fn proxies_of(protocol: &'static str, proxies: usize, each: usize) -> Result<Vec<f64>> {
    let terms = Terms { protocol, key_bytes: 4, normalize: "none", values: VALUES, distinct: PARTICIPANTS + 1 };
    let service = Service::start(&terms, proxies, PARTICIPANTS)?;
    service.submit("key,value", &different(PARTICIPANTS, each))?;
    assert!(service.result()?.is_empty(), "what nobody else has does not pass");
    service.proxies.iter().map(|proxy| Ok(proxy.cpu()?.max(0.01))).collect()
}

/// A process of this program that does what a database does with each key.
struct Database {
    process: Child,
    told: BufReader<ChildStdout>,
}

impl Database {
    fn start(core: usize, keys: usize) -> Result<Database> {
        let mut command = pinned(&std::env::current_exe()?, core);
        command.args(["paper_raf", DATABASE, &keys.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let told = BufReader::new(process.stdout.take().ok_or_else(|| Error::other("a process without a pipe"))?);
        Ok(Database { process, told })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.told.read_line(&mut line)?;
        Ok(line)
    }
}

/// Keys a second of so many databases together, all at the same time: by the CPU of each, and by the clock.
fn databases_of(databases: usize, keys: usize) -> Result<[f64; 2]> {
    let mut all = (0..databases).map(|core| Database::start(core, keys)).collect::<Result<Vec<_>>>()?;
    // Each says that it is ready, and begins when it is told.
    for database in &mut all {
        database.line()?;
    }
    for database in &mut all {
        database.process.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(b"\n"))?;
    }
    let mut rates = [0.0; 2];
    for mut database in all {
        let line = database.line()?;
        let taken = line.split_whitespace().map(|field| field.parse::<f64>().map_err(Error::other));
        for (sum, milliseconds) in rates.iter_mut().zip(taken) {
            *sum += rate(PASSES * keys, milliseconds?);
        }
        database.process.wait()?;
    }
    Ok(rates)
}

/// Plays such a process: says that it is ready, waits, and opens its entries. Then it says how many milliseconds of CPU
/// and of the clock it took.
pub fn play(keys: usize) -> Result<()> {
    let round = Round::new(Ristretto255, 4, true);
    let entries = round.passed(keys);
    println!("ready");
    std::io::stdin().read_line(&mut String::new())?;
    let began = Instant::now();
    let ((), taken) =
        measure(|| (0..PASSES).for_each(|_| assert_eq!(round.rows(&entries), keys, "every key has its row")));
    println!("{} {}", 1e3 * taken.cpu.as_secs_f64(), 1e3 * began.elapsed().as_secs_f64());
    Ok(())
}
