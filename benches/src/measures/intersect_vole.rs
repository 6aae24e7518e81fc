//! Cost of `vole` from items to common items: both parties in memory, by size, security and threads.
//!
//! CPU times are of the sender and of the receiver; bytes are counted for each of the receiver's items, of which the
//! sender has as many.

use std::io::Result;
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::pair::Pair;
use tacita_bench::{Json, Repeat, Row, Verdicts, about, median};
use tacita_core::protocol::intersect::{tag_exchange, vole};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Item, Security};
use tacita_node::base::usage;

/// CPU seconds of both parties together, and bytes an item, that 2^20 x 2^20 items may take.
const TARGETS: [(Security, f64, f64); 2] = [(Security::SemiHonest, 0.8, 32.0), (Security::Malicious, 0.9, 38.0)];

#[derive(Parser)]
#[command(about = about(include_str!("intersect_vole.rs")))]
struct Arguments {
    /// Items of each party in the longest run, as a power of two; the shortest has 2^10
    #[arg(default_value_t = 20, value_parser = clap::value_parser!(u32).range(10..=26))]
    log2_largest: u32,
    #[command(flatten)]
    repeat: Repeat<5>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> Result<ExitCode> {
    let Arguments { log2_largest, repeat: Repeat { runs }, json } = Arguments::parse_from(tacita_bench::arguments());
    let mut table = json.table()?;
    let mut verdicts = Verdicts::default();
    for threads in [1, 2] {
        for (security, seconds, bytes) in TARGETS {
            for exponent in (10..=log2_largest).step_by(2) {
                let row = intersect(1 << exponent, security, threads, runs);
                table.add(&row)?;
                if (exponent, threads) == (20, 1) {
                    let cpu = row.cpu_ms.iter().sum::<f64>() / 1e3;
                    let sent = row.bytes.iter().sum::<u64>() as f64 / row.n as f64;
                    let line = format!(
                        "{security}: {cpu:.3} CPU s (target {seconds}), {sent:.2} bytes an item (target {bytes})"
                    );
                    verdicts.add(line, cpu <= seconds && sent <= bytes);
                }
            }
        }
    }
    Ok(verdicts.end())
}

fn intersect(n: usize, security: Security, threads: usize, runs: u32) -> Row {
    let items = |first: usize| -> Vec<Item> {
        (first..first + n).map(|number| Item::new(&[1; 32], &number.to_le_bytes())).collect()
    };
    let (receiver_items, sender_items) = (items(0), items(n / 2));
    let params = vole::Params::new(tag_exchange::Params::rows(n, n), security).expect("the sizes are possible");
    let (mut walls, mut cpus, mut bytes) = (Vec::new(), [Vec::new(), Vec::new()], [0; 2]);
    for run in 0..runs as u8 {
        let mut pair = Pair::new(threads);
        let session = Session::new(Transcript::new(&format!("bench {run}")));
        let rng = |role: u8| ChaCha20Rng::from_seed([run ^ role; 32]);
        let ((_, common), wall, cpu) = pair.run(
            |channel| {
                vole::rows::send(&sender_items, &session, &params, channel, &mut rng(100))?;
                // The malicious-secure receiver waits for it before it looks anything up.
                channel.conclude()
            },
            |channel| {
                let common = vole::rows::receive(&receiver_items, &session, &params, channel, &mut rng(0))?;
                channel.conclude()?;
                Ok(common)
            },
        );
        assert!(common.into_iter().eq(n / 2..n), "the intersection is wrong");
        walls.push(wall);
        cpus.iter_mut().zip(cpu).for_each(|(all, one)| all.push(one));
        bytes = pair.bytes();
    }
    Row {
        primitive: "intersect".into(),
        variant: format!("vole, {security}"),
        n,
        threads,
        wall_ms: median(&walls),
        cpu_ms: cpus.iter().map(|cpus| median(cpus)).collect(),
        bytes: bytes.to_vec(),
        peak_memory: usage::peak_memory(),
    }
}
