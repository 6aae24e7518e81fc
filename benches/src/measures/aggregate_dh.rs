//! Throughput of each role of an aggregation by `dh` in a second of one core, with all checks on. The lengths of
//! reports and entries are measured as well: by the length of keys and the number of values. Targets are for keys of 16
//! bytes with values and tags.

use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::{Repeat, Sample, Verdicts, about, measure, median};
use tacita_core::Result;
use tacita_core::protocol::aggregate::{
    DatabaseKey, Entry, Params, ProxyKey, RevealThreshold, RoundKeys, RowAnswer, answer, ask, blind, open, report,
};
use tacita_core::session::{Session, Transcript};

/// Keys a second that a core of the proxy must do at least, in thousands.
const PROXY_TARGET: f64 = 4.0;

/// The same for the database.
const DATABASE_TARGET: f64 = 6.0;

#[derive(Parser)]
#[command(about = about(include_str!("aggregate_dh.rs")))]
struct Arguments {
    /// Reports of one participant
    #[arg(default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    reports: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
}

/// Seconds of CPU of each role for one pass over the reports.
type Times = [f64; 5];

const ROLES: [&str; 5] = ["participant", "proxy", "database", "asking", "oracle"];

/// One round of one participant, who reports one key again and again, as the oracle sees it.
fn round(params: &Params, reports: u32, seed: u8) -> Result<Times> {
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let (proxy, database) = (ProxyKey::generate(params, &mut rng), DatabaseKey::generate(params, &mut rng));
    let public = [database.public(params, &mut rng), proxy.public(params, &mut rng)];
    let keys = RoundKeys::new(params, &public[0], &public[1], &mut rng).expect("the keys are honest");
    let key = vec![7; params.key_bytes()];
    let entries: Vec<Entry> =
        (0..reports).map(|number| Entry { key: key.clone(), value: number % params.values().max(1) }).collect();
    let (reported, participant) = measure(|| report(params, &keys, "participant", 0, &entries, &mut rng));
    let reported = reported?;
    let (entries, proxying) = measure(|| blind(params, &keys, &proxy, "participant", 0, &reported, &mut rng));
    let entries = entries.expect("the reports are honest");
    let (opened, opening) = measure(|| open(params, &database, &entries));
    let rows = opened.expect("the entries are honest").rows;
    let sealed: Vec<&[u8]> = rows.iter().map(|row| &row.sealed[..]).collect();
    let (asked, asking) = measure(|| ask(params, &keys, &sealed, &mut rng));
    let asked = asked.expect("what was opened is well formed");
    let reporters = vec![0; if params.distinct() { rows.len() } else { 0 }];
    let least = RevealThreshold { count: reports, distinct: 1 };
    let (answered, answering) = measure(|| answer(params, &proxy, &rows[0].id, &asked, &reporters, least));
    assert_eq!(answered, Ok(RowAnswer::Key(key)), "the answer is wrong");
    Ok([participant, proxying, opening, asking, answering].map(|sample: Sample| sample.cpu.as_secs_f64()))
}

pub fn main() -> Result<ExitCode> {
    let Arguments { reports, repeat: Repeat { runs } } = Arguments::parse_from(tacita_bench::arguments());
    println!(
        "{:>9} {:>6} {:>8} {:>12} {:>11}  thousands of keys a second of CPU: {}",
        "key bytes",
        "values",
        "distinct",
        "report bytes",
        "entry bytes",
        ROLES.join(", ")
    );
    let mut verdicts = Verdicts::default();
    for (key_bytes, values, distinct) in
        [(16, 10, true), (16, 10, false), (16, 0, true), (16, 1000, true), (64, 10, true)]
    {
        let params = Params::new(Session::new(Transcript::new("bench")), key_bytes, values, distinct)?;
        let times = (0..runs).map(|run| round(&params, reports, run as u8)).collect::<Result<Vec<Times>>>()?;
        let rates: Vec<f64> = (0..ROLES.len())
            .map(|role| {
                f64::from(reports) / 1e3 / median(&times.iter().map(|times| times[role].max(1e-9)).collect::<Vec<_>>())
            })
            .collect();
        let told: Vec<String> = rates.iter().map(|rate| format!("{rate:.2}")).collect();
        let (report, entry) = (params.report_bytes(), params.entry_bytes());
        println!("{key_bytes:>9} {values:>6} {distinct:>8} {report:>12} {entry:>11}  {}", told.join(", "));
        if (key_bytes, values, distinct) == (16, 10, true) {
            for (role, target) in [(1, PROXY_TARGET), (2, DATABASE_TARGET)] {
                let line =
                    format!("{}: {:.2} thousand keys a second of CPU (target {target})", ROLES[role], rates[role]);
                verdicts.add(line, rates[role] >= target);
            }
        }
    }
    Ok(verdicts.end())
}
