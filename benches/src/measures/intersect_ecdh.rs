//! Cost of `ecdh`: CPU time of both sides against bare multiplications, bytes against their formula, memory; and the
//! cost of the other levels beside it.

use std::hint::black_box;
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use curve25519_dalek::{RistrettoPoint, Scalar};
use rand_core::SeedableRng;
use rayon::prelude::*;
use tacita_bench::{Repeat, Sample, Verdicts, about, measure, median};
use tacita_core::channel::Traffic;
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::ecdh::{Params, TagDomain, rows, tag_bytes};
use tacita_core::protocol::intersect::tag_exchange;
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Item, Result};
use tacita_node::base::usage;

/// Maximum CPU time of a run, in units of four bare multiplications an item.
const TARGET: f64 = 1.5;

#[derive(Parser)]
#[command(about = about(include_str!("intersect_ecdh.rs")))]
struct Arguments {
    /// Items of each party, as a power of two
    #[arg(default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=24))]
    log2_items: u32,
    #[command(flatten)]
    repeat: Repeat<5>,
}

/// Items of each party in a comparison of levels, at most.
const LEVELS_ITEMS: usize = 1 << 12;

/// Runs both sides once, and returns the CPU and wall time of both.
fn intersect(
    receiver_items: &[Item],
    sender_items: &[Item],
    suite: Suite,
    run: u32,
) -> (Result<(Vec<usize>, Traffic)>, Sample) {
    let params = Params::new(tag_exchange::Params::rows(receiver_items.len(), sender_items.len()), suite);
    let domain = TagDomain::of_session(&Session::new(Transcript::new("bench")));
    let (mut receiver, mut sender) = Channel::pair("receiver", "sender");
    measure(|| {
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let mut rng = ChaCha20Rng::from_seed([100 + run as u8; 32]);
                rows::send(sender_items, &domain, &params, &mut sender, &mut rng)?;
                sender.finish()
            });
            let mut rng = ChaCha20Rng::from_seed([run as u8; 32]);
            let common = rows::receive(receiver_items, &domain, &params, &mut receiver, &mut rng)?;
            receiver.finish()?;
            Ok((common, sending.join().expect("the sender does not panic")?))
        })
    })
}

/// Measures the cost of a pass over an item at each level.
fn levels(items: &[Item], runs: u32) -> Result<()> {
    let mut first = None;
    for suite in Suite::ALL {
        let mut cpus = Vec::new();
        for run in 0..runs {
            let (outcome, sample) = intersect(items, items, suite, run);
            assert_eq!(outcome?.0.len(), items.len(), "the intersection is wrong");
            cpus.push(sample.cpu.as_secs_f64() / (4 * items.len()) as f64);
        }
        let pass = median(&cpus);
        let ratio = pass / *first.get_or_insert(pass);
        println!("{}: cpu {:.1} us a pass, {ratio:.2} times the first", suite.name(), 1e6 * pass);
    }
    Ok(())
}

pub fn main() -> Result<ExitCode> {
    let Arguments { log2_items, repeat: Repeat { runs } } = Arguments::parse_from(tacita_bench::arguments());
    let size = 1usize << log2_items;
    let items = |first: usize| -> Vec<Item> {
        (first..first + size).map(|number| Item::new(&[1; 32], &number.to_le_bytes())).collect()
    };
    let (receiver_items, sender_items) = (items(0), items(size / 2));

    let (mut ratios, mut walls, mut cpus) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    for run in 0..runs {
        let mut rng = ChaCha20Rng::from_seed([run as u8; 32]);
        let points: Vec<_> = (0..1024).map(|_| RistrettoPoint::random(&mut rng)).collect();
        let scalar = Scalar::random(&mut rng);
        let bare = || {
            (0..4 * size).into_par_iter().with_min_len(1024).for_each(|index| {
                black_box(black_box(points[index % points.len()]) * black_box(scalar));
            });
        };
        let ((), multiplications) = measure(bare);

        let (outcome, sample) = intersect(&receiver_items, &sender_items, Suite::Ristretto255, run);
        let (common, traffic) = outcome?;
        assert_eq!(common.len(), size - size / 2, "the intersection is wrong");
        bytes = traffic.sent + traffic.received;
        ratios.push(sample.cpu.as_secs_f64() / multiplications.cpu.as_secs_f64());
        walls.push(sample.wall.as_secs_f64());
        cpus.push(sample.cpu.as_secs_f64());
        println!(
            "run {run}: cpu {:.3} s, wall {:.3} s; {} bare multiplications: cpu {:.3} s; ratio {:.3}",
            cpus[cpus.len() - 1],
            walls[walls.len() - 1],
            4 * size,
            multiplications.cpu.as_secs_f64(),
            ratios[ratios.len() - 1]
        );
    }

    let ideal = 64 * size as u64 + (tag_bytes(size, size) * size) as u64;
    let peak = usage::peak_memory().map_or("unknown".into(), |bytes| format!("{:.0} MiB", bytes as f64 / 1048576.0));
    println!("{size} x {size} items, median of {runs}: cpu {:.3} s, wall {:.3} s", median(&cpus), median(&walls));
    println!("bytes: {bytes}, {:+.2} % of 64 n + t n = {ideal}", 100.0 * (bytes as f64 / ideal as f64 - 1.0));
    println!("peak memory of both sides in this process: {peak}");
    levels(&receiver_items[..size.min(LEVELS_ITEMS)], runs)?;
    let mut verdicts = Verdicts::default();
    verdicts.at_most("cpu of both sides / 4 multiplications an item", median(&ratios), TARGET);
    Ok(verdicts.end())
}
