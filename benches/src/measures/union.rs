//! Cost of `union` beside `ecdh`'s intersection of the same sets, in the same run: CPU time of both sides, bytes
//! against their formula, memory.

use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::pair::both;
use tacita_bench::{Repeat, Verdicts, about, median};
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::ecdh::{self, rows};
use tacita_core::protocol::intersect::tag_exchange;
use tacita_core::protocol::union::{self, MemorySpace, ShuffledItems};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Item, Result, Role};
use tacita_node::base::usage;

/// Maximum CPU time of a union, in that of an intersection by `ecdh`.
const TARGET: f64 = 1.25;

#[derive(Parser)]
#[command(about = about(include_str!("union.rs")))]
struct Arguments {
    /// Items of each party, as a power of two
    #[arg(default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=24))]
    log2_items: u32,
    /// Bytes that the sender gives for each item
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    payload: u32,
    #[command(flatten)]
    repeat: Repeat<5>,
}

pub fn main() -> Result<ExitCode> {
    let Arguments { log2_items, payload, repeat: Repeat { runs } } = Arguments::parse_from(tacita_bench::arguments());
    let (size, payload) = (1usize << log2_items, payload as usize);
    let items = |first: usize| -> Vec<Item> {
        (first..first + size).map(|number| Item::new(&[1; 32], &number.to_le_bytes())).collect()
    };
    let (receiver_items, sender_items) = (items(0), items(size / 2));
    let session = Session::new(Transcript::new("bench"));
    let params = union::Params::new(size, size, payload);

    let (mut ratios, mut walls, mut cpus, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for run in 0..runs {
        let rng = |role: u8| ChaCha20Rng::from_seed([100 * role + run as u8; 32]);
        let domain = ecdh::TagDomain::of_session(&session);
        let of_rows = ecdh::Params::new(tag_exchange::Params::rows(size, size), Suite::Ristretto255);
        let (common, intersection) = both(
            |channel| rows::receive(&receiver_items, &domain, &of_rows, channel, &mut rng(0)),
            |channel| rows::send(&sender_items, &domain, &of_rows, channel, &mut rng(1)),
        );
        assert_eq!(common?.0.len(), size - size / 2, "the intersection is wrong");

        let (outcome, sample) = both(
            |channel| {
                let mut missing = 0;
                let mut take = |_: &[u8]| {
                    missing += 1;
                    Ok(())
                };
                let rng = &mut rng(0);
                union::ecdh::receive(&receiver_items[..], &MemorySpace, &session, &params, channel, rng, &mut take)?;
                Ok(missing)
            },
            |channel| {
                let given = |_: usize, out: &mut Vec<u8>| out.resize(out.len() + payload, 7);
                let given = ShuffledItems::new(&sender_items, &given, &mut rng(2))?;
                union::ecdh::send(&given, &MemorySpace, &session, &params, channel, &mut rng(1))
            },
        );
        let (missing, traffic) = outcome?;
        assert_eq!(missing, size / 2, "the union is wrong");
        bytes = traffic.sent + traffic.received;
        ratios.push(sample.cpu.as_secs_f64() / intersection.cpu.as_secs_f64());
        walls.push(sample.wall.as_secs_f64());
        cpus.push(sample.cpu.as_secs_f64());
        println!(
            "run {run}: cpu {:.3} s, wall {:.3} s; intersection by ecdh: cpu {:.3} s; ratio {:.3}",
            cpus[cpus.len() - 1],
            walls[walls.len() - 1],
            intersection.cpu.as_secs_f64(),
            ratios[ratios.len() - 1]
        );
    }

    let formula: u64 = [Role::Receiver, Role::Sender].into_iter().map(|role| params.bytes_sent_by(role)).sum();
    let plain = size * (2 * 32 + params.tag_bytes + 4 + payload);
    let peak = usage::peak_memory().map_or("unknown".into(), |bytes| format!("{:.0} MiB", bytes as f64 / 1048576.0));
    println!("{size} x {size} items, median of {runs}: cpu {:.3} s, wall {:.3} s", median(&cpus), median(&walls));
    println!(
        "bytes: {bytes}, as counted beforehand {formula}; {:+.2} % of (64 + t + 4 + {payload}) n = {plain}, t = {}",
        100.0 * (bytes as f64 / plain as f64 - 1.0),
        params.tag_bytes
    );
    println!("peak memory of both sides in this process: {peak}");
    let mut verdicts = Verdicts::default();
    verdicts.at_most("cpu time of a union, in that of an intersection by ecdh", median(&ratios), TARGET);
    Ok(verdicts.end())
}
