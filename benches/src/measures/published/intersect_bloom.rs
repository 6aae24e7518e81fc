//! Cost of `bloom`: its parts alone, and both parties in memory, by strength, extension and threads. Rates are of
//! slots.

use std::hint::black_box;
use std::io::Result;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::pair::Pair;
use tacita_bench::{Json, Repeat, Row, Sample, about, measure, median};
use tacita_core::Item;
use tacita_core::primitive::kernel::block;
use tacita_core::primitive::published::bloom::{Filter, Garbled, Hashes, PIECE};
use tacita_core::protocol::published::intersect::bloom::{self, Params, Strength};
use tacita_core::session::{Session, Transcript};
use tacita_node::base::usage;

#[derive(Parser)]
#[command(about = about(include_str!("intersect_bloom.rs")))]
struct Arguments {
    /// Items of the larger runs; the others have a tenth
    #[arg(default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(10..=100_000_000))]
    largest: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> Result<()> {
    let Arguments { largest, repeat: Repeat { runs }, json } = Arguments::parse_from(tacita_bench::arguments());
    let (largest, mut table) = (largest as usize, json.table()?);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        for items in [largest / 10, largest] {
            for row in pool.install(|| parts(items, threads, runs)) {
                table.add(&row)?;
            }
        }
    }
    for (strength, extension) in [(Strength::Bits80, 4), (Strength::Bits80, 8), (Strength::Bits128, 4)] {
        for (items, threads) in [(largest / 10, 1), (largest, 1), (largest, 2)] {
            let params = Params::new(items, strength, extension).expect("the sizes are possible");
            table.add(&intersect(&params, threads, runs))?;
        }
    }
    Ok(())
}

fn items(numbers: std::ops::Range<usize>) -> Vec<Item> {
    numbers.map(|number| Item::new(&[1; 32], &number.to_le_bytes())).collect()
}

/// Measures both filters alone, of strength 80.
fn parts(count: usize, threads: usize, runs: u32) -> Vec<Row> {
    let items = items(0..count);
    let slots = Strength::Bits80.slots(count).expect("the size is possible");
    let hashes = Hashes::new(Strength::Bits80, slots, &[1; 32]);
    let mut room = block::zeros(PIECE.min(slots));
    let pieces = slots.div_ceil(PIECE);
    let names = ["places", "garbled filter", "its slots", "filter", "its bits", "its queries"];
    let mut samples = names.map(|_| Vec::new());
    for run in 0..runs as u8 {
        let mut next = samples.iter_mut();
        let mut add = |sample: Sample| next.next().expect("each part has a name").push(sample);
        add(measure(|| items.chunks(1 << 13).for_each(|items| drop(black_box(hashes.places(items))))).1);
        let mut rng = ChaCha20Rng::from_seed([run; 32]);
        let (garbled, sample) = measure(|| Garbled::new(&items, &hashes, &mut rng).expect("it fails by chance only"));
        add(sample);
        let length = |piece: usize| PIECE.min(slots - piece * PIECE);
        add(measure(|| (0..pieces).for_each(|piece| garbled.slots(piece * PIECE, &mut room[..length(piece)]))).1);
        let (mut filter, sample) = measure(|| Filter::new(&items, &hashes));
        add(sample);
        add(measure(|| (0..pieces).for_each(|piece| drop(black_box(filter.bits(piece))))).1);
        add(measure(|| (0..pieces).for_each(|piece| filter.add(piece, &room[..length(piece)]))).1);
    }
    names.iter().zip(&samples).map(|(name, samples)| row(name.to_string(), slots, threads, samples)).collect()
}

fn row(variant: String, n: usize, threads: usize, samples: &[Sample]) -> Row {
    let milliseconds = |of: fn(&Sample) -> std::time::Duration| {
        median(&samples.iter().map(|sample| of(sample).as_secs_f64() * 1e3).collect::<Vec<_>>())
    };
    Row {
        primitive: "bloom".into(),
        variant,
        n,
        threads,
        wall_ms: milliseconds(|sample| sample.wall),
        cpu_ms: vec![milliseconds(|sample| sample.cpu)],
        bytes: Vec::new(),
        peak_memory: usage::peak_memory(),
    }
}

fn intersect(params: &Params, threads: usize, runs: u32) -> Row {
    let n = params.bound();
    let (receiver_items, sender_items) = (items(0..n), items(n / 2..n / 2 + n));
    let (mut walls, mut cpus, mut bytes) = (Vec::new(), [Vec::new(), Vec::new()], [0; 2]);
    for run in 0..runs as u8 {
        let mut pair = Pair::new(threads);
        let session = Session::new(Transcript::new(&format!("bench {run}")));
        let rng = |role: u8| ChaCha20Rng::from_seed([run ^ role; 32]);
        let ((_, common), wall, cpu) = pair.run(
            |channel| bloom::send(&sender_items, params, &session, channel, &mut rng(100)),
            |channel| bloom::receive(&receiver_items, params, &session, channel, &mut rng(0)),
        );
        assert!(common.into_iter().eq(n / 2..n), "the intersection is wrong");
        walls.push(wall);
        cpus.iter_mut().zip(cpu).for_each(|(all, one)| all.push(one));
        bytes = pair.bytes();
    }
    Row {
        primitive: "intersect".into(),
        variant: format!("bloom {}, softspoken-{}", params.strength().bits(), params.extension().k()),
        n: params.slots(),
        threads,
        wall_ms: median(&walls),
        cpu_ms: cpus.iter().map(|of_party| median(of_party)).collect(),
        bytes: bytes.to_vec(),
        peak_memory: usage::peak_memory(),
    }
}
