//! Cost of a hidden alignment beside those of two intersections by `vole` and a count by `ecdh` of the same sets, in
//! the same run: CPU and wall time of both sides, bytes against their formula, memory.

use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::pair::both;
use tacita_bench::{Repeat, Verdicts, about, median};
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::align;
use tacita_core::protocol::intersect::{ecdh, tag_exchange, vole};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Item, Result, Security, Side};
use tacita_node::base::usage;

/// CPU time of the count by `ecdh` that an alignment may take, besides that of two runs of `vole`.
const COUNTS: f64 = 1.05;

/// Bytes of both sides that 2^20 items of each party may take, for each item.
const BYTES: f64 = 200e6 / (1 << 20) as f64;

#[derive(Parser)]
#[command(about = about(include_str!("align.rs")))]
struct Arguments {
    /// Items of each party, as a power of two
    #[arg(default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=24))]
    log2_items: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
}

pub fn main() -> Result<ExitCode> {
    let Arguments { log2_items, repeat: Repeat { runs } } = Arguments::parse_from(tacita_bench::arguments());
    let size = 1usize << log2_items;
    let items = |first: usize| -> Vec<Item> {
        (first..first + size).map(|number| Item::new(&[1; 32], &number.to_le_bytes())).collect()
    };
    let (first_items, second_items, common) = (items(0), items(size / 2), size - size / 2);
    let params = align::Params::new(size, size);
    let of_vole = vole::Params::new(tag_exchange::Params::rows(size, size), Security::SemiHonest)?;
    let of_count = ecdh::Params::new(tag_exchange::Params::count(size, size), Suite::Ristretto255);

    let (mut ratios, mut walls, mut cpus, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for run in 0..runs {
        let session = Session::new(Transcript::new(&format!("bench {run}")));
        let rng = |role: u8| ChaCha20Rng::from_seed([100 * role + run as u8; 32]);
        let (outcome, by_vole) = both(
            |channel| vole::rows::receive(&first_items, &session, &of_vole, channel, &mut rng(0)),
            |channel| vole::rows::send(&second_items, &session, &of_vole, channel, &mut rng(1)),
        );
        assert_eq!(outcome?.0.len(), common, "the intersection is wrong");
        let (outcome, by_ecdh) = both(
            |channel| ecdh::count::receive(&first_items, &session, &of_count, channel, &mut rng(0)),
            |channel| ecdh::count::send(&second_items, &session, &of_count, channel, &mut rng(1)),
        );
        assert_eq!(outcome?.0, common, "the count is wrong");
        let (outcome, sample) = both(
            |channel| align::run(Side::First, &first_items, &session, &params, channel, &mut rng(0)),
            |channel| align::run(Side::Second, &second_items, &session, &params, channel, &mut rng(1)),
        );
        let (alignment, traffic) = outcome?;
        assert_eq!(alignment.common(), common, "the alignment is wrong");

        let [vole, ecdh, cpu] = [by_vole, by_ecdh, sample].map(|sample| sample.cpu.as_secs_f64());
        let wall = sample.wall.as_secs_f64();
        bytes = traffic.sent + traffic.received;
        ratios.push(cpu / (2.0 * vole + COUNTS * ecdh));
        walls.push(wall);
        cpus.push(cpu);
        println!("run {run}: cpu {cpu:.3} s, wall {wall:.3} s; vole: cpu {vole:.3} s; count by ecdh: cpu {ecdh:.3} s");
    }

    let formula: Result<u64> = [Side::First, Side::Second].iter().map(|&side| params.bytes_sent_by(side, common)).sum();
    let peak = usage::peak_memory().map_or("unknown".into(), |bytes| format!("{:.0} MiB", bytes as f64 / 1048576.0));
    let counted = (params.memory(Side::First) + params.memory(Side::Second)) as f64 / 1048576.0;
    println!("{size} x {size} items, median of {runs}: cpu {:.3} s, wall {:.3} s", median(&cpus), median(&walls));
    println!("bytes: {bytes}, as counted beforehand {}", formula?);
    println!("peak memory of both sides in this process: {peak}; counted beforehand, without items: {counted:.0} MiB");
    let mut verdicts = Verdicts::default();
    verdicts.at_most("cpu time, in that of two runs of vole and 1.05 counts by ecdh", median(&ratios), 1.0);
    verdicts.at_most("bytes of both sides an item", bytes as f64 / size as f64, BYTES);
    Ok(verdicts.end())
}
