//! Cost of silent VOLE and silent COT, with everything before them: base OTs and SoftSpoken. Both parties run in this
//! process, each on threads of its own, over a channel in memory.

use std::io::Result;
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::pair::Pair;
use tacita_bench::{Json, Repeat, Row, Verdicts, about, median};
use tacita_core::Channel;
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::base;
use tacita_core::primitive::ot::softspoken::{CorrelatedReceiver, CorrelatedSender, Params};
use tacita_core::primitive::vole::silent::{CotReceiver, CotSender, SilentReceiver, SilentSender};
use tacita_core::primitive::vole::{RandomCotReceiver, RandomCotSender, VoleReceiver, VoleSender};
use tacita_core::security::Security;
use tacita_core::session::{Session, Transcript};
use tacita_node::base::usage;

/// k of the SoftSpoken extension.
const K: usize = 6;

/// CPU milliseconds of both parties for 2^20 elements in the semi-honest form on one thread a party.
const VOLE_TARGET: f64 = 250.0;

/// Target like [`VOLE_TARGET`], for COT.
const COT_TARGET: f64 = 180.0;

/// Bytes of both parties for each of 2^20 elements of a VOLE.
const BYTES_TARGET: f64 = 0.7;

#[derive(Parser)]
#[command(about = about(include_str!("vole.rs")))]
struct Arguments {
    /// Elements of the longest run, as a power of two; the shortest has 2^10
    #[arg(default_value_t = 24, value_parser = clap::value_parser!(u32).range(10..=24))]
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
    for threads in [1, 2] {
        for security in [Security::SemiHonest, Security::Malicious] {
            for exponent in (10..=log2_largest).step_by(2) {
                let bench = Bench { threads, runs, security, n: 1 << exponent };
                let (vole, cot) = (bench.vole(), bench.cot());
                table.add(&vole)?;
                table.add(&cot)?;
                if threads == 1 && security == Security::SemiHonest && exponent == 20 {
                    let cpu = |row: &Row| row.cpu_ms.iter().sum::<f64>();
                    let bytes = vole.bytes.iter().sum::<u64>() as f64 / vole.n as f64;
                    verdicts.at_most("2^20 VOLE, CPU ms of both parties", cpu(&vole), VOLE_TARGET);
                    verdicts.at_most("2^20 COT, CPU ms of both parties", cpu(&cot), COT_TARGET);
                    verdicts.at_most("2^20 VOLE, bytes of both parties an element", bytes, BYTES_TARGET);
                }
            }
        }
    }
    Ok(verdicts.end())
}

/// The purpose of the base OTs, which both parties name.
const BASE: &str = "bench base";

struct Bench {
    threads: usize,
    runs: u32,
    security: Security,
    n: usize,
}

/// Wall milliseconds, and CPU milliseconds of the sender and of the receiver.
type Run = (f64, [f64; 2]);

impl Bench {
    fn vole(&self) -> Row {
        let [mut a, mut b, mut c] = [(); 3].map(|()| vec![Block::ALL_ONES; self.n]);
        let mut delta = Block::ZERO;
        let row = self.row("silent VOLE", |pair| {
            let ((given, ()), wall, cpu) = pair.run(
                |channel| {
                    let transfers = self.sender(channel)?;
                    let mut sender = SilentSender::new(transfers, self.security, &session(), "bench", &mut rng(3));
                    sender.extend(&mut b, channel)?;
                    Ok(sender.delta())
                },
                |channel| {
                    let transfers = self.receiver(channel)?;
                    let mut receiver = SilentReceiver::new(transfers, self.security, &session(), "bench", &mut rng(4));
                    receiver.extend(&mut a, &mut c, channel)
                },
            );
            delta = given;
            (wall, cpu)
        });
        assert!((0..self.n).all(|index| c[index] == b[index] ^ (a[index] * delta)), "the outputs do not fit");
        row
    }

    fn cot(&self) -> Row {
        let [mut b, mut c] = [(); 2].map(|()| vec![Block::ALL_ONES; self.n]);
        let mut delta = Block::ZERO;
        let row = self.row("silent COT", |pair| {
            let ((given, ()), wall, cpu) = pair.run(
                |channel| {
                    let transfers = self.sender(channel)?;
                    let mut sender = CotSender::new(transfers, self.security, &session(), "bench", &mut rng(3))?;
                    sender.extend(&mut b, channel)?;
                    Ok(sender.delta())
                },
                |channel| {
                    let transfers = self.receiver(channel)?;
                    CotReceiver::new(transfers, self.security, &session(), "bench", &mut rng(4)).extend(&mut c, channel)
                },
            );
            delta = given;
            (wall, cpu)
        });
        let right = |index: usize| c[index] == b[index] ^ (delta & Block::select(c[index].bit(0)));
        assert!((0..self.n).all(right), "the outputs do not fit");
        row
    }

    fn params(&self) -> Params {
        Params::new(self.security, K).expect("k is possible")
    }

    fn sender(&self, channel: &mut Channel) -> tacita_core::Result<CorrelatedSender> {
        let mut base = base::BaseOtReceiver::new(&session(), BASE, &mut rng(1));
        let delta = Block(Block::random(&mut rng(5)).0 | 1);
        CorrelatedSender::setup_over(&self.params(), &session(), "bench", delta, &mut base, channel)
    }

    fn receiver(&self, channel: &mut Channel) -> tacita_core::Result<CorrelatedReceiver> {
        let mut base = base::BaseOtSender::new(&session(), BASE, &mut rng(2));
        CorrelatedReceiver::setup_over(&self.params(), &session(), "bench", &mut base, channel, &mut rng(6))
    }

    /// The medians of several runs.
    fn row(&self, primitive: &str, mut run: impl FnMut(&mut Pair) -> (f64, [f64; 2])) -> Row {
        let mut bytes = [0; 2];
        let runs: Vec<_> = (0..self.runs)
            .map(|_| {
                let mut pair = Pair::new(self.threads);
                let times = run(&mut pair);
                bytes = pair.bytes();
                times
            })
            .collect();
        let middle = |value: &dyn Fn(&Run) -> f64| median(&runs.iter().map(value).collect::<Vec<_>>());
        Row {
            primitive: primitive.into(),
            variant: if self.security == Security::Malicious { "malicious" } else { "semi-honest" }.into(),
            n: self.n,
            threads: self.threads,
            wall_ms: middle(&|run| run.0),
            cpu_ms: vec![middle(&|run| run.1[0]), middle(&|run| run.1[1])],
            bytes: bytes.to_vec(),
            peak_memory: usage::peak_memory(),
        }
    }
}

fn session() -> Session {
    Session::new(Transcript::new("bench"))
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}
