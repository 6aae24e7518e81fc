//! Cost of oblivious transfer: base OTs, setting up an extension, and extended OTs. Both parties run in this process,
//! each on threads of its own, over a channel in memory.

use std::hint::black_box;
use std::io::Result;
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use curve25519_dalek::{RistrettoPoint, Scalar};
use rand_core::SeedableRng;
use tacita_bench::pair::Pair;
use tacita_bench::{Json, Repeat, Row, Verdicts, about, median};
use tacita_core::primitive::kernel::{Aes128, Block};
use tacita_core::primitive::ot::softspoken::{
    CorrelatedReceiver, CorrelatedSender, Params, RandomReceiver, RandomSender,
};
use tacita_core::primitive::ot::{
    Choices, CorrelatedOtReceiver, CorrelatedOtSender, RandomOtReceiver, RandomOtSender, base,
};
use tacita_core::security::Security;
use tacita_core::session::{Session, Transcript};
use tacita_node::base::usage;

/// Millions of random OTs a second, by the CPU time of the slower party, that semi-honest extension has to reach for
/// 2^24 of them on one thread a party.
const TARGETS: [(usize, f64); 3] = [(2, 90.0), (4, 77.0), (8, 17.0)];

/// Shorter runs are not compared with [`TARGETS`]: messages weigh more than transfers there.
const MIN_JUDGED: u32 = 20;

/// Maximum ratio of the malicious form's time to that of the semi-honest form.
const MALICIOUS_TARGET: f64 = 1.5;

/// CPU milliseconds of both parties for 128 base OTs, on a machine that is otherwise idle.
const BASE_TARGET: f64 = 15.0;

/// Throughput of such a machine in a second: multiplications of points, and blocks of AES-128 in long calls. The same
/// is measured beside the table, and tells how far a busy machine's numbers are off.
const IDLE: [f64; 2] = [62e3, 1.6e9];

#[derive(Parser)]
#[command(about = about(include_str!("ot.rs")))]
struct Arguments {
    /// OTs of the longest run, as a power of two; the shortest has 2^10
    #[arg(default_value_t = 24, value_parser = clap::value_parser!(u32).range(10..=26))]
    log2_largest: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> Result<ExitCode> {
    let Arguments { log2_largest, repeat: Repeat { runs }, json } = Arguments::parse_from(tacita_bench::arguments());
    let mut table = json.table()?;
    let mut verdicts = Verdicts::default();

    let before = multiplications();
    let base = Bench { threads: 1, runs: 3 * runs }.base(128);
    table.add(&base)?;
    let slower = 2.0 * IDLE[0] / (before + multiplications());
    let cpu = base.cpu_ms.iter().sum::<f64>() / slower;
    println!(
        "multiplications of points now take {slower:.2} times as long as on an idle machine, AES {:.2}",
        slower_aes()
    );
    verdicts.at_most("128 base OTs, CPU ms of both parties / that", cpu, BASE_TARGET);
    for threads in [1, 2] {
        let bench = Bench { threads, runs };
        for (k, _) in TARGETS {
            for security in [Security::SemiHonest, Security::Malicious] {
                let params = Params::new(security, k).expect("k is possible");
                table.add(&bench.setup(&params))?;
                for exponent in (10..=log2_largest).step_by(2) {
                    table.add(&bench.correlated(&params, 1 << exponent))?;
                    table.add(&bench.random(&params, 1 << exponent))?;
                }
            }
        }
    }
    let n = 1usize << log2_largest;
    for (k, target) in TARGETS {
        println!("AES now takes {:.2} times as long as on an idle machine", slower_aes());
        let [semi_honest, malicious] = compare(k, n, runs + 2);
        let (rate, ratio) = (n as f64 / semi_honest / 1e3, malicious / semi_honest);
        let line = format!("k = {k}, million random OTs a CPU second, best run: {rate:.2} (target {target})");
        verdicts.add(line, rate >= target || log2_largest < MIN_JUDGED);
        verdicts.at_most(&format!("k = {k}, malicious / semi-honest"), ratio, MALICIOUS_TARGET);
    }
    Ok(verdicts.end())
}

/// CPU milliseconds of the slower party for `n` random OTs, semi-honest and malicious, on one thread each. The best of
/// some runs of both in turns: other work on the machine bears on both alike, and only ever adds to a time.
fn compare(k: usize, n: usize, runs: u32) -> [f64; 2] {
    let (mut pairs, mut blocks) = (vec![[Block::ALL_ONES; 2]; n], vec![Block::ALL_ONES; n]);
    let choices = Choices::random(n, &mut rng(3));
    let mut forms = [Security::SemiHonest, Security::Malicious].map(|security| {
        let (params, mut pair) = (Params::new(security, k).expect("k is possible"), Pair::new(1));
        let (ots, ..) = pair.run(
            |channel| RandomSender::setup(&params, &session(), "bench", channel, &mut rng(1)),
            |channel| RandomReceiver::setup(&params, &session(), "bench", channel, &mut rng(2)),
        );
        (pair, ots, f64::INFINITY)
    });
    for _ in 0..runs {
        for (pair, (sender, receiver), best) in &mut forms {
            let (_, _, cpu) = pair.run(
                |channel| sender.send(&mut pairs, channel),
                |channel| receiver.receive(&choices, &mut blocks, channel),
            );
            *best = best.min(cpu[0].max(cpu[1]));
        }
    }
    forms.map(|(_, _, best)| best)
}

/// Multiplications of points in a CPU second.
fn multiplications() -> f64 {
    let (points, scalar) = ([RistrettoPoint::random(&mut rng(1)); 1000], Scalar::random(&mut rng(2)));
    let start = usage::thread_cpu_time();
    for point in &points {
        black_box(black_box(point) * black_box(scalar));
    }
    points.len() as f64 / (usage::thread_cpu_time() - start).as_secs_f64()
}

/// Returns the factor by which AES takes longer than on an idle machine.
fn slower_aes() -> f64 {
    let (cipher, mut blocks) = (Aes128::new(Block(1)), vec![Block::ZERO; 2048]);
    let start = usage::thread_cpu_time();
    (0..4000).for_each(|_| cipher.encrypt_blocks(black_box(&mut blocks)));
    IDLE[1] * (usage::thread_cpu_time() - start).as_secs_f64() / (4000 * blocks.len()) as f64
}

/// Wall milliseconds, and CPU milliseconds and bytes of the sender and of the receiver.
type Run = (f64, [f64; 2], [u64; 2]);

struct Bench {
    threads: usize,
    runs: u32,
}

impl Bench {
    /// The medians of several runs of `run`, each with the bytes that it adds.
    fn row(&self, primitive: &str, variant: String, n: usize, mut run: impl FnMut(u8) -> Run) -> Row {
        let runs: Vec<_> = (0..self.runs).map(|number| run(number as u8)).collect();
        let middle = |value: &dyn Fn(&Run) -> f64| median(&runs.iter().map(value).collect::<Vec<_>>());
        Row {
            primitive: primitive.into(),
            variant,
            n,
            threads: self.threads,
            wall_ms: middle(&|run| run.0),
            cpu_ms: vec![middle(&|run| run.1[0]), middle(&|run| run.1[1])],
            bytes: runs[0].2.to_vec(),
            peak_memory: usage::peak_memory(),
        }
    }

    fn base(&self, n: usize) -> Row {
        self.row("base OT", "sender + receiver".into(), n, |run| {
            let mut pair = Pair::new(self.threads);
            let choices = Choices::random(n, &mut rng(run));
            let ((), wall, cpu) = discard(pair.run(
                |channel| {
                    base::BaseOtSender::new(&session(), "bench", &mut rng(1))
                        .send(&mut vec![[Block::ZERO; 2]; n], channel)
                },
                |channel| {
                    let mut receiver = base::BaseOtReceiver::new(&session(), "bench", &mut rng(2));
                    receiver.receive(&choices, &mut vec![Block::ZERO; n], channel)
                },
            ));
            (wall, cpu, pair.bytes())
        })
    }

    /// Everything before the first OT: base OTs and trees.
    fn setup(&self, params: &Params) -> Row {
        self.row("OT setup", form(params, "both"), 1, |run| {
            let mut pair = Pair::new(self.threads);
            let ((), wall, cpu) = discard(pair.run(
                |channel| RandomSender::setup(params, &session(), "bench", channel, &mut rng(run)),
                |channel| RandomReceiver::setup(params, &session(), "bench", channel, &mut rng(run + 1)),
            ));
            (wall, cpu, pair.bytes())
        })
    }

    fn random(&self, params: &Params, n: usize) -> Row {
        let mut pair = Pair::new(self.threads);
        let ((mut sender, mut receiver), ..) = pair.run(
            |channel| RandomSender::setup(params, &session(), "bench", channel, &mut rng(1)),
            |channel| RandomReceiver::setup(params, &session(), "bench", channel, &mut rng(2)),
        );
        // Memory that has been written before: the system's work for new pages is not that of OT.
        let (mut pairs, mut blocks) = (vec![[Block::ALL_ONES; 2]; n], vec![Block::ALL_ONES; n]);
        let choices = Choices::random(n, &mut rng(3));
        let mut sent = pair.bytes();
        let row = self.row("SoftSpoken", form(params, "random"), n, |_| {
            let ((), wall, cpu) = discard(pair.run(
                |channel| sender.send(&mut pairs, channel),
                |channel| receiver.receive(&choices, &mut blocks, channel),
            ));
            let now = pair.bytes();
            let bytes = [now[0] - sent[0], now[1] - sent[1]];
            sent = now;
            (wall, cpu, bytes)
        });
        let right = |index: usize| blocks[index] == pairs[index][usize::from(choices.get(index))];
        assert!((0..n).all(right), "the outputs do not fit");
        row
    }

    fn correlated(&self, params: &Params, n: usize) -> Row {
        let mut pair = Pair::new(self.threads);
        let ((mut sender, mut receiver), ..) = pair.run(
            |channel| CorrelatedSender::setup(params, &session(), "bench", channel, &mut rng(1)),
            |channel| CorrelatedReceiver::setup(params, &session(), "bench", channel, &mut rng(2)),
        );
        let (mut firsts, mut blocks) = (vec![Block::ALL_ONES; n], vec![Block::ALL_ONES; n]);
        let choices = Choices::random(n, &mut rng(3));
        let mut sent = pair.bytes();
        let row = self.row("SoftSpoken", form(params, "correlated"), n, |_| {
            let ((), wall, cpu) = discard(pair.run(
                |channel| sender.send(&mut firsts, channel),
                |channel| receiver.receive(&choices, &mut blocks, channel),
            ));
            let now = pair.bytes();
            let bytes = [now[0] - sent[0], now[1] - sent[1]];
            sent = now;
            (wall, cpu, bytes)
        });
        let delta = sender.delta();
        let right = |index: usize| blocks[index] == firsts[index] ^ (delta & Block::select(choices.get(index)));
        assert!((0..n).all(right), "the outputs do not fit");
        row
    }
}

fn form(params: &Params, kind: &str) -> String {
    let security = if params.security() == Security::Malicious { "mal." } else { "s.-h." };
    format!("k = {} {security} {kind}", params.k())
}

fn discard<T>((_, wall, cpu): (T, f64, [f64; 2])) -> ((), f64, [f64; 2]) {
    ((), wall, cpu)
}

fn session() -> Session {
    Session::new(Transcript::new("bench"))
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}
