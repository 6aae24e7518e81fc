//! What `ecdh` costs: CPU time of both sides against bare multiplications, bytes against their formula, memory.

use std::hint::black_box;
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use curve25519_dalek::{RistrettoPoint, Scalar};
use rand_core::SeedableRng;
use rayon::prelude::*;
use tacita_bench::{Repeat, Verdicts, about, measure, median};
use tacita_core::protocol::intersect::ecdh::{Domain, Params, rows, tag_bytes};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Item, Result};
use tacita_node::base::usage;

/// What the CPU time of a run may be, in units of four bare multiplications an item.
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

fn main() -> Result<ExitCode> {
    let Arguments { log2_items, repeat: Repeat { runs } } = Arguments::parse();
    let size = 1usize << log2_items;
    let items = |first: usize| -> Vec<Item> {
        (first..first + size).map(|number| Item::new(&[1; 32], &number.to_le_bytes())).collect()
    };
    let (receiver_items, sender_items) = (items(0), items(size / 2));
    let params = Params::rows(size, size);
    let domain = Domain::of_session(&Session::new(Transcript::new("bench")));

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

        let (mut receiver, mut sender) = Channel::pair("receiver", "sender");
        let (outcome, sample) = measure(|| {
            std::thread::scope(|scope| {
                let sending = scope.spawn(|| {
                    let mut rng = ChaCha20Rng::from_seed([100 + run as u8; 32]);
                    rows::send(&sender_items, &domain, &params, &mut sender, &mut rng)?;
                    sender.finish()
                });
                let common = rows::receive(&receiver_items, &domain, &params, &mut receiver, &mut rng)?;
                receiver.finish()?;
                Ok((common, sending.join().expect("the sender does not panic")?))
            })
        });
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
    let mut verdicts = Verdicts::default();
    verdicts.at_most("cpu of both sides / 4 multiplications an item", median(&ratios), TARGET);
    Ok(verdicts.end())
}
